"""Makes the development environment and drives it, with nothing but Python 3.11 and pip (or uv)."""

from __future__ import annotations

import hashlib
import os
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

OLDEST = (3, 11)
ROOT = Path(__file__).resolve().parent
VENV = ROOT / ".venv"
BIN = VENV / ("Scripts" if os.name == "nt" else "bin")
EXE = ".exe" if os.name == "nt" else ""
PYTHON = BIN / f"python{EXE}"
STAMP = VENV / "pflow-setup"
TOOLS = ("pflow", "pytest", "ruff", "mypy", "lint-imports")

STAGES = {
    "lint": ("ruff", "check"),
    "format": ("ruff", "format", "--check"),
    "types": ("mypy",),
    "layers": ("lint-imports", "--no-cache", "--no-logo"),
    "tests": ("pytest",),
}


class SetupError(Exception):
    """The environment cannot be made; the message says what would help."""


# ---- the environment


def fingerprint() -> str:
    """Changes when the environment would: other dependencies, or another way to make it."""
    digest = hashlib.sha256((ROOT / "pyproject.toml").read_bytes())
    digest.update(Path(__file__).read_bytes())
    return digest.hexdigest()


def place() -> str:
    """What an environment is tied to: its scripts hold its path, its packages fit one interpreter."""
    return f"{VENV} {os.path.realpath(PYTHON)}"


def stamp() -> list[str]:
    """Place and fingerprint of the set-up that last ran to its end."""
    try:
        return STAMP.read_text().splitlines()
    except OSError:
        return []


def is_complete() -> bool:
    """Whether a set-up ran to its end here and its programs are still there."""
    return stamp()[:1] == [place()] and all((BIN / f"{tool}{EXE}").exists() for tool in ("python", *TOOLS))


def is_current() -> bool:
    """Whether the environment is complete and made from what stands in the repository now."""
    return is_complete() and stamp() == [place(), fingerprint()]


def ensure_environment() -> None:
    """Make or update `.venv`, unless it is current."""
    if is_current():
        return
    with exclusive():
        if is_current():
            return
        say("setting up .venv (once; this takes a minute) …")
        began = time.monotonic()
        if not (is_complete() and update()):
            rebuild()
        STAMP.write_text(f"{place()}\n{fingerprint()}\n")
        say(f"set up in {time.monotonic() - began:.0f} s")


def update() -> bool:
    """Bring a complete environment up to date in place; false where it has to be made anew."""
    STAMP.unlink()  # an update that is cut short must not look complete
    works = succeeds([str(PYTHON), "-c", "import sys; sys.exit(sys.version_info < (3, 11))"])
    return works and install() is None


def rebuild() -> None:
    """Make the environment from nothing."""
    if VENV.exists():
        shutil.rmtree(VENV)
    create()
    failure = install()
    if failure is not None:
        raise SetupError(failure)


def create() -> None:
    """An empty virtual environment: by uv, by venv, or by venv without pip, where Debian has no ensurepip."""
    base = getattr(sys, "_base_executable", None) or sys.executable
    ways = [[base, "-m", "venv", str(VENV)], [base, "-m", "venv", "--without-pip", str(VENV)]]
    uv = shutil.which("uv")
    if uv:
        ways.insert(0, [uv, "venv", "--quiet", "--no-project", "--python", base, str(VENV)])
    failures = []
    for way in ways:
        done = quietly(way)
        if done.returncode == 0 and PYTHON.exists():
            return
        failures.append(report(way, done))
        shutil.rmtree(VENV, ignore_errors=True)
    raise SetupError("could not make a virtual environment\n" + "\n".join(failures))


def install() -> str | None:
    """Install pflow, editable, and the development tools; what went wrong, or nothing."""
    wanted = ["--editable", str(ROOT), *dev_requirements()]
    failures = []
    for installer in installers():
        command = [*installer, "--quiet", *wanted]
        done = quietly(command)
        if done.returncode == 0:
            return None
        failures.append(report(command, done))
    if failures:
        return "could not install the dependencies\n" + "\n".join(failures)
    return "there is no pip for this Python and no uv\n  install one: `apt install python3-pip`, or https://docs.astral.sh/uv"


