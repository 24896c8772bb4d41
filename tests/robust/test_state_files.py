"""Whatever happens to the files of a home, nothing is lost, nothing is half-written, and the message says what is."""

from __future__ import annotations

import json
import os
import resource
import shutil
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from pflow.core.errors import CorruptError, DamagedError, NotFoundError
from pflow.core.file.home import Home
from pflow.workspace import Workspace
from tests.robust.conftest import TOKEN
from tests.robust.world import (
    Ended,
    Forked,
    document,
    environment,
    mounted,
    pflow,
    program,
    remount,
    snapshot,
)
from tests.unprivileged import obey_permissions

READING = [
    ("validate", "greet"),
    ("describe", "greet"),
    ("run", "greet", "--dry-run"),
    ("workflow", "list"),
    ("registry", "list"),
    ("registry", "describe", "echo"),
]
"""Commands that need neither settings nor journal."""


def quiet(ended: Ended) -> bool:
    """Whether a command ended in a documented way: no traceback, no bug, a known exit code."""
    return "Traceback" not in ended.said and "pflow has a bug" not in ended.said and ended.code in (0, 1, 2, 3, 4)


# Damaged contents

DAMAGE: dict[str, Callable[[bytes], bytes]] = {
    "garbage": lambda data: b"\x00\xff{[" * 50,
    "truncated": lambda data: data[: len(data) // 2],
    "empty": lambda data: b"",
    "other type": lambda data: b"[1, 2]",
    "a pickle": lambda data: b"cos\nsystem\n(S'touch /tmp/never'\ntR.",
    "utf-16": lambda data: b"\xff\xfe" + "{}".encode("utf-16-le"),
}


@pytest.fixture(params=DAMAGE)
def damage(request: pytest.FixtureRequest) -> Callable[[bytes], bytes]:
    return DAMAGE[request.param]


def harm(path: Path, damage: Callable[[bytes], bytes]) -> bytes:
    """Damage a file in place; what it holds now."""
    data = damage(path.read_bytes())
    path.write_bytes(data)
    return data


def asides(path: Path) -> list[Path]:
    return sorted(path.parent.glob(f"{path.name}.corrupt-*"))


def test_damaged_settings_are_set_aside_and_never_taken_for_none(
    lived_in: Path, damage: Callable[[bytes], bytes]
) -> None:
    settings = lived_in / "settings.json"
    whole = settings.read_bytes()
    held = harm(settings, damage)
    assert pflow("validate", "greet").code == pflow("registry", "list").code == 0
    first = pflow("run", "greet")
    [aside] = asides(settings)
    assert (first.code, aside.read_bytes(), settings.exists()) == (1, held, False)
    assert f"`{settings}` is damaged; it was set aside as `{aside.name}`" in first.err
    second = pflow("run", "greet", "--json")
    assert (second.code, second.json["error"]["type"]) == (1, "corrupt")
    assert aside.name in second.json["error"]["message"]
    aside.replace(settings)
    settings.write_bytes(whole)
    assert pflow("run", "greet").out == "hello you\n"
    assert TOKEN[-4:] in pflow("settings", "get", "SERVICE_TOKEN").out


def test_settings_can_begin_anew_beside_what_was_set_aside(lived_in: Path, damage: Callable[[bytes], bytes]) -> None:
    settings = lived_in / "settings.json"
    held = harm(settings, damage)
    assert pflow("settings", "set", "OTHER_TOKEN", "-", stdin=b"a new credential").code == 1
    assert pflow("settings", "set", "OTHER_TOKEN", "-", stdin=b"a new credential").code == 0
    assert pflow("run", "greet").code == 0
    assert [aside.read_bytes() for aside in asides(settings)] == [held]


@pytest.mark.parametrize(
    "content",
    [
        b'{"env": 5}',
        b'{"env": {"SERVICE_TOKEN": ["x"]}}',
        b'{"options": []}',
        b'{"version": 99, "env": {"A_TOKEN": "kept-as-it-is"}}',
        b'{"options": {"journal.sync": "sideways"}}',
    ],
)
def test_settings_of_another_shape_are_refused_and_left_alone(lived_in: Path, content: bytes) -> None:
    settings = lived_in / "settings.json"
    settings.write_bytes(content)
    done = pflow("run", "greet")
    assert done.code in (1, 2) and "`settings.json`" in done.err and "hint:" in done.err
    assert (settings.read_bytes(), asides(settings)) == (content, [])


def test_a_damaged_registry_is_set_aside_and_rebuilt(lived_in: Path, damage: Callable[[bytes], bytes]) -> None:
    registry = lived_in / "registry.json"
    held = harm(registry, damage)
    done = pflow("run", "greet")
    [aside] = asides(registry)
    assert (done.code, done.out, aside.read_bytes()) == (0, "hello you\n", held)
    assert f"`registry.json` was damaged; it was set aside as `{aside.name}`" in done.err
    assert "echo" in json.loads(registry.read_bytes())
    assert pflow("run", "greet").err == ""


def test_registry_entries_of_another_type_are_dropped_and_the_rest_kept(lived_in: Path) -> None:
    registry = lived_in / "registry.json"
    content = json.loads(registry.read_bytes())
    content["mcp-git-log"] = {"file_path": "virtual://mcp", "interface": {"description": "kept"}}
    content["echo"] = "not an entry"
    registry.write_text(json.dumps(content))
    done = pflow("run", "greet")
    assert done.code == 0 and "was damaged" in done.err
    assert "mcp-git-log" in json.loads(registry.read_bytes())


def test_a_damaged_journal_is_set_aside_and_a_new_one_begun(lived_in: Path, damage: Callable[[bytes], bytes]) -> None:
    journal = lived_in / "runs.db"
    held = harm(journal, damage)
    done = pflow("run", "greet")
    [aside] = asides(journal)
    assert (done.code, done.out, aside.read_bytes()) == (0, "hello you\n", held)
    assert f"was damaged and set aside as `{aside.name}`" in done.err
    assert len(pflow("runs", "list", "--json").json["data"]["runs"]) == 1


def test_looking_at_a_damaged_journal_says_that_it_was_damaged(lived_in: Path) -> None:
    harm(lived_in / "runs.db", DAMAGE["garbage"])
    listed = pflow("runs", "list")
    assert listed.code == 0 and "was damaged and set aside as" in listed.err


@pytest.mark.parametrize("name", ["settings.json", "registry.json", "runs.db"])
def test_a_huge_file_is_not_read_and_not_lost(lived_in: Path, name: str) -> None:
    os.truncate(lived_in / name, 5 << 30)
    done = pflow("run", "greet", before=lambda: resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30)))
    assert quiet(done)
    if name == "settings.json":
        assert done.code == 1 and f"`{lived_in / name}` is larger than" in done.err
    else:
        assert done.code == 0
    if name == "registry.json":
        assert f"`{lived_in / name}` is larger than" in done.err
    kept = [path for path in lived_in.iterdir() if path.name.startswith(name) and path.stat().st_size == 5 << 30]
    assert len(kept) == 1


