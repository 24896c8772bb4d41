"""Someone who knows what became of a step that was cut off says so, and the run goes on without asking."""

from __future__ import annotations

import signal
from typing import Any

import pytest

from pflow.core.errors import ConflictError, InDoubtError, InputError, PflowError, RunError, UsageError
from pflow.core.file.home import Home
from pflow.workspace import Workspace
from tests.workspace.test_durability import Killer, in_child
from tests.workspace.test_failed_items import effects, place, workspace
from tests.workspace.try_node import Effects

__all__ = ["effects", "place", "workspace"]


def cut_off(place: Home, effects: Effects, document: dict[str, Any], in_flight: set[str]) -> None:
    """Run a document whose process dies when these steps have taken effect, and nobody knows."""
    effects.cut(*in_flight)
    assert in_child(lambda: Workspace(place).run(document, run_id="cut-off")) == -signal.SIGKILL
    effects.mend()
    effects.take()


def upload(effects: Effects) -> dict[str, Any]:
    nodes = [effects.node("build"), effects.node("upload"), effects.node("tell", "${upload.text}")]
    return {"nodes": nodes, "outputs": {"told": {"source": "${tell.text}"}}}


def doubts(workspace: Workspace) -> list[str]:
    try:
        workspace.resume("cut-off")
    except InDoubtError as error:
        steps: Any = error.details["steps"]
        return list(steps)
    return []


def test_a_step_that_took_effect_is_not_run_again(place: Home, effects: Effects) -> None:
    cut_off(place, effects, upload(effects), {"upload"})
    with Workspace(place) as workspace:
        assert doubts(workspace) == ["upload"]
        settled = workspace.again.settle("cut-off", ["upload"], "done", outputs={"text": "v7"}, by="ada")
        assert (settled.steps, settled.left) == (("upload",), ())
        shown: Any = workspace.show_run("cut-off")
        assert shown["status"] == "stopped"
        assert [{**one, "at": 0} for one in shown["settled"]] == [
            {"step": "upload", "outcome": "done", "at": 0, "by": "ada"}
        ]
        [step] = [step for step in shown["steps"] if step["step"] == "upload"]
        assert (step["status"], step["source"], step["outputs"]) == ("completed", "settled", {"text": "v7"})
    with Workspace(place) as workspace:
        done = workspace.resume("cut-off")
        assert done.outputs == {"told": "v7"}
        assert effects.take() == {"v7": 1}


def test_a_step_that_is_to_run_again_runs_without_a_question(place: Home, effects: Effects) -> None:
    cut_off(place, effects, upload(effects), {"upload"})
    with Workspace(place) as workspace:
        assert workspace.again.settle("cut-off", ["upload"], "rerun").steps == ("upload",)
        steps: Any = workspace.show_run("cut-off")["steps"]
        assert steps[-1]["status"] == "interrupted"
        assert workspace.resume("cut-off").success
    assert effects.take() == {"upload": 2}, "it and what says so"


def test_a_step_that_is_cut_off_once_more_is_in_doubt_once_more(place: Home, effects: Effects) -> None:
    cut_off(place, effects, upload(effects), {"upload"})

    def work() -> None:
        journal = Killer(place.journal)
        journal.fatal, journal.after = 3, True
        workspace = Workspace(place, journal=journal)
        workspace.again.settle("cut-off", ["upload"], "rerun")
        workspace.resume("cut-off")

    assert in_child(work) == -signal.SIGKILL
    with Workspace(place) as workspace:
        assert doubts(workspace) == ["upload"]


def test_items_are_settled_one_by_one(place: Home, effects: Effects) -> None:
    each = effects.batch("each", ["a", "b", "c", "d"], batch={"concurrency": 4})
    cut_off(place, effects, {"nodes": [each]}, set("abcd"))
    with Workspace(place) as workspace:
        assert doubts(workspace) == [f"each[{index}]" for index in range(4)]
        first = workspace.again.settle("cut-off", ["each[0]", "each[2]"], "done", outputs={"text": "known"})
        assert first.left == ("each[1]", "each[3]")
        assert doubts(workspace) == ["each[1]", "each[3]"]
        assert workspace.again.settle("cut-off", ["each[3]"], "rerun").left == ("each[1]",)
        assert workspace.again.settle("cut-off", ["each[1]"], "rerun").left == ()
        done = workspace.resume("cut-off")
        results: Any = done.outputs["results"]
        assert [result["text"] for result in results] == ["known", "b", "known", "d"]
    assert effects.take() == {"b": 1, "d": 1}


def test_a_batch_and_a_sub_workflow_mean_all_in_them_that_is_in_doubt(place: Home, effects: Effects) -> None:
    inner = {
        "inputs": {"name": {"type": "string"}},
        "nodes": [effects.node("push", "push-${name}"), effects.node("after", "after-${name}")],
        "outputs": {"pushed": {"source": "${push.text}"}},
    }
    call = {"workflow": inner, "inputs": {"name": "one"}}
    each = {"workflow": inner, "inputs": {"name": "${item}"}}
    document = {
        "nodes": [
            {"id": "start", "type": "echo", "params": {"x": 1}},
            {"id": "deploy", "type": "workflow", "params": call},
            {"id": "many", "type": "workflow", "params": each, "batch": {"items": ["p", "q"], "concurrency": 2}},
        ],
        "edges": [{"from": "start", "to": "deploy"}, {"from": "start", "to": "many"}],
        "outputs": {"one": {"source": "${deploy.pushed}"}, "many": {"source": "${many.results}"}},
    }
    cut_off(place, effects, document, {"push-one", "push-p", "push-q"})
    with Workspace(place) as workspace:
        assert set(doubts(workspace)) == {"deploy/push", "many[0]/push", "many[1]/push"}
        workspace.again.settle("cut-off", ["deploy/push"], "done", outputs={"text": "by hand"})
        assert workspace.again.settle("cut-off", ["many"], "rerun").steps == ("many[0]/push", "many[1]/push")
        done = workspace.resume("cut-off")
        assert done.outputs == {"one": "by hand", "many": [{"pushed": "push-p"}, {"pushed": "push-q"}]}
    assert effects.take() == {"push-p": 1, "push-q": 1, "after-one": 1, "after-p": 1, "after-q": 1}


