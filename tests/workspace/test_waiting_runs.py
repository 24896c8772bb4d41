"""Runs that ask and wait: what goes on meanwhile, what a wait costs, and what becomes of it however a run ends."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pflow import Workspace
from pflow.core.errors import AnsweredError, InputError, NotFoundError, UsageError
from pflow.core.event import RunStopped, StepAnswered, StepAsked, StepStarted
from pflow.core.file.home import Home
from pflow.engine.asking.waits import Patience
from pflow.engine.ports import RunQuery
from pflow.testing import RecordingObserver
from tests.workspace.test_durability import in_child

ASK: dict[str, Any] = {"id": "ask", "type": "ask", "params": {"prompt": "Go on?", "choices": ["go", "halt"]}}
AFTER: dict[str, Any] = {"id": "after", "type": "echo", "params": {"chosen": "${ask.choice}"}}


def say(name: str, **more: Any) -> dict[str, Any]:
    return {"id": name, "type": "echo", "params": {"said": name}, **more}


class Log:
    """Node types that note what they do, and one that waits to be let go."""

    def __init__(self) -> None:
        self.done: list[str] = []
        self.reached = threading.Event()
        self.release = threading.Event()

    def nodes(self) -> list[Callable[..., object]]:
        def note(what: str) -> dict[str, str]:
            """Note something."""
            self.done.append(what)
            return {"what": what}

        def hold(what: str) -> dict[str, str]:
            """Wait until the test goes on."""
            self.reached.set()
            self.release.wait(60)
            self.done.append(what)
            return {"what": what}

        def broken(what: str) -> dict[str, str]:
            """Fail."""
            self.done.append(what)
            raise ValueError(what)

        return [note, hold, broken]


@pytest.fixture
def log() -> Log:
    return Log()


@pytest.fixture
def make(home: Path, log: Log) -> Callable[..., Workspace]:
    return lambda **parts: Workspace(Home(home), nodes=log.nodes(), **parts)


def note(name: str, **more: Any) -> dict[str, Any]:
    return {"id": name, "type": "note", "params": {"what": name}, **more}


def test_a_run_that_only_waits_has_no_owner_and_goes_on_with_the_answer(make: Callable[..., Workspace]) -> None:
    with make() as workspace:
        outcome = workspace.run({"nodes": [ASK, AFTER]})
        assert (outcome.status, outcome.exit_code) == ("waiting", 4)
        [info] = workspace.runs()
        assert (info.status, info.alive) == ("waiting", False)
        workspace.answer(outcome.run_id, choice="go", by="ada")
        assert workspace.resume(outcome.run_id).outputs == {"chosen": "go"}


def test_what_was_asked_is_not_asked_again_by_those_who_take_the_run_up(make: Callable[..., Workspace]) -> None:
    observer = RecordingObserver()
    with make(observer=observer) as workspace:
        run_id = workspace.run({"nodes": [ASK, AFTER]}).run_id
        first = workspace.waiting(run_id)
        for _ in range(3):
            assert workspace.resume(run_id).status == "waiting"
        assert workspace.waiting(run_id) == first
        kinds = [type(event) for _, event in observer.events]
        assert kinds.count(StepAsked) == kinds.count(StepStarted) == 1


def test_steps_beside_a_question_go_on_and_the_answer_is_taken_up_by_the_process_that_runs(
    make: Callable[..., Workspace], log: Log
) -> None:
    document = {
        "nodes": [say("start"), ASK, note("after-ask"), {"id": "slow", "type": "hold", "params": {"what": "slow"}}],
        "edges": [
            {"from": "start", "to": "ask"},
            {"from": "start", "to": "slow"},
            {"from": "ask", "to": "after-ask", "action": "go"},
            {"from": "ask", "to": "after-ask", "action": "halt"},
        ],
    }
    outcomes: list[Any] = []

    def drive() -> None:
        with make() as workspace:
            outcomes.append(workspace.run(document, run_id="r"))

    thread = threading.Thread(target=drive)
    thread.start()
    assert log.reached.wait(60)
    with make() as other:
        while not other.waiting("r"):  # the other step may be there first
            threading.Event().wait(0.01)
        answered = other.answer("r", choice="go", by="bob")
        assert answered.alive
        while "after-ask" not in log.done:  # while the other step still holds
            threading.Event().wait(0.01)
    log.release.set()
    thread.join(60)
    assert outcomes[0].status == "completed"
    assert log.done == ["after-ask", "slow"]


def test_questions_in_sub_workflows_and_items_hold_no_place(make: Callable[..., Workspace], log: Log) -> None:
    inner = {"inputs": {"n": {"type": "integer"}}, "nodes": [ASK, note("did")]}
    document = {
        "nodes": [
            {
                "id": "each",
                "type": "workflow",
                "params": {"workflow": inner, "inputs": {"n": "${item}"}},
                "batch": {"items": [1, 2, 3], "concurrency": 1},
            }
        ]
    }
    with make() as workspace:
        run_id = workspace.run(document).run_id
        assert [one.place for one in workspace.waiting(run_id)] == ["each[0]/ask", "each[1]/ask", "each[2]/ask"]
        workspace.answer(run_id, "each[1]/ask", "go")
        assert workspace.resume(run_id).status == "waiting"
        assert log.done == ["did"]
        for place in ("each[0]/ask", "each[2]/ask"):
            workspace.answer(run_id, place, "go")
        assert workspace.resume(run_id).success
        assert log.done == ["did"] * 3


def test_a_thousand_items_ask_at_once_and_are_answered_together(make: Callable[..., Workspace]) -> None:
    document = {
        "nodes": [
            {
                "id": "each",
                "type": "ask",
                "params": {"prompt": "Item ${item}?", "choices": ["yes", "no"]},
                "batch": {"items": list(range(1000)), "concurrency": 4},
            },
            {"id": "end", "type": "let", "params": {"n": "each.results.filter(r, r.choice == 'yes').size()"}},
        ]
    }
    with make() as workspace:
        outcome = workspace.run(document)
        assert len(workspace.waiting(outcome.run_id)) == 1000
        data: Any = outcome.envelope()["data"]
        assert (len(data["waiting"]), data["more_waiting"]) == (20, 980)
        workspace.answer(outcome.run_id, "each[17]", "no")
        assert len(workspace.answer(outcome.run_id, "each", "yes", every=True).places) == 999
        assert workspace.resume(outcome.run_id).outputs == {"n": 999}


def test_time_in_which_a_run_only_waits_does_not_count_for_its_timeout(make: Callable[..., Workspace]) -> None:
    document = {"timeout": 0.2, "nodes": [{"id": "w", "type": "wait", "params": {"for": 0.6}}, say("after")]}
    with make() as workspace:
        assert workspace.run(document).success
        slept = {"timeout": 0.2, "nodes": [ASK, AFTER]}
        run_id = workspace.run(slept).run_id
        workspace.answer(run_id, choice="go")
        assert workspace.resume(run_id).success


def test_the_timeout_of_a_sub_workflow_does_not_count_what_it_waits(make: Callable[..., Workspace]) -> None:
    inner = {"nodes": [{"id": "w", "type": "wait", "params": {"for": 0.6}}, say("after")]}
    node = {"id": "sub", "type": "workflow", "params": {"workflow": inner}, "timeout": 0.3}
    with make() as workspace:
        assert workspace.run({"nodes": [node]}).success
        assert workspace.run({"nodes": [{**node, "batch": {"items": [1, 2]}}]}).success


def test_a_step_that_failed_beside_a_question_is_not_run_again_by_its_answer(
    make: Callable[..., Workspace], log: Log
) -> None:
    document = {
        "nodes": [say("start"), ASK, {"id": "bad", "type": "broken", "params": {"what": "bad"}}],
        "edges": [{"from": "start", "to": "ask"}, {"from": "start", "to": "bad"}],
    }
    with make() as workspace:
        run_id = workspace.run(document).run_id
        assert workspace.runs()[0].status == "waiting"
        workspace.answer(run_id, choice="go")
        assert workspace.resume(run_id).status == "failed"
        assert log.done == ["bad"]
        assert workspace.resume(run_id).status == "failed"
        assert log.done == ["bad", "bad"]


def test_who_declines_an_approval_is_asked_again_when_the_run_is_resumed(
    make: Callable[..., Workspace], log: Log
) -> None:
    with make() as workspace:
        run_id = workspace.run({"nodes": [note("deploy", approve=True)]}).run_id
        workspace.answer(run_id, declined=True, by="ada")
        outcome = workspace.resume(run_id)
        assert (outcome.status, (outcome.error or {})["type"]) == ("failed", "declined")
        assert workspace.resume(run_id).status == "waiting"
        workspace.answer(run_id, choice="yes")
        assert workspace.resume(run_id).success
        assert log.done == ["deploy"]


def test_an_approval_counts_only_for_the_params_that_were_shown(make: Callable[..., Workspace], log: Log) -> None:
    document = {"inputs": {"to": {"type": "string"}}, "nodes": [note("deploy", params={"what": "${to}"}, approve=True)]}
    with make() as workspace:
        run_id = workspace.run(document, {"to": "staging"}).run_id
        [asked] = workspace.waiting(run_id)
        assert asked.show == {"params": {"what": "staging"}}
        workspace.answer(run_id, choice="yes")
        assert workspace.resume(run_id, edited=document, params={"to": "production"}).status == "waiting"
        assert log.done == []
        workspace.answer(run_id, choice="yes")
        assert workspace.resume(run_id).success
        assert log.done == ["production"]


def test_an_approved_step_that_failed_needs_no_second_approval(make: Callable[..., Workspace], log: Log) -> None:
    with make() as workspace:
        run_id = workspace.run({"nodes": [{**note("bad", approve=True), "type": "broken"}]}).run_id
        workspace.answer(run_id, choice="yes")
        assert workspace.resume(run_id).status == "failed"
        assert workspace.resume(run_id).status == "failed"
        assert log.done == ["bad", "bad"]


def test_a_declined_item_stops_nothing_and_is_listed(make: Callable[..., Workspace], log: Log) -> None:
    document = {
        "nodes": [
            note("send", params={"what": "${item}"}, approve=True, batch={"items": ["a", "b", "c"]}),
            {"id": "end", "type": "let", "params": {"errors": "send.errors.map(e, e.index)"}},
        ]
    }
    with make() as workspace:
        run_id = workspace.run(document).run_id
        workspace.answer(run_id, "send[1]", "no")
        workspace.answer(run_id, "send", "yes", every=True)
        outcome = workspace.resume(run_id)
        assert outcome.outputs == {"errors": [1]}
        assert sorted(log.done) == ["a", "c"]


def test_a_message_that_came_before_is_not_lost(make: Callable[..., Workspace]) -> None:
    document = {"nodes": [ASK, {"id": "m", "type": "wait", "params": {"message": "paid", "when": "value.sum > 5"}}]}
    with make() as workspace:
        run_id = workspace.run(document).run_id
        workspace.send(run_id, "paid", {"sum": 1})
        workspace.send(run_id, "other", {"sum": 100})
        workspace.send(run_id, "paid", {"sum": 7})
        workspace.answer(run_id, choice="go")
        outcome = workspace.resume(run_id)
        assert outcome.outputs["value"] == {"sum": 7}


def test_a_message_that_is_too_large_or_not_json_is_refused(make: Callable[..., Workspace]) -> None:
    document = {"nodes": [{"id": "m", "type": "wait", "params": {"message": "paid"}}]}
    with make() as workspace:
        run_id = workspace.run(document).run_id
        for value, reason in (({"text": "x" * 70_000}, "is larger than 64 kB"), ({"text": {1, 2}}, "is not JSON")):
            with pytest.raises(InputError, match=f"the message {reason}"):
                workspace.send(run_id, "paid", value)
        assert [one.step for one in workspace.waiting(run_id)] == ["m"]


def test_two_waits_for_one_name_take_two_messages_in_turn(make: Callable[..., Workspace]) -> None:
    wait = {"type": "wait", "params": {"message": "go"}}
    document = {
        "nodes": [{"id": "a", **wait}, {"id": "b", **wait}],
        "outputs": {"a": "${a.value.n}", "b": "${b.value.n}"},
    }
    with make() as workspace:
        run_id = workspace.run(document).run_id
        workspace.send(run_id, "go", {"n": 1})
        assert workspace.resume(run_id).status == "waiting"
        workspace.send(run_id, "go", {"n": 2})
        assert workspace.resume(run_id).outputs == {"a": 1, "b": 2}


def test_a_file_is_waited_for(make: Callable[..., Workspace], tmp_path: Path) -> None:
    flag = tmp_path / "flag"
    document = {
        "nodes": [
            {"id": "w", "type": "wait", "params": {"file": str(flag), "interval": 0.05, "when": "value.size > 2"}}
        ]
    }
    flag.write_text("no")
    with make() as workspace:
        run = workspace.begin(document)

        async def go() -> Any:
            task = asyncio.create_task(run.finish())
            await asyncio.sleep(0)
            flag.write_text("now")
            return await task

        outcome = asyncio.run(go())
        assert outcome.outputs["value"]["text"] == "now"


def test_a_long_wait_leaves_no_process_and_says_when_it_is_over(make: Callable[..., Workspace], clock: Clock) -> None:
    document = {"nodes": [{"id": "w", "type": "wait", "params": {"for": "2h"}}, say("after")]}
    with make() as workspace:
        run_id = workspace.run(document).run_id
        journal = workspace._wiring.journal
        assert journal.info(run_id).wake_at == clock.at + 7200
        assert [info.run_id for info in journal.runs(RunQuery(due=clock.at + 7199))] == []
        assert workspace.resume(run_id).status == "waiting"
        clock.set(clock.at + 7200)
        assert workspace.resume(run_id).success


def test_a_question_that_is_overdue_ends_with_its_default_at_its_deadline(
    make: Callable[..., Workspace], clock: Clock
) -> None:
    asking = {**ASK, "params": {**ASK["params"], "timeout": "3d", "default": "halt"}}
    begun = clock.at
    with make() as workspace:
        run_id = workspace.run({"nodes": [asking, AFTER], "outputs": {"c": "${ask.choice}", "v": "${ask.via}"}}).run_id
        clock.set(begun + 4 * 86400)
        assert workspace.waiting(run_id) == []
        with pytest.raises(AnsweredError):
            workspace.answer(run_id, choice="go")
        outcome = workspace.resume(run_id)
        assert outcome.outputs == {"c": "halt", "v": "timeout"}
        [answered] = [event for event in events(workspace, run_id) if isinstance(event, StepAnswered)]
        assert answered.at == begun + 3 * 86400


@pytest.mark.parametrize("days", [-1, 1])
def test_a_clock_that_jumps_a_day_loses_no_question(make: Callable[..., Workspace], clock: Clock, days: int) -> None:
    with make() as workspace:
        run_id = workspace.run({"nodes": [ASK, AFTER]}).run_id
        clock.set(clock.at + days * 86400)
        assert workspace.resume(run_id).status == "waiting"
        workspace.answer(run_id, choice="go")
        assert workspace.resume(run_id).success


def test_a_timer_does_not_end_early_where_the_clock_is_set_back(make: Callable[..., Workspace], clock: Clock) -> None:
    document = {"nodes": [{"id": "w", "type": "wait", "params": {"for": "2h"}}]}
    with make() as workspace:
        run_id = workspace.run(document).run_id
        clock.set(clock.at - 86400)
        assert workspace.resume(run_id).status == "waiting"
        clock.set(clock.at + 86400 + 7200)
        assert workspace.resume(run_id).success


@pytest.mark.parametrize("wait", [{"for": 0.3}, {"file": "there", "interval": 0.1}])
def test_a_clock_that_is_set_back_makes_no_wait_of_a_process_longer(
    make: Callable[..., Workspace], clock: Clock, wait: dict[str, Any], tmp_path: Path
) -> None:
    there = str(tmp_path / "there")
    now = str(tmp_path / "now")
    chain = [{"from": a, "to": b} for a, b in (("put", "back"), ("back", "seen"), ("seen", "later"))]
    document = {
        "edges": [{"from": "begin", "to": ["wait", "put"]}, *chain],
        "nodes": [
            {"id": "begin", "type": "echo"},
            {"id": "wait", "type": "wait", "params": {**wait, **({"file": there} if "file" in wait else {})}},
            {"id": "put", "type": "write-file", "params": {"path": there, "content": ""}},
            {"id": "back", "type": "write-file", "params": {"path": now, "content": str(clock.at - 86400)}},
            {"id": "seen", "type": "wait", "params": {"for": 0}},
            {"id": "later", "type": "write-file", "params": {"path": now, "content": str(clock.at - 86395)}},
        ],
    }
    with make() as workspace:
        assert workspace.run(document).success


def test_cancelling_a_run_that_waits_ends_its_questions(make: Callable[..., Workspace]) -> None:
    with make() as workspace:
        run_id = workspace.run({"nodes": [ASK, AFTER]}).run_id
        assert workspace.cancel(run_id) == "cancelled"
        assert workspace.waiting() == []
        with pytest.raises(UsageError, match="cancelled"):
            workspace.answer(run_id, choice="go")


def test_stopping_a_run_that_waits_in_its_process_leaves_it_waiting(make: Callable[..., Workspace]) -> None:
    document = {"nodes": [{"id": "w", "type": "wait", "params": {"for": 30}}]}
    with make() as workspace:
        run = workspace.begin(document)

        async def go() -> Any:
            task = asyncio.create_task(run.finish())
            while not any(inner.waits and inner.waits._is_resting for inner, _ in run._executor._active.values()):
                await asyncio.sleep(0.01)  # that it waits is recorded a moment before
            run.stop()
            return await task

        assert asyncio.run(go()).status == "waiting"


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        ({"choice": "gone"}, "`gone` is not one of the choices"),
        ({}, "no choice was given"),
        ({"choice": "go", "fields": {"note": 1}}, "must be string"),
        ({"choice": "go", "fields": {"nots": "x"}}, "no field `nots`"),
        ({"choice": "go", "fields": {"note": "x" * 70_000}}, "larger than 64 kB"),
    ],
)
def test_what_is_no_answer_is_refused_and_the_question_stays(
    make: Callable[..., Workspace], answer: dict[str, Any], problem: str
) -> None:
    asking = {**ASK, "params": {**ASK["params"], "schema": {"note": {"type": "string", "default": ""}}}}
    with make() as workspace:
        run_id = workspace.run({"nodes": [asking, AFTER]}).run_id
        with pytest.raises(InputError, match=problem):
            workspace.answer(run_id, **answer)
        assert len(workspace.waiting(run_id)) == 1


def test_there_is_no_question_where_none_is_asked(make: Callable[..., Workspace]) -> None:
    with make() as workspace:
        run_id = workspace.run({"nodes": [{"id": "w", "type": "wait", "params": {"message": "x"}}]}).run_id
        with pytest.raises(NotFoundError, match="asks nothing"):
            workspace.answer(run_id, choice="go")
        other = workspace.run({"nodes": [ASK, AFTER]}).run_id
        with pytest.raises(NotFoundError, match="no question `aks`"):
            workspace.answer(other, "aks", "go")


@pytest.mark.slow
def test_fifty_processes_answer_one_question_and_one_wins(make: Callable[..., Workspace], tmp_path: Path) -> None:
    with make() as workspace:
        run_id = workspace.run({"nodes": [ASK, AFTER]}).run_id
    won = tmp_path / "won"

    def answer(number: int) -> None:
        with make() as workspace:
            try:
                workspace.answer(run_id, choice="go", by=f"p{number}")
            except AnsweredError:
                return
            fd = os.open(won, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
            os.write(fd, f"p{number}\n".encode())

    children = []
    for number in range(50):
        child = os.fork()
        if child == 0:
            os._exit(in_child(lambda number=number: answer(number)))  # type: ignore[misc]
        children.append(child)
    assert [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children] == [0] * 50
    [winner] = won.read_text().split()
    with make() as workspace:
        assert workspace.resume(run_id).outputs == {"chosen": "go"}
        [answered] = [event for event in events(workspace, run_id) if isinstance(event, StepAnswered)]
        assert answered.by == winner


def test_a_run_that_rests_while_something_arrives_is_taken_up_at_once(make: Callable[..., Workspace]) -> None:
    """What is delivered while a process leaves a run to rest is not left lying."""

    class Late(RecordingObserver):
        def notify(self, run_id: str, event: Any) -> None:
            super().notify(run_id, event)
            if isinstance(event, RunStopped) and len(self.events) < 10:
                with make() as other:
                    other.answer(run_id, choice="go")

    with make(observer=Late()) as workspace:
        assert workspace.run({"nodes": [ASK, AFTER]}).outputs == {"chosen": "go"}


def test_a_process_that_stays_waits_for_all_but_questions(make: Callable[..., Workspace], tmp_path: Path) -> None:
    flag = tmp_path / "flag"
    flag.write_text("")
    check = {"id": "w", "type": "wait", "params": {"file": str(flag), "interval": "1h"}}
    with make(patience=Patience(seconds=0.0, stays=True)) as workspace:
        assert workspace.run({"nodes": [check]}).success
        assert workspace.run({"nodes": [ASK, AFTER]}).status == "waiting"


def events(workspace: Workspace, run_id: str) -> list[Any]:
    from pflow.engine.codec import decode_event
    from pflow.engine.value import ShownValues

    return [decode_event(record, ShownValues()) for record in workspace._wiring.journal.read(run_id)]


class Clock:
    """The time that `PFLOW_NOW` says."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self.at = 0.0
        self.set(1_800_000_000.0)

    def set(self, at: float) -> None:
        self.at = at
        self._file.write_text(str(at))


