"""Sections of a document: what runs when its main part is over, and what is said of them before that."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from pflow.core.document.issue import Issue
from pflow.core.file.home import Home
from pflow.drawing.svg import draw_svg
from pflow.drawing.text import draw_mermaid, draw_text
from pflow.execution.outcome import Outcome
from pflow.workspace import Workspace


@pytest.fixture
def workspace(home: Path) -> Iterator[Workspace]:
    with Workspace(Home(home)) as opened:
        yield opened


def steps_of(workspace: Workspace, outcome: Outcome) -> dict[str, dict[str, Any]]:
    steps: Any = workspace.show_run(outcome.run_id)["steps"]
    return {step["step"]: step for step in steps}


def issues(workspace: Workspace, text: str) -> list[Issue]:
    return [issue for issue in workspace.check(text).issues if issue.severity != "notice"]


def codes(workspace: Workspace, text: str) -> list[str]:
    return [issue.code for issue in issues(workspace, text)]


MAIN = """
inputs: {end: {type: string, default: completed}}
nodes:
  - {id: work, type: echo, params: {text: done}}
  - {id: check, type: fail, when: "end == 'failed'", params: {message: it broke, details: {at: 3}}}
  - {id: tell, type: echo, params: {text: "${error.type} at ${error.node}: ${error.message} (${error.action})"}}
  - {id: told, type: echo, params: {details: "${error.details}", work: "${work.text:-nothing}"}}
  - {id: tidy, type: echo, params: {status: "${run.status}", error: "${error.message:-none}", told: "${tell.text:-no}"}}
  - {id: tidied, type: let, params: {was: "run.status + (has(error.message) ? ': ' + error.message : '')"}}
"""


def test_a_run_that_fails_goes_through_on_failure_and_then_finally(workspace: Workspace) -> None:
    outcome = workspace.run(MAIN + "on_failure: tell\nfinally: tidy\n", {"end": "failed"})
    steps = steps_of(workspace, outcome)
    assert (outcome.status, outcome.failed_node, outcome.exit_code) == ("failed", "check", 1)
    assert outcome.error == {
        "type": "failed_on_purpose",
        "message": "it broke",
        "node": "check",
        "action": "error",
        "details": {"at": 3},
    }
    assert list(steps) == ["work", "check", "tell", "told", "tidy", "tidied"]
    assert steps["tell"]["outputs"] == {"text": "failed_on_purpose at check: it broke (error)"}
    assert steps["told"]["outputs"] == {"details": {"at": 3}, "work": "done"}
    assert steps["tidy"]["outputs"] == {
        "status": "failed",
        "error": "it broke",
        "told": "failed_on_purpose at check: it broke (error)",
    }
    assert steps["tidied"]["outputs"] == {"was": "failed: it broke"}
    assert [steps[step].get("section") for step in steps] == [
        *(None, None),
        *("on_failure", "on_failure"),
        *("finally", "finally"),
    ]


@pytest.mark.parametrize(
    ("end", "on_failure", "finally_"), [*product(("completed", "failed"), (False, True), (False, True))]
)
def test_every_ending_goes_through_the_sections_that_it_calls_for(
    workspace: Workspace, end: str, on_failure: bool, finally_: bool
) -> None:
    nodes = MAIN.splitlines(keepends=True)
    text = "".join(line for line in nodes if on_failure or "tell" not in line[:14] and "told" not in line[:14])
    text = "".join(line for line in text.splitlines(keepends=True) if finally_ or "tid" not in line)
    text += "on_failure: tell\n" * on_failure + "finally: tidy\n" * finally_
    if not on_failure:
        text = text.replace(', told: "${tell.text:-no}"', "")
    outcome = workspace.run(text, {"end": end})
    wanted = ["work", "check"]
    wanted += ["tell", "told"] if on_failure and end == "failed" else []
    wanted += ["tidy", "tidied"] if finally_ else []
    assert outcome.status == end
    assert list(steps_of(workspace, outcome)) == wanted


def test_the_outputs_are_those_of_the_main_part(workspace: Workspace) -> None:
    text = "nodes:\n  - {id: a, type: echo, params: {x: 1}}\n  - {id: z, type: echo, params: {y: 2}}\nfinally: z\n"
    assert workspace.run(text).outputs == {"x": 1}
    declared = text + 'outputs: {x: "${a.x}", y: "${z.y}", natural: "${y:-none}"}\n'
    assert workspace.run(declared).outputs == {"x": 1, "y": 2, "natural": "none"}


def test_a_failure_in_a_section_is_shown_and_the_first_error_stays(workspace: Workspace) -> None:
    text = """
