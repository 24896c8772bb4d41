"""The tools of the registry, over built-in nodes and the tools of an MCP server."""

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
COMMITS = [{"sha": "abc", "author": {"name": "Ada", "emails": ["ada@example.org"]}}]
LOG_TOOL = {
    "name": "git_log",
    "description": "Shows the commit logs.",
    "inputSchema": {"type": "object", "properties": {"count": {"type": "integer"}}, "required": ["count"]},
}


class Scripted:
    """A configured and synced MCP server, and how often it was started."""

    def __init__(self, folder: Path) -> None:
        self.script = folder / "git.json"
        text = json.dumps({"commits": COMMITS, "branch": "main"})
        replies = {"git_log": [{"result": {"content": [{"type": "text", "text": text}]}}]}
        self.script.write_text(json.dumps({"tools": [LOG_TOOL], "replies": replies}))

    def configure(self, home: Path) -> None:
        argv = [sys.executable, "-S", "-E", SCRIPT, str(self.script)]
        for words in (["add", "git", "--", *argv], ["sync", "git", "--yes"]):
            done = subprocess.run(
                [sys.executable, "-m", "pflow", "mcp", *words],
                env={**os.environ, "PFLOW_HOME": str(home)},
                capture_output=True,
                text=True,
            )
            assert done.returncode == 0, done.stderr
        self.pids_file.unlink()

    @property
    def pids_file(self) -> Path:
        return Path(f"{self.script}.pids")

    @property
    def starts(self) -> int:
        return len(self.pids_file.read_text().splitlines()) if self.pids_file.exists() else 0


@pytest.fixture(scope="module")
def git(tmp_path_factory: pytest.TempPathFactory) -> Scripted:
    return Scripted(tmp_path_factory.mktemp("git"))


@pytest.fixture(scope="module")
def tools(start: Callable[..., Client], git: Scripted, tmp_path_factory: pytest.TempPathFactory) -> Client:
    """A server whose home knows the tools of another."""
    home = tmp_path_factory.mktemp("tools") / ".pflow"
    git.configure(home)
    return start(home=home)


@pytest.mark.requirement("server13:registry_run-1", "server13:registry_run-2")
def test_running_a_node_shows_its_outputs_and_every_template_path_in_them(either: Client) -> None:
    answer = either.call("registry_run", node_type="echo", parameters={"rows": [{"n": 1, "a b": None}], "on": True})
    assert answer.data["outputs"] == {"rows": [{"n": 1, "a b": None}], "on": True}
    assert answer.data["structure"] == {
        "${echo.rows}": "array of 1",
        "${echo.rows[0]}": "object",
        "${echo.rows[0].n}": "integer",
        '${echo.rows[0]["a b"]}': "null",
        "${echo.on}": "boolean",
    }
    assert "${echo.rows[0].n}  integer" in answer.text


def test_what_is_given_to_one_node_is_data(client: Client) -> None:
    answer = client.call("registry_run", node_type="echo", parameters={"text": "${HOME} ${other.x}"})
    assert answer.data["outputs"] == {"text": "${HOME} ${other.x}"}


def test_the_paths_of_a_node_can_be_copied_into_a_workflow(client: Client) -> None:
    parameters = {"rows": [{"a b": "found"}]}
    structure = client.call("registry_run", node_type="echo", parameters=parameters).data["structure"]
    [path] = [path for path, kind in structure.items() if kind == "string"]
    document = {
        "nodes": [
            {"id": "echo", "type": "echo", "params": parameters},
            {"id": "use", "type": "echo", "params": {"text": path}},
        ]
    }
    assert client.call("workflow_execute", workflow=document).data["outputs"] == {"text": "found"}


def test_a_large_value_is_shortened_and_its_paths_are_bounded(client: Client) -> None:
    code = "result = {f'key{n}': {'text': 'x' * 100} for n in range(5000)}"
    answer = client.call("registry_run", node_type="code", parameters={"code": code})
    assert answer.data["outputs"]["result"]["size"] > 500_000
    assert len(answer.data["structure"]) <= 203
    assert answer.data["structure"]["…"] == "more"
    assert len(json.dumps(answer.raw)) < 30_000


@pytest.mark.requirement("server13:registry_run-3", "server13:success-3")
def test_running_an_mcp_tool_shows_the_structure_that_nobody_declared(tools: Client, git: Scripted) -> None:
    before = tools.call("registry_describe", nodes=["mcp-git-git-log"]).data["nodes"][0]
    assert "structure" not in before
    answer = tools.call("registry_run", node_type="mcp-git-git-log", parameters={"count": 1})
    structure = answer.data["structure"]
    assert structure["${mcp-git-git-log.result.commits[0].sha}"] == "string"
    assert structure["${mcp-git-git-log.result.commits[0].author.emails[0]}"] == "string"
    after = tools.call("registry_describe", nodes=["mcp-git-git-log"]).data["nodes"][0]
    assert after["structure"]["${mcp-git-git-log.result.commits[0].author.name}"] == "string"
    assert after["seen_in_calls"] == 1
    wrong = {
        "nodes": [
            {"id": "log", "type": "mcp-git-git-log", "params": {"count": 1}},
            {"id": "use", "type": "echo", "params": {"x": "${log.result.comits}"}},
        ]
    }
    [issue] = tools.call("workflow_validate", workflow=wrong).data["errors"]
    assert "comits" in issue["message"]


def test_a_server_stays_warm_from_call_to_call(tools: Client, git: Scripted) -> None:
    for _ in range(3):
        answer = tools.call("registry_run", node_type="mcp-git-git-log", parameters={"count": 1})
        assert answer.data["outputs"]["result"]["branch"] == "main"
    assert git.starts == 1


