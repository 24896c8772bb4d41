"""What a client sends back to a server that asked: only what it was given, once, and to the same question."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pflow import Workspace
from pflow.core.file.home import Home
from pflow.mcp_server.asking.input_round import state_security
from pflow.workspace.warm_workspace import WarmWorkspaces
from tests.mcp_server.asking.document import Json, asks, asks_each, asks_twice, open_questions, status_of
from tests.mcp_server.asking.host import CLAUDE, Host, Profile, accepts, says

OTHER = Profile("another-client", "1", CLAUDE.protocol, CLAUDE.capabilities)
CALL: Json = {"name": "workflow_execute", "arguments": {"workflow": asks()}}


class Asked:
    """A question that a call returned to ask."""

    def __init__(self, host: Host, call: Json = CALL) -> None:
        self.host = host
        self.call = call
        self.result: Json = host.request("tools/call", call)["result"]
        assert self.result["resultType"] == "input_required"
        self.state: str = self.result["requestState"]
        with Workspace(Home(host.home)) as workspace:
            self.run_id = workspace.runs(1)[0].run_id

    def bring(self, *, host: Host | None = None, state: object = None, person: Any = None, **changes: Any) -> Json:
        """The whole answer to a call that brings an answer."""
        host = host or self.host
        filled = host.fill(self.result, person or accepts(choice="post"))
        return host.request("tools/call", {**self.call, **filled, "requestState": state or self.state, **changes})

    def is_open(self) -> bool:
        """Whether it still waits for an answer."""
        return len(open_questions(self.host.home, self.run_id)) == 1


@pytest.fixture
def host(host_of: Callable[[Profile], Host]) -> Host:
    return host_of(CLAUDE)


@pytest.fixture
def asked(host: Host) -> Asked:
    return Asked(host)


def test_the_state_tells_a_client_nothing(asked: Asked) -> None:
    assert asked.run_id not in asked.state
    [name] = asked.result["inputRequests"]
    [waiting] = open_questions(asked.host.home, asked.run_id)
    assert waiting.key not in name + asked.state


def reminted(home: Path, state: str, **claims: object) -> str:
    """A state with other claims, made by who has the key of the home."""
    workspaces = WarmWorkspaces(Home(home))
    codec = state_security(workspaces).codec
    try:
        return codec.seal(json.dumps({**json.loads(codec.unseal(state)), **claims}).encode())
    finally:
        workspaces.close()


@pytest.mark.parametrize(
    "forge",
    [
        lambda state: state[:-1] + ("A" if state[-1] != "A" else "B"),
        lambda state: state[:40] + ("A" if state[40] != "A" else "B") + state[41:],
        lambda state: state[:-4],
        lambda state: "v1.AAAA",
        lambda state: json.dumps({"run": "latest", "asked": {}}),
        lambda state: 7,
        lambda state: {"run": 1},
    ],
    ids=["end", "middle", "cut", "short", "plain", "number", "object"],
)
def test_a_forged_state_is_refused(asked: Asked, forge: Callable[[str], object]) -> None:
    error = asked.bring(state=forge(asked.state))["error"]
    assert error["code"] == -32602
    assert asked.is_open()


def test_a_state_expires(asked: Asked) -> None:
    claims = {"iat": 1_000.0, "exp": 2_000.0}
    assert asked.bring(state=reminted(asked.host.home, asked.state, **claims))["error"]["code"] == -32602
    assert asked.is_open()
    again = reminted(asked.host.home, asked.state)
    assert asked.bring(state=again)["result"]["structuredContent"]["success"]


def test_the_state_of_another_home_is_refused(asked: Asked, home: Path) -> None:
    other = Host(home, CLAUDE)
    try:
        assert asked.bring(host=other)["error"]["code"] == -32602
        assert asked.is_open()
    finally:
        other.raw.kill()


def test_the_state_of_another_client_is_refused(asked: Asked, host_of: Callable[[Profile], Host]) -> None:
    assert asked.bring(host=host_of(OTHER))["error"]["code"] == -32602
    assert asked.is_open()


def test_a_state_belongs_to_one_call(asked: Asked) -> None:
    others = ({"workflow": asks(prompt="Burn it?")}, {"resume": asked.run_id})
    assert [asked.bring(arguments=other)["error"]["code"] for other in others] == [-32602, -32602]
    assert asked.is_open()


def test_a_state_answers_once(asked: Asked) -> None:
    assert asked.bring()["result"]["structuredContent"]["data"]["outputs"]["choice"] == "post"
    error = asked.bring(person=accepts(choice="stop"))["error"]
    assert error["code"] == -32602
    assert f"was already answered by {CLAUDE.by}" in error["message"]


def test_a_state_does_not_answer_what_is_asked_later(host: Host) -> None:
    asked = Asked(host, {"name": "workflow_execute", "arguments": {"workflow": asks_twice()}})
    later = asked.bring()["result"]
    assert later["resultType"] == "input_required"
    assert asked.bring(person=accepts(choice="here"))["error"]["code"] == -32602
    assert [one.place for one in open_questions(host.home, asked.run_id)] == ["two"]


def test_a_state_whose_form_was_dismissed_can_still_be_answered(asked: Asked) -> None:
    assert asked.bring(person=says("cancel"))["result"]["structuredContent"]["data"]["status"] == "waiting"
    assert asked.bring()["result"]["structuredContent"]["data"]["outputs"]["choice"] == "post"


def test_who_comes_after_a_terminal_is_told_who_was_first(asked: Asked) -> None:
    with Workspace(Home(asked.host.home)) as workspace:
        workspace.answer(asked.run_id, choice="stop", by="ada", via="terminal")
    error = asked.bring()["result"]["structuredContent"]["error"]
    assert (error["type"], error["details"]["by"]) == ("already_answered", "ada")


def test_a_form_that_is_dismissed_after_a_terminal_answered_lets_the_run_go_on(asked: Asked) -> None:
    with Workspace(Home(asked.host.home)) as workspace:
        workspace.answer(asked.run_id, choice="stop", by="ada", via="terminal")
    found = asked.bring(person=says("cancel"))["result"]["structuredContent"]["data"]
    assert (found["outputs"]["choice"], found["outputs"]["by"]) == ("stop", "ada")


def test_an_answer_to_a_run_that_was_cancelled_is_refused(asked: Asked) -> None:
    with Workspace(Home(asked.host.home)) as workspace:
        workspace.cancel(asked.run_id)
    assert asked.bring()["error"]["code"] == -32602
    assert status_of(asked.host.home, asked.run_id) == "cancelled"


@pytest.mark.parametrize("responses", [{}, {"unknown": {"action": "accept", "content": {}}}, None])
def test_what_is_not_answered_is_asked_again(asked: Asked, responses: Any) -> None:
    again = asked.bring(inputResponses=responses)["result"]
    assert again["resultType"] == "input_required"
    assert again["inputRequests"] == asked.result["inputRequests"]
    assert asked.is_open()


@pytest.mark.parametrize(
    "response", [{}, {"action": "perhaps"}, {"action": "accept", "content": 5}, "yes", {"roots": []}]
)
def test_a_response_that_is_none_decides_nothing(asked: Asked, response: Any) -> None:
    [name] = asked.result["inputRequests"]
    asked.bring(inputResponses={name: response})
    assert asked.is_open()


def test_what_somebody_else_answered_does_not_keep_the_rest(host: Host) -> None:
    asked = Asked(host, {"name": "workflow_execute", "arguments": {"workflow": asks_each("a", "b")}})
    with Workspace(Home(host.home)) as workspace:
        workspace.answer(asked.run_id, "ask[0]", "stop")
    found = asked.bring()["result"]["structuredContent"]["data"]
    assert found["outputs"] == {"chosen": ["stop", "post"]}


def test_many_questions_come_in_rounds(host: Host) -> None:
    items = [str(number) for number in range(23)]
    asked = Asked(host, {"name": "workflow_execute", "arguments": {"workflow": asks_each(*items)}})
    rounds = [len(asked.result["inputRequests"])]
    while (result := asked.bring()["result"])["resultType"] == "input_required":
        asked.result, asked.state = result, result["requestState"]
        rounds.append(len(result["inputRequests"]))
    assert rounds == [10, 10, 3]
    assert result["structuredContent"]["data"]["outputs"] == {"chosen": ["post"] * 23}


def test_a_secret_of_the_call_is_there_when_the_run_goes_on(host: Host) -> None:
    document = asks()
    document["inputs"] = {"token": {"type": "string", "secret": True}, "name": {"type": "string"}}
    document["nodes"].append(
        {"id": "use", "type": "code", "params": {"code": "result = len(token)", "inputs": {"token": "${token}"}}}
    )
    document["outputs"] = {"length": {"source": "${use.result}"}}
    given = {"token": "a-secret-of-some-length", "name": "Ada"}
    asked = Asked(host, {"name": "workflow_execute", "arguments": {"workflow": document, "parameters": given}})
    assert asked.bring()["result"]["structuredContent"]["data"]["outputs"] == {"length": len(given["token"])}


def test_a_question_shows_no_secret(host: Host) -> None:
    document = asks(prompt="Use ${token}?", show={"it": "${token}"})
    document["inputs"] = {"token": {"type": "string", "secret": True}}
    arguments = {"workflow": document, "parameters": {"token": "a-secret-of-some-length"}}
    asked = Asked(host, {"name": "workflow_execute", "arguments": arguments})
    assert "a-secret-of-some-length" not in json.dumps(asked.result)


def test_other_tools_that_run_something_ask_as_well(host: Host) -> None:
    node = {"node_type": "ask", "parameters": {"prompt": "Post it?", "choices": ["post", "stop"]}}
    asked = Asked(host, {"name": "registry_run", "arguments": node})
    assert asked.bring()["result"]["structuredContent"]["data"]["outputs"]["choice"] == "post"
