"""What schedules make of their due times: late ones, overlapping ones, lost ones, and clocks that are set."""

from __future__ import annotations

import random
from datetime import UTC, datetime
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pflow.core.errors import CorruptError, UsageError
from pflow.core.schedule.policy import ON_TIME_SECONDS, Decision, Known, Outcome, decide, next_start
from pflow.core.schedule.schedule import CatchUp, Overlap, Schedule, decode_schedule, read_catch_up, read_overlap

DAY = 86_400.0
HOUR = 3600.0
MONDAY = datetime(2026, 11, 16, tzinfo=UTC).timestamp()
SEVEN = [MONDAY + day * DAY + 7 * HOUR for day in range(10)]
"""Seven o'clock on ten days."""


def daily(**fields: Any) -> Schedule:
    """Due at seven every day, made at the beginning of Monday."""
    given: dict[str, Any] = {
        "name": "s",
        "workflow": "w",
        "when": "0 7 * * *",
        "zone": "UTC",
        "added_at": MONDAY,
        "since": MONDAY,
    }
    return Schedule(**{**given, **fields})


def ran(*dues: float) -> dict[float, Known]:
    return {due: Known("completed") for due in dues}


def test_what_is_due_starts_once() -> None:
    schedule = daily()
    assert decide(schedule, {}, SEVEN[0] - 1, active=False) == Decision()
    assert decide(schedule, {}, SEVEN[0], active=False) == Decision(start=(SEVEN[0],))
    assert decide(schedule, ran(SEVEN[0]), SEVEN[0] + 59, active=False) == Decision()


def test_nothing_is_due_before_the_schedule_was_made_or_while_it_is_paused() -> None:
    assert decide(daily(since=SEVEN[0]), {}, SEVEN[0] + 5, active=False) == Decision()
    assert decide(daily(paused_at=MONDAY), {}, SEVEN[0] + 5, active=False) == Decision()


@pytest.mark.parametrize(
    ("catch_up", "window", "expected"),
    [
        ("none", 96 * HOUR, Decision(miss=tuple(SEVEN[1:4]))),
        ("one", 96 * HOUR, Decision(start=(SEVEN[3],), miss=tuple(SEVEN[1:3]))),
        ("all", 96 * HOUR, Decision(start=(SEVEN[1],), queue=tuple(SEVEN[2:4]))),
        ("all", 20 * HOUR, Decision(start=(SEVEN[3],))),
        ("one", HOUR, Decision()),
    ],
)
def test_after_three_days_off_the_policy_says_what_is_made_up_for(
    catch_up: CatchUp, window: float, expected: Decision
) -> None:
    schedule = daily(catch_up=catch_up, window=window)
    back = SEVEN[3] + 5 * HOUR
    assert decide(schedule, ran(SEVEN[0]), back, active=False) == expected


def test_one_run_makes_up_for_a_whole_day_and_little_of_it_is_recorded() -> None:
    schedule = daily(when="*/5 * * * *")
    found = decide(schedule, ran(MONDAY + 60), MONDAY + 5 * DAY, active=False)
    assert found.start == (MONDAY + 5 * DAY,)
    assert len(found.miss) == 100
    after = {**ran(*found.start), **{due: Known("missed") for due in found.miss}}
    assert decide(schedule, after, MONDAY + 5 * DAY + 30, active=False) == Decision()


def test_making_up_for_all_goes_on_where_it_was() -> None:
    schedule = daily(when="* * * * *", catch_up="all", overlap="allow", window=2 * DAY)
    now, known = MONDAY + 2 * DAY, ran(MONDAY + 60)
    started: list[float] = []
    for _ in range(3):
        found = decide(schedule, known, now, active=False).start
        known.update(ran(*found))
        started += found
    assert started == [MONDAY + 60 * minute for minute in range(2, 2881)]


@pytest.mark.parametrize("late", [0.0, 90.0, ON_TIME_SECONDS])
def test_a_busy_machine_is_on_time(late: float) -> None:
    assert decide(daily(catch_up="none"), {}, SEVEN[0] + late, active=False).start == (SEVEN[0],)


def test_a_long_window_is_looked_through_to_its_end() -> None:
    schedule = daily(when="0 0 1 1 *", window=300 * DAY)
    year = datetime(2027, 1, 1, tzinfo=UTC).timestamp()
    assert decide(schedule, {}, year + 200 * DAY, active=False).start == (year,)


# Overlap


