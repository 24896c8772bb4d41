"""The daemon: one for a home, and what it was given is neither lost nor repeated, however it ends."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import Any

import pytest

from pflow.adapters.sqlite_journal import SqliteJournal
from pflow.core.file.home import Home
from pflow.engine.ports import Mail
from pflow.workspace import Workspace
from tests.robust.world import pflow, until
from tests.workspace.driving.scene import Scene, is_gone, until_gone
from tests.workspace.driving.test_detached import detach

DAY = 86_400.0


def hand_over(scene: Scene, *nodes: dict[str, Any], wake_at: float | None = 0.0, **fields: Any) -> str:
    """A run that waits for somebody to drive it, from a moment on or until something is delivered to it; its id."""
    with Workspace(Home(scene.home)) as workspace:
        run = workspace.begin({**fields.pop("document", {}), "nodes": list(nodes)}, **fields)
        run.record()
    journal = SqliteJournal(scene.home / "runs.db")
    journal.append(run.run_id, journal.claim(run.run_id), (), "waiting", wake_at=wake_at)
    journal.close()
    return run.run_id


def events(scene: Scene, run_id: str) -> int:
    with Workspace(Home(scene.home)) as workspace:
        return workspace.driving.info(run_id).events


def test_it_drives_a_run_that_is_detached_beside_it_without_another_process(scene: Scene) -> None:
    daemon = scene.daemon()
    scene.until_driven()
    run_id = detach(scene.write(scene.mark("first"), scene.hold("wait"), name="work"))
    scene.until_began("wait")
    assert scene.processes() == []
    scene.release("wait")
    scene.until_state(run_id, "completed")
    daemon.kill(signal.SIGTERM)
    done = daemon.wait()
    assert (done.code, done.out) == (143, "")
    first, *lines = done.err.splitlines()
    assert first == f"driving the runs of `{scene.home}` in process {daemon.pid}"
    stopping = "stopping: steps that are running are finished first"
    assert sorted(lines) == [f"{run_id} work: completed", f"{run_id} work: taken up", stopping]


def test_a_run_of_another_directory_is_driven_there(scene: Scene) -> None:
    scene.daemon(folder=scene.home)
    scene.until_driven()
    show = {"id": "show", "type": "shell", "params": {"command": "pwd"}}
    run_id = hand_over(scene, show, scene.hold("wait"))
    scene.until_began("wait")
    assert len(scene.processes(run_id)) == 1
    scene.release("wait")
    scene.until_state(run_id, "completed")
    assert pflow("trace", run_id, "--step", "show", "--field", "outputs.stdout").out == f"{scene.folder}\n"


def test_a_run_of_another_directory_stops_with_it_after_its_step(scene: Scene) -> None:
    daemon = scene.daemon(folder=scene.home)
    scene.until_driven()
    run_id = hand_over(scene, scene.hold("wait"), scene.mark("after"))
    scene.until_began("wait")
    pid = scene.process(run_id)
    daemon.kill(signal.SIGTERM)
    until(lambda: daemon.said("stopping:"), "it has told its process to stop")
    scene.release("wait")
    done = daemon.wait()
    assert done.err.splitlines()[-1] == f"{run_id} document: waiting"
    assert is_gone(pid)
    assert scene.did() == ["wait"]
    assert pflow("daemon", "--once").code == 0
    assert (scene.state(run_id), scene.did()) == ("completed", ["wait", "after"])


def test_once_does_not_stay_for_a_run_of_another_directory_that_waits(scene: Scene) -> None:
    run_id = hand_over(scene, {"id": "wait", "params": {"for": "2h"}})
    assert pflow("daemon", "--once", before=lambda: os.chdir(scene.home)).code == 0
    assert (scene.state(run_id), scene.processes()) == ("waiting", [])


def test_a_run_with_a_secret_of_its_own_gets_a_process_all_the_same(scene: Scene) -> None:
    scene.daemon()
    scene.until_driven()
    document = scene.write(scene.hold("a"), inputs={"key": {"type": "string", "secret": True}})
    run_id = detach(document, "key=not-stored-anywhere")
    assert len(scene.processes(run_id)) == 1
    assert pflow("settings", "set", "KEY", stdin=b"stored-in-the-settings").code == 0
    assert scene.processes(detach(document)) == [], "what is stored, the daemon finds as well"


def test_there_is_one_for_a_home(scene: Scene) -> None:
    first = scene.daemon()
    scene.until_driven()
    second = pflow("daemon")
    assert second.code == 2
    assert second.err.startswith(f"error: `{scene.home}` already has a daemon, process `{first.pid}`\n")
    first.kill(signal.SIGKILL)
    first.wait()
    scene.daemon()
    scene.until_driven()


def test_who_answers_beside_a_daemon_hears_of_no_error_and_no_step_runs_twice(scene: Scene) -> None:
    scene.daemon()
    scene.until_driven()
    ask = {"id": "ask", "params": {"prompt": "Go on?", "choices": ["go"]}}
    document = scene.write(ask, scene.mark("after"))
    for _ in range(3):
        run_id = pflow("run", document, "--json").json["data"]["run_id"]
        said = pflow("answer", run_id, "go")
        assert said.code == 0, said
        assert "answered `ask`" in said.err
        scene.until_state(run_id, "completed")
    assert scene.did() == ["after"] * 3


def test_killed_with_runs_under_way_the_next_one_takes_over_and_repeats_nothing(scene: Scene) -> None:
    daemon = scene.daemon()
    scene.until_driven()
    wait = scene.hold("wait", repeatable=True)
    runs = [detach(scene.write(scene.mark(f"first{n}"), wait, scene.mark(f"last{n}"))) for n in range(3)]
    steps = scene.until_began("wait", times=3)
    daemon.kill(signal.SIGKILL)
    daemon.wait()
    until_gone(steps)
    assert {scene.state(run_id) for run_id in runs} == {"interrupted"}
    scene.daemon()
    scene.until_began("wait", times=6)
    scene.release("wait")
    for run_id in runs:
        scene.until_state(run_id, "completed")
    did = scene.did()
    assert sorted(did) == sorted([f"{when}{n}" for when in ("first", "last") for n in range(3)] + ["wait"] * 3)


def test_it_takes_over_from_a_process_that_was_killed(scene: Scene) -> None:
    run_id = detach(scene.write(scene.mark("first"), scene.hold("wait", repeatable=True)))
    scene.until_began("wait")
    pid = scene.process(run_id)
    scene.daemon()
    scene.until_driven()
    os.kill(pid, signal.SIGKILL)
    scene.until_began("wait", times=2)
    scene.release("wait")
    scene.until_state(run_id, "completed")
    assert scene.did() == ["first", "wait"]


def test_a_run_that_was_not_driven_for_others_is_left_to_its_person(scene: Scene) -> None:
    run = scene.client("run", scene.write(scene.hold("wait", repeatable=True)))
    steps = scene.until_began("wait")
    run.kill(signal.SIGKILL)
    run.wait()
    until_gone(steps)
    done = pflow("daemon", "--once")
    assert (done.code, done.err) == (0, "")
    assert pflow("runs", "list", "--json").json["data"]["runs"][0]["status"] == "interrupted"


def test_what_is_in_doubt_is_left_to_a_person_and_not_tried_again(scene: Scene) -> None:
    daemon = scene.daemon()
    scene.until_driven()
    run_id = detach(scene.write(scene.hold("wait")))
    steps = scene.until_began("wait")
    daemon.kill(signal.SIGKILL)
    daemon.wait()
    until_gone(steps)
    done = pflow("daemon", "--once")
    assert f"{run_id} doc: cannot be driven: 1 step was in flight" in done.err
    assert scene.state(run_id) == "stopped"
    before = events(scene, run_id)
    assert pflow("daemon", "--once").err == ""
    assert events(scene, run_id) == before
    scene.release("wait")
    assert pflow("runs", "resume", run_id, "--rerun-in-doubt").code == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_lets_steps_finish_and_the_next_one_goes_on(scene: Scene, number: signal.Signals) -> None:
    daemon = scene.daemon()
    scene.until_driven()
    run_id = detach(scene.write(scene.hold("wait"), scene.mark("after")))
    scene.until_began("wait")
    daemon.kill(number)
    with Workspace(Home(scene.home)) as workspace:
        until(lambda: not workspace.is_driven(), "the daemon takes up no more")
    assert scene.state(run_id) == "running"
    assert pflow("daemon").code == 2, "while it is there, no other one begins"
    scene.release("wait")
    done = daemon.wait()
    assert done.code == 128 + number
    assert done.err.splitlines()[-1] == f"{run_id} doc: stopped"
    assert (scene.state(run_id), scene.did()) == ("waiting", ["wait"])
    assert pflow("daemon", "--once").code == 0
    assert (scene.state(run_id), scene.did()) == ("completed", ["wait", "after"])


def test_a_second_signal_ends_it_at_once_with_everything_it_started(scene: Scene) -> None:
    daemon = scene.daemon()
    scene.until_driven()
    run_id = detach(scene.write(scene.hold("wait")))
    steps = scene.until_began("wait")
    daemon.kill(signal.SIGTERM)
    with Workspace(Home(scene.home)) as workspace:
        until(lambda: not workspace.is_driven(), "the first signal")
    daemon.kill(signal.SIGTERM)
    assert daemon.wait().code == 143
    until_gone(steps)
    assert scene.state(run_id) == "interrupted"


def test_once_drives_what_is_due_and_ends(scene: Scene) -> None:
    due = [hand_over(scene, scene.mark(f"due{n}")) for n in range(3)]
    later = hand_over(scene, scene.mark("later"), wake_at=time.time() + DAY)
    done = pflow("daemon", "--once")
    assert done.code == 0 and done.err.count("completed") == 3
    assert [scene.state(run_id) for run_id in due] == ["completed"] * 3
    assert scene.state(later) == "waiting"
    assert sorted(scene.did()) == ["due0", "due1", "due2"]
    assert not (scene.home / "daemon.lock").exists(), "it is not the daemon of the home"


def test_a_run_that_cannot_be_driven_is_left_alone_and_said_once(scene: Scene) -> None:
    document = {"inputs": {"key": {"type": "string", "secret": True}}}
    stuck = hand_over(scene, scene.mark("a"), document=document, params={"key": "nobody-else-knows"})
    before = events(scene, stuck)
    daemon = scene.daemon()
    for n in range(5):  # each is seen by a look at the journal of its own
        scene.until_state(hand_over(scene, scene.mark(f"m{n}")), "completed")
    daemon.kill(signal.SIGTERM)
    said = daemon.wait().err
    assert [line for line in said.splitlines() if stuck in line] == [
        f"{stuck} document: cannot be driven: missing input `key` (string)"
    ]
    assert (scene.state(stuck), events(scene, stuck)) == ("waiting", before)
    assert pflow("runs", "resume", stuck, "key=nobody-else-knows").code == 0


def test_a_run_goes_on_when_something_is_delivered_to_it(scene: Scene) -> None:
    scene.daemon()
    scene.until_driven()
    run_id = hand_over(scene, scene.mark("a"), wake_at=None)
    scene.until_state(hand_over(scene, scene.mark("other")), "completed")
    assert scene.state(run_id) == "waiting"
    journal = SqliteJournal(scene.home / "runs.db")
    assert journal.deliver(run_id, Mail(key="k", data=b"{}", by="ada", via="test", at=1.0))
    journal.close()
    scene.until_state(run_id, "completed")
    assert sorted(scene.did()) == ["a", "other"]


def test_a_clock_that_jumps_neither_loses_nor_repeats_anything(scene: Scene) -> None:
    scene.daemon(env={"PFLOW_NOW": scene.turn(0)})
    scene.until_driven()
    tomorrow = hand_over(scene, scene.mark("tomorrow"), wake_at=scene.began_at + DAY)
    next_week = hand_over(scene, scene.mark("next-week"), wake_at=scene.began_at + 7 * DAY)
    scene.until_state(hand_over(scene, scene.mark("one")), "completed")
    assert scene.state(tomorrow) == "waiting"
    scene.turn(DAY + 1)
    scene.until_state(tomorrow, "completed")
    scene.turn(-DAY)
    scene.until_state(hand_over(scene, scene.mark("two")), "completed")
    scene.turn(7 * DAY + 1)
    scene.until_state(next_week, "completed")
    scene.turn(0)
    scene.until_state(hand_over(scene, scene.mark("three")), "completed")
    assert scene.did() == ["one", "tomorrow", "two", "next-week", "three"]


def test_it_goes_on_with_a_run_when_its_wait_is_over(scene: Scene) -> None:
    env = {"PFLOW_NOW": scene.turn(0)}
    scene.daemon(env=env)
    scene.until_driven()
    wait = {"id": "wait", "params": {"for": "2h"}}
    run_id = detach(scene.write(scene.mark("before"), wait, scene.mark("after")), env=dict(env))
    scene.until_state(run_id, "waiting")
    assert scene.did() == ["before"]
    scene.turn(2 * 3600 + 1)
    scene.until_state(run_id, "completed")
    assert scene.did() == ["before", "after"]


def test_it_applies_the_deadline_of_a_question(scene: Scene) -> None:
    env = {"PFLOW_NOW": scene.turn(0)}
    scene.daemon(env=env)
    scene.until_driven()
    asking = {"prompt": "Go on?", "choices": ["yes", "no"], "timeout": "3d", "default": "no"}
    run_id = detach(scene.write({"id": "ask", "params": asking}), env=dict(env))
    scene.until_state(run_id, "waiting")
    scene.turn(3 * DAY + 1)
    scene.until_state(run_id, "completed")
    assert pflow("trace", run_id, "--field", "outputs.choice").out.strip() == "no"


def test_what_had_failed_is_not_tried_again_by_taking_over(scene: Scene) -> None:
    fails = {"id": "fails", "type": "shell", "params": {"command": f"echo failed >> {scene.folder}/did; exit 1"}}
    daemon = scene.daemon()
    scene.until_driven()
    run_id = detach(scene.write(fails, scene.hold("wait", repeatable=True), edges="data"))
    steps = scene.until_began("wait")
    with Workspace(Home(scene.home)) as workspace:
        until(lambda: scene.did() == ["failed"], "the step that fails")
        until(lambda: workspace.trace(run_id, step="fails", field="status") == "failed", "its failure")
    daemon.kill(signal.SIGKILL)
    daemon.wait()
    until_gone(steps)
    scene.daemon()
    scene.until_state(run_id, "failed")
    assert scene.did() == ["failed"]
    scene.release("wait")
    assert pflow("runs", "resume", run_id).code == 1
    assert scene.did().count("failed") == 2, "a person who resumes it wants it to be tried again"


def test_a_journal_that_appears_later_is_seen(scene: Scene) -> None:
    assert not (scene.home / "runs.db").exists()
    scene.daemon()
    scene.until_driven()
    assert not (scene.home / "runs.db").exists(), "looking makes none"
    scene.until_state(hand_over(scene, scene.mark("a")), "completed")


def test_many_runs_share_it(scene: Scene) -> None:
    scene.daemon()
    scene.until_driven()
    document = scene.write(scene.hold("wait"))
    runs = [detach(document) for _ in range(5)]
    scene.until_began("wait", times=5)
    assert pflow("runs", "cancel", runs[3]).code == 0
    scene.until_state(runs[3], "cancelled")
    scene.release("wait")
    for run_id in [*runs[:3], runs[4]]:
        scene.until_state(run_id, "completed")
    assert scene.did() == ["wait"] * 4


def test_a_client_is_not_stuck_with_a_daemon_that_was_killed(scene: Scene) -> None:
    daemon = scene.daemon()
    scene.until_driven()
    daemon.kill(signal.SIGSTOP)  # it holds its locks, and does nothing
    document = scene.write(scene.hold("a"))
    client = scene.client("run", document, "--detach")
    until(lambda: pflow("runs", "list").out.count("waiting") == 1, "the run is left to the daemon")
    daemon.kill(signal.SIGKILL)
    run_id = client.wait().out.strip()
    assert len(scene.processes(run_id)) == 1, "a process of its own does it"
    scene.release("a")
    scene.until_state(run_id, "completed")
    assert is_gone(daemon.pid)


def test_it_begins_what_schedules_say_and_takes_the_rest_of_the_policies_from_them(
    scene: Scene, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = tmp_path / "now"
    monkeypatch.setenv("PFLOW_NOW", str(clock))
    clock.write_text("1800000000")
    with Workspace(Home(scene.home)) as workspace:
        workspace.save({"nodes": [scene.mark("ticked")]}, "nightly")
        workspace.schedules.add("nightly", "every 1h")
    clock.write_text(str(1_800_000_000 + 3 * 3600))
    done = pflow("daemon", "--once")
    assert done.code == 0
    assert scene.did() == ["ticked"], "of three times that were missed, one is made up for"
    assert pflow("daemon", "--once").code == 0
    assert scene.did() == ["ticked"], "no due time runs twice"
