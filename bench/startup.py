"""Start-up: what the command line costs before it does anything."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

from bench.measure import child_environment, cpu_seconds
from bench.row import Row

FORBIDDEN = ("mcp", "pydantic", "rich", "starlette", "httpx2", "numpy", "pg8000", "temporalio")

TWO_STEPS = {
    "inputs": {"name": {"type": "string"}},
    "nodes": [
        {"id": "greeting", "type": "echo", "params": {"text": "Hello, ${name}!"}},
        {"id": "again", "type": "echo", "params": {"text": "${greeting.text}"}},
    ],
    "outputs": {"text": {"source": "${again.text}"}},
}


def rows() -> list[Row]:
    with tempfile.TemporaryDirectory(prefix="pflow-bench-") as folder:
        home = Path(folder)
        document = home / "two-steps.json"
        document.write_text(json.dumps(TWO_STEPS))
        pflow = str(Path(sys.executable).with_name("pflow"))
        run = [pflow, "run", str(document), "name=Ada", "--no-cache"]
        cpu = cpu_seconds({"floor": [sys.executable, "-c", "pass"], "version": [pflow, "--version"], "run": run}, home)
        loaded = {
            name: forbidden_imports(command, home)
            for name, command in {
                "run": run[1:],
                "list": ["workflow", "list"],
                "validate": ["validate", str(document)],
            }.items()
        }
    floor_note = "floor: python -c pass"
    found = [f"{command}: {', '.join(modules)}" for command, modules in loaded.items() if modules]
    return [
        Row(
            group="startup",
            what="pflow --version, CPU",
            floor=cpu["floor"],
            us=cpu["version"],
            unit="s",
            rule="ratio",
            limit=1.9,
            note=floor_note,
        ),
        Row(
            group="startup",
            what="pflow run of two steps, CPU",
            floor=cpu["floor"],
            us=cpu["run"],
            unit="s",
            rule="ratio",
            limit=10,
            note=floor_note,
        ),
        Row(
            group="startup",
            what="needless modules that run, list, validate import",
            us=sum(len(modules) for modules in loaded.values()),
            unit="modules",
            rule="most",
            limit=0,
            note="; ".join(found),
        ),
    ]


def forbidden_imports(command: list[str], home: Path) -> list[str]:
    """Which of the forbidden packages a command imports."""
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "pflow", *command],
        env=child_environment(home),
        cwd=home,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
    )
    if done.returncode:
        raise RuntimeError(f"pflow {' '.join(command)} failed: {done.stderr[-2000:]}")
    lines = [line for line in done.stderr.splitlines() if line.startswith("import time:")]
    roots = {line.rpartition("|")[2].strip().partition(".")[0] for line in lines}
    return [name for name in FORBIDDEN if name in roots]
