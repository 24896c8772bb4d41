"""What the page shows, as JSON: each function is one look at a workspace."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from pflow.core.errors import NotFoundError

if TYPE_CHECKING:
    from pflow.web.worked_times import WorkedTimes
    from pflow.workspace import RunInfo, Workspace
    from pflow.workspace.asking.question import Waiting

PAGE_RUNS = 100
MOST_DRAWN = 600
"""Nodes of a graph that is drawn without being asked for: more cannot be taken in at a glance."""

_MOST_QUESTIONS = 100


def runs_data(workspace: Workspace, query: Mapping[str, str], times: WorkedTimes) -> dict[str, object]:
    """A page of the list of runs, with what waits for a person first."""
    found = workspace.viewing.runs(
        text=query.get("text", ""),
        state=query.get("status", ""),
        workflow=query.get("workflow", ""),
        before=query.get("before", ""),
        limit=PAGE_RUNS + 1,
    )
    shown = found[:PAGE_RUNS]
    schedules = workspace.scheduled(info.run_id for info in shown)
    worked = times.of(workspace, shown)
    data: dict[str, object] = {"runs": [_run(info, schedules, worked) for info in shown]}
    if len(found) > PAGE_RUNS:
        data["next"] = shown[-1].run_id
    if not query.get("before"):
        names = {info.run_id: info.workflow for info in found}
        data["questions"] = questions_data(workspace.waiting(), names)
    return data


def questions_data(waits: Iterable[Waiting], names: Mapping[str, str] | None = None) -> list[dict[str, object]]:
    """What can be answered or sent, as forms are made of it."""
    found = [one for one in waits if one.kind in ("question", "message")][:_MOST_QUESTIONS]
    return [
        {
            **one.as_data(),
            "run_id": one.run_id,
            "workflow": (names or {}).get(one.run_id, ""),
            "approves": one.approves,
            "asked_at": one.asked_at,
            "default": one.default,
        }
        for one in found
    ]


def _run(info: RunInfo, schedules: Mapping[str, str], worked: Mapping[str, float]) -> dict[str, object]:
    facts = {name: getattr(info, name) for name in ("run_id", "workflow", "started_at", "ended_at", "alive")}
    told = {"status": info.state, "schedule": schedules.get(info.run_id, ""), "duration_ms": worked.get(info.run_id)}
    return {**facts, **told}


def run_data(workspace: Workspace, reference: str) -> dict[str, object]:
    """A run with all its steps, and what it asks."""
    try:
        following = workspace.viewing.follow(reference)
    except NotFoundError as error:
        near = workspace.viewing.near(reference)
        raise NotFoundError(error.message, details={"near": near}, suggestions=error.suggestions) from None
    data = following.whole()
    return {**data, "questions": open_questions(workspace, str(data["run_id"]), str(data["status"]))}


def open_questions(workspace: Workspace, run_id: str, status: str) -> list[dict[str, object]]:
    """What a run asks now."""
    return questions_data(workspace.waiting(run_id)) if status in ("running", "waiting") else []


def run_graph(workspace: Workspace, reference: str, *, draw_all: bool = False) -> str:
    """The graph of a run's document, or nothing if it is too large to be of use."""
    # lazy: the page is served sooner without it
    from pflow.drawing.happened import fold_happened
    from pflow.drawing.svg import draw_svg

    if not draw_all and not is_drawn(workspace, reference):
        return ""
    plan, trace = workspace.graph(reference)
    return draw_svg(plan, fold_happened(plan, trace), style=False)


def is_drawn(workspace: Workspace, run: str) -> bool:
    """Whether the graph of a run is drawn without being asked for."""
    return workspace.viewing.node_count(run) <= MOST_DRAWN


def workflow_data(workspace: Workspace, name: str, times: WorkedTimes) -> dict[str, object]:
    """What a saved workflow takes and gives, and its last runs."""
    checked = workspace.check(_saved(name))
    found = workspace.describe(checked)
    data: dict[str, object] = {
        "name": name,
        "title": found.name,
        "description": found.description,
        "inputs": {key: dict(declared) for key, declared in found.inputs.items()},
        "outputs": found.outputs,
        "missing": list(found.missing),
        "issues": [issue.message for issue in checked.errors],
        "nodes": len(found.nodes),
    }
    recent = workspace.viewing.runs(workflow=found.name or name, limit=20)
    worked = times.of(workspace, recent)
    return {**data, "runs": [_run(info, {}, worked) for info in recent]}


def workflow_graph(workspace: Workspace, name: str, *, draw_all: bool = False) -> str:
    """The graph of a saved workflow, or nothing if it is too large to be of use."""
    from pflow.drawing.svg import draw_svg  # lazy: the page is served sooner without it

    plan = workspace.check(_saved(name)).shown_plan()
    return draw_svg(plan, style=False) if draw_all or len(plan.drawn.nodes) <= MOST_DRAWN else ""


def workflows_data(workspace: Workspace) -> dict[str, object]:
    """The names of what is saved."""
    return {"workflows": sorted({str(saved.name) for saved in workspace.workflows()})}


def compare_data(workspace: Workspace, one: str, other: str) -> object:
    """Two runs side by side."""
    return workspace.compare(one, other).to_json()


def _saved(name: str) -> str:
    from pflow.core.library.reference import is_path  # lazy: the page is served sooner without it

    if is_path(name):
        raise NotFoundError("pages show saved workflows; a path is not the name of one")
    return name
