"""Runs that wait, and ticks: a scheduled run that asks is left waiting, and what can go on is taken up by a tick."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pflow.core.file.home import Home
from pflow.workspace import Workspace
from tests.workspace.schedule.test_processes import HOUR, NOON, outcomes, place, set_clock, ticked

__all__ = ["place"]

ASK: dict[str, Any] = {"id": "ask", "type": "ask", "params": {"prompt": "Post it?", "choices": ["post", "stop"]}}


def shell(name: str, command: str) -> dict[str, Any]:
    return {"id": name, "type": "shell", "params": {"command": command}}


def schedule(place: Home, *nodes: dict[str, Any], **terms: Any) -> None:
    with Workspace(place) as workspace:
        workspace.save({"nodes": list(nodes), "edges": "data"}, "job")
        workspace.schedules.add("job", "0 * * * *", zone="UTC", **terms)


def test_a_scheduled_run_that_asks_is_left_waiting_and_goes_on_where_it_began(
    place: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    schedule(place, ASK, shell("tell", "echo ${ask.choice} $PWD >> did"))
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    set_clock(NOON + HOUR)
    assert ticked(place) == [("waiting", "")]
    assert ticked(place) == [], "it costs nothing until it is answered"
    set_clock(NOON + 2 * HOUR)
    assert [state for state, _ in ticked(place)] == ["skipped"], "it goes on, if only by waiting"
    with Workspace(place) as workspace:
        [view] = workspace.schedules.list()
        assert view.last is not None
        assert view.last.state == "skipped"
        [waiting] = workspace.waiting()
        workspace.answer(waiting.run_id, choice="post", by="ada")
        assert workspace.schedules.next_due() == NOON + 2 * HOUR, "an answer is there, and a tick can go on with it"
    assert ticked(place) == [("completed", "")]
    assert (tmp_path / "did").read_text() == f"post {tmp_path}\n"
    assert outcomes(place) == [(1.0, "completed", 1), (2.0, "skipped", 1)]


def test_a_run_that_fails_after_its_answer_runs_the_workflow_for_failures(place: Home, tmp_path: Path) -> None:
    with Workspace(place) as workspace:
        tell = {"id": "w", "type": "write-file", "params": {"path": "told", "content": "${error}"}}
        workspace.save({"inputs": {"error": {"type": "string"}}, "nodes": [tell]}, "tell")
    stop = {"id": "stop", "type": "fail", "params": {"message": "said ${ask.choice}"}}
    schedule(place, ASK, stop, on_failure="tell")
    set_clock(NOON + HOUR)
    ticked(place)
    with Workspace(place) as workspace:
        [waiting] = workspace.waiting()
        workspace.answer(waiting.run_id, choice="stop")
    assert ticked(place) == [("failed", "said stop")]
    assert (tmp_path / "told").read_text() == "said stop"


def test_a_run_that_somebody_else_took_up_is_seen_to_have_ended(place: Home) -> None:
    schedule(place, ASK)
    set_clock(NOON + HOUR)
    ticked(place)
    with Workspace(place) as workspace:
        [waiting] = workspace.waiting()
        workspace.answer(waiting.run_id, choice="post")
        assert workspace.resume(waiting.run_id).success
    set_clock(NOON + 2 * HOUR)
    assert [state for state, _ in ticked(place)] == ["waiting"]
    assert outcomes(place) == [(1.0, "completed", 1), (2.0, "waiting", 1)]


def test_a_policy_to_cancel_ends_a_run_that_waits(place: Home) -> None:
    schedule(place, ASK, overlap="cancel")
    set_clock(NOON + HOUR)
    ticked(place)
    set_clock(NOON + 2 * HOUR)
    assert [state for state, _ in ticked(place)] == ["queued", "waiting"]
    assert outcomes(place) == [(1.0, "cancelled", 1), (2.0, "waiting", 1)]


def test_a_tick_takes_up_any_run_whose_time_has_come(place: Home, tmp_path: Path) -> None:
    wait = {"id": "pause", "type": "wait", "params": {"for": "2h"}}
    with Workspace(place) as workspace:
        outcome = workspace.run({"nodes": [wait, shell("after", "echo went on >> did")]})
        assert outcome.status == "waiting"
        assert workspace.schedules.next_due() == NOON + 2 * HOUR
    assert ticked(place) == []
    set_clock(NOON + 2 * HOUR)
    assert ticked(place) == [("completed", "")]
    assert (tmp_path / "did").read_text() == "went on\n"
    with Workspace(place) as workspace:
        assert workspace.schedules.next_due() is None


def test_the_next_thing_to_do_is_the_first_of_all(place: Home) -> None:
    with Workspace(place) as workspace:
        assert workspace.schedules.next_due() is None
        workspace.save({"nodes": [{"id": "echo"}]}, "job")
        workspace.schedules.add("job", "30 13 * * *", zone="UTC")
        workspace.schedules.add("job", "every 90m", name="b")
        workspace.schedules.add("job", "0 13 * * *", zone="UTC", name="c", jitter="10m")
        assert NOON + HOUR <= (workspace.schedules.next_due() or 0) <= NOON + HOUR + 600
        workspace.schedules.pause("c")
        assert workspace.schedules.next_due() == NOON + 1.5 * HOUR


def save_tell(place: Home) -> None:
    """A workflow for failures that notes them."""
    with Workspace(place) as workspace:
        tell = {"id": "w", "type": "shell", "params": {"command": "echo ${run_id} ${error} >> told"}}
        inputs = {"run_id": {"type": "string"}, "error": {"type": "string"}}
        workspace.save({"inputs": inputs, "nodes": [tell]}, "tell")


def test_a_failure_that_others_saw_through_is_told_by_the_next_tick_once(place: Home, tmp_path: Path) -> None:
    save_tell(place)
    schedule(place, ASK, {"id": "stop", "type": "fail", "params": {"message": "no ${ask.choice}"}}, on_failure="tell")
    set_clock(NOON + HOUR)
    ticked(place)
    with Workspace(place) as workspace:
        [waiting] = workspace.waiting()
        workspace.answer(waiting.run_id, choice="post")
        assert workspace.resume(waiting.run_id).status == "failed"
    assert ticked(place) == [("failed", "no post")]
    assert ticked(place) == []
    assert (tmp_path / "told").read_text() == f"{waiting.run_id} no post\n"


def test_a_run_that_is_killed_is_told(place: Home, tmp_path: Path) -> None:
    save_tell(place)
    schedule(place, shell("die", "kill -9 $PPID"), on_failure="tell")
    set_clock(NOON + HOUR)
    states = [state for state, _ in ticked(place)]
    assert set(states) == {"interrupted"}
    [line] = (tmp_path / "told").read_text().splitlines()
    assert line.endswith("the run is interrupted")
    assert outcomes(place)[0][:2] == (1.0, "interrupted")
