"""What runs spend on language models: counted once, told everywhere, and stopped by the `budget` of the document."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from pflow.core.errors import ModelError
from pflow.engine.model.llm import Prompt
from tests.nodes.model.scripted import Json, ScriptedModel, asks, document, workspace_of

ROOT = Path(__file__).parents[2]


def chain(count: int, **more: object) -> Json:
    """A document that asks several times, one after the other."""
    return document(*(asks(f"Question {number}", id=f"ask{number}") for number in range(count)), **more)


def test_a_run_stops_before_the_call_that_its_budget_does_not_allow(home: Path) -> None:
    model = ScriptedModel(cost=0.25)
    with workspace_of(home, model) as workspace:
        outcome = workspace.run(chain(4, budget={"usd": 0.5}))
    assert (outcome.status, len(model.prompts)) == ("failed", 2)
    assert outcome.error is not None
    assert outcome.error["type"] == "budget"
    assert outcome.error["details"] == {"budget": {"usd": 0.5}, "spent": {"usd": 0.5, "tokens": 30}}
    assert outcome.envelope()["checkpoint"] == {
        "run_id": outcome.run_id,
        "completed_nodes": ["ask0", "ask1"],
        "failed_node": "ask2",
        "cost": 0.5,
        "tokens": 30,
    }


def test_tokens_are_a_budget_as_well(home: Path) -> None:
    model = ScriptedModel(cost=None)
    with workspace_of(home, model) as workspace:
        outcome = workspace.run(chain(4, budget={"tokens": 16, "usd": 5}))
    assert len(model.prompts) == 2
    assert outcome.error is not None and "30 of 16 tokens" in str(outcome.error["message"])


def test_with_a_higher_budget_the_run_goes_on_and_what_was_spent_counts(home: Path) -> None:
    model = ScriptedModel(cost=0.25)
    with workspace_of(home, model) as workspace:
        run_id = workspace.run(chain(4, budget={"usd": 0.5})).run_id
        assert workspace.resume(run_id).status == "failed"
        assert len(model.prompts) == 2
        again = workspace.resume(run_id, edited=chain(4, budget={"usd": 0.75}))
        assert (again.status, len(model.prompts)) == ("failed", 3)
        done = workspace.resume(run_id, edited=chain(4, budget={"usd": 2}))
    assert (done.status, len(model.prompts)) == ("completed", 4)
    data = done.envelope()["data"]
    assert isinstance(data, dict)
    assert (data["cost"], data["tokens"]) == (1.0, 60)


def test_neither_an_edge_nor_another_attempt_gets_around_a_budget(home: Path) -> None:
    model = ScriptedModel(cost=1)
    second = asks(id="two", more={"on": {"error": "next"}, "retry": {"attempts": 5}})
    with workspace_of(home, model) as workspace:
        outcome = workspace.run(document(asks(), second, asks(id="three"), budget={"usd": 1}))
    assert (outcome.status, outcome.failed_node, len(model.prompts)) == ("failed", "two", 1)


def test_a_batch_ends_with_its_budget_also_where_items_may_fail(home: Path) -> None:
    model = ScriptedModel(cost=1)
    batch = {"items": list(range(10)), "on_error": "continue"}
    with workspace_of(home, model) as workspace:
        each = asks("Rate ${item}", more={"batch": batch})
        outcome = workspace.run(document(each, budget={"usd": 3}))
        assert (outcome.status, len(model.prompts)) == ("failed", 3)
        assert outcome.error is not None and outcome.error["type"] == "budget"
        done = workspace.resume(outcome.run_id, edited=document(each, budget={"usd": 30}))
    assert (done.status, len(model.prompts)) == ("completed", 10)
    assert done.spent is not None and done.spent.tokens == 150


def test_what_sub_workflows_spend_counts_for_the_run(home: Path) -> None:
    model = ScriptedModel(cost=1)
    inner = {"id": "inner", "type": "workflow", "params": {"workflow": chain(3)}}
    with workspace_of(home, model) as workspace:
        outcome = workspace.run(document(asks(), inner, budget={"usd": 2}))
    assert (outcome.status, len(model.prompts)) == ("failed", 2)
    assert outcome.error is not None and outcome.error["type"] == "budget"


def test_the_budget_of_a_sub_workflow_is_for_each_of_its_executions(home: Path) -> None:
    model = ScriptedModel(cost=1)
    inner = {
        "id": "inner",
        "type": "workflow",
        "batch": {"items": [1, 2]},
        "params": {"workflow": chain(2, budget={"usd": 2})},
    }
    with workspace_of(home, model) as workspace:
        assert workspace.run(document(inner)).success
        inner["params"] = {"workflow": chain(3, budget={"usd": 2})}
        model.prompts.clear()
        assert workspace.run(document(inner)).status == "failed"
    assert len(model.prompts) == 2


def test_on_failure_hears_of_a_budget(home: Path) -> None:
    tell = {"id": "tell", "type": "echo", "params": {"why": "told"}}
    with workspace_of(home, ScriptedModel(cost=1)) as workspace:
        outcome = workspace.run(document(*chain(2)["nodes"], tell, on_failure="tell", budget={"usd": 1}))
        steps = {step["step"]: step["status"] for step in _steps(workspace.show_run(outcome.run_id))}
    assert steps == {"ask0": "completed", "ask1": "failed", "tell": "completed"}


def test_failed_attempts_are_counted(home: Path) -> None:
    left = [True]

    def say(_: Prompt) -> object:
        if left and left.pop():
            raise ModelError("cut short", action="cut", tokens=100, cost=0.5)
        return "all of it"

    with workspace_of(home, ScriptedModel(say)) as workspace:
        outcome = workspace.run(document(asks(more={"retry": {"attempts": 2}})))
        trace = workspace.show_run(outcome.run_id)
    assert outcome.spent is not None
    assert (outcome.spent.tokens, outcome.spent.cost) == (115, 0.75)
    assert (trace["tokens"], trace["cost"]) == (115, 0.75)
    assert [(step["tokens"], step["cost"]) for step in _steps(trace)] == [(115, 0.75)]


def test_an_unknown_price_makes_the_sum_unknown(home: Path) -> None:
    with workspace_of(home, ScriptedModel(cost=None)) as workspace:
        data = workspace.run(document(asks())).envelope()["data"]
    assert isinstance(data, dict)
    assert (data["cost"], data["tokens"]) == (None, 15)


def test_a_run_that_asks_no_model_tells_of_no_cost(home: Path) -> None:
    with workspace_of(home) as workspace:
        outcome = workspace.run(document({"id": "a", "type": "echo", "params": {"x": 1}}))
        trace = workspace.show_run(outcome.run_id)
    data = outcome.envelope()["data"]
    assert isinstance(data, dict) and not {"cost", "tokens"} & {*data, *trace}


def test_what_is_known_from_before_costs_nothing_again(home: Path) -> None:
    model = ScriptedModel(cost=1)
    with workspace_of(home, model) as workspace:
        first = workspace.run(chain(2))
        edited = chain(2)
        edited["nodes"][1]["params"]["prompt"] = "Another question"
        outcome = workspace.resume(first.run_id, edited=edited)
    assert (len(model.prompts), outcome.reused) == (3, ("ask0",))
    assert outcome.spent is not None and outcome.spent.cost == 3


def test_a_run_shows_what_it_cost(home: Path) -> None:
    with workspace_of(home, ScriptedModel(cost=0.0123)) as workspace:
        run_id = workspace.run(document(asks())).run_id
    done = subprocess.run(
        [sys.executable, "-m", "pflow", "runs", "show", run_id],
        env={**os.environ, "PFLOW_HOME": str(home)},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.stdout.splitlines()[0].startswith(f"{run_id}  completed")
    assert "15 tokens, $0.0123" in done.stdout.splitlines()[0]
    assert any(line.split()[0:2] == ["ask", "completed"] and "$0.0123" in line for line in done.stdout.splitlines())


KILLED = """
import os, signal, sys
from pathlib import Path
from tests.nodes.model.scripted import ScriptedModel, workspace_of
from tests.workspace.test_budget import chain

