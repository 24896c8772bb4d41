"""Whoever sees only the text of an answer still sees everything that the structured answer says."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.mcp_server.client import Client

SCRIPT = str(Path(__file__).parents[1] / "mcp" / "step" / "scripted.py")
ROW = {"type": "object", "properties": {"key": {"type": "string"}, "order": {"enum": ["up", "down"], "default": "up"}}}
FIND = {
    "name": "find",
    "description": "Find documents.\n\nArgs:\n    limit: how many to give\n\nReturns:\n    The documents.",
    "inputSchema": {
        "type": "object",
        "properties": {
            "collection": {"type": "string", "description": "where to look"},
            "limit": {"type": "integer", "default": 10, "maximum": 100},
            "sort": {"type": "array", "items": {**ROW, "required": ["key"]}},
        },
        "required": ["collection"],
    },
}
WIDE: dict[str, Any] = {"type": "string", "description": "y" * 60}
for _ in range(4):
    WIDE = {"type": "object", "properties": {f"field{number}": WIDE for number in range(5)}}
LARGE = {
    "name": "large",
    "description": "Takes a lot.",
    "inputSchema": {"type": "object", "properties": {"body": WIDE}},
}
TEXT = {"type": "object", "properties": {"result": {"type": "string"}}, "required": ["result"]}
QUERY = {"name": "query", "description": "Asks a question.", "inputSchema": {"type": "object"}, "outputSchema": TEXT}
HELD = json.dumps({"rows": [[42]]})
DOCUMENT = {
    "inputs": {
        "who": {"type": "string", "description": "whom to greet"},
        "times": {"type": "integer", "default": 2},
        "note": {"required": False},
    },
    "nodes": [{"id": "echo", "params": {"text": "${who}"}}],
    "outputs": {"said": {"type": "string", "source": "${echo.text}", "description": "the greeting"}},
}


@pytest.fixture(scope="module")
def mongo(start: Callable[..., Client], tmp_path_factory: pytest.TempPathFactory) -> Client:
    """A server whose home knows tools with objects inside their parameters."""
    folder = tmp_path_factory.mktemp("mongo")
    reply = {"result": {"content": [{"type": "text", "text": HELD}], "structuredContent": {"result": HELD}}}
    script = {
        "tools": [FIND, LARGE, QUERY],
        "replies": {"query": [reply]},
        "instructions": "Connect first.\nThen \x1b[2Jfind.",
    }
    (folder / "mongo.json").write_text(json.dumps(script))
    argv = [sys.executable, "-S", "-E", SCRIPT, str(folder / "mongo.json")]
    for words in (["add", "mongo", "--", *argv], ["sync", "mongo"]):
        environ = {**os.environ, "PFLOW_HOME": str(folder / ".pflow")}
        subprocess.run([sys.executable, "-m", "pflow", "mcp", *words], env=environ, check=True, capture_output=True)
    return start(home=folder / ".pflow")


def test_a_description_is_whole_in_text_and_structure(mongo: Client) -> None:
    answer = mongo.call("registry_describe", nodes=["mcp-mongo-find"])
    lines = answer.text.splitlines()
    assert lines[:6] == [
        "mcp-mongo-find  Find documents.",
        "",
        "Args:",
        "    limit: how many to give",
        "",
        "Returns:",
    ]
    assert lines[7:13] == [
        "takes:",
        "- collection: string, required; where to look",
        "- limit: integer, default 10; how many to give; at most 100",
        "- sort: array of object",
        "- sort[].key: string, required",
        '- sort[].order: string, default "up"; one of up, down',
    ]
    [node] = answer.data["nodes"]
    assert node["description"] == FIND["description"]
    assert node["interface"]["params"][2]["fields"] == [
        {"name": "sort[].key", "type": "string", "required": True},
        {
            "name": "sort[].order",
            "type": "string",
            "description": "one of up, down",
            "default": "up",
            "enum": ["up", "down"],
        },
    ]


def test_what_the_server_says_comes_once_for_all_its_tools(mongo: Client) -> None:
    answer = mongo.call("registry_describe", nodes=["mcp-mongo-find", "mcp-mongo-query", "echo"])
    assert answer.data["instructions"] == {"mongo": "Connect first.\nThen \x1b[2Jfind."}
    assert answer.text.endswith("server `mongo` says:\nConnect first.\nThen \\x1b[2Jfind.")
    assert "instructions" not in mongo.call("registry_describe", nodes=["echo"]).data


def test_discovery_shows_a_summary_with_a_line_of_every_parameter(mongo: Client) -> None:
    answer = mongo.call("registry_discover", task="find documents")
    assert answer.data["matches"][0]["description"] == "Find documents. Args: limit: how many to give"
    assert answer.text.splitlines()[1] == "  takes collection: string, limit?: integer, sort?: array"


def test_what_is_too_large_says_how_to_see_one_place(mongo: Client) -> None:
    answer = mongo.call("registry_describe", nodes=["mcp-mongo-large"])
    assert len(json.dumps(answer.envelope)) < 25_000
    [node] = answer.data["nodes"]
    assert node["shortened"] == "`registry_describe(nodes=['mcp-mongo-large PATH'])` shows one place in full"
    assert node["shortened"] in answer.text
    assert "- body.field0.field0.field0: object; 5 fields inside" in answer.text.splitlines()
    inside = mongo.call("registry_describe", nodes=["mcp-mongo-large body.field0.field1"])
    assert f"- body.field0.field1.field2.field3: string; {'y' * 60}" in inside.text.splitlines()
    assert "field2.field0" not in inside.text.replace("field1.field2.field0", "")
    error = mongo.call("registry_describe", nodes=["mcp-mongo-large body.field9"]).error
    assert error["type"] == "not_found"


def test_text_that_holds_json_has_template_paths(mongo: Client) -> None:
    answer = mongo.call("registry_run", node_type="mcp-mongo-query")
    assert answer.data["structure"] == {
        "${mcp-mongo-query.result}": "string that holds JSON",
        "${mcp-mongo-query.result.rows}": "array of 1",
        "${mcp-mongo-query.result.rows[0]}": "array of 1",
        "${mcp-mongo-query.result.rows[0][0]}": "integer",
    }
    described = mongo.call("registry_describe", nodes=["mcp-mongo-query"])
    assert described.data["nodes"][0]["structure"]["${mcp-mongo-query.result.rows[0][0]}"] == "integer"
    assert "${mcp-mongo-query.result.rows[0][0]}  integer" in described.text.splitlines()


def test_the_text_about_a_built_in_node_has_its_parameters(client: Client) -> None:
    lines = client.call("registry_describe", nodes=["write-file"]).text.splitlines()
    assert "- path: string, required; The file to write" in lines
    assert any(line.startswith('- encoding: string, default "utf-8"') for line in lines)


def test_the_text_about_a_workflow_has_its_inputs_and_outputs(client: Client) -> None:
    client.call("workflow_save", workflow=DOCUMENT, name="salute", description="Salute somebody")
    assert client.call("workflow_discover", query="salute").text.splitlines()[1:7] == [
        "  takes:",
        "  - who: string, required; whom to greet",
        "  - times: integer, default 2",
        "  - note: any",
        "  gives:",
        "  - said: string; the greeting",
    ]
