"""`pflow mcp record`: a client and a server that do not notice who stands between them, and what that one writes."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path

from pflow.core.session.find import find_sessions, read_session
from pflow.mcp.transport.stdio import connect_stdio
from tests.mcp.protocol.kit import wait_until
from tests.mcp.step.conftest import Serve, tool

SAY = tool("say", needs={"text": "string"})
ECHO = "import sys\nfor line in sys.stdin.buffer:\n    sys.stdout.buffer.write(line)\n    sys.stdout.buffer.flush()\n"


def environ(home: Path) -> dict[str, str]:
    return {**os.environ, "PFLOW_HOME": str(home), "API_TOKEN": "tok-84723984723"}


def recorder(*words: str) -> list[str]:
    return [sys.executable, "-m", "pflow", "mcp", "record", *words]


def is_gone(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] in ("Z", "X")
    except OSError:
        return True


def test_calls_of_a_real_client_become_a_session_that_is_found(serve: Serve, home: Path) -> None:
    server = serve("a", SAY)

    async def talk() -> list[object]:
        session = await connect_stdio(recorder("a"), env=environ(home), timeout=60)
        try:
            called = [await session.call_tool("say", {"text": text}, timeout=60) for text in ("one", "two")]
        finally:
            await session.close()
        return list(called)

    asyncio.run(talk())
    assert server.calls == [{"text": "one"}, {"text": "two"}]
    (found,) = find_sessions(environ(home), host="pflow")
    assert found.path.stat().st_mode & 0o777 == 0o600
    session = read_session(found.path)
    assert [(call.server, call.tool, call.arguments, call.ok) for call in session.calls] == [
        ("a", "say", {"text": "one"}, True),
        ("a", "say", {"text": "two"}, True),
    ]
    assert [call.group for call in session.calls] == [1, 2]
    wait_until(lambda: all(is_gone(pid) for pid in server.pids))


def test_bytes_go_through_unchanged_and_secrets_are_not_written(home: Path) -> None:
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "x", "arguments": {"a": 1}}}
    reply = {"jsonrpc": "2.0", "id": 1, "result": {"content": [{"type": "text", "text": "it is tok-84723984723"}]}}
    lines = [json.dumps(call).encode(), json.dumps(reply).encode(), b"not json \xff", b"[" * 5000, b"x" * (20 << 20)]
    data = b"\n".join([*lines, b"", b"no end"])
    command = recorder("echo", "--", sys.executable, "-c", ECHO)
    done = subprocess.run(command, input=data, stdout=subprocess.PIPE, env=environ(home), timeout=120, check=False)
    assert (done.returncode, done.stdout == data) == (0, True)
    (found,) = find_sessions(environ(home), host="pflow")
    (recorded,) = read_session(found.path).calls
    assert recorded.result == "it is «secret:API_TOKEN»"
    assert b"tok-84723984723" not in found.path.read_bytes()


def test_no_server_outlives_a_recorder_that_is_killed_and_the_death_of_a_server_is_passed_on(home: Path) -> None:
    says_pid = "import os, sys\nprint(os.getpid(), flush=True)\nsys.stdin.read()\n"
    for killed in ("recorder", "server"):
        command = recorder("s", "--", sys.executable, "-c", says_pid)
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environ(home))
        assert process.stdout is not None
        assert process.stdin is not None
        with process.stdout, process.stdin:
            pid = int(process.stdout.readline())
            os.kill(process.pid if killed == "recorder" else pid, signal.SIGKILL)
            assert process.stdout.read() == b""
            code = process.wait(60)
        assert code == (-9 if killed == "recorder" else 137)
        wait_until(partial(is_gone, pid))


def test_a_command_that_is_not_there_is_said(home: Path) -> None:
    command = recorder("s", "--", "no-such-command")
    done = subprocess.run(command, input=b"", capture_output=True, env=environ(home), timeout=60, check=False)
    assert done.returncode != 0
    assert b"the command `no-such-command` was not found" in done.stderr
