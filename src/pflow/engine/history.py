"""What a run did before: its events by scope, what was left in doubt, and what an edited document can reuse."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from pflow.core.event import (
    Event,
    ItemCompleted,
    ItemFailed,
    ItemNotYet,
    ItemStarted,
    RunCancelled,
    RunCompleted,
    RunEnding,
    RunFailed,
    RunResumed,
    RunStarted,
    StepCompleted,
    StepFailed,
    StepNotYet,
    StepStarted,
)
from pflow.core.json_type import JsonView
from pflow.engine.ending.worked import Worked
from pflow.engine.graph import reached_from
from pflow.engine.plan import Plan, PlanNode
from pflow.engine.state import ScopeState, Writes
from pflow.engine.value import ITEMS, Opaque, Withheld

_StepEvent = StepStarted | StepCompleted | StepFailed
_ScopeEvent = _StepEvent | RunEnding | RunFailed


class Past:
    """One step's record: how it was defined, what went in, and how it ended, if it did."""

    def __init__(self, started: StepStarted) -> None:
        self.started = started
        self.completed: StepCompleted | None = None
        self.attempts = started.attempt


class History:
    """A run's events, folded far enough to go on from."""

    def __init__(self) -> None:
        self.document: object = None
        self.inputs: dict[str, object] = {}
        self.workflow = ""
        self.started_at = 0.0
        self.date = ""
        self.steps: dict[str, list[_ScopeEvent]] = {}
        self.items: dict[str, dict[int, ItemCompleted | ItemFailed | ItemStarted | ItemNotYet]] = {}
        self.past: dict[str, Past] = {}
        self.finished = False
        self.cancelled = False
        self.ending: set[str] = set()
        """The scopes whose sections are under way."""

        self.worked = Worked()

    def forget(self) -> None:
        """Start over, as an edit does; what steps and items did stays known for reuse."""
        self.steps.clear()
        self.ending.clear()
        self.finished = False

    def forget_inside(self, step: str) -> None:
        """Let the steps of a sub-workflow run again: what they gave did not meet the condition of their step."""
        inside = f"{step}/"
        for kept in (self.steps, self.items, self.past):
            for name in [name for name in kept if name.startswith(inside)]:
                del kept[name]


def scope_of(step: str) -> str:
    """The prefix of a step's scope: `deploy/` for `deploy/fetch`, empty for steps of the run itself."""
    return step[: step.rfind("/") + 1]


def same_work(started: StepStarted, definition: str, inputs: str) -> bool:
    """Whether a step that began before had this definition and these inputs."""
    return started.definition == definition and started.inputs == inputs


def fold_history(events: Iterable[Event], know_parts: Callable[[object], None]) -> History:
    """Everything that happened in a run. An edit clears the steps but keeps what they did for reuse.

    `know_parts` is told the results of each batch, which are put together from its items.
    """
    history = History()
    for event in events:
        history.worked.note(event)
        if isinstance(event, RunStarted):
            history.document, history.workflow = event.document, event.workflow
            history.started_at, history.date = event.at, event.date
            history.inputs = dict(event.inputs)
        elif isinstance(event, RunResumed):
            if event.document is not None:
                history.document = event.document
                history.inputs = dict(event.inputs)
                history.forget()
        elif isinstance(event, RunCompleted):
            history.finished = True
        elif isinstance(event, RunCancelled):
            history.cancelled = True
        elif isinstance(event, RunEnding):
            history.ending.add(event.scope)
            history.steps.setdefault(event.scope, []).append(event)
        elif isinstance(event, RunFailed):
            _close(history, "", event.error)
        elif isinstance(event, ItemStarted | ItemCompleted | ItemFailed | ItemNotYet):
            history.items.setdefault(event.step, {})[event.item] = event
            if isinstance(event, ItemNotYet):
                history.forget_inside(f"{event.step}[{event.item}]")
        elif isinstance(event, StepNotYet):
            history.forget_inside(event.step)
        elif isinstance(event, StepStarted | StepCompleted | StepFailed):
            if isinstance(event, StepCompleted) and ITEMS in event.writes.values():
                event = event._replace(writes=_with_results(history, event, know_parts))
            history.steps.setdefault(scope_of(event.step), []).append(event)
            _remember(history, event)
        if history.ending and isinstance(event, StepFailed | ItemFailed):
            item = f"[{event.item}]" if isinstance(event, ItemFailed) else ""
            _close(history, f"{event.step}{item}", event.error)
    return history