def installers() -> Iterator[list[str]]:
    """Ways to install into the environment that exist here, best first."""
    silent = ("--no-input", "--disable-pip-version-check")
    uv = shutil.which("uv")
    if uv:
        yield [uv, "pip", "install", "--python", str(PYTHON)]
    if succeeds([str(PYTHON), "-m", "pip", "--version"]):
        yield [str(PYTHON), "-m", "pip", *silent, "install"]
        return
    for pip in ([sys.executable, "-m", "pip"], ["pip3"], ["pip"]):
        if succeeds([*pip, "--version"]):
            yield [*pip, *silent, "--python", str(PYTHON), "install"]
            return


def dev_requirements() -> list[str]:
    """The `dev` group of pyproject.toml; pip learnt to read groups only in 25.1."""
    import tomllib  # lazy: absent before Python 3.11, which gets a clear message first

    with (ROOT / "pyproject.toml").open("rb") as file:
        return list(tomllib.load(file)["dependency-groups"]["dev"])


@contextmanager
def exclusive() -> Iterator[None]:
    """One set-up at a time."""
    if os.name == "nt":
        yield
        return
    import fcntl  # lazy: absent on Windows

    lock = ROOT / ".cache" / "setup.lock"
    lock.parent.mkdir(exist_ok=True)
    with lock.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


# ---- the commands


def pflow(args: list[str]) -> int:
    """pflow ARGS…        run any pflow command"""
    return become([str(BIN / f"pflow{EXE}"), *args])


def run(args: list[str]) -> int:
    """run WORKFLOW …     the same as `pflow run WORKFLOW …`"""
    return pflow(["run", *args])


def test(args: list[str]) -> int:
    """test [ARGS…]       run the tests; arguments go to pytest"""
    os.chdir(ROOT)
    return become([str(PYTHON), "-m", "pytest", *args])


def check(args: list[str]) -> int:
    """check [STAGES…]    lint, format, types, layers, tests: all of them, or those named"""
    unknown = [name for name in args if name not in STAGES]
    if unknown:
        say(f"no stage `{unknown[0]}`; there are: {', '.join(STAGES)}")
        return 2
    results = []
    for name in args or STAGES:
        tool, *rest = STAGES[name]
        say(f"── {name}: {' '.join(STAGES[name])}")
        began = time.monotonic()
        code = subprocess.call([str(BIN / f"{tool}{EXE}"), *rest], cwd=ROOT)
        results.append((name, code, time.monotonic() - began))
    say("──")
    for name, code, seconds in results:
        say(f"{name:<8} {'ok' if code == 0 else f'FAILED (exit {code})':<18} {seconds:6.1f} s")
    return 1 if any(code for _, code, _ in results) else 0


def bench(args: list[str]) -> int:
    """bench [GROUPS…] [--json FILE]   measure the budgets"""
    os.chdir(ROOT)
    return become([str(PYTHON), "-m", "bench", *args])


def setup(args: list[str]) -> int:
    """setup              make or update .venv and nothing else"""
    say(f"ready: {VENV}")
    return 0


COMMANDS: dict[str, Callable[[list[str]], int]] = {
    command.__name__: command for command in (run, pflow, test, check, bench, setup)
}


# ---- processes


def become(command: list[str]) -> int:
    """Replace this process, so that signals, terminal and exit code are the command's own."""
    if os.name != "nt":  # exec there returns to the shell before the command ends
        os.execv(command[0], command)
    return subprocess.call(command)


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


def main(argv: list[str]) -> int:
    if sys.version_info < OLDEST:
        found = ".".join(str(part) for part in sys.version_info[:3])
        say(f"pflow needs Python 3.11 or newer; this is {found} ({sys.executable})")
        return 2
    if not argv or argv[0] not in COMMANDS:
        wants_help = not argv or argv[0] in ("-h", "--help", "help")
        if not wants_help:
            say(f"no command `{argv[0]}`")
        say("usage: python3 dev.py COMMAND\n" + "\n".join(f"  {command.__doc__}" for command in COMMANDS.values()))
        return 0 if wants_help and argv else 2
    try:
        ensure_environment()
    except SetupError as error:
        say(f"error: {error}")
        return 1
    return COMMANDS[argv[0]](argv[1:])


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)
