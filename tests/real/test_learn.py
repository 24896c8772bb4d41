"""The three tasks as an agent does them, call by call, become workflows that make the same calls."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from examples.tasks import raw
from pflow.core.cassette.cassette_file import read_cassette
from pflow.core.file.home import Home
from pflow.workspace.workspace import Workspace
from tests.planning.learning.claude_session import Played, write_session
from tests.real.program import Program

pytestmark = pytest.mark.needs("mcp-servers")

PROMPTS = {
    "changelog": "Write a change log of the last 20 commits of the repository to CHANGELOG.md",
    "revenue": "What did the customers of each tier spend? Write it to revenue.md",
    "triage": "List the tickets of severity 1 in severe.csv",
}
BATCHES = {"changelog": ["git-show"], "revenue": [], "triage": ["read-text-file"]}


class Watched(raw.Agent):
    """An agent whose calls a host writes down."""

    def __init__(self, servers: Mapping[str, raw.Server]) -> None:
        super().__init__(servers)
        self.played: list[Played] = []

    def call(self, server: str, tool: str, arguments: Mapping[str, object]) -> str:
        result = self._servers[server].ask("tools/call", {"name": tool, "arguments": arguments})
        self.played.append((f"mcp__{server}__{tool}", arguments, result))
        return "".join(block["text"] for block in result["content"])


@pytest.fixture(scope="module")
def played(folder: Path) -> dict[str, tuple[str, list[Played]]]:
    """What each task writes, and the calls on the way."""
    found: dict[str, tuple[str, list[Played]]] = {}
    with raw.servers(folder / "mcp.json") as running:
        for task, (do, _, _) in raw.TASKS.items():
            agent = Watched(running)
            found[task] = (do(agent, folder), agent.played)
    return found


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


@pytest.mark.parametrize(
    ("task", "count"), [pytest.param("changelog", 22, marks=pytest.mark.slow), ("revenue", 5), ("triage", 102)]
)
def test_the_raw_calls_of_a_task_become_a_workflow_that_is_proven(
    fresh: Program,
    synced: Any,
    folder: Path,
    played: dict[str, tuple[str, list[Played]]],
    task: str,
    count: int,
    tmp_path: Path,
) -> None:
    written, calls = played[task]
    assert len(calls) == count
    target = folder / raw.TASKS[task][2]
    session = write_session(tmp_path / f"{task}.jsonl", str(folder), PROMPTS[task], calls, f"I wrote {target}.")
    learnt = fresh("learn", str(session), "-o", str(tmp_path / f"{task}.yaml"))["data"]["lesson"]
    assert learnt["proven"], json.dumps(learnt, indent=1)
    assert (learnt["calls"], learnt["replay"]["equal"]) == (count, learnt["kept"])
    document = (tmp_path / f"{task}.yaml").read_text()
    with Workspace(Home(fresh.home / ".pflow")) as workspace:
        cassette = read_cassette(Path(learnt["cassette"]))
        replayed = workspace.replay(str(tmp_path / f"{task}.yaml"), cassette)
        nodes: Any = workspace.document(document)
    assert replayed.status == "completed"
    assert not replayed.unused
    asked = [call for call in replayed.asked if call.type == "mcp-filesystem-write-file"]
    assert digest(str(asked[0].params["content"])) == digest(written)
    assert [node["id"] for node in nodes["nodes"] if "batch" in node] == BATCHES[task]