def test_a_damaged_workflow_is_named_and_others_are_listed(lived_in: Path, damage: Callable[[bytes], bytes]) -> None:
    bad = lived_in / "workflows" / "bad.json"
    bad.write_bytes(damage((lived_in / "workflows" / "greet.json").read_bytes()))
    held = bad.read_bytes()
    done = pflow("run", "bad")
    assert done.code == 2 and "bad" in done.err and quiet(done)
    refused = pflow("run", "bad", "--json").json["error"]
    assert refused["type"] == "validation" and refused["details"]["issues"]
    listed = pflow("workflow", "list")
    assert listed.code == 0 and "greet" in listed.out
    assert bad.read_bytes() == held


def test_damaged_statistics_never_keep_a_workflow_from_running(
    lived_in: Path, damage: Callable[[bytes], bytes]
) -> None:
    harm(lived_in / "workflows" / ".stats.json", damage)
    assert pflow("run", "greet").out == "hello you\n"
    assert pflow("workflow", "list").code == 0


def test_a_damaged_trace_file_is_refused_by_name(lived_in: Path) -> None:
    [trace, *_] = sorted((lived_in / "debug").iterdir())
    trace.write_bytes(b"{")
    done = pflow("trace", trace.name)
    assert done.code == 1 and trace.name in done.err and quiet(done)
    assert pflow("trace", "latest").code == 0


# Something else in place of a file


