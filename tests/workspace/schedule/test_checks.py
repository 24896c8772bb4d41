"""What is found out about a schedule before it runs: servers that do not work, and terms that do not go together."""

from __future__ import annotations

from pathlib import Path

import pytest

from pflow.core.schedule.schedule import Schedule
from pflow.workspace.schedule.adding import find_warnings
from tests.cli.conftest import Pflow
from tests.cli.test_schedule import clock
from tests.mcp.step.conftest import Serve, pflow, registry_file, serve, tool

__all__ = ["clock", "pflow", "registry_file", "serve"]


@pytest.mark.parametrize(("overlap", "warned"), [("allow", True), ("skip", False), ("queue", False)])
def test_runs_that_may_overlap_and_keep_state_are_warned_about(overlap: str, warned: bool) -> None:
    schedule = Schedule(name="s", workflow="w", when="@daily", zone="UTC", added_at=0.0, since=0.0)
    terms = schedule._replace(overlap=overlap)
    assert bool(find_warnings(terms, {"document": {"state": {"cursor": {"type": "string"}}}})) is warned
    assert find_warnings(terms, {"document": {}}) == []


@pytest.mark.usefixtures("clock")
def test_the_doctor_starts_the_servers_that_a_schedule_needs(pflow: Pflow, serve: Serve, tmp_path: Path) -> None:
    server = serve("books", tool("find"))
    (tmp_path / "w.json").write_text('{"nodes": [{"id": "a", "type": "mcp-books-find"}]}')
    assert pflow("workflow", "save", "w.json", "w").code == 0
    assert pflow("schedule", "add", "w", "0 13 * * *").code == 0
    well = pflow("schedule", "doctor", "w").out
    assert "  ok      server books: 1 tool, all as synced\n" in well
    assert len(server.pids) == 1
    server.path.unlink()
    ill = pflow("schedule", "doctor", "w").out
    assert "w: does not work\n" in ill
    assert "  FAILED  server books: " in ill
