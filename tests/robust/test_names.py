"""Whatever stands where a name is expected, it never becomes a path, a line of its own, or a file."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pflow.core.errors import NotFoundError, PflowError, SecurityError
from pflow.core.file.home import Home
from pflow.core.library.workflow_manager import WorkflowManager
from pflow.workspace import Workspace
from tests.robust.world import pflow, snapshot

NAMES = {
    "parent": "..",
    "here": ".",
    "dots inside": "a..b",
    "newline": "a\nb",
    "tab": "a\tb",
    "escape": "a\x1b[31mb",
    "line separator": "a\u2028b",
    "c1 control": "a\x9bb",
    "dash": "-rf",
    "double dash": "--help",
    "device": "CON",
    "device with dot": "aux.txt",
    "port": "com1",
    "superscript port": "COM¹",
    "trailing dot": "a.",
    "trailing space": "a ",
    "leading dot": ".hidden",
    "stream": "a:b",
    "drive": "C:x",
    "non-ascii": "naïve",
    "emoji": "😀",
    "full width": "ａｂ",
    "65 characters": "a" * 65,
    "4096 characters": "a" * 4096,
    "zero width": "a\u200bb",
    "bidi": "a\u202eb",
    "isolate": "a\u2066b",
    "glob": "*",
    "command": "$(touch x)",
    "quote": 'a"b',
    "backtick": "a`b",
}
"""Names that no file name may come from, and that are no paths either."""

PATHS = {
    "slash": "a/b",
    "absolute": "/etc/passwd",
    "up": "../../x",
    "home": "~/x",
    "trailing slash": "a/",
    "only slash": "/",
    "dot slash": "./a",
}
"""Where a name is stored under, these are names as well, and bad ones; where one is looked up, they are paths."""

BACKSLASH = {"backslash": "a\\b", "windows path": "..\\x"}
UNSAYABLE = {"nul": "a\0b", "only nul": "\0", "half a surrogate": "a\ud800b", "empty": ""}
"""What no command line can carry, or what click takes for nothing."""

DOCUMENT = {"nodes": [{"id": "a", "type": "echo", "params": {"x": 1}}]}


def tree(folder: Path) -> dict[str, bytes]:
    """What a test's folder holds, without what any command may write: the cache of node types, and locks."""
    return {
        name: data
        for name, data in snapshot(folder).items()
        if not name.endswith((".lock", "registry.json")) or "workflows/" in name.removesuffix(".workflows.lock")
    }


def check_message(text: str, name: str, home: Path) -> None:
    """One printable line that shows neither a path nor the name as it is, where that could do harm."""
    assert text.isprintable(), text
    assert str(home) not in text and "/" not in text and "\\b" not in text
    if not (name.isascii() and name.isprintable()):
        assert name not in text


@pytest.fixture
def place(lived_in: Path) -> Home:
    return Home(lived_in)


WAYS: dict[str, Callable[[Workspace, str], Any]] = {
    "save": lambda workspace, name: workspace.save(DOCUMENT, name),
    "save over": lambda workspace, name: workspace.save(DOCUMENT, name, overwrite=True),
    "save a draft": lambda workspace, name: workspace.save(DOCUMENT, name, draft=True),
    "delete": lambda workspace, name: workspace.delete(name),
    "promote to": lambda workspace, name: WorkflowManager(workspace.home).promote("sketch", name),
    "promote from": lambda workspace, name: WorkflowManager(workspace.home).promote(name, "new"),
    "load": lambda workspace, name: WorkflowManager(workspace.home).load(name),
    "exists": lambda workspace, name: WorkflowManager(workspace.home).exists(name),
    "count a run": lambda workspace, name: WorkflowManager(workspace.home).record_run(name, True, 1.0),
}

LOOKUPS: dict[str, Callable[[Workspace, str], Any]] = {
    "run": lambda workspace, name: workspace.run(name),
    "check": lambda workspace, name: workspace.check(name).ready(),
    "describe": lambda workspace, name: workspace.describe(name),
    "save from": lambda workspace, name: workspace.save(name, "other"),
    "resume with": lambda workspace, name: workspace.resume("latest", edited=name),
}


