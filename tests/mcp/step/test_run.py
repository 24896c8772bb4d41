"""Tools of MCP servers as steps of workflows: what they are given, what they give, and which edges they take."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pflow.core.file.home import Home
from pflow.nodes.mcp.node import MCPNode
from pflow.workspace import Workspace
from tests.cli.conftest import Pflow
from tests.mcp.step.conftest import Serve, tool

SAY = tool("say", needs={"text": "string"})
TEXT = {"type": "object", "properties": {"text": {"type": "string"}}}

SPY = """
from pocketflow import Node


class Spy(Node):
    def prep(self, shared):
        return dict(self.params)

    def exec(self, prep_res):
        return prep_res

    def post(self, shared, prep_res, exec_res):
        shared["result"] = exec_res
"""


@pytest.mark.requirement("security:1-1", "security:1-3", "security:15-1", "security:5.1-2", "security:5.1-5")
def test_a_tool_is_a_step_like_any_other(pflow: Pflow, serve: Serve, write: Callable[..., str]) -> None:
    schema = {**TEXT, "properties": {"text": {"type": "string"}, "loud": {"type": "boolean"}}, "required": ["text"]}
    server = serve("a", {**SAY, "inputSchema": schema})
    write(
        "x.json",
        {"id": "shout", "type": "mcp-a-say", "params": {"text": "${word}!", "loud": True}},
        {"id": "again", "type": "mcp-a-say", "params": {"text": "${shout.result.text} again"}},
        {"id": "last", "type": "echo", "params": {"text": "${again.result.text}"}},
        inputs={"word": {"type": "string", "required": True}},
        outputs={"said": {"type": "string", "source": "${last.text}"}},
    )
    said = pflow("run", "x.json", "word=hey")
    assert (said.code, said.out, said.err) == (0, "hey! again\n", "")
    assert server.calls == [{"text": "hey!", "loud": True}, {"text": "hey! again"}]


@pytest.mark.requirement("security:1-2", "security:5.1-3", "security:6.2-1", "security:12.2-4")
def test_arguments_come_from_params_mappings_and_natural_names(
    pflow: Pflow, serve: Serve, write: Callable[..., str]
) -> None:
    server = serve("a", tool("post", needs={"text": "string", "to": "string", "title": "string"}))
    write(
        "x.json",
        {"id": "draft", "type": "echo", "params": {"text": "hello"}},
        {"id": "send", "type": "mcp-a-post", "params": {"title": "News"}},
        inputs={"channel": {"type": "string", "default": "dev"}},
        mappings={"send": {"input_mappings": {"to": "channel"}, "output_mappings": {"result": "receipt"}}},
        outputs={"receipt": {"source": "${receipt}"}},
    )
    said = pflow("run", "x.json", "--json")
    expected = {"title": "News", "text": "hello", "to": "dev"}
    assert said.code == 0, said
    assert server.calls == [expected]
    assert said.json["data"]["outputs"] == {"receipt": expected}


@pytest.mark.requirement("security:8.1-2")
def test_a_tool_can_be_named_by_its_server_and_its_own_name(
    pflow: Pflow, serve: Serve, write: Callable[..., str]
) -> None:
    server = serve("github-server", tool("Search_Code", needs={"query": "string"}))
    node = {"id": "find", "version": "1.0.0", "type": "mcp_wrapper", "params": {"query": "x"}}
    metadata = {"server_id": "github-server", "tool_name": "Search_Code", "version": "1.2.0"}
    write("x.json", {**node, "mcp_metadata": metadata})
    assert pflow("run", "x.json").out == '{"query":"x"}\n'
    assert server.asked("tools/call")[0]["name"] == "Search_Code"
    write("y.json", {**node, "mcp_metadata": {**metadata, "tool_name": "search_cod"}})
    wrong = pflow("run", "y.json")
    assert wrong.code == 2
    assert wrong.err.startswith("error: Tool search_cod not found on server github-server\n  known: Search_Code\n")
    assert wrong.err.endswith("\n\nhint: did you mean `Search_Code`?\n")


@pytest.mark.requirement("client:rule-7", "client:rule-8", "client:test-5", "client:test-6", "client:require-2")
def test_which_tool_it_is_stands_in_two_parameters_of_the_node(
    pflow: Pflow, serve: Serve, write: Callable[..., str], home: Path
) -> None:
    serve("a", tool("Say_It", needs={"text": "string"}))
    (home / "nodes").mkdir(mode=0o700)
    (home / "nodes" / "spy.py").write_text(SPY)
    assert pflow("registry", "scan").code == 0
    registry = json.loads((home / "registry.json").read_text())
    code = {key: registry["spy"][key] for key in ("class_name", "module", "file_path")}
    registry["mcp-a-say-it"] |= code
    (home / "registry.json").write_text(json.dumps(registry))
    write("x.json", {"id": "s", "type": "mcp-a-say-it", "params": {"text": "hi"}})
    said = pflow("run", "x.json")
    assert said.code == 0, said
    assert json.loads(said.out) == {"text": "hi", "__mcp_server__": "a", "__mcp_tool__": "Say_It"}


@pytest.mark.requirement("client:rule-14")
def test_the_node_is_a_pocketflow_node_that_is_told_its_tool(serve: Serve, home: Path) -> None:
    server = serve("a", SAY)
    node = MCPNode()
    node.set_params({"__mcp_server__": "a", "__mcp_tool__": "say", "text": "hi"})
    shared: dict[str, object] = {}
    with Workspace(Home(home)) as workspace:
        assert workspace.run_flow(node, shared).success
        node.set_params({"text": "hi"})
        untold = workspace.run_flow(node)
    assert shared["result"] == {"text": "hi"}
    assert server.calls == [{"text": "hi"}]
    assert untold.error is not None
    assert untold.error["message"] == (
        "an MCP node must know its tool: `__mcp_server__` and `__mcp_tool__` are not set"
    )


@pytest.mark.requirement("client:test-13", "client:edge-8")
def test_other_nodes_are_not_told_of_tools(pflow: Pflow, serve: Serve, write: Callable[..., str], home: Path) -> None:
    serve("a", SAY)
    (home / "nodes").mkdir(mode=0o700)
    (home / "nodes" / "spy.py").write_text(SPY)
    assert pflow("registry", "scan").code == 0
    write("x.json", {"id": "s", "type": "spy", "params": {}})
    assert pflow("run", "x.json").out == "{}\n"


@pytest.mark.requirement("client:rule-13")
def test_one_class_executes_all_tools(pflow: Pflow, serve: Serve, home: Path) -> None:
    serve("a", SAY, tool("b"))
    serve("c", tool("d"))
    entries = json.loads((home / "registry.json").read_text())
    classes = {(entry["module"], entry["class_name"]) for name, entry in entries.items() if name.startswith("mcp-")}
    assert classes == {("pflow.nodes.mcp.node", "MCPNode")}


def test_what_a_failed_tool_was_given_is_shown_without_what_is_ours(
    pflow: Pflow, serve: Serve, write: Callable[..., str], home: Path
) -> None:
    serve("a", SAY, replies={"say": [{"failed": "no voice"}]})
    write("x.json", {"id": "s", "type": "mcp-a-say", "params": {"text": "hi"}})
    said = pflow("run", "x.json")
    assert said.code == 1
    assert said.steady == (
        "error: step `s` failed: tool `say` of server `a` failed: no voice\n"
        "  params:\n"
        '    text: "hi"\n'
        "  completed: nothing yet\n"
        "\n"
        "resume: pflow runs resume RUN\n"
    )
    assert "__mcp" not in pflow("run", "x.json", "--json").out
    assert "__mcp" not in pflow("runs", "show", "latest", "--json").out


@pytest.mark.parametrize(
    ("result", "outputs"),
    [
        ({"content": [{"type": "text", "text": "plain"}]}, {"result": "plain"}),
        ({"content": [{"type": "text", "text": '[{"id": 1}]'}]}, {"result": [{"id": 1}]}),
        ({"content": [{"type": "text", "text": '{"result": 7}'}]}, {"result": 7}),
        ({"content": [], "structuredContent": {"result": [1, 2]}}, {"result": [1, 2]}),
        ({"content": [], "structuredContent": {"a": 1, "b": "x"}}, {"result": {"a": 1, "b": "x"}}),
        ({"content": []}, {"result": None}),
    ],
)
def test_results_have_one_shape_whatever_the_habits_of_a_server(
    pflow: Pflow, serve: Serve, result: dict[str, Any], outputs: dict[str, Any]
) -> None:
    serve("a", tool("get"), replies={"get": [{"result": result}]})
    assert pflow("call", "a", "get", "--json").json["data"]["outputs"] == outputs


@pytest.mark.requirement("security:6.1-4")
def test_the_fields_of_a_structured_result_are_outputs_of_their_own(
    pflow: Pflow, serve: Serve, write: Callable[..., str]
) -> None:
    schema = {
        "type": "object",
        "properties": {"count": {"type": "integer"}, "items": {"type": "array", "items": {"type": "object"}}},
        "required": ["count", "items"],
    }
    structured = {"count": 2, "items": [{"id": "x"}, {"id": "y"}]}
    serve("a", tool("find", outputSchema=schema), replies={"find": [{"result": {"structuredContent": structured}}]})
    write(
        "x.json",
        {"id": "f", "type": "mcp-a-find"},
        {"id": "e", "type": "echo", "params": {"n": "${f.count}", "last": "${f.result.items[1].id}"}},
        outputs={"n": {"source": "${e.n}"}, "last": {"source": "${e.last}"}, "all": {"source": "${f.items}"}},
    )
    said = pflow("run", "x.json", "--json")
    assert said.code == 0, said
    assert said.json["data"]["outputs"] == {"n": 2, "last": "y", "all": structured["items"]}
    write("y.json", {"id": "f", "type": "mcp-a-find"}, {"id": "e", "type": "echo", "params": {"n": "${f.cuont}"}})
    wrong = pflow("validate", "y.json")
    assert wrong.code == 2
    assert "hint: did you mean `${f.count}`?" in wrong.err


@pytest.mark.parametrize(
    ("reply", "action"),
    [
        ({"failed": "Error 429: Too Many Requests"}, "rate_limited"),
        ({"failed": "401 Unauthorized: bad credentials"}, "auth_failed"),
        ({"failed": "404 Not Found: no such repository"}, "resource_missing"),
        ({"failed": "it is raining"}, "error"),
        ({"refuse": [-32601, "nope"]}, "error"),
        ({"refuse": [-32603, "rate limit exceeded"]}, "rate_limited"),
        ({"exit": 3}, "error"),
        ({"hang": True}, "timeout"),
    ],
)
@pytest.mark.requirement("security:7.2-1", "security:7.2-3", "security:12.2-3", "security:12.2-1")
def test_a_failure_takes_its_edge(
    pflow: Pflow, serve: Serve, write: Callable[..., str], reply: dict[str, Any], action: str
) -> None:
    serve("a", SAY, replies={"say": [reply]}, add=("--timeout", "2") if "hang" in reply else ())
    actions = ["rate_limited", "auth_failed", "resource_missing", "timeout", "error"]
    write(
        "x.json",
        {"id": "s", "type": "mcp-a-say", "params": {"text": "x"}},
        {"id": "ok", "type": "echo", "params": {"took": "default"}},
        *({"id": name, "type": "echo", "params": {"took": name}} for name in actions),
        edges=[{"from": "s", "to": "ok"}, *({"from": "s", "to": name, "action": name} for name in actions)],
    )
    said = pflow("run", "x.json", "--json")
    assert said.code == 0, said
    assert said.json["data"]["outputs"] == {"took": action}


def test_a_failure_without_an_edge_of_its_own_takes_the_one_for_errors(
    pflow: Pflow, serve: Serve, write: Callable[..., str]
) -> None:
    serve("a", SAY, replies={"say": [{"failed": "429 Too Many Requests"}]})
    write(
        "x.json",
        {"id": "s", "type": "mcp-a-say", "params": {"text": "x"}},
        {"id": "e", "type": "echo", "params": {"took": "error"}},
        edges=[{"from": "s", "to": "e", "action": "error"}],
    )
    assert pflow("run", "x.json", "--json").json["data"]["outputs"] == {"took": "error"}


@pytest.mark.requirement("security:10.1-2")
def test_a_tool_is_part_of_a_pipeline(pflow: Pflow, serve: Serve, tmp_path: Path) -> None:
    server = serve("a", SAY, tool("count", needs={"items": "array"}), replies={"say": [{"text": "HELLO"}]})
    said = pflow("mcp-a-say --text=hello >> write-file --path=out.txt --content='${mcp-a-say.result}'")
    assert said.code == 0, said
    assert (tmp_path / "out.txt").read_text() == "HELLO"
    assert pflow("mcp-a-count", "--items=[1,2]").out == '{"items":[1,2]}\n'
    assert server.calls == [{"text": "hello"}, {"items": [1, 2]}]
    assert pflow("mcp-a-say", stdin="from a pipe").out == "HELLO\n"
    assert server.calls[2:] == [{"text": "from a pipe"}]


def test_a_path_that_no_call_ever_gave_is_an_issue(pflow: Pflow, serve: Serve, write: Callable[..., str]) -> None:
    found = {"items": [{"title": "a", "number": 1}], "total": 1}
    serve("a", tool("find"), replies={"find": [{"text": json.dumps(found)}]})
    write(
        "x.json",
        {"id": "f", "type": "mcp-a-find"},
        {"id": "e", "type": "echo", "params": {"x": "${f.result.items[0].titel}"}},
    )
    assert pflow("validate", "x.json").code == 0
    assert pflow("call", "a", "find").code == 0
    assert pflow("call", "a", "find").code == 0
    said = pflow("validate", "x.json")
    assert said.code == 2
    assert said.err.splitlines()[0] == (
        "error: template `${f.result.items[0].titel}`: output `result` of node `f` (mcp-a-find) at `.items[0]` is "
        "object and has no `titel` (as seen in 2 calls)"
    )
    assert said.err.endswith("\n\nhint: did you mean `title`?\n")
