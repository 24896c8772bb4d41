"""What every dispatch does, shown on each of them by the same tests."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from dev_place import Cluster, Worker
from pflow.core.errors import NotFoundError
from pflow.core.file.home import Home
from pflow.engine.ports import Dispatch, RunInfo
from pflow.execution.live_run import LiveRun
from pflow.testing import MemoryDispatch, MemoryJournal, MemoryStore
from pflow.workspace import Workspace
from pflow.workspace.driving.driver import Driver
from tests.robust.world import until
from tests.workspace.driving.scene import Scene

Finish = Callable[[str], str]
"""Lets those who drive do so until a run has ended; how it stands then."""


class World:
    """A workspace whose dispatch is looked at."""

    def __init__(
        self,
        workspace: Workspace,
        dispatch: Dispatch,
        scene: Scene,
        finish: Finish,
        get_ready: Callable[[], object] = lambda: None,
    ) -> None:
        self.workspace = workspace
        self.dispatch = dispatch
        self.scene = scene
        self.finish = finish
        self._get_ready = get_ready

    def begin(self, *nodes: dict[str, Any]) -> LiveRun:
        """A run of these nodes."""
        self._get_ready()
        return self.workspace.begin({"nodes": list(nodes)})


@pytest.fixture(params=["memory", "process", pytest.param("temporal", marks=pytest.mark.needs("postgres", "temporal"))])
def world(request: pytest.FixtureRequest, tmp_path: Path, home: Path) -> Iterator[World]:
    scene = Scene(tmp_path, home)
    if request.param == "temporal":
        yield from _far_world(request.getfixturevalue("cluster"), scene)
        return
    if request.param == "process":
        with Workspace(Home(home)) as workspace:

            def wait(run_id: str) -> str:
                ended = ("completed", "failed", "cancelled")
                until(lambda: workspace.driving.info(run_id).state in ended, "the end of the run")
                return workspace.driving.info(run_id).state

            yield World(workspace, workspace._wiring.dispatch, scene, wait)
            scene.close()
        return
    store = MemoryStore()
    journal = MemoryJournal(store)
    dispatch = MemoryDispatch(journal)
    driven = Workspace(Home(home), journal=MemoryJournal(store), driven=True)

    async def take_up(info: RunInfo, begun: Callable[[], None]) -> str:
        return (await driven.begin_resume(info.run_id).finish()).status

    def drive(run_id: str) -> str:
        asyncio.run(_drive(lambda: Driver(lambda: driven.driving, take_up, say=lambda _: None)))
        return driven.driving.info(run_id).state

    with Workspace(Home(home), journal=journal, dispatch=dispatch) as workspace:
        yield World(workspace, dispatch, scene, drive)


def _far_world(cluster: Cluster, scene: Scene) -> Iterator[World]:
    """A place whose first worker starts before the first run: what nobody could drive is not begun."""
    with Workspace(Home(scene.home)) as workspace:
        for name, value in {
            **cluster.settings,
            "on.dev.queue": scene.folder.name,
            "on.dev.lease": "60",  # more than a busy machine takes
        }.items():
            workspace.set_setting(name, value)
    workers: list[Worker] = []
    environ = {**os.environ, **cluster.environment(scene.home)}
    with Workspace(Home(scene.home), on="dev", environ=environ) as workspace:

        def start() -> None:
            workers.append(cluster.start_worker(scene.home))
            queue = scene.folder.name
            until(lambda: any(row.queue == queue for row in workspace.place_workers.list()), "a worker")

        def wait(run_id: str) -> str:
            ended = ("completed", "failed", "cancelled")
            until(lambda: workspace.driving.info(run_id).state in ended, "the end of the run")
            return workspace.driving.info(run_id).state

        yield World(workspace, workspace._wiring.dispatch, scene, wait, start)
    for worker in workers:
        worker.end_if_alive()
    scene.close()


async def _drive(make: Callable[[], Driver]) -> None:
    await make().work(once=True)


def test_a_run_that_is_submitted_is_driven_by_others_to_its_end(world: World) -> None:
    run = world.begin(world.scene.mark("a"), world.scene.mark("b"))
    world.dispatch.submit(run.run_id, run.record())
    assert world.finish(run.run_id) == "completed"
    assert world.scene.did() == ["a", "b"]


def test_what_is_submitted_twice_happens_once(world: World) -> None:
    run = world.begin(world.scene.hold("a"))
    unrecorded = run.record()
    for _ in range(2):
        world.dispatch.submit(run.run_id, unrecorded)
    world.scene.release("a")
    assert world.finish(run.run_id) == "completed"
    assert world.scene.did() == ["a"]


def test_a_run_that_nobody_recorded_cannot_be_submitted(world: World) -> None:
    with pytest.raises(NotFoundError):
        world.dispatch.submit("20261116-035930-d4915dc585d19f46")


def test_a_run_that_has_ended_is_not_driven_again(world: World) -> None:
    run = world.begin(world.scene.mark("a"))
    run.record()
    world.workspace.cancel(run.run_id)
    world.dispatch.answer(run.run_id)
    world.dispatch.cancel(run.run_id)
    assert world.finish(run.run_id) == "cancelled"
    assert world.scene.did() == []


def test_nobody_drives_until_somebody_says_so(world: World) -> None:
    assert not world.dispatch.is_driven()
