"""A server that is up takes up runs that are due, and they outlive it."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from typing import Any

import pytest

from pflow.core.file.home import Home
from pflow.workspace import Workspace
from tests.mcp_server.raw import Raw
from tests.robust.world import until
from tests.workspace.driving.scene import Scene
from tests.workspace.driving.test_daemon import hand_over


@pytest.fixture
def server(scene: Scene) -> Iterator[Raw]:
    """A server of the scene's home."""
    started = Raw(scene.home)
    started.meet()
    yield started
    started.kill()


def test_a_server_takes_up_what_is_due_and_the_run_outlives_it(scene: Scene, server: Raw) -> None:
    run_id = hand_over(scene, scene.hold("wait"), scene.mark("after"))
    scene.until_began("wait")
    with Workspace(Home(scene.home)) as workspace:
        assert workspace.is_driven()
        server.process.send_signal(signal.SIGKILL)
        server.end()
        assert not workspace.is_driven()
    scene.release("wait")
    scene.until_state(run_id, "completed")
    assert scene.did() == ["wait", "after"]


def test_a_server_leaves_everything_to_the_daemon_of_its_home(scene: Scene, server: Raw) -> None:
    scene.daemon()
    with Workspace(Home(scene.home)) as workspace:
        until(lambda: len(list((scene.home / "drivers").glob("*.lock"))) == 2, "both are there")
        run_id = hand_over(scene, scene.hold("wait"))
        scene.until_began("wait")
        assert scene.processes(run_id) == [], "the daemon drives it"
        scene.release("wait")
        scene.until_state(run_id, "completed")
        server.process.send_signal(signal.SIGTERM)
        assert server.end()[0] == 143
        assert workspace.is_driven()


@pytest.mark.slow
def test_a_server_takes_up_a_run_of_a_schedule_by_the_rules_of_the_schedule(scene: Scene, server: Raw) -> None:
    ask = {"id": "ask", "type": "ask", "params": {"prompt": "Go on?", "choices": ["go"]}}
    tell = {"id": "tell", "type": "shell", "params": {"command": "echo $PATH ${error} >> told"}}
    with Workspace(Home(scene.home)) as workspace:
        workspace.save({"nodes": [ask, scene.hold("long")]}, "job")
        workspace.save({"inputs": {"error": {"type": "string"}}, "nodes": [tell]}, "tell")
        terms: dict[str, Any] = {"timeout": "2s", "on_failure": "tell", "path": f"/elsewhere:{os.environ['PATH']}"}
        workspace.schedules.add("job", "0 0 1 1 *", **terms)
        outcome = workspace.schedules.run("job").outcome
        assert outcome is not None
        assert outcome.status == "waiting"
        workspace.answer(outcome.run_id, choice="go")
        scene.until_state(outcome.run_id, "stopped")
        note = "the run was stopped (it took longer than 2 s, the timeout of its schedule); it can be resumed"
        until(lambda: [view.last and view.last.note for view in workspace.schedules.list()] == [note], "word of it")
    assert (scene.folder / "told").read_text().startswith("/elsewhere:")
    assert scene.did() == []
