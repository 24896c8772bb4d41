"""Makes the development environment and drives it, with nothing but Python 3.11 and pip (or uv)."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import dev_conformance
import dev_needs
import dev_place
import dev_servers
import dev_vendor
from dev_install import (
    EXE,
    ROOT,
    SCRIPTS,
    SetupError,
    create,
    exclusive,
    install,
    place,
    python_of,
    say,
    succeeds,
)

OLDEST = (3, 11)
VENV = Path(os.environ.get("PFLOW_VENV", ROOT / ".venv"))
BIN = VENV / SCRIPTS
PYTHON = python_of(VENV)
STAMP = VENV / "pflow-setup"
TOOLS = ("pflow", "pytest", "ruff", "mypy", "lint-imports")

PARALLEL = ("-n", str((os.cpu_count() or 1) + 2), "--dist", "worksteal")
"""More workers than cores, as tests often wait; each takes over tests of the others once it has run its own."""

MEMORY, ROOM = Path("/dev/shm"), 4 << 30
"""A file system in memory, and how much of it must be free for what tests write."""

STAGES = {
    "lint": ("ruff", "check"),
    "format": ("ruff", "format", "--check"),
    "types": ("mypy",),
    "layers": ("lint-imports", "--no-cache", "--no-logo"),
    "wheel": ("python", "dev_wheel.py"),
    "needs": ("python", "dev_needs.py"),
    "tests": ("pytest", *PARALLEL),
}


# ---- the environment


def fingerprint() -> str:
    """Changes when the environment would: other dependencies, or another way to make it."""
    digest = hashlib.sha256((ROOT / "pyproject.toml").read_bytes())
    for name in ("dev.py", "dev_install.py"):
        digest.update((ROOT / name).read_bytes())
    return digest.hexdigest()


def stamp() -> list[str]:
    """Place and fingerprint of the set-up that last ran to its end."""
    try:
        return STAMP.read_text().splitlines()
    except OSError:
        return []


def is_complete() -> bool:
    """Whether a set-up ran to its end here and its programs are still there."""
    return stamp()[:1] == [place(VENV)] and all((BIN / f"{tool}{EXE}").exists() for tool in ("python", *TOOLS))


def is_current() -> bool:
    """Whether the environment is complete and made from what stands in the repository now."""
    return is_complete() and stamp() == [place(VENV), fingerprint()]


def ensure_environment() -> None:
    """Make or update `.venv`, unless it is current."""
    if is_current():
        return
    with exclusive("setup"):
        if is_current():
            return
        say(f"setting up {VENV.name} (once; this takes a minute) …")
        began = time.monotonic()
        if not (is_complete() and update()):
            rebuild()
        STAMP.write_text(f"{place(VENV)}\n{fingerprint()}\n")
        say(f"set up in {time.monotonic() - began:.0f} s")


def update() -> bool:
    """Bring a complete environment up to date in place; false where it has to be made anew."""
    STAMP.unlink()  # an update that is cut short must not look complete
    works = succeeds([str(PYTHON), "-c", "import sys; sys.exit(sys.version_info < (3, 11))"])
    return works and install(VENV, wanted()) is None


def rebuild() -> None:
    """Make the environment from nothing."""
    if VENV.exists():
        shutil.rmtree(VENV)
    create(VENV)
    failure = install(VENV, wanted())
    if failure is not None:
        raise SetupError(failure)


def wanted() -> list[str]:
    """pflow, editable, and the development tools."""
    return ["--editable", str(ROOT), *dev_requirements()]


def dev_requirements() -> list[str]:
    """The `dev` group of pyproject.toml; pip learnt to read groups only in 25.1."""
    import tomllib  # lazy: absent before Python 3.11, which gets a clear message first

    with (ROOT / "pyproject.toml").open("rb") as file:
        return list(tomllib.load(file)["dependency-groups"]["dev"])


# ---- the commands


def pflow(args: list[str]) -> int:
    """pflow ARGS…        run any pflow command"""
    return become([str(BIN / f"pflow{EXE}"), *args])


def run(args: list[str]) -> int:
    """run WORKFLOW …     the same as `pflow run WORKFLOW …`"""
    return pflow(["run", *args])


def test(args: list[str]) -> int:
    """test [--slow] [ARGS…]   install what tests need and run them, with --slow all; arguments go to pytest"""
    os.chdir(ROOT)
    os.environ.setdefault(dev_needs.MODE, "install")
    if "--slow" not in args and has_room():
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(MEMORY))
    return become([str(PYTHON), "-m", "pytest", *pytest_arguments(args)])


def has_room() -> bool:
    """Whether tests can write into memory, which saves a fifth of their time. The whole suite writes to the disk."""
    try:
        found = os.statvfs(MEMORY)
    except (AttributeError, OSError):  # Windows knows no such call
        return False
    free = found.f_bavail * found.f_frsize >= ROOM
    return free and os.access(MEMORY, os.W_OK) and not found.f_flag & os.ST_NOEXEC


def pytest_arguments(args: list[str]) -> list[str]:
    """What pytest gets: tests that are named one by one run in its own process, the slow ones among them."""
    rest = [arg for arg in args if arg != "--slow"]
    if any("::" in arg for arg in rest):
        return rest
    fast = [] if "--slow" in args else ["-m", "not slow"]
    return [*PARALLEL, *fast, *rest]  # pytest takes the last of two equal options: `-n 0` and `-m ""` hold


def check(args: list[str]) -> int:
    """check [STAGES…]    lint, format, types, layers, wheel, needs, tests: all of them, or those named"""
    unknown = [name for name in args if name not in STAGES]
    if unknown:
        say(f"no stage `{unknown[0]}`; there are: {', '.join(STAGES)}")
        return 2
    environment = {**os.environ, dev_needs.MODE: "strict"}
    results = []
    for name in args or STAGES:
        tool, *rest = STAGES[name]
        say(f"── {name}: {' '.join(STAGES[name])}")
        began = time.monotonic()
        code = subprocess.call([str(BIN / f"{tool}{EXE}"), *rest], cwd=ROOT, env=environment)
        results.append((name, code, time.monotonic() - began))
    say("──")
    for name, code, seconds in results:
        say(f"{name:<8} {'ok' if code == 0 else f'FAILED (exit {code})':<18} {seconds:6.1f} s")
    return 1 if any(code for _, code, _ in results) else 0


def bench(args: list[str]) -> int:
    """bench [GROUPS…] [--json FILE]   measure the budgets"""
    os.chdir(ROOT)
    return become([str(PYTHON), "-m", "bench", *args])


def servers(args: list[str]) -> int:
    """servers            install the MCP servers that tests and benchmarks talk to"""
    failures = dev_servers.ensure()
    for failure in failures:
        say(f"error: {failure}")
    if not failures:
        say(f"ready: {dev_servers.FOLDER}")
    return 1 if failures else 0


def cluster(args: list[str]) -> int:
    """cluster [--workers N]   start Postgres, Temporal and workers on loopback until Ctrl-C; leaves nothing behind"""
    for name, reason in dev_needs.ensure(["postgres"], session=f"process {os.getpid()}").items():
        say(f"error: {name}: {reason}")
        return 1
    return dev_place.main(args, ["pflow" if shutil.which("pflow") else str(BIN / f"pflow{EXE}")])


def chaos(args: list[str]) -> int:
    """chaos cluster [--short] [--seed N]   kill workers, Temporal and Postgres, and judge what became of runs"""
    for name, reason in dev_needs.ensure(["postgres", "temporal"], session=f"process {os.getpid()}").items():
        say(f"error: {name}: {reason}")
        return 1
    os.chdir(ROOT)
    return become([str(PYTHON), "-m", "chaos", *args])


def conformance(args: list[str]) -> int:
    """conformance [client|server|hosts] [SCENARIOS…]   run the MCP conformance suite or real clients (needs npm)"""
    return dev_conformance.main(args)


def vendor(args: list[str]) -> int:
    """vendor             build the files of the page from `page/` and lit-html (needs npm)"""
    return dev_vendor.main()


def setup(args: list[str]) -> int:
    """setup              make or update .venv and nothing else"""
    say(f"ready: {VENV}")
    return 0


COMMANDS: dict[str, Callable[[list[str]], int]] = {
    command.__name__: command
    for command in (run, pflow, test, check, bench, servers, cluster, chaos, conformance, vendor, setup)
}


# ---- processes


def become(command: list[str]) -> int:
    """Replace this process, so that signals, terminal and exit code are the command's own."""
    if os.name != "nt":  # exec there returns to the shell before the command ends
        os.execv(command[0], command)
    return subprocess.call(command)


