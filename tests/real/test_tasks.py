"""A person takes over their servers, syncs them, tries a tool, and runs each task: all through the command line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from examples.tasks import raw
from tests.conventions.source import ROOT
from tests.real.program import Program

pytestmark = pytest.mark.needs("mcp-servers")


@pytest.fixture
def pflow(fresh: Program, synced: Any) -> Program:
    """pflow with the three servers synced."""
    return fresh


@pytest.mark.requirement("client:state-1")
def test_a_hosts_configuration_is_taken_over(imported: Any, fresh: Program) -> None:
    assert sorted(server["name"] for server in imported["data"]["added"]) == ["filesystem", "git", "sqlite"]
    assert [server["name"] for server in fresh("mcp", "list")["data"]["servers"]] == ["filesystem", "git", "sqlite"]


@pytest.mark.requirement("client:state-2", "client:state-3")
def test_syncing_makes_every_tool_a_node_type(synced: Any, fresh: Program) -> None:
    reports = {report["server"]: report for report in synced["data"]["servers"]}
    assert {name: report["tools_registered"] for name, report in reports.items()} == {
        "filesystem": 14,
        "git": 12,
        "sqlite": 6,
    }


def test_syncing_again_changes_nothing(pflow: Program) -> None:
    (report,) = pflow("mcp", "sync", "filesystem")["data"]["servers"]
    assert (report["added"], report["changed"], report["removed"]) == ([], [], [])


def test_tools_are_listed_and_described(pflow: Program) -> None:
    listed = json.dumps(pflow("registry", "list"))
    described = pflow("registry", "describe", "mcp-filesystem-write-file")["data"]["interface"]
    assert all(name in listed for name in ("mcp-git-git-log", "mcp-sqlite-read-query", "mcp-filesystem-write-file"))
    assert [param["name"] for param in described["params"]] == ["path", "content"]
    assert [output["name"] for output in described["outputs"]][:2] == ["result", "content"]


@pytest.mark.requirement("client:output-2")
def test_a_tool_can_be_called_by_itself(pflow: Program) -> None:
    assert pflow("call", "sqlite", "list_tables")["data"]["outputs"]["result"] == "[{'name': 'orders'}]"


def test_a_denied_path_fails_with_what_the_server_said(pflow: Program) -> None:
    failed = pflow("call", "filesystem", "read_text_file", "path=/etc/hostname", code=1)
    assert failed["success"] is False
    assert "Access denied - path outside allowed directories" in failed["error"]["message"]


@pytest.mark.requirement("client:input-3", "client:state-4", "client:state-5")
@pytest.mark.parametrize("task", list(raw.TASKS))
def test_a_task_gives_what_its_raw_calls_give(
    pflow: Program, folder: Path, by_hand: dict[str, tuple[str, raw.Tally]], task: str
) -> None:
    by_raw_calls, tally = by_hand[task]
    written = folder / raw.TASKS[task][2]
    written.unlink(missing_ok=True)
    answer = pflow("run", str(ROOT / "examples" / "tasks" / f"{task}.yaml"), f"folder={folder}")
    assert answer["data"]["outputs"] == {"answer": f"Successfully wrote to {written}"}
    assert written.read_text() == by_raw_calls
    assert len(json.dumps(answer)) < 1_000 < tally.argument_bytes + tally.result_bytes
