"""What steps of a recorded run were given: their params are not recorded, but rendered again from what is.

Steps inside of sub-workflows are left out: what their workflow was given is what its step was.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
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
from pflow.engine.value import Withheld
from pflow.execution.begin import check_again, read_history
from pflow.execution.wiring import Wiring


class GivenParams:
    """Renders the params of steps and items of one run, without secrets; `plan` is that of its document.

    Raises `PflowError` if its document cannot be read.
    """

    def __init__(self, wiring: Wiring, run_id: str) -> None:
        self._redact = wiring.redactor.value
        self._run_id = run_id
        self._history: History = read_history(wiring, run_id, {})
        self.plan: Plan = check_again(wiring, run_id, self._history).shown_plan()
        inputs = {name: _known(name, value) for name, value in self._history.inputs.items()}
        secret = {name: f"${{{name}}}" for name, declared in self.plan.inputs.items() if declared.secret}
        self._inputs = {**secret, **inputs}

    def of(self, names: Iterable[str]) -> dict[str, JsonView]:
        """The params of steps and items, by name, without what is inside of a sub-workflow or cannot be told.

        All are told in one walk through what happened.
        """
        events: list[Event] = list(self._history.steps.get("", ()))
        begun = {event.step: at for at, event in enumerate(events) if isinstance(event, StepStarted)}
        places = sorted((begun.get(split_item(name)[0], len(events)), name) for name in names)
        state = ScopeState(self.plan, "", self._history.real)
        found: dict[str, JsonView] = {}
        done = 0
        for place, name in places:
            for event in events[done:place]:
                state.apply(event)
            done = place
            with suppress(PflowError):
                if (params := self._render(name, state)) is not None:
                    found[name] = params
        return found

    def _render(self, name: str, state: ScopeState) -> JsonView | None:
        """The params of one step or item, which begins where the state is."""
        step, item = split_item(name)
        node = self.plan.by_id.get(node_of(step) or "")
        if node is None or node.choice is not None:
            return None
        about = {"id": self._run_id, "name": self._history.workflow, **_moment(self._history)}
        names = Names(state, self._inputs, None, about, self._history.kept.seen_by(self.plan))
        visit = int(step.partition("#")[2] or 1)
        shown = self._redact(_render(node, StepLookup(names, node.number, visit), names, visit, item))
        return shown if isinstance(shown, Mapping) else None


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


def _known(name: str, value: object) -> object:
    """An input; one that is secret and not known now stays the template that names it."""
    return f"${{{name}}}" if isinstance(value, Withheld) else value
