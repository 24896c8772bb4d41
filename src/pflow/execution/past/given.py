"""What steps of a recorded run were given: their params are not recorded, but rendered again from what is.

Steps inside of sub-workflows are left out: what their workflow was given is what its step was.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime

from pflow.core.errors import PflowError
from pflow.core.event import Event, StepStarted
from pflow.core.json_type import JsonView
from pflow.engine.again.name import node_of, split_item
from pflow.engine.batch import batch_items
from pflow.engine.failure import shown_params
from pflow.engine.history import History
from pflow.engine.name_lookup import Names, StepLookup
from pflow.engine.plan import Plan, PlanNode
from pflow.engine.state import ScopeState
from pflow.execution.begin import check_again, read_history
from pflow.execution.wiring import Wiring


class GivenParams:
    """Renders the params of steps and items of one run, without secrets. Raises `PflowError` where it cannot."""

    def __init__(self, wiring: Wiring, run_id: str) -> None:
        self._redact = wiring.redactor.value
        self._run_id = run_id
        self._history: History = read_history(wiring, run_id, {})
        self._plan: Plan = check_again(wiring, run_id, self._history).shown_plan()

    def of(self, name: str) -> JsonView | None:
        """The params of a step or an item; None for what is inside of a sub-workflow, or is not known."""
        step, item = split_item(name)
        node = self._plan.by_id.get(node_of(step) or "")
        if node is None or node.choice is not None:
            return None
        state = ScopeState(self._plan, "", self._history.real)
        for event in self._before(step):
            state.apply(event)
        about = {"id": self._run_id, "name": self._history.workflow, **_moment(self._history)}
        names = Names(state, self._history.inputs, None, about, self._history.kept.seen_by(self._plan))
        visit = int(step.partition("#")[2] or 1)
        found = _render(node, StepLookup(names, node.number, visit), names, visit, item)
        shown = self._redact(found)
        return shown if isinstance(shown, Mapping) else None

    def _before(self, step: str) -> list[Event]:
        """The events up to the last start of a step."""
        events: list[Event] = list(self._history.steps.get("", ()))
        starts = [at for at, event in enumerate(events) if isinstance(event, StepStarted) and event.step == step]
        return events[: starts[-1]] if starts else events


def _render(node: PlanNode, lookup: StepLookup, names: Names, visit: int, item: int | None) -> dict[str, object]:
    if node.batch is None:
        return _shown(node.params.render(lookup))
    items = batch_items(node, lookup)
    if item is None:
        return {"items": list(items)}
    if item >= len(items):
        return {}
    own = {node.batch.name: items[item], f"{node.batch.name}_index": item}
    return _shown(node.params.render(StepLookup(names, node.number, visit, own)))


def _shown(params: object) -> dict[str, object]:
    return shown_params(params) if isinstance(params, Mapping) else {}


def _moment(history: History) -> dict[str, object]:
    started = datetime.fromtimestamp(history.started_at, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    return {"started_at": started, "date": history.date or started[:10]}


def params_or_none(given: GivenParams | None, name: str) -> JsonView | None:
    """The params of a step, if they can be rendered again."""
    try:
        return None if given is None else given.of(name)
    except PflowError:
        return None
