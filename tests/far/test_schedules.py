"""Schedules of a place: Temporal fires them, and each due time is one run of the journal, whoever records it."""

from __future__ import annotations

import asyncio
import signal
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from temporalio.client import Client, ScheduleBackfill

from tests.far.conftest import Far
from tests.robust.world import until

pytestmark = pytest.mark.needs("postgres", "temporal")


def save(far: Far, *nodes: dict[str, Any], name: str = "note", **fields: Any) -> None:
    """Save a workflow in the home of the person, which workers need not have."""
    said = far.pflow("workflow", "save", far.scene.write(*nodes, file=f"{name}.json", **fields), name)
    assert said.code == 0, said


def add(far: Far, *words: str, workflow: str = "note", when: str = "0 7 * * *") -> dict[str, Any]:
    options = ("--name", name_of(far), "--tz", "UTC", "--on", "dev", "--json")
    said = far.pflow("schedule", "add", workflow, when, *words, *options)
    assert said.code == 0, said
    return dict(said.json["data"])


def queue_of(far: Far) -> str:
    with far.workspace() as workspace:
        return str(workspace.setting("on.dev.queue").value)


def name_of(far: Far) -> str:
    """What the schedule of a test is called: the journal is that of all tests."""
    return f"at-{queue_of(far)}"


def fire(far: Far, moment: datetime, times: int = 1) -> bool:
    """Let a schedule be due at a moment, as Temporal does it after an outage; False, for `until`."""

    async def backfill() -> None:
        address, _, namespace = far.cluster.temporal.address.partition("/")
        client = await Client.connect(address, namespace=namespace)
        handle = client.get_schedule_handle(f"pflow-schedule/{queue_of(far)}/{name_of(far)}")
        span = ScheduleBackfill(
            start_at=moment - timedelta(seconds=30),
            end_at=moment + timedelta(seconds=30),
        )
        for _ in range(times):
            await handle.backfill(span)

    asyncio.run(backfill())
    return False


def ended(far: Far, count: int) -> list[str]:
    """Wait for so many runs to have ended; how."""
    over = ("completed", "failed", "stopped", "cancelled")
    until(lambda: sum(info.state in over for info in mine(far)) >= count, f"{count} runs")
    return [info.state for info in mine(far)]


def mine(far: Far) -> list[Any]:
    """The runs that the schedules of this test started."""
    with far.workspace() as workspace:
        infos = workspace.runs(1000)
        found = workspace.scheduled(info.run_id for info in infos)
    return [info for info in infos if found.get(info.run_id) == name_of(far)]


SEVEN = datetime(2026, 12, 24, 7, tzinfo=UTC)


def test_a_due_time_is_one_run_however_often_it_is_fired(far: Far) -> None:
    worker = far.worker()
    save(far, far.scene.mark("a"))
    add(far)
    fire(far, SEVEN, times=2)
    assert ended(far, 1) == ["completed"]
    fire(far, SEVEN)
    until(lambda: far.pflow("schedule", "list", "--on", "dev", "--json").json["data"]["schedules"][0]["last"], "it")
    shown = far.pflow("schedule", "list", "--on", "dev", "--json").json["data"]["schedules"][0]
    assert shown["last"]["state"] == "completed"
    assert shown["last"]["run_id"].startswith("20261224-070000-")
    assert far.scene.did() == ["a"]
    listed = far.pflow("runs", "list", "--on", "dev", "--json").json["data"]["runs"]
    assert {run["schedule"] for run in listed if run["run_id"] == shown["last"]["run_id"]} == {name_of(far)}
    assert shown["last"]["run_id"] in worker.said


