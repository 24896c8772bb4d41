"""What a home has kept long enough goes, and nothing that is still needed."""

from __future__ import annotations

import os
from pathlib import Path

from pflow.adapters.sqlite_journal import SqliteJournal
from pflow.core.file.home import Home
from pflow.workspace import Workspace

DOCUMENT = {"nodes": [{"id": "say", "type": "echo", "params": {"text": "hello"}}]}
OLD = "20200101-000000-0123456789abcdef"


def a_day_later(home: Path) -> None:
    os.utime(home / ".cleaned", (0, 0))


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


def test_the_setting_says_how_long_and_the_run_itself_stays(home: Path) -> None:
    with Workspace(Home(home)) as workspace:
        workspace.set_setting("runs.keep_days", "10000")
        workspace.run(DOCUMENT, run_id=OLD)
        a_day_later(home)
        workspace.run(DOCUMENT)
        assert OLD in ids(workspace)
    with Workspace(Home(home)) as workspace:
        workspace.set_setting("runs.keep_days", "0")
        a_day_later(home)
        workspace.run(DOCUMENT, run_id=f"{OLD}0")
        assert f"{OLD}0" in ids(workspace) and OLD not in ids(workspace)


def test_drafts_go_after_their_own_time(home: Path) -> None:
    with Workspace(Home(home)) as workspace:
        path = workspace.save(DOCUMENT, "sketch", draft=True)
        kept = workspace.save(DOCUMENT, "kept")
        for file in (path, kept):
            os.utime(file, (0, 0))
        workspace.run(DOCUMENT)
        assert not path.exists() and kept.exists()


def test_a_home_is_cleaned_once_a_day(home: Path) -> None:
    with Workspace(Home(home)) as workspace:
        workspace.run(DOCUMENT)
        workspace.run(DOCUMENT, run_id=OLD)
        workspace.run(DOCUMENT)
        assert OLD in ids(workspace)
