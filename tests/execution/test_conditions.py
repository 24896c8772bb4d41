"""Steps that choose and compute, and steps that are left out: from the document to the run."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pflow.core.document.issue import Issue
from pflow.core.file.home import Home
from pflow.drawing.text import marks_of
from pflow.execution.outcome import Outcome
from pflow.workspace import Workspace


@pytest.fixture
def workspace(home: Path) -> Iterator[Workspace]:
    with Workspace(Home(home)) as opened:
        yield opened


def run(workspace: Workspace, text: str, **inputs: object) -> Outcome:
    outcome = workspace.run(text, inputs)
    assert outcome.status == "completed", outcome.error
    return outcome


def statuses(workspace: Workspace, outcome: Outcome) -> dict[str, str]:
    steps: Any = workspace.show_run(outcome.run_id)["steps"]
    return {step["step"]: step["status"] for step in steps}


def issues(workspace: Workspace, text: str) -> list[Issue]:
    return list(workspace.check(text).issues)


ORDERS = """
inputs:
  orders:
    type: array
    default: [{id: 1, total: 120, state: open}, {id: 2, total: 5, state: open}, {id: 3, total: 80, state: paid}]
  limit: {type: integer, default: 10}
nodes:
  - {id: open, type: filter, params: {items: "${orders}", as: o, where: "o.state == 'open' && o.total > limit"}}
  - id: rows
    type: map
    params: {items: "${open.items}", as: o, to: {no: o.id, label: "'#' + string(o.id)", at: o_index}}
  - {id: sum, type: let, params: {total: "open.items.map(o, o.total).sum()", any: open.count > 0, visit: visit}}
outputs:
  rows: "${rows.items}"
  dropped: "${open.dropped}"
  sum: "${sum}"
"""


def test_filter_map_and_let_compute_without_code(workspace: Workspace) -> None:
    assert run(workspace, ORDERS).outputs == {
        "rows": [{"no": 1, "label": "#1", "at": 0}],
        "dropped": 2,
        "sum": {"total": 120, "any": True, "visit": 1},
    }
    assert run(workspace, ORDERS, limit=1).outputs["dropped"] == 1


SWITCH = """
inputs: {n: {type: integer}}
nodes:
  - {id: size, type: switch, params: {cases: {big: "n > 100", small: "n < 10"}}, on: {big: large, small: little}}
  - {id: middle, type: echo, params: {text: middle}, on: {default: join}}
  - {id: large, type: echo, params: {text: large}, on: {default: join}}
  - {id: little, type: echo, params: {text: little}, on: {default: join}}
  - {id: join, type: echo, params: {text: "${text}", case: "${size.case}"}}
"""


@pytest.mark.parametrize(("n", "text", "case"), [(500, "large", "big"), (5, "little", "small"), (50, "middle", "else")])
def test_a_switch_takes_the_first_case_that_holds_and_its_ways_join_again(
    workspace: Workspace, n: int, text: str, case: str
) -> None:
    assert run(workspace, SWITCH, n=n).outputs == {"text": text, "case": case}


def test_a_failure_on_purpose_has_its_own_type_and_takes_error_edges(workspace: Workspace) -> None:
    stop = "nodes:\n  - {id: stop, type: fail, params: {message: 'not on Sundays', details: {day: 7}}}\n"
    outcome = workspace.run(stop)
    assert outcome.error is not None
    assert (outcome.error["type"], outcome.error["message"]) == ("failed_on_purpose", "not on Sundays")
    caught = (
        stop.replace("}}}", "}}, on: {error: next}}") + "  - {id: say, type: echo, params: {why: '${error.message}'}}"
    )
    assert run(workspace, caught).outputs == {"why": "not on Sundays"}


SKIP = """
inputs: {n: {type: integer}}
nodes:
  - {id: a, type: echo, params: {x: "${n}"}}
  - {id: b, type: echo, when: "a.x > 1", params: {y: 2}}
  - {id: c, type: let, params: {y: "has(b.y) ? b.y : 0", both: "has(steps.b) && has(steps.a)"}}
