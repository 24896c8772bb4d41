"""What the page in the chat shows of a run: its steps, its graph, and what it asks, with the keys to answer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from pflow.core.errors import PflowError
from pflow.core.json_type import objects_in
from pflow.mcp_server.asking.caller import asks_persons
from pflow.workspace import Workspace
from pflow.workspace.asking.question import Waiting

if TYPE_CHECKING:
    from pflow.workspace.viewing.viewing import Following

MOST_STEPS = 200
"""Rows of one answer: the newest."""

_MOST_DRAWN = 40
"""Nodes of a graph that is still of use in a narrow frame."""

_MOST_QUESTIONS = 5
_SHOWN_BYTES = 8_000
_LEFT_OUT = ("inputs", "outputs", "error")


def view_of(workspace: Workspace, reference: str, since: int = 0) -> dict[str, object]:
    """All that the page shows of a run, or what is new since a number that it was given. Raises `NotFoundError`."""
    following = workspace.viewing.follow(reference)
    if since > 0:
        following.skip(since)
        data = following.news() or {**following.view.head(following.read()), "steps": []}
    else:
        data = following.whole()
    run_id = following.view.run_id
    steps = objects_in(data["steps"])
    shown: dict[str, object] = {name: value for name, value in data.items() if name not in _LEFT_OUT}
    error = data.get("error")
    if isinstance(error, Mapping):
        shown["error"] = {name: str(error[name]) for name in ("type", "message") if name in error}
    shown["steps"] = steps[-MOST_STEPS:]
    shown["since"] = since
    if len(steps) > MOST_STEPS:
        shown["more_steps"] = len(steps) - MOST_STEPS
    shown |= _picture(workspace, following, is_new=since <= 0)
    found = workspace.redact(shown)
    assert isinstance(found, dict)
    return {**found, "questions": _questions(workspace, run_id, str(data["status"]))}


def run_of(envelope: Mapping[str, object]) -> str:
    """The run that an answer is about, if it is about one."""
    for part in (envelope.get("data"), envelope.get("checkpoint"), envelope):
        run_id = part.get("run_id") if isinstance(part, Mapping) else None
        if isinstance(run_id, str):
            return run_id
    return ""


def _picture(workspace: Workspace, following: Following, *, is_new: bool) -> dict[str, object]:
    """What became of the nodes and edges of the graph, and the graph itself for a page that does not have it."""
    # lazy: only hosts that show the page need it
    from pflow.drawing.happened import happened_data
    from pflow.drawing.svg import draw_svg

    run_id = following.view.run_id
    try:
        if workspace.viewing.node_count(run_id) > _MOST_DRAWN:
            return {}
        plan = workspace.plan_of(run_id)
    except PflowError:
        return {}  # a document of another version, or of a program
    drawn = {"svg": draw_svg(plan, style=False)} if is_new else {}
    return {**drawn, "graph": happened_data(plan, following.told())}


def _questions(workspace: Workspace, run_id: str, status: str) -> list[dict[str, object]]:
    """What a person can answer here. Where only other doors count as a person's, what is for persons has no key."""
    if status not in ("running", "waiting"):
        return []
    persons = asks_persons(workspace)
    found = [one for one in workspace.waiting(run_id) if one.kind == "question" and one.who != "agent"]
    return [_question(one, persons) for one in found[:_MOST_QUESTIONS]]


def _question(one: Waiting, persons: bool) -> dict[str, object]:
    data = {**one.as_data(_SHOWN_BYTES), "run_id": one.run_id, "approves": one.approves}
    is_secret = any(field.get("secret") for field in one.fields.values())
    if is_secret or (one.who == "person" and not persons):
        return {**data, "elsewhere": True}
    return {**data, "key": one.key}
