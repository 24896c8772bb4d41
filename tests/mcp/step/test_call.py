"""`pflow call`: one tool from the shell, and what a person reads when it does not work out."""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path

import pytest

from tests.cli.conftest import Pflow
from tests.mcp.step.conftest import Serve, tool

SEARCH = {
    "name": "Search_Code",
    "description": "Find code.",
    "inputSchema": {
        "type": "object",
        "properties": {
            "query": {"type": "string", "description": "what to look for"},
            "limit": {"type": "integer", "minimum": 1, "default": 10},
            "kinds": {"type": "array", "items": {"type": "string"}},
        },
        "required": ["query"],
        "additionalProperties": False,
    },
}


def test_a_tool_is_called_by_its_own_name_or_that_of_its_node_type(pflow: Pflow, serve: Serve) -> None:
    server = serve("hub", SEARCH)
    first = pflow("call", "hub", "Search_Code", "query=x", "limit=3", 'kinds=["a"]')
    assert (first.code, first.out, first.err) == (0, '{"query":"x","limit":3,"kinds":["a"]}\n', "")
    assert pflow("call", "hub", "search-code", "--query=${HOME}").out == '{"query":"${HOME}"}\n'
    assert server.calls == [{"query": "x", "limit": 3, "kinds": ["a"]}, {"query": "${HOME}"}]


def test_for_programs_a_call_has_the_envelope_of_a_run(pflow: Pflow, serve: Serve) -> None:
    serve("hub", SEARCH)
    said = pflow("call", "hub", "Search_Code", "query=x", "--json").json
    assert said["success"] is True
    assert said["data"]["outputs"] == {"result": {"query": "x"}}
    assert said["data"]["steps"] == 1


def test_the_shape_of_a_result_is_the_paths_that_a_workflow_can_name(pflow: Pflow, serve: Serve) -> None:
    serve("hub", SEARCH, replies={"Search_Code": [{"text": '{"items": [{"path": "a.py", "hits": 3}], "total": 1}'}]})
    said = pflow("call", "hub", "Search_Code", "query=x", "--shape")
    assert said.out == (
        "result  object\n"
        "result.items  array of 1\n"
        "result.items[0]  object\n"
        "result.items[0].path  string\n"
        "result.items[0].hits  integer\n"
        "result.total  integer\n"
    )
    told = pflow("call", "hub", "Search_Code", "query=x", "--shape", "--json").json["data"]
    assert (told["node_type"], told["paths"]) == ("mcp-hub-search-code", said.out.splitlines())


def test_what_is_missing_is_named_with_the_command_that_works(pflow: Pflow, serve: Serve) -> None:
    server = serve("hub", SEARCH)
    said = pflow("call", "hub", "Search_Code", "limit=3")
    assert (said.code, said.out) == (2, "")
    assert said.err == (
        "error: `mcp-hub-search-code` needs `query`\n"
        "  query  string. what to look for\n"
        "\n"
        "hint: pflow call hub Search_Code limit=3 query=…\n"
    )
    told = pflow("call", "hub", "Search_Code", "--json").json["error"]
    assert (told["type"], told["details"]["missing"]) == ("template_error", ["query"])
    assert server.pids == []


def test_everything_that_is_wrong_with_the_parameters_is_said_at_once(pflow: Pflow, serve: Serve) -> None:
    server = serve("hub", SEARCH)
    said = pflow("call", "hub", "Search_Code", "qery=x", "limit=many")
    assert said.code == 2
    assert said.err == (
        "error: `mcp-hub-search-code` has no parameter `qery`; did you mean `query`?\n"
        "error: `limit` must be an integer, not `many`\n"
        "error: `mcp-hub-search-code` needs `query`\n"
        "  query  string. what to look for\n"
        "  limit  integer, optional. at least 1\n"
        "  kinds  array, optional\n"
        "\n"
        "hint: pflow registry describe mcp-hub-search-code\n"
    )
    assert server.pids == []


