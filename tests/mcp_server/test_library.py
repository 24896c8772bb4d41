"""Resources, prompts and word of changes, through real sessions in both eras."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from pflow.core.errors import ServerError
from pflow.core.file.home import find_home
from pflow.workspace import Workspace
from tests.mcp_server.client import COMMAND, DEADLINE, Client

HELLO = {
    "description": "Greet someone",
    "inputs": {
        "name": {"type": "string", "description": "Who to greet"},
        "times": {"type": "integer", "default": 1},
        "api_key": {"type": "string", "secret": True, "required": False},
    },
    "nodes": [{"id": "greet", "type": "echo", "params": {"text": "hello ${name}", "times": "${times}"}}],
    "outputs": {"greeting": {"source": "${greet.text}"}},
}


def ask(client: Client, method: str, **params: object) -> Any:
    return client.wait(client.session.request(method, params))


def read(client: Client, uri: str) -> str:
    (content,) = ask(client, "resources/read", uri=uri)["contents"]
    assert content["uri"] == uri
    text: str = content["text"]
    return text


def refused(client: Client, method: str, **params: object) -> ServerError:
    with pytest.raises(ServerError) as caught:
        ask(client, method, **params)
    return caught.value


@pytest.fixture(scope="module")
def stocked(either: Client) -> Client:
    """A server whose library has a workflow."""
    assert either.call("workflow_save", workflow=HELLO, name="hello", description="Greet someone").data
    return either


def test_the_guide_is_short_and_its_examples_are_valid(stocked: Client) -> None:
    guide = read(stocked, "pflow://guide")
    # A token of English or JSON has about four bytes, so this is 1,500 tokens at most.
    assert len(guide.encode()) / 4 <= 1_500
    examples = re.findall(r"```json\n(.*?)```", guide, re.DOTALL)
    assert len(examples) == 3
    for example in examples:
        assert stocked.call("workflow_validate", workflow=example).data["errors"] == []


def test_the_examples_of_the_guide_run(stocked: Client, tmp_path: Path) -> None:
    guide = read(stocked, "pflow://guide")
    words, greetings, handled = re.findall(r"```json\n(.*?)```", guide, re.DOTALL)
    (tmp_path / "text").write_text("one two three")
    run = stocked.call("workflow_execute", workflow=words, parameters={"file": str(tmp_path / "text")})
    assert run.data["outputs"] == {"words": 3}
    run = stocked.call("workflow_execute", workflow=greetings, parameters={"names": ["Ada"]})
    assert run.data["outputs"]["greetings"][0]["text"] == "Hello Ada"
    run = stocked.call("workflow_execute", workflow=handled, parameters={"path": str(tmp_path / "absent")})
    assert run.data["outputs"] == {"text": "nothing"}


def test_the_guide_names_only_tools_that_exist(stocked: Client) -> None:
    named = set(re.findall(r"`((?:workflow|registry|settings|trace)_\w+)", read(stocked, "pflow://guide")))
    assert named
    assert named <= {tool["name"] for tool in stocked.tools()}


def test_resources_are_the_guide_and_the_library(stocked: Client) -> None:
    listed = ask(stocked, "resources/list")["resources"]
    assert [resource["uri"] for resource in listed] == [
        "pflow://guide",
        "ui://pflow/run.html",
        "pflow://workflows/hello",
    ]
    assert listed[2]["description"] == "Greet someone"
    templates = ask(stocked, "resources/templates/list")["resourceTemplates"]
    addresses = [template["uriTemplate"] for template in templates]
    assert addresses == ["pflow://guide/{topic}", "pflow://workflows/{name}", "pflow://runs/{id}"]
    assert read(stocked, "pflow://guide/templates").startswith("# Templates")


def test_a_saved_workflow_and_a_draft_are_read_by_name(stocked: Client) -> None:
    assert json.loads(read(stocked, "pflow://workflows/hello"))["nodes"] == HELLO["nodes"]
    stocked.call("workflow_save", workflow=HELLO, name="sketch", description="Greet", is_temp=True)
    assert json.loads(read(stocked, "pflow://workflows/sketch"))["nodes"] == HELLO["nodes"]


def test_a_run_is_read_by_id_and_as_the_latest(stocked: Client) -> None:
    run_id = stocked.call("workflow_execute", workflow="hello", parameters={"name": "Ada"}).data["run_id"]
    for reference in (run_id, "latest"):
        run = json.loads(read(stocked, f"pflow://runs/{reference}"))
        assert run["run_id"] == run_id
        assert run["status"] == "completed"
        assert [step["step"] for step in run["steps"]] == ["greet"]


def test_a_run_with_large_values_is_shortened_and_says_where_the_rest_is(stocked: Client) -> None:
    many = {
        "nodes": [
            {"id": f"n{index}", "type": "echo", "params": {"text": "x" * 900, "more": "y" * 900}} for index in range(40)
        ]
    }
    run_id = stocked.call("workflow_execute", workflow=many).data["run_id"]
    text = read(stocked, f"pflow://runs/{run_id}")
    assert len(text) <= 20_000
    run = json.loads(text)
    assert run["step_count"] == 40
    assert "trace_read" in run["shortened"]


@pytest.mark.parametrize(
    "uri",
    [
        "pflow://workflows/../settings",
        "pflow://workflows/..%2fsettings",
        "pflow://workflows/%2e%2e%2fsettings",
        "pflow://workflows/%252e%252e",
        "pflow://workflows/%2fetc%2fpasswd",
        "pflow://workflows/",
        "pflow://workflows/a%00b",
        "pflow://workflows/hello.json/x",
        "pflow://runs/..%2f..%2fsettings",
        "pflow://runs/%25",
        "pflow://runs/",
        "file:///etc/passwd",
        "pflow://settings",
    ],
)
@pytest.mark.requirement("paths:security-1")
def test_no_address_leads_out_of_the_library(stocked: Client, uri: str) -> None:
    error = refused(stocked, "resources/read", uri=uri)
    assert error.details["code"] == -32602
    assert "root:" not in str(error.details)


def test_an_unknown_workflow_is_named_with_its_neighbours(stocked: Client) -> None:
    error = refused(stocked, "resources/read", uri="pflow://workflows/helo")
    assert error.details["code"] == -32602
    assert "there is no workflow `helo`" in str(error.details["server_says"])


def test_saved_workflows_are_prompts_without_their_secrets(stocked: Client) -> None:
    (prompt,) = ask(stocked, "prompts/list")["prompts"]
    assert prompt["name"] == "hello"
    assert prompt["description"] == "Greet someone"
    assert prompt["arguments"] == [
        {"name": "name", "description": "Who to greet", "required": True},
        {"name": "times", "description": "(integer)", "required": False},
    ]


def test_a_prompt_asks_for_the_call_that_runs_the_workflow(stocked: Client) -> None:
    found = ask(stocked, "prompts/get", name="hello", arguments={"name": "A'da", "times": "2"})
    (message,) = found["messages"]
    assert message["role"] == "user"
    call = """workflow_execute(workflow='hello', parameters={"name":"A'da","times":2})"""
    assert call in message["content"]["text"]
    assert "api_key" in message["content"]["text"]


@pytest.mark.parametrize(
    ("name", "arguments", "said"),
    [
        ("hello", {}, "needs `name`"),
        ("hello", {"name": "x", "tims": "2"}, "has no input `tims`"),
        ("hello", {"name": "x", "times": "often"}, "must be an integer"),
        ("hello", {"name": "x", "api_key": "k"}, "has no input `api_key`"),
        ("../hello", {}, "not allowed"),
        ("absent", {}, "there is no workflow `absent`"),
    ],
)
def test_a_prompt_that_cannot_be_filled_says_why(
    stocked: Client, name: str, arguments: dict[str, Any], said: str
) -> None:
    error = refused(stocked, "prompts/get", name=name, arguments=arguments)
    assert error.details["code"] == -32602
    assert said in str(error.details["server_says"])


@pytest.mark.parametrize("toolset", ["full", "core"])
def test_a_server_says_in_five_lines_what_it_is_for_and_names_only_tools_that_it_has(
    start: Callable[..., Client], toolset: str
) -> None:
    client = start("--toolset", toolset, era="legacy")
    opening = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    said = ask(client, "initialize", **opening)["instructions"]
    assert len(said.splitlines()) == 5
    tools = {tool["name"] for tool in client.tools()}
    named = set(re.findall(r"\b[a-z]+_[a-z_]+\b", said)) - {"is_temp"}
    assert named <= tools
    assert len(named) >= 4


def test_a_prompt_of_the_smaller_toolset_asks_for_its_own_tool(start: Callable[..., Client], tmp_path: Path) -> None:
    home = tmp_path / ".pflow"
    with Workspace(find_home({"PFLOW_HOME": str(home)})) as workspace:
        workspace.save(HELLO, "hello")
    client = start("--toolset", "core", home=home)
    found = ask(client, "prompts/get", name="hello", arguments={"name": "Ada"})
    assert """execute(name='hello', inputs={"name":"Ada"})""" in found["messages"][0]["content"]["text"]


def test_lists_come_in_pages(start: Callable[..., Client], tmp_path: Path) -> None:
    client = start(home=tmp_path / ".pflow")
    (tmp_path / ".pflow" / "workflows").mkdir(parents=True, mode=0o700, exist_ok=True)
    client.call("workflow_save", workflow=HELLO, name="w000", description="Greet")
    saved = (tmp_path / ".pflow" / "workflows" / "w000.json").read_bytes()
    for index in range(1, 130):
        path = tmp_path / ".pflow" / "workflows" / f"w{index:03}.json"
        path.write_bytes(saved.replace(b"w000", b"w%03d" % index))
        path.chmod(0o600)
    for method, key in (("resources/list", "resources"), ("prompts/list", "prompts")):
        first = ask(client, method)
        second = ask(client, method, cursor=first["nextCursor"])
        assert "nextCursor" not in second
        names = [each["name"] for each in first[key] + second[key] if each["name"] not in ("guide", "run-view")]
        assert names == [f"w{index:03}" for index in range(130)]
        assert refused(client, method, cursor="../x").details["code"] == -32602


class Wire:
    """A server's stdin and stdout, to see what comes unasked."""

    def __init__(self, home: str) -> None:
        env = {**os.environ, "PFLOW_HOME": home}
        self.process = subprocess.Popen(COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env)

    def send(self, **message: object) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        self.process.stdin.flush()

    def until(self, wanted: Callable[[dict[str, Any]], bool]) -> list[dict[str, Any]]:
        """What comes, up to the wanted message."""
        assert self.process.stdout is not None
        seen: list[dict[str, Any]] = []
        while not seen or not wanted(seen[-1]):
            line = self.process.stdout.readline()
            assert line, seen
            seen.append(json.loads(line))
        return seen

    def close(self) -> None:
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.close()
        self.process.stdout.read()
        self.process.stdout.close()
        assert self.process.wait(DEADLINE) == 0