def test_a_schedule_is_run_now_paused_resumed_and_removed(far: Far) -> None:
    far.worker()
    save(far, {"id": "say", "type": "echo", "params": {"text": "${word}"}}, inputs={"word": {"type": "string"}})
    added = add(far, "word=hello", "--jitter", "30s", when="0 7 * * 1-5")
    assert added["status"] == "active"
    assert added["catch_up"] == "none"
    name = name_of(far)
    again = far.pflow("schedule", "add", "note", "0 7 * * *", "word=x", "--name", name, "--on", "dev")
    assert (again.code, "there is already a schedule" in again.err) == (2, True), again
    ran = far.pflow("schedule", "run", name, "--on", "dev")
    assert (ran.code, ran.out.strip()) == (0, "hello"), ran
    assert far.pflow("schedule", "pause", name, "--on", "dev").code == 0
    [shown] = far.pflow("schedule", "list", "--on", "dev", "--json").json["data"]["schedules"]
    assert (shown["status"], shown["next"]) == ("paused", None)
    assert far.pflow("schedule", "resume", name, "--on", "dev").code == 0
    soon = far.pflow("schedule", "next", name, "3", "--on", "dev", "--json").json["data"]["next"]
    assert len(soon) == 3
    assert far.pflow("schedule", "list", "--json").json["data"]["schedules"] == []  # the home has none
    assert far.pflow("schedule", "remove", name, "--on", "dev").code == 0
    gone = far.pflow("schedule", "remove", name, "--on", "dev")
    assert (gone.code, "there is no schedule" in gone.err) == (2, True), gone


def test_what_temporal_does_otherwise_is_refused(far: Far) -> None:
    far.worker()
    save(far, far.scene.mark("a"))
    for when, words, problem in (
        ("0 7 * * *", ("--catch-up", "one"), "one run for all times that were missed cannot be had"),
        ("0 7 * * *", ("--catch-up", "all"), "would not run every time that was missed"),
        ("30 2 * * *", ("--tz", "Europe/Berlin"), "when clocks are changed"),
        ("0 7 L * *", (), "cannot be had at a place"),
        ("0 7 * * 1#2", (), "cannot be had at a place"),
    ):
        said = far.pflow("schedule", "add", "note", when, *words, "--on", "dev")
        assert (said.code, problem in said.err) == (2, True), said
    assert far.pflow("schedule", "list", "--on", "dev", "--json").json["data"]["schedules"] == []


@pytest.mark.parametrize("words", [("schedule", "tick"), ("schedule", "install", "--yes"), ("daemon",)])
def test_what_is_for_one_machine_says_so(far: Far, words: tuple[str, ...]) -> None:
    said = far.pflow(*words, "--on", "dev")
    assert said.code == 2
    assert "is for one machine" in said.err


def test_a_schedule_that_no_worker_could_run_is_refused(far: Far) -> None:
    save(far, far.scene.mark("a"))
    said = far.pflow("schedule", "add", "note", "0 7 * * *", "--on", "dev")
    assert (said.code, "no worker of place `dev`" in said.err) == (1, True), said


def test_a_due_time_is_skipped_while_a_run_goes_on(far: Far) -> None:
    far.worker()
    save(far, far.scene.hold("a"))
    add(far)
    fire(far, SEVEN)
    far.scene.until_began("a")
    fire(far, SEVEN + timedelta(days=1))
    far.scene.release("a")
    assert ended(far, 1) == ["completed"]
    until(lambda: fire(far, SEVEN + timedelta(days=2)) or len(mine(far)) == 2, "a due time after the end of the run")
    assert ended(far, 2) == ["completed", "completed"]
    due = sorted(info.run_id[:8] for info in mine(far))
    assert due == ["20261224", "20261226"]


def test_a_due_time_cancels_the_run_that_goes_on(far: Far) -> None:
    far.worker()
    save(far, far.scene.hold("a"), far.scene.mark("last"), **{"finally": "last"})
    add(far, "--overlap", "cancel")
    fire(far, SEVEN)
    far.scene.until_began("a")
    fire(far, SEVEN + timedelta(days=1))
    far.scene.until_began("a", 2)
    far.scene.release("a")
    assert sorted(ended(far, 2)) == ["cancelled", "completed"]
    assert far.scene.did().count("a") == 1
    assert far.scene.did().count("last") == 2


def test_a_due_time_waits_for_the_run_that_goes_on(far: Far) -> None:
    far.worker()
    save(far, far.scene.hold("a"))
    add(far, "--overlap", "queue", "--catch-up", "all")
    fire(far, SEVEN)
    far.scene.until_began("a")
    fire(far, SEVEN + timedelta(days=1))
    assert len(mine(far)) == 1
    far.scene.release("a")
    assert ended(far, 2) == ["completed", "completed"]


