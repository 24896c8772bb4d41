"""A tool that declares nothing is checked by what its calls were seen to give, before anything runs."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest

from pflow.core.document.issue import Issue
from pflow.core.file.home import Home
from pflow.registry.observed import MOST_CALLS, Observed
from pflow.registry.registry import Registry
from pflow.workspace import Workspace

HASH = "sha256:" + "ab" * 32
LOG = "mcp-git-git-log"
COMMITS = {"commits": [{"sha": "a", "author": {"name": "Ada"}, "parents": ["b"], "tag": None}], "total": 1}


def tool(raw: str, **result: object) -> dict[str, object]:
    """A tool of server `git` as the registry knows it."""
    outputs = [{"name": "result", "type": "any", **result}, {"name": "files", "type": "array"}]
    return {
        "class_name": "MCPNode",
        "module": "pflow.nodes.mcp.node",
        "file_path": "virtual://mcp",
        "type": "mcp_wrapper",
        "interface": {
            "description": "Show the commit logs",
            "params": [{"name": "repo_path", "type": "string", "required": True}],
            "outputs": outputs,
            "actions": ["default", "error", "rate_limited", "auth_failed", "resource_missing", "timeout"],
            "purity": "impure",
        },
        "mcp_config": {
            "server_id": "git",
            "tool_name": raw,
            "transport": "stdio",
            "version": "1",
            "manifest_hash": HASH,
            "definition": {"name": raw, "inputSchema": {"type": "object"}},
        },
    }


@pytest.fixture
def place(home: Path) -> Home:
    home.mkdir()
    registry = Registry.load(Home(home))
    registry.set_entry(LOG, tool("git_log"))
    declared = {"type": "object", "properties": {"branch": {"type": "string"}}}
    registry.set_entry("mcp-git-git-status", tool("git_status", type="object", schema=declared))
    registry.save()
    return Home(home)


@pytest.fixture
def workspace(place: Home) -> Iterator[Workspace]:
    with Workspace(place) as opened:
        yield opened


def teach(place: Home, *values: object, node_type: str = LOG, manifest_hash: str = HASH) -> None:
    observed = Observed(place)
    for value in values:
        observed.record(node_type, manifest_hash, value)
    observed.flush()


def log(**more: Any) -> dict[str, Any]:
    return {"id": "log", "type": LOG, "params": {"repo_path": "."}, **more}


def show(template: str, **more: Any) -> dict[str, Any]:
    return {"id": "show", "type": "echo", "params": {"text": template}, **more}


def issues_of(workspace: Workspace, *nodes: dict[str, Any]) -> list[Issue]:
    return list(workspace.check({"nodes": list(nodes)}).issues)


def test_a_misspelt_field_is_an_issue_with_the_nearest_one_before_anything_runs(
    workspace: Workspace, place: Home
) -> None:
    teach(place, *[COMMITS] * 14)
    [issue] = issues_of(workspace, log(), show("${log.result.commits[0].sha_typo}"))
    assert issue.as_dict() == {
        "code": "unknown-path",
        "message": "template `${log.result.commits[0].sha_typo}`: output `result` of node `log` (mcp-git-git-log) "
        "at `.commits[0]` is object and has no `sha_typo` (as seen in 14 calls)",
        "path": "nodes[1].params.text",
        "known": ["sha (string)", "author (object)", "parents (array)", "tag (null)"],
        "hint": "did you mean `sha`?",
    }


def test_a_field_that_resembles_none_comes_with_a_way_past_it(workspace: Workspace, place: Home) -> None:
    teach(place, COMMITS)
    [issue] = issues_of(workspace, log(), show("${log.result.zzz}"))
    assert issue.message.endswith("is object and has no `zzz` (as seen in 1 call)")
    assert issue.known == ("commits (array)", "total (integer)")
    assert issue.hint == (
        "if it may be there at times, give a default (`${log.result.zzz:-…}`), "
        "or call the tool again with `pflow call`, which teaches what its results look like"
    )


@pytest.mark.parametrize(
    "template",
    [
        "${log.result.commits[0].sha}",
        "${log.result.commits[7].author.name}",
        "${log.result.commits[0].tag.name}",
        "${log.result.comits:-none}",
        "${log.result.commits[0].sha.deeper:-none}",
        "${log.files}",
    ],
)
def test_what_was_there_or_has_a_default_is_fine(workspace: Workspace, place: Home, template: str) -> None:
    teach(place, COMMITS)
    assert issues_of(workspace, log(), show(template)) == []


def test_without_calls_anything_goes(workspace: Workspace) -> None:
    assert issues_of(workspace, log(), show("${log.result.comits[0].anything}")) == []


def test_what_an_earlier_definition_gave_does_not_count(workspace: Workspace, place: Home) -> None:
    teach(place, COMMITS, manifest_hash="sha256:other")
    assert issues_of(workspace, log(), show("${log.result.comits}")) == []


def test_a_declared_schema_goes_before_what_was_seen(workspace: Workspace, place: Home) -> None:
    teach(place, {"brunch": "x"}, node_type="mcp-git-git-status")
    status = log(type="mcp-git-git-status")
    assert issues_of(workspace, status, show("${log.result.branch}")) == []
    [issue] = issues_of(workspace, status, show("${log.result.brunch:-x}"))
    assert issue.hint == "did you mean `branch`?" and "seen" not in issue.message


def test_what_is_learnt_in_this_process_counts_at_once(place: Home) -> None:
    registry = Registry.load(place)
    result = registry.get(LOG).interface.output("result")
    assert result is not None and result.type == "any"
    registry.observed.record(LOG, HASH, COMMITS)
    result = registry.get(LOG).interface.output("result")
    assert result is not None and result.type == "object"
    registry.observed.record(LOG, HASH, "text")
    result = registry.get(LOG).interface.output("result")
    assert result is not None and result.type == "object|string"


def batch(items: object, name: str = "item") -> dict[str, object]:
    return {"batch": {"items": items, "as": name}}


def test_the_results_of_a_batch_are_checked(workspace: Workspace, place: Home) -> None:
    teach(place, COMMITS)
    many = log(**batch(["a", "b"]))
    assert issues_of(workspace, many, show("${log.results[0].result.total}")) == []
    [issue] = issues_of(workspace, many, show("${log.results[1].result.totl}"))
    assert "at `[1].result` is object and has no `totl` (as seen in 1 call)" in issue.message
    assert issues_of(workspace, many, show("${log.results[1].result.totl:-0}")) == []
    [issue] = issues_of(workspace, many, show("${log.results[1].reslt:-0}"))
    assert "seen" not in issue.message and issue.hint == "did you mean `result`?"


def test_the_items_of_a_batch_are_checked(workspace: Workspace, place: Home) -> None:
    teach(place, COMMITS, COMMITS)
    over = batch("${log.result.commits}")
    assert issues_of(workspace, log(), show("${item.sha} ${item_index} ${item.tag.name}", **over)) == []
    [issue] = issues_of(workspace, log(), show("${item.shaa}", **over))
    assert issue.as_dict() == {
        "code": "unknown-path",
        "message": "template `${item.shaa}`: an item of `${log.result.commits}`, from node `log` (mcp-git-git-log), "
        "is object and has no `shaa` (as seen in 2 calls)",
        "path": "nodes[1].params.text",
        "known": ["sha (string)", "author (object)", "parents (array)", "tag (null)"],
        "hint": "did you mean `sha`?",
    }
    [issue] = issues_of(workspace, log(), show("${item.author.nme}", **over))
    assert "at `.author` is object and has no `nme`" in issue.message
    assert issues_of(workspace, log(), show("${item.shaa:-x}", **over)) == []


@pytest.mark.parametrize("items", ["${log.result.commits:-[]}", ["${log.result.commits}"], "${log.result.comits:-[]}"])
def test_items_that_may_come_from_elsewhere_are_not_judged(workspace: Workspace, place: Home, items: object) -> None:
    teach(place, COMMITS)
    assert issues_of(workspace, log(), show("${item.shaa}", **batch(items))) == []


def test_items_that_cannot_be_are_said_once(workspace: Workspace, place: Home) -> None:
    teach(place, COMMITS)
    [issue] = issues_of(workspace, log(), show("${item.sha}", **batch("${log.result.comits}")))
    assert issue.path == "nodes[1].batch.items"


def test_the_items_of_a_declared_schema_are_checked_too(workspace: Workspace) -> None:
    [issue] = issues_of(
        workspace,
        {"id": "read", "type": "read-file", "params": {"path": "x"}, **batch(["x"])},
        show("${one.contents}", **batch("${read.results}", "one")),
    )
    assert issue.hint == "did you mean `content`?" and "seen" not in issue.message


def test_a_damaged_file_is_a_notice_and_no_obstacle(workspace: Workspace, place: Home) -> None:
    place.observed.write_text("{")
    assert issues_of(workspace, log(), show("${log.result.comits}")) == []
    assert [notice for notice in workspace.notices if "mcp-observed.json" in notice]


def pflow(place: Home, *args: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "pflow", *args], capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_describe_shows_what_was_seen(place: Home) -> None:
    teach(place, *[COMMITS] * 14)
    text = pflow(place, "registry", "describe", LOG)
    assert "  result  object  seen in 14 calls" in text
    assert (
        "paths\n"
        "  result.commits  array\n"
        "  result.commits[0]  object\n"
        "  result.commits[0].sha  string\n"
        "  result.commits[0].author  object\n"
        "  result.commits[0].author.name  string\n"
        "  result.commits[0].parents  array\n"
        "  result.commits[0].parents[0]  string\n"
        "  result.commits[0].tag  null\n"
        "  result.total  integer\n"
    ) in text
    data = orjson.loads(pflow(place, "registry", "describe", LOG, "--json"))["data"]
    assert data["observed"]["calls"] == 14
    assert data["observed"]["schema"]["type"] == "object"


def test_describe_shows_the_paths_of_a_declared_schema(place: Home) -> None:
    assert "paths\n  result.branch  string\n" in pflow(place, "registry", "describe", "mcp-git-git-status")


@pytest.mark.parametrize(("node_type", "read"), [(LOG, True), ("mcp-git-git-status", False), ("read-file", False)])
def test_the_file_is_read_only_for_tools_that_declare_nothing(place: Home, node_type: str, read: bool) -> None:
    teach(place, COMMITS)
    code = """
import sys
from pathlib import Path
from pflow.core.file.home import Home
from pflow.workspace import Workspace
with Workspace(Home(Path(sys.argv[1]))) as workspace:
    use = {"id": "b", "type": "echo", "params": {"text": "${a.result.x}"}}
    workspace.check({"nodes": [{"id": "a", "type": sys.argv[2]}, use]})
print("pflow.registry.observed" in sys.modules)
"""
    command = [sys.executable, "-c", code, str(place.root), node_type]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.stdout == f"{read}\n", done.stderr


def test_many_calls_are_many(workspace: Workspace, place: Home) -> None:
    teach(place, *[{"a": 1}] * (MOST_CALLS + 1))
    [issue] = issues_of(workspace, log(), show("${log.result.b}"))
    assert "(as seen in 1,000 calls)" in issue.message
