"""A run forked from another keeps what came before a step, goes on from there, and needs the other one no more."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Any

import pytest

from pflow.core.errors import InDoubtError, NotFoundError, UsageError
from pflow.core.file.home import Home
from pflow.engine.ports import Record
from pflow.workspace import Workspace
from tests.workspace.test_durability import Killer, in_child
from tests.workspace.test_failed_items import effects, place, workspace
from tests.workspace.test_retention import a_day_later, ended_long_ago
from tests.workspace.try_node import Effects, go_on

__all__ = ["effects", "place", "workspace"]


def chain(effects: Effects, **texts: str) -> dict[str, Any]:
    """Three steps, each given what the one before wrote."""
    return {
        "name": "chain",
        "inputs": {"who": {"type": "string", "default": "ada"}},
        "nodes": [
            effects.node("one", texts.get("one", "one-${who}")),
            effects.node("two", texts.get("two", "two"), params={"more": "${one.text}"}),
            effects.node("three", texts.get("three", "three"), params={"more": "${two.text}"}),
        ],
        "outputs": {"all": {"source": ["${one.text}", "${two.text}", "${three.text}"]}},
    }


def records(workspace: Workspace, run_id: str) -> list[Record]:
    return list(workspace._wiring.journal.read(run_id))


def shown_steps(workspace: Workspace, run_id: str) -> dict[str, Any]:
    steps: Any = workspace.show_run(run_id)["steps"]
    return {step["step"]: step for step in steps}


def test_a_fork_runs_from_its_step_on_and_leaves_the_other_run_alone(workspace: Workspace, effects: Effects) -> None:
    run = workspace.run(chain(effects))
    before, info = records(workspace, run.run_id), workspace.runs()[0]
    effects.take()
    fork = workspace.again.fork(run.run_id, "two")
    assert fork.status == "completed" and fork.run_id != run.run_id
    assert fork.outputs == run.outputs
    assert effects.take() == {"two": 1, "three": 1}
    assert fork.reused == ("one",)
    assert fork.reran == (("two", "from `two` on"), ("three", "from `two` on"))
    assert records(workspace, run.run_id) == before
    assert workspace.runs()[1] == info
    shown = workspace.show_run(fork.run_id)
    assert (shown["forked_from"], shown["forked_at"], shown["status"]) == (run.run_id, "two", "completed")
    assert [*shown_steps(workspace, fork.run_id)] == ["one", "two", "three"]
    assert shown_steps(workspace, fork.run_id)["one"]["source"] == "reuse"


def test_a_run_that_was_cancelled_can_be_forked(workspace: Workspace, effects: Effects) -> None:
    effects.bad("two")
    run = workspace.run(chain(effects))
    workspace.cancel(run.run_id)
    effects.mend()
    effects.take()
    assert workspace.again.fork(run.run_id, "two").status == "completed"
    assert effects.take() == {"two": 1, "three": 1}
    assert workspace.show_run(run.run_id)["status"] == "cancelled"


def test_a_fork_needs_the_other_run_no_more(workspace: Workspace, effects: Effects) -> None:
    large = "x" * 5000
    document = {
        "nodes": [
            effects.node("one", params={"more": 1}),
            {"id": "large", "type": "echo", "params": {"text": large}},
            effects.batch("each", ["a", "b"], params={"more": "${large.text}"}),
            effects.node("two", params={"more": ["${large.text}", "${each.results}", "${each.errors}"]}),
            effects.node("three"),
        ],
        "outputs": {"large": {"source": "${large.text}"}, "each": {"source": "${each.results}"}},
    }
    effects.bad("b")
    run = workspace.run(document)
    effects.bad("three")
    fork = workspace.again.fork(run.run_id, "three")
    assert fork.failed_node == "three"
    workspace._wiring.journal.delete([run.run_id])
    effects.mend()
    effects.take()
    resumed = workspace.resume(fork.run_id)
    assert resumed.outputs == {"large": large, "each": [{"text": "a"}, None]}
    assert effects.take() == {"three": 1}
    again = workspace.resume(fork.run_id, failed_items=[])
    assert again.outputs["each"] == [{"text": "a"}, {"text": "b"}]
    assert effects.take() == {"b": 1, "two": 1}


def test_an_edited_document_and_other_inputs_say_what_is_not_kept(workspace: Workspace, effects: Effects) -> None:
    run = workspace.run(chain(effects))
    effects.take()
    fork = workspace.again.fork(run.run_id, "three", edited=chain(effects, two="second"))
    assert effects.take() == {"second": 1, "three": 1}
    assert fork.reran == (("two", "its definition changed"), ("three", "from `three` on"))
    assert fork.outputs == {"all": ["one-ada", "second", "three"]}
    fork = workspace.again.fork(run.run_id, "three", params={"who": "grace"})
    assert effects.take() == {"one-grace": 1, "two": 1, "three": 1}
    assert fork.reran[:2] == (("one", "its inputs changed"), ("two", "its inputs changed"))
    added = chain(effects)
    added["nodes"].insert(1, effects.node("new"))
    fork = workspace.again.fork(run.run_id, "new", edited=added)
    assert fork.reused == ("one",) and effects.take() == {"new": 1, "two": 1, "three": 1}
    fork = workspace.again.fork(run.run_id, "two", edited=added)
    assert fork.reran[0] == ("new", "it is new") and effects.take() == {"new": 1, "two": 1, "three": 1}


LOOP = """
nodes:
  - {id: begin, type: try, params: {file: FILE, text: begin}}
  - {id: body, type: try, params: {file: FILE, text: "body-${visit}"}}
  - {id: look, type: switch, params: {cases: {again: "visit < 3"}}, on: {again: body, else: end}}
