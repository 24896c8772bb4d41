"""A sync names the saved workflows that a changed tool breaks, the node, and what is wrong; and no others."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pflow.core.file.home import find_home
from pflow.mcp.server.config import ServerConfig
from pflow.mcp.tools.sync import SyncPlan, apply_sync, plan_sync, touched
from pflow.registry.registry import Registry

SERVER = ServerConfig(name="git", transport="stdio", command="x")
OLD = {
    "name": "git_log",
    "inputSchema": {"type": "object", "properties": {"path": {"type": "string"}, "count": {"type": "integer"}}},
    "outputSchema": {"type": "object", "properties": {"commits": {"type": "array"}, "branch": {"type": "string"}}},
}
NEW = {
    "name": "git_log",
    "inputSchema": {
        "type": "object",
        "properties": {"path": {"type": "string"}, "repo": {"type": "string"}},
        "required": ["repo"],
    },
    "outputSchema": {"type": "object", "properties": {"commits": {"type": "array"}}},
}
BY_TYPE = {"id": "log", "type": "mcp-git-git-log"}
BY_NAME = {"id": "log", "type": "mcp_wrapper", "mcp_metadata": {"server_id": "git", "tool_name": "git_log"}}


@pytest.fixture
def registry(home: Path) -> Registry:
    registry = Registry(find_home())
    apply_sync(plan_sync(SERVER, [OLD, {"name": "other"}], "1", registry), registry)
    return registry


@pytest.fixture
def plan(registry: Registry) -> SyncPlan:
    return plan_sync(SERVER, [NEW, {"name": "other"}], "1", registry)


def problems(plan: SyncPlan, *nodes: object, **document: object) -> list[str]:
    found = touched(plan, [("daily", {"nodes": list(nodes), **document})])
    assert all(touch.workflow == "daily" for touch in found)
    return [f"{touch.node}: {touch.problem}" for touch in found]


GOOD = {"path": ".", "repo": "r"}


@pytest.mark.requirement("security:13.3-2")
@pytest.mark.parametrize("node", [BY_TYPE, BY_NAME, {"id": "mcp-git-git-log"}])
def test_a_lost_and_a_new_parameter_break_whoever_gives_the_old_ones(plan: SyncPlan, node: dict[str, Any]) -> None:
    assert problems(plan, {**node, "params": {"count": 3}}) == [
        f"{node['id']}: gives `count`, which the tool `git_log` no longer takes",
        f"{node['id']}: does not give `repo`, which the tool `git_log` needs now",
    ]


@pytest.mark.parametrize("node", [BY_TYPE, BY_NAME])
def test_a_workflow_that_fits_the_new_tool_is_not_named(plan: SyncPlan, node: dict[str, Any]) -> None:
    assert (
        problems(plan, {**node, "params": GOOD}, {"id": "use", "type": "echo", "params": {"a": "${log.commits}"}}) == []
    )


def test_a_parameter_that_a_mapping_gives_is_given(plan: SyncPlan) -> None:
    mappings = {"log": {"input_mappings": {"repo": "where"}}}
    assert problems(plan, {**BY_TYPE, "params": {}}, mappings=mappings) == []


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("on ${log.branch}!", "${log.branch}"),
        ("${log.result.branch}", "${log.result.branch}"),
        ('${log["branch"]}', '${log["branch"]}'),
        ("${log.branch:-main}", "${log.branch:-main}"),
    ],
)
def test_a_lost_output_breaks_whoever_uses_it(plan: SyncPlan, text: str, shown: str) -> None:
    user = {"id": "use", "type": "echo", "params": {"deep": [{"a": text}, text]}}
    assert problems(plan, {**BY_TYPE, "params": GOOD}, user) == [
        f"log: `{shown}` uses the output `branch`, which is gone"
    ]


def test_a_lost_output_is_seen_in_outputs_of_the_workflow_and_in_batches(plan: SyncPlan) -> None:
    node = {**BY_TYPE, "params": GOOD}
    outputs = {"b": {"source": "${log.branch}"}}
    assert problems(plan, node, outputs=outputs) == ["log: `${log.branch}` uses the output `branch`, which is gone"]
    user = {"id": "use", "params": {"a": "${log.results[0].branch} ${log.count} ${log.errors}"}}
    assert problems(plan, {**node, "batch": {"items": [1]}}, user) == [
        "log: `${log.results[0].branch}` uses the output `branch`, which is gone"
    ]


def test_outputs_of_other_nodes_do_not_count(plan: SyncPlan) -> None:
    user = {"id": "use", "type": "echo", "params": {"a": "${other.branch} ${log.commits} branch"}}
    assert problems(plan, {**BY_TYPE, "params": GOOD}, user) == []


@pytest.mark.requirement("security:13.3-3")
@pytest.mark.parametrize("node", [BY_TYPE, BY_NAME])
def test_a_tool_that_is_gone_breaks_whoever_calls_it(registry: Registry, node: dict[str, Any]) -> None:
    plan = plan_sync(SERVER, [{"name": "other"}], "1", registry)
    assert problems(plan, {**node, "params": {"count": 3}}) == ["log: the tool `git_log` is gone"]


def test_a_tool_under_a_new_node_type_breaks_only_those_who_use_the_old_one(registry: Registry) -> None:
    plan = plan_sync(SERVER, [OLD, {**OLD, "name": "gitLog"}, {"name": "other"}], "1", registry)
    entries: dict[str, Any] = dict(plan.entries)
    [now] = [name for name, entry in entries.items() if entry["mcp_config"]["tool_name"] == "git_log"]
    assert problems(plan, BY_TYPE) == [f"log: `mcp-git-git-log` is `{now}` now"]
    assert problems(plan, BY_NAME) == []


def test_a_node_type_that_calls_another_tool_now_breaks_those_who_name_the_old_tool(registry: Registry) -> None:
    plan = plan_sync(SERVER, [{**OLD, "name": "gitLog"}, {"name": "other"}], "1", registry)
    assert problems(plan, BY_NAME) == ["log: the tool `git_log` is gone"]


def test_nodes_of_a_workflow_inside_a_workflow_are_named_with_their_way(plan: SyncPlan) -> None:
    inner = {"nodes": [{**BY_TYPE, "params": {"repo": "r", "count": 1}}]}
    outer = {"id": "sub", "type": "workflow", "params": {"workflow": inner}}
    assert problems(plan, outer) == ["sub/log: gives `count`, which the tool `git_log` no longer takes"]


def test_tools_of_another_server_are_not_touched(plan: SyncPlan) -> None:
    other = {"id": "log", "type": "mcp_wrapper", "mcp_metadata": {"server_id": "hub", "tool_name": "git_log"}}
    assert problems(plan, other) == []


def test_a_sync_that_changes_nothing_touches_nothing(registry: Registry) -> None:
    plan = plan_sync(SERVER, [OLD, {"name": "other"}], "2", registry)
    assert problems(plan, {**BY_TYPE, "params": {"count": 3}}) == []


ANY = st.recursive(
    st.none() | st.integers() | st.sampled_from(["log", "mcp_wrapper", "mcp-git-git-log", "git", "${log.branch}"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["nodes", "id", "type", "params", "workflow", "mcp_metadata", "mappings", "log", "batch"]),
            inner,
            max_size=4,
        )
    ),
    max_leaves=15,
)


@given(document=ANY, nodes=st.lists(ANY, max_size=3))
def test_documents_that_make_no_sense_do_no_harm(
    tmp_path_factory: pytest.TempPathFactory, document: Any, nodes: list[Any]
) -> None:
    registry = Registry(find_home({"PFLOW_HOME": str(tmp_path_factory.getbasetemp() / "none")}))
    for name, entry in plan_sync(SERVER, [OLD], "1", registry).entries.items():
        registry.set_entry(name, entry)
    plan = plan_sync(SERVER, [NEW], "1", registry)
    assert isinstance(touched(plan, [("a", document), ("b", {"nodes": nodes})]), tuple)
