"""The command line as a person uses it: words in, exit code, stdout and stderr out."""

from __future__ import annotations

import io
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pflow.cli.main import run_command
from pflow.core.file.home import Home
from pflow.execution.wiring import Parts
from pflow.registry.registry import Registry


class Said:
    """What a command said and how it ended."""

    def __init__(self, code: int, out: str, err: str) -> None:
        self.code = code
        self.out = out
        self.err = err

    def __repr__(self) -> str:
        return f"exit {self.code}\n--- stdout\n{self.out}--- stderr\n{self.err}"

    @property
    def json(self) -> Any:
        """The one JSON object on stdout."""
        return json.loads(self.out)

    @property
    def steady(self) -> str:
        """stderr without what differs from run to run."""
        return re.sub(r"[0-9]{8}-[0-9]{6}-[0-9a-f]{16}", "RUN", self.err)


Pflow = Callable[..., Said]


@pytest.fixture(scope="session")
def registry_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The node types, found once: reading all sources again for every test would cost most of its time."""
    root = tmp_path_factory.mktemp("registry")
    Registry.load(Home(root)).save()
    return root / "registry.json"


@pytest.fixture
def pflow(
    tmp_path: Path,
    home: Path,
    registry_file: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfdbinary: pytest.CaptureFixture[bytes],
) -> Pflow:
    """Runs the command line in this process, in an empty folder, with `stdin` as its input, `/dev/null` without one."""
    monkeypatch.chdir(tmp_path)
    home.mkdir(mode=0o700)
    shutil.copy(registry_file, home)

    def run(*words: str, stdin: str | bytes | None = None, parts: Parts | None = None) -> Said:
        data = stdin.encode() if isinstance(stdin, str) else stdin
        capfdbinary.readouterr()
        with open(os.devnull, "rb") if data is None else io.BytesIO(data) as source:
            monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(source))
            try:
                code = run_command(words, parts)
            except SystemExit as end:  # completion ends the program by itself
                code = int(end.code or 0)
        sys.stdout.flush()
        out, err = capfdbinary.readouterr()
        return Said(code, out.decode(), err.decode())

    return run


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., str]:
    """Writes a document of the given nodes to a file and returns its name."""

    def make(file: str, *nodes: dict[str, object], **more: object) -> str:
        (tmp_path / file).write_text(json.dumps({"nodes": list(nodes), **more}))
        return file

    return make


def spawn(*words: str, cwd: Path, **more: Any) -> subprocess.Popen[bytes]:
    """Starts the program as a process of its own."""
    settings: dict[str, Any] = {
        "stdin": subprocess.DEVNULL,
        "stdout": subprocess.PIPE,
        "stderr": subprocess.PIPE,
        "env": {**os.environ, **more.pop("env", {})},
    }
    return subprocess.Popen([sys.executable, "-m", "pflow", *words], cwd=cwd, **{**settings, **more})
