"""Edges and `on` add to the order in which nodes stand, by one rule; where nobody can know, checking asks."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pflow.core.document.issue import Issue
from pflow.core.file.home import Home
from pflow.workspace import Workspace

PICK = """
from pocketflow import Node

class Pick(Node):
    actions = ("left", "right")

    class Params:
        way: str

    class Outputs: ...

    def post(self, shared, prep_res, exec_res):
        return self.params["way"]
"""


@pytest.fixture
def workspace(home: Path) -> Iterator[Workspace]:
    with Workspace(Home(home)) as opened:
        opened.home.nodes.mkdir(parents=True)
        (opened.home.nodes / "pick.py").write_text(PICK)
        yield opened


def say(name: str, **more: object) -> dict[str, Any]:
    return {"id": name, "type": "echo", "params": {"said": name}, **more}


def broken(name: str, **more: object) -> dict[str, Any]:
    return {"id": name, "type": "read-file", "params": {"path": "absent.txt"}, **more}


def pick(way: str, **more: object) -> dict[str, Any]:
    return {"id": "pick", "type": "pick", "params": {"way": way}, **more}


def ran(workspace: Workspace, nodes: list[dict[str, Any]], edges: object = None) -> list[str]:
    """The steps that began, in order, whether or not they failed."""
    outcome = workspace.run({"nodes": nodes, **({} if edges is None else {"edges": edges})})
    assert outcome.status == "completed", outcome.error
    steps: Any = workspace.show_run(outcome.run_id)["steps"]
    return [step["step"] for step in steps]


def issues(workspace: Workspace, nodes: list[dict[str, Any]], edges: object = None, **more: object) -> list[Issue]:
    document = {"nodes": nodes, **({} if edges is None else {"edges": edges}), **more}
    return list(workspace.check(document).issues)


def codes(found: list[Issue]) -> list[str]:
    return [issue.code for issue in found]


def test_an_error_route_adds_to_the_order(workspace: Workspace) -> None:
    nodes = [broken("read", on={"error": "sorry"}), say("use", on={"default": "end"}), say("sorry")]
    assert ran(workspace, nodes) == ["read", "sorry"]
    assert ran(workspace, [say("read", on={"error": "sorry"}), *nodes[1:]]) == ["read", "use"]


def test_a_partial_list_of_edges_adds_to_the_order_in_the_same_way(workspace: Workspace) -> None:
    nodes = [broken("read"), say("use", on={"default": "end"}), say("sorry")]
    assert ran(workspace, nodes, [{"from": "read", "to": "sorry", "action": "error"}]) == ["read", "sorry"]


def test_next_goes_on_after_a_failure_and_end_ends_the_branch(workspace: Workspace) -> None:
    assert ran(workspace, [broken("read", on={"error": "next"}), say("b")]) == ["read", "b"]
    assert ran(workspace, [broken("read", on={"error": "end"}), say("b")]) == ["read"]
    assert ran(workspace, [say("a"), broken("read", on={"error": "next"})]) == ["a", "read"]


def test_a_handler_may_lead_back_into_the_order(workspace: Workspace) -> None:
    nodes = [
        broken("read", on={"error": "mend"}),
        say("use", on={"default": "join"}),
        say("mend", on={"default": "join"}),
        say("join"),
    ]
    assert ran(workspace, nodes) == ["read", "mend", "join"]


def test_several_targets_run_in_parallel_and_join(workspace: Workspace) -> None:
    nodes = [say("a", on={"default": ["b", "c"]}), say("b", on={"default": "join"}), say("c"), say("join")]
    assert codes(issues(workspace, nodes)) == ["unclear-order"]
    nodes[2]["on"] = {"default": "join"}
    assert sorted(ran(workspace, nodes)) == ["a", "b", "c", "join"]
    again = [say("a"), say("b"), say("c"), say("join")]
    edges = [{"from": "a", "to": ["b", "c"]}, {"from": ["b"], "to": "join"}]
    assert codes(issues(workspace, again, edges)) == ["wrong-type", "unclear-order"]


@pytest.mark.parametrize(
    ("nodes", "message"),
    [
        (
            [say("fetch", on={"error": "alert"}), say("use"), say("alert")],
            "does `use` lead on to `alert`? `fetch` names `alert`, and `use` stands before it",
        ),
        (
            [say("fetch", on={"error": "alert"}), say("alert")],
            "does `fetch` lead on to `alert`? it names `alert` for `error`, and stands before it",
        ),
        (
            [pick("left", on={"left": "a", "right": "b"}), say("a"), say("b")],
            "does `a` lead on to `b`? `pick` names `b`, and `a` stands before it",
        ),
    ],
)
def test_nobody_guesses_whether_a_node_leads_into_one_that_others_name(
    workspace: Workspace, nodes: list[dict[str, Any]], message: str
) -> None:
    [issue] = issues(workspace, nodes)
    assert (issue.code, issue.message) == ("unclear-order", message)
    assert "`on: {default: " in issue.hint


def test_a_loop_from_a_later_node_does_not_keep_the_order_from_entering_it(workspace: Workspace) -> None:
    nodes = [say("a"), say("b"), say("c", on={"error": "b"})]
    assert ran(workspace, nodes) == ["a", "b", "c"]


def test_two_nodes_are_a_loop_if_the_second_leads_back_on_a_condition(workspace: Workspace) -> None:
    count = {"id": "count", "type": "let", "params": {"n": "visit"}}
    again = {"from": "check", "to": "count", "when": "count.n < 2"}
    assert ran(workspace, [count, say("check")], [again]) == [
        *("count", "check", "check?"),
        *("count#2", "check#2", "check?#2"),
    ]
    assert ran(workspace, [say("a"), broken("b", on={"error": "end"})], [{"from": "a", "to": "a", "action": "error"}])
    assert codes(issues(workspace, [say("a"), say("b")], [{"from": "b", "to": "a", "action": "error"}])) == []


def test_an_assertion_that_holds_leads_on_to_the_next_node(workspace: Workspace) -> None:
    wrong = {"id": "enough", "type": "fail", "params": {"message": "too few"}}
    assert ran(workspace, [{**wrong, "when": "1 > 2"}, say("b")]) == ["enough", "b"]
    assert workspace.run({"nodes": [{**wrong, "when": "1 < 2"}, say("b")]}).failed_node == "enough"
    assert codes(issues(workspace, [wrong, say("b")])) == ["unreachable"]
    chosen = {"id": "way", "type": "switch", "params": {"cases": {"x": "true"}}, "when": "false"}
    assert ran(workspace, [{**chosen, "on": {"x": "end", "else": "end"}}, say("b")]) == ["way", "b"]


def test_choices_that_nothing_is_said_about_go_where_default_goes(workspace: Workspace) -> None:
    assert ran(workspace, [pick("left"), say("a")]) == ["pick", "a"]
    assert ran(workspace, [say("a"), pick("right", on={"error": "end"})]) == ["a", "pick"]
    assert ran(workspace, [pick("right", on={"default": "b"}), say("a"), say("b")][::2]) == ["pick", "b"]


def test_where_one_choice_is_written_all_must_be(workspace: Workspace) -> None:
    found = issues(workspace, [pick("left", on={"left": "b"}), say("a", on={"default": "end"}), say("b")])
    assert ("missing-edge", "`pick` can end with `right`, for which nothing is said") in [
        (issue.code, issue.message) for issue in found
    ]
    arms = [say("a", on={"default": "end"}), say("b")]
    assert ran(workspace, [pick("left", on={"left": "next", "right": "b"}), *arms]) == ["pick", "a"]
    assert ran(workspace, [pick("right", on={"left": "next", "right": "b"}), *arms]) == ["pick", "b"]


def test_a_node_that_no_way_leads_to_is_an_issue(workspace: Workspace) -> None:
    [issue] = issues(workspace, [say("a", on={"default": "end"}), say("b")])
    assert (issue.code, issue.message) == ("unreachable", "nothing leads to the node `b` from the start, `a`")


def test_edges_that_reach_every_node_stand_alone_as_before(workspace: Workspace) -> None:
    edges = [{"from": "a", "to": "b"}, {"from": "a", "to": "c"}]
    assert sorted(ran(workspace, [say("a"), say("b"), say("c")], edges)) == ["a", "b", "c"]
    [issue] = issues(workspace, [say("a"), say("b", params={"said": "${c.said}"}), say("c")], edges)
    assert issue.code == "not-before"


def test_another_start_than_the_first_node_needs_edges_to_every_node(workspace: Workspace) -> None:
    nodes = [say("a"), say("b")]
    assert codes(issues(workspace, nodes, start_node="b")) == ["unreachable"]
    assert codes(issues(workspace, nodes, [{"from": "b", "to": "a"}], start_node="b")) == []
    assert codes(issues(workspace, [say("a"), say("b", on={"default": "a"})], start_node="b")) == []
    [issue] = issues(workspace, nodes, [{"from": "b", "to": "a"}])
    assert issue.hint == 'should the document start there? Set "start_node": "b"'


def test_a_node_called_next_or_end_is_meant_with_a_warning(workspace: Workspace) -> None:
    nodes = [say("a", on={"error": "end"}), say("b", on={"default": "end"}), say("end")]
    [issue] = [found for found in issues(workspace, nodes) if found.path.startswith("nodes[1]")]
    assert (issue.code, issue.severity) == ("reserved-word", "warning")
    assert ran(workspace, nodes) == ["a", "b", "end"]


def test_with_data_edges_more_edges_order_what_shares_no_data(workspace: Workspace) -> None:
    nodes = [say("commit"), say("write")]
    assert ran(workspace, nodes, ["data", {"from": "write", "to": "commit"}]) == ["write", "commit"]
    assert codes(issues(workspace, nodes, ["data", {"from": "write", "to": "comit"}])) == ["unknown-node"]


def test_with_data_edges_a_route_may_only_go_on_or_end(workspace: Workspace) -> None:
    after = say("after", params={"said": "${read.error.message:-none}"})
    assert ran(workspace, [broken("read", on={"error": "next"}), after], "data") == ["read", "after"]
    assert ran(workspace, [broken("read", on={"error": "end"}), after], "data") == ["read"]
    [issue] = issues(workspace, [broken("read", on={"error": "after"}), say("after")], "data")
    assert (issue.code, issue.message) == (
        "data-route",
        "with `edges: data`, `on` can say `next` or `end`, not `after`",
    )


@pytest.mark.parametrize(
    ("on", "code", "path"),
    [
        (["b"], "wrong-type", "nodes[0].on"),
        ({"error": 5}, "wrong-type", "nodes[0].on.error"),
        ({"error": None}, "wrong-type", "nodes[0].on.error"),
        ({"error": ["b", 5]}, "wrong-type", "nodes[0].on.error[1]"),
        ({"error": "c"}, "unknown-node", "nodes[0].on.error"),
        ({"eror": "b"}, "unknown-action", "nodes[0].on.eror"),
        ({"": "b"}, "bad-name", 'nodes[0].on[""]'),
        ({"default": "a"}, "self-edge", "nodes[0].on.default"),
    ],
)
def test_what_is_wrong_with_a_route_is_said_where_it_stands(
    workspace: Workspace, on: object, code: str, path: str
) -> None:
    found = issues(workspace, [say("a", on=on), say("b")])
    assert (code, path) in [(issue.code, issue.path) for issue in found]


def test_a_description_says_which_edges_the_order_added(workspace: Workspace) -> None:
    nodes = [say("a", on={"error": "next"}), say("b")]
    assert workspace.describe({"nodes": nodes}).edges == [
        {"from": "a", "to": "b", "action": "error"},
        {"from": "a", "to": "b", "implied": True},
    ]


def test_edges_that_only_repeat_the_order_may_be_taken_out_of_a_child_without_running_it_again(
    workspace: Workspace, tmp_path: Path
) -> None:
    child, parent = tmp_path / "child.yaml", tmp_path / "parent.yaml"
    steps = "nodes: [{id: one, type: echo, params: {x: 1}}, {id: two, type: echo, params: {y: 2}}]\n"
    child.write_text('ir_version: "0.1.0"\n' + steps + "edges: [{from: one, to: two}]\n")
    marker = tmp_path / "go"
    parent.write_text(
        "nodes:\n"
        "  - {id: inner, type: workflow, params: {workflow: child.yaml}}\n"
        f"  - {{id: fails, type: shell, params: {{command: test -e {marker}}}}}\n"
    )
    first = workspace.run(str(parent))
    assert first.status == "failed"
    child.write_text(steps)
    marker.touch()
    resumed = workspace.resume(first.run_id, edited=str(parent))
    assert resumed.status == "completed"
    assert resumed.reused == ("inner",)


def test_a_failure_that_an_edge_takes_on_is_shown_as_handled(workspace: Workspace) -> None:
    outcome = workspace.run({"nodes": [broken("read", on={"error": "next"}), say("b")]})
    steps: Any = workspace.show_run(outcome.run_id)["steps"]
    assert [(step["step"], step["status"]) for step in steps] == [("read", "handled"), ("b", "completed")]
    failed = workspace.run({"nodes": [broken("read")]})
    steps = workspace.show_run(failed.run_id)["steps"]
    assert [step["status"] for step in steps] == ["failed"]


def test_a_loop_back_to_the_first_node_keeps_the_order(workspace: Workspace) -> None:
    loop = [say("page"), {"id": "all", "type": "let", "params": {"n": "visit"}}]
    assert ran(workspace, loop, [{"from": "all", "to": "page", "when": "all.n < 3"}]) == [
        *("page", "all", "all?", "page#2", "all#2", "all?#2", "page#3", "all#3", "all?#3"),
    ]
    state = {"id": "state", "type": "switch", "params": {"cases": {"done": "visit == 2"}}}
    routed = [
        say("ask"),
        {**state, "on": {"done": "use", "else": "rest"}},
        say("rest", on={"default": "ask"}),
        say("use"),
    ]
    assert ran(workspace, routed) == ["ask", "state", "rest", "ask#2", "state#2", "use"]


def test_one_mistyped_target_of_a_loop_is_the_only_issue(workspace: Workspace) -> None:
    state = {"id": "state", "type": "switch", "params": {"cases": {"done": "size(ask.said) > 9"}}}
    routed = [
        say("ask"),
        {**state, "on": {"done": "use", "else": "rast"}},
        say("rest", on={"default": "ask"}),
        say("use"),
    ]
    [issue] = issues(workspace, routed)
    assert (issue.code, issue.hint) == ("unknown-node", "did you mean `rest`?")


def test_what_follows_an_assertion_runs_where_it_holds(workspace: Workspace) -> None:
    check = {"id": "check", "type": "fail", "params": {"message": "no"}}
    assert ran(workspace, [say("a"), {**check, "when": "a.said != 'a'"}, say("b")]) == ["a", "check", "b"]
    assert codes(issues(workspace, [say("a"), check, say("b")])) == ["unreachable"]
    pick = {"id": "pick", "type": "switch", "params": {"cases": {"x": "true"}}, "on": {"x": "end", "else": "end"}}
    assert ran(workspace, [say("a"), {**pick, "when": "a.said != 'a'"}, say("b")]) == ["a", "pick", "b"]
