"""What an author is told who takes one thing of the language for another."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from pflow.core.document.issue import Issue
from pflow.core.file.home import Home
from pflow.workspace import Workspace


@pytest.fixture
def workspace(home: Path) -> Iterator[Workspace]:
    with Workspace(Home(home)) as opened:
        yield opened


def only(workspace: Workspace, text: str) -> Issue:
    [issue] = workspace.check(text + "\n").issues
    return issue


NAMES = """
inputs: {my: {type: integer}, id: {type: integer}}
nodes:
  - {id: my-id, type: echo, params: {x: "${id}"}}
  - {id: your-id, type: echo, params: {x: "${id}"}}
  - {id: in, type: echo, params: {x: "${id}"}}
  - {id: loop, type: echo, params: {x: "${id}"}}
  - {id: a, type: let, params: {x: EXPRESSION}}
"""


@pytest.mark.parametrize(
    ("expression", "code", "hint"),
    [
        ("your-id.x > 1", "unknown-name", 'write `steps["your-id"]`: a `-` is a minus'),
        ("my-id > 1", "hidden-name", 'write `steps["my-id"]` for the node, or put spaces around the minus'),
        ("in.x > 1", "expression", 'write `steps["in"]` for a node of that name'),
        ("loop.x > 1", "expression", 'write `steps["loop"]` for a node of that name'),
    ],
)
def test_an_id_that_an_expression_cannot_write_is_named_through_steps(
    workspace: Workspace, expression: str, code: str, hint: str
) -> None:
    issue = only(workspace, NAMES.replace("EXPRESSION", expression))
    assert (issue.code, issue.hint) == (code, hint)
    for fine in ('steps["my-id"].x > 1', "my - id > 1", 'steps["in"].x + steps["loop"].x'):
        assert workspace.check(NAMES.replace("EXPRESSION", f"'{fine}'")).issues == ()


@pytest.mark.parametrize("name", ["default", "else", "error", "timeout", "rate_limited"])
def test_a_case_does_not_have_the_name_of_an_action_that_means_something_else(workspace: Workspace, name: str) -> None:
    text = f"nodes: [{{id: s, type: switch, params: {{cases: {{{name}: 'true'}}}}}}]"
    issue = only(workspace, text)
    assert (issue.code, issue.path) == ("reserved-case", f"nodes[0].params.cases.{name}")


@pytest.mark.parametrize("when", ["item > 1", "n_index == 0"])
def test_an_item_in_the_condition_of_a_whole_batch_is_sent_to_where(workspace: Workspace, when: str) -> None:
    name = when.partition("_")[0].partition(" ")[0]
    batch = f"batch: {{items: [1, 2], as: {name}}}"
    issue = only(workspace, f"nodes: [{{id: a, type: echo, {batch}, when: {when}, params: {{x: 1}}}}]")
    assert issue.code == "unknown-name" and issue.message.endswith("because `when` is for the whole batch")
    assert issue.hint == f"to choose items write it in `batch`: `where: {when}`"


def test_an_input_with_the_name_of_an_item_may_stand_in_the_condition_of_a_batch(workspace: Workspace) -> None:
    text = """
inputs: {item: {type: integer}}
nodes: [{id: a, type: echo, batch: {items: [1, 2], as: i}, when: item > 1, params: {x: "${i}"}}]
"""
    assert workspace.check(text).issues == ()


LOOP = """
nodes:
  - {id: a, type: shell, params: {command: date}}
  - {id: b, type: echo, params: {x: 1}}
  - {id: c, type: echo, params: {x: 1}, on: {default: a}}
"""


def test_a_loop_without_a_way_out_is_noticed(workspace: Workspace) -> None:
    issue = only(workspace, LOOP)
    assert (issue.code, issue.severity, issue.path) == ("endless-loop", "notice", "nodes[0]")
    assert issue.message == "nothing leads out of the loop of `a`, `b`, `c`; `max_visits` ends it, and fails the run"
    assert workspace.check(LOOP.replace("date}}", "date}, on: {error: end}}")).issues == ()
    condition = "edges: [{from: c, to: a, when: visit < 3}, {from: c, to: end, when: else}]"
    assert workspace.check(LOOP.replace(", on: {default: a}", "") + condition).issues == ()


@pytest.mark.parametrize("expression", ["a.stdout.state == 'open'", "a.stdout[0] == 1"])
def test_a_path_into_text_points_to_parse_in_expressions_as_in_templates(workspace: Workspace, expression: str) -> None:
    text = "nodes:\n  - {id: a, type: shell, params: {command: date}}\n  - {id: b, type: TYPE, params: {x: X}}\n"
    hint = "if the text holds data, read it in a `parse` step with `text: ${a.stdout}` first, and use its `value`"
    issue = only(workspace, text.replace("TYPE", "let").replace("X", f'"{expression}"'))
    assert (issue.code, issue.hint) == ("unknown-field", hint)
    template = f'"${{{expression.partition(" ")[0]}}}"'
    issue = only(workspace, text.replace("TYPE", "echo").replace("X", template))
    assert (issue.code, issue.hint) == ("unknown-path", hint)


def test_a_failure_on_purpose_with_a_condition_leads_on_where_it_is_skipped(workspace: Workspace) -> None:
    text = """
inputs: {n: {type: integer}}
nodes:
  - {id: check, type: fail, when: n > 3, params: {message: too many}}
  - {id: go, type: echo, params: {x: 1}}
"""
    assert workspace.check(text).issues == ()
    assert workspace.run(text, {"n": 1}).outputs == {"x": 1}
    failed = workspace.run(text, {"n": 4})
    assert failed.error is not None and failed.error["message"] == "too many"
