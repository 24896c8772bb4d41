"""Commands that use a place with workers: a real Postgres, a real Temporal, and workers that are processes."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest

from dev_place import Cluster, Worker
from pflow.core.file.home import Home
from pflow.engine.ports import RunInfo
from pflow.workspace import Workspace
from tests.cli.conftest import Pflow, pflow, registry_file
from tests.cluster import cluster
from tests.robust.world import until
from tests.workspace.driving.scene import Scene

__all__ = ["cluster", "pflow", "registry_file"]

_QUEUES = count(1)


class Far:
    """A place that a test alone uses: its own queue, and the workers that it starts."""

    def __init__(self, cluster: Cluster, scene: Scene, pflow: Pflow) -> None:
        self.cluster = cluster
        self.scene = scene
        self.pflow = pflow
        self.home = scene.home
        self._workers: list[Worker] = []

    def worker(self, *words: str, home: Path | None = None, **env: str) -> Worker:
        """One more worker, which takes runs already."""
        worker = self.cluster.start_worker(home or self.home, *words, env=env)
        self._workers.append(worker)
        until(worker.is_ready, "a worker")
        return worker

    def workspace(self) -> Workspace:
        """The place, seen from a program."""
        return Workspace(Home(self.home), on="dev")

    def runs(self) -> list[RunInfo]:
        """All runs of the place."""
        with self.workspace() as workspace:
            return list(workspace.runs(1000))

    def state(self, run_id: str) -> str:
        """How a run stands."""
        with self.workspace() as workspace:
            return workspace.driving.info(run_id).state

    def until_state(self, run_id: str, *states: str) -> str:
        """Wait until a run stands like that."""
        until(lambda: self.state(run_id) in states, f"run {run_id} is {' or '.join(states)}")
        return self.state(run_id)

    def until_asks(self, run_id: str) -> None:
        """Wait until a step of a run waits for somebody or something. Before a worker has it, a run waits for that."""
        with self.workspace() as workspace:
            until(lambda: workspace.waiting(run_id), f"run {run_id} waits at a step")

    def detach(self, document: str, *words: str) -> str:
        """Have a document run; the id of the run."""
        said = self.pflow("run", document, *words, "--on", "dev", "--detach")
        assert said.code == 0, said
        return said.out.strip()

    def end(self) -> None:
        """End the workers that still run."""
        for worker in self._workers:
            worker.end_if_alive()
        self.scene.close()


@pytest.fixture
def lease() -> int:
    """Seconds after which workers lose their runs: more than a busy machine takes, where no test waits for that."""
    return 60


@pytest.fixture
def far(
    cluster: Cluster, pflow: Pflow, tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch, lease: int
) -> Iterator[Far]:
    """A home that knows the place, with a queue of its own and no worker yet."""
    for name, value in cluster.environment(home).items():
        monkeypatch.setenv(name, value)
    with Workspace(Home(home)) as workspace:
        own = {"on.dev.queue": f"queue-{next(_QUEUES)}", "on.dev.lease": str(lease)}
        for name, value in {**cluster.settings, **own}.items():
            workspace.set_setting(name, value)
    made = Far(cluster, Scene(tmp_path, home), pflow)
    yield made
    made.end()