@pytest.mark.parametrize(
    ("overlap", "expected"),
    [
        ("skip", Decision(skip=(SEVEN[1],))),
        ("queue", Decision(queue=(SEVEN[1],))),
        ("cancel", Decision(queue=(SEVEN[1],), cancel=True)),
        ("allow", Decision(start=(SEVEN[1],))),
    ],
)
def test_the_policy_says_what_happens_while_a_run_goes_on(overlap: Overlap, expected: Decision) -> None:
    known = {SEVEN[0]: Known("claimed")}
    assert decide(daily(overlap=overlap), known, SEVEN[1], active=True) == expected


def test_what_is_queued_starts_in_order_and_one_at_a_time() -> None:
    schedule = daily(overlap="queue", window=9 * DAY)
    known = {SEVEN[0]: Known("completed"), SEVEN[1]: Known("queued"), SEVEN[2]: Known("queued")}
    assert decide(schedule, known, SEVEN[2] + 1, active=True) == Decision()
    assert decide(schedule, known, SEVEN[2] + 1, active=False) == Decision(start=(SEVEN[1],))
    assert decide(schedule, known, SEVEN[3], active=False) == Decision(start=(SEVEN[1],), queue=(SEVEN[3],))


def test_what_is_queued_for_longer_than_the_window_is_given_up() -> None:
    known = {SEVEN[0]: Known("completed"), SEVEN[1]: Known("queued")}
    found = decide(daily(overlap="queue"), known, SEVEN[1] + DAY + 1, active=False)
    assert found == Decision(start=(SEVEN[2],), miss=(SEVEN[1],))


def test_what_is_made_up_for_is_not_skipped_because_of_what_is_made_up_for() -> None:
    schedule = daily(catch_up="all", window=9 * DAY, overlap="skip")
    found = decide(schedule, {}, SEVEN[2] + HOUR, active=False)
    assert found == Decision(start=(SEVEN[0],), queue=(SEVEN[1], SEVEN[2]))


# Claims that were lost


@pytest.mark.parametrize(
    ("catch_up", "late", "again"),
    [("none", 60, True), ("none", HOUR, False), ("one", HOUR, True), ("all", HOUR, True)],
)
def test_a_lost_claim_runs_again_by_policy(catch_up: CatchUp, late: float, again: bool) -> None:
    found = decide(daily(catch_up=catch_up), {SEVEN[0]: Known("lost")}, SEVEN[0] + late, active=False)
    assert found == (Decision(start=(SEVEN[0],)) if again else Decision(miss=(SEVEN[0],)))


def test_what_keeps_getting_lost_is_given_up() -> None:
    assert decide(daily(), {SEVEN[0]: Known("lost", 2)}, SEVEN[0] + 60, active=False).start == (SEVEN[0],)
    assert decide(daily(), {SEVEN[0]: Known("lost", 3)}, SEVEN[0] + 60, active=False) == Decision()


def test_a_lost_claim_gives_way_to_a_later_due_time() -> None:
    found = decide(daily(), {SEVEN[0]: Known("lost")}, SEVEN[1], active=False)
    assert found == Decision(start=(SEVEN[1],), miss=(SEVEN[0],))


# Clocks that are set


def test_a_clock_that_is_set_back_runs_nothing_twice() -> None:
    known = ran(*SEVEN[:3])
    for now in (SEVEN[0] + 1, SEVEN[1], SEVEN[2] + HOUR):
        assert decide(daily(), known, now, active=False) == Decision()
    assert next_start(daily(), known, SEVEN[0] + 1) == SEVEN[3]
    assert decide(daily(), known, SEVEN[3], active=False).start == (SEVEN[3],)


def test_a_clock_that_was_a_year_ahead_holds_nothing_up() -> None:
    known = {**ran(SEVEN[0]), SEVEN[0] + 365 * DAY: Known("completed")}
    assert next_start(daily(), known, SEVEN[0] + HOUR) == SEVEN[1]
    assert decide(daily(), known, SEVEN[1], active=False) == Decision(start=(SEVEN[1],))


def test_what_was_missed_while_the_clock_was_ahead_runs_when_its_time_comes() -> None:
    ahead = decide(daily(catch_up="none"), ran(SEVEN[0]), SEVEN[1] + 3 * HOUR, active=False)
    assert ahead == Decision(miss=(SEVEN[1],))
    known = {**ran(SEVEN[0]), SEVEN[1]: Known("missed")}
    assert next_start(daily(catch_up="none"), known, SEVEN[1] - HOUR) == SEVEN[1]
    assert decide(daily(catch_up="none"), known, SEVEN[1] + 1, active=False) == Decision(start=(SEVEN[1],))


# Jitter


