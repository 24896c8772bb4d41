"""A home with the built-in nodes, and a model that replays what was recorded in tests/data/planner."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from pflow.adapters.scripted_llm import ScriptedLLM
from pflow.core.file.home import Home
from pflow.workspace import Workspace
from tests.cli.conftest import Pflow, Said, pflow, registry_file, write
from tests.mcp.step.conftest import serve

__all__ = ["pflow", "registry_file", "serve", "write"]

RECORDINGS = Path(__file__).parents[1] / "data" / "planner"

COUNT_WORDS = """\
name: count-words
description: Count the words of a text file
inputs:
  path: {type: string, description: The file}
  least: {type: integer, default: 1}
  token: {type: string, secret: true, required: false}
nodes:
  - {id: read, type: read-file, params: {path: "${path}"}}
  - {id: count, type: let, params: {words: "read.content.trim().split(' ').filter(w, size(w) >= least)"}}
outputs:
  words: "${count.words}"
"""


def recorded(name: str) -> ScriptedLLM:
    """The model of a recording."""
    return ScriptedLLM.from_file(RECORDINGS / f"{name}.json")


Planning = Callable[..., tuple[Workspace, ScriptedLLM]]


@pytest.fixture
def planning(home: Path, registry_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Planning]:
    """A workspace with the model of a recording, in a folder with `notes.txt`, and one saved workflow."""
    home.mkdir(mode=0o700)
    shutil.copy(registry_file, home)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "notes.txt").write_text("one two three\nfour\n")
    opened: list[Workspace] = []

    def make(name: str) -> tuple[Workspace, ScriptedLLM]:
        llm = recorded(name)
        workspace = Workspace(Home(home), llm=llm)
        opened.append(workspace)
        if not workspace.workflows():
            workspace.save(COUNT_WORDS, "count-words")
        return workspace, llm

    yield make
    for workspace in opened:
        workspace.close()


Ask = Callable[..., Said]


@pytest.fixture
def ask(pflow: Pflow, tmp_path: Path) -> Ask:
    """The command line with the model of a recording."""
    (tmp_path / "notes.txt").write_text("one two three\nfour\n")

    def run(name: str, *words: str) -> Said:
        return pflow(*words, parts={"llm": recorded(name)})

    return run
