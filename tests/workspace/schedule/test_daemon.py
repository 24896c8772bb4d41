"""The daemon and schedules: it starts what is due, one after the other, and its runs end with it."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from pflow.core.file.home import Home
from pflow.workspace import Workspace
from pflow.workspace.schedule.chore import ScheduleChore
from tests.robust.world import Forked, until
from tests.workspace.schedule.test_processes import (
    HOUR,
    NOON,
    Gate,
    gate,
    lines,
    outcomes,
    place,
    schedule,
    set_clock,
    shell,
)

__all__ = ["gate", "place"]


@pytest.fixture
def daemon(place: Home) -> Iterator[Forked]:
    started = Forked(["daemon"])
    yield started
    if not started.ended():
        started.kill(signal.SIGTERM)
        started.wait()


def until_outcomes(place: Home, *wanted: str) -> None:
    until(lambda: [outcome for _, outcome, _ in outcomes(place)] == list(wanted), f"due times are {wanted}")


def end(daemon: Forked) -> list[str]:
    """End the daemon; what it said."""
    daemon.kill(signal.SIGTERM)
    done = daemon.wait()
    assert done.code == 128 + signal.SIGTERM, done
    return done.err.splitlines()


def has_heard(pid: int) -> bool:
    """Whether a process has dealt with the signals that it was sent: none is left, and it sleeps again."""
    facts = dict(line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines())
    left = int(facts["SigPnd"], 16) | int(facts["ShdPnd"], 16)
    return left == 0 and facts["State"].split()[0] == "S"


def test_it_starts_what_is_due_when_its_time_comes(place: Home, tmp_path: Path, daemon: Forked) -> None:
    schedule(place, "echo ran $PWD >> did")
    set_clock(NOON + HOUR)
    until_outcomes(place, "completed")
    set_clock(NOON + 2 * HOUR)
    until_outcomes(place, "completed", "completed")
    assert lines(tmp_path / "did") == [f"ran {tmp_path}"] * 2
    with Workspace(place) as workspace:
        assert workspace.schedules.last_tick() == NOON + 2 * HOUR
        runs = [info.run_id for info in reversed(workspace.runs())]
    said = end(daemon)
    assert [line for line in said if "begins" in line] == [f"schedule job: run {run} begins" for run in runs]
    assert [line for line in said if "completed" in line] == [f"schedule job: run {run} completed" for run in runs]


def test_what_is_queued_follows_at_once(place: Home, gate: Gate, daemon: Forked) -> None:
    schedule(place, gate.command, overlap="queue")
    set_clock(NOON + HOUR)
    gate.wait()
    set_clock(NOON + 2 * HOUR)
    until_outcomes(place, "claimed", "queued")
    gate.open()
    gate.wait()
    gate.open()
    until_outcomes(place, "completed", "completed")


def test_its_scheduled_runs_stop_with_it_after_their_steps_and_go_on_when_it_is_back(
    place: Home, tmp_path: Path, gate: Gate, daemon: Forked
) -> None:
    after = {"id": "after", "type": "shell", "params": {"command": "echo after >> did"}}
    with Workspace(place) as workspace:
        workspace.save({"nodes": [*shell(f"echo $PPID > pid; {gate.command}")["nodes"], after]}, "job")
        workspace.schedules.add("job", "0 * * * *", zone="UTC")
        set_clock(NOON + HOUR)
        gate.wait()
        daemon.kill(signal.SIGTERM)
        until(lambda: daemon.said("stopping:"), "it has told its run to stop")
        until(lambda: has_heard(int((tmp_path / "pid").read_text())), "the run's process knows")
        gate.open()
        [*_, last] = daemon.wait().err.splitlines()
        assert last.endswith("waiting: it was stopped by a signal; the next tick or the daemon goes on with it")
        until_outcomes(place, "waiting")
        assert [info.state for info in workspace.runs()] == ["waiting"]
        assert lines(tmp_path / "did") == ["done"]
        again = Forked(["daemon"])
        until_outcomes(place, "completed")
        end(again)
        assert [info.state for info in workspace.runs()] == ["completed"]
    assert lines(tmp_path / "did") == ["done", "after"]


def test_a_schedule_that_is_added_is_seen_at_once(place: Home) -> None:
    async def look() -> None:
        with Workspace(place) as workspace:
            chore = ScheduleChore(lambda: workspace.schedules, say=print, ended=lambda: None)
            chore.tick()
            assert chore.next_due() == NOON + 60
            schedule(place, "echo ran", "40 12 * * *")
            assert chore.next_due() == 0
            chore.tick()
            assert chore.next_due() == NOON + 60
            workspace.schedules.pause("job")
            assert chore.next_due() == 0

    asyncio.run(look())


def test_a_scheduled_run_that_waited_goes_on_by_the_rules_of_its_schedule(
    place: Home, tmp_path: Path, daemon: Forked
) -> None:
    ask = {"id": "ask", "type": "ask", "params": {"prompt": "Go on?", "choices": ["go", "halt"]}}
    stop = {"id": "stop", "type": "fail", "params": {"message": "said ${ask.choice}"}}
    tell = {"id": "w", "type": "write-file", "params": {"path": "told", "content": "${error}"}}
    with Workspace(place) as workspace:
        workspace.save({"nodes": [ask, stop]}, "job")
        workspace.save({"inputs": {"error": {"type": "string"}}, "nodes": [tell]}, "tell")
        workspace.schedules.add("job", "0 * * * *", zone="UTC", on_failure="tell")
        set_clock(NOON + HOUR)
        until_outcomes(place, "waiting")
        [waiting] = workspace.waiting()
        workspace.answer(waiting.run_id, choice="halt")
        until_outcomes(place, "failed")
    assert (tmp_path / "told").read_text() == "said halt"
