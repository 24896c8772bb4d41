"""Makes virtual environments and installs into them, by uv or pip, whatever there is."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parent
CACHE = (ROOT / ".cache").resolve()
"""What is installed for tests and tools. A checkout may share it by a link: what it holds is tied to its true path."""
SCRIPTS = "Scripts" if os.name == "nt" else "bin"
EXE = ".exe" if os.name == "nt" else ""


class SetupError(Exception):
    """The environment cannot be made; the message says what would help."""


def python_of(venv: Path) -> Path:
    """The interpreter of a virtual environment."""
    return venv / SCRIPTS / f"python{EXE}"


def place(venv: Path) -> str:
    """What an environment is tied to: its scripts hold its path, its packages fit one interpreter."""
    return f"{venv} {os.path.realpath(python_of(venv))}"


def create(venv: Path) -> None:
    """An empty virtual environment: by uv, by venv, or by venv without pip, where Debian has no ensurepip."""
    base = getattr(sys, "_base_executable", None) or sys.executable
    ways = [[base, "-m", "venv", str(venv)], [base, "-m", "venv", "--without-pip", str(venv)]]
    uv = shutil.which("uv")
    if uv:
        ways.insert(0, [uv, "venv", "--quiet", "--no-project", "--python", base, str(venv)])
    failures = []
    for way in ways:
        done = quietly(way)
        if done.returncode == 0 and python_of(venv).exists():
            return
        failures.append(report(way, done))
        shutil.rmtree(venv, ignore_errors=True)
    raise SetupError("could not make a virtual environment\n" + "\n".join(failures))


def install(venv: Path, wanted: Sequence[str]) -> str | None:
    """Install packages into an environment; what went wrong, or nothing."""
    failures = []
    for installer in installers(python_of(venv)):
        command = [*installer, "--quiet", *wanted]
        done = quietly(command)
        if done.returncode == 0:
            return None
        failures.append(report(command, done))
    if failures:
        return "could not install the dependencies\n" + "\n".join(failures)
    return "there is no pip for this Python and no uv\n  install one: `apt install python3-pip`, or https://docs.astral.sh/uv"


def installers(python: Path) -> Iterator[list[str]]:
    """Ways to install into the environment of an interpreter that exist here, best first."""
    silent = ("--no-input", "--disable-pip-version-check")
    uv = shutil.which("uv")
    if uv:
        yield [uv, "pip", "install", "--python", str(python)]
    if succeeds([str(python), "-m", "pip", "--version"]):
        yield [str(python), "-m", "pip", *silent, "install"]
        return
    for pip in ([sys.executable, "-m", "pip"], ["pip3"], ["pip"]):
        if succeeds([*pip, "--version"]):
            yield [*pip, *silent, "--python", str(python), "install"]
            return


@contextmanager
def exclusive(what: str) -> Iterator[None]:
    """One at a time."""
    if os.name == "nt":
        yield
        return
    import fcntl  # lazy: absent on Windows

    lock = CACHE / f"{what}.lock"
    lock.parent.mkdir(exist_ok=True)
    with lock.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


# ---- processes


def quietly(command: list[str]) -> subprocess.CompletedProcess[str]:
    """Run a command that never asks; its output counts only when it fails."""
    try:
        return subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
        )
    except OSError as error:
        return subprocess.CompletedProcess(command, 127, stdout=str(error))


def succeeds(command: list[str]) -> bool:
    """Whether a command ends well."""
    return quietly(command).returncode == 0


def report(command: list[str], done: subprocess.CompletedProcess[str]) -> str:
    """A failed command with the end of what it said."""
    lines = done.stdout.strip().splitlines()[-20:]
    return "\n".join([f"  $ {shlex.join(command)}  (exit {done.returncode})", *(f"    {line}" for line in lines)])


def say(text: str) -> None:
    """To stderr: stdout belongs to the command."""
    print(text, file=sys.stderr, flush=True)
