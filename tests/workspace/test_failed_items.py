"""Items that a batch went on without run again, and what depends on them; nothing else does."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pflow.core.errors import InputError, UsageError
from pflow.core.file.home import Home
from pflow.workspace import Workspace
from tests.workspace.test_durability import Killer, in_child
from tests.workspace.try_node import Effects, add_node, go_on


@pytest.fixture
def place(home: Path) -> Home:
    place = Home(home)
    add_node(place)
    return place


@pytest.fixture
def workspace(place: Home) -> Iterator[Workspace]:
    with Workspace(place) as opened:
        yield opened


@pytest.fixture
def effects(tmp_path: Path) -> Effects:
    return Effects(tmp_path / "effects")


OUTPUTS = {name: {"source": f"${{each.{name}}}"} for name in ("results", "errors", "count", "done")}


def rows(effects: Effects, *after: dict[str, Any]) -> dict[str, Any]:
    """A step, a batch of five items, a step that reads its results, and one that reads only how many there are."""
    return {
        "name": "rows",
        "nodes": [
            effects.node("first"),
            effects.batch("each", ["a", "b", "c", "d", "e"]),
            effects.node("all", params={"more": "${each.results}"}),
            effects.node("number", params={"more": "${each.count}"}),
            *after,
        ],
        "outputs": OUTPUTS,
    }


def items(workspace: Workspace, run: str, step: str = "each") -> tuple[object, object]:
    """How many items of a batch are done and failed, as `runs show` has it."""
    steps: Any = workspace.show_run(run)["steps"]
    [entry] = [entry for entry in steps if entry["step"] == step]
    return entry.get("items_completed"), entry.get("items_failed")


def test_only_failed_items_of_a_completed_run_and_what_reads_them_run_again(
    workspace: Workspace, effects: Effects
) -> None:
    effects.bad("b", "d")
    run = workspace.run(rows(effects))
    assert (run.status, run.failed_items) == ("completed", (("each", 2, 5),))
    assert items(workspace, run.run_id) == (3, 2)
    effects.take()
    effects.mend()
    again = workspace.resume(run.run_id, failed_items=[])
    assert again.status == "completed" and again.run_id == run.run_id
    assert effects.take() == {"b": 1, "d": 1, "all": 1}
    assert again.outputs["results"] == [{"text": text} for text in "abcde"]
    assert (again.outputs["errors"], again.outputs["count"]) == ([], 5)
    assert again.outputs["done"] == [
        {"index": index, "item": text, "result": {"text": text}} for index, text in enumerate("abcde")
    ]
    assert again.failed_items == ()
    assert again.reused == ("first", "number")
    assert again.reran == (("each", "2 failed items"), ("all", "its inputs changed"))
    assert items(workspace, run.run_id) == (5, None)
    assert workspace.show_run(run.run_id)["outputs"] == again.outputs


def test_chosen_items_run_again_and_the_others_stay_failed(workspace: Workspace, effects: Effects) -> None:
    effects.bad("b", "d", "e")
    run = workspace.run(rows(effects))
    effects.take()
    effects.mend("d", "e")
    again = workspace.resume(run.run_id, failed_items=["3", "each[4]"])
    assert effects.take() == {"d": 1, "e": 1, "all": 1}
    results: Any = again.outputs["results"]
    errors: Any = again.outputs["errors"]
    assert [result and result["text"] for result in results] == ["a", None, "c", "d", "e"]
    assert [(error["index"], error["item"], error["error"]["message"]) for error in errors] == [
        (1, "b", "RuntimeError: b is bad")
    ]
    assert again.failed_items == (("each", 1, 5),)
    assert items(workspace, run.run_id) == (4, 1)
    effects.mend("b")
    assert workspace.resume(run.run_id, failed_items=[]).outputs["errors"] == []
    assert effects.take() == {"b": 1, "all": 1}


def test_an_item_that_fails_once_more_can_be_run_once_more(workspace: Workspace, effects: Effects) -> None:
    effects.bad("c")
    run = workspace.run(rows(effects))
    again = workspace.resume(run.run_id, failed_items=[])
    assert (again.status, again.failed_items) == ("completed", (("each", 1, 5),))
    assert again.reran == (("each", "1 failed item"),), "its results are what they were"
    effects.mend()
    assert workspace.resume(run.run_id, failed_items=[]).failed_items == ()
    assert effects.counts() == {"first": 1, **dict.fromkeys("abde", 1), "c": 3, "all": 2, "number": 1}


def test_items_of_a_run_that_failed_later_run_again_with_what_failed(workspace: Workspace, effects: Effects) -> None:
    effects.bad("b", "last")
    run = workspace.run(rows(effects, effects.node("last")))
    assert (run.status, run.failed_node) == ("failed", "last")
    effects.take()
    effects.mend()
    again = workspace.resume(run.run_id, failed_items=[])
    assert again.status == "completed"
    assert effects.take() == {"b": 1, "all": 1, "last": 1}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["0"], "item 0 of `each` did not fail"),
        (["each[7]"], "item 7 of `each` did not fail"),
        (["other[1]"], "`other[1]` is not an item that failed"),
        (["first"], "`first` is not an item that failed"),
    ],
)
def test_a_word_for_no_failed_item_is_refused(
    workspace: Workspace, effects: Effects, words: list[str], message: str
) -> None:
    effects.bad("b")
    run = workspace.run(rows(effects))
    with pytest.raises(UsageError) as caught:
        workspace.resume(run.run_id, failed_items=words)
    assert caught.value.message == message
    assert caught.value.suggestions
    assert workspace.show_run(run.run_id)["status"] == "completed"


def test_a_number_needs_its_batch_where_several_lost_items(workspace: Workspace, effects: Effects) -> None:
    effects.bad("b")
    document = {"nodes": [effects.batch("one", ["a", "b"]), effects.batch("two", ["b", "c"])]}
    run = workspace.run(document)
    with pytest.raises(UsageError, match="item 1 may be one of `one`, `two`"):
        workspace.resume(run.run_id, failed_items=["1"])
    effects.take()
    effects.mend()
    again = workspace.resume(run.run_id, failed_items=["one[1]"])
    assert effects.take() == {"b": 1}
    assert again.failed_items == (("two", 1, 2),)


def test_a_run_without_failed_items_says_so(workspace: Workspace, effects: Effects) -> None:
    run = workspace.run(rows(effects))
    with pytest.raises(UsageError) as caught:
        workspace.resume(run.run_id, failed_items=[])
    assert caught.value.exit_code == 2
    assert caught.value.message.startswith(f"no batch of run `{run.run_id}` went on without an item")
    effects.bad("last")
    failed = workspace.run(rows(effects, effects.node("last")))
    with pytest.raises(UsageError) as caught:
        workspace.resume(failed.run_id, failed_items=[])
    assert caught.value.suggestions == (f"pflow runs resume {failed.run_id}   to run what failed or is missing",)


def test_items_inside_sub_workflows_run_again(workspace: Workspace, effects: Effects) -> None:
    inner = {
        "inputs": {"name": {"type": "string"}},
        "nodes": [
            effects.node("before", "before-${name}"),
            effects.batch("each", ["x", "y"], "${name}-${item}"),
            effects.node("after", "after-${name}", params={"more": "${each.results}"}),
        ],
        "outputs": {"all": {"source": "${each.results}"}},
    }
    document = {
        "nodes": [
            {"id": "one", "type": "workflow", "params": {"workflow": inner, "inputs": {"name": "one"}}},
            {
                "id": "many",
                "type": "workflow",
                "params": {"workflow": inner, "inputs": {"name": "${item}"}},
                "batch": {"items": ["p", "q"]},
            },
            effects.node("last", params={"more": "${many.results}"}),
        ]
    }
    effects.bad("one-x", "q-y")
    run = workspace.run(document)
    assert {step for step, _, _ in run.failed_items} == {"one/each", "many[1]/each"}
    effects.take()
    effects.mend("q-y")
    again = workspace.resume(run.run_id, failed_items=["many[1]/each[1]"])
    assert again.status == "completed"
    assert effects.take() == {"q-y": 1, "after-q": 1, "last": 1}
    assert again.failed_items == (("one/each", 1, 2),)
    effects.mend()
    again = workspace.resume(run.run_id, failed_items=[])
    assert effects.take() == {"one-x": 1, "after-one": 1}
    assert again.reran[0] == ("one", "failed items inside it")


def test_a_failure_that_an_error_edge_took_up_is_kept(workspace: Workspace, effects: Effects) -> None:
    document = {
        "nodes": [
            effects.node("try", on={"error": "instead"}),
            effects.node("never", on={"default": "each"}),
            effects.node("instead", params={"more": "${try.error.message}"}, on={"default": "each"}),
            effects.batch("each", ["a", "b"]),
        ]
    }
    effects.bad("try", "b")
    run = workspace.run(document)
    assert run.status == "completed" and effects.take() == {"try": 1, "instead": 1, "a": 1, "b": 1}
    effects.mend()
    again = workspace.resume(run.run_id, failed_items=[])
    assert again.status == "completed" and effects.take() == {"b": 1}
    assert again.reused == ("try", "instead")


def test_items_that_were_declined_are_asked_about_again_only_if_they_are_named(
    workspace: Workspace, effects: Effects
) -> None:
    document = {"nodes": [effects.batch("send", ["a", "b", "c"], approve=True)]}
    effects.bad("c")
    run_id = workspace.run(document).run_id
    workspace.answer(run_id, "send[1]", declined=True)
    workspace.answer(run_id, "send", "yes", every=True)
    run = workspace.resume(run_id)
    assert run.failed_items == (("send", 2, 3),)
    assert run.losses == ["2 of 3 items of `send` failed, 1 of them declined"]
    effects.take()
    effects.mend()
    run = workspace.resume(run_id, failed_items=[])
    assert run.losses == ["1 of 3 items of `send` was declined"]
    assert effects.take() == {"c": 1}, "it was approved before"
    with pytest.raises(UsageError) as caught:
        workspace.resume(run_id, failed_items=[])
    [advice] = caught.value.suggestions
    assert advice == f"pflow runs resume {run_id} --item 'send[1]'   to ask once more about one that was declined"
    assert workspace.resume(run_id, failed_items=["1"]).status == "waiting"
    workspace.answer(run_id, "send[1]", "yes")
    done = workspace.resume(run_id)
    assert done.outputs["results"] == [{"text": "a"}, {"text": "b"}, {"text": "c"}]
    assert effects.take() == {"b": 1}


def test_what_always_runs_at_the_end_runs_once_more(workspace: Workspace, effects: Effects) -> None:
    document = {**rows(effects, effects.node("clean")), "finally": "clean"}
    effects.bad("a")
    run = workspace.run(document)
    effects.take()
    effects.mend()
    assert workspace.resume(run.run_id, failed_items=[]).status == "completed"
    assert effects.take() == {"a": 1, "all": 1, "clean": 1}


def test_failed_items_and_an_edited_document_go_together(workspace: Workspace, effects: Effects) -> None:
    effects.bad("b")
    run = workspace.run(rows(effects))
    effects.take()
    effects.mend()
    edited = rows(effects)
    edited["nodes"][1]["timeout"] = 20  # no part of what is done
    edited["nodes"][3]["params"]["text"] = "how-many"
    again = workspace.resume(run.run_id, edited=edited, failed_items=[])
    assert effects.take() == {"b": 1, "all": 1, "how-many": 1}
    assert again.reran == (
        ("each", "1 failed item"),
        ("all", "its inputs changed"),
        ("number", "its definition changed"),
    )


def with_secret(document: dict[str, Any], *nodes: int) -> dict[str, Any]:
    """The document with some of its steps given a secret."""
    for index in nodes:
        document["nodes"][index]["params"]["more"] = ["${key}", document["nodes"][index]["params"].get("more")]
    return {**document, "inputs": {"key": {"type": "string", "secret": True}}}


def test_a_kept_step_with_a_secret_that_is_not_known_now_stops_it_before_anything_runs(
    place: Home, effects: Effects
) -> None:
    document = with_secret(rows(effects))
    document["nodes"][0]["params"]["text"] = "${key}"
    effects.bad("b")
    with Workspace(place) as workspace:
        run = workspace.run(document, {"key": "the-first-value"})
    effects.take()
    effects.mend()
    with (
        Workspace(place) as workspace,
        pytest.raises(InputError, match=r"`first\.text` holds a value of the secret `key`"),
    ):
        workspace.resume(run.run_id, params={"key": "another-value"}, failed_items=[])
    assert effects.take() == {}
    with Workspace(place) as workspace:
        again = workspace.resume(run.run_id, params={"key": "the-first-value"}, failed_items=[])
    assert again.status == "completed" and effects.take() == {"b": 1, "all": 1}


def test_with_a_new_token_only_failed_items_run_again(place: Home, effects: Effects) -> None:
    document = with_secret(rows(effects), 0, 1, 2, 3)
    effects.bad("b", "d")
    with Workspace(place) as workspace:
        run = workspace.run(document, {"key": "a-token-that-expires"})
    effects.take()
    effects.mend("b")
    with Workspace(place) as workspace:
        again = workspace.resume(run.run_id, params={"key": "a-new-token"}, failed_items=[])
        assert again.status == "completed" and again.reused == ("first", "number")
        assert effects.take() == {"b": 1, "d": 1, "all": 1}
        effects.mend()
    with Workspace(place) as workspace:
        again = workspace.resume(run.run_id, params={"key": "the-newest-token"}, failed_items=[])
        assert again.outputs["errors"] == [] and effects.take() == {"d": 1, "all": 1}


def test_the_time_that_a_run_took_is_the_time_that_was_worked_on_it(
    workspace: Workspace, effects: Effects, monkeypatch: pytest.MonkeyPatch
) -> None:
    import time

    effects.bad("b")
    run = workspace.run(rows(effects))
    effects.mend()
    real = time.time
    monkeypatch.setattr(time, "time", lambda: real() + 86_400)
    workspace.resume(run.run_id, failed_items=[])
    shown: Any = workspace.show_run(run.run_id)
    assert shown["ended_at"] - shown["started_at"] > 86_000
    assert shown["duration_ms"] < 3_600_000


# ---- killed in the middle


def killed_while_running_again(place: Home, effects: Effects, run_id: str, fatal: int, *, after: bool) -> int:
    def work() -> None:
        journal = Killer(place.journal)
        journal.fatal, journal.after = fatal, after
        Workspace(place, journal=journal).resume(run_id, failed_items=["1", "3"])

    return in_child(work)


@pytest.mark.parametrize("after", [pytest.param(False, marks=pytest.mark.slow), True], ids=["before", "after"])
def test_killed_at_any_event_it_goes_on_with_the_same_items(
    place: Home, effects: Effects, tmp_path: Path, after: bool
) -> None:
    document = {**rows(effects, effects.node("clean")), "finally": "clean"}
    names = {"each[1]": "b", "each[3]": "d", "all": "all", "clean#2": "clean"}
    for fatal in range(1, 100):
        run_id = f"killed-{fatal}"
        effects.bad("b", "d", "e")
        with Workspace(place) as workspace:
            workspace.run(document, run_id=run_id)
        effects.mend("b", "d")
        effects.take()
        status = killed_while_running_again(place, effects, run_id, fatal, after=after)
        with Workspace(place) as workspace:
            if status == 0:
                break
            assert status == -signal.SIGKILL
            was_over = workspace.show_run(run_id)["status"] == "completed"
            is_same = was_over and effects.counts() == {}  # nothing is recorded yet
            doubtful: set[str] = set()
            if is_same:
                outcome = workspace.resume(run_id, failed_items=["1", "3"])
            elif was_over:
                outcome = workspace.resume(run_id, edited=document)
            else:
                outcome, doubtful = go_on(workspace, run_id)
            assert outcome.status == "completed", outcome.error
            results: Any = outcome.outputs["results"]
            assert [result and result["text"] for result in results] == ["a", "b", "c", "d", None]
            assert outcome.failed_items == (("each", 1, 5),)
            assert items(workspace, run_id) == (4, 1)
        counts = effects.take()
        if was_over and not is_same:
            counts["clean"] -= 1  # an edit goes through the document once more
        assert set(counts) == {"b", "d", "all", "clean"}, f"killed at {fatal}: {counts}"
        allowed = {names[step] for step in doubtful}
        for text, count in counts.items():
            assert count == 1 or (count == 2 and text in allowed), f"killed at {fatal}: {text} {count} times"
    else:
        pytest.fail("it never got to its end")
    assert fatal > 8
