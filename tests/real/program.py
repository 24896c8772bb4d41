"""pflow as a program with a home of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any


class Program:
    """Runs pflow, a new process for every command."""

    def __init__(self, home: Path) -> None:
        self.home = home

    def __call__(self, *words: str, code: int = 0) -> Any:
        """The answer of a command, as JSON."""
        done = subprocess.run(
            [sys.executable, "-m", "pflow", *_with_json(words)],
            env={**os.environ, "HOME": str(self.home), "PFLOW_HOME": str(self.home / ".pflow")},
            cwd=self.home,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=110,
        )
        assert done.returncode == code, done.stdout + done.stderr
        return json.loads(done.stdout)


def _with_json(words: tuple[str, ...]) -> list[str]:
    """The words with `--json` before those that are another program's."""
    at = words.index("--") if "--" in words else len(words)
    return [*words[:at], "--json", *words[at:]]
