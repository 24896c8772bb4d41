"""What a client is told while a run goes on, and how often."""

from __future__ import annotations

import asyncio

from pflow.core.event import ItemCompleted, StepCompleted, StepFailed, StepNotYet, StepStarted
from pflow.mcp_server.progress import HEARTBEAT_SECONDS, ProgressFeed

Told = list[tuple[float, float | None, str]]


def feed_of(told: Told, *, heartbeat: float = HEARTBEAT_SECONDS, enough: int = 1) -> tuple[ProgressFeed, asyncio.Event]:
    seen = asyncio.Event()

    async def send(done: float, total: float | None, message: str) -> None:
        told.append((done, total, message))
        if len(told) >= enough:
            seen.set()

    return ProgressFeed(send, heartbeat=heartbeat), seen


def start(step: str, items: int = 0) -> StepStarted:
    return StepStarted(step=step, node=step, definition="", inputs="", at=0.0, items=items)


def done(step: str) -> StepCompleted:
    return StepCompleted(step=step, action="default", writes={}, ms=1500.0)


def test_a_silent_run_is_said_to_go_on_with_what_it_is_doing() -> None:
    told: Told = []

    async def work() -> None:
        feed, seen = feed_of(told, heartbeat=0.01, enough=2)
        feed.total = 2
        feed.notify("run", start("build", items=20))
        for number in range(7):
            feed.notify("run", ItemCompleted(step="build", item=number, writes={}))
        telling = asyncio.create_task(feed.tell())
        await asyncio.wait_for(seen.wait(), 20)
        telling.cancel()

    asyncio.run(work())
    assert HEARTBEAT_SECONDS < 10
    assert told[0][0] < told[1][0] < 1
    assert told[0][1] == 2
    assert told[0][2].startswith("running `build` for ")
    assert told[0][2].endswith(", 7 of 20 items")


def test_each_figure_is_higher_than_the_one_before() -> None:
    told: Told = []

    async def work() -> None:
        feed, _ = feed_of(told)
        feed.total = 2
        for step in ("one", "two", "three"):
            feed.notify("run", start(step))
            feed.report("run", step, "working")
            feed.notify("run", done(step))
            await feed.flush()

    asyncio.run(work())
    figures = [amount for amount, _, _ in told]
    assert figures == sorted(set(figures))
    assert [message for _, _, message in told[:2]] == ["`one`: working", "`one` done in 1.5 s"]
    assert [total for _, total, _ in told] == [2, 2, 2, 2, None, None]


def test_a_flood_of_reports_is_cut_to_the_latest() -> None:
    told: Told = []

    async def work() -> None:
        feed, _ = feed_of(told)
        feed.notify("run", start("loud"))
        for number in range(10_000):
            feed.report("run", "loud", f"line {number}")
        await feed.flush()

    asyncio.run(work())
    assert len(told) == 10
    assert told[-1][2] == "`loud`: line 9999"


def test_hostile_text_is_shown_on_one_short_line() -> None:
    told: Told = []

    async def work() -> None:
        feed, _ = feed_of(told)
        feed.report("run", "bad", "\x1b[2J\n" + "x" * 5000)
        feed.notify("run", StepFailed(step="bad", error={"message": "no luck"}, ms=1.0, retry_in=2.0))
        await feed.flush()

    asyncio.run(work())
    assert told[0][2].startswith("`bad`: \\x1b[2J\\nxx")
    assert len(told[0][2]) < 200
    assert told[1][2] == "`bad` failed, next attempt in 2.0 s: no luck"


def test_a_step_that_is_not_there_yet_is_not_said_to_fail() -> None:
    told: Told = []

    async def work() -> None:
        feed, _ = feed_of(told)
        feed.notify("run", start("poll"))
        feed.notify("run", StepNotYet(step="poll", reason="`poll.n` was 1", ms=1.0, attempt=1, retry_in=5.0))
        await feed.flush()

    asyncio.run(work())
    assert [message for _, _, message in told] == ["`poll` not yet, again in 5.0 s: `poll.n` was 1"]