def say(prompt):
    if WHEN == "before" and prompt.text.endswith("1"):
        os.kill(os.getpid(), signal.SIGKILL)
    return "an answer"

WHEN = sys.argv[2]
home = Path(sys.argv[1])

class Watch:
    def notify(self, run_id, event):
        if WHEN == "between" and type(event).__name__ == "ModelUsed" and event.step == "ask1":
            os.kill(os.getpid(), signal.SIGKILL)
        if WHEN == "after" and type(event).__name__ == "StepCompleted" and event.step == "ask1":
            os.kill(os.getpid(), signal.SIGKILL)
    def report(self, run_id, step, message):
        pass

with workspace_of(home, ScriptedModel(say), observer=Watch()) as workspace:
    workspace.run(chain(3, budget={"usd": 9}), run_id="20261118-000000-0000000000000001")
"""


@pytest.mark.parametrize(("when", "calls"), [("before", 3), ("between", 4), ("after", 3)])
def test_a_process_that_is_killed_has_its_calls_counted_once(home: Path, when: str, calls: int) -> None:
    """Between what a call took and the end of its step, the answer is lost: the call is made again, and paid again."""
    done = subprocess.run([sys.executable, "-c", KILLED, str(home), when], cwd=ROOT, capture_output=True, timeout=120)
    assert done.returncode == -signal.SIGKILL, done.stderr.decode()
    model = ScriptedModel(cost=0.25)
    with workspace_of(home, model) as workspace:
        outcome = workspace.resume("20261118-000000-0000000000000001")
    assert outcome.success and outcome.spent is not None
    assert (outcome.spent.tokens, outcome.spent.cost) == (15 * calls, 0.25 * calls)


def _steps(trace: dict[str, object]) -> list[Json]:
    found = trace["steps"]
    assert isinstance(found, list)
    return found
