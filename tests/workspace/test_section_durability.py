"""Wherever a process is killed, a run with sections finishes them first, and does nothing twice."""

from __future__ import annotations

import signal
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from pflow.core.errors import InDoubtError
from pflow.core.file.home import Home
from pflow.workspace import Outcome, Workspace
from tests.workspace.test_durability import MARK_NODE, Killer, in_child


@pytest.fixture
def place(home: Path) -> Home:
    (home / "nodes").mkdir(parents=True)
    (home / "nodes" / "mark.py").write_text(MARK_NODE)
    return Home(home)


def mark(effects: Path, name: str) -> dict[str, Any]:
    return {"id": name, "type": "mark", "params": {"file": str(effects), "text": name}}


def document(effects: Path, *, fails: bool) -> dict[str, Any]:
    """A main part, and a nested one, which both have sections and fail or complete."""
    fail = {"id": "fail", "type": "fail", "params": {"message": "on purpose"}}
    inner = {
        "nodes": [mark(effects, "push"), *([fail] if fails else []), mark(effects, "undo"), mark(effects, "close")],
        "on_failure": "undo",
        "finally": "close",
    }
    return {
        "name": "sections",
        "nodes": [
            mark(effects, "a"),
            {"id": "deploy", "type": "workflow", "params": {"workflow": inner}},
            mark(effects, "tell"),
            mark(effects, "told"),
            mark(effects, "tidy"),
        ],
        "on_failure": "tell",
        "finally": "tidy",
    }


MAIN = {"a", "deploy", "deploy/push", "deploy/fail"}
ENDS = ["undo", "close", "tell", "told", "tidy"]


def finish(workspace: Workspace, effects: Path) -> Outcome:
    """Take the run up again; what was in flight is run again if it is known to have had no effect."""
    try:
        return workspace.resume("killed-run")
    except InDoubtError as doubt:
        steps: Any = doubt.details["steps"]
        done = effects.read_text().split() if effects.exists() else []
        for step in steps:
            name = step.rpartition("/")[2]
            if name in done:  # so that each effect is there once in the end, as a person would settle it
                effects.write_text("".join(f"{line}\n" for line in done if line != name))
                done.remove(name)
        return workspace.resume("killed-run", rerun_in_doubt=True)


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("fails", [pytest.param(True, marks=pytest.mark.slow), False], ids=["failed", "completed"])
def test_kill_at_every_event_boundary_of_a_run_with_sections(
    place: Home, tmp_path: Path, fails: bool, after: bool
) -> None:
    for fatal in range(1, 100):
        effects = tmp_path / f"effects-{fatal}"

        def work(fatal: int = fatal, effects: Path = effects) -> None:
            journal = Killer(place.journal)
            journal.fatal, journal.after = fatal, after
            Workspace(place, journal=journal).run(document(effects, fails=fails), run_id="killed-run")

        status = in_child(work)
        if status == 0:
            assert fatal > 10, "there are more writes than that"
            break
        assert status == -signal.SIGKILL
        with Workspace(place) as workspace:
            shown = workspace.show_run("killed-run")
            if shown["status"] in ("completed", "failed"):
                workspace._wiring.journal.delete(["killed-run"])
                continue
            begun = "ending" in shown
            known: Any = shown["steps"]
            main = [step for step in known if step["step"] in MAIN]
            outcome = finish(workspace, effects)
            assert outcome.status == ("failed" if fails else "completed")
            if fails:
                assert outcome.error is not None and "on purpose" in str(outcome.error["message"])
            found: Any = workspace.show_run("killed-run")["steps"]
            if begun:
                assert [step for step in found if step["step"] in MAIN] == main, "the main part is over for good"
            counts = Counter(effects.read_text().split())
            wanted = {"a", "push", *(ENDS if fails else ("close", "tidy"))}
            assert set(counts) == wanted, fatal
            # A sub-workflow that had failed, but whose failure was not yet recorded, is tried again by a resume.
            assert all(counts[name] == 1 for name in wanted - {"undo", "close"}), (fatal, counts)
            assert outcome.run_id == "killed-run" and outcome.failed_in_sections == ()
            workspace._wiring.journal.delete(["killed-run"])
    else:
        pytest.fail("the run does not end")