def plant(kind: str, path: Path, outside: Path) -> None:
    if path.exists():
        path.rename(outside)
    else:
        outside.write_bytes(b"{}")
    match kind:
        case "link":
            path.symlink_to(outside)
        case "dangling link":
            path.symlink_to(outside.with_name("nowhere"))
        case "loop":
            path.symlink_to(path)
        case "hard link":
            path.hardlink_to(outside)
        case "fifo":
            os.mkfifo(path)
        case "folder":
            path.mkdir()
        case "device":
            path.symlink_to("/dev/zero")


@pytest.mark.parametrize("kind", ["link", "dangling link", "loop", "hard link", "fifo", "folder", "device"])
@pytest.mark.parametrize("name", ["settings.json", "registry.json", "runs.db"])
def test_what_is_no_file_of_its_own_is_neither_followed_nor_replaced(
    lived_in: Path, tmp_path: Path, name: str, kind: str
) -> None:
    outside = tmp_path / "outside"
    plant(kind, lived_in / name, outside)
    before, mode = outside.read_bytes(), (lived_in / name).lstat().st_mode
    done = pflow("run", "greet")
    assert done.code == 3
    assert done.err.startswith(f"error: `{name}` in pflow's home is a link or not a regular file")
    assert str(lived_in) not in done.err and str(outside) not in done.err
    assert (outside.read_bytes(), (lived_in / name).lstat().st_mode) == (before, mode)
    assert not outside.with_name("nowhere").exists()
    for command in (("runs", "list"), ("registry", "scan")):
        assert quiet(pflow(*command))
    assert outside.read_bytes() == before


@pytest.mark.parametrize("kind", ["link", "fifo", "folder"])
@pytest.mark.parametrize("name", ["runs.db-wal", ".runs.db.lock", ".settings.json.lock", "workflows/greet.json"])
def test_the_files_beside_them_are_not_followed_either(lived_in: Path, tmp_path: Path, name: str, kind: str) -> None:
    outside = tmp_path / "outside"
    plant(kind, lived_in / name, outside)
    before = outside.read_bytes()
    done = [pflow("run", "greet"), pflow("settings", "set", "trace.max_mb", "7")]
    assert all(map(quiet, done))
    assert outside.read_bytes() == before
    if name != ".runs.db.lock":  # only needed to make or move the journal
        assert any(ended.code in (1, 3) for ended in done)


@pytest.mark.parametrize("name", ["debug", "workflows", "owners"])
def test_a_folder_that_leads_to_where_others_write_is_refused(lived_in: Path, tmp_path: Path, name: str) -> None:
    open_folder = tmp_path / "open"
    open_folder.mkdir()
    open_folder.chmod(0o777)
    shutil.rmtree(lived_in / name)
    (lived_in / name).symlink_to(open_folder)
    done = pflow("run", "-", stdin=document({"id": "a", "type": "echo", "params": {"x": 1}}).encode())
    assert quiet(done)
    assert list(open_folder.iterdir()) == []
    if name == "debug":
        assert done.out == "1\n" and "the trace was not written" in done.err
    if name == "owners":
        assert done.code == 3


def test_a_journal_that_is_a_dangling_link_is_not_an_empty_one(lived_in: Path) -> None:
    (lived_in / "runs.db").unlink()
    (lived_in / "runs.db").symlink_to("nowhere")
    done = pflow("runs", "list")
    assert done.code == 3 and "is a link" in done.err


# Damage in the middle of the journal

PAGE = 8192


def journal_with_runs(home: Home) -> dict[str, object]:
    """Several runs, small and large; what each shows."""
    with Workspace(home, environ={}) as workspace:
        for number in range(6):
            size = 20_000 if number % 2 else 10
            node = {"id": "say", "type": "echo", "params": {"text": f"{number}" * size}}
            assert workspace.run({"name": f"run-{number}", "nodes": [node]}, run_id=f"abc{number}").success
        return {info.run_id: workspace.show_run(info.run_id) for info in workspace.runs()}


def look(home: Home, run_id: str) -> object:
    """What a run shows; `damaged` or `aside` if it says so; and large values must be whole."""
    with Workspace(home, environ={}) as workspace:
        try:
            shown = workspace.show_run(run_id)
            workspace.trace(run_id, field="outputs.text", limit=100_000)
            return shown
        except DamagedError:
            return "damaged"
        except (CorruptError, NotFoundError) as error:
            said = " ".join([*workspace.notices, error.message])
            assert asides(home.journal), said
            return "aside"