@pytest.mark.requirement("security:1-4")
def test_arguments_that_the_schema_does_not_admit_are_not_sent(pflow: Pflow, serve: Serve) -> None:
    server = serve("hub", SEARCH)
    said = pflow("call", "hub", "Search_Code", "query=x", "limit=0", "kinds=[1,2]")
    assert said.code == 2
    assert said.steady == (
        "error: node `mcp-hub-search-code`: `limit` must be at least `1`\n"
        "error: node `mcp-hub-search-code`: `kinds[0]` must be string, not integer\n"
        "error: node `mcp-hub-search-code`: `kinds[1]` must be string, not integer\n"
        "  limit  integer, optional. at least 1\n"
        "  kinds  array, optional\n"
        "\n"
        "hint: pflow registry describe mcp-hub-search-code\n"
    )
    assert server.pids == []


def test_a_tool_that_is_not_known_has_a_near_name(pflow: Pflow, serve: Serve) -> None:
    serve("hub", SEARCH)
    said = pflow("call", "hub", "Serch_Code", "query=x")
    assert (said.code, said.err) == (
        2,
        "error: Tool Serch_Code not found on server hub\n\nhint: did you mean `Search_Code`?\n",
    )


@pytest.mark.requirement("client:error-1")
def test_a_server_that_is_not_configured_is_said_so(pflow: Pflow, serve: Serve) -> None:
    serve("hub", SEARCH)
    assert pflow("call", "huh", "x").err == "error: Server huh not configured\n\nhint: did you mean `hub`?\n"


def test_a_call_without_a_tool_lists_the_tools_there_are(pflow: Pflow, serve: Serve) -> None:
    serve("hub", SEARCH, tool("other"))
    said = pflow("call", "hub")
    assert (said.code, said.err) == (
        2,
        "error: name the tool of server `hub` to call\n"
        "  tools: other, Search_Code\n"
        "\n"
        "hint: pflow call hub TOOL key=value\n",
    )
    assert pflow("call", "huh").err.startswith("error: Server huh not configured\n")


def test_a_server_that_was_never_synced_says_how(pflow: Pflow, serve: Serve) -> None:
    serve("hub", SEARCH, sync=None)
    assert pflow("call", "hub", "Search_Code", "query=x").err == (
        "error: the tools of server `hub` are not known yet\n\nhint: pflow mcp sync hub\n"
    )


def test_an_image_is_a_file_for_its_owner_only(pflow: Pflow, serve: Serve, home: Path) -> None:
    content = [
        {"type": "text", "text": "drawn"},
        {"type": "image", "data": "aGVsbG8=", "mimeType": "image/png"},
    ]
    serve("draw", tool("draw"), replies={"draw": [{"result": {"content": content}}]})
    said = pflow("call", "draw", "draw", "--json")
    outputs, run = said.json["data"]["outputs"], said.json["data"]["run_id"]
    (file,) = outputs["files"]
    path = Path(file["path"])
    assert outputs["result"] == "drawn"
    assert path.parent == home / "runs" / run
    assert path.read_bytes() == b"hello"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert (file["type"], file["mime_type"], file["size"]) == ("image", "image/png", 5)
    assert re.fullmatch(r"drawn\n", pflow("call", "draw", "draw").out)
    assert pflow("call", "draw", "draw").err.startswith(f"file: {home}{os.sep}runs{os.sep}")


@pytest.mark.requirement("security:4.3-4")
def test_a_tool_is_described_like_any_node(pflow: Pflow, serve: Serve) -> None:
    serve("hub", SEARCH)
    assert pflow("registry", "describe", "mcp-hub-search-code").out == (
        "mcp-hub-search-code: Find code.\n"
        "\n"
        "params\n"
        "  query  string           required  what to look for\n"
        "  limit  integer          = 10      at least 1\n"
        "  kinds  array of string\n"
        "\n"
        "outputs\n"
        "  result  any      what the tool gave\n"
        "  files   array    what the tool gave as files\n"
        "\n"
        "actions: error, rate_limited, auth_failed, resource_missing, timeout\n"
        "has effects: it is never run again unasked\n"
        "from tool `Search_Code` of server `hub`\n"
        "\n"
        "try it: pflow registry run mcp-hub-search-code query=…\n"
    )
