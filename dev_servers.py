"""Installs the real MCP servers that tests and benchmarks talk to, exactly these versions, into `.cache/servers`."""

from __future__ import annotations

import shutil
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from dev_install import (
    CACHE,
    EXE,
    SCRIPTS,
    SetupError,
    create,
    exclusive,
    install,
    place,
    python_of,
    quietly,
    report,
    say,
)

FOLDER = CACHE / "servers"
STAMP = "installed"

NODE_SCOPE = "@modelcontextprotocol"
NODE = {"everything": "2026.8.31", "filesystem": "2026.8.31", "memory": "2026.8.31"}
"""Servers of npm, all in one folder."""

PYTHON = {
    "git": ("mcp-server-git==2026.10.19", "mcp==2.3.0"),
    "sqlite": ("mcp-server-sqlite==2025.4.25", "mcp==1.30.0"),
    "time": ("mcp-server-time==2026.10.19", "mcp==2.3.0"),
}
"""Servers of PyPI, each in an environment of its own, with the SDK that it runs on."""


def command(name: str) -> list[str]:
    """How to start a server, without arguments of its own."""
    return ["node", str(script(name))] if name in NODE else [str(program(name))]


def script(name: str) -> Path:
    """What node runs."""
    return FOLDER / "npm" / "node_modules" / NODE_SCOPE / f"server-{name}" / "dist" / "index.js"


def program(name: str) -> Path:
    """What starts a Python server."""
    return FOLDER / name / SCRIPTS / f"mcp-server-{name}{EXE}"


def missing() -> list[str]:
    """Which of the servers are not installed as they should be; `npm` stands for those of npm."""
    return [part for part in ("npm", *PYTHON) if not is_current(part)]


def is_current(part: str) -> bool:
    """Whether an installation ran to its end here, of these versions, and its programs are still there."""
    programs = [script(name) for name in NODE] if part == "npm" else [program(part), python_of(FOLDER / part)]
    try:
        stamp = (FOLDER / part / STAMP).read_text()
    except OSError:
        return False
    return stamp == fingerprint(part) and all(path.exists() for path in programs)


def fingerprint(part: str) -> str:
    """Changes when the installation would."""
    if part == "npm":
        return "\n".join(packages())
    return "\n".join([place(FOLDER / part), *PYTHON[part]])


def packages() -> list[str]:
    """What npm installs."""
    return [f"{NODE_SCOPE}/server-{name}@{version}" for name, version in NODE.items()]


def ensure() -> list[str]:
    """Install what is missing, side by side; what went wrong."""
    if not missing():
        return []
    with exclusive("servers"):
        parts = missing()
        if not parts:
            return []
        say(f"installing MCP servers into .cache/servers (once): {', '.join(parts)} …")
        began = time.monotonic()
        with ThreadPoolExecutor(len(parts)) as pool:
            failures = [failure for failure in pool.map(attempt, parts) if failure]
        say(f"installed in {time.monotonic() - began:.0f} s" if not failures else "not all could be installed")
        return failures


def attempt(part: str) -> str | None:
    """Install one part from nothing; what went wrong, or nothing."""
    folder = FOLDER / part
    shutil.rmtree(folder, ignore_errors=True)
    try:
        if part == "npm":
            install_node(folder)
        else:
            install_python(folder, PYTHON[part])
    except SetupError as error:
        return f"MCP servers, {part}: {error}"
    (folder / STAMP).write_text(fingerprint(part))
    return None


def install_node(folder: Path) -> None:
    """All servers of npm at once."""
    npm = shutil.which("npm")
    if npm is None or shutil.which("node") is None:
        raise SetupError("there is no node or no npm here; install Node.js 20 or newer")
    folder.mkdir(parents=True)
    silent = ("--no-audit", "--no-fund", "--ignore-scripts", "--no-package-lock", "--loglevel=error")
    line = [npm, "install", "--prefix", str(folder), *silent, *packages()]
    done = quietly(line)
    if done.returncode:
        raise SetupError("npm could not install them\n" + report(line, done))


def install_python(folder: Path, wanted: Sequence[str]) -> None:
    """One server of PyPI."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    create(folder)
    failure = install(folder, wanted)
    if failure is not None:
        raise SetupError(failure)


def install_missing() -> None:
    """Install what is missing. Raises `SetupError` with all that went wrong."""
    failures = ensure()
    if failures:
        raise SetupError("\n".join(failures))
