"""Edges with conditions: the first that holds is taken, by a step of its own behind the node."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pflow.core.document.issue import Issue
from pflow.core.file.home import Home
from pflow.drawing.text import draw_mermaid, draw_text
from pflow.execution.outcome import Outcome
from pflow.workspace import Workspace

WAYS = """
inputs: {n: {type: integer}}
nodes:
  - {id: a, type: echo, params: {x: "${n}"}}
  - {id: small, type: echo, params: {text: small}, on: {default: end}}
  - {id: large, type: echo, params: {text: large}, on: {default: end}}
  - {id: other, type: echo, params: {text: other}}
edges:
  - {from: a, to: small, when: a.x < 10}
  - {from: a, to: large, when: "a.x > 100"}
  - {from: a, to: other, when: else}
"""


@pytest.fixture
def workspace(home: Path) -> Iterator[Workspace]:
    with Workspace(Home(home)) as opened:
        yield opened


def run(workspace: Workspace, text: str, **inputs: object) -> Outcome:
    outcome = workspace.run(text, inputs)
    assert outcome.status == "completed", outcome.error
    return outcome


def steps_of(workspace: Workspace, outcome: Outcome) -> list[str]:
    steps: Any = workspace.show_run(outcome.run_id)["steps"]
    return [step["step"] for step in steps]


def issues(workspace: Workspace, text: str) -> list[Issue]:
    return list(workspace.check(text).issues)


@pytest.mark.parametrize(("n", "text"), [(5, "small"), (500, "large"), (50, "other")])
def test_the_first_condition_that_holds_is_taken(workspace: Workspace, n: int, text: str) -> None:
    outcome = run(workspace, WAYS, n=n)
    assert outcome.outputs == {"text": text}
    assert steps_of(workspace, outcome) == ["a", "a?", text]


def test_the_order_gives_the_else_of_conditions(workspace: Workspace) -> None:
    text = """
inputs: {n: {type: integer}}
nodes:
  - {id: a, type: echo, params: {x: "${n}"}}
  - {id: b, type: echo, params: {y: 1}}
  - {id: c, type: echo, params: {z: "${b.y:-none}"}}
edges: [{from: a, to: c, when: a.x > 1}]
"""
    [issue] = issues(workspace, text)
    assert issue.code == "unclear-order"
    text = text.replace("{y: 1}}", "{y: 1}, on: {default: c}}")
    assert run(workspace, text, n=2).outputs == {"z": "none"}
    assert run(workspace, text, n=1).outputs == {"z": 1}


def test_a_way_that_ends_leaves_what_the_node_gave(workspace: Workspace) -> None:
    text = """
inputs: {n: {type: integer}}
nodes: [{id: a, type: echo, params: {x: "${n}"}}, {id: b, type: echo, params: {y: 2}}]
edges: [{from: a, to: end, when: a.x > 1}]
"""
    assert run(workspace, text, n=2).outputs == {"x": 2}
    assert run(workspace, text, n=1).outputs == {"y": 2}


def test_a_loop_leaves_by_a_condition_and_counts_the_visits_of_its_node(workspace: Workspace) -> None:
    text = """
nodes:
  - {id: poll, type: let, params: {n: visit}}
  - {id: done, type: echo, params: {n: "${poll.n}"}}
edges: [{from: poll, to: poll, when: visit < 3}]
"""
    outcome = run(workspace, text)
    assert outcome.outputs == {"n": 3}
    assert steps_of(workspace, outcome) == ["poll", "poll?", "poll#2", "poll?#2", "poll#3", "poll?#3", "done"]


def test_failures_may_be_told_apart_by_conditions(workspace: Workspace) -> None:
    text = """
nodes:
  - {id: read, type: read-file, params: {path: absent.txt}}
  - {id: use, type: echo, params: {x: 1}, on: {default: end}}
  - {id: missing, type: echo, params: {text: missing}, on: {default: end}}
  - {id: other, type: echo, params: {text: other}}
edges:
  - {from: read, to: missing, action: error, when: "read.error.action == 'resource_missing'"}
  - {from: read, to: other, action: error, when: else}
"""
    outcome = run(workspace, text)
    assert outcome.outputs == {"text": "missing"}
    assert steps_of(workspace, outcome) == ["read", "read?error", "missing"]


def test_a_run_in_which_no_condition_holds_fails_behind_the_node_and_can_go_on(
    workspace: Workspace, tmp_path: Path
) -> None:
    text = f"""
inputs: {{n: {{type: integer}}}}
nodes:
  - {{id: a, type: shell, params: {{command: "echo x >> {tmp_path}/ran"}}}}
  - {{id: b, type: echo, params: {{y: 1}}}}
edges: [{{from: a, to: b, when: n > 1}}]
start_node: a
"""
    [warning] = issues(workspace, text)
    assert (warning.code, warning.severity) == ("no-else", "warning")
    failed = workspace.run(text, {"n": 1})
    assert failed.error is not None and failed.failed_node == "a?"
    assert "none of the conditions on the edges of `a` holds: `n > 1`" in str(failed.error["message"])
    resumed = workspace.resume(failed.run_id, edited=text.replace("n > 1", "n > 0"))
    assert (resumed.status, resumed.outputs) == ("completed", {"y": 1})
    assert (tmp_path / "ran").read_text() == "x\n"


@pytest.mark.parametrize(
    ("edges", "code", "path"),
    [
        ("[{from: a, to: b, when: x.y}, {from: a, to: c, when: else}]", "unknown-name", "edges[0].when"),
        ("[{from: a, to: b, when: a.x = 1}, {from: a, to: c, when: else}]", "expression", "edges[0].when"),
        ("[{from: a, to: b, when: a.x > 1}, {from: a, to: c}]", "mixed-edges", "edges[1]"),
        ("[{from: a, to: b, when: else}, {from: a, to: c, when: a.x > 1}]", "mixed-edges", "edges[0]"),
        ("[{from: a, to: b, when: else}, {from: a, to: c, action: error}]", "mixed-edges", "edges[0]"),
        ("[data, {from: a, to: b, when: a.x > 1}]", "data-route", "edges[1]"),
        ("[{from: a, to: b, when: 5}, {from: a, to: c, when: else}]", "wrong-type", "edges[0].when"),
    ],
)
def test_what_is_wrong_with_a_condition_is_said_where_it_stands(
    workspace: Workspace, edges: str, code: str, path: str
) -> None:
    text = f"""
nodes:
  - {{id: a, type: echo, params: {{x: 1}}}}
  - {{id: b, type: echo, on: {{default: end}}}}
  - {{id: c, type: echo}}
edges: {edges}
"""
    assert (code, path) in [(issue.code, issue.path) for issue in issues(workspace, text)]


def test_pictures_and_descriptions_show_the_condition_on_its_edge(workspace: Workspace) -> None:
    plan = workspace.check(WAYS).ready()
    assert "when a.x < 10 → small" in draw_text(plan) and "a?" not in draw_text(plan)
    assert 'n0 -->|"when a.x #gt; 100"| n2' in draw_mermaid(plan) or "when a.x" in draw_mermaid(plan)
    described = workspace.describe(WAYS)
    assert [node["id"] for node in described.nodes] == ["a", "small", "large", "other"]
    edges: Any = described.edges
    assert {"from": "a", "to": "small", "when": "a.x < 10"} in edges
    assert {"from": "a", "to": "other", "when": "else"} in edges
