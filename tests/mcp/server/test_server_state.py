"""What is learned about servers: kept, private, cheap to ask, and no loss when it is damaged."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from pflow.core.errors import SecurityError
from pflow.core.file.home import Home
from pflow.mcp.server.server_state import ServerState, ServerStates


@pytest.fixture
def states(home: Path) -> ServerStates:
    return ServerStates(Home(home))


@pytest.fixture
def file(home: Path) -> Path:
    home.mkdir(mode=0o700)
    return home / "mcp-state.json"


def test_nothing_is_known_of_a_new_server_and_asking_leaves_no_trace(states: ServerStates, home: Path) -> None:
    assert states.get("a") == ServerState()
    states.forget("a")
    assert not home.exists()
    assert states.notices == []


def test_what_is_learned_is_kept_beside_what_was_known(states: ServerStates, home: Path) -> None:
    states.update("a", consent="sha256:1", agreed={"transport": "stdio", "args": ["x"]})
    states.update("b", era="legacy")
    after = states.update("a", launch=("/bin/node", "/x.js"), era="modern", version="1.2", synced_at=3.5, tools=7)
    expected = ServerState(
        consent="sha256:1",
        agreed={"transport": "stdio", "args": ["x"]},
        launch=("/bin/node", "/x.js"),
        era="modern",
        version="1.2",
        synced_at=3.5,
        tools=7,
    )
    assert after == states.get("a") == ServerStates(Home(home)).get("a") == expected
    assert json.loads((home / "mcp-state.json").read_text())["servers"]["b"] == {"era": "legacy"}
    assert stat.S_IMODE((home / "mcp-state.json").stat().st_mode) == 0o600


def test_a_field_that_does_not_exist_is_refused_before_anything_is_written(states: ServerStates, home: Path) -> None:
    with pytest.raises(TypeError, match="consnet"):
        states.update("a", consnet="x")
    assert not (home / "mcp-state.json").exists()


def test_a_forgotten_server_is_as_new(states: ServerStates, home: Path) -> None:
    states.update_all({"a": {"era": "modern"}, "b": {"era": "legacy"}})
    states.forget("a")
    assert states.get("a") == ServerState()
    assert states.get("b").era == "legacy"
    assert list(json.loads((home / "mcp-state.json").read_text())["servers"]) == ["b"]


def test_another_process_is_heard_at_the_next_question(states: ServerStates, home: Path) -> None:
    states.update("a", era="modern")
    assert states.get("a").era == "modern"
    ServerStates(Home(home)).update("a", era="legacy")
    assert states.get("a").era == "legacy"
    (home / "mcp-state.json").unlink()
    assert states.get("a") == ServerState()


def test_the_file_is_read_once_while_it_does_not_change(states: ServerStates, file: Path) -> None:
    states.update("a", era="modern")
    states.get("a")
    stamp = file.stat()
    file.write_bytes(b"x" * stamp.st_size)  # the same size, inode and time: a second read would see damage
    os.utime(file, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
    assert states.get("a").era == "modern"
    assert states.notices == []


@pytest.mark.parametrize("text", ["{", "[]", "", '{"servers": []}', "\xff", "[" * 100_000])
@pytest.mark.parametrize("ask", ["get", "update", "forget"])
def test_a_damaged_file_is_set_aside_with_a_notice_and_work_goes_on(
    states: ServerStates, file: Path, text: str, ask: str
) -> None:
    file.write_text(text, "latin-1")
    if ask == "update":
        states.update("a", era="modern")
    else:
        assert getattr(states, ask)("a") in (None, ServerState())
    [aside] = file.parent.glob("mcp-state.json.corrupt-*")
    assert aside.read_text("latin-1") == text
    assert states.notices == [
        f"`{file}` was damaged and set aside as `{aside.name}`; servers must be agreed to again with `pflow mcp sync`"
    ]
    states.update("b", era="legacy")
    assert states.get("b").era == "legacy"
    assert len(states.notices) == 1


def test_a_field_of_the_wrong_type_is_unknown_and_the_rest_is_kept(states: ServerStates, file: Path) -> None:
    wrong = {
        **{"consent": ["x"], "agreed": {"args": ["a", 1], "url": "u"}, "launch": ["node", None], "launch_of": None},
        **{"era": "modern", "version": 3, "synced_at": "now", "tools": True, "other": 1},
    }
    file.write_text(json.dumps({"servers": {"a": wrong, "b": "odd"}}))
    assert states.get("a") == ServerState(agreed={"url": "u"}, era="modern")
    assert states.get("b") == ServerState()
    assert states.update("a", tools=2) == ServerState(agreed={"url": "u"}, era="modern", tools=2)


def test_what_is_nested_too_deeply_to_be_written_does_not_stop_a_write(states: ServerStates, file: Path) -> None:
    deep = "[" * 500 + "]" * 500
    file.write_text(f'{{"servers": {{"a": {{"era": "modern", "agreed": {{"x": {deep}}}}}}}}}')
    assert states.update("b", era="legacy").era == "legacy"
    assert states.get("a").era == "modern"


def test_a_link_is_not_followed(states: ServerStates, file: Path, tmp_path: Path) -> None:
    (tmp_path / "other.json").write_text('{"servers": {"a": {"consent": "evil"}}}')
    file.symlink_to(tmp_path / "other.json")
    with pytest.raises(SecurityError):
        states.get("a")
    with pytest.raises(SecurityError):
        states.update("a", era="modern")


def test_what_is_learned_at_once_is_all_kept(home: Path) -> None:
    names = [f"s{number}" for number in range(8)]
    start = threading.Barrier(len(names))

    def learn(name: str) -> None:
        start.wait()
        ServerStates(Home(home)).update(name, era="modern")

    threads = [threading.Thread(target=learn, args=(name,)) for name in names]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [ServerStates(Home(home)).get(name).era for name in names] == ["modern"] * len(names)


def test_asking_loads_nothing_that_a_run_has_not_loaded(home: Path) -> None:
    probe = (
        "import sys, pathlib; from pflow.core.file.home import Home;"
        "import pflow.core.file.state_file, pflow.core.advice;"
        "before = set(sys.modules);"
        "from pflow.mcp.server.server_state import ServerStates;"
        "ServerStates(Home(pathlib.Path(sys.argv[1]))).get('a');"
        "print(*sorted(set(sys.modules) - before))"
    )
    done = subprocess.run([sys.executable, "-c", probe, str(home)], capture_output=True, text=True, check=True)
    assert done.stdout.split() == [
        "pflow.mcp",
        "pflow.mcp.server",
        "pflow.mcp.server.server_state",
    ]