"""


def test_a_node_whose_condition_is_false_is_skipped_and_leaves_nothing(workspace: Workspace) -> None:
    left_out = run(workspace, SKIP, n=1)
    assert statuses(workspace, left_out) == {"a": "completed", "b": "skipped", "c": "completed"}
    assert left_out.outputs == {"y": 0, "both": False}
    assert run(workspace, SKIP, n=2).outputs == {"y": 2, "both": True}


def test_the_result_of_a_document_is_what_ended_before_a_skipped_last_step(workspace: Workspace) -> None:
    text = "nodes:\n  - {id: a, type: echo, params: {x: 1}}\n  - {id: b, type: echo, when: a.x > 1, params: {y: 2}}\n"
    assert run(workspace, text).outputs == {"x": 1}
    assert run(workspace, text + "  - {id: c, type: echo, when: 'false'}\n").outputs == {"x": 1}


def test_params_of_a_skipped_step_are_not_looked_at(workspace: Workspace) -> None:
    text = """
nodes:
  - {id: a, type: echo, params: {data: {n: 0}}}
  - {id: b, type: echo, when: "has(a.data.items)", params: {y: "${a.data.items[0]}"}}
  - {id: c, type: echo, when: "has(a.data.items)", batch: {items: "${a.data.items}"}, params: {y: "${item}"}}
outputs: {n: "${a.data.n}"}
"""
    assert run(workspace, text).outputs == {"n": 0}


def test_what_another_way_left_out_is_named_where_it_is_needed(workspace: Workspace) -> None:
    text = """
inputs: {go: {type: boolean, default: false}}
nodes:
  - {id: choose, type: switch, params: {cases: {yes: go}}, on: {yes: a, else: b}}
  - {id: a, type: echo, params: {x: 1}, on: {default: b}}
  - {id: b, type: echo, params: {y: "${a.x}"}}
"""
    outcome = workspace.run(text)
    assert outcome.error is not None
    assert outcome.error["message"] == "template `${a.x}` not resolved: node `a` has not run"
    outcome = workspace.run(text.replace('echo, params: {y: "${a.x}"', "let, params: {y: a.x"))
    assert outcome.error is not None and "node `a` has not run" in str(outcome.error["message"])


def test_a_condition_that_cannot_be_decided_fails_its_step_before_it_starts(
    workspace: Workspace, tmp_path: Path
) -> None:
    text = f"""
inputs: {{data: {{type: object, default: {{}}}}}}
nodes:
  - {{id: a, type: echo, params: {{data: "${{data}}"}}}}
  - {{id: b, type: shell, when: "a.data.n > 1", params: {{command: touch {tmp_path}/made}}}}
"""
    outcome = workspace.run(text)
    assert outcome.error is not None and outcome.failed_node == "b"
    assert "`a.data.n > 1`" in str(outcome.error["message"])
    assert not (tmp_path / "made").exists()


def test_a_loop_counts_its_visits_and_gathers_what_they_gave(workspace: Workspace) -> None:
    text = """
nodes:
  - {id: page, type: let, params: {items: "[visit * 10, visit * 10 + 1]", last: "visit == 3"}}
  - {id: all, type: let, params: {items: "(has(all.items) ? all.items : []) + page.items"}}
  - {id: more, type: switch, params: {cases: {again: "!page.last"}}, on: {again: page}}
  - {id: done, type: let, params: {items: all.items}}
"""
    assert run(workspace, text).outputs == {"items": [10, 11, 20, 21, 30, 31]}


def test_the_run_is_a_name_for_templates_and_expressions(workspace: Workspace) -> None:
    text = """
name: who
nodes:
  - {id: a, type: let, params: {id: run.id, name: run.name, day: "run.started_at.startsWith(run.date.split('-')[0])"}}
  - {id: b, type: echo, params: {text: "${run.id} ${run.name} ${visit}"}}
