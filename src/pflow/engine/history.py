"""What a run did before: its events by scope, what was left in doubt, and what an edited document can reuse."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from pflow.core.event import (
    HANDED_OVER,
    DoubtSettled,
    Event,
    ItemCompleted,
    ItemFailed,
    ItemNotYet,
    ItemStarted,
    ModelUsed,
    RunCancelled,
    RunCompleted,
    RunEnding,
    RunFailed,
    RunForked,
    RunResumed,
    RunStarted,
    RunStopped,
    StepAnswered,
    StepAsked,
    StepCompleted,
    StepFailed,
    StepNotYet,
    StepStarted,
)
from pflow.core.json_type import JsonView
from pflow.engine.ending.worked import Worked
from pflow.engine.graph import reached_from
from pflow.engine.keeping.snapshot import NOTHING, Snapshot, is_conflict
from pflow.engine.plan import Plan, PlanNode
from pflow.engine.state import ScopeState, Writes
from pflow.engine.value import ITEMS, Opaque, Withheld

if TYPE_CHECKING:
    from pflow.engine.model.spending import Spending

Place = tuple[str, int | None]
"""Where a wait belongs: its step, and its item in a batch."""

_StepEvent = StepStarted | StepCompleted | StepFailed
_ScopeEvent = _StepEvent | RunEnding | RunFailed | RunResumed | RunForked


class Past:
    """One step's record: how it was defined, what went in, and how it ended, if it did."""

    def __init__(self, started: StepStarted) -> None:
        self.started = started
        self.completed: StepCompleted | None = None
        self.handled: StepFailed | None = None
        self.former: StepCompleted | None = None
        """How it had ended when the run last started over."""

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
        self.kept = NOTHING
        self.state_scope = ""
        self.lost_race = False
        """Whether it failed last because another run had changed the state that it read."""

        self.real: set[str] = set()
        """The steps, and items as `all[3]`, whose state became real with an end of the run."""

        self.finished = False
        self.cancelled = False
        self.ending: set[str] = set()
        """The scopes whose sections are under way."""

        self.worked = Worked()
        self.waited = False
        """Whether nothing was left to do but to wait, or others were to go on, when the run was last left."""

        self.asked: dict[Place, StepAsked] = {}
        self.answers: dict[str, StepAnswered] = {}
        self.taken: set[str] = set()
        """The messages that steps have taken."""

        self.turns: dict[Place, int] = {}
        """How often a question was asked in vain, so that its step failed."""

        self.lost: dict[str, dict[int, tuple[JsonView, bool]]] = {}
        """The items of batches that failed for good since a resume, with their errors, and whether somebody refused."""

        self._refused: set[Place] = set()
        self.forked_from = ""
        self.parent = ""
        self.queue = ""
        self.time_limit: float | None = None
        """For how many seconds the run may be worked on, unless a person has resumed it."""

        self.only = ""
        """The one step that the run is there for; empty if it is a whole one."""

        self.again: Mapping[str, tuple[int, ...]] = {}
        """Batches of which only these items run again; others that failed stay as they are."""

        self.keeps_failures = False
        """Whether a failure that an error edge took up is kept like a result."""

        self.earlier: frozenset[str] = frozenset()
        """The steps that were known when the run last started over."""

        self.settled: set[str] = set()
        """Steps and items in doubt that someone lets run again."""

        self.lends = False
        """Whether somebody who started or resumed it answers prompts for which there is no model."""

        self.spending: Spending | None = None
        """What it has spent on language models, if it asked any."""

    def start_over(self, again: Mapping[str, tuple[int, ...]], *, keeps_failures: bool = False) -> None:
        """Go through the document from the start; what steps and items did stays known for reuse.

        Steps that are in `again` are not kept, and of their items not those that it names.
        """
        self.steps.clear()
        self.lost.clear()
        self.ending.clear()
        self.asked.clear()
        self.finished = False
        self.earlier = frozenset(self.past)
        self.again = again
        self.keeps_failures = keeps_failures
        for one in self.past.values():
            one.former = one.completed
        for step, items in again.items():
            if past := self.past.get(step):
                past.completed, past.handled, past.attempts = None, None, 0
            for item in items:
                self.items.get(step, {}).pop(item, None)

    def forget_inside(self, step: str) -> None:
        """Let the steps of a sub-workflow run again: what they gave did not meet the condition of their step."""
        inside = f"{step}/"
        for kept in (self.steps, self.items, self.past):
            for name in [name for name in kept if name.startswith(inside)]:
                del kept[name]

    def note_use(self, event: ModelUsed) -> None:
        """A language model worked for a step."""
        if self.spending is None:
            from pflow.engine.model.spending import Spending  # lazy: many documents ask no model

            self.spending = Spending()
        self.spending.note(event)

    def note_wait(self, event: StepAsked | StepAnswered) -> None:
        """A step waits, or does so no more."""
        place = event.step, event.item
        if isinstance(event, StepAsked):
            self.asked[place] = event
            return
        self.asked.pop(place, None)
        self.answers[event.key] = event
        if event.mail:
            self.taken.add(event.mail)
        if event.outcome == "answered":
            self._refused.discard(place)
        else:
            self._refused.add(place)

    def note_failure(self, place: Place) -> bool:
        """A step or an item failed for good; whether that is because of an answer. Then a resume asks again."""
        if place not in self._refused:
            return False
        self._refused.discard(place)
        self.turns[place] = self.turns.get(place, 0) + 1
        return True

    @property
    def only_waits(self) -> bool:
        """Whether the run was left because all that was under way in its main part waited for something."""
        return self.waited and bool(self.asked) and not self.ending

    def is_waiting(self, step: str) -> bool:
        """Whether a step, or something in it, had asked and has no answer."""
        inside = (f"{step}/", f"{step}[")
        return any(asked == step or asked.startswith(inside) for asked, _ in self.asked)

    def waiting_items(self, step: str) -> set[int]:
        """The items of a batch that had begun, had asked, themselves or inside, and have no answer.

        One whose approval was asked for had not begun.
        """
        own = {item for asked, item in self.asked if asked == step and item is not None}
        inside = [asked[len(step) + 1 :] for asked, _ in self.asked if asked.startswith(f"{step}[")]
        begun = self.items.get(step, {})
        asked_items = own | {int(rest.partition("]")[0]) for rest in inside}
        return {item for item in asked_items if isinstance(begun.get(item), ItemStarted)}


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
            history.forked_from = event.forked_from
            history.time_limit, history.parent = event.time_limit, event.parent
            history.queue = event.queue
            history.lends = event.lends
            history.kept = Snapshot(values=event.state, versions=event.state_versions, is_trial=event.is_trial)
            history.state_scope = event.state_scope
        elif isinstance(event, RunResumed):
            history.settled.update(event.rerun)
            history.lends |= event.lends
            history.time_limit = history.time_limit if event.driven else None
            history.kept = history.kept.joined(Snapshot(values=event.state, versions=event.state_versions))
            history.lost_race = False
            if event.document is not None:
                history.document = event.document
                history.inputs = dict(event.inputs)
                history.state_scope = event.state_scope or history.state_scope
            if event.document is not None or event.again or event.is_renewed:
                history.start_over(event.again, keeps_failures=bool(event.again))
            elif not history.waited and not event.driven:
                history.lost.clear()
                for scope in history.steps.values():
                    scope.append(event)  # what had failed is to run again
        elif isinstance(event, StepAsked | StepAnswered):
            history.note_wait(event)
        elif isinstance(event, ModelUsed):
            history.note_use(event)
        elif isinstance(event, RunStopped):
            history.waited = event.reason in ("waiting", HANDED_OVER)
        elif isinstance(event, RunCompleted):
            history.finished = True
            history.real = set(_made_real(history))
        elif isinstance(event, RunCancelled):
            history.cancelled = True
        elif isinstance(event, RunEnding):
            history.ending.add(event.scope)
            history.steps.setdefault(event.scope, []).append(event)
        elif isinstance(event, RunFailed):
            history.waited = False
            history.lost_race = is_conflict(event.error)
            _close(history, "", event.error)
        elif isinstance(event, ItemStarted | ItemCompleted | ItemFailed | ItemNotYet):
            history.items.setdefault(event.step, {})[event.item] = event
            history.real.discard(f"{event.step}[{event.item}]")
            history.settled.discard(f"{event.step}[{event.item}]")
            if isinstance(event, ItemNotYet):
                history.forget_inside(f"{event.step}[{event.item}]")
        elif isinstance(event, StepNotYet):
            history.forget_inside(event.step)
        elif isinstance(event, StepStarted | StepCompleted | StepFailed):
            if isinstance(event, StepCompleted) and ITEMS in event.writes.values():
                event = event._replace(writes=_with_results(history, event, know_parts))
            history.steps.setdefault(scope_of(event.step), []).append(event)
            _remember(history, event)
            history.waited = False
        elif isinstance(event, RunForked):
            _begin_fork(history, event)
        elif isinstance(event, DoubtSettled) and event.outcome == "rerun":
            history.settled.add(event.step)
        if isinstance(event, ItemFailed) and event.final:
            refused = history.note_failure((event.step, event.item))
            history.lost.setdefault(event.step, {})[event.item] = event.error, refused
        if history.ending and isinstance(event, StepFailed | ItemFailed):
            item = f"[{event.item}]" if isinstance(event, ItemFailed) else ""
            _close(history, f"{event.step}{item}", event.error)
    return history