nodes:
  - {id: a, type: fail, params: {message: first}}
  - {id: tell, type: read-file, params: {path: second}}
  - {id: never, type: echo}
  - {id: tidy, type: echo, params: {error: "${error.message}"}}
  - {id: tidied, type: fail, params: {message: third}}
on_failure: tell
finally: tidy
"""
    outcome = workspace.run(text)
    steps = steps_of(workspace, outcome)
    assert outcome.error is not None and outcome.error["message"] == "first"
    assert list(steps) == ["a", "tell", "tidy", "tidied"] and steps["tidy"]["outputs"] == {"error": "first"}
    assert outcome.losses == [
        "step `tell` of `on_failure` failed: cannot read `second`: it does not exist",
        "step `tidied` of `finally` failed: third",
    ]
    failures: Any = outcome.envelope()["failed_in_sections"]
    assert [(one["section"], one["step"], one["error"]["message"]) for one in failures] == [
        ("on_failure", "tell", "cannot read `second`: it does not exist"),
        ("finally", "tidied", "third"),
    ]


def test_a_run_that_is_complete_stays_so_when_its_finally_fails(workspace: Workspace) -> None:
    text = (
        "nodes:\n  - {id: a, type: echo, params: {x: 1}}\n  - {id: z, type: fail, params: {message: no}}\nfinally: z\n"
    )
    outcome = workspace.run(text)
    assert (outcome.status, outcome.exit_code, outcome.outputs) == ("completed", 0, {"x": 1})
    assert outcome.losses == ["step `z` of `finally` failed: no"]
    assert "failed_in_sections" in outcome.envelope()


def test_an_error_in_a_section_can_be_handled_there_and_hides_nothing(workspace: Workspace) -> None:
    text = """
nodes:
  - {id: a, type: fail, params: {message: first}}
  - {id: tell, type: fail, params: {message: second}, on: {error: next, default: end}}
  - {id: told, type: echo, params: {run: "${error.message}", own: "${tell.error.message}"}}
on_failure: tell
"""
    outcome = workspace.run(text)
    assert steps_of(workspace, outcome)["told"]["outputs"] == {"run": "first", "own": "second"}
    assert outcome.losses == []


def test_a_resume_goes_on_in_the_main_part_and_runs_the_sections_again(workspace: Workspace, tmp_path: Path) -> None:
    flag = tmp_path / "flag"
    text = f"""
nodes:
  - {{id: a, type: echo}}
  - {{id: b, type: read-file, params: {{path: "{flag}"}}}}
  - {{id: shot, type: shell, params: {{command: echo shot}}}}
  - {{id: tidy, type: echo, params: {{status: "${{run.status}}"}}}}
on_failure: shot
finally: tidy
outputs: {{text: "${{b.content}}"}}
"""
    first = workspace.run(text)
    second = workspace.resume(first.run_id)
    assert (first.status, second.status) == ("failed", "failed")
    flag.write_text("here")
    third = workspace.resume(first.run_id)
    assert (third.status, third.outputs) == ("completed", {"text": "here"})
    steps = steps_of(workspace, third)
    assert set(steps) == {"a", "b", "shot", "tidy", "shot#2", "tidy#2", "tidy#3"}
    assert steps["tidy#3"]["outputs"] == {"status": "completed"} and steps["b"]["status"] == "completed"


def test_an_edited_document_runs_its_sections_again_too(workspace: Workspace) -> None:
    text = """
