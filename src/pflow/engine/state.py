"""Where one execution of a plan stands: a pure fold of its events, and the one rule that says what runs next."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from pflow.core.advice import to_text
from pflow.core.event import Event, RunEnding, RunFailed, RunForked, RunResumed, StepCompleted, StepFailed, StepStarted
from pflow.engine.frontier import Frontier
from pflow.engine.plan import Plan
from pflow.engine.value import DELETED

Writes = Mapping[str, object]
Sets = Mapping[str, Mapping[str, object]]

END = -1
"""The place after the last node."""


class _Live(NamedTuple):
    """What is live in one part of a document, what has failed there, and what it has set so far."""

    frontier: Frontier
    failed: dict[int, StepFailed]
    sets: Sets


class ScopeState:
    """The state of a run's plan, or of one sub-workflow in it.

    A node is *waiting* once it has been reached, and *running* from its start event to its end event. It is
    ready when no other live node can still reach it.
    """

    def __init__(self, plan: Plan, prefix: str = "", real: Collection[str] = ()) -> None:
        self.plan = plan
        self.prefix = prefix
        self.sets: Sets = {}
        """What steps have set, to be kept: by scope and name. What steps set that are `real` already is not in it."""

        self._real = real
        self.visits: dict[int, int] = {}
        self._frontier = Frontier(plan, plan.starts)
        self.outputs: dict[int, Writes] = {}
        self.completed: list[str] = []
        self.failed: dict[int, StepFailed] = {}
        self.ended: list[int] = []
        self.skipped: set[int] = set()
        self._led_by: dict[int, tuple[int, ...]] = {}
        self.ending: RunEnding | None = None
        """The section that is under way, and why; None in the main part."""

        self._main: _Live | None = None
        self._lost: list[tuple[str, StepFailed]] = []
        self.begun: dict[int, Sequence[object]] = {}
        """The items of the batches that are running."""

        self.items: dict[int, Sequence[object]] = {}
        """The items of the batches whose outputs there are."""

        self._writers: dict[str, set[int]] = {}

    @property
    def running(self) -> Mapping[int, str]:
        """The nodes whose step goes on, with its name."""
        return self._frontier.running

    @property
    def waiting(self) -> Mapping[int, None]:
        """The nodes that have been reached."""
        return self._frontier.waiting

    def step_name(self, index: int, visit: int) -> str:
        """The name of a node's nth step."""
        name = self.prefix + self.plan.nodes[index].id
        return name if visit == 1 else f"{name}#{visit}"

    def node_of(self, step: str) -> int:
        """The node that a step of this scope belongs to."""
        return self.plan.by_id[step[len(self.prefix) :].partition("#")[0]].number

    def apply(self, event: Event) -> None:
        """Take one event of this scope into account."""
        if isinstance(event, StepStarted):
            self.start(self.node_of(event.step), event.step, _visit_of(event.step))
        elif isinstance(event, StepCompleted):
            self.complete(self.node_of(event.step), event)
        elif isinstance(event, StepFailed):
            self.fail(self.node_of(event.step), event)
        elif isinstance(event, RunEnding):
            self.begin_section(event)
        elif isinstance(event, RunFailed):
            self.reopen()
        elif isinstance(event, RunResumed):
            self._reach_again(self._failed_in_main())
        elif isinstance(event, RunForked):
            self.leave_only(self.node_of(event.step))

    def begin_section(self, event: RunEnding) -> None:
        """A part of the document is over, and a section begins."""
        if self._main is None:
            self._main = _Live(self._frontier, self.failed, self.sets)
        self._lost = self.lost
        self.ending = event
        self._frontier, self.failed = Frontier(self.plan, [self.plan.sections[event.section]]), {}

    def reopen(self) -> None:
        """It has failed, sections and all: what is left of the main part is live again for a resume."""
        if self._main is not None:
            self._frontier, self.failed, self.sets = self._main
            self.ending, self._main, self._lost = None, None, []

    def leave_only(self, index: int) -> None:
        """Nothing but one node is live; what others wrote stays."""
        self._frontier = Frontier(self.plan, [index])
        self.failed.clear()
        self.completed.clear()
        self.ended.clear()
        self._led_by.clear()

    @property
    def main_failed(self) -> Mapping[int, StepFailed]:
        """The steps of the main part that failed for good."""
        return self.failed if self._main is None else self._main.failed

    @property
    def lost(self) -> list[tuple[str, StepFailed]]:
        """The steps of sections that failed for good, each with its section."""
        if self.ending is None:
            return []
        return [*self._lost, *((self.ending.section, failed) for failed in self.failed.values())]

    def start(self, index: int, step: str, visit: int) -> None:
        """A node's step began."""
        self._frontier.start(index, step)
        self.failed.pop(index, None)
        self.visits[index] = visit

    def complete(self, index: int, event: StepCompleted) -> None:
        """A node's step wrote its outputs."""
        if event.source == "skipped" or self.plan.nodes[index].choice is not None:
            self._pass(index, event)
            return
        self.completed.append(event.step)
        if event.state and (event.source != "reuse" or event.step not in self._real):
            from pflow.engine.keeping.merge import join_sets  # lazy: few workflows keep something

            self.sets = join_sets(self.plan.keeps, self.sets, event.state)
        self._finish(index, event.writes, event.action)

    def fail(self, index: int, event: StepFailed) -> None:
        """A node's step failed: for now, for an error edge, or for good."""
        if event.retry_in is not None:
            return
        if event.action is None:
            self._frontier.end(index)
            self.failed[index] = event
        else:
            self._finish(index, {"error": to_text(event.error)}, event.action)

    def ready(self) -> list[int]:
        """Reached nodes that no other live node can still reach, in document order."""
        return self._frontier.ready()

    def revive(self, *, failed: bool = True) -> None:
        """Let failed and interrupted nodes be reached again, as a resume does; of a section only interrupted ones.

        Not those that `failed` where the run only waited meanwhile.
        """
        self._reach_again([*(self._failed_in_main() if failed else ()), *self.running])

    def _failed_in_main(self) -> list[int]:
        return list(self.failed) if self.ending is None else []

    def _reach_again(self, nodes: list[int]) -> None:
        for index in nodes:
            self._frontier.end(index)
            self.visits[index] -= 1
            self.failed.pop(index, None)
        self._frontier.reach(nodes)

    def natural(self, index: int, key: str) -> object:
        """What the nearest upstream step of a node wrote under `key`; raises `KeyError`.

        `END` asks on behalf of the run's outputs. Of several writers equally near, the last in the document counts.
        """
        writers = self._writers.get(key)
        if not writers:
            raise KeyError(key)
        seen: set[int] = set()
        level = tuple(dict.fromkeys(self.ended)) if index == END else self.plan.predecessors[index]
        while level:
            hits = [node for node in level if node in writers]
            if hits:
                value = self.outputs[max(hits)][key]
                if value is DELETED:
                    raise KeyError(key)
                return value
            seen.update(level)
            level = tuple(dict.fromkeys(n for node in level for n in self.plan.predecessors[node] if n not in seen))
        raise KeyError(key)

    def natural_keys(self, index: int) -> list[str]:
        """The natural keys a node can read, sorted."""
        return sorted(key for key in self._writers if self._has_natural(index, key))

    def is_deleted(self, key: str) -> bool:
        """Whether the last word on a key, as of the end, is that it is gone."""
        return key in self._writers and bool(self._writers[key]) and not self._has_natural(END, key)

    def _has_natural(self, index: int, key: str) -> bool:
        try:
            self.natural(index, key)
        except KeyError:
            return False
        return True

    def _finish(self, index: int, writes: Writes, action: str) -> None:
        self._frontier.end(index)
        if index in self.outputs:
            for key in self.outputs[index]:
                self._writers[key].discard(index)
        self.outputs[index] = writes
        if index in self.begun:
            self.items[index] = self.begun.pop(index)
        for key in writes:
            self._writers.setdefault(key, set()).add(index)
        targets = self.plan.nodes[index].edges.get(action, ())
        self._frontier.reach(targets)
        giving: tuple[int, ...] = (index,)
        if self.plan.passes_on:
            self.skipped.discard(index)
            before = self._led_by.pop(index, ())
            if self.plan.nodes[index].sets_state:
                giving = before
            for target in targets:
                self._led_by[target] = (*self._led_by.get(target, ()), *giving)
        if not targets and self.ending is None:
            self.ended.extend(giving)

    def _pass(self, index: int, event: StepCompleted) -> None:
        """Go on past a node that has nothing of its own to give: what led to it leads on."""
        self._frontier.end(index)
        if event.source == "skipped":
            self.skipped.add(index)
        before = self._led_by.pop(index, ())
        targets = self.plan.nodes[index].edges.get(event.action, ())
        self._frontier.reach(targets)
        for target in targets:
            self._led_by[target] = (*self._led_by.get(target, ()), *before)
        if not targets and self.ending is None:
            self.ended.extend(before)


def _visit_of(step: str) -> int:
    _, mark, visit = step[step.rfind("/") + 1 :].partition("#")
    return int(visit) if mark else 1
