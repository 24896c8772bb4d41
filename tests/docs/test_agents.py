"""Two agents go from nothing to a workflow that they have mended, with little to read, and the page shows how."""

from __future__ import annotations

import asyncio
import contextlib
import io
import re
from pathlib import Path
from typing import NamedTuple

import pytest

from examples.agent import mend_in_shell, mend_over_mcp
from examples.agent.transcript import Tally
from tests.docs.page import blocks_of, read_page

MOST_CALLS = 12
MOST_BYTES = 12_000


class Done(NamedTuple):
    """What an agent did, and what it printed."""

    tally: Tally
    transcript: str


@pytest.fixture(scope="module", params=["shell", "mcp"])
def done(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Done:
    folder = tmp_path_factory.mktemp("agent")
    env = {"PFLOW_HOME": str(folder / ".pflow"), "HOME": str(folder)}
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        tally = _work(request.param, folder, env)
    return Done(tally, said.getvalue())


def _work(door: str, folder: Path, env: dict[str, str]) -> Tally:
    if door == "shell":
        return mend_in_shell.work(folder, env)
    return asyncio.run(mend_over_mcp.work(folder, env))


def test_a_workflow_is_built_tested_and_mended_in_few_calls_with_little_to_read(done: Done) -> None:
    assert len(done.tally.calls) <= MOST_CALLS
    assert sum(read for _, _, read in done.tally.calls) <= MOST_BYTES


def test_the_page_shows_what_it_prints(done: Done) -> None:
    transcript = settled(done.transcript)
    shown = [settled(block.text) for block in blocks_of(read_page("agents.md")) if block.text.startswith("1. ")]
    first = transcript.splitlines()[0]
    [own] = [text for text in shown if text.splitlines()[0] == first]
    assert own == transcript


def settled(transcript: str) -> str:
    """What it prints without ids, numbers and times."""
    return re.sub(r"[0-9][0-9a-f,-]*", "N", re.sub(r'"duration_ms".*', "…", transcript)).strip()
