"""Runs of a place that go on in another way than they began: failed items, forks, doubts that are settled."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from tests.far.conftest import Far
from tests.robust.world import until

KEEPER = """
from pocketflow import Node
from pflow.engine.context import current_step


class Keeper(Node):
    \"\"\"Keep a file with the run.

    Interface:
    - Writes: path: str
    \"\"\"

    def exec(self, _):
        path = current_step().folder() / "kept.txt"
        path.write_text("kept")
        return str(path)

    def post(self, shared, _, path):
        shared["path"] = path
"""

pytestmark = pytest.mark.needs("postgres", "temporal")


@pytest.mark.slow
def test_items_that_failed_run_again_at_the_place(far: Far) -> None:
    far.worker()
    code = "import pathlib\nif n == 2 and not pathlib.Path(flag).exists():\n    raise ValueError('two')\nresult = n"
    params = {"code": code, "inputs": {"n": "${item}", "flag": str(far.scene.folder / "mended")}}
    batch = {"items": [1, 2, 3], "on_error": "continue"}
    document = far.scene.write({"id": "each", "type": "code", "params": params, "batch": batch})
    said = far.pflow("run", document, "--on", "dev", "--json")
    assert said.code == 0, said
    assert [one and one["result"] for one in said.json["data"]["outputs"]["results"]] == [1, None, 3]
    far.scene.folder.joinpath("mended").touch()
    run_id = said.json["data"]["run_id"]
    again = far.pflow("runs", "resume", run_id, "--failed-items", "--on", "dev", "--json")
    assert again.code == 0, again
    assert [one and one["result"] for one in again.json["data"]["outputs"]["results"]] == [1, 2, 3]


def test_a_fork_goes_on_from_a_step_at_the_place(far: Far) -> None:
    far.worker()
    document = far.scene.write(far.scene.mark("a"), far.scene.mark("b"))
    said = far.pflow("run", document, "--on", "dev", "--json")
    forked = far.pflow("runs", "fork", said.json["data"]["run_id"], "--from", "b", "--on", "dev", "--json")
    assert forked.code == 0, forked
    assert far.scene.did() == ["a", "b", "b"]


@pytest.mark.slow
@pytest.mark.parametrize("lease", [3])  # it waits until that is over
def test_a_takeover_says_which_files_of_the_run_are_gone(far: Far) -> None:
    first = far.worker()
    path = str(far.scene.folder / "elsewhere" / "runs")
    made = "import pathlib\np = pathlib.Path(folder) / run / 'report.txt'\n"
    code = made + "p.parent.mkdir(parents=True)\np.touch()\nresult = str(p)"
    make = {"id": "make", "type": "code", "params": {"code": code, "inputs": {"folder": path, "run": "${run.id}"}}}
    run_id = far.detach(far.scene.write(make, far.scene.hold("b", repeatable=True)))
    far.scene.until_began("b")
    first.end(signal.SIGKILL)
    lost = far.scene.folder / "elsewhere" / "runs" / run_id / "report.txt"
    lost.unlink()  # as on a machine that never had it
    second = far.worker()
    far.scene.release("b")
    far.until_state(run_id, "completed")
    assert f"`{lost}` is not here" in second.said
    shown = far.pflow("runs", "show", run_id, "--on", "dev", "--json").json["data"]
    assert shown["lost_files"] == [str(lost)]


def test_files_of_runs_are_in_the_directory_that_workers_share(far: Far, tmp_path: Path) -> None:
    assert far.pflow("settings", "set", "on.dev.files", str(tmp_path / "shared")).code == 0
    nodes = far.home / "nodes"
    nodes.mkdir(exist_ok=True)
    nodes.joinpath("keeper.py").write_text(KEEPER)
    assert far.pflow("registry", "scan").code == 0
    far.worker()
    run = far.pflow("run", far.scene.write({"id": "a", "type": "keeper", "params": {}}), "--on", "dev", "--json")
    assert run.code == 0, run
    assert (tmp_path / "shared" / run.json["data"]["run_id"] / "kept.txt").read_text() == "kept"


def test_a_run_that_waits_is_cancelled_by_a_worker_which_does_what_comes_last(far: Far) -> None:
    far.worker()
    asks = {"id": "ok", "type": "ask", "params": {"prompt": "Go on?", "choices": ["yes"]}}
    last = {"id": "last", "type": "shell", "params": {"command": "echo $PPID > last", "cwd": str(far.scene.folder)}}
    run_id = far.detach(far.scene.write(asks, last, **{"finally": "last"}))
    with far.workspace() as workspace:
        until(lambda: workspace.waiting(run_id), "the question")
    assert far.pflow("runs", "cancel", run_id, "--on", "dev").code == 0
    assert far.until_state(run_id, "cancelled") == "cancelled"
    assert int((far.scene.folder / "last").read_text()) != os.getpid()


def test_old_runs_of_a_place_are_deleted_and_others_stay(far: Far) -> None:
    far.worker()
    document = far.scene.write({"id": "a", "type": "echo", "params": {"x": 1}})
    run_id = far.pflow("run", document, "--on", "dev", "--json").json["data"]["run_id"]
    assert far.pflow("journal", "clean", "--older-than", "1d", "--on", "dev").code == 0
    assert far.state(run_id) == "completed"
    wrong = far.pflow("journal", "clean", "--older-than", "old", "--on", "dev")
    assert (wrong.code, "is not a span of time" in wrong.err) == (2, True)
    with far.workspace() as workspace, workspace._wiring.place_database.using() as session:
        session.rows("UPDATE pflow.runs SET ended_at = ended_at - 864000 WHERE run_id = $1", run_id)
    assert far.pflow("settings", "set", "on.dev.keep_days", "3").code == 0
    keeper = far.worker()
    until(lambda: "that ended more than 3 days ago" in keeper.said, "the deletion")
    gone = far.pflow("runs", "show", run_id, "--on", "dev")
    assert (gone.code, "there is no run" in gone.err) == (2, True), gone
