"""Runs as the session of an agent: what their steps did, as calls of tools."""

from __future__ import annotations

from pathlib import Path

import pytest

from pflow.core.errors import NotFoundError
from pflow.core.file.home import Home
from pflow.workspace import Workspace
from tests.mcp.step.conftest import Serve, tool

DOCUMENT = """
inputs:
  who: {type: string, default: "Ann's dog"}
  token: {type: string, secret: true}
nodes:
  - {id: say, type: mcp-a-say-it, params: {text: "hello ${who}"}}
  - {id: upper, type: code, params: {inputs: {t: "${say.result.text}"}, code: "result = t.upper()"}}
  - {id: note, type: write-file, params: {path: "${folder}/note.txt", content: "${say.result.text}"}}
  - {id: look, type: shell, params: {command: "echo ${who} \\"<${who}>\\" ${token}"}}
  - {id: words, type: shell, params: {command: [printf, "%s.", "${who}", x]}}
  - {id: each, type: shell, batch: {items: [1, 2], as: n}, params: {command: "echo ${n}"}}
  - {id: fails, type: shell, params: {command: "echo no >&2; exit 3"}, on: {error: end, default: end}}
"""


def test_what_steps_did_becomes_calls_with_what_they_were_given(serve: Serve, home: Path, tmp_path: Path) -> None:
    serve("a", tool("sayIt", needs={"text": "string"}))
    with Workspace(Home(home)) as workspace:
        document = DOCUMENT.replace("${folder}", str(tmp_path))
        run = workspace.run(document, {"token": "tok-2390482309"}).run_id
        one = workspace.run(workspace.one_step("mcp-a-say-it", {"text": "once more"})).run_id
        session = workspace.session_of([run, one])

    assert (session.host, session.id) == ("pflow", f"{run} {one}")
    told = [(call.number, call.group, call.kind, call.server, call.tool) for call in session.calls]
    assert told == [
        (1, 1, "mcp", "a", "sayIt"),
        (2, 2, "other", "", "code"),
        (3, 3, "write-file", "", "write-file"),
        (4, 4, "shell", "", "shell"),
        (5, 5, "shell", "", "shell"),
        (6, 6, "shell", "", "shell"),
        (7, 6, "shell", "", "shell"),
        (8, 7, "shell", "", "shell"),
        (9, 8, "mcp", "a", "sayIt"),
    ]
    say, upper, note, look, words, first, second, fails, more = session.calls
    assert (say.arguments, say.result) == ({"text": "hello Ann's dog"}, {"text": "hello Ann's dog"})
    assert upper.result == {"result": "HELLO ANN'S DOG", "stdout": ""}
    assert note.arguments == {"path": f"{tmp_path}/note.txt", "content": "hello Ann's dog"}
    command = str(look.arguments["command"])
    assert command.startswith("echo 'Ann'\"'\"'s dog' \"<Ann's dog>\" ")
    assert "tok-2390482309" not in repr(session)
    assert words.arguments == {"command": "printf %s. 'Ann'\"'\"'s dog' x"}
    assert words.result == {"stdout": "Ann's dog.x.", "stderr": "", "exit_code": 0}
    assert [first.arguments["command"], second.arguments["command"]] == ["echo 1", "echo 2"]
    assert (fails.ok, fails.result) == (False, {"stdout": "", "stderr": "no", "exit_code": 3})
    assert more.arguments == {"text": "once more"}
    assert all(call.at is not None and call.directory for call in session.calls)


def test_steps_that_no_tool_stands_for_are_left_out_and_said(home: Path) -> None:
    inner = {"nodes": [{"id": "x", "type": "shell", "params": {"command": "echo inner"}}]}
    with Workspace(Home(home)) as workspace:
        workspace.save(inner, "inner")
        sub = {"id": "b", "type": "workflow", "params": {"workflow": "inner"}}
        nodes = [{"id": "a", "type": "echo", "params": {"t": 1}}, sub]
        session = workspace.session_of([workspace.run({"nodes": nodes}).run_id])
    assert session.calls == ()
    assert session.notes == ("3 steps have no call of a tool: they compute, ask, or are inside of sub-workflows",)


def test_a_run_that_is_not_there_is_said(home: Path) -> None:
    with Workspace(Home(home)) as workspace, pytest.raises(NotFoundError):
        workspace.session_of(["nothing"])
