"""What importing and starting pflow loads, seen from outside in processes of their own."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.conventions.source import ROOT

FORBIDDEN = {"mcp", "pydantic", "rich", "starlette", "httpx2", "numpy", "pg8000", "temporalio", "genai_prices"}
UNUSED = {
    "cli.text",
    "core.clock",
    "core.document.declared",
    "core.document.yaml_text",
    "core.error_text",
    "core.other_words",
    "core.setting.secret_encoding",
    "core.text_hint",
    "engine.attempt.until",
    "engine.ending.child",
    "engine.ending.reopening",
    "engine.keeping.step",
    "execution.parsed",
    "execution.run_lookup",
    "pipeline.flag",
    "registry.search",
    "workspace.one_step",
}
"""Modules for what a short run of a JSON document does not do: fail, go on, wait, keep, or have workflows inside."""
NOT_FOR_A_PAGE = (
    "workspace",
    "execution",
    "engine",
    "registry",
    "adapters",
    "drawing",
    "core.document",
    "core.library",
)
"""Rooms that the page needs only once somebody looks at it."""
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


def test_a_short_run_loads_nothing_that_it_does_not_use(home: Path) -> None:
    words = ("-X", "importtime", "-m", "pflow", "run", "examples/hello.json", "name=Ada", "--no-cache")
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
    assert {f"pflow.{name}" for name in UNUSED} & names == set()


def test_the_page_is_served_before_anything_about_runs_is_loaded(home: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-X", "importtime", "-m", "pflow", "ui", "--no-open", "--port", "0"],
        cwd=ROOT,
        env={**os.environ, "PFLOW_HOME": str(home)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline().startswith("http://127.0.0.1:")
    finally:
        process.terminate()
        _, errors = process.communicate(timeout=60)
    names = {line.rpartition("|")[2].strip() for line in errors.splitlines() if line.startswith("import time:")}
    assert "pflow.web.serve" in names
    rooms = tuple(f"pflow.{room}" for room in NOT_FOR_A_PAGE)
    assert {name for name in names if name.startswith(rooms)} == set()
    assert {"sqlite3", "yaml", "jsonschema_rs", "importlib.resources"} & names == set()
