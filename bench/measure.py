"""Ways to measure: CPU of processes, and functions in fresh processes; always the least of several tries."""

from __future__ import annotations

import importlib
import json
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

Figures = dict[str, float]
Probe = Callable[[Path], Figures]


def child_environment(home: Path) -> Mapping[str, str]:
    """What measured processes see: their own home, and byte code kept as in any installation."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "PFLOW"))}
    return {**kept, "HOME": str(home), "PFLOW_HOME": str(home / ".pflow"), "PYTHONPATH": str(ROOT)}


def cpu_seconds(commands: Mapping[str, Sequence[str]], home: Path, repeats: int = 20) -> Figures:
    """The least CPU time of each command and its children, taken in turns: all see the same machine."""
    best = dict.fromkeys(commands, float("inf"))
    environment = child_environment(home)
    for _ in range(repeats + 1):  # the first round warms the caches and does no harm to a minimum
        for name, command in commands.items():
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            done = subprocess.run(
                command, env=environment, cwd=home, stdin=subprocess.DEVNULL, capture_output=True, text=True
            )
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            if done.returncode:
                raise RuntimeError(f"{' '.join(command)} failed ({done.returncode}): {done.stderr[-2000:]}")
            spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
            best[name] = min(best[name], spent)
    return best


def in_fresh_process(probe: Probe, repeats: int = 5, pick: Callable[[float, float], float] = min) -> Figures:
    """What `probe` returns, run several times, each in a new process with a new home: the best of each."""
    best: Figures = {}
    target = f"{probe.__module__}:{probe.__qualname__}"
    for _ in range(repeats):
        with tempfile.TemporaryDirectory(prefix="pflow-bench-") as home:
            done = subprocess.run(
                [sys.executable, "-m", "bench.measure", target, home],
                env=child_environment(Path(home)),
                cwd=ROOT,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
            )
            if done.returncode:
                raise RuntimeError(f"{target} failed: {done.stderr[-4000:]}")
            for name, value in json.loads(done.stdout.splitlines()[-1]).items():
                best[name] = pick(best[name], value) if name in best else value
    return best


def disk_bytes(folder: Path) -> int:
    """The size of everything below a folder."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def main(target: str, home: str) -> None:
    """The other end of `in_fresh_process`."""
    module, _, name = target.partition(":")
    probe: Probe = getattr(importlib.import_module(module), name)
    print(json.dumps(probe(Path(home))))


if __name__ == "__main__":
    main(*sys.argv[1:])