@pytest.mark.parametrize(
    ("steps", "outcome", "more", "error", "message", "hint"),
    [
        (["uplod"], "done", {}, UsageError, "run `cut-off` has no step `uplod`", "did you mean `upload`?"),
        (["build"], "rerun", {}, UsageError, "`build` of run `cut-off` is not in doubt", "in doubt: `upload`"),
        (["upload", "tell"], "rerun", {}, UsageError, "run `cut-off` has no step `tell`", "in doubt: `upload`"),
        (
            ["upload"],
            "done",
            {"outputs": {"txt": "v7"}},
            InputError,
            "`upload` (try) has no output `txt`",
            "did you mean `text`?",
        ),
        (
            ["upload"],
            "done",
            {"outputs": {"text": 7}},
            InputError,
            "output `text` of `upload` is a string, not an integer",
            "",
        ),
        (
            ["upload"],
            "done",
            {},
            InputError,
            "`upload` needs its output `text`, which `tell` reads",
            "give what it was: `text=…`, or null with `--outputs`",
        ),
        (
            ["upload"],
            "done",
            {"outputs": {"text": "v7"}, "action": "approved"},
            InputError,
            "`upload` has no edge for the action `approved`",
            "it has edges for: `default`",
        ),
        (
            ["upload"],
            "rerun",
            {"outputs": {"text": "v7"}},
            UsageError,
            "a step that is to run again has no outputs yet",
            "leave them out",
        ),
    ],
)
def test_what_cannot_have_been_is_refused_and_nothing_is_recorded(
    place: Home,
    effects: Effects,
    steps: list[str],
    outcome: Any,
    more: dict[str, Any],
    error: type[PflowError],
    message: str,
    hint: str,
) -> None:
    cut_off(place, effects, upload(effects), {"upload"})
    with Workspace(place) as workspace:
        before = workspace._wiring.journal.info("cut-off").events
        with pytest.raises(error) as caught:
            workspace.again.settle("cut-off", steps, outcome, **more)
        assert (caught.value.message, caught.value.exit_code) == (message, 2)
        assert caught.value.suggestions[:1] == ((hint,) if hint else ())
        assert workspace._wiring.journal.info("cut-off").events == before


def test_runs_that_are_over_or_alive_have_nothing_to_settle(place: Home, effects: Effects) -> None:
    with Workspace(place) as workspace, Workspace(place) as other:
        done = workspace.run(upload(effects))
        with pytest.raises(RunError, match="is complete; no step of it is in doubt"):
            workspace.again.settle(done.run_id, ["upload"], "done")
        effects.bad("upload")
        failed = workspace.run(upload(effects))
        with pytest.raises(UsageError, match="no step of run `.*` is in doubt") as caught:
            workspace.again.settle(failed.run_id, ["upload"], "rerun")
        assert caught.value.suggestions == (f"pflow runs resume {failed.run_id}   to go on with it",)
        workspace.cancel(failed.run_id)
        with pytest.raises(RunError, match="is cancelled; no step of it is in doubt"):
            workspace.again.settle(failed.run_id, ["upload"], "rerun")
        effects.mend()
        effects.take()
        cut_off(place, effects, upload(effects), {"upload"})
        other._wiring.journal.claim("cut-off")
        with pytest.raises(ConflictError, match="is running: what its steps do is not in doubt"):
            workspace.again.settle("cut-off", ["upload"], "rerun")


def test_a_run_in_doubt_names_the_commands_that_settle_it(place: Home, effects: Effects) -> None:
    each = effects.batch("each", ["a", "b"], batch={"concurrency": 2})
    cut_off(place, effects, {"nodes": [each]}, {"a", "b"})
    with Workspace(place) as workspace, pytest.raises(InDoubtError) as caught:
        workspace.resume("cut-off")
    assert caught.value.suggestions == (
        "pflow runs settle cut-off 'each[0]' --done   if it took effect",
        "pflow runs settle cut-off 'each[1]' --done   if it took effect",
        "pflow runs settle cut-off 'each[0]' --rerun   to run only that one again",
        "pflow runs resume cut-off --rerun-in-doubt   to run them again",
    )


def test_what_is_said_of_a_run_is_not_work_on_it(
    place: Home, effects: Effects, monkeypatch: pytest.MonkeyPatch
) -> None:
    import time

    cut_off(place, effects, upload(effects), {"upload"})
    real = time.time
    monkeypatch.setattr(time, "time", lambda: real() + 86_400)
    with Workspace(place) as workspace:
        workspace.again.settle("cut-off", ["upload"], "rerun")
        assert workspace.resume("cut-off").success
        took: Any = workspace.show_run("cut-off")["duration_ms"]
        assert took < 3_600_000
