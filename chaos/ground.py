"""The place that is disturbed: Postgres, Temporal, workers with a home each, and whom to ask about them."""

from __future__ import annotations

import os
import shutil
import signal
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from chaos.document import SERVER
from dev_cluster import PASSWORD
from dev_install import SetupError
from dev_place import Cluster, Worker
from pflow.core.file.home import Home
from pflow.workspace import Workspace

PATIENCE_SECONDS = 180.0
"""After which something that should happen counts as never happening: many times what it takes."""

_LOOK_SECONDS = 0.05


def until(happened: Callable[[], object], what: str) -> None:
    """Wait for something. Raises `SetupError` if it never happens."""
    end = time.monotonic() + PATIENCE_SECONDS
    while not happened():
        if time.monotonic() > end:
            raise SetupError(f"never happened: {what}")
        time.sleep(_LOOK_SECONDS)


class Machine:
    """A home, and the worker that runs there now; one that was killed is started again."""

    def __init__(self, cluster: Cluster, home: Path) -> None:
        self._cluster = cluster
        self._home = home
        self.worker = cluster.start_worker(home)

    def is_ready(self) -> bool:
        """Whether it takes runs."""
        return self.worker.is_ready()

    def kill(self) -> None:
        """End the worker as a loss of power would, and start another."""
        self.worker.end(signal.SIGKILL)
        self.worker = self._cluster.start_worker(self._home)

    def freeze(self) -> None:
        """Let it stand still."""
        self.worker.send(signal.SIGSTOP)

    def wake(self) -> None:
        """Let it go on."""
        self.worker.send(signal.SIGCONT)

    def has(self) -> set[str]:
        """The runs that it drives, by what it says."""
        return driven(self.worker)

    def took(self) -> list[str]:
        """The runs that it took up, in order, by what it says."""
        return [line.split(":")[0] for line in self.worker.said.splitlines() if line.endswith(": taken up")]


def driven(worker: Worker) -> set[str]:
    """The runs that a worker drives, by what it says."""
    found: set[str] = set()
    for line in worker.said.splitlines():
        run_id, _, rest = line.partition(": ")
        if rest == "taken up":
            found.add(run_id)
        elif rest:
            found.discard(run_id)
    return found


class Ground:
    """Everything that is disturbed. `lease` is in seconds."""

    def __init__(self, workers: int, lease: int) -> None:
        self.lease = lease
        self.cluster = Cluster([sys.executable, "-m", "pflow"], lease=lease)
        self.folder = self.cluster.keeper.folder
        self.effects = self.folder / "effects"
        self.effects.touch()
        try:
            self.home = self._prepare()
            self.machines = [Machine(self.cluster, self._copy(number)) for number in range(workers)]
            until(lambda: all(one.is_ready() for one in self.machines), "workers")
        except BaseException:
            self.cluster.close()
            raise

    def open(self) -> Workspace:
        """The place as a person's program sees it."""
        os.environ[PASSWORD] = self.cluster.postgres.password
        return Workspace(Home(self.home), on="dev")

    def close(self) -> list[str]:
        """End everything; what is left behind, which should be nothing."""
        self.cluster.close()
        end = time.monotonic() + PATIENCE_SECONDS / 6
        while (left := self._left()) and time.monotonic() < end:
            time.sleep(_LOOK_SECONDS)
        return left

    def _prepare(self) -> Path:
        home = self.folder / "person" / ".pflow"
        home.parent.mkdir()
        self.cluster.prepare(home)
        server = str(Path(__file__).parent / "server.py")
        self.cluster.run(home, "mcp", "add", SERVER, "--", sys.executable, server)
        self.cluster.run(home, "mcp", "sync", SERVER, "--yes")
        return home

    def _copy(self, number: int) -> Path:
        home = self.folder / f"machine-{number + 1}" / ".pflow"
        shutil.copytree(self.home, home)
        Home(home).key.unlink(missing_ok=True)  # machines that were set up one by one have none in common
        return home

    def _left(self) -> list[str]:
        """Processes that were started for this place, and its folder."""
        mark = str(self.folder).encode()
        found = [str(self.folder)] if self.folder.exists() else []
        for entry in Path("/proc").iterdir() if Path("/proc").exists() else ():
            if entry.name.isdigit() and int(entry.name) != os.getpid():
                with suppress(OSError):
                    called = (entry / "cmdline").read_bytes()
                    if mark in called or mark in (entry / "environ").read_bytes():
                        found.append(f"process {entry.name}: {called.replace(bytes(1), b' ').decode(errors='replace')}")
        return found
