"""Builds the wheel, installs it into an empty environment, and tries what its users do first."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path

from dev_install import EXE, ROOT, SCRIPTS, SetupError, create, install, python_of, quietly, report, say

PACKAGE = ROOT / "src" / "pflow"
TOOLS_OF_THE_SERVER = 13

IMPORT = """
import pflow, sys
assert pflow.__file__.startswith(sys.prefix), f"{pflow.__file__} is not the installed one"
print(*(f"{name}={getattr(pflow, name)}" for name in pflow.__all__), sep="\\n")
"""

REQUESTS = (
    {
        "id": 1,
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "dev_wheel", "version": "0"},
        },
    },
    {"method": "notifications/initialized"},
    {"id": 2, "method": "tools/list"},
    {"id": 3, "method": "resources/read", "params": {"uri": "pflow://guide"}},
)


class WheelError(Exception):
    """The wheel is not what its users need; the message says what is missing."""


class Installed:
    """An environment with the wheel and nothing else of this repository, and a home of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.venv = folder / "venv"
        self.environment = {**os.environ, "PFLOW_HOME": str(folder / "home"), "HOME": str(folder)}
        self.environment.pop("PYTHONPATH", None)

    def run(self, program: str, *args: str, stdin: str = "") -> str:
        """Run a program of the environment, away from the repository; what it writes to stdout."""
        command = [str(self.venv / SCRIPTS / f"{program}{EXE}"), *args]
        done = subprocess.run(
            command,
            cwd=self.folder,
            env=self.environment,
            input=stdin,
            capture_output=True,
            text=True,
            timeout=120,
        )
        if done.returncode != 0:
            raise WheelError(f"`{' '.join([program, *args])}` ended with {done.returncode}\n{done.stderr[-2000:]}")
        return done.stdout


def build(folder: Path) -> Path:
    """Build the wheel with the backend that is installed here, so that nothing is downloaded."""
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode != 0:
        raise WheelError(report(command, done))
    (wheel,) = folder.glob("*.whl")
    return wheel


def install_wheel(wheel: Path, folder: Path) -> Installed:
    """Install the wheel alone; its dependencies are those of this environment, one line in a `.pth` file."""
    installed = Installed(folder)
    create(installed.venv)
    failure = install(installed.venv, ["--no-deps", str(wheel)])
    if failure is not None:
        raise WheelError(failure)
    where = quietly([str(python_of(installed.venv)), "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"])
    (Path(where.stdout.strip()) / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return installed


# ---- what is tried


def check_files(wheel: Path) -> None:
    """Every file of the package is in the wheel: modules, the guide, the mark that it is typed."""
    with zipfile.ZipFile(wheel) as archive:
        packed = set(archive.namelist())
    paths = (path for path in PACKAGE.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    missing = sorted({path.relative_to(PACKAGE.parent).as_posix() for path in paths} - packed)
    if missing:
        raise WheelError(f"not in the wheel: {', '.join(missing)}")


def check_version(installed: Installed) -> None:
    """`pflow --version` answers."""
    expect("pflow", installed.run("pflow", "--version"))


def check_import(installed: Installed) -> None:
    """`import pflow` finds the installed package, and its public names are there."""
    expect("Workspace=", installed.run("python", "-c", IMPORT))


def check_run(installed: Installed) -> None:
    """A workflow runs."""
    expect("Ada", installed.run("pflow", "run", str(ROOT / "examples" / "hello.json"), "name=Ada"))


def check_server(installed: Installed) -> None:
    """`pflow serve mcp` lists its tools and finds the guide, a data file."""
    sent = "".join(json.dumps({"jsonrpc": "2.0", **request}) + "\n" for request in REQUESTS)
    lines = installed.run("pflow", "serve", "mcp", stdin=sent).splitlines()
    results = {answer["id"]: answer.get("result", answer) for answer in map(json.loads, lines) if "id" in answer}
    tools = [tool["name"] for tool in results[2].get("tools", ())]
    if len(tools) != TOOLS_OF_THE_SERVER:
        raise WheelError(f"`pflow serve mcp` lists {len(tools)} tools, not {TOOLS_OF_THE_SERVER}: {tools}")
    expect("Building workflows with pflow", str(results[3]))


CHECKS: tuple[Callable[[Installed], None], ...] = (check_version, check_import, check_run, check_server)


def expect(word: str, output: str) -> None:
    """Fail unless a word is in what a program said."""
    if word not in output:
        raise WheelError(f"`{word}` is not in: {output[:500]}")


def main() -> int:
    with tempfile.TemporaryDirectory(prefix="pflow-wheel-") as name:
        folder = Path(name)
        try:
            wheel = build(folder)
            check_files(wheel)
            installed = install_wheel(wheel, folder)
            for check in CHECKS:
                check(installed)
        except (WheelError, SetupError) as error:
            say(f"error: {error}")
            return 1
        say(f"{wheel.name}: {wheel.stat().st_size // 1024} kB, installed and tried")
    return 0


if __name__ == "__main__":
    sys.exit(main())
