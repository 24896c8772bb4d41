"""What may be absent when a step needs it is said before the run, and nothing else is."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pflow.core.document.issue import Issue
from pflow.core.file.home import Home
from pflow.workspace import Workspace

DOCUMENTS = Path(__file__).parent.parent / "data" / "workflows"


@pytest.fixture
def workspace(home: Path) -> Iterator[Workspace]:
    with Workspace(Home(home)) as opened:
        yield opened


def absent(workspace: Workspace, document: str | dict[str, Any]) -> list[Issue]:
    found = workspace.check(document)
    assert {issue.code for issue in found.errors} <= {"maybe-absent"}, found
    return [issue for issue in found.issues if issue.code == "maybe-absent"]


SKIPPED = """
inputs: {n: {type: integer}}
nodes:
  - {id: pr, type: echo, params: {count: "${n}"}}
  - {id: summary, type: echo, when: "pr.count > 0", params: {text: hello}}
  - SEND
"""


@pytest.mark.parametrize(
    ("send", "hint"),
    [
        ('{type: echo, params: {x: "${summary.text}"}}', "give a default: `${summary.text:-…}`"),
        ('{type: echo, params: {x: "so: ${summary.text}"}}', "give a default: `${summary.text:-…}`"),
        ('{type: echo, params: {x: {y: ["${steps.summary.text}"]}}}', "`${steps.summary.text:-…}`"),
        ("{type: let, params: {x: \"summary.text + '!'\"}}", "ask first: `has(summary.text) ? summary.text : …`"),
        ("{type: let, params: {x: \"has(summary.text) || summary.text == 'a'\"}}", "ask first"),
        ('{type: echo, when: "pr.count > 1", params: {x: "${summary.text}"}}', "or write the same `when` here"),
        ('{type: echo, when: "pr.count > 0 || n == 1", params: {x: "${summary.text}"}}', "`when`"),
        ('{type: echo, when: "!has(summary.text)", params: {x: "${summary.text}"}}', "`when`"),
        ('{type: echo, when: "has(steps.pr)", params: {x: "${summary.text}"}}', "`when`"),
        ('{type: echo, batch: {items: "${summary.text}"}, params: {x: "${item}"}}', "`${summary.text:-…}`"),
        ("{type: filter, params: {items: [1], where: \"summary.text == 'a'\"}}", "ask first"),
    ],
)
def test_what_a_skipped_node_would_have_given_needs_a_default_or_the_same_condition(
    workspace: Workspace, send: str, hint: str
) -> None:
    found = workspace.check(SKIPPED.replace("SEND", send.replace("{type", "{id: send, type", 1)))
    [issue] = [issue for issue in found.errors if issue.code == "maybe-absent"]
    assert issue.message.startswith("`send` uses `") and "`summary` is skipped unless `pr.count > 0`" in issue.message
    assert hint in issue.hint


def test_a_condition_that_needs_what_may_be_skipped_is_found_too(workspace: Workspace) -> None:
    [issue] = absent(workspace, SKIPPED.replace("SEND", "{id: send, type: echo, when: \"summary.text == 'x'\"}"))
    assert (issue.path, issue.severity) == ("nodes[2].when", "error")


@pytest.mark.parametrize(
    "send",
    [
        '{type: echo, params: {x: "${summary.text:-}"}}',
        '{type: echo, when: "pr.count > 0", params: {x: "${summary.text}"}}',
        '{type: echo, when: "n < 9 && pr.count   > 0", params: {x: "${summary.text}"}}',
        '{type: echo, when: "!(pr.count <= 0)", params: {x: "${summary.text}"}}',
        '{type: echo, when: "has(summary.text)", params: {x: "${summary}"}}',
        '{type: echo, when: "has(steps.summary) && n > 0", params: {x: "${summary.text}"}}',
        "{type: let, params: {x: \"has(summary.text) ? summary.text : ''\"}}",
        "{type: let, params: {x: \"has(summary.text) && summary.text != ''\"}}",
        "{type: let, params: {x: \"pr.count > 0 ? summary.text : ''\"}}",
        '{type: let, params: {x: "has(steps.summary)"}}',
        '{type: echo, batch: {items: "${summary.text:-[]}"}, params: {x: "${item}"}}',
        "{type: echo, when: \"summary.text != '' && has(summary.text)\"}",
    ],
)
def test_what_asks_first_or_has_a_default_or_the_same_condition_is_fine(workspace: Workspace, send: str) -> None:
    assert absent(workspace, SKIPPED.replace("SEND", send.replace("{type", "{id: send, type", 1))) == []


def test_conditions_make_sure_of_what_their_nodes_needed(workspace: Workspace) -> None:
    text = """
