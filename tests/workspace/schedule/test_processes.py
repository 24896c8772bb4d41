"""Schedules among processes: whoever fires, however many do, and whoever dies, each due time runs once."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from pflow.adapters.sqlite_journal import SqliteJournal
from pflow.adapters.sqlite_schedules import SqliteSchedules
from pflow.core.file.home import Home
from pflow.engine.ports import Record
from pflow.workspace import Workspace
from tests.cli.conftest import spawn
from tests.robust.world import until
from tests.workspace.test_durability import in_child

NOON = 1_794_830_400.0
"""Noon of a Monday, 2026-11-16, in UTC."""

HOUR = 3600.0


@pytest.fixture
def place(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    monkeypatch.setenv("PFLOW_NOW", str(tmp_path / "now"))
    monkeypatch.chdir(tmp_path)
    set_clock(NOON)
    return Home(home)


def set_clock(moment: float) -> None:
    """Set the time that every process goes by; none of them sees half a file."""
    file = Path(os.environ["PFLOW_NOW"])
    file.with_suffix(".next").write_text(str(moment))
    file.with_suffix(".next").replace(file)


def shell(command: str) -> dict[str, Any]:
    return {"nodes": [{"id": "a", "type": "shell", "params": {"command": command}}]}


def schedule(place: Home, command: str, when: str = "0 * * * *", **terms: Any) -> None:
    """Schedule a command under the name `job`."""
    with Workspace(place) as workspace:
        workspace.save(shell(command), "job")
        workspace.schedules.add("job", when, zone="UTC", **terms)


def outcomes(place: Home) -> list[tuple[float, str, int]]:
    """What is stored of due times, the first first: hours after noon, what became of it, and how often it was tried."""
    journal = SqliteJournal(place.journal)
    found = reversed(SqliteSchedules(journal.database).ticks())
    journal.close()
    return [((tick.due - NOON) / HOUR, str(tick.outcome), tick.tries) for tick in found]


def lines(path: Path) -> list[str]:
    return path.read_text().splitlines() if path.exists() else []


class Gate:
    """A place in a command where a run waits until the test lets it go on."""

    def __init__(self, folder: Path, name: str = "gate") -> None:
        self._in, self._out = folder / f"{name}-in", folder / f"{name}-out"
        for fifo in (self._in, self._out):
            os.mkfifo(fifo)
        self.command = f"echo came > {self._in}; read word < {self._out}; echo done >> did"

    def wait(self) -> None:
        """Until a run has come."""
        self._in.read_text()

    def open(self) -> None:
        """Let the run that came go on."""
        self._out.write_text("go\n")


@pytest.fixture
def gate(tmp_path: Path) -> Gate:
    return Gate(tmp_path)


@pytest.fixture
def tick(tmp_path: Path) -> Iterator[Callable[[], subprocess.Popen[bytes]]]:
    """Starts a tick as a process of its own."""
    started: list[subprocess.Popen[bytes]] = []

    def start() -> subprocess.Popen[bytes]:
        started.append(spawn("schedule", "tick", "--json", cwd=tmp_path))
        return started[-1]

    yield start
    for process in started:
        process.terminate()  # which ends its runs, too
        process.communicate()


def ticked(place: Home) -> list[tuple[str, str]]:
    """A tick in this process: the runs' states, with a word about each."""
    with Workspace(place) as workspace:
        return [(item.state, item.note) for item in workspace.schedules.tick().items]


# Many at once


def test_twenty_processes_that_tick_at_once_run_each_due_time_once(place: Home, tmp_path: Path) -> None:
    schedule(place, "echo ran >> did", catch_up="all", overlap="allow")
    set_clock(NOON + 3 * HOUR)
    ready, go = os.pipe(), os.pipe()
    children = []
    for _ in range(20):
        child = os.fork()
        if child == 0:
            try:
                os.close(go[1])
                os.write(ready[1], b".")
                os.read(go[0], 1)  # until the test closes it
                ticked(place)
            finally:
                os._exit(0)
        children.append(child)
    for _ in children:
        os.read(ready[0], 1)
    os.close(go[1])
    for child in children:
        os.waitpid(child, 0)
    assert lines(tmp_path / "did") == ["ran"] * 3
    assert outcomes(place) == [(1.0, "completed", 1), (2.0, "completed", 1), (3.0, "completed", 1)]


# Death on the way


def claim_and_die(place: Home) -> int:
    def work() -> None:
        with Workspace(place) as workspace:
            begun = workspace.schedules.begin_tick()
            assert len(begun.works) == 1
            os.kill(os.getpid(), signal.SIGKILL)

    return in_child(work)