@pytest.mark.parametrize("way", WAYS)
def test_no_bad_name_is_taken_for_storing(place: Home, tmp_path: Path, way: str) -> None:
    before = tree(tmp_path)
    with Workspace(place, environ={}) as workspace:
        for name in (NAMES | PATHS | BACKSLASH | UNSAYABLE).values():
            with pytest.raises(SecurityError) as caught:
                WAYS[way](workspace, name)
            assert caught.value.exit_code == 3
            check_message(caught.value.message, name, place.root)
    assert tree(tmp_path) == before


@pytest.mark.parametrize("way", LOOKUPS)
def test_no_bad_name_is_taken_for_finding(place: Home, tmp_path: Path, way: str) -> None:
    before = tree(tmp_path)
    with Workspace(place, environ={}) as workspace:
        for name in (NAMES | BACKSLASH | UNSAYABLE).values():
            with pytest.raises(SecurityError) as caught:
                LOOKUPS[way](workspace, name)
            check_message(caught.value.message, name, place.root)
        for name in PATHS.values():
            with pytest.raises(PflowError) as refused:
                LOOKUPS[way](workspace, name)
            assert refused.value.exit_code in (1, 2, 3)
    assert tree(tmp_path) == before


@pytest.mark.parametrize(
    "reference", ["a/\0b", "~\0/x", "\0.json", "/" + "a" * 5000, "a/" * 3000, "~nobody-of-that-name/x"]
)
def test_a_path_that_no_system_can_open_is_refused_plainly(place: Home, reference: str) -> None:
    with Workspace(place, environ={}) as workspace:
        with pytest.raises(PflowError) as caught:
            workspace.check(reference)
    assert caught.value.message.isprintable() and len(caught.value.message) < 1000


COMMANDS: dict[str, Callable[[str, str], list[str]]] = {
    "workflow save": lambda file, name: ["workflow", "save", "--", file, name],
    "workflow save --name": lambda file, name: ["workflow", "save", file, f"--name={name}"],
    "workflow save --draft": lambda file, name: ["workflow", "save", "--draft", "--", file, name],
    "workflow delete": lambda file, name: ["workflow", "delete", "--", name],
    "workflow describe": lambda file, name: ["workflow", "describe", "--", name],
    "describe": lambda file, name: ["describe", "--", name],
    "run": lambda file, name: ["run", "--", name],
    "validate": lambda file, name: ["validate", "--", name],
    "resume": lambda file, name: ["runs", "resume", "latest", f"--with={name}"],
}

SOME = ["parent", "newline", "dash", "device", "65 characters", "bidi"]


@pytest.mark.parametrize("command", COMMANDS)
def test_the_command_line_refuses_bad_names_with_exit_code_3(place: Home, tmp_path: Path, command: str) -> None:
    file = tmp_path / "doc.json"
    file.write_text(json.dumps(DOCUMENT))
    before = tree(tmp_path)
    for kind in SOME:
        name = NAMES[kind]
        done = pflow(*COMMANDS[command](str(file), name))
        is_flag = (command, kind) == ("run", "dash")  # an option, as far as the command line can tell
        assert (done.code, done.out) == (2 if is_flag else 3, ""), (kind, done)
        [line, *_] = done.err.splitlines()
        check_message(line, name, place.root)
        assert "\x1b" not in done.err and "\u202e" not in done.err
    assert tree(tmp_path) == before


@pytest.mark.parametrize("name", ["a/b", "../../x", "/etc/x", "a\\b"])
def test_a_path_is_no_name_to_save_under(place: Home, tmp_path: Path, name: str) -> None:
    file = tmp_path / "doc.json"
    file.write_text(json.dumps(DOCUMENT))
    before = tree(tmp_path)
    for words in (["workflow", "save", str(file), name], ["workflow", "save", "--draft", str(file), name]):
        done = pflow(*words, "--json")
        assert (done.code, done.json["error"]["type"]) == (3, "security")
        check_message(done.json["error"]["message"], name, place.root)
    assert pflow("workflow", "delete", name).code == 3
    assert tree(tmp_path) == before


