"""How runs end: stopped, cancelled once or twice, out of time; and what their sections do then."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from pocketflow import AsyncNode

from pflow.core.event import Event, RunCancelled, RunEnding, RunFailed, RunStopped
from pflow.engine.executor import Executor
from pflow.engine.result import RunResult
from pflow.testing import MemoryJournal, RecordingObserver
from tests.engine.building import executor_over, plan_of


class World:
    """One run with steps that say what they do and wait until they are let go, or ended."""

    def __init__(self, document: dict[str, Any]) -> None:
        self.log: list[str] = []
        self.reached: dict[str, asyncio.Event] = {}
        self.release: dict[str, asyncio.Event] = {}
        self.journal = MemoryJournal()
        self.observer = RecordingObserver()
        world = self

        class Echo(AsyncNode):
            async def exec_async(self, _: object) -> None:
                world.log.append(str(self.params.get("say")))

        class Hold(AsyncNode):
            async def exec_async(self, _: object) -> None:
                say = str(self.params["say"])
                world.event(world.reached, say).set()
                try:
                    await world.event(world.release, say).wait()
                    world.log.append(say)
                except asyncio.CancelledError:
                    world.log.append(f"{say} was ended")
                    raise

        class Break(AsyncNode):
            async def exec_async(self, _: object) -> None:
                raise ValueError("broken")

        self.plan = plan_of(document, echo=Echo, hold=Hold, **{"break": Break})

    def event(self, events: dict[str, asyncio.Event], name: str) -> asyncio.Event:
        return events.setdefault(name, asyncio.Event())

    async def until(self, name: str) -> None:
        await self.event(self.reached, name).wait()

    def let_go(self, *names: str) -> None:
        for name in names:
            self.event(self.release, name).set()

    def executor(self) -> Executor:
        return executor_over(self.journal, observer=self.observer)

    @property
    def events(self) -> list[Event]:
        return [event for _, event in self.observer.events]

    @property
    def ends(self) -> list[str]:
        kinds = (RunEnding, RunCancelled, RunFailed, RunStopped)
        ends = [event for event in self.events if isinstance(event, kinds)]
        return [
            f"{one.scope}{one.section} {one.status}" if isinstance(one, RunEnding) else type(one).__name__
            for one in ends
        ]


def node(name: str, kind: str = "echo", **more: object) -> dict[str, object]:
    return {"id": name, "type": kind, "params": {"say": name}, **more}


BOTH = {
    "nodes": [node("a", "hold"), node("b"), node("tell", "hold"), node("tidy", "hold"), node("tidied")],
    "on_failure": "tell",
    "finally": "tidy",
}
FAILING = {**BOTH, "nodes": [node("a", "break"), *BOTH["nodes"][1:]]}


def go(world: World, act: Callable[[Executor], Any]) -> RunResult:
    async def main() -> RunResult:
        executor = world.executor()
        task = asyncio.create_task(executor.run(world.plan, {}, run_id="r"))
        async with asyncio.timeout(30):
            await act(executor)
            return await task

    return asyncio.run(main())


def test_cancel_ends_the_steps_and_runs_finally() -> None:
    world = World(BOTH)

    async def act(executor: Executor) -> None:
        await world.until("a")
        executor.cancel("r")
        world.let_go("tidy")

    assert go(world, act).status == "cancelled"
    assert world.log == ["a was ended", "tidy", "tidied"]
    assert world.ends == ["finally cancelled", "RunCancelled"]


def test_a_second_cancel_skips_finally() -> None:
    world = World(BOTH)

    async def act(executor: Executor) -> None:
        await world.until("a")
        executor.cancel("r")
        await world.until("tidy")
        executor.cancel("r")

    assert go(world, act).status == "cancelled"
    assert world.log == ["a was ended", "tidy was ended"]
    assert world.ends == ["finally cancelled", "RunCancelled"]


def test_two_requests_through_the_journal_are_two_cancels() -> None:
    world = World(BOTH)

    async def act(executor: Executor) -> None:
        await world.until("a")
        world.journal.request_cancel("r")
        await world.until("tidy")
        world.journal.request_cancel("r")

    assert go(world, act).status == "cancelled"
    assert world.log == ["a was ended", "tidy was ended"]


@pytest.mark.parametrize("again", [False, True])
@pytest.mark.parametrize("document", [BOTH, {"nodes": BOTH["nodes"][:2]}])
def test_a_request_that_nobody_saw_ends_the_run_when_it_is_taken_up(document: dict[str, Any], again: bool) -> None:
    world = World(document)

    async def hand_over(executor: Executor) -> None:
        await world.until("a")
        executor.stop("r", hand_over=True)

    async def take_up() -> RunResult:
        task = asyncio.create_task(world.executor().resume("r", world.plan, {}))
        async with asyncio.timeout(30):
            if document is BOTH:
                await world.until("tidy")
                if again:
                    world.journal.request_cancel("r")
                else:
                    world.let_go("tidy")
            return await task

    go(world, hand_over)
    world.journal.request_cancel("r")
    world.log.clear()
    world.observer.events.clear()
    assert asyncio.run(take_up()).status == "cancelled"
    has_finally = document is BOTH
    assert world.log == ([] if not has_finally else ["tidy was ended"] if again else ["tidy", "tidied"])
    assert world.ends == [*(["finally cancelled"] if has_finally else []), "RunCancelled"]


def test_cancel_while_finally_runs_lets_it_finish() -> None:
    world = World(BOTH)

    async def act(executor: Executor) -> None:
        world.let_go("a")
        await world.until("tidy")
        executor.cancel("r")
        world.let_go("tidy")

    assert go(world, act).status == "cancelled"
    assert world.log == ["a", "b", "tidy", "tidied"]
    assert world.ends == ["finally completed", "RunCancelled"]


def test_cancel_while_on_failure_runs_goes_on_with_finally() -> None:
    world = World(FAILING)

    async def act(executor: Executor) -> None:
        await world.until("tell")
        executor.cancel("r")
        world.let_go("tidy")

    assert go(world, act).status == "cancelled"
    assert world.log == ["tell was ended", "tidy", "tidied"]
    assert world.ends == ["on_failure failed", "finally cancelled", "RunCancelled"]


@pytest.mark.parametrize("graceful", [False, True])
@pytest.mark.parametrize("place", ["a", "tidy"])
def test_a_stop_runs_no_section_and_a_resume_goes_on_from_there(place: str, graceful: bool) -> None:
    world = World(BOTH)

    async def act(executor: Executor) -> None:
        if place == "tidy":
            world.let_go("a")
        await world.until(place)
        executor.stop(graceful=graceful)
        world.let_go(place)

    assert go(world, act).status == "stopped"
    ended = [f"{place} was ended"] if not graceful else [place]
    assert world.log == [*(["a", "b"] if place == "tidy" else []), *ended]
    assert world.ends == [*(["finally completed"] if place == "tidy" else []), "RunStopped"]
    world.log.clear()
    world.let_go("a", "tidy")

    async def again() -> RunResult:
        return await world.executor().resume("r", world.plan, {}, rerun_in_doubt=True)

    assert asyncio.run(again()).status == "completed"
    before = [] if graceful else [place]
    assert world.log == [*before, *(["b", "tidy"] if place == "a" else []), "tidied"]
    assert world.ends.count("finally completed") == 1


def test_a_graceful_stop_in_the_last_step_leaves_finally_to_the_resume() -> None:
    world = World({"nodes": [node("a", "hold"), node("z")], "finally": "z"})

    async def act(executor: Executor) -> None:
        await world.until("a")
        executor.stop(graceful=True)
        world.let_go("a")

    assert go(world, act).status == "stopped"
    assert world.log == ["a"]

    async def again() -> RunResult:
        return await world.executor().resume("r", world.plan, {})

    assert asyncio.run(again()).status == "completed"
    assert world.log == ["a", "z"]


NESTED = {
    "nodes": [
        {
            "id": "deploy",
            "type": "workflow",
            "params": {
                "workflow": {
                    "nodes": [node("push", "hold"), node("close", "hold"), node("closed")],
                    "finally": "close",
                }
            },
        },
        node("tidy"),
    ],
    "finally": "tidy",
}


def test_cancel_runs_the_finally_of_a_sub_workflow_first() -> None:
    world = World(NESTED)

    async def act(executor: Executor) -> None:
        await world.until("push")
        executor.cancel("r")
        world.let_go("close")

    assert go(world, act).status == "cancelled"
    assert world.log == ["push was ended", "close", "closed", "tidy"]
    assert world.ends == ["deploy/finally cancelled", "finally cancelled", "RunCancelled"]


def test_a_second_cancel_skips_the_finally_of_a_sub_workflow_too() -> None:
    world = World(NESTED)

    async def act(executor: Executor) -> None:
        await world.until("push")
        executor.cancel("r")
        await world.until("close")
        executor.cancel("r")

    assert go(world, act).status == "cancelled"
    assert world.log == ["push was ended", "close was ended"]
    assert world.ends == ["deploy/finally cancelled", "RunCancelled"]


def test_a_timeout_of_the_step_lets_the_finally_of_its_sub_workflow_run() -> None:
    deploy: dict[str, Any] = {**NESTED["nodes"][0], "timeout": 0.05}  # type: ignore[dict-item]
    world = World({"nodes": [deploy]})

    async def act(executor: Executor) -> None:
        await world.until("close")
        world.let_go("close")

    result = go(world, act)
    assert result.status == "failed" and result.error is not None and result.error["type"] == "timeout"
    assert world.log == ["push was ended", "close", "closed"]
    world.log.clear()
    world.let_go("push")

    async def again() -> RunResult:
        return await world.executor().resume("r", world.plan, {})

    assert asyncio.run(again()).status == "completed"
    assert world.log == ["push", "close", "closed"]


def test_the_time_of_a_document_ends_every_step_that_runs() -> None:
    fan = {"nodes": [node("s"), node("a", "hold"), node("b", "hold"), node("j"), node("tidy")], "timeout": 0.05}
    edges = [{"from": "s", "to": ["a", "b"]}, {"from": "a", "to": "j"}, {"from": "b", "to": "j"}]
    world = World({**fan, "edges": edges, "finally": "tidy"})

    async def act(executor: Executor) -> None:
        await world.until("a")

    result = go(world, act)
    assert result.status == "failed" and result.failed_node is None and result.error is not None
    assert result.error["details"] == {"running": ["a", "b"]}
    assert world.log == ["s", "a was ended", "b was ended", "tidy"]


def test_a_step_that_is_ended_while_others_wait_for_the_same_commit_ends_alone() -> None:
    """Several runs share their commits; one whose time is over must not take the steps of others with it."""
    retried = {"nodes": [node("a", "break", retry={"attempts": 100, "wait": 0.001})], "timeout": 0.05}
    world, other = World(retried), World({"nodes": [node(f"n{n}") for n in range(300)]})

    async def main() -> tuple[RunResult, RunResult]:
        executor = world.executor()
        async with asyncio.timeout(60):
            first = asyncio.create_task(executor.run(world.plan, {}, run_id="r"))
            second = asyncio.create_task(executor.run(other.plan, {}, run_id="s"))
            return await first, await second

    first, second = asyncio.run(main())
    assert first.status == "failed" and second.status == "completed"
