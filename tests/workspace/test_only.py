"""A single step runs with what another run did before it."""

from __future__ import annotations

from typing import Any

import pytest

from pflow.core.errors import DocumentError, InputError, NotFoundError, UsageError
from pflow.core.file.home import Home
from pflow.workspace import Workspace
from tests.workspace.test_failed_items import effects, place, workspace
from tests.workspace.test_fork import LOOP, chain, shown_steps
from tests.workspace.try_node import Effects

__all__ = ["effects", "place", "workspace"]


def test_only_the_step_runs_and_its_outputs_are_those_of_the_run(workspace: Workspace, effects: Effects) -> None:
    run = workspace.run(chain(effects))
    effects.take()
    tried = workspace.again.run_only(chain(effects, two="${one.text}-tried"), "two", run.run_id)
    assert tried.status == "completed"
    assert tried.outputs == {"text": "one-ada-tried"}
    assert effects.take() == {"one-ada-tried": 1}
    shown = workspace.show_run(tried.run_id)
    assert (shown["forked_from"], shown["only"]) == (run.run_id, "two")
    assert [*shown_steps(workspace, tried.run_id)] == ["two"]
    assert tried.completed == ("two",)


def test_it_has_the_inputs_of_the_run_or_others(workspace: Workspace, effects: Effects) -> None:
    run = workspace.run(chain(effects), {"who": "grace"})
    effects.take()
    document = chain(effects, two="${who}")
    assert workspace.again.run_only(document, "two", run.run_id).outputs == {"text": "grace"}
    assert workspace.again.run_only(document, "two", run.run_id, {"who": "ida"}).outputs == {"text": "ida"}
    with pytest.raises(InputError, match="unknown input `whom`"):
        workspace.again.run_only(document, "two", run.run_id, {"whom": "ida"})


def test_a_step_that_the_run_never_came_to_has_all_that_it_did(workspace: Workspace, effects: Effects) -> None:
    effects.bad("two")
    run = workspace.run(chain(effects))
    new = chain(effects)
    new["nodes"].append(effects.node("new", "new-${one.text}"))
    assert workspace.again.run_only(new, "new", run.run_id).outputs == {"text": "new-one-ada"}
    effects.take()
    with pytest.raises(InputError) as caught:
        workspace.again.run_only(new, "three", run.run_id)
    assert caught.value.message == (
        f"`three` reads `${{two.text}}`, and run `{run.run_id}` has no outputs of `two`: it did not complete there"
    )
    assert caught.value.suggestions == ("it has outputs of: one",)
    assert effects.take() == {} and len(workspace.runs()) == 2


def test_batches_sub_workflows_and_natural_keys_are_what_they_were(workspace: Workspace, effects: Effects) -> None:
    inner = {"inputs": {"n": {"type": "integer"}}, "nodes": [effects.node("in", "in-${n}")]}
    document = {
        "nodes": [
            effects.batch("each", ["a", "b"]),
            {"id": "sub", "type": "workflow", "params": {"workflow": inner, "inputs": {"n": "${each.count}"}}},
            effects.batch("again", "${each.done}", "${item.result.text}-${sub.text}"),
        ]
    }
    run = workspace.run(document)
    effects.take()
    assert workspace.again.run_only(document, "sub", run.run_id).outputs == {"text": "in-2"}
    assert effects.take() == {"in-2": 1}
    outputs = workspace.again.run_only(document, "again", run.run_id).outputs
    assert outputs["results"] == [{"text": "a-in-2"}, {"text": "b-in-2"}]
    assert effects.take() == {"a-in-2": 1, "b-in-2": 1}


def test_a_visit_of_a_loop_has_the_visits_before_it(workspace: Workspace, effects: Effects) -> None:
    text = LOOP.replace("FILE", str(effects.file))
    run = workspace.run(text)
    effects.take()
    assert workspace.again.run_only(text, "body#2", run.run_id).outputs == {"text": "body-2"}
    assert workspace.again.run_only(text, "body", run.run_id).outputs == {"text": "body-1"}
    with pytest.raises(NotFoundError, match="did not come to a step `body#7`"):
        workspace.again.run_only(text, "body#7", run.run_id)


def test_a_step_that_failed_can_be_resumed_and_nothing_else_follows(workspace: Workspace, effects: Effects) -> None:
    run = workspace.run(chain(effects))
    effects.bad("two")
    tried = workspace.again.run_only(chain(effects), "two", run.run_id)
    assert (tried.status, tried.failed_node) == ("failed", "two")
    workspace._wiring.journal.delete([run.run_id])
    effects.mend()
    effects.take()
    assert workspace.resume(tried.run_id).outputs == {"text": "two"}
    assert effects.take() == {"two": 1}
    with pytest.raises(UsageError, match="ran only the step `two`"):
        workspace.resume(tried.run_id, edited=chain(effects))
    with pytest.raises(UsageError, match="ran only the step `two`"):
        workspace.again.fork(tried.run_id, "two")


def test_a_condition_that_is_false_leaves_nothing_to_run(workspace: Workspace, effects: Effects) -> None:
    run = workspace.run(chain(effects))
    effects.take()
    document = chain(effects)
    document["nodes"][1]["when"] = "one.text == 'other'"
    document["nodes"][2]["params"]["more"] = "${two.text:-none}"
    tried = workspace.again.run_only(document, "two", run.run_id)
    assert (tried.status, tried.outputs, tried.completed) == ("completed", {}, ())
    assert effects.take() == {}


def test_a_workflow_that_is_not_valid_or_has_no_such_node_is_refused(workspace: Workspace, effects: Effects) -> None:
    run = workspace.run(chain(effects))
    with pytest.raises(NotFoundError) as caught:
        workspace.again.run_only(chain(effects), "tow", run.run_id)
    assert caught.value.suggestions == ("did you mean `two`?", "its nodes are: one, two, three")
    with pytest.raises(DocumentError):
        workspace.again.run_only({"nodes": [{"id": "a", "type": "no-such"}]}, "a", run.run_id)


def test_a_secret_that_is_not_known_any_more_is_said_to_be_missing(place: Home, effects: Effects) -> None:
    document = chain(effects, one="${key}")
    document["inputs"] = {"key": {"type": "string", "secret": True}}
    with Workspace(place) as workspace:
        run = workspace.run(document, {"key": "the-first-value"})
    with Workspace(place) as workspace:
        with pytest.raises(InputError, match="what it wrote holds a secret that is not known now"):
            workspace.again.run_only(document, "two", run.run_id, {"key": "a-second-value"})
    with Workspace(place) as workspace:
        outputs: Any = workspace.again.run_only(document, "two", run.run_id, {"key": "the-first-value"}).outputs
        assert outputs == {"text": "two"}
