"""What a home has kept long enough goes, and nothing that is still needed."""

from __future__ import annotations

import json
import os
import sqlite3
import time
from contextlib import closing
from pathlib import Path

import pytest

from pflow.adapters.sqlite_journal import SqliteJournal
from pflow.core.file.home import Home
from pflow.workspace import Workspace

DOCUMENT = {"nodes": [{"id": "say", "type": "echo", "params": {"text": "hello"}}]}
OLD = "20200101-000000-0123456789abcdef"


DAY = 86_400
YEARS = 10 * 365 * DAY


def a_day_later(home: Path) -> None:
    """Make a home look as if it was in use until yesterday."""
    now = time.time()
    (home / ".clock").write_text(json.dumps([now - 3 * DAY, now - 2 * DAY, now - DAY]))
    os.utime(home / ".cleaned", (now - DAY, now - DAY))


class Clock:
    """The clock of this machine, which the tests turn."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.ahead = 0.0
        real, gmtime = time.time, time.gmtime
        monkeypatch.setattr(time, "time", lambda: real() + self.ahead)
        monkeypatch.setattr(time, "gmtime", lambda at=None: gmtime(time.time() if at is None else at))

    def use(self, home: Path, days: int = 1) -> list[str]:
        """Use pflow on so many days, each a day after the other; what it said."""
        said: list[str] = []
        for _ in range(days):
            with Workspace(Home(home)) as workspace:
                workspace.run(DOCUMENT)
                said += workspace.notices
            self.ahead += DAY
        return said


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return Clock(monkeypatch)


def ended_long_ago(home: Path, *run_ids: str) -> None:
    """Let runs have ended when their ids say that they began."""
    database = sqlite3.connect(home / "runs.db")
    with closing(database), database:
        for run_id in run_ids or (OLD,):
            database.execute("UPDATE runs SET ended_at = 1577836800.0 WHERE run_id = ?", (run_id,))


def ids(workspace: Workspace) -> list[str]:
    return [run.run_id for run in workspace.runs()]


def test_old_runs_go_with_their_files_and_others_stay(home: Path) -> None:
    with Workspace(Home(home)) as workspace:
        workspace.run(DOCUMENT, run_id=OLD)
        workspace.run(DOCUMENT, run_id="chosen-by-a-program")
        new = workspace.run(DOCUMENT).run_id
        (home / "runs" / OLD).mkdir(parents=True)
        (home / "runs" / OLD / "file").touch()
        assert ids(workspace) == [new, "chosen-by-a-program", OLD]
        ended_long_ago(home)
        a_day_later(home)
        newest = workspace.run(DOCUMENT).run_id
        assert ids(workspace) == [newest, new, "chosen-by-a-program"]
        assert list((home / "runs").iterdir()) == []


def test_a_run_that_is_running_stays_however_old(home: Path) -> None:
    other = SqliteJournal(home / "runs.db")
    try:
        other.create(OLD, "long", 0.0, [])
        with Workspace(Home(home)) as workspace:
            workspace.run(DOCUMENT)
            assert OLD in ids(workspace)
    finally:
        other.close()
    a_day_later(home)
    with Workspace(Home(home)) as workspace:
        workspace.run(DOCUMENT)
        assert OLD not in ids(workspace)


def test_a_run_that_waits_stays_however_old_and_keeps_no_other(home: Path) -> None:
    older = f"{OLD}1"
    with Workspace(Home(home)) as workspace:
        workspace.run(DOCUMENT, run_id=older)
        workspace.begin(DOCUMENT, run_id=OLD).record()
        workspace.run(DOCUMENT)
        ended_long_ago(home, OLD, older)
        a_day_later(home)
        workspace.run(DOCUMENT)
        assert OLD in ids(workspace) and older not in ids(workspace)


def test_a_driver_cleans_a_home_in_which_no_run_ends(home: Path) -> None:
    with Workspace(Home(home)) as workspace:
        workspace.run(DOCUMENT, run_id=OLD)
        workspace.run(DOCUMENT)
        assert workspace.driving.keep_house() == [], "it was done today"
        ended_long_ago(home)
        a_day_later(home)
        assert workspace.driving.keep_house() == ["deleted 1 old run"]
        assert OLD not in ids(workspace)
        assert json.loads((home / ".clock").read_text())[-1] > time.time() - DAY / 2, "the day counts as one of use"


def test_the_setting_says_how_long_and_the_run_itself_stays(home: Path) -> None:
    with Workspace(Home(home)) as workspace:
        workspace.set_setting("runs.keep_days", "10000")
        workspace.run(DOCUMENT, run_id=OLD)
        ended_long_ago(home)
        a_day_later(home)
        workspace.run(DOCUMENT)
        assert OLD in ids(workspace)
    with Workspace(Home(home)) as workspace:
        workspace.set_setting("runs.keep_days", "0")
        a_day_later(home)
        workspace.run(DOCUMENT, run_id=f"{OLD}0")
        assert f"{OLD}0" in ids(workspace) and OLD not in ids(workspace)


def test_a_run_that_waits_stays_and_its_age_counts_from_its_end(home: Path) -> None:
    asking = {"nodes": [{"id": "q", "type": "ask", "params": {"prompt": "Go on?", "choices": ["go", "halt"]}}]}
    with Workspace(Home(home)) as workspace:
        workspace.run(asking, run_id=OLD)
        ended_long_ago(home)
        a_day_later(home)
        workspace.run(DOCUMENT)
        assert OLD in ids(workspace)
        workspace.answer(OLD, choice="go")
        assert workspace.resume(OLD).success
        a_day_later(home)
        workspace.run(DOCUMENT)
        assert OLD in ids(workspace)
        ended_long_ago(home)
        a_day_later(home)
        workspace.run(DOCUMENT)
        assert OLD not in ids(workspace)


def test_drafts_go_after_their_own_time(home: Path) -> None:
    with Workspace(Home(home)) as workspace:
        path = workspace.save(DOCUMENT, "sketch", draft=True)
        kept = workspace.save(DOCUMENT, "kept")
        for file in (path, kept):
            os.utime(file, (0, 0))
        workspace.run(DOCUMENT)
        a_day_later(home)
        workspace.run(DOCUMENT)
        assert not path.exists() and kept.exists()


def test_a_home_is_cleaned_once_a_day(home: Path) -> None:
    with Workspace(Home(home)) as workspace:
        workspace.run(DOCUMENT)
        workspace.run(DOCUMENT, run_id=OLD)
        workspace.run(DOCUMENT)
        assert OLD in ids(workspace)


def kept(home: Path) -> tuple[int, bool, int]:
    """How many runs and traces there are, and whether the draft is there."""
    draft = (home / "temp-workflows" / "sketch.json").exists()
    with Workspace(Home(home)) as workspace:
        return len(workspace.runs(1000)), draft, len(list((home / "debug").iterdir()))


def test_a_clock_that_leaps_ahead_deletes_nothing(home: Path, clock: Clock) -> None:
    with Workspace(Home(home)) as workspace:
        workspace.save(DOCUMENT, "sketch", draft=True)
        failed = workspace.run({"nodes": [{"id": "f", "type": "shell", "params": {"command": "false"}}]})
        for _ in range(131):  # traces are looked at when there are 140
            workspace.run(DOCUMENT)
    clock.use(home, days=4)
    before = kept(home)
    for leap in (YEARS, 2 * YEARS, 0, YEARS, 60 * DAY):
        clock.ahead = leap
        said = clock.use(home)
        assert leap != YEARS or "days since the last use" in said[0]
        clock.ahead = leap
        with Workspace(Home(home)) as workspace:
            assert workspace.drafts.clean_old() == []
            assert workspace.show_run(failed.run_id)["status"] == "failed"
    runs, draft, traces = kept(home)
    assert (runs, draft, traces) == (before[0] + 5, True, before[2] + 5)


def test_a_clock_that_stays_ahead_is_believed_on_the_third_day(home: Path, clock: Clock) -> None:
    clock.use(home, days=3)
    old = kept(home)[0]
    clock.ahead += 90 * DAY
    clock.use(home, days=2)
    assert kept(home)[0] == old + 2
    clock.use(home, days=1)
    assert kept(home)[0] == 3, "those since the gap"


def test_after_a_leap_that_was_undone_cleaning_goes_on(home: Path, clock: Clock) -> None:
    clock.use(home, days=3)
    clock.ahead += YEARS
    clock.use(home)
    clock.ahead -= YEARS
    with Workspace(Home(home)) as workspace:
        workspace.run(DOCUMENT, run_id=OLD)
    ended_long_ago(home)
    clock.use(home, days=3)
    with Workspace(Home(home)) as workspace:
        assert OLD not in ids(workspace)