@pytest.fixture
def wire(tmp_path: Path) -> Iterator[Wire]:
    opened = Wire(str(tmp_path / ".pflow"))
    yield opened
    opened.close()


SAVE = {"name": "workflow_save", "arguments": {"workflow": HELLO, "name": "hello", "description": "Greet"}}
CHANGED = {"notifications/resources/list_changed", "notifications/prompts/list_changed"}


def test_a_client_of_the_older_protocol_is_told_when_the_library_changes(wire: Wire) -> None:
    opening = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    wire.send(id=1, method="initialize", params=opening)
    capabilities = wire.until(lambda message: message.get("id") == 1)[-1]["result"]["capabilities"]
    assert capabilities["resources"]["listChanged"] is True
    assert capabilities["prompts"]["listChanged"] is True
    wire.send(method="notifications/initialized")
    wire.send(id=2, method="tools/call", params=SAVE)
    seen = wire.until(lambda message: message.get("id") == 2)
    assert {message.get("method") for message in seen[:-1]} == CHANGED
    wire.send(id=3, method="tools/call", params=SAVE)  # the name is taken, nothing changes
    assert len(wire.until(lambda message: message.get("id") == 3)) == 1


def test_who_subscribed_is_told_when_the_library_changes(wire: Wire) -> None:
    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": {"name": "t", "version": "1"},
    }
    wanted = {"resourcesListChanged": True, "promptsListChanged": True}
    wire.send(id=1, method="subscriptions/listen", params={"notifications": wanted, "_meta": meta})
    wire.until(lambda message: message.get("method") == "notifications/subscriptions/acknowledged")
    wire.send(id=2, method="tools/call", params={**SAVE, "_meta": meta})
    left = CHANGED | {None}

    def all_came(message: dict[str, Any]) -> bool:
        left.discard(message.get("method"))
        return not left

    wire.until(all_came)