def with_python(version: str, argv: list[str]) -> int:
    """Do the same with another Python, in an environment of its own."""
    name = version if os.sep in version else f"python{version}"
    python = find_python(name)
    if not python:
        say(f"there is no `{name}` on the path; give `--python` a version such as 3.12, or the path of an interpreter")
        return 2
    os.environ["PFLOW_VENV"] = str(ROOT / ".cache" / Path(python).resolve().name)
    return become([python, str(ROOT / "dev.py"), *argv])


def find_python(name: str) -> str | None:
    """An interpreter by its path or name. What pyenv puts on the path may be a script that knows no such version."""
    installed = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    kept = [] if os.sep in name else sorted(map(str, installed.glob(f"*/bin/{name}")), reverse=True)
    candidates = [shutil.which(name), *kept]
    return next((python for python in candidates if python and succeeds([python, "-c", ""])), None)


def main(argv: list[str]) -> int:
    if argv[:1] == ["--python"] and len(argv) > 1:
        return with_python(argv[1], argv[2:])
    if sys.version_info < OLDEST:
        found = ".".join(str(part) for part in sys.version_info[:3])
        say(f"pflow needs Python 3.11 or newer; this is {found} ({sys.executable})")
        return 2
    if not argv or argv[0] not in COMMANDS:
        wants_help = not argv or argv[0] in ("-h", "--help", "help")
        if not wants_help:
            say(f"no command `{argv[0]}`")
        say(
            "usage: python3 dev.py [--python VERSION] COMMAND\n"
            + "\n".join(f"  {command.__doc__}" for command in COMMANDS.values())
        )
        return 0 if wants_help and argv else 2
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # or each of hundreds of processes compiles the same modules
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