nodes:
  - {id: a, type: echo}
  - {id: b, type: fail, params: {message: once}}
  - {id: tell, type: shell, params: {command: echo told}}
on_failure: tell
"""
    first = workspace.run(text)
    again = workspace.resume(first.run_id, edited=text.replace("once", "twice"))
    assert again.reused == ("a",)
    assert [step for step in steps_of(workspace, again) if "tell" in step] == ["tell", "tell#2"]


def test_a_sub_workflow_runs_its_sections_at_its_own_end(workspace: Workspace) -> None:
    text = """
nodes:
  - id: deploy
    type: workflow
    params:
      workflow:
        nodes:
          - {id: push, type: fail, params: {message: refused}}
          - {id: undo, type: echo, params: {why: "${error.message}"}}
          - {id: close, type: echo, params: {status: "${run.status}"}}
        on_failure: undo
        finally: close
    on: {error: next}
  - {id: after, type: echo, params: {said: "${deploy.error.message:-nothing}"}}
  - {id: tidy, type: echo, params: {status: "${run.status}"}}
finally: tidy
"""
    outcome = workspace.run(text)
    steps = steps_of(workspace, outcome)
    assert outcome.status == "completed"
    assert [step for step in steps if step != "deploy"] == [
        "deploy/push",
        "deploy/undo",
        "deploy/close",
        "after",
        "tidy",
    ]
    assert steps["deploy/undo"]["outputs"] == {"why": "refused"}
    assert steps["deploy/close"]["outputs"] == {"status": "failed"}
    assert steps["after"]["outputs"] == {"said": "sub-workflow failed at node `deploy/push`: refused"}
    assert steps["tidy"]["outputs"] == {"status": "completed"}


def test_a_resume_takes_up_the_main_part_of_a_sub_workflow_whose_sections_are_over(
    workspace: Workspace, tmp_path: Path
) -> None:
    flag = tmp_path / "flag"
    text = f"""
nodes:
  - id: deploy
    type: workflow
    params:
      workflow:
        nodes:
          - {{id: one, type: echo}}
          - {{id: push, type: read-file, params: {{path: "{flag}"}}}}
          - {{id: close, type: echo}}
        finally: close
        outputs: {{text: "${{push.content}}"}}
"""
    first = workspace.run(text)
    flag.write_text("ok")
    second = workspace.resume(first.run_id)
    assert (second.status, second.outputs) == ("completed", {"text": "ok"})
    assert list(second.completed) == ["deploy"]
    assert [step for step in steps_of(workspace, second) if "close" in step] == ["deploy/close", "deploy/close#2"]


def test_templates_order_the_main_part_and_each_section_for_itself(workspace: Workspace) -> None:
    text = """
edges: data
nodes:
  - {id: told, type: echo, params: {x: "${tell.x}", main: "${a.x:-none}"}}
  - {id: tell, type: echo, params: {x: "${a.x:-0}"}}
  - {id: tidy, type: echo, params: {x: "${told.x:-nothing}"}}
  - {id: b, type: fail, params: {message: "${a.x}"}}
  - {id: a, type: echo, params: {x: 1}}
on_failure: tell
finally: tidy
"""
    outcome = workspace.run(text)
    assert list(steps_of(workspace, outcome)) == ["a", "b", "tell", "told", "tidy"]


# What takes too long


SLOW = """
timeout: 200ms
nodes:
  - {id: quick, type: echo}
  - {id: slow, type: shell, params: {command: sleep 60}, on: {timeout: handled}}
  - {id: next_one, type: echo, on: {default: end}}
  - {id: handled, type: echo}
  - {id: tell, type: echo, params: {text: "${error.type}, node ${error.node}: ${error.details.running}"}}
  - {id: tidy, type: shell, params: {command: "sleep 0.3; printf tidy"}}
