"""An agent tries a task call by call, then has a workflow learnt from what it did."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.mcp_server.client import Client


@pytest.fixture(scope="module", params=["modern", "legacy"])
def either(request: pytest.FixtureRequest, start: Callable[..., Client]) -> Client:
    """A server with a library of its own, spoken to in each era."""
    return start(era=request.param)


@pytest.fixture(scope="module")
def notes(either: Client, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Files of their own for each era."""
    folder = tmp_path_factory.mktemp("notes")
    for number, name in enumerate(("alpha.txt", "beta.txt", "gamma.txt"), 1):
        (folder / name).write_text(f"{name} has {number * 111}\n")
    return folder


@pytest.fixture(scope="module")
def runs(either: Client, notes: Path) -> list[str]:
    """What the agent did: list the notes, then read each of them."""

    def run(*command: str) -> str:
        parameters = {"command": list(command), "cwd": str(notes)}
        reply = either.call("registry_run", node_type="shell", parameters=parameters)
        run_id: str = reply.data["run_id"]
        return run_id

    return [run("ls"), *(run("cat", name) for name in ("alpha.txt", "beta.txt", "gamma.txt"))]


def test_runs_of_single_nodes_become_a_workflow_of_the_library(either: Client, runs: list[str], notes: Path) -> None:
    saved = either.call("workflow_save", name="read-notes", description="Read all notes", from_runs=runs).data
    assert (saved["is_temp"], saved["proven"], saved["replay"]["equal"]) == (False, True, 4)
    assert [step["calls"] for step in saved["steps"]] == [[1], [2, 3, 4]]
    (notes / "delta.txt").write_text("delta.txt has 444\n")
    outputs = either.call("workflow_execute", workflow="read-notes").data["outputs"]
    assert [one["stdout"][-3:] for one in outputs["result"]] == ["111", "222", "444", "333"]


def test_a_draft_can_be_learnt_as_well(either: Client, runs: list[str]) -> None:
    saved = either.call("workflow_save", name="try-notes", is_temp=True, from_runs=runs).data
    assert saved["is_temp"] and saved["proven"]
    assert either.call("workflow_validate", workflow="try-notes").data["valid"]


def test_what_does_not_go_with_runs_is_refused(either: Client, runs: list[str]) -> None:
    refused: tuple[dict[str, Any], ...] = (
        {"from_runs": []},
        {"from_runs": runs, "replaces": 1},
        {"from_runs": ["none"]},
    )
    for wrong in refused:
        reply = either.call("workflow_save", name="other", description="x", **wrong)
        assert reply.error["message"], wrong