outputs: {a: "${a}", text: "${b.text}"}
"""
    outcome = run(workspace, text)
    assert outcome.outputs["a"] == {"id": outcome.run_id, "name": "who", "day": True}
    assert outcome.outputs["text"] == f"{outcome.run_id} who 1"


def test_a_batch_may_compute_with_its_item_and_its_condition_is_for_the_whole(workspace: Workspace) -> None:
    text = """
nodes:
  - id: each
    type: let
    when: "size(list) > 0"
    batch: {items: "${list}", as: n}
    params: {square: "n * n", at: n_index}
inputs: {list: {type: array}}
outputs: {squares: "${each.results}"}
"""
    assert run(workspace, text, list=[2, 3]).outputs == {"squares": [{"square": 4, "at": 0}, {"square": 9, "at": 1}]}
    [issue] = workspace.check(text.replace("size(list) > 0", "n > 0")).errors
    assert issue.code == "unknown-name"


@pytest.mark.parametrize(
    ("params", "code", "hint"),
    [
        ("{x: 'n === 3'}", "expression", "write `n == 3`"),
        ("{x: '${n} == 1'}", "expression", "write `n == 1`"),
        ("{x: 'n > 1 and n < 3'}", "expression", "write `n > 1 && n < 3`"),
        ("{x: 'm > 3'}", "unknown-name", ""),
        ("{x: 'later.y'}", "unknown-name", ""),
        ("{x: \"n > 'a'\"}", "expression-type", "convert one of them"),
        ("{x: [1]}", "expression", ""),
    ],
)
def test_a_wrong_expression_is_found_before_the_run(workspace: Workspace, params: str, code: str, hint: str) -> None:
    text = (
        "inputs: {n: {type: integer}}\n"
        f"nodes:\n  - {{id: a, type: let, params: {params}}}\n  - {{id: later, type: echo, params: {{y: 1}}}}\n"
    )
    [issue] = issues(workspace, text)
    assert (issue.code, issue.path) == (code, "nodes[0].params.x")
    assert hint in issue.hint


def test_a_condition_gives_true_or_false(workspace: Workspace) -> None:
    text = "inputs: {n: {type: integer}}\nnodes: [{id: a, type: echo, when: WHEN, params: {x: 1}}]\n"
    [issue] = issues(workspace, text.replace("WHEN", "n + 1"))
    assert (issue.code, issue.path) == ("expression-type", "nodes[0].when")
    [issue] = issues(workspace, text.replace("WHEN", "else"))
    assert issue.code == "bad-choice"
    assert issues(workspace, text.replace("WHEN", "false")) == []


def test_an_edited_condition_decides_anew_and_reruns_nothing_else(workspace: Workspace, tmp_path: Path) -> None:
    text = f"""
nodes:
  - {{id: first, type: shell, params: {{command: "echo x >> {tmp_path}/first"}}}}
  - {{id: maybe, type: shell, when: "false", params: {{command: "echo x >> {tmp_path}/maybe"}}}}
  - {{id: stop, type: shell, params: {{command: "test -e {tmp_path}/go"}}}}
"""
    failed = workspace.run(text)
    assert failed.status == "failed"
    (tmp_path / "go").touch()
    resumed = workspace.resume(failed.run_id, edited=text.replace('when: "false"', 'when: "true"'))
    assert resumed.status == "completed"
    assert resumed.reused == ("first",)
    assert ((tmp_path / "first").read_text(), (tmp_path / "maybe").read_text()) == ("x\n", "x\n")


def test_a_resumed_run_does_not_decide_again_what_was_decided(workspace: Workspace, tmp_path: Path) -> None:
    flag = tmp_path / "flag"
    text = f"""
nodes:
  - {{id: look, type: shell, params: {{command: "test -e {flag}", ok_codes: [0, 1]}}}}
  - {{id: maybe, type: echo, when: "look.exit_code == 0", params: {{x: 1}}}}
  - {{id: stop, type: shell, params: {{command: "test -e {flag}"}}}}
  - {{id: end-here, type: let, params: {{x: "has(maybe.x)"}}}}
