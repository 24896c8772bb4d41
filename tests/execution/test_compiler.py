"""Checking finds everything that a run would refuse, all at once, with what exists and what to write instead."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pflow.core.document.issue import Issue
from pflow.core.file.home import Home
from pflow.workspace import Workspace


@pytest.fixture
def workspace(home: Path) -> Iterator[Workspace]:
    with Workspace(Home(home)) as opened:
        yield opened


def issues_of(workspace: Workspace, document: dict[str, Any]) -> list[Issue]:
    return list(workspace.check(document).issues)


def only(workspace: Workspace, document: dict[str, Any]) -> Issue:
    [issue] = issues_of(workspace, document)
    return issue


def read(**more: Any) -> dict[str, Any]:
    return {"id": "read", "type": "read-file", "params": {"path": "x"}, **more}


def echo(**params: Any) -> dict[str, Any]:
    return {"id": "show", "type": "echo", "params": params}


def test_an_unknown_output_lists_what_there_is_and_suggests(workspace: Workspace) -> None:
    issue = only(workspace, {"nodes": [read(), echo(text="${read.contents}")]})
    assert issue.as_dict() == {
        "code": "unknown-output",
        "message": "node `read` (read-file) has no output `contents`",
        "path": "nodes[1].params.text",
        "known": ["content (string)", "path (string)", "size (integer)"],
        "hint": "did you mean `${read.content}`?",
    }


def test_a_path_into_a_scalar_is_a_dead_end(workspace: Workspace) -> None:
    issue = only(workspace, {"nodes": [read(), echo(text="${read.size.bytes}")]})
    assert issue.code == "unknown-path"
    assert issue.message == (
        "template `${read.size.bytes}`: output `size` of node `read` (read-file) is integer and has no `bytes`"
    )


def test_a_reference_to_a_later_node_is_an_issue(workspace: Workspace) -> None:
    issue = only(workspace, {"nodes": [echo(text="${read.content}"), read()]})
    assert (issue.code, issue.hint) == ("not-before", "add an edge from `read`, or move it up")


def test_a_reference_to_a_parallel_node_is_an_issue(workspace: Workspace) -> None:
    document = {
        "nodes": [{"id": "start", "type": "echo"}, read(), echo(text="${read.content}")],
        "edges": [{"from": "start", "to": "read"}, {"from": "start", "to": "show"}],
    }
    assert only(workspace, document).code == "not-before"


def test_a_loop_may_look_back(workspace: Workspace) -> None:
    document = {
        "nodes": [
            {"id": "a", "type": "echo", "params": {"n": "${b.n:-0}"}},
            {"id": "b", "type": "echo", "params": {"n": "${a.n}"}},
        ],
        "edges": [{"from": "a", "to": "b"}, {"from": "b", "to": "a", "action": "error"}],
    }
    assert issues_of(workspace, document) == []


def test_an_unknown_name_lists_inputs_and_outputs(workspace: Workspace) -> None:
    document = {"inputs": {"city": {"type": "string"}}, "nodes": [read(), echo(text="${citty}")]}
    issue = only(workspace, document)
    assert issue.known == ("city (string)", "read.content (string)", "read.path (string)", "read.size (integer)")
    assert issue.hint == "did you mean `${city}`?"


def test_the_correction_of_a_name_keeps_the_rest_of_the_template(workspace: Workspace) -> None:
    document = {"nodes": [read(), echo(text="from ${raed.content} on")]}
    assert only(workspace, document).hint == "did you mean `${read.content}`?"


def test_environment_variables_are_not_names(workspace: Workspace) -> None:
    assert only(workspace, {"nodes": [echo(text="${HOME}")]}).code == "unknown-name"


def test_a_default_makes_a_missing_name_fine(workspace: Workspace) -> None:
    assert issues_of(workspace, {"nodes": [echo(text="${anything:-x}")]}) == []


def test_an_unknown_type_and_an_unknown_parameter_come_together(workspace: Workspace) -> None:
    document = {
        "nodes": [
            {"id": "a", "type": "read-fil", "params": {"path": "x"}},
            {"id": "b", "type": "write-file", "params": {"pth": "x", "content": "y"}},
        ]
    }
    found = [(issue.code, issue.hint) for issue in issues_of(workspace, document)]
    assert ("unknown-type", "did you mean `read-file`?") in found
    assert ("unknown-param", "did you mean `path`?") in found


def test_the_templates_of_an_unknown_parameter_are_checked_too(workspace: Workspace) -> None:
    found = [issue.code for issue in issues_of(workspace, {"nodes": [read(params={"path": "x", "pth": "${nope}"})]})]
    assert found == ["unknown-param", "unknown-name"]


def test_what_flows_by_is_not_offered_as_a_command(workspace: Workspace) -> None:
    document = {"inputs": {"comand": {"type": "string"}}, "nodes": [{"id": "s", "type": "shell"}]}
    assert only(workspace, document).hint == "give `command` in `params`"


def test_a_missing_parameter_is_filled_by_its_natural_name(workspace: Workspace) -> None:
    document = {"nodes": [read(), {"id": "copy", "type": "write-file", "params": {"path": "y"}}]}
    assert issues_of(workspace, document) == []


def test_a_missing_parameter_that_nothing_offers_suggests_a_mapping(workspace: Workspace) -> None:
    document = {
        "inputs": {"contents": {"type": "string"}},
        "nodes": [{"id": "w", "type": "write-file", "params": {"path": "y"}}],
    }
    issue = only(workspace, document)
    assert issue.code == "missing-param"
    assert issue.hint == '"mappings": {"w": {"input_mappings": {"content": "contents"}}} would feed it `contents`'
    mapped = {**document, "mappings": {"w": {"input_mappings": {"content": "contents"}}}}
    assert issues_of(workspace, mapped) == []


def test_a_missing_parameter_of_another_name_is_not_guessed_by_its_type(workspace: Workspace) -> None:
    document = {
        "inputs": {"title": {"type": "string"}, "style": {"type": "string"}, "count": {"type": "integer"}},
        "nodes": [{"id": "read", "type": "read-file"}],
    }
    assert only(workspace, document).hint == "give `path` in `params`, such as `${title}` or `${style}`"


def test_a_constant_of_the_wrong_type_is_an_issue(workspace: Workspace) -> None:
    document = {"nodes": [{"id": "w", "type": "write-file", "params": {"path": 7, "content": "x"}}]}
    issue = only(workspace, document)
    assert issue.message == "parameter `path` of node `w` (write-file) must be string, not integer"


def test_an_action_that_is_never_returned_is_an_issue(workspace: Workspace) -> None:
    document = {
        "nodes": [read(), echo(text="x")],
        "edges": [{"from": "read", "to": "show", "action": "resource_mising"}],
    }
    issue = only(workspace, document)
    assert issue.code == "unknown-action"
    assert "resource_missing" in issue.known and issue.hint == "did you mean `resource_missing`?"


def test_a_choice_without_an_edge_is_an_issue_also_where_only_the_default_has_one(workspace: Workspace) -> None:
    workspace.home.nodes.mkdir(parents=True)
    (workspace.home.nodes / "pick.py").write_text(
        "from pocketflow import Node\n\nclass Pick(Node):\n    actions = ('left', 'right')\n    class Outputs: ...\n"
    )
    edges = [{"from": "pick", "to": "show"}]
    issues = issues_of(workspace, {"nodes": [{"id": "pick"}, echo(text="x")], "edges": edges})
    assert [(issue.code, issue.hint) for issue in issues] == [
        ("missing-edge", "on `pick` write `on: {left: …}`: a node, `next` or `end`"),
        ("missing-edge", "on `pick` write `on: {right: …}`: a node, `next` or `end`"),
    ]
    assert issues_of(workspace, {"nodes": [echo(text="x"), {"id": "pick"}]}) == []


def test_expressions_are_not_templates(workspace: Workspace) -> None:
    for text in ("${1+1}", "${a.b()}", "${a|f}", "${}", "${${a}}", "${", "${__class__}"):
        found = issues_of(workspace, {"nodes": [echo(text=text)]})
        assert [issue.code for issue in found if issue.code == "template"], text


def test_names_of_parameters_are_not_templates(workspace: Workspace) -> None:
    assert only(workspace, {"nodes": [echo(**{"${x}": 1})]}).code == "template-here"


def test_python_that_cannot_be_parsed_is_found_before_running(workspace: Workspace) -> None:
    document = {"nodes": [{"id": "c", "type": "code", "params": {"code": "x = 1\nresult = ${show.x}\n"}}]}
    found = issues_of(workspace, document)
    assert [issue.code for issue in found] == ["code"]
    assert "inputs" in found[0].message + found[0].hint


def test_batch_outputs_replace_the_nodes_own(workspace: Workspace) -> None:
    each = read(batch={"items": ["a"]})
    assert issues_of(workspace, {"nodes": [each, echo(text="${read.results[0].content}")]}) == []
    assert only(workspace, {"nodes": [each, echo(text="${read.content}")]}).code == "unknown-output"
    assert only(workspace, {"nodes": [each, echo(text="${read.results[0].contents}")]}).code == "unknown-path"


def test_templates_that_need_each_other_have_no_order(workspace: Workspace) -> None:
    document = {
        "edges": "data",
        "nodes": [
            {"id": "a", "type": "echo", "params": {"x": "${b.x}"}},
            {"id": "b", "type": "echo", "params": {"x": "${a.x}"}},
        ],
    }
    assert "data-cycle" in [issue.code for issue in issues_of(workspace, document)]


def test_a_start_makes_no_sense_where_the_templates_give_the_order(workspace: Workspace) -> None:
    assert only(workspace, {"edges": "data", "start_node": "read", "nodes": [read()]}).code == "start-node"


class TestSubWorkflows:
    child = {
        "inputs": {"who": {"type": "string"}},
        "nodes": [echo(text="${who}")],
        "outputs": {"said": {"source": "${show.text}"}},
    }

    def _node(self, **params: Any) -> dict[str, Any]:
        return {"id": "sub", "type": "workflow", "params": {"workflow": self.child, **params}}

    def test_its_inputs_and_outputs_are_checked(self, workspace: Workspace) -> None:
        document = {"nodes": [self._node(inputs={"whom": "x"}), echo(text="${sub.sad}")]}
        found = {issue.code: issue for issue in issues_of(workspace, document)}
        assert set(found) == {"unknown-input", "missing-input", "unknown-output"}
        assert found["unknown-input"].hint == "did you mean `who`?"
        assert found["unknown-output"].hint == "did you mean `${sub.said}`?"

    def test_its_own_issues_are_reported_with_their_place(self, workspace: Workspace) -> None:
        broken = {"nodes": [{"id": "x", "type": "ecko"}]}
        issue = only(workspace, {"nodes": [{"id": "sub", "type": "workflow", "params": {"workflow": broken}}]})
        assert issue.message == "in workflow of node `sub`: there is no node type `ecko` (at nodes[0].type)"

    def test_a_workflow_that_includes_itself_is_refused(self, workspace: Workspace) -> None:
        workspace.save({"nodes": [{"id": "a", "type": "echo"}]}, "me")
        node = {"id": "a", "type": "workflow", "params": {"workflow": "me"}}
        document = {"nodes": [node]}
        from pflow.core.library.workflow_manager import WorkflowManager

        WorkflowManager(workspace.home).save("me", document, overwrite=True)
        [issue] = workspace.check("me").issues
        assert issue.code == "nesting"

    def test_a_workflow_that_many_nodes_include_is_checked_once_and_its_issues_are_told_once(
        self, workspace: Workspace, tmp_path: Path
    ) -> None:
        for level in range(19):
            include = {"type": "workflow", "params": {"workflow": f"./{level + 1}.json"}}
            document = {"nodes": [{"id": "one", **include}, {"id": "two", **include}]}
            (tmp_path / f"{level}.json").write_text(json.dumps(document))
        get = {"url": "https://x.example", "headers": {"Authorization": "Bearer a-literal-token"}}
        nodes = [echo(text="{{who}}"), {"id": "get", "type": "http", "params": get}]
        last = {"inputs": {"who": {"type": "string", "default": "Ada"}}, "nodes": nodes}
        (tmp_path / "19.json").write_text(json.dumps(last))
        checked = workspace.check(str(tmp_path / "0.json"))
        [issue] = checked.issues
        assert issue.message.count("in workflow of node `one`") == 19
        assert checked.plan is not None and len(checked.plan.credentials.literals) == 1

    def test_which_workflow_runs_must_be_known(self, workspace: Workspace) -> None:
        document = {
            "inputs": {"w": {"type": "string"}},
            "nodes": [{"id": "a", "type": "workflow", "params": {"workflow": "${w}"}}],
        }
        assert only(workspace, document).code == "template-here"


def test_ten_thousand_nodes_are_checked(workspace: Workspace) -> None:
    nodes = [{"id": f"n{i}", "type": "echo", "params": {"v": f"${{n{i - 1}.v}}" if i else 1}} for i in range(10_000)]
    checked = workspace.check({"nodes": nodes})
    assert checked.ok and checked.plan is not None
    assert [len(targets) for targets in checked.plan.ahead] == [1] * 9_999 + [0]
