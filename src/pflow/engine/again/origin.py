"""What a run begins with that another one has done: copies of its events, which do not need that run any more."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from pflow.core.event import (
    Event,
    ItemCompleted,
    ItemFailed,
    RunForked,
    StepCompleted,
    StepFailed,
    StepStarted,
)
from pflow.core.frozen import Frozen
from pflow.engine.again.name import find_node, node_of, outer_steps, top_of
from pflow.engine.graph import reached_from
from pflow.engine.history import History, Past
from pflow.engine.keeping.snapshot import NOTHING, Snapshot
from pflow.engine.plan import Plan, PlanNode
from pflow.engine.value import ITEMS, Withheld


class Origin(Frozen):
    """The run that another one is forked from, up to a step, and what is copied of it.

    `ahead` are the nodes that run again whatever they did. `unknown` are steps that cannot be copied, since what they
    wrote holds a secret that is not known now. `kept` is the state that the other run found.
    """

    run_id: str
    step: str
    events: tuple[Event, ...]
    only: bool = False
    ahead: frozenset[str] = frozenset()
    unknown: frozenset[str] = frozenset()
    kept: Snapshot = NOTHING

    def begin(self, at: float) -> tuple[Event, ...]:
        """What is recorded of it in the new run."""
        return (*self.events, RunForked(step=self.step, at=at, only=self.only))

    def reason(self, step: str) -> str:
        """Why a step that was not copied runs; empty if there is no reason to copy it."""
        if step in self.unknown:
            return "a secret in what it wrote is not known now"
        return f"from `{self.step}` on" if node_of(top_of(step)) in self.ahead else ""


def fork_at(history: History, plan: Plan, run_id: str, step: str, node: PlanNode) -> Origin:
    """What a run keeps that goes on from `step` of another one: what came before it, and what does not follow from it.

    `plan` is that of the new run, and `node` the one of the step. If the other run never came to it, everything is kept
    that does not follow.
    """
    ahead = frozenset(plan.nodes[number].id for number in reached_from(plan.successors, [node.number]))
    kept = set(_kept_steps(history, plan, step, ahead))
    events, unknown = _copy(history, plan, kept)
    return Origin(run_id=run_id, step=step, events=events, ahead=ahead, unknown=unknown, kept=history.kept)


def before(history: History, plan: Plan, run_id: str, step: str) -> Origin:
    """What came before the last start of `step` in another run, or all that it did if that never came to it.

    What the other steps set is for the run that they were part of.
    """
    events = list(history.steps.get("", ()))
    starts = [at for at, event in enumerate(events) if isinstance(event, StepStarted) and event.step == step]
    done = events[: starts[-1]] if starts else events
    ended = {event.step for event in done if isinstance(event, StepCompleted | StepFailed) and event.action}
    copied, unknown = _copy(history, plan, ended - {step}, inner=False)
    copied = tuple(map(_without_state, copied))
    return Origin(run_id=run_id, step=step, events=copied, only=True, unknown=unknown, kept=history.kept)


def _kept_steps(history: History, plan: Plan, step: str, ahead: Collection[str]) -> Iterator[str]:
    """The steps of the run itself that are kept, whether they ended or not."""
    events = history.steps.get("", ())
    first = next((at for at, event in enumerate(events) if _is_start(event, step)), len(events))
    reached = first < len(events)
    ended = {event.step for event in events[:first] if isinstance(event, StepCompleted | StepFailed) and event.action}
    for event in events:
        if not isinstance(event, StepStarted) or event.step == step:
            continue
        node = plan.by_id.get(event.node)
        if node is None or plan.section_of(node.number) is not None:
            continue  # sections belong to the end of a run, which the new one has for itself
        if event.node not in ahead or (reached and event.step in ended):
            yield event.step


def _is_start(event: object, step: str) -> bool:
    return isinstance(event, StepStarted) and event.step == step


def _copy(
    history: History, plan: Plan, kept: Collection[str], *, inner: bool = True
) -> tuple[tuple[Event, ...], frozenset[str]]:
    """The events of some steps of a run and, if wanted, of those inside of them; and those that cannot be copied."""
    events: list[Event] = []
    unknown: set[str] = set()
    for step, past in history.past.items():
        if top_of(step) not in kept or find_node(plan, step) is None:
            continue
        if step != top_of(step) and not (inner and _is_of_main_parts(plan, step)):
            continue
        # What a step set, and the run has kept, is not to be kept once more.
        copied = [
            _without_state(event) if name in history.real else event
            for name, event in _of_step(history.items.get(step, {}), past)
        ]
        if any(_is_unknown(event) for event in copied):
            unknown.add(step)
        else:
            events += copied
    return tuple(events), frozenset(unknown)


def _is_of_main_parts(plan: Plan, step: str) -> bool:
    """Whether a step inside of others is in no section of theirs: a sub-workflow that goes on ends for itself."""
    names = [step, *(name for name, _ in outer_steps(step) if "/" in name)]
    found = filter(None, (find_node(plan, name) for name in names))
    return all(inside.section_of(node.number) is None for inside, node in found)


def _of_step(items: Mapping[int, object], past: Past) -> Iterator[tuple[str, Event]]:
    """A step's start, what its items gave, and its end, if it is one to be kept; each with the name that it goes by."""
    step = past.started.step
    yield step, past.started
    for index in sorted(items):
        item = items[index]
        if isinstance(item, ItemCompleted | ItemFailed):
            yield f"{step}[{index}]", item
    if past.completed is not None:
        yield step, _apart(past.started, past.completed)
    elif past.handled is not None:
        yield step, past.handled


def _without_state(event: Event) -> Event:
    return event._replace(state={}) if isinstance(event, StepCompleted | ItemCompleted) and event.state else event


def _apart(started: StepStarted, completed: StepCompleted) -> StepCompleted:
    """The end of a batch as it is recorded: its results stand in the events of its items."""
    if not started.items or "results" not in completed.writes:
        return completed
    return completed._replace(writes={**completed.writes, "results": ITEMS})


def _is_unknown(event: Event) -> bool:
    writes = event.writes.values() if isinstance(event, StepCompleted | ItemCompleted) else ()
    return any(isinstance(value, Withheld) for value in writes)
