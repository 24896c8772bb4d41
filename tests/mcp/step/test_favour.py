"""A tool that asks for what pflow does not give: the failure says so, and what to do."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.cli.conftest import Pflow
from tests.mcp.step.conftest import Serve, tool

ASK = tool("ask")
METHODS = {
    "sampling/createMessage": (
        "server `a` asked for a model (sampling), and pflow does not lend one to servers",
        "hint: use a tool that works without a model, or give the server a model of its own in its configuration",
    ),
    "elicitation/create": (
        "server `a` asked a person something (elicitation), which a run declines",
        "hint: give the tool what it asks for as an argument, if it takes it",
    ),
    "roots/list": (
        "server `a` asked which folders it may use (roots), and pflow names none",
        "hint: name the folders among the server's arguments, if it takes them there",
    ),
}


def asks(method: str, then: dict[str, Any]) -> dict[str, Any]:
    request = {"jsonrpc": "2.0", "id": "q", "method": method, "params": {}}
    return {"raw": json.dumps(request), "then": then}


@pytest.mark.parametrize(
    "failure", [{"failed": "Error executing tool sample: Method not found"}, {"refuse": [-32603, "no model"]}]
)
@pytest.mark.parametrize("method", METHODS)
def test_a_failure_says_what_the_server_did_not_get(
    pflow: Pflow, serve: Serve, method: str, failure: dict[str, Any]
) -> None:
    server = serve("a", ASK, era="legacy", replies={"ask": [asks(method, failure)]})
    said = pflow("call", "a", "ask")
    assert said.code == 1
    for line in METHODS[method]:
        assert line in said.err
    [answer] = server.answers("q") if method == "sampling/createMessage" else [{}]
    if answer:
        assert "pflow does not lend a model to servers" in answer["error"]["message"]


@pytest.mark.parametrize("method", ["sampling/createMessage", "roots/list"])
def test_a_tool_of_the_newer_protocol_that_needs_it_says_so_too(pflow: Pflow, serve: Serve, method: str) -> None:
    needs = {"resultType": "input_required", "inputRequests": {"m": {"method": method, "params": {}}}}
    serve("a", ASK, era="modern", replies={"ask": [{"result": needs}]})
    said = pflow("call", "a", "ask")
    assert said.code == 1
    for line in METHODS[method]:
        assert line in said.err


def test_a_tool_that_asks_and_works_all_the_same_is_left_alone(pflow: Pflow, serve: Serve) -> None:
    serve("a", ASK, era="legacy", replies={"ask": [asks("sampling/createMessage", {"text": "done"})]})
    said = pflow("call", "a", "ask")
    assert (said.code, said.out, said.err) == (0, "done\n", "")


def test_only_what_was_asked_for_during_the_call_is_said(pflow: Pflow, serve: Serve) -> None:
    replies = [asks("roots/list", {"text": "done"}), {"failed": "broken"}]
    serve("a", ASK, era="legacy", replies={"ask": replies})
    pflow("call", "a", "ask")
    said = pflow("call", "a", "ask")
    assert said.code == 1
    assert "roots" not in said.err
