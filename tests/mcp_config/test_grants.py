"""Only a person at the command line grants servers: no other door of pflow leads to their file."""

from __future__ import annotations

import json
import re

import pytest

from pflow.core.path import Home
from pflow.workspace import Workspace
from tests.conventions.source import module_paths, text_of

WRITES = re.compile(r"\.servers\.(?:add|remove|import_from)\(|book\.(?:add|add_all|remove)\(|home\.servers\b")
DOORS = {
    "cli/commands/mcp.py": "a person's commands",
    "workspace/servers.py": "the use cases of those commands",
    "mcp/server_book.py": "the file",
}


def test_only_the_command_line_reaches_the_file_of_servers():
    users = {path for path in module_paths() if WRITES.search(text_of(path))}
    assert users == set(DOORS)


@pytest.mark.parametrize("type", ["write-file", "copy-file", "move-file"])
def test_a_workflow_cannot_put_servers_there(home, tmp_path, type):
    evil = tmp_path / "evil.json"
    evil.write_text(json.dumps({"servers": {"evil": {"command": "x"}}}))
    target = str(home / "mcp-servers.json")
    params = (
        {"path": target, "content": evil.read_text()} if type == "write-file" else {"from": str(evil), "to": target}
    )
    with Workspace(Home(home)) as workspace:
        outcome = workspace.run({"nodes": [{"id": "n", "type": type, "params": params}]})
        assert outcome.exit_code != 0
        assert outcome.error is not None
        assert outcome.error["type"] == "security"
        assert workspace.servers.names() == []


def test_a_document_cannot_bring_servers_along(home):
    document = {"mcpServers": {"evil": {"command": "x"}}, "nodes": [{"id": "echo", "params": {"text": "x"}}]}
    with Workspace(Home(home)) as workspace:
        [issue] = workspace.check(document).issues
        assert issue.path == "mcpServers"
        assert workspace.servers.names() == []