on_failure: tell
finally: tidy
""".replace("200ms", "0.2")


def test_a_document_that_takes_too_long_fails_and_its_sections_run_to_their_end(workspace: Workspace) -> None:
    outcome = workspace.run(SLOW)
    steps = steps_of(workspace, outcome)
    assert outcome.status == "failed" and outcome.failed_node is None and outcome.error is not None
    assert outcome.error["type"] == "timeout" and outcome.error["node"] is None
    assert outcome.error["message"] == "the run took longer than 0.2 s, the `timeout` of its document"
    assert outcome.error["details"] == {"running": ["slow"]}
    assert list(steps) == ["quick", "slow", "tell", "tidy"] and steps["slow"]["status"] == "failed"
    assert steps["tell"]["outputs"] == {"text": 'timeout, node null: ["slow"]'}
    assert steps["tidy"]["outputs"]["stdout"] == "tidy"


def test_the_time_that_was_worked_before_counts_after_a_resume(workspace: Workspace) -> None:
    first = workspace.run(SLOW)
    second = workspace.resume(first.run_id)
    assert second.error is not None and second.error["details"] == {"running": []}
    assert "slow" not in [step for step, facts in steps_of(workspace, second).items() if facts["status"] == "running"]
    longer = workspace.resume(first.run_id, edited=SLOW.replace("timeout: 0.2", "timeout: 1h").replace("60", "0"))
    assert longer.status == "completed"


def test_the_time_of_a_sub_workflow_fails_its_step_which_may_be_handled(workspace: Workspace) -> None:
    text = """
nodes:
  - id: deploy
    type: workflow
    params:
      workflow:
        timeout: 0.1
        nodes:
          - {id: push, type: shell, params: {command: sleep 60}}
          - {id: close, type: echo, params: {error: "${error.type}"}}
        finally: close
    on: {timeout: sorry, default: end}
  - {id: sorry, type: echo, params: {text: "${deploy.error.message}"}}
