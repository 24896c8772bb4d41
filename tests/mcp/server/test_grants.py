"""Only a person at the command line grants servers: no other door of pflow leads to their files."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from pflow.core.errors import ExistsError, SecurityError
from pflow.core.file.home import Home
from pflow.mcp.server.config import read_server
from pflow.mcp.server.config_file import ServerBook
from pflow.mcp.server.consent import require_consent
from pflow.mcp.server.server_state import ServerState, ServerStates
from pflow.workspace import Workspace
from pflow.workspace.servers import Servers
from tests.conventions.source import module_paths, text_of

WRITES = re.compile(
    r"\.servers\.(?:add|remove|import_from)\(|book\.(?:add|add_all|remove)\(|home\.servers\b(?!\.exists)"
)
DOORS = {
    "cli/commands/mcp.py": "a person's commands",
    "workspace/servers.py": "the use cases of those commands",
    "mcp/server/config_file.py": "the file",
}
AGREES = re.compile(r"\bgrant\(|consent=")
AGREEING = {
    "workspace/servers.py": "a person adds servers",
    "workspace/server_sync.py": "a person is shown servers, and asked",
    "mcp/server/consent.py": "what agreeing is",
}


@pytest.fixture
def servers(home: Path) -> Iterator[Servers]:
    with Workspace(Home(home)) as workspace:
        yield workspace.servers


@pytest.fixture
def check(home: Path) -> Callable[..., Any]:
    """Whether a server may be used as it is configured."""

    def check(name: str) -> None:
        require_consent(ServerStates(Home(home)), ServerBook(Home(home)).get(name), {})

    return check


def test_only_the_command_line_reaches_the_file_of_servers() -> None:
    users = {path for path in module_paths() if WRITES.search(text_of(path))}
    assert users == set(DOORS)


def test_only_the_command_line_agrees_to_servers() -> None:
    assert {path for path in module_paths() if AGREES.search(text_of(path))} <= set(AGREEING)


def test_a_server_that_a_person_adds_is_agreed_to(servers: Servers, check: Callable[..., Any]) -> None:
    servers.add("a", {"command": "x", "args": ["-y"]})
    check("a")
    servers.add("a", {"command": "other"}, overwrite=True)
    check("a")


def test_a_server_that_could_not_be_added_changes_no_agreement(servers: Servers, home: Path) -> None:
    servers.add("a", {"command": "x"})
    before = ServerStates(Home(home)).get("a")
    with pytest.raises(ExistsError):
        servers.add("a", {"command": "other"})
    assert ServerStates(Home(home)).get("a") == before


def test_only_servers_that_an_import_adds_are_agreed_to(
    servers: Servers, check: Callable[..., Any], home: Path, tmp_path: Path
) -> None:
    ServerBook(Home(home)).add(read_server("old", {"command": "x"}))
    found = tmp_path / "found.json"
    found.write_text(json.dumps({"mcpServers": {"old": {"command": "evil"}, "new": {"command": "y"}}}))
    servers.import_from(str(found), dry_run=True)
    assert not (home / "mcp-state.json").exists()
    assert servers.import_from(str(found)).kept == ("old",)
    check("new")
    with pytest.raises(SecurityError):
        check("old")
    servers.import_from(str(found), overwrite=True)
    check("old")


def test_a_server_that_was_edited_by_hand_is_not_agreed_to(
    servers: Servers, check: Callable[..., Any], home: Path
) -> None:
    servers.add("a", {"command": "x", "args": ["1"]})
    ServerBook(Home(home)).add(read_server("a", {"command": "x", "args": ["2"]}), overwrite=True)
    with pytest.raises(SecurityError, match="changed since it was agreed to"):
        check("a")


def test_a_removed_server_is_new_when_it_comes_back(servers: Servers, check: Callable[..., Any], home: Path) -> None:
    servers.add("a", {"command": "x"})
    servers.remove("a")
    assert ServerStates(Home(home)).get("a") == ServerState()
    ServerBook(Home(home)).add(read_server("a", {"command": "x"}))
    with pytest.raises(SecurityError):
        check("a")


@pytest.mark.parametrize("file", ["mcp-servers.json", "mcp-state.json"])
@pytest.mark.parametrize("type", ["write-file", "copy-file", "move-file"])
def test_a_workflow_cannot_put_servers_there(home: Path, tmp_path: Path, type: str, file: str) -> None:
    evil = tmp_path / "evil.json"
    evil.write_text(json.dumps({"servers": {"evil": {"command": "x", "consent": "x"}}}))
    target = str(home / file)
    params = (
        {"path": target, "content": evil.read_text()} if type == "write-file" else {"from": str(evil), "to": target}
    )
    with Workspace(Home(home)) as workspace:
        outcome = workspace.run({"nodes": [{"id": "n", "type": type, "params": params}]})
        assert outcome.exit_code != 0
        assert outcome.error is not None
        assert outcome.error["type"] == "security"
        assert workspace.servers.names() == []
        assert ServerStates(Home(home)).get("evil") == ServerState()


def test_a_document_cannot_bring_servers_along(home: Path) -> None:
    document = {"mcpServers": {"evil": {"command": "x"}}, "nodes": [{"id": "echo", "params": {"text": "x"}}]}
    with Workspace(Home(home)) as workspace:
        [issue] = workspace.check(document).issues
        assert issue.path == "mcpServers"
        assert workspace.servers.names() == []