def _close(history: History, step: str, error: JsonView) -> None:
    """A run, or a step with all sub-workflows in it, failed: their sections are over, and a resume goes on before."""
    for scope in [one for one in history.ending if not step or one.startswith((f"{step}/", f"{step}["))]:
        history.ending.discard(scope)
        history.steps.setdefault(scope, []).append(RunFailed(error=error, at=0.0))


def _with_results(history: History, event: StepCompleted, know_parts: Callable[[object], None]) -> Writes:
    """What a step wrote, with the results of its items.

    Steps that passed on the results of another one were once recorded like that as well: of those they are lost.
    """
    writes = {key: Opaque("list of results") if value is ITEMS else value for key, value in event.writes.items()}
    if event.writes.get("results") is ITEMS and isinstance(event.writes.get("count"), int):
        withheld = withheld_item(history.items.get(event.step, {}).values())
        results = withheld or _item_results(history, event)
        if not withheld:
            know_parts(results)
        writes["results"] = results
    return writes


def _item_results(history: History, event: StepCompleted) -> list[object]:
    items = history.items.get(event.step, {})
    count = event.writes.get("count")
    found = (items.get(index) for index in range(count if isinstance(count, int) else 0))
    return [item.writes if isinstance(item, ItemCompleted) else None for item in found]


def withheld_item(items: Iterable[object]) -> Withheld | None:
    """Why the results of a batch cannot be read: what its items wrote was recorded with secrets that are not known."""
    done = [item for item in items if isinstance(item, ItemCompleted)]
    names = [name for item in done for name in _withheld_names(item.writes)]
    return Withheld(set(names)) if names else None


def withheld_need(plan: Plan, history: History) -> tuple[str, Withheld] | None:
    """A template of the steps that are left, or of the outputs, whose value was recorded with secrets now unknown."""
    events = history.steps.get("", [])
    if not any(isinstance(event, StepCompleted) and _withheld_names(event.writes) for event in events):
        return None
    state = ScopeState(plan)
    for event in events:
        state.apply(event)
    state.revive()
    ahead = reached_from(plan.successors, [*state.waiting, *plan.sections.values()])
    left = [plan.nodes[number] for number in sorted(ahead)]
    sources = [source for node in left for source in (node.params, node.batch and node.batch.items) if source]
    for reference in (reference for source in (*sources, *plan.outputs.values()) for reference in source.references):
        node = plan.by_id.get(reference.root)
        writes = state.outputs.get(node.number, {}) if node is not None and reference.root not in plan.inputs else {}
        for key, value in writes.items():
            if isinstance(value, Withheld) and reference.path[:1] in ((), (key,)):
                return reference.text, value
    return None


def _withheld_names(writes: Mapping[str, object]) -> list[str]:
    return [name for value in writes.values() if isinstance(value, Withheld) for name in value.names]


def _remember(history: History, event: _StepEvent) -> None:
    if isinstance(event, StepStarted):
        before = history.past.get(event.step)
        if before is not None and not same_work(before.started, event.definition, event.inputs):
            history.items.pop(event.step, None)
        history.past[event.step] = Past(event)
    elif isinstance(event, StepCompleted) and event.step in history.past:
        history.past[event.step].completed = event
    elif isinstance(event, StepFailed) and event.retry_in is None and event.step in history.past:
        history.past[event.step].attempts = 0


def in_doubt(plan: Plan, history: History, prefix: str = "") -> list[str]:
    """Steps and batch items that had started, had not ended, and are not safe to run again."""
    found: list[str] = []
    open_steps: dict[str, StepStarted] = {}
    for event in history.steps.get(prefix, ()):
        if isinstance(event, StepStarted):
            open_steps[event.step] = event
        elif isinstance(event, RunEnding):
            open_steps.clear()  # what was cut off then is not run again before the sections are over
        elif not isinstance(event, RunFailed):
            open_steps.pop(event.step, None)
    for started in open_steps.values():
        node = plan.by_id.get(started.node)
        if node is not None:
            found.extend(_doubts(node, history, started))
    return found


def _doubts(node: PlanNode, history: History, started: StepStarted) -> list[str]:
    step = started.step
    if node.purity != "impure" or (node.only_reads is not None and started.repeatable):
        return []
    if node.batch is None:
        if node.child is not None:
            return in_doubt(node.child, history, step + "/")
        return [step]
    found = []
    for index, item in sorted(history.items.get(step, {}).items()):
        if isinstance(item, ItemStarted):
            if node.child is not None:
                found.extend(in_doubt(node.child, history, f"{step}[{index}]/"))
            else:
                found.append(f"{step}[{index}]")
    return found
