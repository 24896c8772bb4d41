"""What an agent reads of what was found: enough to build with, and nothing twice."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import orjson
import pytest

from tests.mcp_server.client import Client

TASK = "read the git log, show each commit, write a file"


def objects(value: Any) -> Iterator[dict[str, Any]]:
    """Every object in a value."""
    if isinstance(value, dict):
        yield value
    for part in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from objects(part)


@pytest.mark.requirement("server13:registry_discover-2")
def test_a_match_says_why_and_has_its_interface_once(client: Client) -> None:
    matches = {match["name"]: match for match in client.call("registry_discover", task=TASK).data["matches"]}
    assert set(matches["write-file"]) == {"name", "kind", "score", "reason", "description", "interface"}
    assert matches["write-file"]["interface"]["params"][:2] == [
        {"name": "path", "type": "string", "description": "The file to write", "required": True},
        {"name": "content", "type": "any", "description": "What to write; anything but text as JSON", "required": True},
    ]


def test_what_says_nothing_is_left_out_of_matches(client: Client) -> None:
    matches = client.call("registry_discover", task=TASK).data["matches"]
    mute = {("description", '""'), ("required", "false"), ("default", "null")}
    said = {(name, orjson.dumps(part).decode()) for each in objects(matches) for name, part in each.items()}
    assert said & mute == set()
    assert ("default", '""') in said


def test_what_is_too_large_to_show_names_the_tool_that_has_more(client: Client) -> None:
    inputs = {f"input{number}": {"description": "y" * 3_000} for number in range(100)}
    document = {"inputs": inputs, "nodes": [{"id": "echo", "params": {"text": "hi"}}]}
    client.call("workflow_save", workflow=document, name="penguin", description="Feed the penguin")
    [match] = client.call("workflow_discover", query="penguin").data["matches"]
    assert match["shortened"] == "`workflow_validate(workflow='penguin')` has the rest"