def test_a_document_cannot_choose_a_bad_name_for_itself(place: Home, tmp_path: Path) -> None:
    file = tmp_path / "doc.json"
    before = tree(tmp_path)
    for kind in SOME:
        file.write_text(json.dumps({"name": NAMES[kind], **DOCUMENT}))
        done = pflow("workflow", "save", str(file))
        assert done.code in (2, 3), (kind, done)
        assert "\x1b" not in done.err and "\u202e" not in done.err
    file.unlink()
    assert tree(tmp_path) == before


def test_without_dashes_a_leading_dash_is_a_usage_error(place: Home, tmp_path: Path) -> None:
    for words in (["run", "-rf"], ["describe", "--nope"], ["workflow", "delete", "-x"], ["validate", "-x"]):
        done = pflow(*words)
        assert done.code == 2 and "no such option" in done.err


def test_a_bad_name_as_the_only_word_is_refused_as_well(place: Home) -> None:
    for kind in ("parent", "newline", "device", "bidi", "escape"):
        done = pflow(NAMES[kind])
        assert done.code in (2, 3) and "\x1b" not in done.err and "\u202e" not in done.err, done
        assert str(place.root) not in done.err


def test_a_document_that_names_a_bad_child_is_refused_in_checking(place: Home, tmp_path: Path) -> None:
    for name in (*NAMES.values(), "a\0b"):
        document = {"nodes": [{"id": "c", "type": "workflow", "params": {"workflow": name}}]}
        with Workspace(place, environ={}) as workspace:
            try:
                checked = workspace.check(document)
            except SecurityError:
                continue
            assert not checked.ok
            assert str(place.root) not in checked.issues[0].message


@pytest.mark.parametrize(
    ("words", "codes"),
    [
        (["runs", "show", "../../etc/passwd"], {2}),
        (["runs", "resume", "a\nb"], {2}),
        (["runs", "cancel", "%"], {2}),
        (["runs", "show", ""], {2}),
        (["trace", "../../etc/passwd"], {3}),
        (["trace", "/etc/passwd"], {3}),
        (["trace", "workflow-trace-../x.json"], {3}),
        (["trace", "~/x"], {3}),
        (["settings", "get", "../x"], {2}),
        (["settings", "set", "A\nB", "x" * 20], {2}),
        (["settings", "set", "../X", "x" * 20], {2}),
        (["settings", "unset", "PATH/../X"], {2}),
        (["registry", "describe", "../x"], {2}),
        (["registry", "run", "../x"], {2}),
        (["registry", "run", "a\x1b[2Jb"], {2}),
    ],
    ids=lambda value: " ".join(value).encode("ascii", "backslashreplace").decode() if isinstance(value, list) else "",
)
def test_other_names_are_no_paths_either(place: Home, tmp_path: Path, words: list[str], codes: set[int]) -> None:
    before = tree(tmp_path)
    done = pflow(*words)
    assert done.code in codes, done
    assert "root:" not in done.said and "Traceback" not in done.said and "\x1b" not in done.err
    assert tree(tmp_path) == before


def test_names_up_to_the_limit_are_taken(place: Home) -> None:
    with Workspace(place, environ={}) as workspace:
        for name in ("a", "A-b_c.d", "9", "a" * 64, "con-x"):
            workspace.save(DOCUMENT, name)
            assert workspace.run(name).success
            workspace.delete(name)
            with pytest.raises(NotFoundError):
                workspace.run(name)


def test_a_link_in_the_library_is_not_followed(place: Home, tmp_path: Path) -> None:
    outside = tmp_path / "outside.json"
    outside.write_text(json.dumps(DOCUMENT))
    (place.workflows / "link.json").symlink_to(outside)
    os.link(outside, place.workflows / "hard.json")
    for name in ("link", "hard"):
        assert pflow("run", name).code == 3
        assert pflow("workflow", "save", "greet", name, "--overwrite").code == 3
    assert json.loads(outside.read_text()) == DOCUMENT
