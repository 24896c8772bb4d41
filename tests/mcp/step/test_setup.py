"""`pflow workflow setup` with servers: what is added is what a person saw and agreed to."""

from __future__ import annotations

import json
import os
import shlex
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import Pflow, spawn
from tests.mcp.step.conftest import Serve, Server, tool

Write = Callable[..., str]
CALL: dict[str, object] = {"id": "call", "type": "mcp-a-go"}


def document(write: Write, server: Server, **more: object) -> str:
    requires = {"servers": {"a": {"command": server.argv}}, **more}
    return write("w.json", CALL, requires=requires)


@pytest.fixture
def offered(serve: Serve) -> Server:
    """A server that is not configured."""
    return serve("a", tool("go"), add=None)


def test_yes_adds_and_starts_the_required_servers(pflow: Pflow, write: Write, offered: Server) -> None:
    file = document(write, offered)
    assert pflow("run", file).code == 2
    assert pflow("workflow", "setup", file).code == 2
    assert offered.pids == []
    said = pflow("workflow", "setup", file, "--yes")
    assert said.code == 0, said
    assert "a has 1 tool" in said.out
    assert pflow("run", file).code == 0
    assert pflow("workflow", "setup", file, "--yes", "--json").json["data"]["ready"] is True


def test_yes_stores_no_settings(pflow: Pflow, write: Write, offered: Server) -> None:
    said = pflow("workflow", "setup", document(write, offered, settings=["SOME_TOKEN"]), "--yes")
    assert said.code == 2
    assert "setting  SOME_TOKEN  pflow settings set SOME_TOKEN" in said.out


def test_a_server_that_is_configured_otherwise_stays(pflow: Pflow, write: Write, offered: Server, home: Path) -> None:
    offered.add()
    offered.sync()
    before = (home / "mcp-servers.json").read_text()
    file = write("w.json", CALL, requires={"servers": {"a": {"command": "uvx other-server"}}})
    said = pflow("workflow", "setup", file, "--yes")
    assert said.code == 0  # it can run, with the server that is there
    assert said.err == (
        "note: server `a` is configured in another way; yours is used and nothing was replaced\n"
        f"  yours:    {shlex.join(offered.argv)}\n"
        "  required: uvx other-server\n"
        "  to replace it: pflow mcp add --overwrite a -- uvx other-server\n"
    )
    assert (home / "mcp-servers.json").read_text() == before


def answer(home: Path, answers: dict[bytes, bytes], *words: str) -> tuple[int, str]:
    """What a person sees on a terminal who answers questions."""
    import pty  # not everywhere

    leader, follower = pty.openpty()
    program = spawn(*words, cwd=home.parent, stdin=follower, stdout=follower, stderr=follower)
    os.close(follower)
    shown = b""
    while True:
        try:
            data = os.read(leader, 4096)
        except OSError:  # the last holder of the terminal has left
            break
        if not data:
            break
        shown += data
        for question in [each for each in answers if each in shown]:
            os.write(leader, answers.pop(question))
    os.close(leader)
    return program.wait(), shown.decode().replace("\r\n", "\n")


@pytest.mark.skipif(sys.platform == "win32", reason="needs a terminal")
def test_a_person_is_shown_the_command_and_asked(pflow: Pflow, write: Write, offered: Server, home: Path) -> None:
    file = document(write, offered, settings=["SOME_TOKEN"])
    code, shown = answer(
        home, {b"value of the setting SOME_TOKEN": b"\n", b"agree? [y/N]": b"n\n"}, "workflow", "setup", file
    )
    assert code == 2
    assert "server `a` is new; it would start this program:\n" in shown
    assert f"  command: {shlex.join(offered.argv)}\n" in shown
    assert offered.pids == []
    code, shown = answer(
        home,
        {b"value of the setting SOME_TOKEN": b"a-secret-that-is-long\n", b"agree? [y/N]": b"y\n"},
        *("workflow", "setup", file),
    )
    assert code == 0, shown
    assert "a-secret-that-is-long" not in shown
    assert json.loads((home / "settings.json").read_text())["env"] == {"SOME_TOKEN": "a-secret-that-is-long"}
    assert pflow("run", file).code == 0
