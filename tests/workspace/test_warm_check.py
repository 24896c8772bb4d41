"""A process that lives on checks a document once, for as long as checking it again would find the same."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from pflow.core.errors import CorruptError
from pflow.core.file.home import Home
from pflow.engine.plan import Plan
from pflow.registry.registry import Registry
from pflow.workspace.warm_workspace import WarmWorkspaces

SAYS = {"nodes": [{"id": "say", "type": "shell", "params": {"command": "echo ${who}"}}], "inputs": {"who": {}}}
OWN_NODE = """
from pocketflow import Node


class Shout(Node):
    def post(self, shared, prep_res, exec_res):
        shared["text"] = "HO"
"""
TOOL = {
    "class_name": "MCPNode",
    "module": "pflow.nodes.mcp.node",
    "file_path": "virtual://mcp",
    "interface": {"params": [], "outputs": [{"key": "result", "type": "string"}]},
}


@pytest.fixture
def warm(home: Path) -> Iterator[WarmWorkspaces]:
    Registry.load(Home(home))  # the first look at a home writes the node types down
    workspaces = WarmWorkspaces(Home(home))
    yield workspaces
    workspaces.close()


def plan_of(warm: WarmWorkspaces, document: object) -> Plan:
    return warm.open().check(document).ready()  # type: ignore[arg-type]


def test_the_same_document_has_the_same_plan(warm: WarmWorkspaces) -> None:
    assert plan_of(warm, SAYS) is plan_of(warm, {**SAYS})


def test_an_edited_document_has_another_plan(warm: WarmWorkspaces) -> None:
    edited = {**SAYS, "description": "says who"}
    assert plan_of(warm, SAYS) is not plan_of(warm, edited)
    assert plan_of(warm, edited).raw["document"] == {"ir_version": "0.1.0", **edited}


def test_the_order_of_cases_makes_another_plan(warm: WarmWorkspaces) -> None:
    def chooses(*cases: str) -> dict[str, object]:
        return {"nodes": [{"id": "c", "type": "switch", "params": {"cases": dict.fromkeys(cases, "1 < 2")}}]}

    assert plan_of(warm, chooses("a", "b")) is not plan_of(warm, chooses("b", "a"))


def test_a_policy_that_was_set_meanwhile_holds(warm: WarmWorkspaces) -> None:
    assert warm.open().check(SAYS).ok
    warm.open().set_setting("shell.strict", "true")
    assert not warm.open().check(SAYS).ok


def test_a_tool_that_was_removed_meanwhile_is_missed(warm: WarmWorkspaces) -> None:
    document = {"nodes": [{"id": "a", "type": "mcp-x-look"}]}
    registry = Registry.load(warm.home)
    registry.set_entry("mcp-x-look", TOOL)
    registry.save()
    assert warm.open().check(document).ok
    assert plan_of(warm, document) is plan_of(warm, document)
    registry.remove("mcp-x-look")
    registry.save()
    assert not warm.open().check(document).ok


def test_a_person_s_own_node_is_read_each_time(warm: WarmWorkspaces, home: Path) -> None:
    (home / "nodes").mkdir(parents=True)
    (home / "nodes" / "shout.py").write_text(OWN_NODE)
    document = {"nodes": [{"id": "a", "type": "shout"}], "outputs": {"said": {"source": "${a.text}"}}}
    assert plan_of(warm, document) is not plan_of(warm, document)
    (home / "nodes" / "shout.py").write_text(OWN_NODE.replace("HO", "HEY"))
    assert warm.open().run(document).outputs == {"said": "HEY"}


def test_an_included_workflow_that_changed_is_read_anew(warm: WarmWorkspaces, tmp_path: Path) -> None:
    inner = tmp_path / "inner.json"
    outer = {
        "nodes": [{"id": "w", "type": "workflow", "params": {"workflow": str(inner)}}],
        "outputs": {"x": {"source": "${w.x}"}},
    }
    for value in ("one", "two"):
        inner.write_text(
            f'{{"nodes": [{{"id": "a", "type": "echo", "params": {{"x": "{value}"}}}}],'
            ' "outputs": {"x": {"source": "${a.x}"}}}'
        )
        assert warm.open().run(outer).outputs == {"x": value}


def test_a_credential_that_was_stored_meanwhile_is_found_in_the_document(warm: WarmWorkspaces) -> None:
    document = {"nodes": [{"id": "a", "type": "echo", "params": {"x": "open-sesame-4711"}}]}
    assert warm.open().check(document).issues == ()
    warm.open().set_setting("CAVE_WORD", "open-sesame-4711")
    assert [issue.code for issue in warm.open().check(document).issues] == ["credential"]


def test_what_looks_like_a_credential_is_told_of_each_time(warm: WarmWorkspaces) -> None:
    token = "ghp_" + "a1B2c3D4e5" * 4
    document = {"nodes": [{"id": "a", "type": "echo", "params": {"x": token[:40]}}]}
    for _ in range(2):
        assert [issue.code for issue in warm.open().check(document).issues] == ["credential"]


def test_a_number_that_json_does_not_have_is_not_taken_for_null(warm: WarmWorkspaces) -> None:
    def document(value: object) -> dict[str, object]:
        return {"nodes": [{"id": "a", "type": "echo", "params": {"x": value}}]}

    assert warm.open().check(document(None)).ok
    assert not warm.open().check(document(float("nan"))).ok


def test_what_a_caller_does_to_its_document_later_changes_nothing(warm: WarmWorkspaces) -> None:
    params = {"x": ["one"]}
    document = {"nodes": [{"id": "a", "type": "echo", "params": params}], "outputs": {"x": {"source": "${a.x}"}}}
    before = warm.open().check(document)
    params["x"].append("two")
    assert warm.open().run(before).outputs == {"x": ["one"]}
    assert warm.open().run(document).outputs == {"x": ["one", "two"]}


def test_settings_that_are_damaged_meanwhile_are_noticed(warm: WarmWorkspaces, home: Path) -> None:
    warm.open().set_setting("CAVE_WORD", "open-sesame-4711")
    plan_of(warm, SAYS)
    (home / "settings.json").write_text("{")
    with pytest.raises(CorruptError):
        warm.open().run(SAYS, {"who": "you"})
    with pytest.raises(CorruptError):  # it is set aside by now, and not forgotten
        warm.open().run(SAYS, {"who": "you"})


def test_many_documents_push_out_those_that_nobody_runs(warm: WarmWorkspaces) -> None:
    first = plan_of(warm, SAYS)
    for number in range(40):
        plan_of(warm, {**SAYS, "name": f"other-{number}"})
        assert plan_of(warm, SAYS) is first
    for number in range(40, 110):
        plan_of(warm, {**SAYS, "name": f"other-{number}"})
    assert plan_of(warm, SAYS) is not first
