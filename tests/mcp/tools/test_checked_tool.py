"""A document that uses a synced tool is checked like any other: names, types, what is required, and outputs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from pflow.core.file.home import find_home
from pflow.mcp.server.config import ServerConfig
from pflow.mcp.tools.sync import apply_sync, plan_sync
from pflow.registry.registry import Registry
from pflow.workspace.workspace import Workspace

TOOL = {
    "name": "git_log",
    "inputSchema": {
        "type": "object",
        "properties": {"repo": {"type": ["string", "null"]}, "count": {"type": "integer"}},
        "required": ["repo"],
    },
    "outputSchema": {
        "type": "object",
        "properties": {"commits": {"type": "array", "items": {"$ref": "#/$defs/Commit"}}},
        "required": ["commits"],
        "$defs": {"Commit": {"type": "object", "properties": {"sha": {"type": "string"}}}},
    },
}


@pytest.fixture
def workspace(registry: Registry) -> Iterator[Workspace]:
    server = ServerConfig(name="git", transport="stdio", command="x")
    apply_sync(plan_sync(server, [TOOL], "1", registry), registry)
    with Workspace(find_home()) as workspace:
        yield workspace


def codes(workspace: Workspace, params: dict[str, Any], use: str = "${log.commits[0].sha}") -> list[str]:
    nodes = [
        {"id": "log", "type": "mcp-git-git-log", "params": params},
        {"id": "use", "type": "echo", "params": {"text": use}},
    ]
    return [issue.code for issue in workspace.check({"nodes": nodes}).issues]


@pytest.mark.parametrize(
    ("params", "found"),
    [
        ({"repo": "."}, []),
        ({"repo": None}, []),
        ({"repo": 5}, ["wrong-type"]),
        ({"repo": ".", "count": "many"}, ["wrong-type"]),
        ({"repo": ".", "other": 1}, ["unknown-param"]),
        ({}, ["missing-param"]),
    ],
)
def test_the_parameters_of_a_tool_are_checked(workspace: Workspace, params: dict[str, Any], found: list[Any]) -> None:
    assert codes(workspace, params) == found


@pytest.mark.parametrize(
    "use", ["${log.commits[0].sha}", "${log.result.commits[1].sha}", "${log.files[0]}", "${log.result}"]
)
def test_what_a_tool_gives_can_be_used(workspace: Workspace, use: str) -> None:
    assert codes(workspace, {"repo": "."}, use) == []


@pytest.mark.parametrize("use", ["${log.commits[0].author}", "${log.result.commits.sha}", "${log.nothing}"])
def test_what_a_tool_does_not_give_is_found_before_it_runs(workspace: Workspace, use: str) -> None:
    assert len(codes(workspace, {"repo": "."}, use)) == 1