def test_jitter_puts_off_each_due_time_by_its_own_and_always_the_same() -> None:
    schedule = daily(jitter=HOUR)
    starts = [schedule.start_of(due) - due for due in SEVEN]
    assert starts == [schedule.start_of(due) - due for due in SEVEN]
    assert len(set(starts)) == len(SEVEN)
    assert all(0 <= late <= HOUR for late in starts)
    assert daily(jitter=HOUR, name="t").start_of(SEVEN[0]) != schedule.start_of(SEVEN[0])
    begins = schedule.start_of(SEVEN[0])
    assert next_start(schedule, {}, SEVEN[0] + 1e-3) == begins
    assert decide(schedule, {}, begins - 0.001, active=False) == Decision()
    assert decide(schedule, {}, begins, active=False).start == (SEVEN[0],)


@pytest.mark.parametrize("jitter", [0.0, 45.0, 7200.0])
@pytest.mark.parametrize("catch_up", get_args(CatchUp))
@pytest.mark.parametrize("looks", [500, pytest.param(3000, marks=pytest.mark.slow)])
def test_while_something_fires_every_due_time_starts_exactly_once(catch_up: CatchUp, jitter: float, looks: int) -> None:
    schedule = daily(when="*/20 * * * *", zone="Europe/Berlin", catch_up=catch_up, jitter=jitter, overlap="allow")
    chance = random.Random(f"{catch_up}{jitter}")
    known: dict[float, Known] = {}
    now = MONDAY
    for _ in range(looks):
        now += chance.uniform(20, 100)
        found = decide(schedule, known, now, active=False)
        for due in found.start:
            assert known.get(due) is None, "it started already"
            assert -0.001 <= now - schedule.start_of(due) <= 100
        known.update(ran(*found.start))
        assert not found.miss
    all_due = [MONDAY + 1200 * step for step in range(1, int((now - MONDAY) / 1200) + 1)]
    assert sorted(known) == [due for due in all_due if schedule.start_of(due) <= now]


# As values


@given(
    st.lists(st.tuples(st.integers(-3, 40), st.sampled_from(get_args(Outcome)), st.integers(1, 3)), max_size=12),
    st.floats(0, 40),
    st.sampled_from(get_args(CatchUp)),
    st.sampled_from(get_args(Overlap)),
    st.sampled_from([0.0, 600.0, 5400.0]),
    st.booleans(),
)
def test_whatever_is_recorded_no_due_time_is_in_two_places_or_runs_twice(
    rows: list[tuple[int, Outcome, int]], hours: float, catch_up: CatchUp, overlap: Overlap, jitter: float, active: bool
) -> None:
    schedule = daily(when="0 * * * *", catch_up=catch_up, overlap=overlap, jitter=jitter)
    known = {MONDAY + hour * HOUR: Known(outcome, tries) for hour, outcome, tries in rows}
    now = MONDAY + hours * HOUR
    found = decide(schedule, known, now, active=active)
    touched = [*found.start, *found.queue, *found.skip, *found.miss]
    assert len(touched) == len(set(touched))
    for due in touched:
        assert known.get(due, Known("lost")).outcome in ("lost", "missed", "queued")
        assert due <= now or due in known
    if overlap != "allow":
        assert len(found.start) <= (0 if active else 1)
    after = {**known, **ran(*found.start)}
    after |= {due: Known("queued") for due in found.queue}
    after |= {due: Known("skipped") for due in found.skip}
    after |= {due: Known("missed") for due in found.miss}
    if catch_up != "all":
        again = decide(schedule, after, now, active=bool(found.start) or active)
        assert not set(again.start) & set(found.start)
        assert not again.skip


def test_a_schedule_is_stored_and_read_again() -> None:
    schedule = daily(inputs={"a": [1, "é"]}, timeout=7200.0, overlap="queue", paused_at=5.0, reason="r", cwd="/x")
    assert decode_schedule(schedule.encode()) == schedule
    assert decode_schedule(schedule.encode()[:-1] + b',"later":1}') == schedule
    for broken in (b"", b"[]", b"{}", b"\xff"):
        with pytest.raises(CorruptError):
            decode_schedule(broken)


def test_policies_have_names() -> None:
    assert (read_overlap("queue"), read_catch_up("all")) == ("queue", "all")
    with pytest.raises(UsageError) as caught:
        read_overlap("cancle")
    assert caught.value.suggestions == ("did you mean `cancel`?",)
    with pytest.raises(UsageError) as caught:
        read_catch_up("some")
    assert caught.value.message == "`some` is not a policy for times that were missed; there are: none, one, all"
