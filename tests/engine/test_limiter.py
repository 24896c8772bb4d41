"""How fast steps may start: with a clock that tests move."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pflow.core.rate import Rate, read_rate
from pflow.engine.attempt.limiter import Limiter
from pflow.engine.attempt.pause import Pauses
from pflow.engine.attempt.turn import Limits, take_turn
from pflow.engine.failure import Halted


class Clock:
    """Time that passes only when a test says so."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def rate(text: str) -> Rate:
    found = read_rate(text)
    assert isinstance(found, Rate)
    return found


def nobody() -> None:
    """Nobody is woken."""


@pytest.mark.parametrize(
    ("text", "interval"), [("10/s", 0.1), ("100/m", 0.6), ("5/h", 720.0), (" 1 / s ", 1.0), ("1000/s", 0.001)]
)
def test_a_rate_is_a_number_per_second_minute_or_hour(text: str, interval: float) -> None:
    assert rate(text).interval == pytest.approx(interval)


@pytest.mark.parametrize(
    "text", ["", "10", "10/x", "0/s", "-1/s", "1e9/s", "1.5/s", "1/10s", "1001/s", "10/s/s", "٣/s"]
)
def test_anything_else_is_not_a_rate(text: str) -> None:
    assert isinstance(read_rate(text), str)


@given(
    st.sampled_from(["1/s", "3/s", "10/s", "100/m", "5/h"]),
    st.lists(st.floats(0, 30), min_size=1, max_size=30),
)
def test_starts_are_never_closer_than_the_rate_allows_and_come_in_the_order_of_asking(
    text: str, gaps: list[float]
) -> None:
    clock = Clock()
    limiter = Limiter(rate(text), clock)
    waiting: list[int] = []
    starts: list[tuple[float, int]] = []
    for gap in gaps:
        clock.now += gap
        waiting.append(limiter.join(nobody))
        while waiting and limiter.ask(waiting[0]) == 0:
            starts.append((clock.now, waiting.pop(0)))
    while waiting:
        wait = limiter.ask(waiting[0])
        assert wait is not None
        if wait == 0:
            starts.append((clock.now, waiting.pop(0)))
        else:
            clock.now += wait
    assert [ticket for _, ticket in starts] == sorted(ticket for _, ticket in starts)
    interval = rate(text).interval
    for (before, _), (after, _) in zip(starts, starts[1:], strict=False):
        assert after - before >= interval - 0.1 - 1e-6  # a timer may be late by so much
    most = 1 + (starts[-1][0] - starts[0][0] + 0.1) / interval
    assert len(starts) <= most + 1e-6


def test_time_in_which_nothing_started_is_not_saved_up() -> None:
    clock = Clock()
    limiter = Limiter(rate("1/s"), clock)
    clock.now += 3600
    first, second = limiter.join(nobody), limiter.join(nobody)
    assert limiter.ask(second) is None
    assert limiter.ask(first) == 0
    assert limiter.ask(second) == pytest.approx(1.0)


def test_who_leaves_makes_room_for_the_next_and_takes_no_start_along() -> None:
    clock = Clock()
    limiter = Limiter(rate("5/h"), clock)
    woken: list[str] = []
    assert limiter.ask(limiter.join(nobody)) == 0
    gone = limiter.join(lambda: woken.append("gone"))
    here = limiter.join(lambda: woken.append("here"))
    limiter.leave(gone)
    limiter.leave(gone)
    assert woken[-1] == "here"
    clock.now += 720
    assert limiter.ask(here) == 0
    assert not limiter.is_idle
    clock.now += 720
    assert limiter.is_idle


def test_one_that_cannot_be_woken_does_not_hold_up_the_others() -> None:
    clock = Clock()
    limiter = Limiter(rate("1/s"), clock)
    woken: list[str] = []

    def closed() -> None:
        raise RuntimeError("Event loop is closed")

    first = limiter.join(nobody)
    limiter.join(closed)
    limiter.join(lambda: woken.append("third"))
    assert limiter.ask(first) == 0
    assert woken == ["third"]


def test_the_same_work_shares_a_limit_and_another_rate_begins_anew() -> None:
    limits = Limits(Clock())
    one = limits.find(rate("1/s"), "node", "a", "x")
    assert limits.find(rate("1/s"), "node", "a", "x") is one
    assert limits.find(rate("2/s"), "node", "a", "x") is not one
    assert limits.find(rate("1/s"), "node", "b", "x") is not one


def test_limits_that_nobody_waits_for_are_forgotten_when_there_are_many() -> None:
    clock = Clock()
    limits = Limits(clock)
    busy = limits.find(rate("1/h"), "busy")
    busy.ask(busy.join(nobody))
    for number in range(3000):
        limits.find(rate("1/s"), str(number))
    assert limits.find(rate("1/h"), "busy") is busy


async def _settle() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


def test_waiting_tasks_start_in_their_order_and_a_cancelled_one_does_not_delay_the_rest() -> None:
    async def go() -> None:
        clock = Clock()
        limiter = Limiter(rate("1000/s"), clock)
        started: list[int] = []

        async def start(number: int) -> None:
            await take_turn(limiter, lambda _: None)
            started.append(number)
            clock.now += 1

        clock.now -= 50  # nothing may start yet
        tasks = [asyncio.create_task(start(number)) for number in range(4)]
        await _settle()
        assert started == []
        tasks[0].cancel()
        tasks[2].cancel()
        clock.now += 50
        await asyncio.gather(*tasks, return_exceptions=True)
        assert started == [1, 3]
        assert limiter.is_idle

    asyncio.run(go())


def test_a_wait_that_has_lost_its_purpose_ends_at_once() -> None:
    async def go() -> None:
        batch = Pauses(Pauses())
        forever = asyncio.Event()

        async def wait() -> None:
            await forever.wait()

        task = asyncio.create_task(batch.wait(wait()))
        await _settle()
        batch.end()
        with pytest.raises(Halted):
            await task
        with pytest.raises(Halted):
            await batch.wait(wait())

    asyncio.run(go())


def test_a_run_that_stops_ends_the_waits_of_its_batches() -> None:
    async def go() -> None:
        run = Pauses()
        batch = Pauses(run)
        forever = asyncio.Event()

        async def wait() -> None:
            await forever.wait()

        task = asyncio.create_task(batch.wait(wait()))
        await _settle()
        run.end()
        with pytest.raises(Halted):
            await task

    asyncio.run(go())


def test_a_cancelled_wait_is_cancelled_and_not_halted() -> None:
    async def go() -> None:
        pauses = Pauses()
        forever = asyncio.Event()

        async def wait() -> None:
            await forever.wait()

        task = asyncio.create_task(pauses.wait(wait()))
        await _settle()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(go())
