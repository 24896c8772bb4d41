"""Tasks over real MCP servers: a worker that has the servers gives what this machine gives, to the byte."""

from __future__ import annotations

from pathlib import Path

import pytest

from dev_place import Worker
from examples.tasks import fixtures, raw
from tests.conventions.source import ROOT
from tests.far.conftest import Far
from tests.robust.world import until

pytestmark = pytest.mark.needs("postgres", "temporal", "mcp-servers")


@pytest.mark.slow
def test_tasks_give_the_same_at_a_place_as_at_home(far: Far, tmp_path: Path) -> None:
    folder = fixtures.make(tmp_path / "tasks")
    assert far.pflow("mcp", "import", str(fixtures.configure(folder))).code == 0
    assert far.pflow("mcp", "sync", "--all", "--yes").code == 0
    worker = far.worker()
    for task, (_, _, file) in raw.TASKS.items():
        written = folder / file
        document = str(ROOT / "examples" / "tasks" / f"{task}.yaml")
        texts = []
        for words in ([], ["--on", "dev"]):
            written.unlink(missing_ok=True)
            said = far.pflow("run", document, f"folder={folder}", "--json", *words)
            assert said.code == 0, (said, worker.said)
            data = said.json["data"]
            texts.append((data["outputs"], data["steps"], written.read_bytes()))
        assert texts[0] == texts[1], task
        until_said(worker, f"{data['run_id']}: completed")


def until_said(worker: Worker, words: str) -> None:
    """Wait for what a worker says."""
    until(lambda: words in worker.said, f"a worker says `{words}`")
