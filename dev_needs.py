"""What tests need beyond the environment: whether it is there, how it is installed, and why it cannot be."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

import dev_servers
from dev_install import ROOT, SetupError, create, exclusive, install, place, quietly, report, say

MODE = "PFLOW_TEST_NEEDS"
"""The variable that says what happens to a test whose need is not there.

`install`: it is installed, and the test is skipped only where that fails. `strict`: the test fails then.
Without the variable the test is skipped with the reason.
"""

FAILURES = ROOT / ".cache" / "needs"


class Need(NamedTuple):
    """Something that tests name with `@pytest.mark.needs(NAME)`."""

    name: str
    is_there: Callable[[], bool]
    install: Callable[[], None]
    """Raises `SetupError` with the reason where it cannot be installed."""


def program(name: str, package: str = "") -> Need:
    """A program of the system; its package in Debian has the same name, unless another is given."""
    return Need(name, lambda: shutil.which(name) is not None, lambda: apt(package or name))


def apt(package: str) -> None:
    """Install a package of Debian and its kin, which only root may do."""
    if shutil.which("apt-get") is None or os.geteuid() != 0:
        raise SetupError(f"`{package}` is not installed; install it with the package manager of your system")
    os.environ.setdefault("DEBIAN_FRONTEND", "noninteractive")
    line = ["apt-get", "install", "--yes", "--no-install-recommends", package]
    done = quietly(line)
    if done.returncode:  # the lists of a fresh machine or image are empty
        quietly(["apt-get", "update"])
        done = quietly(line)
    if done.returncode:
        raise SetupError(f"apt-get could not install `{package}`\n" + report(line, done))


ORACLE = ROOT / ".cache" / "oracle"
"""An environment with Google's CEL, which expressions are compared with: 50 MB that only some tests import."""

ORACLE_PACKAGE = "cel-expr-python==0.1.3"


def oracle_is_there() -> bool:
    """Whether the installation ran to its end, of this version, for this interpreter."""
    return stamp_of(ORACLE) == f"{place(ORACLE)} {ORACLE_PACKAGE}"


def install_oracle() -> None:
    """Install it from nothing."""
    install_apart(ORACLE, ORACLE_PACKAGE)


BROWSER = ROOT / ".cache" / "browser"
"""An environment with Playwright, which drives the Chromium of the system: 165 MB that only tests of pages import."""

BROWSER_PACKAGE = "playwright==1.65.2"


def browser_is_there() -> bool:
    """Whether there is a Chromium, and Playwright of this version, for this interpreter."""
    return shutil.which("chromium") is not None and stamp_of(BROWSER) == f"{place(BROWSER)} {BROWSER_PACKAGE}"


def install_browser() -> None:
    """Install what is missing of the two. Playwright's own browsers are never downloaded."""
    if shutil.which("chromium") is None:
        apt("chromium")
    install_apart(BROWSER, BROWSER_PACKAGE)


def stamp_of(folder: Path) -> str:
    """What an installation that ran to its end says of itself."""
    try:
        return (folder / "installed").read_text()
    except OSError:
        return ""


def install_apart(folder: Path, package: str) -> None:
    """Install a package from nothing, in an environment of its own."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.parent.mkdir(parents=True, exist_ok=True)
    create(folder)
    failure = install(folder, [package])
    if failure is not None:
        raise SetupError(failure)
    (folder / "installed").write_text(f"{place(folder)} {package}")


NEEDS = {
    need.name: need
    for need in (
        Need("mcp-servers", lambda: not dev_servers.missing(), dev_servers.install_missing),
        Need("cel", oracle_is_there, install_oracle),
        Need("browser", browser_is_there, install_browser),
        program("bash"),
        program("git"),
        program("openssl"),
        program("strace"),
        program("systemd-analyze", "systemd"),
        program("zsh"),
        program("fish"),
    )
}


def missing(names: Iterable[str]) -> list[str]:
    """Which of these are not there."""
    return [name for name in sorted(set(names)) if not NEEDS[name].is_there()]


def ensure(names: Iterable[str], *, session: str) -> dict[str, str]:
    """Install what is missing; the reason for each that cannot be.

    A session tries each only once, in one of its processes.
    """
    wanted = missing(names)
    if not wanted:
        return {}
    with exclusive("needs"):
        FAILURES.mkdir(parents=True, exist_ok=True)
        reasons = {name: attempt(NEEDS[name], FAILURES / name, session) for name in missing(wanted)}
    return {name: reason for name, reason in reasons.items() if reason}


def attempt(need: Need, failure: Path, session: str) -> str:
    """Install one; why that failed now, or earlier in this session, or nothing."""
    if failure.exists() and failure.read_text().startswith(f"{session}\n"):
        return failure.read_text().partition("\n")[2]
    say(f"installing {need.name} for the tests …")
    try:
        need.install()
    except SetupError as error:
        say(f"error: {need.name} cannot be installed: {error}")
        failure.write_text(f"{session}\n{error}")
        return str(error)
    failure.unlink(missing_ok=True)
    return ""


def main() -> int:
    """Install everything; 1 if something cannot be."""
    return 1 if ensure(NEEDS, session=f"process {os.getpid()}") else 0


if __name__ == "__main__":
    sys.exit(main())
