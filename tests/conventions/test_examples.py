"""The examples are valid, run, and give what their README promises."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.conventions.source import ROOT

DOCUMENTS = sorted(path.name for path in (ROOT / "examples").iterdir() if path.suffix in {".json", ".yaml"})


def pflow(*args: str) -> str:
    """Standard output of a pflow command that succeeds, started in the repository."""
    done = subprocess.run(
        [sys.executable, "-m", "pflow", *args],
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def outputs(*args: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(pflow("run", *args, "--json"))["data"]["outputs"]
    return found


@pytest.mark.parametrize("document", DOCUMENTS)
def test_an_example_is_valid(document: str) -> None:
    pflow("validate", f"examples/{document}")


def test_the_program_with_functions_as_steps_runs() -> None:
    done = subprocess.run(
        [sys.executable, "examples/functions.py", "examples/README.md"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    found = json.loads(done.stdout)
    assert found["headings"] == ["Examples"]
    assert found["links"] > 3


def test_the_readme_lists_every_example() -> None:
    text = (ROOT / "examples" / "README.md").read_text()
    assert [name for name in DOCUMENTS if f"[{name}]({name})" not in text] == []


def test_hello_greets() -> None:
    assert outputs("examples/hello.json", "name=Ada") == {"greeting": "Hello, Ada!", "louder": "HELLO, ADA!"}


def test_longest_ranks_files_by_lines(tmp_path: Path) -> None:
    for name, lines in {"a.py": 1, "b.py": 3, "c.py": 2, "d.txt": 9}.items():
        (tmp_path / name).write_text("x\n" * lines)
    ranked = outputs("examples/longest.yaml", f"folder={tmp_path}")["longest"]
    assert [(count, str(path).rpartition("/")[2]) for count, path in ranked] == [
        (3, "b.py"),
        (2, "c.py"),
        (1, "a.py"),
    ]


@pytest.mark.parametrize(("content", "words"), [("one two three", "3"), (None, "2")])
def test_fallback_starts_from_a_default(tmp_path: Path, content: str | None, words: str) -> None:
    notes = tmp_path / "notes.txt"
    if content is not None:
        notes.write_text(content)
    assert str(outputs("examples/fallback.json", f"path={notes}")["words"]).strip() == words
