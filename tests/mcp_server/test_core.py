"""The five tools of `--toolset core`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pflow.core.file.home import Home
from pflow.workspace import Workspace
from tests.mcp_server.client import Client

GREET: dict[str, Any] = {
    "inputs": {"name": {"type": "string", "required": True, "description": "Whom to greet"}},
    "nodes": [{"id": "say", "type": "echo", "params": {"text": "hello ${name}"}}],
    "outputs": {"greeting": {"source": "${say.text}"}},
}
TOOLS: dict[str, dict[str, object]] = {
    "browse_components": {"query": "greet"},
    "list_library": {},
    "describe_workflow": {"name": "greeting"},
    "execute": {"name": "greeting", "inputs": {"name": "Ada"}},
    "save_to_library": {"draft_name": "absent", "final_name": "b", "description": "c"},
}


@pytest.fixture(scope="module", params=["modern", "legacy"])
def core(request: pytest.FixtureRequest, start: Callable[..., Client]) -> Client:
    client = start("--toolset", "core", era=request.param)
    with Workspace(Home(client.home)) as workspace:
        workspace.save(GREET, "greeting", "Say hello to somebody")
        workspace.save({"nodes": [{"id": "a", "type": "echo"}]}, "test-echo", "Repeat a thing")
    return client


@pytest.mark.requirement("server5:output-1", "server5:rule-2", "server5:rule-3", "server5:test-2")
def test_browsing_finds_nodes_with_their_interfaces_and_workflows(core: Client) -> None:
    nodes = core.call("browse_components", query="github").envelope["nodes"]
    assert all(node["type"].startswith("github") for node in nodes[:3])
    first = nodes[0]
    assert set(first) == {"type", "description", "inputs", "outputs"}
    assert {"key": "path", "type": "string", "required": True} in first["inputs"]
    found = core.call("browse_components", query="say hello", include_workflows=True).envelope
    assert [(each["name"], each["description"]) for each in found["workflows"]] == [
        ("greeting", "Say hello to somebody")
    ]


@pytest.mark.requirement("server5:test-3")
def test_browsing_leaves_workflows_out_when_asked(core: Client) -> None:
    assert "workflows" not in core.call("browse_components", query="say", include_workflows=False).envelope
    assert "workflows" in core.call("browse_components", query="say").envelope


def test_browsing_without_a_query_shows_everything(core: Client) -> None:
    found = core.call("browse_components").envelope
    assert len(found["nodes"]) + found["data"].get("more_nodes", 0) >= 20
    assert [each["name"] for each in found["workflows"]] == ["greeting", "test-echo"]


@pytest.mark.requirement("server5:edge-10")
def test_browsing_for_what_does_not_exist_gives_empty_lists(core: Client) -> None:
    found = core.call("browse_components", query="zxqv")
    assert (found.envelope["nodes"], found.envelope["workflows"], found.is_error) == ([], [], False)


@pytest.mark.requirement("server5:output-2", "server5:rule-4", "server5:test-4")
def test_the_library_lists_every_workflow(core: Client) -> None:
    found = core.call("list_library").data
    assert [(each["name"], each["description"]) for each in found] == [
        ("greeting", "Say hello to somebody"),
        ("test-echo", "Repeat a thing"),
    ]
    assert core.call("list_library", pattern=None).data == found


@pytest.mark.requirement("server5:rule-5", "server5:test-5")
def test_the_library_is_filtered_by_a_pattern(core: Client) -> None:
    assert [each["name"] for each in core.call("list_library", pattern="test").data] == ["test-echo"]
    assert core.call("list_library", pattern="zxqv").data == []


@pytest.mark.requirement("server5:output-3", "server5:rule-6", "server5:rule-7", "server5:test-6", "server5:test-7")
def test_describing_shows_inputs_outputs_template_variables_and_statistics(core: Client) -> None:
    core.call("execute", name="greeting", inputs={"name": "Ada"})
    found = core.call("describe_workflow", name="greeting")
    assert found.envelope["inputs"] == {"name": {"type": "string", "required": True, "description": "Whom to greet"}}
    assert found.envelope["outputs"] == GREET["outputs"]
    assert found.data["template_variables"] == ["name"]
    assert found.data["statistics"]["execution_count"] >= 1
    assert found.data["statistics"]["last_execution_success"] is True


@pytest.mark.requirement("server5:output-4")
def test_executing_gives_the_outputs(core: Client) -> None:
    answer = core.call("execute", name="greeting", inputs={"name": "Ada"})
    assert answer.envelope["outputs"] == {"greeting": "hello Ada"}
    assert answer.envelope["checkpoint"] is None
    assert answer.envelope["error"] is None
    assert answer.data["run_id"] in answer.envelope["trace_path"]


@pytest.mark.requirement("server5:test-10", "server5:output-4", "server5:rule-12")
def test_a_failed_execution_gives_its_checkpoint(core: Client) -> None:
    with Workspace(Home(core.home)) as workspace:
        if not any(each.name == "failing" for each in workspace.workflows()):
            nodes = [{"id": "init", "type": "echo"}, {"id": "fetch", "type": "shell", "params": {"command": "exit 1"}}]
            workspace.save({"nodes": nodes}, "failing", "Fail at fetch")
    answer = core.call("execute", name="failing")
    assert answer.error["type"] == "execution"
    assert answer.error["node"] == "fetch"
    assert answer.envelope["checkpoint"]["completed_nodes"] == ["init"]
    assert answer.envelope["checkpoint"]["failed_node"] == "fetch"
    assert answer.envelope["outputs"] == {}


def test_missing_inputs_are_template_errors(core: Client) -> None:
    error = core.call("execute", name="greeting").error
    assert (error["type"], error["details"]["missing"]) == ("template_error", ["name"])


@pytest.mark.requirement("server5:effect-1")
def test_executing_may_change_files(core: Client, tmp_path: Path) -> None:
    with Workspace(Home(core.home)) as workspace:
        node = {"id": "write", "type": "write-file", "params": {"path": str(tmp_path / "made"), "content": "x"}}
        workspace.save({"nodes": [node]}, f"writes-{tmp_path.name[-12:].replace('_', '-')}", "Write a file")
        name = f"writes-{tmp_path.name[-12:].replace('_', '-')}"
    assert core.call("execute", name=name).envelope["success"] is True
    assert (tmp_path / "made").read_text() == "x"


@pytest.mark.requirement("server5:format-3")
@pytest.mark.parametrize("tool", TOOLS)
def test_every_answer_has_success_data_and_error(core: Client, tool: str) -> None:
    answer = core.call(tool, **TOOLS[tool])
    assert {"success", "data", "error"} <= set(answer.envelope)
    assert (answer.envelope["error"] is None) is answer.envelope["success"]


HOSTILE = [
    *("../etc", "/etc/passwd", "a/b", "a\\b", "..", ".", "", "~", "~root", "C:x", "-rf", "nul.json"),
    *("a\x00b", "a\nb", "a\x1b[0m", "a\u202eb", "x" * 4096),
]


@pytest.mark.requirement("server5:rule-16")
@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("tool", ["describe_workflow", "execute", "save_to_library"])
def test_a_hostile_name_is_refused_and_not_repeated(core: Client, tool: str, name: str) -> None:
    arguments: dict[str, object] = {"name": name}
    if tool == "save_to_library":
        arguments = {"draft_name": name, "final_name": "fine", "description": "x"}
        error = core.call(tool, draft_name="fine", final_name=name, description="x").error
        assert error["type"] == "security"
    answer = core.call(tool, **arguments)
    assert answer.error["type"] == "security"
    message = answer.error["message"]
    assert message.isprintable()
    assert "/" not in message
    assert len(message) < 200