def test_a_due_time_cancels_a_run_that_waits_and_a_worker_does_what_comes_last(far: Far) -> None:
    far.worker()
    asks = {"id": "ok", "type": "ask", "params": {"prompt": "Go on?", "choices": ["yes"]}}
    save(far, far.scene.mark("first"), asks, far.scene.mark("last"), **{"finally": "last"})
    add(far, "--overlap", "cancel")
    fire(far, SEVEN)
    until(lambda: far.scene.did() == ["first"] and [info.state for info in mine(far)] == ["waiting"], "the question")
    fire(far, SEVEN + timedelta(days=1))
    until(lambda: sorted(far.scene.did()) == ["first", "first", "last"], "the next question")
    until(lambda: sorted(info.state for info in mine(far)) == ["cancelled", "waiting"], "the end of the first run")


def test_a_failure_is_told_to_the_workflow_for_failures(far: Far) -> None:
    far.worker()
    save(far, {"id": "stop", "type": "fail", "params": {"message": "no more paper"}})
    save(
        far,
        {"id": "say", "type": "echo", "params": {"text": "${workflow}: ${error}"}},
        name="alarm",
        inputs={"error": {"type": "string"}, "workflow": {"type": "string"}},
    )
    add(far, "--on-failure", "alarm")
    fire(far, SEVEN)
    assert sorted(ended(far, 2)) == ["completed", "failed"]
    alarm = next(info.run_id for info in mine(far) if info.workflow == "alarm")
    told = far.pflow("runs", "show", alarm, "--on", "dev", "--json").json["data"]
    assert told["outputs"] == {"text": "note: no more paper"}
    assert told["schedule"] == name_of(far)


def test_a_run_that_takes_longer_than_its_timeout_is_stopped_and_a_person_may_go_on(far: Far) -> None:
    far.worker()
    save(far, far.scene.mark("a"), far.scene.hold("b", repeatable=True))
    add(far, "--timeout", "1s")
    fire(far, SEVEN)
    assert ended(far, 1) == ["stopped"]
    [run] = mine(far)
    far.scene.release("b")
    assert far.pflow("runs", "resume", run.run_id, "--on", "dev").code == 0
    assert far.scene.did() == ["a", "b"]


@pytest.mark.slow
@pytest.mark.parametrize("lease", [3])  # it waits until that is over
def test_a_run_of_a_schedule_survives_its_worker(far: Far) -> None:
    first = far.worker()
    save(far, far.scene.mark("a"), far.scene.hold("b", repeatable=True), far.scene.mark("c"))
    add(far)
    fire(far, SEVEN)
    far.scene.until_began("b")
    first.end(signal.SIGKILL)
    far.worker()
    far.scene.release("b")
    assert ended(far, 1) == ["completed"]
    assert far.scene.did().count("a") == far.scene.did().count("c") == 1
    assert len(mine(far)) == 1


@pytest.mark.parametrize(
    "when",
    [
        "0 7 * * 1-5",
        "every 90m",
        *(
            pytest.param(cron, marks=pytest.mark.slow)
            for cron in ("*/20 8-10 * * *", "15 0 1,15 * 1", "0 12 * JUL-SEP SUN", "30 6 * * 7", "@monthly")
        ),
    ],
)
def test_temporal_is_due_when_we_say(far: Far, when: str) -> None:
    far.worker()
    save(far, {"id": "say", "type": "echo", "params": {"x": 1}})
    add(far, when=when)

    async def times() -> list[float]:
        address, _, namespace = far.cluster.temporal.address.partition("/")
        client = await Client.connect(address, namespace=namespace)
        found = await client.get_schedule_handle(f"pflow-schedule/{queue_of(far)}/{name_of(far)}").describe()
        return [moment.timestamp() for moment in found.info.next_action_times]

    theirs = asyncio.run(times())
    with far.workspace() as workspace:
        assert list(workspace.place_schedules.next(name_of(far), len(theirs))) == theirs
