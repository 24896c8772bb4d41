"""Waiting: what a run costs that has asked a question and has no answer."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from bench.measure import child_environment
from bench.row import Row

ASKS = {
    "nodes": [
        {"id": "work", "type": "shell", "params": {"command": "true"}},
        {"id": "review", "type": "ask", "params": {"prompt": "Go on?", "choices": ["yes", "no"]}},
        {"id": "pause", "type": "wait", "params": {"for": "1d"}},
    ]
}
WAITING = 4


def rows() -> list[Row]:
    with tempfile.TemporaryDirectory(prefix="pflow-bench-") as folder:
        home = Path(folder)
        document = home / "asks.json"
        document.write_text(json.dumps(ASKS))
        pflow = str(Path(sys.executable).with_name("pflow"))
        run = subprocess.Popen(
            [pflow, "run", str(document)],
            env=child_environment(home),
            cwd=home,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        if run.wait() != WAITING:
            raise RuntimeError(f"a run that asks ended with {run.returncode}")
        left = sum(_session(entry) == run.pid for entry in os.listdir("/proc") if entry.isdecimal())
    return [
        Row(
            group="waiting",
            what="processes of a run that waits for an answer",
            us=left,
            unit="processes",
            rule="most",
            limit=0,
        )
    ]


def _session(pid: str) -> int:
    try:
        return os.getsid(int(pid))
    except OSError:
        return -1