@pytest.mark.parametrize(
    ("catch_up", "later", "expected", "ran"),
    [
        ("one", 300, [("lost", True), ("completed", False)], 1),
        ("all", 300, [("lost", True), ("completed", False)], 1),
        ("none", 60, [("lost", True), ("completed", False)], 1),
        ("none", 300, [("lost", True), ("missed", True)], 0),
    ],
)
def test_a_process_that_is_killed_between_claim_and_start_loses_the_claim_which_runs_again_by_policy(
    place: Home, tmp_path: Path, catch_up: str, later: float, expected: list[tuple[str, bool]], ran: int
) -> None:
    schedule(place, "echo ran >> did", catch_up=catch_up)
    set_clock(NOON + HOUR)
    assert claim_and_die(place) == -signal.SIGKILL
    assert outcomes(place) == [(1.0, "claimed", 1)]
    with Workspace(place) as workspace:
        [view] = workspace.schedules.list()
        assert view.last is not None
        assert view.last.state == "lost"
    set_clock(NOON + HOUR + later)
    assert [(state, bool(note)) for state, note in ticked(place)] == expected
    assert len(lines(tmp_path / "did")) == ran


def test_a_due_time_whose_claims_keep_getting_lost_is_given_up(place: Home, tmp_path: Path) -> None:
    schedule(place, "echo ran >> did")
    set_clock(NOON + HOUR)
    for _ in range(3):
        assert claim_and_die(place) == -signal.SIGKILL
    assert [state for state, _ in ticked(place)] == ["lost"]
    assert ticked(place) == []
    assert outcomes(place) == [(1.0, "lost", 3)]
    assert lines(tmp_path / "did") == []


class DiesInCreate(SqliteJournal):
    """A journal whose process is killed before or after the first event of a run is stored."""

    after = False

    def create(
        self, run_id: str, workflow: str, started_at: float, records: Sequence[Record], *, ticket: int = 0
    ) -> None:
        if self.after:
            super().create(run_id, workflow, started_at, records, ticket=ticket)
        os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.parametrize("after", [False, True])
def test_a_run_whose_process_is_killed_is_lost_before_it_began_and_interrupted_behind(
    place: Home, tmp_path: Path, after: bool
) -> None:
    schedule(place, "echo ran >> did")
    set_clock(NOON + HOUR)
    with Workspace(place) as claims:
        [work] = claims.schedules.begin_tick().works

        def run() -> None:
            journal = DiesInCreate(place.journal)
            journal.after = after
            parts: Any = {"journal": journal, "schedules": SqliteSchedules(journal.database)}
            Workspace(place, **parts).schedules.run("job", claimed=work.run_id)

        assert in_child(run) == -signal.SIGKILL
        assert [state for state, _ in ticked(place)] == ([] if after else ["lost", "completed"])
    assert outcomes(place) == ([(1.0, "interrupted", 1)] if after else [(1.0, "completed", 2)])
    assert lines(tmp_path / "did") == ([] if after else ["ran"])


def test_a_claim_that_was_given_to_another_is_not_run(place: Home, tmp_path: Path) -> None:
    schedule(place, "echo ran >> did")
    set_clock(NOON + HOUR)
    with Workspace(place) as slow:
        begun = slow.schedules.begin_tick()
    [work] = begun.works  # the process that claimed it is gone
    assert [state for state, _ in ticked(place)] == ["lost", "completed"]
    late = spawn("schedule", "run", "job", "--claimed", work.run_id, cwd=tmp_path)
    _, err = late.communicate()
    assert late.returncode != 0
    assert work.run_id.encode() in err
    assert lines(tmp_path / "did") == ["ran"]


# Runs that overlap


@pytest.mark.parametrize(
    ("overlap", "while_running", "after"),
    [
        ("skip", "skipped", [(1.0, "completed", 1), (2.0, "skipped", 1)]),
        ("queue", "queued", [(1.0, "completed", 1), (2.0, "completed", 1)]),
        ("cancel", "queued", [(1.0, "cancelled", 1), (2.0, "completed", 1)]),
    ],
)
def test_a_due_time_while_a_run_goes_on_has_its_policy(
    place: Home,
    tmp_path: Path,
    gate: Gate,
    tick: Callable[[], subprocess.Popen[bytes]],
    overlap: str,
    while_running: str,
    after: list[tuple[float, str, int]],
) -> None:
    schedule(place, gate.command, overlap=overlap)
    set_clock(NOON + HOUR)
    first = tick()
    gate.wait()
    set_clock(NOON + 2 * HOUR)
    assert [state for state, _ in ticked(place)] == [while_running]
    if overlap != "cancel":
        gate.open()
    if overlap != "skip":  # the tick whose run has ended starts what is queued
        gate.wait()
        gate.open()
    assert first.wait() == 0
    assert outcomes(place) == after
    assert lines(tmp_path / "did") == ["done"] * sum(outcome == "completed" for _, outcome, _ in after)


