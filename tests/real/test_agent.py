"""An agent with nothing but MCP builds a workflow over real servers, keeps it, and uses it again."""

from __future__ import annotations

import asyncio
import contextlib
import io
import re
import shutil
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from examples.agent import changelog
from examples.tasks import raw
from tests.docs.page import blocks_of, read_page
from tests.real.program import Program

pytestmark = [pytest.mark.needs("mcp-servers"), pytest.mark.slow]


class Done(NamedTuple):
    """The agent, and what it printed."""

    agent: changelog.Agent
    transcript: str


@pytest.fixture(scope="module")
def done(fresh: Program, synced: Any, folder: Path, tmp_path_factory: pytest.TempPathFactory, by_hand: object) -> Done:
    home = tmp_path_factory.mktemp("agent") / ".pflow"
    home.mkdir()
    for name in ("mcp-servers.json", "mcp-state.json", "registry.json"):
        shutil.copy(fresh.home / ".pflow" / name, home)
    for name in ("CHANGELOG.md", "RECENT.md"):
        (folder / name).unlink(missing_ok=True)
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        agent = asyncio.run(changelog.work(folder, {"PFLOW_HOME": str(home), "HOME": str(home.parent)}))
    return Done(agent, said.getvalue().replace(str(folder), "/tmp/tasks"))


@pytest.mark.requirement("server13:success-1", "server13:success-2", "server13:success-4", "server13:success-6")
def test_eight_calls_lead_from_nothing_to_a_workflow_that_is_used_again(done: Done) -> None:
    assert [tool for tool, _, _ in done.agent.tally.calls] == [
        "workflow_discover",
        "registry_discover",
        "registry_run",
        "workflow_validate",
        "workflow_execute",
        "workflow_save",
        "workflow_discover",
        "workflow_execute",
    ]


def test_it_writes_what_the_raw_calls_write(
    done: Done, by_hand: dict[str, tuple[str, raw.Tally]], folder: Path
) -> None:
    by_raw_calls, _ = by_hand["changelog"]
    assert (folder / "CHANGELOG.md").read_text() == by_raw_calls
    assert (folder / "RECENT.md").read_text().splitlines() == by_raw_calls.splitlines()[:7]


def test_building_costs_a_tenth_of_the_raw_calls_and_using_it_again_next_to_nothing(
    done: Done, by_hand: dict[str, tuple[str, raw.Tally]]
) -> None:
    _, tally = by_hand["changelog"]
    assert sum(sent + read for _, sent, read in done.agent.tally.calls) * 10 < tally.argument_bytes + tally.result_bytes
    assert [sent + read < 1_000 for _, sent, read in done.agent.tally.calls[-2:]] == [True, True]


def test_the_page_shows_what_it_prints(done: Done) -> None:
    [shown] = [block.text for block in blocks_of(read_page("agents.md")) if block.text.startswith("13 tools in ")]
    assert settled(shown) == settled(done.transcript)


@pytest.mark.parametrize(
    ("row", "calls"), [("building the workflow, once", slice(0, 6)), ("using it again", slice(6, 8))]
)
def test_the_page_says_what_it_costs(done: Done, row: str, calls: slice) -> None:
    [cells] = [line.split("|") for line in read_page("agents.md").splitlines() if line.startswith(f"| {row} |")]
    turns, sent, read = (int(cell.replace(",", "")) for cell in cells[2:5])
    made = done.agent.tally.calls[calls]
    assert turns == len(made) + 1
    assert sent == pytest.approx(sum(call[1] for call in made), abs=300)  # the folder's name is in some of it
    assert read == pytest.approx(sum(call[2] for call in made), rel=0.1, abs=300)


def settled(transcript: str) -> str:
    """What it prints without ids, numbers, and arguments that are cut where the folder's name is long."""
    return re.sub(r"[0-9][0-9a-f,-]*", "N", re.sub(r"parameters=.*", "…", transcript))
