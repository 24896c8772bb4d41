"""Any document runs as a plain interpreter plays it, one node at a time, whether or not the run is cut off between."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from random import Random
from typing import Any
from zlib import crc32

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pocketflow import AsyncNode

from pflow.core.document.issue import Issue
from pflow.core.document.parse import Parsed, parse_value
from pflow.core.errors import StepError
from pflow.core.event import Event, RunCompleted, RunEnding, RunFailed, StepCompleted, StepFailed, StepStarted
from pflow.core.file.home import Home
from pflow.engine.executor import Executor
from pflow.engine.plan import Plan
from pflow.engine.ports import Record, Services
from pflow.engine.result import RunResult
from pflow.execution.compiler import compile_plan
from pflow.registry.registry import Registry
from pflow.testing import MemoryJournal, RecordingObserver
from tests.engine.building import Kind, Kinds
from tests.execution.reference.flow import Raw, Reach, derive
from tests.execution.reference.generator import LETTERS, Generator
from tests.execution.reference.interpreter import Ending, Interpreter, Played
from tests.quick import examples

RUN = {"id": "graph-1", "name": "graph"}


class Work(AsyncNode):
    """Takes a while, then gives a value, or fails for one that is bad."""

    async def exec_async(self, _: object) -> None:
        for _turn in range(crc32(str(self.params).encode()) % 4):
            await asyncio.sleep(0)
        if self.params["value"] == self.params.get("bad"):
            raise StepError(f"bad {self.params['value']}")

    async def post_async(self, shared: Any, _: object, __: object) -> str:
        shared["value"] = self.params["value"]
        return "default"


@pytest.fixture(scope="module")
def kinds(tmp_path_factory: pytest.TempPathFactory) -> Kinds:
    """The node types that come with pflow, and one for tests."""
    registry: Any = Registry.load(Home(tmp_path_factory.mktemp("home") / ".pflow"))
    names = ("echo", "let", "switch", "fail", "workflow")
    return Kinds({**{name: registry.get(name) for name in names}, "work": Kind(Work)})


def checked(document: Raw, kinds: Any) -> tuple[Plan | None, list[Issue]]:
    def load(wanted: object) -> tuple[Parsed, Any]:
        return parse_value(wanted), load

    plan, issues = compile_plan(parse_value(document), kinds, load, name="graph")
    return plan, [issue for issue in issues if issue.severity == "error"]


def compiled(document: Raw, kinds: Any) -> Plan:
    plan, issues = checked(document, kinds)
    assert plan is not None, [issue.as_dict() for issue in issues]
    return plan


class Ran:
    """A run in the engine: its result, and how each of its steps ended."""

    records: list[Record]

    def __init__(self, plan: Plan, before: Ran | None = None, cut: int = 0) -> None:
        self.journal = MemoryJournal()
        self.observer = RecordingObserver()
        if before is not None:
            died = MemoryJournal(self.journal.store)
            died.create(RUN["id"], "graph", 0.0, before.records[:cut])
            died.store.runs[RUN["id"]].values |= before.journal.store.runs[RUN["id"]].values
            died.close()
        self.result = asyncio.run(self._go(plan, is_resumed=before is not None))
        self.records = list(self.journal.read(RUN["id"]))
        self.events: list[Event] = [] if before is None else before.events[:cut]
        self.events += [event for _, event in self.observer.events]
        assert len(self.events) == len(self.records)
        self.steps = _ends(self.events)
        self.writes = {event.step: event.writes for event in self.events if isinstance(event, StepCompleted)}
        self.endings = _endings(self.events)

    async def _go(self, plan: Plan, *, is_resumed: bool) -> RunResult:
        executor = Executor(self.journal, Services(home=Path("/nonexistent"), settings={}), observer=self.observer)
        try:
            if is_resumed:
                return await executor.resume(RUN["id"], plan, {}, rerun_in_doubt=True)
            return await executor.run(plan, {}, run_id=RUN["id"])
        finally:
            executor.close()


def _endings(events: list[Event]) -> dict[str, list[Ending]]:
    """Each end of the main part of a scope, which comes once before the scope ends.

    No step begins outside its part, and none that failed in a section begins again.
    """
    endings: dict[str, list[Ending]] = {}
    ended: dict[str, set[str]] = {}
    parts: dict[str, RunEnding] = {}
    ends: dict[str, int] = {}
    for event in events:
        if isinstance(event, RunEnding):
            if event.scope not in parts:
                ending = Ending(frozenset(ended.get(event.scope, ())), event.error.get("node"), [])
                endings.setdefault(event.scope, []).append(ending)
            parts[event.scope] = event
            endings[event.scope][-1].sections.append(event.section)
        elif isinstance(event, StepStarted):
            scope, name = _split(event.step)
            part = parts[scope].section if scope in parts else ""
            assert name.startswith(LETTERS[part]), f"`{event.step}` began in `{part or 'the main part'}`"
            assert not part or name not in ended.get(scope, ()), f"`{event.step}` began again"
        elif isinstance(event, StepCompleted | StepFailed | RunCompleted | RunFailed):
            own = ""
            if isinstance(event, StepCompleted | StepFailed):
                scope, name = _split(event.step)
                ended.setdefault(scope, set()).add(name)
                own = f"{event.step}/"
            ends[own] = ends.get(own, 0) + 1
            status = "completed" if isinstance(event, StepCompleted | RunCompleted) else "failed"
            assert own not in parts or parts.pop(own).status == status
    assert not parts
    assert {scope: len(found) for scope, found in endings.items()} == {scope: ends[scope] for scope in endings}
    return endings


def _split(step: str) -> tuple[str, str]:
    """The scope of a step, and its name there."""
    scope, mark, name = step.rpartition("/")
    return scope + mark, name


def _ends(events: list[Event]) -> dict[str, str]:
    """How each step ended; none may end twice."""
    ends: dict[str, str] = {}
    for event in events:
        if isinstance(event, StepCompleted):
            assert event.step not in ends, f"`{event.step}` completed twice"
            choice = "?" in event.step.rpartition("/")[2]
            ends[event.step] = "skipped" if event.source == "skipped" else "chosen" if choice else "completed"
        elif isinstance(event, StepFailed) and event.action is not None:
            assert event.step not in ends, f"`{event.step}` failed after it had ended"
            ends[event.step] = "handled"
        elif isinstance(event, StepStarted):
            assert event.step not in ends, f"`{event.step}` began again"
    return ends


def compare(ran: Ran, played: Played) -> None:
    """The run went as it was played. Beside a branch that fails, what others still do is a matter of time."""
    result = ran.result
    assert result.status == played.status, result.error
    sure = {step: how for step, how in played.steps.items() if step not in played.maybe}
    assert {step: how for step, how in ran.steps.items() if step not in played.maybe} == sure
    assert ran.steps.keys() <= played.steps.keys()
    for step in [step for step, how in ran.steps.items() if how == "completed"]:
        assert plain(ran.writes[step]) == plain(played.writes[step]), step
    assert [(section, step) for section, step, _ in result.failed_in_sections if "/" not in step] == played.lost
    if played.failed:
        assert result.failed_node in played.failed and result.error is not None
        assert all(result.error["node"] == ending.node for ending in ran.endings.get("", [])[-1:])
        error = played.failed[result.failed_node]
        if error["message"] is not None:
            assert result.error["message"] == error["message"]
        if error["type"] == "failed_on_purpose":
            assert result.error["type"] == error["type"]
    else:
        assert plain(result.outputs) == plain(played.outputs)


def plain(value: object) -> object:
    """A result without what is told of a failure, and without what a batch tells besides its results."""
    if isinstance(value, dict):
        kept = {key: plain(part) for key, part in value.items() if key not in ("errors", "done")}
        error = kept.get("error")
        if isinstance(error, dict):
            kept["error"] = {"node": error["node"], "action": error["action"]}
        return kept
    return [plain(part) for part in value] if isinstance(value, list) else value


def cut_of(chance: Random, ran: Ran) -> int:
    """Where to cut a run off: anywhere, often in its sections, or near the end if it has failed."""
    last = len(ran.records) - (ran.result.status == "completed")
    places = [at + 1 for at, event in enumerate(ran.events) if isinstance(event, RunEnding)][:1]
    if ran.result.error is not None:  # before and after it is said that the run has failed
        places = [*places, last, *[last - 1] * len(ran.endings)]
    first = chance.choice([1, 1, *places])
    return chance.randint(first, last)


def check(chance: Random, kinds: Kinds) -> None:
    document = Generator(chance).make()
    if document is None:
        return
    told = json.dumps(document)
    try:
        plan = compiled(document, kinds)
        ran = Ran(plan)
        compare(ran, Interpreter(document, {}, RUN, ran.endings).play())
        for _ in range(chance.choice([1, 1, 2])):
            cut = cut_of(chance, ran)
            resumed = Ran(plan, ran, cut)
            assert resumed.records[:cut] == ran.records[:cut]
            compare(resumed, Interpreter(document, {}, RUN, resumed.endings).play())
            ran = resumed
    except BaseException as problem:
        problem.add_note(told)
        raise


@settings(max_examples=examples(400), suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(st.randoms(use_true_random=False))
def test_a_document_runs_as_it_is_played(kinds: Kinds, chance: Random) -> None:
    check(chance, kinds)


@settings(max_examples=examples(200), suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(st.randoms(use_true_random=False))
def test_where_nobody_can_know_what_follows_checking_asks(kinds: Kinds, chance: Random) -> None:
    document = Generator(chance).draft()
    flow = derive(document)
    names = [node["id"] for node in document["nodes"]]
    issues = checked(document, kinds)[1]
    asked = [issue.path for issue in issues if issue.code == "unclear-order"]
    assert asked == [f"nodes[{names.index(name)}]" for name in flow.unclear], json.dumps(document)
    lost = [issue.path for issue in issues if issue.code == "unreachable" and not issue.message.startswith("in ")]
    reached = Reach(flow).reached
    assert lost == [f"nodes[{at}].id" for at, name in enumerate(names) if name not in reached], json.dumps(document)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10))
def test_thousands_of_documents_run_as_they_are_played(kinds: Kinds, seed: int) -> None:
    for number in range(500):
        check(Random(seed * 1000 + number), kinds)