"""
    failed = workspace.run(text)
    assert failed.status == "failed"
    flag.touch()
    resumed = workspace.resume(failed.run_id)
    assert (resumed.status, resumed.outputs) == ("completed", {"x": False})


def test_with_data_edges_a_condition_orders_and_choices_lead_where_default_leads(workspace: Workspace) -> None:
    text = """
edges: data
nodes:
  - {id: last, type: echo, when: "route.case == 'yes'", params: {x: 1}}
  - {id: route, type: switch, params: {cases: {yes: "first.n == 1"}}}
  - {id: first, type: echo, params: {n: 1}}
outputs: {x: "${last.x:-none}"}
"""
    assert run(workspace, text).outputs == {"x": 1}
    assert run(workspace, text.replace("first.n == 1", "first.n == 2")).outputs == {"x": "none"}


def test_a_picture_shows_the_condition_of_a_node(workspace: Workspace) -> None:
    plan = workspace.check(SKIP).ready()
    assert [marks_of(plan, node) for node in plan.nodes] == [[], ["when a.x > 1"], []]


WHERE = """
inputs:
  rows: {type: array, default: [{n: 1}, {n: 20}, {n: 30}]}
  least: {type: integer, default: 10}
nodes:
  - id: each
    type: echo
    batch: {items: "${rows}", as: r, where: r.n >= least}
    params: {n: "${r.n}", at: "${r_index}"}
  - {id: count, type: let, params: {n: size(each.done), first: "size(each.done) > 0 ? each.done[0].item.n : 0"}}
outputs: {results: "${each.results}", count: "${count.n}", first: "${count.first}"}
"""


def test_a_batch_takes_only_the_items_for_which_its_condition_holds(workspace: Workspace) -> None:
    kept = [{"n": 20, "at": 0}, {"n": 30, "at": 1}]
    assert run(workspace, WHERE).outputs == {"results": kept, "count": 2, "first": 20}
    assert run(workspace, WHERE, least=100).outputs == {"results": [], "count": 0, "first": 0}
    [issue] = issues(workspace, WHERE.replace("r.n >= least", "s.n >= least"))
    assert (issue.code, issue.path) == ("unknown-name", "nodes[0].batch.where")
    [issue] = issues(workspace, WHERE.replace("r.n >= least", "least"))
    assert issue.code == "expression-type"


def test_an_edited_condition_on_items_runs_the_batch_again(workspace: Workspace, tmp_path: Path) -> None:
    stop = f"  - {{id: stop, type: shell, params: {{command: test -e {tmp_path}/go}}}}\n"
    text = WHERE.replace("outputs:", f"{stop}outputs:")
    failed = workspace.run(text)
    assert failed.status == "failed"
    (tmp_path / "go").touch()
    resumed = workspace.resume(failed.run_id, edited=text.replace("r.n >= least", "r.n > 20"))
    assert (resumed.outputs["results"], resumed.reused) == ([{"n": 30, "at": 0}], ())
    assert workspace.run(text).outputs["count"] == 2


def test_swapped_cases_are_decided_again_and_the_rest_is_kept(workspace: Workspace, tmp_path: Path) -> None:
    text = f"""
inputs: {{n: {{type: integer, default: 5}}}}
nodes:
  - {{id: size, type: switch, params: {{cases: {{small: "n < 10", tiny: "n < 100"}}}}}}
  - {{id: other, type: switch, params: {{cases: {{b: "n < 10", a: "n < 100"}}}}}}
  - {{id: stop, type: shell, params: {{command: test -e {tmp_path}/go}}}}
outputs: {{case: "${{size.case}}", other: "${{other.case}}"}}
"""
    failed = workspace.run(text)
    assert failed.status == "failed"
    (tmp_path / "go").touch()
    swapped = text.replace('{small: "n < 10", tiny: "n < 100"}', '{tiny: "n < 100", small: "n < 10"}')
    resumed = workspace.resume(failed.run_id, edited=swapped)
    assert (resumed.outputs, resumed.reused) == ({"case": "tiny", "other": "b"}, ("other",))