@pytest.fixture
def clock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Clock:
    monkeypatch.setenv("PFLOW_NOW", str(tmp_path / "now"))
    return Clock(tmp_path / "now")


def test_a_question_that_the_timeout_of_a_document_ends_does_not_count_as_waiting(
    make: Callable[..., Workspace], log: Log
) -> None:
    inner = {
        "timeout": 0.2,
        "nodes": [say("begin"), ASK, {"id": "work", "type": "shell", "params": {"command": "sleep 60"}}],
        "edges": [{"from": "begin", "to": "ask"}, {"from": "begin", "to": "work"}],
    }
    document = {
        "nodes": [
            {"id": "sub", "type": "workflow", "params": {"workflow": inner}, "on": {"timeout": "next"}},
            note("after"),
        ]
    }
    with make() as workspace:
        assert workspace.run(document).status == "completed"
        assert log.done == ["after"]


def test_a_batch_that_stops_does_not_wait_for_the_questions_of_its_items(
    make: Callable[..., Workspace], log: Log
) -> None:
    inner = {
        "inputs": {"n": {"type": "integer"}},
        "nodes": [
            {"id": "ask", "type": "ask", "params": {"prompt": "?", "choices": ["go", "halt"]}, "when": "n < 3"},
            {"id": "bad", "type": "broken", "params": {"what": "bad"}, "when": "n == 3"},
        ],
    }
    each = {"id": "each", "type": "workflow", "params": {"workflow": inner, "inputs": {"n": "${item}"}}}
    with make() as workspace:
        outcome = workspace.run({"nodes": [{**each, "batch": {"items": [1, 2, 3], "concurrency": 3}}]})
        assert (outcome.status, log.done) == ("failed", ["bad"])