inputs: {go: {type: boolean}}
nodes:
  - {id: a, type: echo, when: go, params: {x: 1}}
  - {id: twin, type: echo, when: go, params: {x: 1}}
  - {id: b, type: echo, when: "has(a.x)", params: {x: "${a.x}"}}
  - {id: c, type: echo, when: "has(b.x)", params: {x: "${b.x} ${a.x} ${twin.x}"}}
  - {id: d, type: let, params: {x: "has(c.x) ? a.x : 0"}}
  - {id: e, type: let, params: {x: "!has(a.x) ? 0 : twin.x"}}
"""
    assert absent(workspace, text) == []


HANDLED = """
nodes:
  - {id: try, type: shell, params: {command: "true"}, on: {error: next}}
  - SEND
"""


def test_after_a_handled_failure_only_the_error_is_there(workspace: Workspace) -> None:
    send = '{id: send, type: echo, params: {x: "${try.stdout}"}}'
    [issue] = absent(workspace, HANDLED.replace("SEND", send))
    assert issue.severity == "error"
    assert issue.message == "`send` uses `${try.stdout}`, but `try` may have failed, and then has only `try.error`"
    [issue] = absent(workspace, HANDLED.replace("SEND", send.replace("stdout", "error.message")))
    assert issue.message == "`send` uses `${try.error.message}`, but `try` need not have failed"
    guarded = '{id: send, type: let, params: {x: "has(try.error) ? try.error.message : try.stdout"}}'
    assert absent(workspace, HANDLED.replace("SEND", guarded)) == []
    assert absent(workspace, HANDLED.replace("SEND", send.replace("${try.stdout}", "${try}"))) == []
    assert absent(workspace, HANDLED.replace("error: next", "error: end").replace("SEND", send)) == []


def branched(text: str) -> dict[str, Any]:
    return {
        "nodes": [
            {"id": "try", "type": "shell", "params": {"command": "true"}},
            {"id": "good", "type": "echo", "params": {"x": "${try.stdout}"}},
            {"id": "bad", "type": "echo", "params": {"x": "${try.error.message}"}},
            {"id": "last", "type": "echo", "params": {"x": text}},
        ],
        "edges": [
            {"from": "try", "to": "good"},
            {"from": "try", "to": "bad", "action": "error"},
            {"from": "good", "to": "last"},
            {"from": "bad", "to": "last"},
        ],
    }


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("${good.x}", "not every way to `last` leads through `good`"),
        ("${try.stdout}", "`try` may have failed, and then has only `try.error`"),
    ],
)
def test_documents_with_branches_of_before_are_only_warned(workspace: Workspace, text: str, why: str) -> None:
    [issue] = absent(workspace, branched(text))
    assert issue.severity == "warning" and issue.message == f"`last` uses `{text}`, but {why}"
    assert workspace.check(branched(text)).ok
    assert absent(workspace, branched("${x}")) == []


def test_a_join_can_use_all_that_a_fan_out_leads_to(workspace: Workspace) -> None:
    text = """
nodes:
  - {id: a, type: echo, params: {x: 1}, on: {default: [b, c]}}
  - {id: b, type: switch, params: {cases: {one: "a.x == 1"}}, on: {one: b1, else: b2}}
  - {id: b1, type: echo, params: {x: 1}, on: {default: d}}
  - {id: b2, type: echo, params: {x: 1}, on: {default: d}}
  - {id: c, type: echo, params: {x: 1}}
  - {id: c2, type: echo, params: {x: 1}, on: {default: d}}
  - {id: d, type: echo, params: {x: "${b.case} ${c2.x} ${c.x} ${a.x}"}}
