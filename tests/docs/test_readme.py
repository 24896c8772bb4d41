"""The README does what it says."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)


def pflow(words: list[str], cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "pflow", *words], cwd=cwd, capture_output=True, text=True, timeout=60)


def test_the_document_beside_its_run_is_the_example() -> None:
    [shown] = blocks("yaml")
    text = (ROOT / "examples" / "longest.yaml").read_text()
    assert shown == "".join(line for line in text.splitlines(keepends=True) if not line.startswith("#"))


def test_the_commands_beside_the_document_print_what_is_shown() -> None:
    [block] = [block for block in blocks("console") if "workflow save" in block]
    steps = re.findall(r"\$ pflow (.*)\n((?:[^$].*\n)*)", block)
    assert len(steps) == 3
    for command, shown in steps:
        done = pflow(shlex.split(command), ROOT)
        assert done.stdout + done.stderr == shown, command


def test_the_first_command_prints_what_is_shown() -> None:
    command, shown = re.findall(r"\$ python3 dev.py (run .*)\n(.*\n)", blocks("console")[0])[0]
    assert pflow(shlex.split(command), ROOT).stdout == shown


def test_the_mistake_is_reported_as_shown(tmp_path: Path) -> None:
    [shown] = blocks("text")
    wrong = blocks("yaml")[0].replace('find.files}", as', 'find.fils}", as')
    comment = "# Which files of a folder have the most lines? Counts eight files at a time.\n"
    (tmp_path / "longest.yaml").write_text(comment + wrong)
    assert pflow(["validate", "longest.yaml"], tmp_path).stderr == shown


def test_the_python_runs(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    [code] = blocks("python")
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True, timeout=60, env=dict(os.environ))
    assert capfd.readouterr().out == "Hello, Ada!\n"


def test_the_everyday_commands_exist(tmp_path: Path) -> None:
    [block] = [block for block in blocks("console") if "runs list" in block]
    commands = re.findall(r"\$ (?:git diff \| )?pflow (.*?)\s+#", block)
    assert len(commands) == 13
    for command in commands:
        words = shlex.split(command)
        help_words = words[:2] if words[0] in ("registry", "runs", "settings", "schedule") else words[:1]
        if not words[0].startswith(("shell", "write-file")):
            assert pflow([*help_words, "--help"], tmp_path).returncode == 0, command