def _made_real(history: History) -> Iterator[str]:
    """The steps and items whose state becomes real with an end of the run: not those in something that failed."""
    from pflow.engine.again.name import outer_steps  # lazy: only for runs that go on

    for step, past in history.past.items():
        if past.completed is None or not past.completed.state:
            continue
        if all(_has_completed(history, outer, item) for outer, item in outer_steps(step)):
            yield step
            for index, item in history.items.get(step, {}).items():
                if isinstance(item, ItemCompleted) and item.state:
                    yield f"{step}[{index}]"


def _has_completed(history: History, step: str, item: int | None) -> bool:
    past = history.past.get(step)
    if past is None or past.completed is None:
        return False
    return item is None or isinstance(history.items.get(step, {}).get(item), ItemCompleted)


def _begin_fork(history: History, event: RunForked) -> None:
    """What was copied is there: it is kept as far as it can be, or is what came before the one step that runs."""
    if event.only:
        history.only = event.step
        history.steps.setdefault("", []).append(event)
    else:
        history.start_over({}, keeps_failures=True)


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
    parts = ((node.params, node.batch and node.batch.items, node.approve and node.approve.prompt) for node in left)
    sources = [source for found in parts for source in found if source]
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
        history.past[event.step].former = before.former if before is not None else None
        history.settled.discard(event.step)
    elif isinstance(event, StepCompleted) and event.step in history.past:
        history.past[event.step].completed = event
        if event.source != "reuse":
            history.real.discard(event.step)
    elif isinstance(event, StepFailed) and event.retry_in is None and event.step in history.past:
        history.past[event.step].attempts = 0
        history.past[event.step].handled = event if event.action is not None else None
        history.note_failure((event.step, None))


def in_doubt(plan: Plan, history: History, prefix: str = "") -> list[str]:
    """Steps and batch items that had started, had not ended, and that nothing and nobody says may run again."""
    found: list[str] = []
    open_steps: dict[str, StepStarted] = {}
    for event in history.steps.get(prefix, ()):
        if isinstance(event, StepStarted):
            open_steps[event.step] = event
        elif isinstance(event, RunEnding):
            open_steps.clear()  # what was cut off then is not run again before the sections are over
        elif not isinstance(event, RunFailed | RunResumed | RunForked):
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
        return [step] if step not in history.settled else []
    found = []
    for index, item in sorted(history.items.get(step, {}).items()):
        if isinstance(item, ItemStarted):
            if node.child is not None:
                found.extend(in_doubt(node.child, history, f"{step}[{index}]/"))
            elif f"{step}[{index}]" not in history.settled:
                found.append(f"{step}[{index}]")
    return found
