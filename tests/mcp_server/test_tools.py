"""The definitions of the tools: which there are, what they take, and what they cost a host."""

from __future__ import annotations

import ast
import asyncio
import hashlib
import importlib.util
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest

from pflow import __version__
from tests.conventions.source import module_paths, tree_of
from tests.mcp_server.client import Client

FULL = {
    "workflow_discover": ({"query"}, set()),
    "registry_discover": ({"task"}, {"limit"}),
    "registry_run": ({"node_type"}, {"parameters"}),
    "workflow_execute": (set(), {"workflow", "parameters", "resume", "rerun_in_doubt", "answers", "detach", "cancel"}),
    "workflow_validate": ({"workflow"}, set()),
    "workflow_save": (
        {"name"},
        {"workflow", "workflow_file", "description", "is_temp", "replaces", "rename", "from_runs"},
    ),
    "registry_describe": ({"nodes"}, set()),
    "registry_search": ({"pattern"}, set()),
    "workflow_list": (set(), {"filter", "include_temp", "name", "version", "diff", "offset"}),
    "settings_set": ({"key", "value"}, set()),
    "settings_get": ({"key"}, set()),
    "registry_list": (set(), set()),
    "trace_read": (set(), {"trace_file", "filter", "step", "field", "offset", "limit", "format", "since"}),
}
CORE = {
    "browse_components": (set(), {"query", "include_workflows"}),
    "list_library": (set(), {"pattern"}),
    "describe_workflow": ({"name"}, set()),
    "execute": ({"name"}, {"inputs"}),
    "save_to_library": ({"draft_name", "final_name", "description"}, set()),
}
MOST_BYTES = 12_000

# Hosts ask people about these definitions. Whoever changes one has read all of them again.
DIGESTS = {"full": "0574028d83ff7f0e", "core": "d734dabf89c2c0fb"}


@pytest.fixture(scope="module")
def core(start: Callable[..., Client]) -> Client:
    return start("--toolset", "core")


def parameters(tool: dict[str, Any]) -> tuple[set[str], set[str]]:
    schema = tool["inputSchema"]
    required = set(schema.get("required", ()))
    return required, set(schema["properties"]) - required


@pytest.mark.requirement(
    "server13:design-4",
    "server13:design-1",
    "server13:simple-1",
    "server13:simple-2",
    "server13:registry_list-1",
    "server5:scope-6",
    "server5:scope-1",
)
def test_there_are_thirteen_tools_with_these_parameters_and_no_others(either: Client) -> None:
    assert {tool["name"]: parameters(tool) for tool in either.tools()} == FULL
    assert [tool["name"] for tool in either.tools()] == list(FULL)


@pytest.mark.requirement("server5:rule-1", "server5:test-1", "server5:format-1", "server5:format-2", "server5:scope-1")
def test_the_core_toolset_has_five_tools(core: Client) -> None:
    tools = {tool["name"]: tool for tool in core.tools()}
    assert {name: parameters(tool) for name, tool in tools.items()} == CORE
    assert tools["browse_components"]["inputSchema"]["properties"]["include_workflows"]["default"] is True


def test_all_definitions_fit_into_the_budget(client: Client) -> None:
    assert len(orjson.dumps(client.tools())) <= MOST_BYTES


def test_every_tool_says_what_it_gives_and_what_it_does(client: Client, core: Client) -> None:
    for tool in [*client.tools(), *core.tools()]:
        assert tool["outputSchema"]["required"] == ["success"]
        assert {"success", "data", "error"} <= set(tool["outputSchema"]["properties"])
        assert {"readOnlyHint", "openWorldHint"} <= set(tool["annotations"])
        assert tool["annotations"]["readOnlyHint"] or "destructiveHint" in tool["annotations"]


def parts_of(schema: object) -> list[dict[str, Any]]:
    """A schema and every schema in it."""
    if not isinstance(schema, dict):
        return []
    inner = [*schema.get("properties", {}).values(), *schema.get("anyOf", ()), schema.get("items")]
    return [schema, *(part for each in inner for part in parts_of(each))]


