"""`dev.py conformance` fails when a result is not as known, and writes those that are into the documentation."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.conventions.source import ROOT

# A stand-in for node and the suite in it: it lists two scenarios, and says of each what it was told to.
NODE = f"""#!{os.path.realpath(sys.executable)}
import json, os, pathlib, sys
if sys.argv[1] == "--version":
    print(os.environ["NODE_IS"])
elif sys.argv[2] == "list":
    print("Client scenarios:\\n  - plain [2025-11-25,2026-07-28]\\n  - odd [2026-07-28]\\n  - old [2025-03-26]")
else:
    options = dict(zip(sys.argv[3::2], sys.argv[4::2]))
    folder = pathlib.Path(options["-o"]) / "now"
    folder.mkdir()
    checks = json.loads(os.environ["CHECKS"])[options["--scenario"]]
    (folder / "checks.json").write_text(json.dumps([dict(id=name, status=checks[name]) for name in checks]))
    sys.exit(any(status in ("FAILURE", "WARNING") for status in checks.values()))
"""
NPM = """#!/bin/sh
echo "$*" >> "$LOG"
"""
KNOWN = """
[[client]]
scenario = "odd"
failed = ["b"]
why = "It is odd."
"""
PAGE = "# Conformance\n\n<!-- client results -->\n<!-- end -->\n\nEnd.\n"
AS_KNOWN = {
    "plain": {"a": "SUCCESS", "i": "INFO", "s": "SKIPPED"},
    "odd": {"a": "SUCCESS", "b": "FAILURE"},
    "old": {"a": "SUCCESS"},
}


class Checkout:
    """A copy of what runs the suite, with node and npm on the path."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "checkout"
        (self.root / "docs").mkdir(parents=True)
        (self.root / "tests" / "conformance").mkdir(parents=True)
        for path in ROOT.glob("dev*.py"):
            shutil.copy(path, self.root)
        self.page = self.root / "docs" / "conformance.md"
        self.page.write_text(PAGE)
        (self.root / "tests" / "conformance" / "known.toml").write_text(KNOWN)
        self.log = folder / "log"
        self.log.write_text("")
        self.bin = folder / "bin"
        self.bin.mkdir()
        for name, text in {"node": NODE, "npm": NPM}.items():
            (self.bin / name).write_text(text)
            (self.bin / name).chmod(0o755)

    def run(self, *args: str, checks: dict[str, Any] = AS_KNOWN, node: str = "v22.0.0") -> tuple[Any, ...]:
        """The exit code, and what is not as known."""
        done = subprocess.run(
            [sys.executable, "-c", "import dev_conformance, sys; sys.exit(dev_conformance.main(sys.argv[1:]))", *args],
            cwd=self.root,
            env={
                "PATH": f"{self.bin}{os.pathsep}/bin",
                "LOG": str(self.log),
                "CHECKS": json.dumps(checks),
                "NODE_IS": node,
            },
            capture_output=True,
            text=True,
        )
        lines = done.stderr.splitlines()
        return done.returncode, [line for line in lines if line.startswith(("unexpected", "no ", "Traceback"))]


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    return Checkout(tmp_path)


def test_results_as_known_are_written_into_the_page(checkout: Checkout) -> None:
    assert checkout.run() == (0, [])
    text = checkout.page.read_text()
    assert "| 0.1.16 | all | 2 of 3 | 3 of 4 |" in text
    assert "| 0.2.0-alpha.12 | 2025-03-26 | 1 of 1 | 1 of 1 |" in text
    assert "| 0.2.0-alpha.12 | 2026-07-28 | 1 of 2 | 2 of 3 |" in text
    assert "| `odd` | 0.1.16, 0.2.0-alpha.12 | `b` | It is odd. |" in text
    assert text.endswith("<!-- end -->\n\nEnd.\n")
    assert checkout.run() == (0, [])
    assert checkout.page.read_text() == text


@pytest.mark.parametrize("status", ["FAILURE", "WARNING"])
def test_an_unknown_failure_is_an_error_and_leaves_the_page(checkout: Checkout, status: str) -> None:
    code, lines = checkout.run(checks={**AS_KNOWN, "old": {"a": status}})
    assert code == 1
    assert lines == [
        "unexpected: suite 0.1.16: old: `a` fails",
        "unexpected: suite 0.2.0-alpha.12, revision 2025-03-26: old: `a` fails",
    ]
    assert checkout.page.read_text() == PAGE


def test_a_known_failure_that_does_not_fail_is_an_error(checkout: Checkout) -> None:
    code, lines = checkout.run(checks={**AS_KNOWN, "odd": {"a": "SUCCESS", "b": "SUCCESS"}})
    assert code == 1
    assert lines == [
        "unexpected: suite 0.1.16: odd: `b` does not fail; take it out of tests/conformance/known.toml",
        "unexpected: suite 0.2.0-alpha.12, revision 2026-07-28: odd: `b` does not fail; "
        "take it out of tests/conformance/known.toml",
    ]


def test_a_known_failure_of_no_scenario_is_an_error(checkout: Checkout) -> None:
    with (checkout.root / "tests" / "conformance" / "known.toml").open("a") as file:
        file.write('[[client]]\nscenario = "gone"\nfailed = ["x"]\nwhy = "It was."\n')
    assert checkout.run() == (1, ["unexpected: no scenario is meant by `gone` in tests/conformance/known.toml"])


def test_scenarios_can_be_named_and_the_page_is_left_then(checkout: Checkout) -> None:
    assert checkout.run("client", "old", checks={"old": {"a": "SUCCESS"}}) == (0, [])
    assert checkout.page.read_text() == PAGE
    assert checkout.run("client", "nonsense") == (2, ["no such scenario"])
    assert checkout.run("nonsense") == (2, ["no part `nonsense`; there are: client, server, hosts"])


@pytest.mark.slow
@pytest.mark.parametrize(("node", "packages"), [("v22.1.0", 2), ("v20.20.2", 3)])
def test_the_suite_is_installed_once_with_a_node_where_that_is_too_old(
    checkout: Checkout, node: str, packages: int
) -> None:
    checkout.run(node=node)
    checkout.run(node=node)
    [line] = checkout.log.read_text().splitlines()
    assert len([word for word in line.split() if "@" in word]) == packages
