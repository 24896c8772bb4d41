"""How a server ends: by signals, by a client that leaves, and what becomes of runs then."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest

from pflow.core.file.home import Home
from pflow.workspace import Workspace
from tests.mcp.protocol.kit import alive, wait_until
from tests.mcp_server.client import COMMAND
from tests.mcp_server.raw import INITIALIZE, Raw


def blocking(folder: Path) -> tuple[dict[str, Any], Path, Path]:
    """A document whose step waits for the other end of a pipe; the pipe, and where the step's process is noted.

    The step after it waits for a file `open`: a server that has not yet seen its client go cannot complete the run.
    """
    fifo, pid = folder / "fifo", folder / "pid"
    os.mkfifo(fifo)
    command = f"echo $$ > {pid}.part && mv {pid}.part {pid} && cat {fifo}"
    after = f"until [ -e {folder / 'open'} ]; do sleep 0.01; done; printf %s ${{wait.stdout}}"
    nodes = [
        {"id": "wait", "type": "shell", "params": {"command": command}},
        {"id": "after", "type": "shell", "params": {"command": after}},
    ]
    return {"nodes": nodes}, fifo, pid


@pytest.mark.requirement("server5:rule-20", "server5:test-21")
@pytest.mark.parametrize(("name", "code"), [("SIGINT", 130), ("SIGTERM", 143), ("SIGHUP", 129)])
def test_an_idle_server_ends_at_a_signal_with_its_code(raw: Callable[..., Raw], name: str, code: int) -> None:
    server = raw()
    server.meet()
    server.process.send_signal(getattr(signal, name))
    assert server.end() == (code, b"")


def test_a_server_that_nobody_has_spoken_to_ends_at_a_signal(raw: Callable[..., Raw]) -> None:
    server = raw("--toolset", "core")
    server.write(b"\n\n")
    server.write(b"{}\n")
    assert server.receive()["error"]["code"] == -32600
    server.process.send_signal(signal.SIGINT)
    assert server.end() == (130, b"")


@pytest.mark.parametrize(("name", "code"), [("SIGINT", 130), ("SIGTERM", 143)])
def test_a_busy_server_stops_its_runs_and_their_children_at_a_signal(
    raw: Callable[..., Raw], tmp_path: Path, name: str, code: int
) -> None:
    document, _, pid = blocking(tmp_path)
    server = raw()
    server.meet()
    server.call(1, "workflow_execute", {"workflow": document})
    wait_until(pid.exists)
    server.process.send_signal(getattr(signal, name))
    assert server.end()[0] == code
    assert not alive(int(pid.read_text()))
    with Workspace(Home(server.home)) as workspace:
        assert [run.status for run in workspace.runs()] == ["stopped"]


def test_a_second_signal_ends_it_at_once(raw: Callable[..., Raw], tmp_path: Path) -> None:
    stubborn = "import signal, time\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
    ready = tmp_path / "ready"
    script = tmp_path / "stubborn.py"
    script.write_text(f"{stubborn}open({str(ready)!r}, 'w').close()\nsignal.pause()\n")
    server = raw()
    server.meet()
    command = {"command": [COMMAND[0], str(script)]}
    server.call(1, "workflow_execute", {"workflow": {"nodes": [{"id": "a", "type": "shell", "params": command}]}})
    wait_until(ready.exists)
    server.process.send_signal(signal.SIGINT)
    server.process.send_signal(signal.SIGTERM)
    assert server.end()[0] in (130, 143)
    with Workspace(Home(server.home)) as workspace:
        assert workspace.show_run("latest")["status"] == "interrupted"  # there was no time to write down more


@pytest.mark.requirement("server5:edge-8")
def test_a_client_that_leaves_lets_the_step_finish_and_the_run_go_on_later(
    raw: Callable[..., Raw], tmp_path: Path
) -> None:
    document, fifo, pid = blocking(tmp_path)
    server = raw()
    server.meet()
    server.call(1, "workflow_execute", {"workflow": document})
    wait_until(pid.exists)
    server.stdin.close()
    fifo.write_text("last words")
    assert server.end() == (0, b"")
    with Workspace(Home(server.home)) as workspace:
        [run] = workspace.runs()
        assert run.status == "stopped"
        shown = workspace.show_run(run.run_id)
        assert shown["reason"] == "disconnected"
        completed = [step["step"] for step in shown["steps"] if step["status"] == "completed"]  # type: ignore[attr-defined]
        assert completed == ["wait"]
        (tmp_path / "open").touch()
        outcome = workspace.resume(run.run_id, rerun_in_doubt=True)
        assert outcome.outputs["stdout"] == "last words"


@pytest.mark.parametrize(
    "number",
    [pytest.param(signal.SIGINT, marks=pytest.mark.slow), signal.SIGKILL, None],
    ids=["INT", "KILL", "stdin ends"],
)
def test_a_detached_run_outlives_the_server(raw: Callable[..., Raw], tmp_path: Path, number: int | None) -> None:
    document, fifo, pid = blocking(tmp_path)
    server = raw()
    server.meet()
    server.call(1, "workflow_execute", {"workflow": document, "detach": True})
    answer = server.receive()["result"]["structuredContent"]["data"]
    assert answer["status"] == "running"
    wait_until(pid.exists)
    if number is None:
        server.stdin.close()
    else:
        server.process.send_signal(number)
    server.end()
    assert alive(int(pid.read_text()))
    with Workspace(Home(server.home)) as workspace:
        assert [run.status for run in workspace.runs()] == ["running"]
        fifo.write_text("still here")
        (tmp_path / "open").touch()
        wait_until(lambda: workspace.runs()[0].status == "completed")
        assert workspace.trace(answer["run_id"], field="outputs.stdout") == "still here"


@pytest.mark.requirement("server5:rule-11")
def test_nothing_but_the_protocol_is_on_stdout_whatever_a_node_prints(raw: Callable[..., Raw], home: Path) -> None:
    (home / "nodes").mkdir(parents=True)
    (home / "nodes" / "loud.py").write_text(
        '"""Loud."""\n'
        "import os, sys\n"
        "from pocketflow import Node\n\n\n"
        "class Loud(Node):\n"
        '    """Print.\n\n    Writes:\n    - said (string)\n    """\n\n'
        '    name = "loud"\n\n'
        "    def exec(self, prep_res):\n"
        '        print("to stdout")\n'
        "        sys.stdout.flush()\n"
        '        os.write(1, b"to the descriptor\\n")\n'
        '        os.system("echo from a child")\n'
        "        return input() if False else sys.stdin.read()\n\n"
        "    def post(self, shared, prep_res, exec_res):\n"
        '        shared["said"] = f"read {exec_res!r}"\n'
        '        return "default"\n'
    )
    server = raw()
    server.meet()
    server.call(1, "workflow_execute", {"workflow": {"nodes": [{"id": "loud"}]}})
    assert server.receive()["result"]["structuredContent"]["data"]["outputs"] == {"said": "read ''"}
    server.stdin.close()
    code, said = server.end()
    assert code == 0
    assert server.stdout.read() == b""
    assert said == b"to stdout\nto the descriptor\nfrom a child\n"


def test_a_client_that_reads_no_more_ends_nothing_before_it_closes(raw: Callable[..., Raw]) -> None:
    server = raw()
    server.meet()
    server.stdout.close()
    for number in range(5):
        server.call(number, "registry_list", {})
    server.stdin.close()
    assert server.end() == (0, b"")


def test_what_was_asked_before_the_client_closed_its_end_is_answered(raw: Callable[..., Raw], tmp_path: Path) -> None:
    document, fifo, pid = blocking(tmp_path)
    server = raw()
    server.meet()
    server.call(1, "workflow_execute", {"workflow": document})
    wait_until(pid.exists)
    server.stdin.close()
    fifo.write_text("last words")
    (tmp_path / "open").touch()  # a busy server may have begun the next step before it sees the end
    answer = server.receive()["result"]["structuredContent"]
    if not answer["success"]:
        assert (answer["error"]["type"], answer["checkpoint"]["completed_nodes"]) == ("interrupted", ["wait"])
    assert server.end() == (0, b"")


def test_stdin_may_be_nothing_or_a_file(home: Path, tmp_path: Path) -> None:
    asked = tmp_path / "asked"
    requests: list[dict[str, Any]] = [
        {"id": 7, **INITIALIZE},
        {"method": "notifications/initialized"},
        {"id": 8, "method": "tools/list"},
    ]
    asked.write_bytes(b"".join(orjson.dumps({"jsonrpc": "2.0", **request}) + b"\n" for request in requests))
    other_name = (*COMMAND[:3], "mcp", "serve")
    for command, source, answers in ((other_name, Path(os.devnull), 0), (COMMAND, asked, 2)):
        with source.open("rb") as file:
            done = subprocess.run(command, stdin=file, capture_output=True, timeout=30)
        assert (done.returncode, done.stderr) == (0, b"")
        assert done.stdout.count(b"\n") == answers