def test_input_schemas_are_what_the_converters_of_hosts_can_read(client: Client, core: Client) -> None:
    # google-genai fails on `additionalProperties` that is true or false, CrewAI on a property without a type,
    # OpenAI on alternatives at the top, and none of them knows every keyword.
    known = {"type", "description", "properties", "required", "items", "anyOf", "default"}
    bounds = {"minimum", "maximum", "maxItems"}
    for tool in [*client.tools(), *core.tools()]:
        top = tool["inputSchema"]
        assert (top["type"], "anyOf" in top) == ("object", False)
        assert set(top.get("required", ())) <= set(top["properties"])
        for part in parts_of(top):
            assert set(part) <= known | bounds
            assert ("type" in part) != ("anyOf" in part)
            assert part.get("type") != "array" or "items" in part


def test_no_field_of_an_answer_is_closed(client: Client, core: Client) -> None:
    # fastmcp 2 makes classes of output schemas, and drops what is not described in them.
    for tool in [*client.tools(), *core.tools()]:
        for part in parts_of(tool["outputSchema"]):
            assert part.get("additionalProperties") is not False
            if part.get("type") == "object" and "properties" not in part:
                assert part["additionalProperties"] is True
            assert part.get("type") != "array" or part.get("items", {}).get("type") != "object"
        properties = tool["outputSchema"]["properties"]
        for name in ("outputs", "inputs", "checkpoint", "structure"):
            for place in (properties, properties["data"].get("properties", {})):
                assert name not in place or "anyOf" in place[name]


def test_no_schema_has_a_list_of_types(client: Client, core: Client) -> None:
    def types(value: object) -> list[object]:
        if isinstance(value, dict):
            own = [value["type"]] if "type" in value and not isinstance(value["type"], dict) else []
            return own + [kind for part in value.values() for kind in types(part)]
        return [kind for part in value for kind in types(part)] if isinstance(value, list) else []

    for tool in [*client.tools(), *core.tools()]:
        assert all(isinstance(kind, str) for kind in types([tool["inputSchema"], tool["outputSchema"]]))


@pytest.mark.requirement("server13:registry_list-2")
def test_the_tool_that_returns_hundreds_warns_of_it(client: Client) -> None:
    [tool] = [tool for tool in client.tools() if tool["name"] == "registry_list"]
    assert "warning: returns hundreds" in tool["description"]


@pytest.mark.requirement("server13:implementation-1", "server13:implementation-2", "server5:impact-4")
def test_the_server_says_who_it_is_and_how_to_use_it(either: Client) -> None:
    peer = either.session.peer
    if peer.era == "legacy":
        assert (peer.name, peer.release) == ("pflow", __version__)
        assert len(peer.instructions.splitlines()) == 5
    else:
        found = either.wait(either.session.request("server/discover", {}))
        about: Any = found["_meta"]
        assert about["io.modelcontextprotocol/serverInfo"] == {
            "name": "pflow",
            "title": "pflow",
            "version": __version__,
        }
        assert len(str(found["instructions"]).splitlines()) == 5


@pytest.mark.requirement("server13:implementation-3")
def test_the_modules_are_where_the_document_says() -> None:
    names = [f"tools.{name}" for name in ("discovery", "execution", "registry", "workflow", "settings", "trace")]
    for name in ("server", *names, "utils.resolver", "utils.security"):
        assert importlib.util.find_spec(f"pflow.mcp_server.{name}") is not None


@pytest.mark.requirement("server13:design-3")
def test_no_tool_goes_through_the_command_line_or_another_process() -> None:
    for path in module_paths():
        if path.startswith("mcp_server/"):
            assert not {"pflow.cli", "click", "subprocess"} & imported_modules(tree_of(path)), path


def imported_modules(tree: ast.Module) -> set[str]:
    """What a module imports, and every package around it."""
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else [node.module or ""]
            found |= {".".join(name.split(".")[:end]) for name in names for end in range(1, name.count(".") + 2)}
    return found


@pytest.mark.requirement("server5:nfr-5")
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="threads are counted by /proc")
def test_however_much_is_asked_at_once_threads_are_few(core: Client) -> None:
    async def ask() -> None:
        await asyncio.gather(*(core.ask("list_library", {}) for _ in range(300)))

    core.wait(ask())
    status = Path(f"/proc/{core.session.pid}/status").read_text()
    [threads] = [int(line.split()[1]) for line in status.splitlines() if line.startswith("Threads:")]
    assert threads <= min(32, (os.cpu_count() or 1) + 4) + 3


def test_a_change_of_a_definition_is_seen(client: Client, core: Client) -> None:
    found = {
        name: hashlib.sha256(orjson.dumps(each.tools(), option=orjson.OPT_SORT_KEYS)).hexdigest()[:16]
        for name, each in (("full", client), ("core", core))
    }
    assert found == DIGESTS
