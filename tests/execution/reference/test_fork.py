"""Any run that is forked at any step, with nothing changed, gives the same and repeats nothing that came before."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pflow.core.event import StepCompleted, StepFailed, StepStarted
from pflow.engine.again.name import top_of
from pflow.engine.again.origin import fork_at
from pflow.engine.executor import Executor
from pflow.engine.plan import Plan
from pflow.engine.ports import Services
from pflow.engine.result import RunResult
from pflow.testing import MemoryJournal, RecordingObserver
from tests.engine.building import Kinds
from tests.execution.reference.generator import Generator
from tests.execution.reference.test_reference import RUN, Ran, compiled, kinds, plain
from tests.quick import examples

__all__ = ["kinds"]


class Forked:
    """A run that is forked from another: its result, and the steps whose nodes it ran."""

    def __init__(self, plan: Plan, ran: Ran, step: str) -> None:
        self.journal = ran.journal
        self.observer = RecordingObserver()
        self.executor = Executor(self.journal, Services(home=Path("/nonexistent"), settings={}), observer=self.observer)
        history = self.executor.history(RUN["id"])
        self.origin = fork_at(history, plan, RUN["id"], step, plan.by_id[step.partition("#")[0]])
        self.result = asyncio.run(self._go(plan))
        self.events = [event for _, event in self.observer.events]
        self.kept = set(self.result.reused)
        ended = (event for event in self.events if isinstance(event, StepCompleted | StepFailed))
        self.ends = {event.step: event for event in ended}

    async def _go(self, plan: Plan) -> RunResult:
        try:
            return await self.executor.run(plan, {}, run_id="fork-1", origin=self.origin)
        finally:
            self.executor.close()

    def resumed(self, plan: Plan, cut: int) -> RunResult:
        """The result of a copy of the run that is cut off there and taken up."""
        records, copied = list(self.journal.read("fork-1")), len(self.origin.events)
        journal = MemoryJournal()
        died = MemoryJournal(journal.store)
        died.create("fork-1", "graph", 0.0, records[: copied + 2 + cut])
        died.store.runs["fork-1"].values |= self.journal.store.runs["fork-1"].values
        died.close()

        async def go() -> RunResult:
            executor = Executor(journal, Services(home=Path("/nonexistent"), settings={}))
            try:
                return await executor.resume("fork-1", plan, {}, rerun_in_doubt=True)
            finally:
                executor.close()

        return asyncio.run(go())


def before(ran: Ran, step: str) -> set[str]:
    """The steps of the run itself, in its main part, that had ended when a step began."""
    names = [event.step for event in ran.events if isinstance(event, StepStarted)]
    assert step in names
    ended = set()
    for event in ran.events:
        if isinstance(event, StepStarted) and event.step == step:
            break
        if isinstance(event, StepCompleted) or (isinstance(event, StepFailed) and event.action is not None):
            ended.add(event.step)
    return {name for name in ended if name == top_of(name)}


def told(result: RunResult) -> dict[str, Any]:
    """How a run ended. Which of two branches that fail does so first is a matter of time."""
    return {"status": result.status, "outputs": plain(dict(result.outputs))}


def check(chance: Random, kinds: Kinds) -> None:
    document = Generator(chance).make()
    if document is None:
        return
    plan = compiled(document, kinds)
    ran = Ran(plan)
    begun = [event for event in ran.events if isinstance(event, StepStarted) and "/" not in event.step]
    main = [one.step for one in begun if plan.section_of(plan.by_id[one.node].number) is None and "?" not in one.node]
    step = chance.choice(main)
    try:
        fork = Forked(plan, ran, step)
        assert told(fork.result) == told(ran.result)
        for name in before(ran, step):
            end = fork.ends.get(name)
            is_free = isinstance(end, StepCompleted) and (end.source == "skipped" or "?" in name)
            assert name in fork.kept or is_free or _never_began(end), f"`{name}` was done again"
        assert step not in fork.kept
        if ran.result.status == "completed":
            assert _own(fork.ends) == _own(ran.steps) | _own(_lost(ran))
        own = len(fork.events) - 2
        if fork.result.status == "completed" and own > 1:
            cut = chance.randrange(own)
            assert told(fork.resumed(plan, cut)) == told(ran.result)
    except BaseException as problem:
        problem.add_note(f"forked at {step}: {json.dumps(document)}")
        raise


def _never_began(end: StepCompleted | StepFailed | None) -> bool:
    """Whether the node of a step was not run, since a template or a condition could not be made out, or at all."""
    return end is None or isinstance(end, StepFailed) and end.error.get("type") in ("template_error", "expression")


def _own(steps: Iterable[str]) -> set[str]:
    """The steps of the run itself."""
    return {step for step in steps if "/" not in step}


def _lost(ran: Ran) -> set[str]:
    """The steps of sections that failed."""
    return {step for _, step, _ in ran.result.failed_in_sections}


def test_a_fork_that_is_cut_off_in_a_sub_workflow_ends_that_as_for_the_first_time(kinds: Kinds) -> None:
    ending = {"id": "z0", "type": "let", "params": {"times": "visit"}}
    inner = {
        "nodes": [{"id": "n0", "type": "work", "params": {"value": 1, "bad": 0}}, ending],
        "finally": "z0",
        "outputs": {"times": {"source": "${z0.times}"}},
    }
    document = {
        "nodes": [{"id": "n0", "type": "workflow", "params": {"workflow": inner}}, {"id": "n1", "type": "echo"}],
        "outputs": {"times": {"source": "${n0.times}"}},
    }
    plan = compiled(document, kinds)
    ran = Ran(plan)
    fork = Forked(plan, ran, "n1")
    for cut in range(len(fork.events) - 2):
        assert fork.resumed(plan, cut).outputs == ran.result.outputs == {"times": 1}


@settings(max_examples=examples(150), suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(st.randoms(use_true_random=False))
def test_a_fork_with_nothing_changed_gives_the_same(kinds: Kinds, chance: Random) -> None:
    check(chance, kinds)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(5))
def test_thousands_of_forks_with_nothing_changed_give_the_same(kinds: Kinds, seed: int) -> None:
    for number in range(500):
        check(Random(seed * 1000 + number), kinds)
