"""Detached runs: they outlive whoever began them, and nothing outlives them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from pflow.core.errors import ConflictError, InDoubtError, RunError, UsageError
from pflow.core.file.home import Home
from pflow.workspace import Workspace
from tests.robust.world import Ended, pflow, until
from tests.workspace.driving.scene import Scene, family, until_gone

SECRET = "a-very-secret-value-4711"


def detach(*words: str, env: dict[str, str | None] | None = None) -> str:
    """Detach a run from the command line; its id."""
    done = pflow("run", *words, "--detach", env=env)
    assert done.code == 0, done.err
    return done.out.strip()


def test_the_client_is_told_the_run_and_how_to_follow_and_cancel_it(scene: Scene) -> None:
    done = pflow("run", scene.write(scene.hold("a")), "--detach")
    run_id = done.out.strip()
    assert (done.code, done.err) == (0, f"show: pflow runs show {run_id}\ncancel: pflow runs cancel {run_id}\n")
    assert scene.state(run_id) == "running"
    scene.release("a")
    scene.until_state(run_id, "completed")
    shown = pflow("runs", "show", run_id, "--json").json["data"]
    assert (shown["status"], "reason" in shown) == ("completed", False)
    until((scene.home / "debug" / f"workflow-trace-{run_id}.json").exists, "its trace")


def test_with_json_it_is_one_object(scene: Scene) -> None:
    done = pflow("run", scene.write(scene.hold("a")), "--detach", "--json")
    assert done.json["data"] == {"run_id": done.json["data"]["run_id"], "status": "running"}
    assert done.err == ""


def test_it_outlives_its_client_killed_with_the_whole_process_group(scene: Scene) -> None:
    document = scene.write(scene.mark("first"), scene.hold("wait"), scene.mark("last"))
    script = f'"{sys.executable}" -m pflow run {document} --detach > run; sleep 600'
    client = subprocess.Popen(["/bin/sh", "-c", script], start_new_session=True, stderr=subprocess.DEVNULL)
    scene.until_began("wait")
    run_id = (scene.folder / "run").read_text().strip()
    for number in (signal.SIGHUP, signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(client.pid, number)
        except ProcessLookupError:
            pass
    client.wait()
    assert scene.state(run_id) == "running"
    scene.release("wait")
    scene.until_state(run_id, "completed")
    assert scene.did() == ["first", "wait", "last"]


def test_its_process_ends_with_it_and_nothing_of_it_is_left(scene: Scene) -> None:
    run_id = detach(scene.write(scene.hold("a"), scene.hold("b")))
    scene.until_began("a")
    pid = scene.process(run_id)
    assert os.getsid(pid) == pid, "a session of its own"
    everyone = family(pid)
    assert len(everyone) > 2, "the process, its guardian and the step"
    scene.release("a")
    scene.until_began("b")
    everyone += family(pid)
    scene.release("b")
    scene.until_state(run_id, "completed")
    until_gone(everyone)


def test_it_inherits_no_descriptor(scene: Scene, tmp_path: Path) -> None:
    reading, writing = os.pipe()
    os.set_inheritable(writing, True)
    run_id = detach(scene.write(scene.hold("a")))
    pid = scene.process(run_id)
    os.close(writing)
    assert os.read(reading, 1) == b"", "no other process holds the other end"
    os.close(reading)
    files = {number: os.readlink(f"/proc/{pid}/fd/{number}") for number in (0, 1, 2)}
    assert set(files.values()) == {os.devnull}


def test_another_process_cancels_it(scene: Scene) -> None:
    run_id = detach(scene.write(scene.hold("a"), scene.mark("b")))
    scene.until_began("a")
    everyone = family(scene.process(run_id))
    assert "asked the process" in pflow("runs", "cancel", run_id).out
    scene.until_state(run_id, "cancelled")
    until_gone(everyone)
    assert scene.did() == []


def test_killing_its_process_leaves_it_resumable(scene: Scene) -> None:
    run_id = detach(scene.write(scene.mark("first"), scene.hold("wait", repeatable=True), scene.mark("last")))
    scene.until_began("wait")
    everyone = family(scene.process(run_id))
    os.kill(everyone[0], signal.SIGKILL)
    until_gone(everyone)
    assert scene.state(run_id) == "interrupted"
    scene.release("wait")
    assert pflow("runs", "resume", run_id).code == 0
    assert scene.did() == ["first", "wait", "last"]


@pytest.mark.parametrize("times", [1, 2])
def test_a_signal_lets_its_steps_finish_and_leaves_it_to_the_next_driver(scene: Scene, times: int) -> None:
    run_id = detach(scene.write(scene.hold("wait"), scene.hold("after")))
    scene.until_began("wait")
    pid = scene.process(run_id)
    for _ in range(times):  # as systemd does, which tells each process of a service, and the daemon tells it as well
        os.kill(pid, signal.SIGTERM)
        until(lambda: "\nShdPnd:\t0000000000000000\n" in Path(f"/proc/{pid}/status").read_text(), "it has the signal")
    scene.release("wait")
    until_gone([pid])
    assert (scene.state(run_id), scene.did()) == ("waiting", ["wait"])
    scene.release("after")
    assert pflow("daemon", "--once").code == 0
    assert (scene.state(run_id), scene.did()) == ("completed", ["wait", "after"])


def test_it_runs_where_it_was_begun(scene: Scene) -> None:
    node = {"id": "a", "type": "shell", "params": {"command": "pwd; cat beside.txt"}}
    (scene.folder / "beside.txt").write_text("found")
    run_id = detach(scene.write(node))
    scene.until_state(run_id, "completed")
    assert pflow("trace", run_id, "--field", "outputs.stdout").out == f"{scene.folder}\nfound\n"


def test_secrets_reach_it_over_a_pipe_and_nothing_else_has_them(scene: Scene) -> None:
    step = scene.hold("a")
    step["params"]["env"] = {"TOKEN": "${token}"}
    step["params"]["command"] += '; printf %s "$TOKEN" | wc -c > length'
    document = scene.write(step, inputs={"token": {"type": "string", "secret": True}})
    (scene.folder / "inputs.json").write_text(f'{{"token": "{SECRET}"}}')
    run_id = detach(document, "--inputs", "inputs.json")
    (scene.folder / "inputs.json").unlink()
    scene.until_began("a")
    pid = scene.process(run_id)
    for name in ("cmdline", "environ"):
        assert SECRET.encode() not in Path(f"/proc/{pid}/{name}").read_bytes()
    scene.release("a")
    scene.until_state(run_id, "completed")
    until_gone([pid])
    assert (scene.folder / "length").read_text().strip() == str(len(SECRET))
    holding = [path for path in scene.home.rglob("*") if path.is_file() and SECRET.encode() in path.read_bytes()]
    assert holding == []


def test_a_secret_of_the_environment_is_there_as_well(scene: Scene) -> None:
    step = {"id": "a", "type": "shell", "params": {"command": 'printf %s "$T" | wc -c', "env": {"T": "${my_token}"}}}
    document = scene.write(step, inputs={"my_token": {"type": "string", "secret": True}})
    run_id = detach(document, env={"MY_TOKEN": SECRET})
    scene.until_state(run_id, "completed")
    assert pflow("trace", run_id, "--field", "outputs.stdout").out.strip() == str(len(SECRET))


def refused(done: Ended) -> str:
    assert done.code == 2 and done.out == ""
    assert pflow("runs", "list").out == "", "nothing was recorded"
    return done.err


def test_what_cannot_begin_is_refused_before_anything_is_recorded(scene: Scene) -> None:
    needs = scene.write(scene.mark("a"), inputs={"name": {"type": "string"}})
    assert "1 input missing: `name`" in refused(pflow("run", needs, "--detach"))
    wrong = scene.write({"id": "a", "type": "ecko"}, file="wrong.json")
    assert "ecko" in refused(pflow("run", wrong, "--detach"))
    secret = scene.write(scene.mark("a"), file="s.json", inputs={"key": {"type": "string", "secret": True}})
    assert "`key`" in refused(pflow("run", secret, "--detach"))


def test_a_failed_run_goes_on_detached(scene: Scene) -> None:
    fails = {"id": "b", "type": "shell", "params": {"command": "test -e fixed"}}
    assert pflow("run", scene.write(scene.mark("a"), fails, scene.mark("c"))).code == 1
    (scene.folder / "fixed").touch()
    done = pflow("runs", "resume", "latest", "--detach")
    assert done.code == 0, done.err
    scene.until_state(done.out.strip(), "completed")
    assert scene.did() == ["a", "c"]


def test_an_edited_document_reaches_whoever_drives(scene: Scene) -> None:
    before = scene.write(scene.mark("a"), {"id": "b", "type": "fail", "params": {"message": "no"}})
    assert pflow("run", before).code == 1
    after = scene.write(scene.mark("a"), scene.mark("b"))
    done = pflow("runs", "resume", "latest", "--with", after, "--detach")
    scene.until_state(done.out.strip(), "completed")
    assert scene.did() == ["a", "b"]


def test_what_is_in_doubt_is_asked_about_before_it_is_detached_and_not_again_after(scene: Scene) -> None:
    run_id = detach(scene.write(scene.hold("a")))
    scene.until_began("a")
    everyone = family(scene.process(run_id))
    os.kill(everyone[0], signal.SIGKILL)
    until_gone(everyone)
    asked = pflow("runs", "resume", run_id, "--detach")
    assert asked.code == 4 and "`a`" in asked.err
    assert scene.processes() == []
    assert pflow("runs", "resume", run_id, "--detach", "--rerun-in-doubt").code == 0
    scene.until_began("a", times=2)
    scene.release("a")
    scene.until_state(run_id, "completed")
    assert scene.did() == ["a"]


def test_a_flag_that_is_recorded_nowhere_reaches_it(scene: Scene) -> None:
    code = {"id": "a", "type": "code", "params": {"code": "result = 1", "pure": True}}
    document = scene.write(code)
    assert pflow("run", document).code == 0
    for words, source in (((), "cache"), (("--no-cache",), "run")):
        run_id = detach(document, *words)
        scene.until_state(run_id, "completed")
        assert pflow("trace", run_id, "--step", "a", "--field", "source").out.strip() == source


def test_a_run_that_only_its_program_can_drive_is_not_detached(scene: Scene) -> None:
    def shout(text: str) -> str:
        return text.upper()

    document = {"nodes": [{"id": "a", "type": "shout", "params": {"text": "hey"}}]}
    with Workspace(Home(scene.home), nodes=[shout]) as workspace:
        with pytest.raises(UsageError, match="`shout` is a part of it"):
            workspace.detach(workspace.begin(document))
        assert workspace.runs() == []


def test_a_directory_that_is_gone_is_said_and_the_run_can_be_taken_up_elsewhere(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = scene.folder / "other"
    other.mkdir()
    monkeypatch.chdir(other)
    with Workspace(Home(scene.home)) as workspace:
        run = workspace.begin({"nodes": [scene.mark("a")]})
        run.record()
        monkeypatch.chdir(scene.folder)
        other.rmdir()
        with pytest.raises(RunError, match="cannot be entered") as caught:
            workspace.driving.start_process(run.run_id, lambda: None)
        assert caught.value.suggestions == (f"go on with `pflow runs resume {run.run_id}`",)
    assert scene.state(run.run_id) == "waiting"
    assert pflow("runs", "resume", run.run_id).code == 0
    assert scene.did() == ["a"]


def test_a_run_that_cannot_be_detached_because_it_is_running_says_so(scene: Scene) -> None:
    run_id = detach(scene.write(scene.hold("a")))
    again = pflow("runs", "resume", run_id, "--detach", "--json")
    assert (again.code, again.json["error"]["type"]) == (1, "already_running")


def test_one_that_waits_for_its_process_is_cancelled_for_good(scene: Scene) -> None:
    with Workspace(Home(scene.home)) as workspace:
        run = workspace.begin({"nodes": [scene.mark("a")]})
        run.record()
        assert workspace.cancel(run.run_id) == "cancelled"
        with pytest.raises(ConflictError):
            workspace.driving.start_process(run.run_id, lambda: None)
    assert (scene.state(run.run_id), scene.did()) == ("cancelled", [])


def test_doubts_are_not_settled_by_detaching(scene: Scene) -> None:
    with Workspace(Home(scene.home)) as workspace:
        run_id = detach(scene.write(scene.hold("a")))
        scene.until_began("a")
        everyone = family(scene.process(run_id))
        os.kill(everyone[0], signal.SIGKILL)
        until_gone(everyone)
        with pytest.raises(InDoubtError):
            workspace.detach(workspace.begin_resume(run_id))
    assert scene.state(run_id) == "stopped"


def test_where_nobody_else_drives_its_process_stays_for_what_comes_by_itself(scene: Scene) -> None:
    wait = {"id": "wait", "params": {"for": "2h"}}
    run_id = detach(scene.write(scene.mark("before"), wait, scene.mark("after")), env={"PFLOW_NOW": scene.turn(0)})
    with Workspace(Home(scene.home)) as workspace:
        until(lambda: workspace.waiting(run_id), "the wait")
    assert (scene.state(run_id), len(scene.processes(run_id))) == ("running", 1)
    scene.turn(2 * 3600 + 1)
    scene.until_state(run_id, "completed")
    assert scene.did() == ["before", "after"]


def test_where_somebody_drives_its_process_ends_when_the_run_waits_for_long(scene: Scene, tmp_path: Path) -> None:
    env: dict[str, str | None] = {"PFLOW_NOW": scene.turn(0)}
    scene.daemon(folder=tmp_path, env={"PFLOW_NOW": str(env["PFLOW_NOW"])})
    scene.until_driven()
    wait = {"id": "wait", "params": {"for": "2h"}}
    run_id = detach(scene.write(wait, scene.mark("after")), env=env)
    scene.until_state(run_id, "waiting")
    until(lambda: scene.processes() == [], "the end of its process")
    scene.turn(2 * 3600 + 1)
    scene.until_state(run_id, "completed")


def test_for_an_answer_no_process_stays_and_one_comes_with_it(scene: Scene) -> None:
    ask = {"id": "ask", "params": {"prompt": "Go on?", "choices": ["yes", "no"]}}
    run_id = detach(scene.write(ask, scene.mark("after")))
    scene.until_state(run_id, "waiting")
    until(lambda: scene.processes() == [], "the end of its process")
    with Workspace(Home(scene.home)) as workspace:
        workspace.answer(run_id, choice="yes")
        workspace.driving.take_up(run_id)
    scene.until_state(run_id, "completed")
    assert scene.did() == ["after"]


@pytest.mark.slow
def test_twenty_at_once_each_do_their_work_once(scene: Scene) -> None:
    with Workspace(Home(scene.home)) as workspace, ThreadPoolExecutor(20) as threads:
        runs = [workspace.begin({"nodes": [scene.hold("a"), scene.mark(f"m{n}")]}) for n in range(20)]
        infos = list(threads.map(workspace.detach, runs))
        assert {info.state for info in infos} == {"running"}
        pids = [scene.process(run.run_id) for run in runs]
        scene.release("a")
        for run in runs:
            scene.until_state(run.run_id, "completed")
        until_gone(pids)
    did = scene.did()
    assert sorted(did) == sorted(["a"] * 20 + [f"m{n}" for n in range(20)])
    until(lambda: scene.processes() == [], "the end of all processes")
