"""What an agent reads of what was found: enough to build with, and nothing twice."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import orjson

from tests.mcp_server.client import Client

TASK = "read the git log, show each commit, write a file"


def objects(value: Any) -> Iterator[dict[str, Any]]:
    """Every object in a value."""
    if isinstance(value, dict):
        yield value
    for part in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from objects(part)


def test_a_match_says_why_and_what_it_takes_and_gives(client: Client) -> None:
    answer = client.call("registry_discover", task=TASK)
    matches = {match["name"]: match for match in answer.data["matches"]}
    found = matches["write-file"]
    assert set(found) == {"name", "kind", "score", "reason", "description", "takes", "gives"}
    assert found["takes"] == "path: string, content: any, append?: boolean, encoding?: string"
    assert f"  takes {found['takes']}" in answer.text.splitlines()


def test_an_answer_is_short_and_holds_as_many_as_were_asked_for(client: Client) -> None:
    answer = client.call("registry_discover", task=TASK)
    assert max(len(orjson.dumps(answer.envelope)), len(answer.text)) < 3_000
    assert len(client.call("registry_discover", task=TASK, limit=2).data["matches"]) == 2
    assert len(client.call("registry_discover", task=TASK, limit=10).data["matches"]) > 6


def test_what_says_nothing_is_left_out_of_matches(client: Client) -> None:
    inputs = {"to": {"type": "string"}, "note": {"required": False, "default": ""}}
    document = {"inputs": inputs, "nodes": [{"id": "echo", "params": {"text": "${to}"}}]}
    client.call("workflow_save", workflow=document, name="walrus", description="Feed the walrus")
    matches = client.call("workflow_discover", query="walrus").data["matches"]
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