@pytest.mark.slow
def test_a_page_that_was_overwritten_never_shows_something_wrong(home: Path, tmp_path: Path) -> None:
    """Every page of the journal in turn is overwritten: each run is whole, or said to be damaged or set aside."""
    original = Home(tmp_path / "original")
    shown = journal_with_runs(original)
    pages = original.journal.stat().st_size // PAGE
    assert pages > 12
    outcomes = []
    for page in range(pages):
        place = Home(tmp_path / f"page-{page}")
        shutil.copytree(original.root, place.root)
        with place.journal.open("r+b") as file:
            file.seek(page * PAGE)
            file.write(b"\xa5" * PAGE)
        found = {run_id: look(place, run_id) for run_id in shown}
        for run_id, now in found.items():
            assert now in ("damaged", "aside") or now == shown[run_id], f"page {page}, {run_id}"
        with Workspace(place, environ={}) as workspace:
            assert all(info.status in ("completed", "damaged") for info in workspace.runs())
        outcomes.append([now if isinstance(now, str) else "whole" for now in found.values()])
        with Workspace(place, environ={}) as workspace:
            assert run_again(workspace), f"page {page}"
        shutil.rmtree(place.root)
    assert any("damaged" in each and "whole" in each for each in outcomes), "one run's damage is its own"


def run_again(workspace: Workspace) -> bool:
    """Whether new runs work, at the latest once what is broken was met and set aside."""
    for _ in range(2):
        try:
            return workspace.run({"nodes": [{"id": "say", "type": "echo", "params": {"text": "again"}}]}).success
        except CorruptError:
            continue
    return False


def test_the_list_shows_damaged_runs_and_the_others_can_be_resumed(lived_in: Path) -> None:
    runs = [run["run_id"] for run in pflow("runs", "list", "--json").json["data"]["runs"]]
    import sqlite3

    database = sqlite3.connect(lived_in / "runs.db")
    database.execute("DELETE FROM events WHERE id IN (SELECT min(id) + 1 FROM events)")
    database.commit()
    database.close()
    shown = pflow("runs", "show", runs[-1])
    assert (shown.code, shown.err.splitlines()[0]) == (
        1,
        f"error: the journal of run `{runs[-1]}` cannot be read to its end",
    )
    statuses = [run["status"] for run in pflow("runs", "list", "--json").json["data"]["runs"]]
    assert statuses == ["completed", "completed", "damaged"]
    assert pflow("runs", "show", runs[0]).code == 0
    resumed = pflow("runs", "resume", runs[-1], "--json")
    assert (resumed.code, resumed.json["error"]["type"]) == (1, "damaged")


# A home that changes under a run


@pytest.mark.parametrize("remove", ["rm {home}/runs.db*", "mv {home}/runs.db away", "rm -r {home}"])
def test_a_run_ends_when_its_journal_is_taken_away_and_never_pretends_to_be_recorded(
    lived_in: Path, tmp_path: Path, remove: str
) -> None:
    file = tmp_path / "doc.json"
    file.write_text(
        document(
            {"id": "take", "type": "shell", "params": {"command": remove.format(home=lived_in), "cwd": str(tmp_path)}},
            {"id": "never", "type": "shell", "params": {"command": "echo pretended > did", "cwd": str(tmp_path)}},
        )
    )
    done = pflow("run", str(file), "--json")
    assert (done.code, done.json["error"]["type"]) == (1, "corrupt") and quiet(done)
    assert f"`{lived_in / 'runs.db'}` was moved, deleted or set aside under run" in done.json["error"]["message"]
    assert not (tmp_path / "did").exists()
    assert pflow("--json", "echo", "--x=1").json["success"]
    assert len(pflow("runs", "list", "--json").json["data"]["runs"]) == 1


@pytest.mark.parametrize("remove", ["rm -r {home}/debug", "rm {home}/registry.json {home}/settings.json"])
def test_other_files_may_vanish_under_a_run(lived_in: Path, tmp_path: Path, remove: str) -> None:
    file = tmp_path / "doc.json"
    command = f"{remove.format(home=lived_in)}; echo took"
    file.write_text(document({"id": "take", "type": "shell", "params": {"command": command}}))
    assert pflow("run", str(file)).out == "took\n"
    assert pflow("run", "greet").out == "hello you\n"


# A disk without room

EFFECTS = {"first": "", "grow": "; head -c 300000 /dev/zero", "last": "; echo done"}


