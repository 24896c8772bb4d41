"""What the page does to runs: each function is one use case of a workspace, told apart from looking."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from pflow.core.errors import InputError, UsageError

if TYPE_CHECKING:
    from pflow.workspace import Workspace
    from pflow.workspace.serving import LiveRun

Body = Mapping[str, object]


def run_workflow(workspace: Workspace, name: str, body: Body) -> dict[str, object]:
    """Begin a run of a saved workflow; the inputs are text, as on a command line."""
    from pflow.core.library.reference import is_path  # lazy: the page is served sooner without it

    if is_path(name):
        raise UsageError("the page runs saved workflows; a path is not the name of one")
    return _detach(workspace, workspace.begin(name, _texts(body, "inputs"), text=True))


def resume_run(workspace: Workspace, run_id: str, body: Body) -> dict[str, object]:
    """Take a run up where it ended."""
    items: list[str] | None = [] if body.get("failed_items") is True else None
    run = workspace.begin_resume(
        run_id, params=_texts(body, "inputs"), text=True, rerun_in_doubt=_flag(body), failed_items=items
    )
    return _detach(workspace, run)


def fork_run(workspace: Workspace, run_id: str, body: Body) -> dict[str, object]:
    """A new run that goes on from a step of another."""
    step = body.get("step")
    if not isinstance(step, str) or not step:
        raise UsageError("a fork begins at a step: give `step`")
    inputs = _texts(body, "inputs")
    return _detach(
        workspace, workspace.again.begin_fork(run_id, step, params=inputs, text=True, rerun_in_doubt=_flag(body))
    )


def make_test(workspace: Workspace, run_id: str, body: Body) -> dict[str, object]:
    """Make a run a test of its workflow."""
    found = workspace.find_run(run_id)
    name = body.get("name")
    made = workspace.tests.add(found, name if isinstance(name, str) and name else f"run {found}")
    return {"name": made.name, "file": str(made.file), "cassette": str(made.cassette), "calls": made.calls}


def cancel_run(workspace: Workspace, run_id: str, body: Body) -> dict[str, object]:
    """End a run for good."""
    found = workspace.find_run(run_id)
    return {"run_id": found, "status": workspace.cancel(found)}


def answer_run(workspace: Workspace, run_id: str, body: Body) -> dict[str, object]:
    """Answer a question of a run, or send it a message; somebody takes it up then."""
    from pflow.workspace.asking.who import user_name  # lazy: the page is served sooner without a workspace

    step, choice, message = (body.get(name) for name in ("step", "choice", "message"))
    if isinstance(message, str):
        answered = workspace.send(run_id, message, _texts(body, "fields"), by=user_name(), via="page")
    else:
        answered = workspace.answer(
            run_id,
            step if isinstance(step, str) else None,
            choice if isinstance(choice, str) else None,
            _texts(body, "fields"),
            declined=body.get("declined") is True,
            by=user_name(),
            via="page",
            text=True,
        )
    if not answered.alive:
        workspace.driving.take_up(answered.run_id)
    return {"run_id": answered.run_id, "answered": list(answered.places), "goes_on": True}


def _detach(workspace: Workspace, run: LiveRun) -> dict[str, object]:
    info = workspace.detach(run)
    return {"run_id": info.run_id, "status": info.state}


def _flag(body: Body) -> bool:
    return body.get("rerun_in_doubt") is True


def _texts(body: Body, name: str) -> dict[str, object]:
    """What a form holds; a field that is empty was not filled in."""
    found = body.get(name) or {}
    if not isinstance(found, Mapping) or not all(isinstance(value, str) for value in found.values()):
        raise InputError(f"`{name}` is an object of texts")
    return {str(key): value for key, value in found.items()}
