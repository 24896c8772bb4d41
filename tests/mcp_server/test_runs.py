"""An agent lists the runs of a home, and cancels those that its server began."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.mcp_server.client import Client

FAILS = {"name": "broken", "nodes": [{"id": "a", "type": "code", "params": {"code": "result = 1 / 0"}}]}
WAITS = {"nodes": [{"id": "wait", "type": "shell", "params": {"command": ["sleep", "600"]}}]}


def says(text: str) -> dict[str, Any]:
    return {"nodes": [{"id": "a", "type": "echo", "params": {"text": text}}]}


@pytest.fixture(scope="module")
def ran(start: Callable[..., Client]) -> Client:
    """A server with three runs behind it."""
    client = start()
    client.call("workflow_save", workflow=says("a"), name="greet", description="Greet")
    for workflow in ("greet", FAILS, "greet"):
        client.call("workflow_execute", workflow=workflow)
    return client


def test_runs_are_listed_the_newest_first(ran: Client) -> None:
    answer = ran.call("trace_read", trace_file="runs")
    runs = answer.data["runs"]
    assert [(run["workflow"], run["status"]) for run in runs][-3:] == [
        ("greet", "completed"),
        ("broken", "failed"),
        ("greet", "completed"),
    ]
    assert set(runs[0]) == {"run_id", "workflow", "status", "started_at", "duration_ms"}
    assert [line.split("  ")[:3] for line in answer.text.splitlines()] == [
        [run["run_id"], run["status"], run["workflow"]] for run in runs
    ]


@pytest.mark.parametrize(
    ("chosen", "count"), [("failed", 1), ("greet", 2), ("completed greet", 2), ("failed greet", 0), ("running", 0)]
)
def test_runs_are_chosen_by_status_and_words(ran: Client, chosen: str, count: int) -> None:
    answer = ran.call("trace_read", trace_file="runs", filter=chosen)
    assert len(answer.data["runs"]) == count
    assert count or answer.text == f"no run matches `{chosen}`"


def test_no_more_runs_are_listed_than_were_asked_for(ran: Client) -> None:
    assert len(ran.call("trace_read", trace_file="runs", limit=1).data["runs"]) == 1


def test_an_agent_cancels_a_run_that_it_detached(either: Client) -> None:
    run = either.call("workflow_execute", workflow=WAITS, detach=True).data["run_id"]
    assert run in [
        each["run_id"] for each in either.call("trace_read", trace_file="runs", filter="running").data["runs"]
    ]
    answer = either.call("workflow_execute", cancel=run)
    assert answer.data == {"run_id": run, "status": "cancelled"}
    assert either.call("trace_read", trace_file=run).data["status"] == "cancelled"


def test_a_run_that_has_ended_is_not_cancelled(ran: Client) -> None:
    run = ran.call("trace_read", trace_file="runs", filter="failed").data["runs"][0]["run_id"]
    answer = ran.call("workflow_execute", cancel=run)
    assert (answer.error["type"], answer.error["message"]) == ("usage", f"run `{run}` does not run: it is failed")


def test_cancelling_takes_nothing_else(ran: Client) -> None:
    assert ran.call("workflow_execute", cancel="latest", workflow="greet").error["type"] == "usage"
    assert ran.call("workflow_execute", cancel="no-such-run").error["type"] == "not_found"


@pytest.fixture
def of_a_person(ran: Client, tmp_path: Path) -> Iterator[str]:
    """The id of a run that a person has begun in a terminal, and that is still running."""
    fifo = tmp_path / "pipe"
    os.mkfifo(fifo)
    command = f"command=echo began > {fifo}; sleep 600"
    words = [sys.executable, "-m", "pflow", "registry", "run", "shell", command]
    process = subprocess.Popen(
        words, env={**os.environ, "PFLOW_HOME": str(ran.home)}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        fifo.read_text()  # until the step writes
        [run] = ran.call("trace_read", trace_file="runs", filter="running").data["runs"]
        yield str(run["run_id"])
    finally:
        process.terminate()
        process.wait()


def test_a_run_that_others_began_is_theirs_to_end(ran: Client, of_a_person: str) -> None:
    answer = ran.call("workflow_execute", cancel=of_a_person)
    assert answer.error["type"] == "security"
    assert f"`pflow runs cancel {of_a_person}`" in answer.text
    assert ran.call("trace_read", trace_file=of_a_person).data["status"] == "running"