def test_runs_may_overlap_where_they_are_allowed_to(
    place: Home, tmp_path: Path, tick: Callable[[], subprocess.Popen[bytes]]
) -> None:
    one, two = Gate(tmp_path, "one"), Gate(tmp_path, "two")
    schedule(place, f"if mkdir first; then {one.command}; else {two.command}; fi", overlap="allow")
    set_clock(NOON + HOUR)
    first = tick()
    one.wait()
    set_clock(NOON + 2 * HOUR)
    second = tick()
    two.wait()
    for gate in (one, two):
        gate.open()
    assert (first.wait(), second.wait()) == (0, 0)
    assert outcomes(place) == [(1.0, "completed", 1), (2.0, "completed", 1)]


# Signals


@pytest.mark.parametrize("to", ["tick", "both"])
def test_a_tick_that_is_ended_stops_its_runs_and_the_next_one_asks_what_became_of_a_step_that_was_cut_off(
    place: Home, tmp_path: Path, gate: Gate, tick: Callable[[], subprocess.Popen[bytes]], to: str
) -> None:
    schedule(place, f"echo $PPID > pid; {gate.command}")
    set_clock(NOON + HOUR)
    ticking = tick()
    gate.wait()
    if to == "both":  # as systemd does it
        os.kill(int((tmp_path / "pid").read_text()), signal.SIGTERM)
    ticking.send_signal(signal.SIGTERM)
    assert ticking.wait() == 128 + signal.SIGTERM
    assert outcomes(place) == [(1.0, "waiting", 1)]
    [(state, note)] = ticked(place)
    assert state == "failed"
    assert "may or may not have taken effect: `a`" in note
    assert ticked(place) == [], "that is for a person to say"
    with Workspace(place) as workspace:
        [info] = workspace.runs()
        assert (info.state, workspace.schedules.list()[0].schedule.paused_at) == ("stopped", None)
    assert lines(tmp_path / "did") == []


def test_a_tick_goes_on_with_a_run_that_was_stopped_with_an_earlier_one(
    place: Home, tmp_path: Path, gate: Gate, tick: Callable[[], subprocess.Popen[bytes]]
) -> None:
    nodes = [
        {"id": "first", "type": "shell", "params": {"command": f"echo first >> did; echo came > {tmp_path}/gate-in"}},
        {"id": "pause", "type": "wait", "params": {"for": "50s"}},
        {"id": "last", "type": "shell", "params": {"command": "echo last >> did"}},
    ]
    with Workspace(place) as workspace:
        workspace.save({"nodes": nodes}, "job")
        workspace.schedules.add("job", "0 * * * *", zone="UTC")
    set_clock(NOON + HOUR)
    ticking = tick()
    gate.wait()
    until(lambda: bool(waits(place)), "the run waits in its process")
    ticking.send_signal(signal.SIGTERM)
    assert ticking.wait() == 128 + signal.SIGTERM
    assert outcomes(place) == [(1.0, "waiting", 1)]
    set_clock(NOON + HOUR + 60)
    assert ticked(place) == [("completed", "")]
    assert lines(tmp_path / "did") == ["first", "last"]
    assert outcomes(place) == [(1.0, "completed", 1)]


def test_a_run_that_is_stopped_while_its_process_starts_does_not_go_on(place: Home, tmp_path: Path) -> None:
    schedule(place, "echo ran >> did")
    set_clock(NOON + HOUR)

    async def stop_early() -> str:
        with Workspace(place) as workspace:
            [work] = workspace.schedules.begin_tick().works
            finishing = asyncio.ensure_future(work.finish())
            await asyncio.sleep(0)  # its process is being started now
            work.stop()
            return (await finishing).state

    assert asyncio.run(stop_early()) in ("lost", "waiting")
    assert lines(tmp_path / "did") == []


def waits(place: Home) -> Sequence[object]:
    """What runs wait for."""
    with Workspace(place) as workspace:
        return workspace.waiting()
