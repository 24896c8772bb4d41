"""`workflow_save(from_runs=…)`: a workflow that is learnt from runs an agent has made."""

from __future__ import annotations

from pflow.core.errors import ExistsError, UsageError
from pflow.core.json_type import Json
from pflow.mcp_server.envelope import ToolReply, succeed
from pflow.mcp_server.tool_spec import Arguments
from pflow.workspace import Workspace

_OWN = ("name", "description", "is_temp", "from_runs")
_MOST_RUNS = 500


def save_learnt(workspace: Workspace, name: str, description: str, arguments: Arguments) -> ToolReply:
    """Learn a workflow from runs, prove it by a replay, and keep it; one that is not proven stays a draft."""
    others = ", ".join(f"`{given}`" for given in arguments if given not in _OWN)
    if others:
        raise UsageError(f"`from_runs` does not go with {others}", suggestions=["leave out the others"])
    runs = [str(run) for run in arguments["from_runs"]]
    if not 0 < len(runs) <= _MOST_RUNS:
        raise UsageError(
            f"`from_runs` names {len(runs)} runs; give 1 to {_MOST_RUNS}",
            suggestions=["give the `run_id`s that registry_run answered with, in the order of the task"],
        )
    if not description and not arguments.get("is_temp"):
        raise UsageError(
            "a workflow of the library needs a `description`",
            suggestions=["say in a sentence what it is for; workflow_discover finds it by that"],
        )
    try:
        lesson = workspace.learning.learn(
            workspace.session_of(runs),
            keep_all=True,
            name=name,
            is_draft=bool(arguments.get("is_temp")),
            description=description,
        )
    except ExistsError as error:  # whose advice is an option of the command line
        raise ExistsError(error.message, suggestions=["choose another name"]) from None
    facts = lesson.as_dict()
    kept = ("steps", "inputs", "proven", "replay", "test")
    data: Json = {
        "name": lesson.name,
        "path": str(lesson.path),
        "is_temp": lesson.is_draft,
        **{key: facts[key] for key in kept if key in facts},
        "questions": [one.text for one in lesson.questions],
    }
    proof = lesson.proof
    lines = [
        f"{'draft' if lesson.is_draft else 'workflow'} `{lesson.name}` from {lesson.calls} calls, "
        f"{len(lesson.steps)} steps; replay: {proof.equal} of {proof.total} equal",
        *([f"not proven: {proof.error or 'the replay differs'}"] if not lesson.is_proven else []),
        *(f"open: {one.text}" for one in lesson.questions),
        f"read it with workflow_list(name='{lesson.name}'), then replace literals that should be inputs",
    ]
    return succeed(data, "\n".join(lines))