def noted(disk: Path) -> str:
    """A workflow whose steps note in the file `did` that they ran."""
    notes = {step: f"echo {step} >> {disk}/did{then}" for step, then in EFFECTS.items()}
    nodes = [{"id": step, "type": "shell", "params": {"command": command}} for step, command in notes.items()]
    return document(*nodes, name="big")


@pytest.fixture
def small_disk(tmp_path: Path, pattern: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A home that was lived in, on a disk of 3 MB of its own."""
    with mounted(tmp_path / "disk", "size=3m", "mode=0700") as disk:
        shutil.copytree(pattern, disk / "home")
        monkeypatch.setenv("PFLOW_HOME", str(disk / "home"))
        (disk / "big.json").write_text(noted(disk))
        (disk / "did").write_bytes(b" " * 4096 * 2)  # so that noting an effect needs no room
        (disk / "did").write_bytes(b"")
        yield disk


def fill(disk: Path, left: int) -> Path:
    """Take all room but `left` bytes."""
    found = os.statvfs(disk)
    filler = disk / "filler"
    filler.write_bytes(b"x" * (found.f_bavail * found.f_frsize - left))
    return filler


@pytest.mark.parametrize(
    ("command", "file"),
    [
        (("run", "greet"), "runs.db"),
        (("workflow", "save", "big.json", "big"), "workflows/.versions/big/1.json"),
        (("workflow", "save", "big.json", "greet", "--overwrite"), "workflows/.versions/greet/2.json"),
        (("workflow", "save", "big.json", "sketch", "--draft", "--overwrite"), "temp-workflows/sketch.json"),
        (("settings", "set", "trace.max_mb", "7"), "settings.json"),
        (("settings", "unset", "trace.keep_days"), "settings.json"),
        (("registry", "scan"), "registry.json"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_a_full_disk_is_named_and_keeps_what_was_there(small_disk: Path, command: tuple[str, ...], file: str) -> None:
    home = small_disk / "home"
    fill(small_disk, 0)
    before = snapshot(home)
    done = pflow(*(str(small_disk / word) if word == "big.json" else word for word in command), "--json")
    assert (done.code, done.json["error"]["type"]) == (1, "storage")
    assert f"`{home / file}`" in done.json["error"]["message"]
    assert any("space" in hint for hint in done.json["error"]["suggestions"])
    after = {name: data for name, data in snapshot(home).items() if not name.startswith("runs.db-")}
    assert after == before
    for reading in (("validate", "greet"), ("workflow", "list"), ("trace", "latest"), ("settings", "list")):
        assert pflow(*reading).code == 0


@pytest.mark.parametrize("left", [48 << 10, 100 << 10, 200 << 10, 300 << 10])
def test_a_disk_that_fills_up_under_a_run_loses_no_completed_step(small_disk: Path, left: int) -> None:
    filler = fill(small_disk, left)
    done = pflow("run", str(small_disk / "big.json"), "--json")
    assert quiet(done)
    assert (done.code, done.json["error"]["type"]) == (1, "storage")
    assert f"`{small_disk / 'home' / 'runs.db'}`" in done.json["error"]["message"]
    listed = pflow("runs", "list", "--json").json["data"]["runs"]
    if len(listed) == 3:
        assert (small_disk / "did").read_bytes() == b"", "a run that could not begin has done nothing"
        return
    run_id = listed[0]["run_id"]
    assert done.json["error"]["details"]["run_id"] == run_id
    assert any(f"pflow runs resume {run_id}" in hint for hint in done.json["error"]["suggestions"])
    filler.unlink()
    steps = pflow("runs", "show", run_id, "--json").json["data"]["steps"]
    completed = [step["step"] for step in steps if step["status"] == "completed"]
    did = (small_disk / "did").read_text().split()
    assert completed == did[: len(completed)] and len(did) - len(completed) <= 1
    asked = pflow("runs", "resume", run_id)
    assert asked.code == (4 if len(did) > len(completed) else 0)
    if asked.code == 4:
        again = pflow("runs", "resume", run_id, "--rerun-in-doubt")
        assert again.out == "done\n", again
    counts = {step: (small_disk / "did").read_text().split().count(step) for step in ("first", "grow", "last")}
    assert all(count == 1 or (count == 2 and step not in completed) for step, count in counts.items())


def test_a_limit_on_the_size_of_files_is_like_a_full_disk(lived_in: Path, tmp_path: Path) -> None:
    file = tmp_path / "doc.json"
    file.write_text(document({"id": "grow", "type": "code", "params": {"code": "result = 'x' * 3_000_000"}}))
    size = (lived_in / "runs.db").stat().st_size

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (size + 65536, size + 65536))

    done = pflow("run", str(file), "--json", before=limit)
    assert (done.code, done.json["error"]["type"]) == (1, "storage")
    assert "runs.db" in done.json["error"]["message"]
    run_id = done.json["error"]["details"]["run_id"]
    assert pflow("runs", "resume", run_id, "--rerun-in-doubt", "--json").json["success"]


# A home that cannot be written to

REFUSED = [
    ("run", "greet"),
    ("--json", "echo", "--x=1"),
    ("runs", "resume", "latest", "--with", "greet"),
    ("settings", "set", "trace.max_mb", "7"),
    ("settings", "unset", "trace.keep_days"),
    ("workflow", "delete", "greet"),
    ("workflow", "save", "greet", "other"),
    ("workflow", "save", "greet", "other", "--draft"),
    ("registry", "scan"),
]


@pytest.fixture(params=["read-only disk", "no permission"])
def unwritable(
    request: pytest.FixtureRequest, pattern: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[tuple[Path, Callable[[], object] | None]]:
    """A home that can be read and not written, and who must look at it."""
    folder = tmp_path / "unwritable"
    folder.mkdir()
    monkeypatch.setenv("PFLOW_HOME", str(folder / "home"))
    monkeypatch.setenv("HOME", str(folder))
    try:
        if request.param == "read-only disk":
            with mounted(folder, "size=3m", "mode=0700"):
                shutil.copytree(pattern, folder / "home")
                remount(folder, "ro")
                yield folder / "home", None
        else:
            shutil.copytree(pattern, folder / "home")
            folders = [path for path in [folder, *folder.rglob("*")] if path.is_dir()]
            for path in folders:
                path.chmod(0o500)
            yield folder / "home", obey_permissions
            for path in folders:
                path.chmod(0o700)
    finally:
        shutil.rmtree(folder)


def test_an_unwritable_home_can_be_read(unwritable: tuple[Path, Callable[[], object] | None]) -> None:
    home, before = unwritable
    for command in (*READING, ("runs", "list"), ("runs", "show", "latest"), ("trace", "latest"), ("settings", "list")):
        done = pflow(*command, before=before)
        assert (done.code, done.err) == (0, ""), command
    assert len(pflow("runs", "list", "--json", before=before).json["data"]["runs"]) == 3


@pytest.mark.parametrize("command", REFUSED, ids=" ".join)
def test_an_unwritable_home_refuses_to_change(
    unwritable: tuple[Path, Callable[[], object] | None], command: tuple[str, ...]
) -> None:
    home, before = unwritable
    held = snapshot(home)
    done = pflow(*command, *(() if "--json" in command else ("--json",)), before=before)
    assert (done.code, done.json["error"]["type"]) == (1, "storage"), done
    assert str(home) in done.json["error"]["message"]
    assert any("PFLOW_HOME" in hint for hint in done.json["error"]["suggestions"])
    assert snapshot(home) == held


def test_a_home_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    home = tmp_path / "file" / "home"
    for command in (("settings", "set", "trace.max_mb", "7"), ("run", "-"), ("workflow", "list")):
        done = pflow(*command, env={"PFLOW_HOME": str(home)}, stdin=b'{"nodes": [{"id": "a", "type": "echo"}]}')
        assert quiet(done) and done.code == 1 and str(home) in done.err


@pytest.mark.parametrize(
    "name", ["sp ace", "a?b#c%41&d", "é😀", "new\nline", "'\"`$(x)", "-dash", os.fsdecode(b"\xff\xfe")]
)
def test_a_home_may_have_any_name_that_a_folder_can_have(tmp_path: Path, name: str) -> None:
    env = {"PFLOW_HOME": str(tmp_path / name)}
    text = document({"id": "a", "type": "shell", "params": {"command": "echo hi"}}).encode()
    done = pflow("run", "-", "--json", env=env, stdin=text)
    assert done.code == 0 and done.json["success"], done
    assert pflow("trace", "latest", env=env).code == 0
    assert [path.name for path in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize("end", ["import sys; sys.exit(3)", "raise SystemExit", "1 / 0", "def"])
def test_a_node_of_a_person_that_cannot_be_loaded_is_named(home: Path, end: str) -> None:
    (home / "nodes").mkdir(parents=True)
    text = f'from pocketflow import Node\n\nclass Bad(Node):\n    """Bad."""\n\n{end}\n'
    (home / "nodes" / "bad.py").write_text(text)
    done = pflow("registry", "validate")
    assert done.code in (0, 1) and "bad" in done.err and quiet(done)
    assert pflow("--json", "echo", "--x=1").json["success"]


@pytest.mark.parametrize("value", [None, "", "relative", "with\nnewline"])
def test_without_a_home_folder_the_way_out_is_named(value: str | None) -> None:
    done = program("run", "-", env={"HOME": value, "PFLOW_HOME": None, "USERPROFILE": None}, stdin=b'{"nodes": []}')
    assert done.code == 1
    assert done.err.splitlines()[0] == "error: there is no home directory: HOME is not set to an absolute path"
    assert "PFLOW_HOME" in done.err


def test_what_needs_no_home_works_without_one() -> None:
    for command in (("--version",), ("--help",), ("completion", "bash")):
        assert pflow(*command, env={"HOME": None, "PFLOW_HOME": None}).code == 0


# Eight at once


def at_once(*commands: tuple[str, ...], stdin: bytes = b"") -> list[Ended]:
    """Command lines that begin together, each in a process of its own."""
    read, write = os.pipe()

    def wait() -> None:
        os.close(write)
        os.read(read, 1)  # returns when the parent closes its end

    children = [Forked(command, stdin=stdin, before=wait) for command in commands]
    os.close(read)
    os.close(write)
    return [child.wait() for child in children]


def test_eight_first_runs_of_a_home_that_does_not_exist_are_all_recorded(home: Path) -> None:
    text = document({"id": "a", "type": "echo", "params": {"x": 1}}).encode()
    done = at_once(*[("run", "-", "--json")] * 8, stdin=text)
    assert [(ended.code, ended.err) for ended in done] == [(0, "")] * 8
    ids = {ended.json["data"]["run_id"] for ended in done}
    listed = pflow("runs", "list", "--json").json["data"]["runs"]
    assert {run["run_id"] for run in listed} == ids and len(ids) == 8
    assert {run["status"] for run in listed} == {"completed"}
    assert len(list((home / "debug").iterdir())) == 8
    assert asides(home / "runs.db") == asides(home / "registry.json") == []


@pytest.mark.slow
def test_eight_processes_of_every_kind_lose_nothing(lived_in: Path, tmp_path: Path) -> None:
    file = tmp_path / "doc.json"
    file.write_text(document({"id": "a", "type": "echo", "params": {"x": 1}}))
    commands = [
        words
        for n in range(8)
        for words in (
            ("workflow", "save", str(file), f"flow-{n}"),
            ("settings", "set", f"KEY_{n}", f"value-of-{n}-{n}"),
            ("run", "greet", f"who={n}"),
        )
    ]
    done = at_once(*commands)
    assert [ended.code for ended in done] == [0] * 24, [ended.err for ended in done if ended.code]
    names = {flow["name"] for flow in pflow("workflow", "list", "--json").json["data"]["workflows"]}
    assert names == {"greet", *(f"flow-{n}" for n in range(8))}
    keys = {entry["key"] for entry in pflow("settings", "list", "--json").json["data"]["settings"] if entry["secret"]}
    assert keys == {"SERVICE_TOKEN", *(f"KEY_{n}" for n in range(8))}
    assert len(pflow("runs", "list", "--json").json["data"]["runs"]) == 11
    [greet] = pflow("workflow", "list", "greet", "--json").json["data"]["workflows"]
    assert greet["execution_count"] == 11
    assert not [path for path in lived_in.rglob("*") if ".tmp" in path.name or ".corrupt-" in path.name]


def test_of_eight_that_save_one_new_name_one_wins(home: Path, tmp_path: Path) -> None:
    file = tmp_path / "doc.json"
    file.write_text(document({"id": "a", "type": "echo", "params": {"x": 1}}))
    done = at_once(*[("workflow", "save", str(file), "same", "--json")] * 8)
    assert sorted(ended.code for ended in done) == [0] + [2] * 7
    assert {ended.json["error"]["type"] for ended in done if ended.code} == {"exists"}
    assert json.loads((home / "workflows" / "same.json").read_bytes())


@pytest.mark.slow
def test_eight_that_meet_a_damaged_journal_set_it_aside_once(lived_in: Path) -> None:
    held = harm(lived_in / "runs.db", DAMAGE["garbage"])
    done = at_once(*[("run", "greet", "--json")] * 8)
    assert [ended.code for ended in done] == [0] * 8
    assert [aside.read_bytes() for aside in asides(lived_in / "runs.db")] == [held]
    assert len(pflow("runs", "list", "--json").json["data"]["runs"]) == 8


def test_eight_that_meet_damaged_settings_set_them_aside_once(lived_in: Path) -> None:
    held = harm(lived_in / "settings.json", DAMAGE["truncated"])
    done = at_once(*[("run", "greet")] * 8)
    assert [ended.code for ended in done] == [1] * 8
    assert [aside.read_bytes() for aside in asides(lived_in / "settings.json")] == [held]


@pytest.mark.slow
def test_four_new_interpreters_at_once_lose_nothing(home: Path, tmp_path: Path) -> None:
    file = tmp_path / "doc.json"
    file.write_text(document({"id": "a", "type": "echo", "params": {"x": 1}}))
    commands = [
        ("run", str(file)),
        ("run", str(file)),
        ("settings", "set", "A_KEY", "a-long-value"),
        ("workflow", "save", str(file), "kept"),
    ]
    children = [
        subprocess.Popen([sys.executable, "-m", "pflow", *words], env=environment({}), stdout=subprocess.DEVNULL)
        for words in commands
    ]
    assert [child.wait(timeout=60) for child in children] == [0, 0, 0, 0]
    assert len(pflow("runs", "list", "--json").json["data"]["runs"]) == 2
    assert pflow("settings", "get", "A_KEY", "--json").json["data"]["set"] is True
    assert (home / "workflows" / "kept.json").exists()


# Permissions


@pytest.mark.parametrize("umask", [0o000, 0o077, 0o027])
def test_folders_and_files_are_their_owners_alone_whatever_the_umask(tmp_path: Path, umask: int) -> None:
    home = tmp_path / "deep" / "er" / ".pflow"
    (tmp_path / "deep").mkdir(mode=0o700)
    list_home = {"id": "ls", "type": "shell", "params": {"command": f"find {home} -printf '%m %y %P\\n'"}}
    file = tmp_path / "doc.json"
    file.write_text(document(list_home, {"id": "fail", "type": "shell", "params": {"command": "exit 3"}}))

    def on(*words: str, stdin: bytes = b"") -> Ended:
        return pflow(*words, env={"PFLOW_HOME": str(home)}, before=lambda: os.umask(umask), stdin=stdin)

    assert on("settings", "set", "A_TOKEN", "-", stdin=b"a-long-enough-secret").code == 0
    assert on("workflow", "save", str(file), "flow").code == 0
    assert on("workflow", "save", str(file), "flow", "--draft").code == 0
    assert on("run", "flow").code == 1
    seen: Any = on("trace", "latest", "--step", "ls", "--field", "outputs.stdout").out
    found = [line.split(" ", 2) for line in seen.splitlines()]
    assert {"runs.db", "runs.db-wal", "runs.db-shm", "owners"} <= {name for _, _, name in found}, "while it ran"
    wrong = [(mode, name) for mode, kind, name in found if mode != {"d": "700", "f": "600"}[kind]]
    assert wrong == []
    for path in [home, home.parent, *home.rglob("*")]:
        mode = stat.S_IMODE(path.lstat().st_mode)
        assert mode == (0o700 if path.is_dir() else 0o600), path


def test_a_run_folder_is_its_owners_alone(home: Path) -> None:
    from pflow.engine.context import StepContext
    from pflow.engine.ports import Services

    before = os.umask(0)
    try:
        folder = StepContext("run-1", "a", "a", Services(home=home, settings={}), lambda step, message: None).folder()
    finally:
        os.umask(before)
    assert {stat.S_IMODE(path.stat().st_mode) for path in (home, folder.parent, folder)} == {0o700}


def test_files_that_others_could_read_are_restricted_and_said(lived_in: Path) -> None:
    for name in ("settings.json", "runs.db"):
        (lived_in / name).chmod(0o644)
    done = pflow("run", "greet")
    assert done.code == 0
    for name in ("settings.json", "runs.db"):
        assert stat.S_IMODE((lived_in / name).stat().st_mode) == 0o600
        assert f"`{lived_in / name}` was readable by other users" in done.err