"""
    assert absent(workspace, text) == []
    [issue] = absent(workspace, text.replace("${b.case}", "${b1.x}"))
    assert "not every way to `d` leads through `b1`" in issue.message


def test_the_conditions_of_edges_and_cases_are_known_where_they_lead(workspace: Workspace) -> None:
    text = """
inputs: {go: {type: boolean}}
nodes:
  - {id: a, type: echo, when: go, params: {x: 1}}
  - {id: route, type: switch, params: {cases: {none: "!has(a.x)", one: "a.x == 1"}}, on: {none: end, one: b, else: c}}
  - {id: b, type: echo, params: {x: "${a.x}"}, on: {default: end}}
  - {id: c, type: echo, params: {x: "${a.x}"}}
"""
    assert [
        issue.path for issue in absent(workspace, text.replace('none: "!has(a.x)", ', "").replace("none: end, ", ""))
    ]
    assert absent(workspace, text.replace('one: "a.x == 1"', 'one: "go"')) == []
    assert absent(workspace, text.replace('one: "a.x == 1"', 'one: "has(a.x) && a.x == 1"')) == []
    edges = """
inputs: {go: {type: boolean}}
nodes:
  - {id: a, type: echo, when: go, params: {x: 1}}
  - {id: b, type: echo, params: {x: "${a.x}"}}
edges: [{from: a, to: b, when: "CONDITION"}, {from: a, to: end, when: else}]
"""
    assert absent(workspace, edges.replace("CONDITION", "has(a.x)")) == []
    found = absent(workspace, edges.replace("CONDITION", "a.x == 1"))
    assert [issue.path for issue in found] == ["edges[0].when", "nodes[1].params.x"]
    assert found[0].message == "an edge of `a` uses `a.x`, but `a` is skipped unless `go`"


def test_an_earlier_visit_of_the_same_node_is_asked_for(workspace: Workspace) -> None:
    text = """
nodes:
  - {id: all, type: let, params: {n: "(has(all.n) ? all.n : 0) + 1"}}
  - {id: more, type: switch, params: {cases: {again: "all.n < 3"}}, on: {again: all}}
  - {id: done, type: echo, params: {n: "${all.n}"}}
"""
    assert absent(workspace, text) == []
    assert workspace.run(text).outputs == {"n": 3}
    [issue] = absent(workspace, text.replace("(has(all.n) ? all.n : 0) + 1", "all.n + 1"))
    assert issue.severity == "error" and "at its first visit there is no earlier one" in issue.message
    [issue] = absent(workspace, text.replace("(has(all.n) ? all.n : 0) + 1", "more.case == 'again' ? 1 : 2"))
    assert issue.severity == "warning" and "not every way to `all` leads through `more`" in issue.message


def test_a_sub_workflow_in_place_is_checked_as_any_other(workspace: Workspace) -> None:
    inner = {
        "inputs": {"go": {"type": "boolean"}},
        "nodes": [
            {"id": "a", "type": "echo", "when": "go", "params": {"x": 1}},
            {"id": "b", "type": "echo", "params": {"x": "${a.x}"}},
        ],
        "outputs": {"x": "${b.x}"},
    }
    node = {"id": "sub", "type": "workflow", "params": {"workflow": inner, "inputs": {"go": True}}}
    [issue] = absent(workspace, {"nodes": [node]})
    assert issue.severity == "error" and issue.message.startswith("in workflow of node `sub`: `b` uses `${a.x}`")


def test_validate_says_which_outputs_are_null_where_a_node_is_skipped(workspace: Workspace) -> None:
    text = """
