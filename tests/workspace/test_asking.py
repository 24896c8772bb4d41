"""Asking and answering from Python: who is asked, what counts as an answer, and what a run tells of it afterwards."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import pflow
from pflow import Reply, Waiting, Workspace
from pflow.core.errors import (
    AnsweredError,
    ConflictError,
    InputError,
    NotFoundError,
    RunError,
    SecurityError,
    UsageError,
)
from pflow.core.file.home import Home
from pflow.engine.asking.form import Reply as GivenReply
from pflow.engine.asking.waits import Patience
from tests.examples.service import Answer, serving

ASK: dict[str, Any] = {"id": "ask", "type": "ask", "params": {"prompt": "Go on?", "choices": ["go", "halt"]}}
AFTER: dict[str, Any] = {"id": "after", "type": "echo", "params": {"chosen": "${ask.choice}"}}
START = 1_800_000_000.0
DAY = 86_400.0


def ask(**params: Any) -> dict[str, Any]:
    return {**ASK, "params": {**ASK["params"], **params}}


def say(name: str, **more: Any) -> dict[str, Any]:
    return {"id": name, "type": "echo", "params": {"said": name}, **more}


def open_home(home: Path, **parts: Any) -> Workspace:
    return Workspace(Home(home), **parts)


@pytest.fixture
def workspace(home: Path) -> Any:
    with open_home(home) as opened:
        yield opened


@pytest.fixture
def set_clock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    """Sets the time that `PFLOW_NOW` says."""
    file = tmp_path / "now"
    monkeypatch.setenv("PFLOW_NOW", str(file))

    def set_to(at: float) -> None:
        file.write_text(str(at))

    set_to(START)
    return set_to


# Who is asked: `on_ask`


async def _go(question: Waiting) -> str:
    return "go"


@pytest.mark.parametrize(
    "on_ask",
    [
        lambda question: "go",
        lambda question: Reply(choice="go"),
        lambda question: _go(question),
        _go,
    ],
    ids=["choice", "reply", "awaitable", "async"],
)
def test_a_callable_answers_while_the_run_goes_on(home: Path, on_ask: Any) -> None:
    with open_home(home, on_ask=on_ask) as workspace:
        outcome = workspace.run({"nodes": [ASK, AFTER], "outputs": {"c": "${ask.choice}", "via": "${ask.via}"}})
    assert outcome.outputs == {"c": "go", "via": "python"}


def test_a_callable_sees_the_question_as_people_do(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Waiting] = []
    monkeypatch.setenv("API_TOKEN", "sk-very-secret-value")
    document = {
        "inputs": {"api_token": {"type": "string", "secret": True}},
        "nodes": [ask(prompt="Use ${api_token}?", show={"key": "${api_token}", "n": 3}, timeout="3d", default="halt")],
    }
    with open_home(home, on_ask=lambda question: seen.append(question)) as workspace:
        outcome = workspace.run(document)
    [one] = seen
    assert outcome.status == "waiting"
    assert (one.run_id, one.place, one.kind, one.choices) == (outcome.run_id, "ask", "question", ("go", "halt"))
    assert (one.default, one.who) == ("halt", "person")
    assert "sk-very" not in f"{one.prompt}{one.show}"
    assert one.show["n"] == 3


def test_a_mapping_fills_in_the_fields(home: Path) -> None:
    document = {
        "nodes": [
            {
                "id": "form",
                "type": "ask",
                "params": {"prompt": "Details?", "schema": {"n": {"type": "integer"}, "note": {"default": "none"}}},
            }
        ]
    }
    with open_home(home, on_ask=lambda question: {"n": 7}) as workspace:
        assert workspace.run(document).outputs["answer"] == {"n": 7, "note": "none"}


@pytest.mark.parametrize(
    ("on_ask", "why"),
    [
        (lambda question: "gone", "is not one of the choices"),
        (lambda question: 3, "of type int"),
        (lambda question: {"note": "x"}, "no choice was given"),
        (lambda question: 1 / 0, "raised ZeroDivisionError"),
    ],
    ids=["choice", "type", "fields", "raises"],
)
def test_what_a_callable_does_wrong_leaves_the_run_waiting_and_a_notice(home: Path, on_ask: Any, why: str) -> None:
    with open_home(home, on_ask=on_ask) as workspace:
        outcome = workspace.run({"nodes": [ASK, AFTER]})
        assert outcome.status == "waiting"
        [notice] = workspace.notices
        assert why in notice and "`ask`" in notice and outcome.run_id in notice
        workspace.answer(outcome.run_id, choice="go")


def test_a_callable_that_declines_is_an_answer_as_well(home: Path) -> None:
    with open_home(home, on_ask=lambda question: Reply(declined=True)) as workspace:
        outcome = workspace.run({"nodes": [ASK, AFTER]})
        assert (outcome.status, (outcome.error or {})["type"]) == ("failed", "declined")


def test_a_callable_that_blocks_keeps_no_other_step_waiting(home: Path) -> None:
    beside = threading.Event()

    def note() -> dict[str, str]:
        """Tell that it ran."""
        beside.set()
        return {}

    def wait_for_the_other(question: Waiting) -> str:
        assert beside.wait(60)
        return "go"

    document = {
        "nodes": [say("start"), ASK, {"id": "note", "type": "note"}],
        "edges": [{"from": "start", "to": "ask"}, {"from": "start", "to": "note"}],
    }
    with open_home(home, nodes=[note], on_ask=wait_for_the_other) as workspace:
        assert workspace.run(document).success


def test_a_callable_is_asked_one_question_at_a_time_in_any_number_of_runs(home: Path) -> None:
    under_way = []
    most = []

    def answer(question: Waiting) -> str:
        under_way.append(question.place)
        most.append(len(under_way))
        under_way.remove(question.place)
        return "yes"

    document = {"nodes": [say("send", approve=True, batch={"items": list(range(20)), "concurrency": 20})]}
    with open_home(home, on_ask=answer) as workspace:
        assert [workspace.run(document).status for _ in range(2)] == ["completed"] * 2
    assert (len(most), set(most)) == (40, {1})


def test_the_first_answer_counts_also_while_a_callable_thinks(home: Path) -> None:
    thinking, done = threading.Event(), threading.Event()

    def think(question: Waiting) -> str:
        thinking.set()
        done.wait(60)
        return "halt"

    outcomes: list[Any] = []

    def drive() -> None:
        with open_home(home, on_ask=think) as workspace:
            outcomes.append(workspace.run({"nodes": [ASK, AFTER]}, run_id="r"))

    thread = threading.Thread(target=drive)
    thread.start()
    assert thinking.wait(60)
    with open_home(home) as other:
        assert other.answer("r", choice="go", by="bob").alive
    thread.join(60)
    done.set()
    assert outcomes[0].outputs == {"chosen": "go"}


def test_a_loaded_workflow_asks_as_its_workspace_does(home: Path) -> None:
    with pflow.load({"nodes": [ASK, AFTER]}, open_home(home, on_ask=lambda question: "go")) as workflow:
        assert workflow.run().outputs == {"chosen": "go"}
        assert asyncio.run(workflow.arun()).outputs == {"chosen": "go"}


def test_an_outcome_that_waits_says_what_for(workspace: Workspace) -> None:
    outcome = workspace.run({"nodes": [ASK, AFTER]})
    assert not outcome.success
    with pytest.raises(RunError, match="the run is waiting: `ask` waits for an answer: Go on\\?") as error:
        outcome.raise_for_status()
    assert error.value.details["run_id"] == outcome.run_id
    assert error.value.suggestions == (f"answer with `pflow answer {outcome.run_id} ask CHOICE`",)
    message = workspace.run({"nodes": [{"id": "m", "type": "wait", "params": {"message": "paid"}}]})
    with pytest.raises(RunError, match="`m` waits for message `paid`") as error:
        message.raise_for_status()
    assert "pflow send" in error.value.suggestions[0]


# What counts when nobody answers, or somebody declines


@pytest.mark.parametrize("declined", [True, False], ids=["declined", "timed out"])
def test_a_default_counts_for_who_declines_and_when_nobody_answers(
    workspace: Workspace, set_clock: Callable[[float], None], declined: bool
) -> None:
    document = {
        "nodes": [ask(timeout="3d", default="halt", schema={"n": {"type": "integer"}, "note": {"default": "-"}})],
        "outputs": {name: f"${{ask.{name}}}" for name in ("choice", "answer", "by", "via", "at")},
    }
    run_id = workspace.run(document).run_id
    if declined:
        workspace.answer(run_id, declined=True, by="ada")
    else:
        set_clock(START + 10 * DAY)
    outputs = workspace.resume(run_id).outputs
    assert (outputs["choice"], outputs["answer"]) == ("halt", {"note": "-"})
    assert outputs["via"] == ("python" if declined else "timeout")
    assert outputs["at"] == ("2027-01-15T08:00:00Z" if declined else "2027-01-18T08:00:00Z")


@pytest.mark.parametrize("action", ["declined", "error"])
def test_who_declines_without_a_default_ends_the_step_with_that_action(workspace: Workspace, action: str) -> None:
    node = {**ASK, "on": {"go": "next", "halt": "next", action: "other"}}
    document = {"nodes": [node, say("next", on={"default": "end"}), say("other")]}
    run_id = workspace.run(document).run_id
    workspace.answer(run_id, declined=True)
    assert workspace.resume(run_id).outputs == {"said": "other"}


def test_without_an_edge_a_declined_question_fails_the_run_and_is_asked_again(workspace: Workspace) -> None:
    run_id = workspace.run({"nodes": [ASK, AFTER]}).run_id
    workspace.answer(run_id, declined=True)
    assert workspace.resume(run_id).status == "failed"
    assert workspace.resume(run_id).status == "waiting"
    workspace.answer(run_id, choice="go")
    assert workspace.resume(run_id).outputs == {"chosen": "go"}


def test_a_question_that_nobody_answers_takes_its_edge_for_timeout(
    workspace: Workspace, set_clock: Callable[[float], None]
) -> None:
    node = {**ask(timeout="3d"), "on": {"go": "next", "halt": "next", "timeout": "other"}}
    document = {"nodes": [node, say("next", on={"default": "end"}), say("other")]}
    run_id = workspace.run(document).run_id
    set_clock(START + 2 * DAY)
    assert workspace.resume(run_id).status == "waiting"
    set_clock(START + 3 * DAY)
    assert workspace.resume(run_id).outputs == {"said": "other"}


@pytest.mark.parametrize("word", ["no", "NO", "decline"])
def test_whoever_says_no_to_an_approval_is_asked_again_by_a_resume(workspace: Workspace, word: str) -> None:
    run_id = workspace.run({"nodes": [say("deploy", approve=True), say("after")]}).run_id
    for _ in range(3):
        workspace.answer(run_id, choice=None if word == "decline" else word, declined=word == "decline", by="ada")
        outcome = workspace.resume(run_id)
        assert (outcome.status, (outcome.error or {})["type"]) == ("failed", "declined")
        assert workspace.resume(run_id).status == "waiting"
    workspace.answer(run_id, choice="yes")
    assert workspace.resume(run_id).success


@pytest.mark.parametrize(("action", "how"), [("declined", "no"), ("error", "no"), ("timeout", ""), ("error", "")])
def test_an_approval_that_is_not_given_takes_its_own_edge_then_that_for_errors(
    workspace: Workspace, set_clock: Callable[[float], None], action: str, how: str
) -> None:
    deploy = say("deploy", approve={"timeout": "1d"}, on={"default": "next", action: "other"})
    document = {"nodes": [deploy, say("next", on={"default": "end"}), say("other")]}
    run_id = workspace.run(document).run_id
    if how:
        workspace.answer(run_id, choice=how)
    set_clock(START + DAY)
    assert workspace.resume(run_id).outputs == {"said": "other"}


def test_an_approval_that_times_out_fails_the_run_and_is_asked_again(
    workspace: Workspace, set_clock: Callable[[float], None]
) -> None:
    run_id = workspace.run({"nodes": [say("deploy", approve={"timeout": "1d", "prompt": "Deploy now?"})]}).run_id
    set_clock(START + DAY)
    outcome = workspace.resume(run_id)
    assert (outcome.status, (outcome.error or {})["type"]) == ("failed", "timeout")
    assert workspace.resume(run_id).status == "waiting"
    [again] = workspace.waiting(run_id)
    assert (again.prompt, again.deadline) == ("Deploy now?", START + 2 * DAY)


@pytest.mark.parametrize("rules", [{"on_error": "stop"}, {"on_error": "continue", "max_failed": 0}])
def test_declined_and_late_items_are_listed_and_stop_nothing(
    workspace: Workspace, set_clock: Callable[[float], None], rules: dict[str, Any]
) -> None:
    send = say("send", approve={"timeout": "1d"}, batch={"items": list("abcd"), **rules})
    document = {"nodes": [send, {"id": "end", "type": "let", "params": {"lost": "send.errors.map(e, e.error.type)"}}]}
    run_id = workspace.run(document).run_id
    workspace.answer(run_id, "send[0]", "no")
    workspace.answer(run_id, "send[2]", "yes")
    assert workspace.resume(run_id).status == "waiting"
    set_clock(START + DAY)
    assert workspace.resume(run_id).outputs == {"lost": ["declined", "timeout", "timeout"]}


def test_items_that_failed_are_not_tried_again_by_the_answer_to_another_but_by_a_resume(home: Path) -> None:
    tried: list[int] = []

    def work(n: int) -> dict[str, int]:
        """Fail for odd numbers."""
        tried.append(n)
        if n % 2:
            raise ValueError(n)
        return {"n": n}

    each = {
        "id": "each",
        "type": "work",
        "params": {"n": "${item}"},
        "batch": {"items": [0, 1, 2], "on_error": "continue"},
        "approve": True,
    }
    after = {"id": "after", "type": "fail", "params": {"message": "no"}, "when": "size(each.errors) > 0"}
    with open_home(home, nodes=[work]) as workspace:
        run_id = workspace.run({"nodes": [each, after]}).run_id
        workspace.answer(run_id, "each[1]", "yes")
        assert workspace.resume(run_id).status == "waiting"
        assert tried == [1]
        workspace.answer(run_id, "each", "yes", every=True)
        outcome = workspace.resume(run_id)
        assert (outcome.status, outcome.failed_node) == ("failed", "after")
        assert sorted(tried) == [0, 1, 2]


# What is an answer, and what is none


FORM = {
    "schema": {
        "n": {"type": "integer", "minimum": 1, "maximum": 9},
        "mail": {"type": "string", "format": "email", "required": False},
        "tags": {"type": "array", "items": {"enum": ["a", "b"]}, "default": []},
        "sure": {"type": "boolean", "default": False},
    }
}


@pytest.mark.parametrize(
    ("choice", "fields", "problem"),
    [
        (None, {"n": 1}, "no choice was given"),
        ("goo", {"n": 1}, "`goo` is not one of the choices: `go`, `halt`"),
        ("go", {}, "the field `n` was not given"),
        ("go", {"n": "1"}, "`n` must be integer, not a string"),
        ("go", {"n": 1.5}, "`n` must be integer, not a number"),
        ("go", {"n": 0}, "`n` must be at least 1"),
        ("go", {"n": 10}, "`n` must be at most 9"),
        ("go", {"n": 1, "mail": "nobody"}, "`mail` must be an email"),
        ("go", {"n": 1, "tags": ["a", "c"]}, "`tags` cannot be `c`; it is one of `a`, `b`"),
        ("go", {"n": 1, "sure": "yes"}, "`sure` must be boolean"),
        ("go", {"n": 1, "nn": 1}, "the question has no field `nn`"),
        ("go", {"n": 1, "mail": "x" * 70_000 + "@b.org"}, "larger than 64 kB"),
    ],
)
def test_an_answer_that_does_not_fit_is_refused_with_what_would(
    workspace: Workspace, choice: str | None, fields: dict[str, Any], problem: str
) -> None:
    run_id = workspace.run({"nodes": [ask(**FORM), AFTER]}).run_id
    with pytest.raises(InputError) as error:
        workspace.answer(run_id, "ask", choice, fields)
    assert problem in error.value.message
    assert error.value.exit_code == 2
    assert [one.place for one in workspace.waiting(run_id)] == ["ask"]


def test_words_of_a_command_line_become_the_types_of_the_fields(workspace: Workspace) -> None:
    run_id = workspace.run({"nodes": [ask(**FORM)]}).run_id
    given = {"n": "3", "tags": "a, b", "sure": "true"}
    workspace.answer(run_id, choice="GO", fields=given, text=True)
    outputs = workspace.resume(run_id).outputs
    assert outputs["choice"] == "go"
    assert outputs["answer"] == {"n": 3, "tags": ["a", "b"], "sure": True}


def test_a_second_answer_is_told_who_was_first(workspace: Workspace) -> None:
    run_id = workspace.run({"nodes": [ASK, AFTER]}).run_id
    workspace.answer(run_id, choice="go", by="ada", via="terminal")
    for step, choice in ((None, "halt"), ("ask", "go")):
        with pytest.raises(AnsweredError, match="`ask` was already answered by ada, via terminal") as error:
            workspace.answer(run_id, step, choice)
        assert error.value.code == "already_answered"
        assert error.value.details["by"] == "ada"
    assert workspace.resume(run_id).outputs == {"chosen": "go"}


def test_who_answered_sees_that_somebody_else_has_seen_the_run_through(workspace: Workspace) -> None:
    fails = {"id": "stop", "type": "fail", "params": {"message": "no"}}
    for document, status in (({"nodes": [ASK, AFTER]}, "completed"), ({"nodes": [ASK, fails]}, "failed")):
        run_id = workspace.run(document).run_id
        answered = workspace.answer(run_id, choice="go")
        workspace.inbox.check_left(answered)
        assert workspace.resume(run_id).status == status
        with pytest.raises(ConflictError, match="was taken up by another process"):
            workspace.inbox.check_left(answered)


def test_several_questions_must_be_told_apart(workspace: Workspace) -> None:
    document = {
        "nodes": [say("start"), {**ASK, "id": "one"}, {**ASK, "id": "two"}],
        "edges": [{"from": "start", "to": "one"}, {"from": "start", "to": "two"}],
    }
    run_id = workspace.run(document).run_id
    with pytest.raises(UsageError, match="asks 2 questions: `one`, `two`"):
        workspace.answer(run_id, choice="go")
    with pytest.raises(NotFoundError, match="no question `tow`") as error:
        workspace.answer(run_id, "tow", "go")
    assert error.value.suggestions == ("did you mean `two`?",)
    assert len(workspace.answer(run_id, choice="go", every=True).places) == 2
    assert workspace.resume(run_id).success


def test_items_are_answered_one_by_one_or_all_at_once(workspace: Workspace) -> None:
    run_id = workspace.run({"nodes": [say("send", approve=True, batch={"items": [1, 2, 3]})]}).run_id
    with pytest.raises(UsageError, match="`send` asks about 3 items") as error:
        workspace.answer(run_id, "send", "yes")
    assert error.value.suggestions == (
        f"answer one with `pflow answer {run_id} 'send[0]' CHOICE`",
        f"answer all of them with `pflow answer {run_id} send --all CHOICE`",
    )
    assert workspace.answer(run_id, "send[1]", "no").places == ("send[1]",)
    assert workspace.answer(run_id, "send", "yes", every=True).places == ("send[0]", "send[2]")
    outcome = workspace.resume(run_id)
    assert (outcome.failed_items, outcome.declined_items) == ((("send", 1, 3),), {"send": 1})
    assert outcome.losses == ["1 of 3 items of `send` was declined"]
    entry = {"step": "send", "failed": 1, "items": 3, "declined": 1}
    assert outcome.envelope()["data"]["failed_items"] == [entry]  # type: ignore[index]


@pytest.mark.parametrize("ending", ["completed", "cancelled", "failed", "gone"])
def test_a_run_that_is_over_takes_no_answer_and_no_message(workspace: Workspace, ending: str) -> None:
    node = ASK if ending != "failed" else {"id": "bad", "type": "fail", "params": {"message": "no"}}
    run_id = workspace.run({"nodes": [node]}).run_id
    if ending == "completed":
        workspace.answer(run_id, choice="go")
        workspace.resume(run_id)
    if ending == "cancelled":
        workspace.cancel(run_id)
    run_id = "20200101-000000-0000000000000000" if ending == "gone" else run_id
    with pytest.raises((UsageError, NotFoundError, AnsweredError)):
        workspace.answer(run_id, choice="go")
    if ending != "failed":  # which a resume would take up
        with pytest.raises((UsageError, NotFoundError)):
            workspace.send(run_id, "paid")
    assert ending == "gone" or workspace.waiting() == []


def test_only_those_with_the_key_answer_for_a_person(workspace: Workspace) -> None:
    run_id = workspace.run({"nodes": [ASK, AFTER]}).run_id
    [asked] = workspace.waiting(run_id)
    reply = GivenReply(choice="go")
    for key in ("", "0" * 40):
        with pytest.raises(SecurityError, match="`ask` is for a person"):
            workspace.inbox.answer(run_id, None, reply, by="bot", via="mcp", is_person=False, key=key)
    assert workspace.inbox.answer(run_id, None, reply, by="bot", via="mcp", is_person=False, key=asked.key).places


# What a run tells of it afterwards


def steps_of(workspace: Workspace, run_id: str) -> dict[str, Any]:
    found: Any = workspace.show_run(run_id)["steps"]
    return {step["step"]: step for step in found}


def test_a_trace_tells_what_a_step_waits_for_and_later_who_ended_it(
    workspace: Workspace, set_clock: Callable[[float], None]
) -> None:
    run_id = workspace.run({"nodes": [ask(timeout="3d", default="halt"), AFTER]}).run_id
    shown = workspace.show_run(run_id)
    assert shown["status"] == "waiting"
    assert not shown.keys() & {"reason", "ended_at", "duration_ms"}
    step = steps_of(workspace, run_id)["ask"]
    assert step["status"] == "waiting"
    [wait] = step["waits"]
    assert (wait["kind"], wait["prompt"], wait["choices"]) == ("question", "Go on?", ["go", "halt"])
    assert (wait["at"], wait["deadline"]) == (START, START + 3 * DAY)
    set_clock(START + 90)
    workspace.answer(run_id, choice="go", by="ada", via="terminal")
    workspace.resume(run_id)
    shown = workspace.show_run(run_id)
    assert (shown["status"], "reason" in shown) == ("completed", False)
    step = steps_of(workspace, run_id)["ask"]
    [wait] = step["waits"]
    assert step["status"] == "completed"
    told = {name: wait[name] for name in ("outcome", "choice", "by", "via", "waited", "answered_at")}
    assert told == {
        "outcome": "answered",
        "choice": "go",
        "by": "ada",
        "via": "terminal",
        "waited": 90.0,
        "answered_at": START + 90,
    }


def test_a_step_that_nobody_approved_yet_is_shown_as_waiting(workspace: Workspace) -> None:
    run_id = workspace.run({"nodes": [say("first"), say("deploy", approve=True)]}).run_id
    step = steps_of(workspace, run_id)["deploy"]
    assert (step["node"], step["status"]) == ("deploy", "waiting")
    [wait] = step["waits"]
    assert (wait["approves"], wait["show"]) == (True, {"params": {"said": "deploy"}})
    workspace.answer(run_id, choice="no")
    workspace.resume(run_id)
    assert steps_of(workspace, run_id)["deploy"]["status"] == "failed"
    workspace.resume(run_id)
    step = steps_of(workspace, run_id)["deploy"]
    assert (step["status"], [wait.get("outcome") for wait in step["waits"]]) == ("waiting", ["declined", None])


def test_steps_around_what_waits_wait_as_well_and_are_not_in_doubt(workspace: Workspace) -> None:
    inner = {"nodes": [ASK]}
    sub = {"id": "sub", "type": "workflow", "params": {"workflow": inner}}
    each = {**sub, "id": "each", "batch": {"items": [1, 2]}}
    send = say("send", approve=True, batch={"items": [1, 2, 3]})
    edges = [{"from": "start", "to": name} for name in ("sub", "each", "send")]
    run_id = workspace.run({"nodes": [say("start"), sub, each, send], "edges": edges}).run_id
    workspace.answer(run_id, "send[1]", "yes")
    for _ in range(2):
        steps = steps_of(workspace, run_id)
        waiting = {name for name, step in steps.items() if step["status"] == "waiting"}
        assert waiting == {"sub", "sub/ask", "each", "each[0]/ask", "each[1]/ask", "send"}
        assert workspace.resume(run_id).status == "waiting"
    send_step = steps_of(workspace, run_id)["send"]
    assert (send_step["items_waiting"], send_step["items_completed"]) == (2, 1)
    assert [wait["item"] for wait in send_step["waits"]] == [0, 1, 2]


def test_an_edit_forgets_the_questions_that_were_open(workspace: Workspace) -> None:
    run_id = workspace.run({"nodes": [ASK, AFTER]}).run_id
    workspace.resume(run_id, edited={"nodes": [ask(prompt="Really?"), AFTER]})
    [wait] = steps_of(workspace, run_id)["ask"]["waits"]
    assert wait["prompt"] == "Really?"


def test_a_run_that_waits_has_not_ended(workspace: Workspace) -> None:
    workspace.run({"nodes": [ASK]})
    [info] = workspace.runs(state="waiting")
    assert info.ended_at is None


# How long a process waits


def test_how_long_a_process_waits_is_a_setting(workspace: Workspace, set_clock: Callable[[float], None]) -> None:
    document = {"nodes": [{"id": "w", "type": "wait", "params": {"for": 30}}, say("after")]}
    workspace.set_setting("wait.in_process_seconds", "0")
    with open_home(workspace.home.root) as impatient:
        outcome = impatient.run(document)
        assert outcome.status == "waiting"
        set_clock(START + 30)
        assert impatient.resume(outcome.run_id).success


def test_an_answer_that_is_no_success_need_not_have_what_a_condition_is_about(workspace: Workspace) -> None:
    def answer(path: str, times: int) -> Answer:
        return Answer(503, "<html>") if times == 1 else Answer(200, {"state": "done"})

    workspace.set_setting("http.allow_hosts", "127.0.0.1")
    with serving(answer) as service:
        wait: dict[str, Any] = {"url": service.url, "when": "value.response.state == 'done'", "interval": 0.02}
        assert workspace.run({"nodes": [{"id": "w", "type": "wait", "params": wait}]}).success
    with serving(lambda path, times: Answer(200, {"status": "done"})) as service:
        wait["url"] = service.url
        outcome = workspace.run({"nodes": [{"id": "w", "type": "wait", "params": wait}]})
    assert outcome.error is not None and outcome.error["type"] == "expression"


def test_every_look_is_one_of_the_step_with_what_its_settings_allow(workspace: Workspace) -> None:
    workspace.set_setting("http.allow_hosts", "127.0.0.1")
    with serving(lambda path, times: Answer(200, {"times": times})) as service:
        wait = {"url": service.url, "when": "value.response.times == 2", "interval": 0.3}
        outcome = workspace.run({"nodes": [{"id": "w", "type": "wait", "params": wait}]})
    assert (outcome.error, outcome.success) == (None, True)


def test_a_condition_is_not_looked_at_for_ever(home: Path, tmp_path: Path) -> None:
    check = {"id": "w", "type": "wait", "params": {"file": str(tmp_path / "never"), "interval": 0.01}}
    with open_home(home, patience=Patience(seconds=0.1)) as workspace:
        outcome = workspace.run({"nodes": [check]})
        assert outcome.status == "waiting"
        [info] = workspace.runs()
        assert info.wake_at is not None
        (tmp_path / "never").write_text("")
        assert workspace.resume(outcome.run_id).success


def test_a_process_that_stays_says_what_for(home: Path, tmp_path: Path) -> None:
    told: list[tuple[str, str]] = []
    arrived = threading.Event()

    def staying(run_id: str, waits: Any) -> None:
        told.extend((run_id, asked.prompt) for asked in waits)
        arrived.set()

    def send() -> None:
        assert arrived.wait(60)
        with open_home(home) as other:
            other.send("r", "paid", {"sum": 3})

    thread = threading.Thread(target=send)
    thread.start()
    short = {"id": "s", "type": "wait", "params": {"for": 0.01}}
    message = {"id": "m", "type": "wait", "params": {"message": "paid"}}
    with open_home(home, staying=staying) as workspace:
        assert workspace.run({"nodes": [short, message]}, run_id="r").outputs["value"] == {"sum": 3}
    thread.join(60)
    assert set(told) == {("r", "message `paid`")}


# Cancelling


def test_a_run_that_waits_runs_its_last_steps_when_it_is_cancelled(home: Path) -> None:
    done: list[str] = []

    def note(what: str) -> dict[str, str]:
        """Note something."""
        done.append(what)
        return {}

    def noting(name: str, what: str = "") -> dict[str, Any]:
        return {"id": name, "type": "note", "params": {"what": what or name}}

    inner = {"nodes": [ASK, noting("inner")], "finally": "inner"}
    document = {
        "nodes": [
            {"id": "sub", "type": "workflow", "params": {"workflow": inner}},
            noting("never"),
            noting("outer", "outer ${run.status}"),
        ],
        "finally": "outer",
    }
    with open_home(home, nodes=[note]) as workspace:
        run_id = workspace.run(document).run_id
        workspace.answer(run_id, "sub/ask", "go")  # which nobody took up
        assert workspace.cancel(run_id) == "cancelled"
        assert done == ["inner", "outer cancelled"]
        assert workspace.runs()[0].status == "cancelled"
        assert steps_of(workspace, run_id)["sub/ask"]["status"] == "interrupted"

        async def cancel_in_a_loop() -> str:
            return workspace.cancel(again)

        again = workspace.run(document).run_id
        assert asyncio.run(cancel_in_a_loop()) == "cancelled"
        assert done == ["inner", "outer cancelled"] * 2


def test_a_run_whose_last_steps_cannot_run_any_more_is_cancelled_all_the_same(home: Path) -> None:
    def clean() -> dict[str, str]:
        """Clean up."""
        return {}

    with open_home(home, nodes=[clean]) as workspace:
        run_id = workspace.run({"nodes": [ASK, {"id": "clean", "type": "clean"}], "finally": "clean"}).run_id
    with open_home(home) as workspace:  # a program without that node
        assert workspace.cancel(run_id) == "cancelled"
        [notice] = workspace.notices
        assert notice.startswith("the steps of `finally` did not run: ")
