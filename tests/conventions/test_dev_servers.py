"""`dev_servers.py` installs each MCP server once, mends what broke, and fails over it only in CI."""

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
"""

GIT, SQLITE, TIME = (
    "mcp-server-git==2026.10.19 mcp==2.3.0",
    "mcp-server-sqlite==2025.4.25 mcp==1.30.0",
    "mcp-server-time==2026.10.19 mcp==2.3.0",
)
ALL = sorted([GIT, SQLITE, TIME, "npm server-everything server-filesystem server-memory"])


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
        for name, text in {"uv": UV, "npm": NPM, "node": "#!/bin/sh\n"}.items():
            (self.bin / name).write_text(text)
            (self.bin / name).chmod(0o755)
        for name in ("sh", "mkdir", "ln", "sed", "touch", "dirname", "basename", "grep", "tr"):
            (self.bin / name).symlink_to(str(shutil.which(name)))

    def install(self, **environment: Any) -> tuple[Any, ...]:
        """What was installed, and how the installer ended."""
        self.log.write_text("")
        done = subprocess.run(
            [sys.executable, "dev_servers.py"],
            cwd=self.root,
            env={
                "PATH": str(self.bin),
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


def test_without_node_the_rest_is_installed_and_only_ci_fails(checkout: Checkout) -> None:
    (checkout.bin / "npm").unlink()
    installed, done = checkout.install()
    assert (installed, done.returncode) == (sorted([GIT, SQLITE, TIME]), 0)
    assert "error: MCP servers, npm: there is no node or no npm here; install Node.js 20 or newer" in done.stderr
    assert "tests that need these servers will be skipped" in done.stderr
    assert checkout.install(CI="true")[1].returncode == 1


def test_what_could_not_be_installed_is_tried_again(checkout: Checkout) -> None:
    (checkout.bin / "npm").write_text("#!/bin/sh\necho no such registry\nexit 1\n")
    installed, done = checkout.install(CI="true")
    assert done.returncode == 1
    assert "no such registry" in done.stderr
    (checkout.bin / "npm").write_text(NPM)
    assert checkout.install()[0] == [ALL[-1]]
