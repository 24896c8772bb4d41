"""What importing and starting pflow loads, seen from outside in processes of their own."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.conventions.source import ROOT

FORBIDDEN = {"mcp", "pydantic", "rich", "starlette", "httpx2", "numpy", "pg8000", "temporalio", "genai_prices"}
NOT_FOR_VERSION = FORBIDDEN | {"asyncio", "sqlite3", "yaml", "jsonschema_rs", "orjson", "click", "subprocess"}


def loaded(*args: str, home: Path) -> set[str]:
    """Top-level modules that a Python process with these arguments loads, beyond those of an idle one."""
    return imports_of(args, home) - imports_of(("-c", "pass"), home)


def imports_of(args: tuple[str, ...], home: Path) -> set[str]:
    """Top-level modules a process imports, as Python itself lists them."""
    done = subprocess.run(
        [sys.executable, "-X", "importtime", *args],
        cwd=ROOT,
        env={**os.environ, "PFLOW_HOME": str(home)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    lines = [line for line in done.stderr.splitlines() if line.startswith("import time:")]
    return {line.rpartition("|")[2].strip().partition(".")[0] for line in lines}


def test_importing_pflow_loads_nothing_else(home: Path) -> None:
    assert loaded("-c", "import pflow", home=home) <= {"pflow", "__future__"}


def test_the_version_loads_almost_nothing(home: Path) -> None:
    assert loaded("-m", "pflow", "--version", home=home) & NOT_FOR_VERSION == set()


@pytest.mark.parametrize(
    "command",
    [
        pytest.param(("run", "examples/hello.json", "name=Ada"), id="run"),
        pytest.param(("workflow", "list"), id="list"),
        pytest.param(("validate", "examples/hello.json"), id="validate"),
        pytest.param(("registry", "list"), id="registry"),
        pytest.param(("runs", "list"), id="runs"),
    ],
)
def test_a_command_loads_nothing_it_does_not_need(command: tuple[Any, ...], home: Path) -> None:
    assert loaded("-m", "pflow", *command, home=home) & FORBIDDEN == set()


def test_a_run_without_a_model_loads_nothing_about_models(home: Path) -> None:
    words = ("-X", "importtime", "-m", "pflow", "run", "examples/hello.json", "name=Ada")
    done = subprocess.run(
        [sys.executable, *words],
        cwd=ROOT,
        env={**os.environ, "PFLOW_HOME": str(home)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0
    names = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    door = {"pflow.workspace.model", "pflow.workspace.model.modelling"}  # which loads the rest when it is opened
    assert {name for name in names if name.startswith("pflow.") and ".model" in name} - door == set()