"""
    outcome = workspace.run(text)
    assert outcome.status == "completed"
    assert outcome.outputs == {"text": "the sub-workflow took longer than 0.1 s, the `timeout` of its document"}
    assert steps_of(workspace, outcome)["deploy/close"]["outputs"] == {"error": "timeout"}


def test_a_step_that_ends_in_time_is_not_a_failure_whatever_the_limit(workspace: Workspace) -> None:
    outcome = workspace.run("timeout: 1d\nnodes:\n  - {id: a, type: echo, params: {x: 1}}\n")
    assert outcome.outputs == {"x": 1}


# What checking says


def nodes(*names: str, **more: str) -> str:
    lines = [f"  - {{id: {name}, type: echo{more.get(name, '')}}}\n" for name in names]
    return "nodes:\n" + "".join(lines)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (nodes("a", "tell") + "on_failure: tel\n", "`on_failure` names the node `tel`, which does not exist"),
        (nodes("a", "z") + "on_failure: z\nfinally: z\n", "`on_failure` and `finally` both begin with `z`"),
        (nodes("a", "b") + "finally: a\n", "the document begins with `a`, which `finally` names as well"),
        (nodes("a", "z", a=", on: {default: z}") + "finally: z\n", "`z` belongs to `finally` and to the main part"),
        (
            nodes("a", "b", "z", z=", on: {default: b}") + "finally: z\n",
            "`b` belongs to `finally` and to the main part",
        ),
        (
            nodes("a", "t", "x", "z", t=", on: {default: z}") + "on_failure: t\nfinally: z\n",
            "nothing leads to the node `x` from the start, `a`",
        ),
        (
            nodes("a", "t", "z", t=", on: {default: z}") + "on_failure: t\nfinally: z\n",
            "`z` belongs to `finally` and to `on_failure`",
        ),
        (nodes("a", "z") + "finally: [{id: x}]\n", "`finally` must be the id of a node, not an array"),
        (nodes("a") + "timeout: soon\n", "`timeout` must be a duration, not the string `soon`"),
        (nodes("a") + "timeout: 0\n", "`timeout` must be more than 0 and at most 365 d, not the number 0"),
        (nodes("a") + "timeout: 400d\n", "`timeout` must be more than 0 and at most 365 d, not the string `400d`"),
        (
            nodes("a", "z", a=', params: {x: "${run.status}"}') + "finally: z\n",
            "template `${run.status}`: how a run ends is known only in `finally`",
        ),
        (
            nodes("a", "z", z=', params: {x: "${run.status}"}') + "on_failure: z\n",
            "template `${run.status}`: how a run ends is known only in `finally`",
        ),
        (
            nodes("a", "z", a=', params: {x: "${z.y}"}') + "finally: z\n",
            "template `${z.y}` names node `z`, which cannot have run before this one",
        ),
    ],
)
def test_what_cannot_be_a_section_is_said_before_the_run(workspace: Workspace, text: str, found: str) -> None:
    messages = [issue.message for issue in issues(workspace, text)]
    assert any(message.startswith(found) for message in messages), messages


def test_an_unknown_section_is_a_field_that_was_likely_meant(workspace: Workspace) -> None:
    [issue] = issues(workspace, nodes("a", "z") + "on_error: z\n")
    assert (issue.code, issue.hint) == ("unknown-field", "did you mean `on_failure`?")


def test_one_crossing_is_one_issue(workspace: Workspace) -> None:
    text = nodes("a", "b", "c", "z", z=", on: {default: b}") + "finally: z\n"
    [issue] = issues(workspace, text)
    assert issue.code == "crossing" and "`z` leads to it" in issue.message and "on `z` write" in issue.hint


def test_a_question_has_no_place_in_a_section(workspace: Workspace) -> None:
    text = "nodes:\n  - {id: a, type: echo}\n  - {id: z, type: ask, params: {prompt: sure?}}\nfinally: z\n"
    assert "section-wait" in codes(workspace, text)
    waiting = text.replace("ask, params: {prompt: sure?}", "wait, params: {for: 2h}")
    assert "section-wait" in codes(workspace, waiting)
    assert "section-wait" not in codes(workspace, waiting.replace("2h", "5s"))


def test_edges_that_reach_everything_need_not_reach_the_sections(workspace: Workspace) -> None:
    text = nodes("b", "z", "a") + "edges: [{from: a, to: b}]\nstart_node: a\nfinally: z\n"
    assert issues(workspace, text) == []
    assert list(steps_of(workspace, workspace.run(text))) == ["a", "b", "z"]


def test_the_last_node_of_the_main_part_leads_to_its_end_also_by_next(workspace: Workspace) -> None:
    text = """
nodes:
  - {id: a, type: fail, params: {message: no}, on: {error: next}}
  - {id: z, type: echo, params: {status: "${run.status}"}}
finally: z
"""
    outcome = workspace.run(text)
    assert outcome.status == "completed"
    assert steps_of(workspace, outcome)["z"]["outputs"] == {"status": "completed"}


def test_pictures_show_the_sections(workspace: Workspace) -> None:
    plan = workspace.check(MAIN + "on_failure: tell\nfinally: tidy\ntimeout: 15m\n").plan
    assert plan is not None
    text, mermaid, svg = draw_text(plan), draw_mermaid(plan), draw_svg(plan)
    assert "begins on_failure" in text and "begins finally" in text and "timeout 15 min" in text
    assert 'subgraph finally_section ["finally"]\n        n4; n5\n    end' in mermaid
    assert "begins finally" in svg and "timeout  15 min" in svg
    described = workspace.describe(MAIN + "on_failure: tell\nfinally: tidy\ntimeout: 15m\n")
    assert described.sections == {"on_failure": "tell", "finally": "tidy"} and described.timeout == 900
    assert [node.get("section") for node in described.nodes][2:5] == ["on_failure", "on_failure", "finally"]