"""


def test_a_fork_at_a_later_visit_keeps_the_visits_before(workspace: Workspace, effects: Effects) -> None:
    run = workspace.run(LOOP.replace("FILE", str(effects.file)))
    assert run.status == "completed"
    assert effects.take() == {"begin": 1, "body-1": 1, "body-2": 1, "body-3": 1}
    fork = workspace.again.fork(run.run_id, "body#2")
    assert fork.status == "completed" and effects.take() == {"body-2": 1, "body-3": 1}
    assert workspace.again.fork(run.run_id, "body").reused == ("begin",)
    assert effects.take() == {"body-1": 1, "body-2": 1, "body-3": 1}


def branches(effects: Effects) -> dict[str, Any]:
    """Two branches between a step and a join."""
    nodes = [effects.node(name) for name in ("start", "left", "right", "join")]
    edges = [("start", "left"), ("start", "right"), ("left", "join"), ("right", "join")]
    return {"nodes": nodes, "edges": [{"from": source, "to": target} for source, target in edges]}


def test_a_branch_beside_the_step_is_kept(workspace: Workspace, effects: Effects) -> None:
    run = workspace.run(branches(effects))
    effects.take()
    fork = workspace.again.fork(run.run_id, "left")
    assert effects.take() == {"left": 1, "join": 1}
    assert set(fork.reused) == {"start", "right"}


def test_a_branch_that_was_cut_off_beside_the_step_is_not_repeated_without_asking(
    place: Home, effects: Effects
) -> None:
    def work() -> None:
        journal = Killer(place.journal)
        journal.fatal, journal.after = 2, True  # both branches have begun
        Workspace(place, journal=journal).run(branches(effects), run_id="cut-off")

    assert in_child(work) == -signal.SIGKILL
    with Workspace(place) as workspace:
        with pytest.raises(InDoubtError) as caught:
            workspace.again.fork("cut-off", "left")
        assert caught.value.details["steps"] == ["right"]
        assert workspace.again.fork("cut-off", "left", rerun_in_doubt=True).status == "completed"
        assert workspace.again.fork("cut-off", "start").status == "completed", "it comes after the step"


@pytest.mark.parametrize(
    ("step", "error", "message", "hint"),
    [
        ("tow", NotFoundError, "run `{}` did not come to a step `tow`", "did you mean `two`?"),
        ("two#2", NotFoundError, "run `{}` did not come to a step `two#2`", "did you mean `two`?"),
        ("three", NotFoundError, "run `{}` did not come to a step `three`", "did you mean `three`?"),
        ("sub/inner", UsageError, "`sub/inner` is inside of `sub`", "pflow runs fork {} --from sub"),
        ("clean", UsageError, "`clean` is in `finally`", "fork the run at a step of its main part"),
    ],
)
def test_a_step_that_cannot_be_forked_at_is_refused(
    workspace: Workspace, effects: Effects, step: str, error: type[Exception], message: str, hint: str
) -> None:
    inner = {"nodes": [effects.node("inner")]}
    document = {
        "nodes": [
            {"id": "sub", "type": "workflow", "params": {"workflow": inner}},
            effects.node("two"),
            effects.node("three"),
            effects.node("clean"),
        ],
        "finally": "clean",
    }
    effects.bad("two")
    run = workspace.run(document)
    with pytest.raises(error) as caught:
        workspace.again.fork(run.run_id, step)
    problem: Any = caught.value
    assert problem.exit_code == 2
    assert problem.message.startswith(message.format(run.run_id))
    if step != "three":
        assert problem.suggestions[0] == hint.format(run.run_id)
    assert "it came to: sub, two, clean" in problem.suggestions or error is UsageError
    assert len(workspace.runs()) == 1


def test_a_failure_that_an_error_edge_took_up_is_kept_in_a_fork(workspace: Workspace, effects: Effects) -> None:
    document = {"nodes": [effects.node("try", on={"error": "next"}), effects.node("last")]}
    effects.bad("try")
    run = workspace.run(document)
    effects.mend()
    effects.take()
    fork = workspace.again.fork(run.run_id, "last")
    assert (fork.status, fork.reused) == ("completed", ("try",))
    assert effects.take() == {"last": 1}
    edited = {"nodes": [effects.node("try"), effects.node("last")]}
    assert workspace.again.fork(run.run_id, "last", edited=edited).reused == (), "there is no such edge any more"
    assert effects.take() == {"try": 1, "last": 1}


def test_a_secret_that_is_not_known_any_more_makes_its_steps_run_again(place: Home, effects: Effects) -> None:
    document = chain(effects, one="${key}")
    document["inputs"] = {"key": {"type": "string", "secret": True}}
    with Workspace(place) as workspace:
        run = workspace.run(document, {"key": "the-first-value"})
    effects.take()
    with Workspace(place) as workspace:
        fork = workspace.again.fork(run.run_id, "three", params={"key": "the-first-value"})
        assert fork.reused == ("one", "two") and effects.take() == {"three": 1}
    with Workspace(place) as workspace:
        fork = workspace.again.fork(run.run_id, "three", params={"key": "a-second-value"})
        assert fork.reran[0] == ("one", "a secret in what it wrote is not known now")
        assert effects.take() == {"a-second-value": 1, "two": 1, "three": 1}


def test_what_could_not_be_recorded_is_called_by_its_name_in_a_fork(home: Path) -> None:
    def make() -> object:
        """Give something that JSON does not have."""
        return {1, 2}

    document = {"nodes": [{"id": "make"}, {"id": "read", "type": "echo", "params": {"x": "${make.result}"}}]}
    with Workspace(Home(home), nodes=[make]) as workspace:
        run = workspace.run(document)
        fork = workspace.again.fork(run.run_id, "read")
        again = workspace.again.fork(fork.run_id, "read")
    for error in (fork.error, again.error):
        assert error is not None
        assert error["message"] == "`${make.result}` was a `builtins.set` that existed only in the process that made it"


def test_files_of_a_run_stay_as_long_as_a_fork_of_it(home: Path, effects: Effects) -> None:
    old, older = "20200101-000000-0123456789abcdef", "20200102-000000-0123456789abcdef"
    with Workspace(Home(home)) as workspace:
        for run_id in (old, older):
            workspace.run({"nodes": [{"id": "a", "type": "echo", "params": {"x": 1}}]}, run_id=run_id)
            (home / "runs" / run_id).mkdir(parents=True)
            (home / "runs" / run_id / "picture.png").touch()
        fork = workspace.again.fork(old, "a")
        second = workspace.again.fork(fork.run_id, "a")
        ended_long_ago(home, old, older)
        a_day_later(home)
        newest = workspace.run({"nodes": [{"id": "a", "type": "echo", "params": {"x": 1}}]})
        assert [run.run_id for run in workspace.runs()] == [newest.run_id, second.run_id, fork.run_id]
        assert [folder.name for folder in (home / "runs").iterdir()] == [old]
        assert (home / "runs" / old / "picture.png").exists()


def test_a_question_is_asked_anew_from_its_step_on_and_kept_before(workspace: Workspace, effects: Effects) -> None:
    ask = {"id": "ask", "type": "ask", "params": {"prompt": "Go on?", "choices": ["go", "halt"]}}
    document = {"nodes": [effects.node("one"), ask, effects.node("two", "${ask.choice}")]}
    run_id = workspace.run(document).run_id
    fork = workspace.again.fork(run_id, "ask")
    assert fork.status == "waiting" and effects.take() == {"one": 1}
    workspace.answer(fork.run_id, choice="halt")
    assert workspace.resume(fork.run_id).status == "completed" and effects.take() == {"halt": 1}
    assert [info.status for info in workspace.runs()] == ["completed", "waiting"]
    workspace.answer(run_id, choice="go")
    workspace.resume(run_id)
    effects.take()
    assert workspace.again.fork(run_id, "two").reused == ("one", "ask")
    assert effects.take() == {"go": 1}


# ---- killed in the middle


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
def test_killed_at_any_event_a_fork_goes_on_by_itself(place: Home, effects: Effects, after: bool) -> None:
    with Workspace(place) as workspace:
        run = workspace.run(chain(effects))
    effects.take()
    for fatal in range(1, 50):

        def work(fatal: int = fatal) -> None:
            journal = Killer(place.journal)
            journal.fatal, journal.after = fatal, after
            Workspace(place, journal=journal).again.fork(run.run_id, "two")

        status = in_child(work)
        with Workspace(place) as workspace:
            fork_id = workspace.runs()[0].run_id
            assert fork_id != run.run_id
            if status == 0:
                break
            doubtful: set[str] = set()
            if workspace.show_run(fork_id)["status"] != "completed":
                outcome, doubtful = go_on(workspace, fork_id)
                assert outcome.outputs == run.outputs
            counts = effects.take()
            assert set(counts) == {"two", "three"}, f"killed at {fatal}"
            assert all(count == 1 or step in doubtful for step, count in counts.items()), f"killed at {fatal}"
            workspace._wiring.journal.delete([fork_id])
    assert fatal > 2
