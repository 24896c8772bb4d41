"""Documents whose steps wait for files, and the processes that drive them, seen from outside."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from pflow.core.file.home import Home
from pflow.workspace import Workspace
from tests.robust.world import Forked, until


class Scene:
    """A folder in which steps leave what they did, and wait until they may go on."""

    def __init__(self, folder: Path, home: Path) -> None:
        self.folder = folder
        self.home = home
        self.started: list[Forked] = []
        self.began_at = time.time()

    def write(self, *nodes: dict[str, Any], file: str = "doc.json", **fields: Any) -> str:
        """A document of these nodes, as a file; its path."""
        (self.folder / file).write_text(json.dumps({**fields, "nodes": list(nodes)}))
        return str(self.folder / file)

    def mark(self, name: str, **fields: Any) -> dict[str, Any]:
        """A step that notes that it was done."""
        return self._step(name, f"echo {name} >> did", fields)

    def hold(self, name: str, **fields: Any) -> dict[str, Any]:
        """A step that begins, waits until it is released, and then notes that it was done."""
        command = f"echo $$ >> {name}.began; until [ -e {name}.go ]; do sleep 0.02; done; echo {name} >> did"
        return self._step(name, command, fields)

    def _step(self, name: str, command: str, fields: dict[str, Any]) -> dict[str, Any]:
        return {"id": name, "type": "shell", "params": {"command": command, "cwd": str(self.folder)}, **fields}

    def turn(self, seconds: float) -> str:
        """Set the clock of those who are told where it is, so many seconds ahead; where that is."""
        part = self.folder / "clock.part"
        part.write_text(str(self.began_at + seconds))
        part.replace(self.folder / "clock")
        return str(self.folder / "clock")

    def until_began(self, name: str, times: int = 1) -> list[int]:
        """Wait until a step has begun so often; the processes that it was."""
        file = self.folder / f"{name}.began"
        until(lambda: file.exists() and len(file.read_text().split()) >= times, f"step {name}")
        return [int(word) for word in file.read_text().split()]

    def release(self, name: str) -> None:
        """Let a step go on."""
        (self.folder / f"{name}.go").touch()

    def did(self) -> list[str]:
        """What the steps did, in order."""
        file = self.folder / "did"
        return file.read_text().split() if file.exists() else []

    def state(self, run_id: str) -> str:
        """How a run stands."""
        with Workspace(Home(self.home)) as workspace:
            return next(info.state for info in workspace.runs(100) if info.run_id == run_id)

    def until_state(self, run_id: str, *states: str) -> str:
        """Wait until a run stands like that."""
        until(lambda: self.state(run_id) in states, f"run {run_id} is {' or '.join(states)}")
        return self.state(run_id)

    def daemon(self, *words: str, env: dict[str, str] | None = None, folder: Path | None = None) -> Forked:
        """A daemon of the home, which ends with the test."""
        place = folder or self.folder
        self.started.append(Forked(["daemon", *words], env=env, before=lambda: os.chdir(place)))
        return self.started[-1]

    def client(self, *words: str) -> Forked:
        """A command line that is not waited for, and ends with the test."""
        self.started.append(Forked(words))
        return self.started[-1]

    def until_driven(self) -> None:
        """Wait until somebody takes up runs."""
        with Workspace(Home(self.home)) as workspace:
            until(workspace.is_driven, "a driver")

    def processes(self, run_id: str = "") -> list[int]:
        """The processes that drive a run of this home each; all of them, or that of one run."""
        words = f"PFLOW_HOME={self.home}".encode()
        found: dict[int, int] = {}
        for pid in (int(name) for name in os.listdir("/proc") if name.isdigit()):
            try:
                called = Path(f"/proc/{pid}/cmdline").read_bytes()
                is_ours = words in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
                parent = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
            except OSError:
                continue
            if is_ours and b"pflow.workspace.driving.detached" in called and run_id.encode() in called:
                found[pid] = parent
        return [
            pid for pid, parent in found.items() if parent not in found
        ]  # a child looks like it until it is another

    def process(self, run_id: str) -> int:
        """The one process that drives a run."""
        [pid] = self.processes(run_id)
        return pid

    def close(self) -> None:
        """End everything that a test has left."""
        for process in self.started:
            process.kill(signal.SIGKILL)
            with suppress(ValueError):  # the test has waited for it
                process.wait()
        for pid in self.processes():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def family(pid: int) -> list[int]:
    """A process with all its descendants."""
    parents: dict[int, int] = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                fields = Path(f"/proc/{name}/stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            parents[int(name)] = int(fields[1])
    found = [pid]
    for each in found:
        found += [child for child, parent in parents.items() if parent == each]
    return found


def is_gone(pid: int) -> bool:
    """Whether a process has ended; one that nobody waited for yet has, too."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return True
    return stat.rpartition(b")")[2].split()[0] in (b"Z", b"X")


def until_gone(pids: Sequence[int]) -> None:
    """Wait until no process of these is left."""
    for pid in pids:
        until(lambda: is_gone(pid), f"the end of process {pid}")