inputs: {go: {type: boolean}}
nodes:
  - {id: a, type: echo, when: go, params: {x: 1}, on: {default: [b, c]}}
  - {id: b, type: echo, params: {x: 1}, on: {default: end}}
  - {id: c, type: switch, params: {cases: {one: go}}, on: {one: d, else: end}}
  - {id: d, type: echo, params: {x: 1}}
outputs: {a: "${a.x}", whole: "${a}", b: "${b.x}", d: "${d.x}", covered: "${a.x:-0}"}
"""
    said = {issue.path: issue.message for issue in workspace.check(text).notices}
    assert said == {
        "outputs.a": "output `a` is null in a run in which `a` is skipped",
        "outputs.whole": "output `whole` is null in a run in which `a` is skipped",
        "outputs.d": "output `d` is null in a run in which `d` does not run",
    }
    outputs = workspace.run(text, {"go": False}).outputs
    assert outputs == {"a": None, "whole": None, "b": 1, "d": None, "covered": "0"}


@pytest.mark.parametrize(
    "name", ["12-dependabot-bundler", "14-email-router", "p01-nested-if-join", "p05-retry-until-backoff"]
)
def test_documents_that_guard_what_they_use_raise_no_alarm(workspace: Workspace, name: str) -> None:
    found = workspace.check((DOCUMENTS / f"{name}.yaml").read_text()).issues
    assert "maybe-absent" not in {issue.code for issue in found}


def test_a_recorded_run_goes_on_whatever_may_be_absent(workspace: Workspace, tmp_path: Path) -> None:
    text = SKIPPED.replace("SEND", '{id: send, type: echo, params: {x: "${summary.text}"}}')
    [issue] = absent(workspace, text)
    assert issue.newer and issue.for_recorded().severity == "warning"


def test_ten_thousand_nodes_with_conditions_are_checked_at_once(workspace: Workspace) -> None:
    nodes: list[dict[str, Any]] = [{"id": "n0", "type": "echo", "params": {"x": 1}}]
    for number in range(1, 10_000):
        before = f"n{number - 1}"
        nodes.append({"id": f"n{number}", "type": "echo", "params": {"x": f"${{{before}.x}}"}})
        if number % 10 == 0:
            nodes[-1]["when"] = "n0.x == 1"
            nodes[-1]["params"] = {"x": 1}
        elif number % 10 == 1 and number > 1:
            nodes[-1]["params"] = {"x": f"${{{before}.x:-1}}"}
    found = workspace.check({"nodes": nodes})
    assert found.ok and not found.warnings


def test_a_default_is_read_as_the_type_of_the_place_where_it_stands(workspace: Workspace) -> None:
    text = """
inputs: {go: {type: boolean, default: false}}
nodes:
  - {id: a, type: echo, when: go, params: {list: [1], n: 1}}
  - {id: kept, type: filter, params: {items: "${a.list:-[]}", where: "true"}}
  - {id: each, type: echo, batch: {items: "${a.list:-[1, 2]}"}, params: {x: "${item}"}}
  - id: sub
    type: workflow
    params:
      inputs: {list: "${a.list:-[3]}", n: "${a.n:-7}", text: "${a.n:-12}", any: "${a.n:-5}"}
      workflow:
        inputs: {list: {type: array}, n: {type: integer}, text: {type: string}, any: {type: any}}
        nodes: [{id: e, type: echo, params: {list: "${list}", n: "${n}", text: "${text}", any: "${any}"}}]
outputs:
  kept: "${kept.items}"
  each: "${each.count}"
  sub: "${sub}"
  n: {type: integer, source: "${a.n:-0}"}
  list: {type: array, source: "${a.list:-[]}"}
  text: {type: string, source: "${a.n:-0}"}
  any: "${a.list:-[]}"
"""
    assert workspace.run(text).outputs == {
        "kept": [],
        "each": 2,
        "sub": {"list": [3], "n": 7, "text": "12", "any": "5"},
        "n": 0,
        "list": [],
        "text": "0",
        "any": "[]",
    }
    given = workspace.run(text, {"go": True}).outputs
    assert (given["n"], given["list"], given["text"]) == (1, [1], 1)
