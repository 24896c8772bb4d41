"""A run that ends in the middle of a call: what is left of it, and how it goes on."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Pflow, spawn
from tests.mcp.protocol.kit import alive, wait_until
from tests.mcp.step.conftest import Serve, Server, tool

SAY = tool("say", needs={"text": "string"})


@pytest.fixture
def trust(request: pytest.FixtureRequest) -> tuple[Any, ...]:
    """Options of `mcp add`; none unless a test says which."""
    return getattr(request, "param", ())


@pytest.fixture
def calling(
    serve: Serve, write: Callable[..., str], tmp_path: Path, trust: tuple[Any, ...]
) -> Iterator[tuple[Server, subprocess.Popen[Any], Any]]:
    """A run whose second step is in a call that the server does not answer before `go` exists."""
    go = tmp_path / "go"
    replies = [{"text": "first"}, {"wait_for": str(go), "text": "second"}]
    server = serve("a", {**SAY, "annotations": {"readOnlyHint": True}}, replies={"say": replies}, add=trust)
    write(
        "x.json",
        {"id": "one", "type": "mcp-a-say", "params": {"text": "1"}},
        {"id": "two", "type": "mcp-a-say", "params": {"text": "2"}},
    )
    program = spawn("run", "x.json", cwd=tmp_path)
    wait_until(lambda: len(server.calls) == 2)
    yield server, program, go
    go.touch()
    program.kill()
    program.communicate()


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_stops_a_call_and_its_server_and_the_run_can_go_on(
    pflow: Pflow, calling: tuple[Server, subprocess.Popen[Any], Any], number: signal.Signals, code: int
) -> None:
    server, program, go = calling
    program.send_signal(number)
    out, err = program.communicate()
    assert (program.returncode, out) == (code, b"")
    assert err.decode().startswith("stopped: ")
    assert [pid for pid in server.pids if alive(pid)] == []
    go.touch()
    assert pflow("runs", "resume", "latest").code == 4  # the call was on its way
    said = pflow("runs", "resume", "latest", "--rerun-in-doubt")
    assert (said.code, said.out) == (0, "second\n")
    assert [call["text"] for call in server.calls] == ["1", "2", "2"]


def test_a_call_in_flight_when_the_process_was_killed_is_in_doubt(
    pflow: Pflow, calling: tuple[Server, subprocess.Popen[Any], Any]
) -> None:
    server, program, go = calling
    program.kill()
    program.communicate()
    wait_until(lambda: not [pid for pid in server.pids if alive(pid)])
    go.touch()
    said = pflow("runs", "resume", "latest")
    assert said.code == 4, said
    assert "`two`" in said.err
    assert len(server.calls) == 2
    again = pflow("runs", "resume", "latest", "--rerun-in-doubt")
    assert (again.code, again.out) == (0, "second\n")
    assert [call["text"] for call in server.calls] == ["1", "2", "2"]


@pytest.mark.parametrize("trust", [("--trust-readonly",)], indirect=True)
def test_a_call_that_is_trusted_to_read_only_is_made_again_unasked(
    pflow: Pflow, calling: tuple[Server, subprocess.Popen[Any], Any]
) -> None:
    server, program, go = calling
    program.kill()
    program.communicate()
    go.touch()
    said = pflow("runs", "resume", "latest")
    assert (said.code, said.out) == (0, "second\n")
    assert [call["text"] for call in server.calls] == ["1", "2", "2"]
