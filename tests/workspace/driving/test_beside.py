"""A server that is up takes up runs that are due, and they outlive it."""

from __future__ import annotations

import signal
from collections.abc import Iterator

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
