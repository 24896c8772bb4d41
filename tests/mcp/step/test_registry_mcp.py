"""`pflow registry …` with MCP tools: the one registry, and the commands that fill, check and empty it of them."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Pflow
from tests.mcp.step.conftest import Serve, tool
from tests.mcp.step.test_sync import steady


@pytest.fixture
def servers(home: Path) -> Callable[..., Any]:
    """What the file of servers holds."""
    return lambda: json.loads((home / "mcp-servers.json").read_text())["servers"]


@pytest.mark.requirement("security:4.3-1", "security:10.1-1", "security:4.3-2")
def test_a_server_is_registered_with_its_tools_in_one_go(pflow: Pflow, serve: Serve) -> None:
    server = serve("hub", tool("search_code"), tool("get_repo"), add=None)
    said = pflow("registry", "add-mcp", "--server", "hub", "--command", shlex.join(server.argv), "--transport", "stdio")
    assert (said.code, said.err) == (0, "")
    assert steady(said) == (
        "hub has 2 tools, 2 new (N s)\n"
        "  + mcp-hub-search-code  Does search_code.\n"
        "  + mcp-hub-get-repo     Does get_repo.\n"
    )
    listed = pflow("registry", "list", "--filter", "mcp-hub").out
    assert listed.splitlines() == ["mcp-hub-get-repo     Does get_repo.", "mcp-hub-search-code  Does search_code."]


@pytest.mark.requirement("security:4.3-1")
def test_only_the_chosen_tools_become_node_types(pflow: Pflow, serve: Serve, servers: Callable[..., Any]) -> None:
    server = serve("hub", tool("search_code"), tool("Get_Repo"), tool("drop_all"), add=None)
    command = shlex.join(server.argv)
    words = ["registry", "add-mcp", "--server", "hub", "--command", command]
    said = pflow(*words, "--tool", "search_code", "--tool", "get-repo", "--tool", "drop_al")
    assert said.code == 0
    assert steady(said) == (
        "hub has 2 of 3 tools, 2 new (N s)\n"
        "  + mcp-hub-search-code  Does search_code.\n"
        "  + mcp-hub-get-repo     Does Get_Repo.\n"
        "  note: server `hub` has no tool `drop_al`, which its configuration chooses; did you mean `drop_all`?\n"
    )
    assert servers()["hub"]["tools"] == ["search_code", "get-repo", "drop_al"]
    assert pflow("mcp", "list").out.endswith("  (only search_code, get-repo, drop_al)\n")
    assert pflow("call", "hub", "drop_all").code == 2
    content = json.loads(json.dumps(servers()))
    content["hub"]["tools"] = ["drop_all"]
    server.path.with_name("m.json").write_text(json.dumps({"mcpServers": content}))
    assert pflow("mcp", "import", str(server.path.with_name("m.json")), "--overwrite").code == 0
    assert steady(pflow("mcp", "sync", "hub")).startswith("hub has 1 of 3 tools, 1 new, 2 gone (N s)\n")


def test_the_choice_of_tools_asks_for_no_new_consent(pflow: Pflow, serve: Serve, home: Path) -> None:
    server = serve("hub", tool("one"), tool("two"))
    file = home / "mcp-servers.json"
    content = json.loads(file.read_text())
    content["servers"]["hub"]["tools"] = ["two"]
    file.write_text(json.dumps(content))
    assert steady(pflow("mcp", "sync", "hub")) == "hub has 1 of 2 tools, 1 gone (N s)\n  - mcp-hub-one\n"
    content["servers"]["hub"]["tools"] = ["*"]
    file.write_text(json.dumps(content))
    server.sync()
    assert pflow("call", "hub", "one").code == 0


@pytest.mark.requirement("security:4.3-3")
def test_a_refresh_reads_the_tools_of_one_server_again(pflow: Pflow, serve: Serve) -> None:
    one, other = serve("one", tool("a")), serve("two", tool("a"))
    one.write(tool("b"))
    other.write(tool("b"))
    said = pflow("registry", "refresh", "--mcp-server", "one")
    assert steady(said) == "one has 1 tool, 1 new, 1 gone (N s)\n  + mcp-one-b  Does b.\n  - mcp-one-a\n"
    assert pflow("registry", "list", "--filter", "mcp").out.split() == [
        "mcp-one-b",
        "Does",
        "b.",
        "mcp-two-a",
        "Does",
        "a.",
    ]
    assert pflow("registry", "refresh").code == 0
    assert "mcp-two-b" in pflow("registry", "list", "--filter", "mcp").out


@pytest.mark.requirement("security:13.1-2")
def test_tools_that_no_run_could_call_are_found(pflow: Pflow, serve: Serve, home: Path) -> None:
    serve("a", tool("good"), tool("moved"), {**tool("odd"), "inputSchema": {"type": "object", "minProperties": "x"}})
    serve("b", tool("lost"))
    said = pflow("registry", "validate", "--mcp-wrappers")
    assert said.code == 1
    assert said.err.startswith(
        "error: 1 of 4 node types cannot be used\n"
        "  mcp-a-odd: tool `odd` of server `a` has an input schema that cannot be used: "
    )
    file = home / "mcp-servers.json"
    content = json.loads(file.read_text())
    del content["servers"]["b"]
    file.write_text(json.dumps(content))
    entries = json.loads((home / "registry.json").read_text())
    entries["mcp-a-moved"]["mcp_config"]["definition"]["description"] = "Does harm."
    del entries["mcp-a-odd"]
    (home / "registry.json").write_text(json.dumps(entries))
    assert pflow("registry", "validate", "--mcp-wrappers").err == (
        "error: 2 of 3 node types cannot be used\n"
        "  mcp-a-moved: its definition is not the one that was synced; `pflow mcp sync a` reads it again\n"
        "  mcp-b-lost: Server b not configured\n"
    )
    assert pflow("registry", "validate", "--all").err.startswith("error: 2 of ")
    pflow("mcp", "sync", "a")
    del entries["mcp-b-lost"], entries["mcp-a-moved"]
    (home / "registry.json").write_text(json.dumps(entries))
    assert pflow("registry", "validate", "--mcp-wrappers").out == "all 1 node types can be used\n"


@pytest.mark.requirement("security:13.1-1")
def test_an_older_file_of_servers_is_taken_over_with_a_copy_of_it(
    pflow: Pflow, serve: Serve, home: Path, tmp_path: Path, servers: Callable[..., Any]
) -> None:
    server = serve("old", tool("get"), add=None)
    (home / "mcp.json").write_text(
        json.dumps({"mcpServers": {"old": {"command": server.argv[0], "args": server.argv[1:]}}})
    )
    before = (home / "mcp.json").read_bytes()
    said = pflow("registry", "migrate-mcp", "--from", "~/.pflow/mcp.json", "--backup")
    assert (said.code, steady(said)) == (0, "old has 1 tool, 1 new (N s)\n  + mcp-old-get  Does get.\n")
    assert said.err == f"kept a copy as `{home}/mcp.json.bak`\ntook over 1 server: old\n"
    assert (home / "mcp.json.bak").read_bytes() == before
    assert servers()["old"]["command"] == server.argv[0]
    assert pflow("registry", "migrate-mcp", "--from", "~/.pflow/mcp.json").err == "took over 0 servers\n"


@pytest.mark.requirement("security:13.1-3")
def test_every_connection_is_tried(pflow: Pflow, serve: Serve) -> None:
    serve("a", tool("x"))
    serve("b", tool("x"), exit="start", sync=None)
    said = pflow("registry", "test-mcp-connections")
    assert said.code == 1
    assert said.out == "a  works   1 tool, all as synced\nb  FAILED  MCP server process terminated unexpectedly\n"
    assert pflow("mcp", "remove", "b").code == 0
    assert pflow("registry", "test-mcp-connections").code == 0


@pytest.mark.requirement("security:4.1-1")
def test_a_removed_server_takes_its_tools_with_it(
    pflow: Pflow, serve: Serve, home: Path, write: Callable[..., str]
) -> None:
    serve("a", tool("x"))
    serve("a-b", tool("x"))
    assert pflow("mcp", "remove", "a").code == 0
    assert pflow("registry", "list", "--filter", "mcp").out == "mcp-a-b-x  Does x.\n"
    assert "a" not in json.loads((home / "mcp-state.json").read_text())["servers"]
    write("x.json", {"id": "s", "type": "mcp-tickets-open"})
    assert pflow("run", "x.json").err.endswith(
        "\n\nhint: `pflow mcp list` shows the servers there are, and `pflow mcp sync` makes their tools node types\n"
    )


def test_a_command_that_cannot_be_split_is_refused(pflow: Pflow) -> None:
    for command, words in (("'x", "No closing quotation"), (" ", "`--command` is empty")):
        said = pflow("registry", "add-mcp", "--server", "a", "--command", command)
        assert said.code == 2
        assert words in said.err
