"""A workflow as Python programs call it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

import pflow
from pflow import LoadedWorkflow, Workspace
from pflow.core.file.home import Home
from pflow.errors import DocumentError, InputError, RunError, UsageError

GREET = {
    "inputs": {"name": {"type": "string"}, "run_id": {"type": "string", "default": "none"}},
    "nodes": [{"id": "greet", "type": "echo", "params": {"text": "Hello, ${name}!", "id": "${run_id}"}}],
    "outputs": {"text": {"source": "${greet.text}"}},
}


@pytest.fixture
def workspace(home: Path) -> Iterator[Workspace]:
    with Workspace(Home(home)) as opened:
        yield opened


@pytest.fixture
def greet(workspace: Workspace) -> LoadedWorkflow:
    workspace.save(GREET, "greet")
    return pflow.load("greet")


def test_a_saved_workflow_is_called_like_a_function(greet: LoadedWorkflow) -> None:
    assert greet.name == "greet"
    assert list(greet.inputs) == ["name", "run_id"]
    assert greet.run(name="Ada", run_id="mine").raise_for_status().outputs == {"text": "Hello, Ada!"}
    with pytest.raises(InputError):
        greet.run()
    greet.close()


def test_runs_on_an_event_loop_go_side_by_side(greet: LoadedWorkflow) -> None:
    async def both() -> list[object]:
        async with greet:
            outcomes = await asyncio.gather(greet.arun(name="Ada"), greet.arun(name="Grace"))
        return [outcome.outputs["text"] for outcome in outcomes]

    assert asyncio.run(both()) == ["Hello, Ada!", "Hello, Grace!"]


def test_waiting_inside_a_running_loop_says_what_to_await(greet: LoadedWorkflow) -> None:
    async def mistake() -> object:
        return greet.run(name="Ada")

    with pytest.raises(UsageError) as caught:
        asyncio.run(mistake())
    assert "inside a running event loop" in caught.value.message
    assert "await workflow.arun(…)" in caught.value.suggestions[0]


def test_a_failed_run_raises_when_asked_to_and_is_taken_up_again(
    workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "w.yaml").write_text("nodes:\n  - {id: read, type: read-file, params: {path: a.txt}}\n")
    loaded = pflow.load("./w.yaml", workspace)
    outcome = loaded.run()
    with pytest.raises(RunError) as caught:
        outcome.raise_for_status()
    assert "a.txt" in caught.value.message
    assert caught.value.details["failed_node"] == "read"
    (tmp_path / "a.txt").write_text("there")
    assert loaded.resume(outcome.run_id).raise_for_status().outputs["content"] == "there"


def test_what_cannot_run_cannot_be_loaded(workspace: Workspace) -> None:
    with pytest.raises(DocumentError):
        pflow.load({"nodes": [{"id": "a", "type": "shel"}]}, workspace)
