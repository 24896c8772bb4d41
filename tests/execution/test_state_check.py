"""What checking finds in documents that keep something between runs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pflow.core.document.issue import Issue
from pflow.core.file.home import Home
from pflow.workspace import Workspace

Document = dict[str, Any]

ONE: Document = {"n": {"type": "integer", "default": 0}}
SUM: Document = {"n": {"type": "integer", "default": 0, "merge": "add"}}


@pytest.fixture
def workspace(home: Path) -> Iterator[Workspace]:
    with Workspace(Home(home)) as opened:
        yield opened


def keeping(state: Document, *nodes: Document, **more: Any) -> Document:
    return {"name": "w", "state": state, "nodes": list(nodes), **more}


def setting(node: str = "keep", **params: Any) -> Document:
    return {"id": node, "type": "state-set", "params": params}


def echo(node: str, **more: Any) -> Document:
    return {"id": node, "type": "echo", **more}


def issue(workspace: Workspace, document: Document) -> Issue:
    found = [one for one in workspace.check(document).issues if one.severity != "notice"]
    assert len(found) == 1, found
    return found[0]


# ---- names


@pytest.mark.parametrize(
    ("node", "path"),
    [
        (echo("echo", params={"x": "${state.curser}"}), "nodes[0].params.x"),
        (echo("echo", params={"x": "n is ${state.curser.x:-}"}), "nodes[0].params.x"),
        ({"id": "let", "params": {"x": "state.curser + 1"}}, "nodes[0].params.x"),
        (echo("echo", when="state.curser > 1"), "nodes[0].when"),
        (setting(curser=1), "nodes[0].params.curser"),
    ],
)
def test_a_value_that_is_not_declared_is_found_with_the_nearest_name(
    workspace: Workspace, node: Document, path: str
) -> None:
    found = issue(workspace, keeping({"count": ONE["n"], "cursor": ONE["n"]}, node))
    assert (found.severity, found.path) == ("error", path)
    assert "cursor" in found.hint
    assert any(name.startswith("count") for name in found.known)


@pytest.mark.parametrize(
    ("node", "code", "hint"),
    [
        (echo("echo", params={"x": "${state.m}"}), "unknown-name", "`state: {m: {type: …, default: …}}`"),
        ({"id": "let", "params": {"x": "state.m"}}, "unknown-name", "`state: {…}`"),
        (setting(m=1), "missing-field", "`state: {m: {type: …, default: …}}`"),
    ],
)
def test_state_in_a_document_that_declares_none_says_how_to(
    workspace: Workspace, node: Document, code: str, hint: str
) -> None:
    found = issue(workspace, {"nodes": [node]})
    assert found.code == code
    assert hint in found.hint


@pytest.mark.parametrize("document", [{"inputs": {"state": {}}}, {"nodes": [echo("state")]}])
def test_a_document_of_before_may_use_the_word_for_something_else(workspace: Workspace, document: Document) -> None:
    used = {"id": "use", "type": "echo", "params": {"x": "${state}"}}
    whole = {"name": "w", **document, "nodes": [*document.get("nodes", []), used]}
    assert workspace.check(whole).issues == ()
    [found] = workspace.check({**whole, "state": ONE}).issues
    assert (found.code, found.path) == ("name-clash", "state")


def test_what_a_step_before_wrote_as_state_still_counts_where_none_is_declared(workspace: Workspace) -> None:
    first = {"id": "first", "type": "echo", "params": {"state": {"m": 7}}}
    document = {"nodes": [first, {"id": "use", "type": "echo", "params": {"x": "${state.m}"}}]}
    assert workspace.run(document).outputs == {"x": 7}
    done = workspace.run(keeping({"m": {"type": "integer", "default": 1}}, *document["nodes"]))
    assert done.outputs == {"x": 1}


# ---- types


@pytest.mark.parametrize(
    ("state", "value"),
    [
        ({"type": "integer"}, "many"),
        ({"type": "integer"}, 1.5),
        ({"type": "string"}, None),
        ({"type": "array"}, {"a": 1}),
        ({"type": "array"}, "${list.count}"),
        ({"type": "object"}, "${list.items}"),
    ],
)
def test_a_value_of_another_type_is_found(workspace: Workspace, state: Document, value: object) -> None:
    before = {"id": "list", "type": "filter", "params": {"items": [1, 2], "where": "item > 1"}}
    found = issue(workspace, keeping({"x": state}, before, setting(x=value)))
    assert (found.code, found.severity, found.path) == ("wrong-type", "error", "nodes[1].params.x")


@pytest.mark.parametrize(
    "node",
    [
        echo("echo", when="state.n"),
        {"id": "let", "params": {"x": "state.n + 'x'"}},
        {"id": "let", "params": {"x": "state.n.deep"}},
        {"id": "echo", "type": "echo", "params": {"x": "${state.n.deep}"}},
        {"id": "all", "type": "echo", "batch": {"items": "${state.n}"}},
    ],
)
def test_state_has_the_type_that_is_declared(workspace: Workspace, node: Document) -> None:
    assert issue(workspace, keeping(ONE, node)).severity == "error"


def test_what_may_be_null_can_be_asked_for(workspace: Workspace) -> None:
    asked = {"id": "let", "params": {"x": "state.at == null ? '' : state.at + 'x'"}}
    assert workspace.check(keeping({"at": {"type": "string"}}, asked)).issues == ()


# ---- where it can be set


def test_a_step_that_sets_nothing_is_a_mistake(workspace: Workspace) -> None:
    assert issue(workspace, keeping(ONE, setting())).code == "missing-param"


def test_state_is_not_set_item_by_item(workspace: Workspace) -> None:
    document = keeping(SUM, {**setting(n="${item}"), "batch": {"items": [1, 2]}})
    found = issue(workspace, document)
    assert (found.code, found.path) == ("unexpected-field", "nodes[0].batch")


def test_what_is_set_after_a_failure_would_never_become_real(workspace: Workspace) -> None:
    document = keeping(ONE, echo("work"), setting(n=1), on_failure="keep")
    found = issue(workspace, document)
    assert (found.code, found.severity, found.path) == ("never-kept", "error", "nodes[1].params.n")
    assert "commit: step" in found.hint
    document["state"] = {"n": {"type": "integer", "commit": "step"}}
    assert workspace.check(document).issues == ()
    workspace.save(keeping(ONE, setting(n=1)), "inner")
    inner = {"id": "keep", "type": "workflow", "params": {"workflow": "inner"}}
    found = issue(workspace, {"nodes": [echo("work"), inner], "on_failure": "keep"})
    assert (found.code, found.severity) == ("never-kept", "warning")


PARALLEL = [
    ("fan out", {"edges": [{"from": "a", "to": ["b", "c"]}, {"from": "b", "to": "d"}, {"from": "c", "to": "d"}]}),
    ("data", {"edges": "data"}),
]


@pytest.mark.parametrize("edges", [edges for _, edges in PARALLEL], ids=[name for name, _ in PARALLEL])
def test_two_branches_cannot_set_one_value_at_the_same_time(workspace: Workspace, edges: Document) -> None:
    nodes = [echo("a"), setting("b", n=1), setting("c", n=2), echo("d")]
    found = issue(workspace, keeping(ONE, *nodes, **edges))
    assert (found.code, found.severity, found.path) == ("parallel-state", "error", "nodes[2].params.n")
    assert "`b` and `c`" in found.message
    assert workspace.check(keeping(SUM, *nodes, **edges)).issues == ()
    nodes[1]["when"] = "run.name == 'x'"
    assert issue(workspace, keeping(ONE, *nodes, **edges)).severity == "warning"


def test_branches_in_a_loop_are_at_the_same_time_as_well(workspace: Workspace) -> None:
    nodes = [echo("a"), setting("b", n=1), setting("c", n=2), {"id": "d", "type": "let", "params": {"v": "visit"}}]
    edges = [
        {"from": "a", "to": ["b", "c"]},
        {"from": "b", "to": "d"},
        {"from": "c", "to": "d"},
        {"from": "d", "to": "a", "when": "d.v < 3"},
        {"from": "d", "to": "end", "when": "else"},
    ]
    assert issue(workspace, keeping(ONE, *nodes, edges=edges)).code == "parallel-state"


@pytest.mark.parametrize(
    ("nodes", "more"),
    [
        ([setting("b", n=1), setting("c", n=2)], {}),
        (
            [echo("a"), setting("b", n=1), setting("c", n=2)],
            {"edges": [{"from": "a", "to": "b", "when": "run.name == 'x'"}, {"from": "a", "to": "c", "when": "else"}]},
        ),
        (
            [
                {
                    "id": "a",
                    "type": "switch",
                    "params": {"cases": {"x": "run.name == 'x'"}},
                    "on": {"x": "b", "else": "c"},
                },
                {**setting("b", n=1), "on": {"default": "end"}},
                setting("c", n=2),
            ],
            {},
        ),
        (
            [echo("a"), setting("b", n=1), echo("c"), setting("d", n=2)],
            {"edges": [{"from": "a", "to": ["b", "c"]}, {"from": "b", "to": "d"}, {"from": "c", "to": "d"}]},
        ),
        (
            [echo("a"), setting("b", n=1), setting("c", m=1)],
            {"edges": [{"from": "a", "to": ["b", "c"]}], "state": {**ONE, "m": {"type": "integer"}}},
        ),
    ],
    ids=["one after the other", "conditions", "switch", "after a join", "two values"],
)
def test_ways_that_exclude_or_follow_each_other_may_set_one_value(
    workspace: Workspace, nodes: list[Document], more: Document
) -> None:
    assert [one for one in workspace.check({**keeping(ONE, *nodes), **more}).issues if one.severity == "error"] == []


def test_workflows_inside_set_values_at_the_same_time_as_well(workspace: Workspace) -> None:
    call = {"type": "workflow", "params": {"workflow": "inner"}}
    both = {"nodes": [echo("a"), {"id": "b", **call}, {"id": "c", **call}], "edges": [{"from": "a", "to": ["b", "c"]}]}
    batch = {"items": [1, 2], "concurrency": 2}
    workspace.save(keeping(ONE, setting(n=1)), "inner")
    assert issue(workspace, both).code == "parallel-state"
    assert issue(workspace, {"nodes": [{"id": "all", **call, "batch": batch}]}).code == "parallel-state"
    assert workspace.check({"nodes": [{"id": "all", **call, "batch": {**batch, "concurrency": 1}}]}).issues == ()
    workspace.save(keeping(SUM, setting(n=1)), "inner", overwrite=True)
    assert workspace.check(both).issues == ()


def test_thousands_of_settings_in_a_row_are_no_race(workspace: Workspace) -> None:
    nodes = [setting(f"s{number}", n=number) for number in range(3000)]
    assert workspace.check(keeping(ONE, *nodes)).ok


# ---- where it is kept


def test_a_workflow_in_place_keeps_nothing(workspace: Workspace) -> None:
    inner = {"name": "inner", "state": ONE, "nodes": [setting(n=1)]}
    found = issue(workspace, {"nodes": [{"id": "call", "type": "workflow", "params": {"workflow": inner}}]})
    assert found.code == "no-scope"
    assert "has no name" in found.message
    text = "state: {n: {type: integer}}\nnodes: [{id: keep, type: state-set, params: {n: 1}}]\n"
    found = issue(workspace, {"nodes": [{"id": "call", "type": "workflow", "params": {"workflow": text}}]})
    assert found.code == "no-scope"


def test_a_file_that_is_included_needs_a_name_to_run(workspace: Workspace, tmp_path: Path) -> None:
    file = tmp_path / "inner.yaml"
    file.write_text("state: {n: {type: integer}}\nnodes: [{id: keep, type: state-set, params: {n: 1}}]\n")
    document = {"nodes": [{"id": "call", "type": "workflow", "params": {"workflow": str(file)}}]}
    [found] = workspace.check(document).missing
    assert (found.code, found.path) == ("no-scope", "nodes[0].params.workflow")
    file.write_text(f"name: inner\n{file.read_text()}")
    assert workspace.run(document).success
    assert workspace.state.get("inner", "n").value == 1


def test_one_scope_declares_a_value_in_one_way(workspace: Workspace) -> None:
    workspace.save(keeping({"scope": "shared", **SUM}, setting(n=1)), "inner")
    call = {"id": "call", "type": "workflow", "params": {"workflow": "inner"}}
    assert workspace.check(keeping({"scope": "shared", **SUM}, setting(n=1), call)).issues == ()
    assert issue(workspace, keeping({"scope": "shared", **ONE}, setting(n=1), call)).code == "name-clash"


def test_a_node_of_ones_own_may_have_the_name(home: Path) -> None:
    (home / "nodes").mkdir(parents=True)
    (home / "nodes" / "own.py").write_text(
        '"""Own."""\nfrom pocketflow import Node\n\n\nclass StateSet(Node):\n    """Mine."""\n\n'
        '    name = "state-set"\n\n    def post(self, shared, prep, exec_):\n        shared["mine"] = True\n'
    )
    with Workspace(Home(home)) as workspace:
        assert workspace.run({"nodes": [{"id": "a", "type": "state-set"}]}).outputs == {"mine": True}


# ---- how it looks


def test_what_is_kept_is_described(workspace: Workspace) -> None:
    workspace.save(keeping(SUM, setting(n=1)), "w")
    assert workspace.describe("w").as_dict()["state"] == SUM
    assert workspace.check("w").plan is not None