def test_validating_and_describing_start_no_server(
    start: Callable[..., Client], tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("inert")
    server = Scripted(folder)
    server.configure(folder / ".pflow")
    client = start(home=folder / ".pflow")
    document = {"nodes": [{"id": "log", "type": "mcp-git-git-log", "params": {"count": 1}}]}
    assert client.call("workflow_validate", workflow=document).data["servers"] == ["git"]
    client.call("workflow_save", workflow=document, name="inert", description="Show the log")
    client.call("registry_describe", nodes=["mcp-git-git-log"])
    client.call("registry_discover", task="show commits")
    client.call("workflow_discover", query="show the log")
    assert server.starts == 0


@pytest.mark.requirement("server13:success-2")
def test_a_workflow_is_built_from_what_was_discovered(tools: Client) -> None:
    [first, *_] = tools.call("registry_discover", task="show commit logs").data["matches"]
    assert first["name"] == "mcp-git-git-log"
    names = [field.split(":")[0] for field in first["takes"].split(", ")]
    params = {name: 1 for name in names if not name.endswith("?")}
    document = {
        "nodes": [{"id": "log", "type": first["name"], "params": params}],
        "outputs": {"author": {"source": "${log.result.commits[0].author.name}"}},
    }
    assert tools.call("workflow_validate", workflow=document).data["valid"] is True
    assert tools.call("workflow_execute", workflow=document).data["outputs"] == {"author": "Ada"}


@pytest.mark.requirement("server13:registry_describe-1")
def test_describing_gives_whole_interfaces_and_names_what_does_not_exist(either: Client) -> None:
    answer = either.call("registry_describe", nodes=["read-file", "red-file", "echo"])
    assert [node["name"] for node in answer.data["nodes"]] == ["read-file", "echo"]
    params = answer.data["nodes"][0]["interface"]["params"]
    assert params[0] == {"name": "path", "type": "string", "description": "The file to read", "required": True}
    assert [each["suggestions"] for each in answer.data["missing"]] == [["did you mean `read-file`?"]]
    assert either.call("registry_describe", nodes=["red-file"]).error["type"] == "not_found"


def test_describing_many_nodes_does_not_flood(client: Client) -> None:
    names = [node["name"] for node in client.call("registry_list").data["nodes"]]
    answer = client.call("registry_describe", nodes=names[:50])
    assert [node["name"] for node in answer.data["nodes"]] == names[:50]
    assert len(json.dumps(answer.envelope)) < 30_000
    error = client.call("registry_describe", nodes=["x"] * 51).error
    assert error["details"]["problems"] == ["`nodes` must have `50` items or fewer"]


@pytest.mark.requirement("server13:registry_search-1")
def test_searching_finds_nodes_by_parts_of_words(either: Client) -> None:
    found = either.call("registry_search", pattern="ead-fi").data["nodes"]
    assert [node["name"] for node in found] == ["read-file"]
    none = either.call("registry_search", pattern="zxqv")
    assert (none.data["nodes"], none.data["count"]) == ([], 0)


@pytest.mark.parametrize("pattern", ["(", "[", "*" * 5000, "(a+)+$", "\\", "%", "\x00", "\u202e", ""])
def test_a_hostile_pattern_is_only_text(client: Client, pattern: str) -> None:
    assert client.call("registry_search", pattern=pattern).envelope["success"] is True
    assert client.call("workflow_list", filter=pattern).envelope["success"] is True


@pytest.mark.requirement("server13:registry_list-1")
def test_all_nodes_are_listed(client: Client) -> None:
    answer = client.call("registry_list")
    names = {node["name"] for node in answer.data["nodes"]}
    assert {"shell", "code", "http", "read-file", "write-file", "echo", "workflow"} <= names
    assert answer.data["count"] == len(names)


def test_a_list_of_thousands_is_cut_to_what_an_agent_can_read(
    start: Callable[..., Client], tmp_path_factory: pytest.TempPathFactory
) -> None:
    from bench.tools import COUNT, fill_registry

    folder = tmp_path_factory.mktemp("thousands")
    fill_registry(folder)
    client = start(home=folder / ".pflow")
    answer = client.call("registry_list")
    assert answer.data["count"] >= COUNT
    assert len(answer.data["nodes"]) + answer.data["more"] == answer.data["count"]
    assert len(json.dumps(answer.envelope)) < 25_000
    found = client.call("registry_discover", task="search records that match a query")
    assert len(json.dumps(found.envelope)) < 40_000


@pytest.mark.requirement("server13:workflow_list-1")
def test_saved_workflows_are_listed_and_filtered(either: Client) -> None:
    for name in ("daily-report", "weekly-report", "clean-up"):
        document = {"nodes": [{"id": "a", "type": "echo"}]}
        either.call("workflow_save", workflow=document, name=name, description=f"Makes the {name}")
    every = either.call("workflow_list", filter="makes the").data["workflows"]
    assert [entry["name"] for entry in every] == ["clean-up", "daily-report", "weekly-report"]
    assert {"name", "description", "updated_at"} <= set(every[0])
    assert [e["name"] for e in either.call("workflow_list", filter="report week").data["workflows"]] == [
        "weekly-report"
    ]
    assert either.call("workflow_list", filter="zxqv").data == {"workflows": [], "count": 0}


def test_an_unknown_node_is_reported_with_near_names(client: Client) -> None:
    error: dict[str, Any] = client.call("registry_run", node_type="red-file").error
    assert (error["type"], error["suggestions"]) == ("not_found", ["did you mean `read-file`?"])


def test_missing_parameters_are_all_named(client: Client) -> None:
    error = client.call("registry_run", node_type="write-file").error
    assert error["type"] == "validation"
    assert {"`path`", "`content`"} <= {word.strip(",") for word in json.dumps(error).split()}
