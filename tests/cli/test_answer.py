"""Runs that ask and wait, without a terminal: what the command line says of them, `pflow answer` and `pflow send`."""

from __future__ import annotations

import getpass
import json
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pflow.core.file.home import Home
from pflow.execution.asking.answer import Answered, Inbox
from pflow.workspace import Workspace
from tests.cli.conftest import Pflow, spawn

ASK: dict[str, Any] = {"id": "ask", "type": "ask", "params": {"prompt": "Go on?", "choices": ["go", "halt"]}}
AFTER: dict[str, Any] = {"id": "after", "type": "echo", "params": {"text": "chosen ${ask.choice}"}}
FORM = {"n": {"type": "integer"}, "note": {"type": "string", "default": "none", "description": "What to remember"}}

Write = Callable[..., str]


def ask(**params: Any) -> dict[str, Any]:
    return {**ASK, "params": {**ASK["params"], **params}}


def begin(pflow: Pflow, file: str, *words: str) -> str:
    """Run a document that waits; the id of the run."""
    said = pflow("run", file, *words, "--json")
    assert said.code == 4, said
    run_id: str = said.json["data"]["run_id"]
    return run_id


@pytest.fixture
def run_id(pflow: Pflow, write: Write) -> str:
    """A run that asks one question."""
    return begin(pflow, write("a.json", ask(), AFTER))


@pytest.fixture
def three(pflow: Pflow, write: Write) -> str:
    """A run that asks about three items of a batch."""
    send = {"id": "send", "type": "echo", "params": {"text": "${item}"}, "approve": True}
    return begin(pflow, write("b.json", {**send, "batch": {"items": ["a", "b", "c"]}}))


def test_without_a_terminal_a_question_is_left_with_the_command_that_answers_it(pflow: Pflow, write: Write) -> None:
    question = ask(
        prompt="Go on?\nReally?", show={"body": "one\ntwo\x1b[31m"}, schema=FORM, timeout="3d", default="halt"
    )
    said = pflow("run", write("a.json", question, AFTER))
    assert (said.code, said.out) == (4, "")
    lines = said.steady.splitlines()
    assert lines[-2].startswith("  until 20") and lines.pop(-2).endswith("Z, then `halt` counts")
    assert lines == [
        "waiting: `ask` for an answer: Go on? Really?",
        "  body:",
        "    one",
        "    two\\x1b[31m",
        "  choices: go, halt",
        "  n: integer",
        '  note: string, by default "none"; What to remember',
        "  pflow answer RUN go n=…   (or halt)",
    ]


def test_the_command_that_is_shown_works(pflow: Pflow, run_id: str) -> None:
    command, _, others = pflow("runs", "show", run_id).out.splitlines()[-1].strip().partition("   ")
    assert (command, others) == (f"pflow answer {run_id} go", "(or halt)")
    said = pflow(*command.split()[1:])
    assert (said.code, said.out) == (0, "chosen go\n")
    assert said.err == "answered `ask`\n"


def test_an_answer_counts_also_where_another_process_was_quicker_to_go_on(
    pflow: Pflow, run_id: str, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    left = Inbox.check_left

    def check_left(self: Inbox, answered: Answered) -> None:
        left(self, answered)
        with Workspace(Home(home)) as other:
            assert other.resume(run_id).status == "completed"

    monkeypatch.setattr(Inbox, "check_left", check_left)
    said = pflow("answer", run_id, "go")
    assert (said.code, said.err) == (0, "answered `ask`\n")
    assert said.out == f"another process has taken the run up; `pflow runs show {run_id}` tells how it goes\n"


def test_several_questions_are_shown_each_with_its_step(pflow: Pflow, write: Write, three: str) -> None:
    said = pflow("runs", "resume", three)
    assert (said.code, said.err.count("waiting: `send[")) == (4, 3)
    assert f"  pflow answer {three} 'send[1]' yes   (or no)" in said.err.splitlines()
    many = {"id": "each", **{name: value for name, value in ASK.items() if name != "id"}}
    said = pflow("run", write("c.json", {**many, "batch": {"items": list(range(500))}}))
    assert said.steady == (
        "waiting: `each[0]` for an answer: Go on?\n"
        "  choices: go, halt\n"
        "  pflow answer RUN 'each[0]' go   (or halt)\n"
        "  and 499 more items of `each`; all of them: pflow answer RUN each --all go\n"
    )


def test_waits_say_what_for_and_until_when(pflow: Pflow, write: Write, tmp_path: Path) -> None:
    nodes = [
        {"id": "start", "type": "echo"},
        {"id": "timer", "type": "wait", "params": {"for": "2h"}},
        {"id": "paid", "type": "wait", "params": {"message": "paid in", "timeout": "2d"}, "on": {"timeout": "end"}},
        {"id": "file", "type": "wait", "params": {"file": "flag", "interval": "1h"}},
    ]
    edges = [{"from": "start", "to": name} for name in ("timer", "paid", "file")]
    child = spawn("run", write("w.json", *nodes, edges=edges), cwd=tmp_path)
    assert child.stderr is not None
    said: list[str] = []
    while not said or not said[-1].startswith("Ctrl-C"):
        said.append(child.stderr.readline().decode())
    child.send_signal(signal.SIGINT)
    rest = child.communicate(timeout=60)[1].decode()
    assert child.returncode == 130
    text = "".join(said)
    assert "waiting: `timer` until 20" in text
    assert "waiting: `paid` for message `paid in`\n" in text and "then it ends with `timeout`" in text
    assert "pflow send " in text and " 'paid in' key=value" in text
    assert "waiting: `file` for file `flag`\n" in text
    assert said[-1] == "Ctrl-C leaves it waiting; `--detach` or a `pflow daemon` would free the terminal\n"
    assert "waiting: `timer` until 20" in rest and "pflow runs resume" in rest
    assert pflow("runs", "list", "--json").json["data"]["runs"][0]["status"] == "waiting"


def test_an_answer_drives_the_run_on_and_ends_as_run_does(pflow: Pflow, write: Write, run_id: str) -> None:
    said = pflow("answer", run_id, "halt", "--json")
    assert (said.code, said.json["data"]["outputs"]) == (0, {"text": "chosen halt"})
    again = begin(pflow, write("two.json", ask(), {**ASK, "id": "second"}))
    said = pflow("answer", again, "go")
    assert (said.code, said.out) == (4, "")
    assert "waiting: `second`" in said.err
    assert pflow("answer", again, "go").code == 0
    fails = begin(pflow, write("f.json", ask(), {"id": "bad", "type": "fail", "params": {"message": "no"}}))
    assert pflow("answer", fails, "go").code == 1


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (["gone"], 2, "`gone` is not one of the choices: `go`, `halt`"),
        (["ask", "gone"], 2, "`gone` is not one of the choices"),
        (["ask"], 2, "no choice was given"),
        ([], 2, "no choice was given"),
        (["aks", "go"], 2, "no question `aks`"),
        (["go", "x=1"], 2, "the question has no field `x`"),
        (["ask", "go", "now"], 2, "`now` is one word too many"),
        (["go", "--decline"], 2, "no question `go`"),
        (["ask", "go", "--decline"], 2, "exclude each other"),
        (["go", "=1"], 2, "no name before the `=`"),
    ],
)
def test_what_is_no_answer_is_said_and_the_run_stays(
    pflow: Pflow, run_id: str, words: list[str], code: int, says: str
) -> None:
    said = pflow("answer", run_id, *words)
    assert (said.code, said.out) == (code, "")
    assert says in said.err
    assert pflow("runs", "show", run_id, "--json").json["data"]["status"] == "waiting"


def test_one_word_is_the_choice_of_one_question_and_the_step_of_several(pflow: Pflow, write: Write) -> None:
    named = {**ASK, "id": "go"}  # a step with the name of a choice
    alone = begin(pflow, write("a.json", named))
    assert pflow("answer", alone, "go", "--json").json["data"]["outputs"]["choice"] == "go"
    beside = [{"from": "start", "to": name} for name in ("go", "ask")]
    both = begin(pflow, write("b.json", {"id": "start", "type": "echo"}, named, ASK, edges=beside))
    assert "no choice was given" in pflow("answer", both, "go").err
    assert pflow("answer", both, "go", "halt").code == 4
    assert pflow("answer", both, "halt").code == 0


def test_fields_are_read_as_their_types(pflow: Pflow, write: Write) -> None:
    fields = {**FORM, "tags": {"type": "array", "items": {"enum": ["x", "y"]}, "default": []}}
    run_id = begin(pflow, write("a.json", ask(schema=fields)))
    assert "`n` must be an integer, not `three`" in pflow("answer", run_id, "go", "n=three").err
    said = pflow("answer", run_id, "go", "n=3", "note=a = b", "tags=x,y", "--json")
    outputs = said.json["data"]["outputs"]
    assert outputs["answer"] == {"n": 3, "note": "a = b", "tags": ["x", "y"]}
    assert (outputs["by"], outputs["via"]) == (getpass.getuser(), "terminal")


def test_declining_is_an_answer(pflow: Pflow, write: Write, run_id: str) -> None:
    said = pflow("answer", run_id, "--decline")
    assert said.code == 1
    assert "the question was declined by" in said.err
    with_default = begin(pflow, write("d.json", ask(default="halt"), AFTER))
    assert pflow("answer", with_default, "ask", "--decline").out == "chosen halt\n"


def test_items_are_answered_by_number_or_all_at_once(pflow: Pflow, three: str) -> None:
    assert "`send` asks about 3 items" in pflow("answer", three, "yes").err
    said = pflow("answer", three, "send", "yes")
    assert said.code == 2
    assert f"hint: answer all of them with `pflow answer {three} send --all CHOICE`" in said.err
    assert pflow("answer", three, "send[1]", "no", "--no-resume").out == (
        f"answered `send[1]`; go on with `pflow runs resume {three}`\n"
    )
    said = pflow("answer", three, "send", "--all", "yes")
    assert (said.code, said.err.splitlines()[0]) == (0, "answered `send[0]`, `send[2]`")
    assert "1 of 3 items of `send` was declined" in said.err


def test_an_answer_without_a_resume_waits_for_whoever_drives_next(pflow: Pflow, run_id: str) -> None:
    said = pflow("answer", run_id, "go", "--no-resume", "--json")
    assert said.json["data"] == {"run_id": run_id, "answered": ["ask"], "goes_on": False}
    assert f"can go on: pflow runs resume {run_id}" in pflow("runs", "list", "--waiting").out
    said = pflow("answer", run_id, "halt")
    assert (said.code, "`ask` was already answered by" in said.err) == (1, True)
    assert pflow("runs", "resume", run_id).out == "chosen go\n"


def test_a_run_that_another_process_drives_takes_the_answer_up_there(
    pflow: Pflow, write: Write, tmp_path: Path
) -> None:
    nodes = [{"id": "start", "type": "echo"}, ASK, {"id": "m", "type": "wait", "params": {"message": "paid"}}]
    edges = [{"from": "start", "to": name} for name in ("ask", "m")]
    file = write("a.json", *nodes, edges=edges, outputs={"value": "${m.value}"})
    child = spawn("run", file, "--json", cwd=tmp_path)
    assert child.stderr is not None
    while not child.stderr.readline().startswith(b"Ctrl-C"):
        pass
    listed = pflow("runs", "list", "--waiting", "--json").json["data"]["waiting"]
    assert [(one["step"], one["kind"]) for one in listed] == [("ask", "question"), ("m", "message")]
    said = pflow("answer", "latest", "go")
    assert (said.code, said.out) == (0, "answered `ask`; the process that runs it takes it up\n")
    said = pflow("send", "latest", "paid", "sum=7", "--json")
    assert (said.code, said.json["data"]["goes_on"]) == (0, True)
    out, _ = child.communicate(timeout=60)
    assert child.returncode == 0
    assert json.loads(out)["data"]["outputs"]["value"] == {"sum": 7}


@pytest.mark.parametrize(
    ("words", "value"),
    [
        (["sum=7", "ok=true", "who=Ada", 'id="7"', "list=[1, 2]", "none=null", "when=07"], None),
        (["--json-value", '{"a": {"b": 1}}'], {"a": {"b": 1}}),
        ([], {}),
    ],
)
def test_a_message_is_read_as_json_where_it_is(pflow: Pflow, write: Write, words: list[str], value: Any) -> None:
    # Beside the question the run is left waiting, so that nothing stays in the foreground.
    run_id = begin(pflow, write("a.json", ASK, {"id": "m", "type": "wait", "params": {"message": "paid"}}))
    assert pflow("send", run_id, "paid", *words).code == 4
    expected = {"sum": 7, "ok": True, "who": "Ada", "id": "7", "list": [1, 2], "none": None, "when": "07"}
    said = pflow("answer", run_id, "go", "--json")
    assert said.json["data"]["outputs"]["value"] == (expected if value is None else value)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["sum"], "`sum` is not an input"),
        (["--json-value", "{"], "is not JSON"),
        (["--json-value", "[1]"], "a message is a JSON object"),
        (["a=1", "--json-value", "{}"], "not both"),
    ],
)
def test_what_is_no_message_is_refused(pflow: Pflow, run_id: str, words: list[str], says: str) -> None:
    said = pflow("send", run_id, "paid", *words)
    assert said.code == 2
    assert says in said.err


def test_a_name_that_is_nearly_the_one_that_is_waited_for_is_kept_with_a_note(pflow: Pflow, home: Path) -> None:
    with Workspace(Home(home)) as workspace:
        run_id = workspace.run({"nodes": [{"id": "m", "type": "wait", "params": {"message": "paid"}}]}).run_id
    said = pflow("send", run_id, "piad", "--no-resume")
    note = "note: no step waits for `piad` now; it is kept for one that may; did you mean `paid`?"
    assert (said.code, said.err.splitlines()) == (0, [note])
    assert pflow("send", run_id, "paid", "--no-resume").err == ""


@pytest.mark.parametrize("name", ["", " "])
def test_a_message_needs_a_name(pflow: Pflow, run_id: str, name: str) -> None:
    said = pflow("send", run_id, name, "sum=7")
    assert (said.code, said.err.splitlines()[0]) == (2, "error: a message needs a name")


def test_a_run_that_is_over_takes_nothing(pflow: Pflow, run_id: str) -> None:
    pflow("runs", "cancel", run_id)
    said = pflow("answer", run_id, "go")
    assert (said.code, f"run `{run_id}` is cancelled; it no longer asks anything" in said.err) == (2, True)
    said = pflow("send", run_id, "paid")
    assert (said.code, "no longer takes messages" in said.err) == (2, True)


def test_what_waits_is_listed_with_its_command(pflow: Pflow, write: Write, run_id: str, three: str) -> None:
    assert [line.split()[1] for line in pflow("runs", "list").out.splitlines()] == ["waiting", "waiting"]
    said = pflow("runs", "list", "--waiting")
    lines = said.out.splitlines()
    assert lines[0].startswith(f"{three}  b  since ")
    assert f"    pflow answer {three} 'send[0]' yes   (or no)" in lines
    assert lines[-1] == f"    pflow answer {run_id} go   (or halt)"
    [*_, one] = pflow("runs", "list", "--waiting", "--json").json["data"]["waiting"]
    assert (one["run_id"], one["workflow"], one["step"]) == (run_id, "a", "ask")
    assert one["command"] == f"pflow answer {run_id} go"
    assert one["since"].endswith("Z")


def test_listing_applies_deadlines_and_drives_nothing(
    pflow: Pflow, write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PFLOW_NOW", str(tmp_path / "now"))
    (tmp_path / "now").write_text("2026-11-18T09:30:00Z")
    run_id = begin(pflow, write("a.json", ask(timeout="3d", default="halt"), AFTER))
    assert "    until 2026-11-21T09:30:00Z, then `halt` counts" in pflow("runs", "list", "--waiting").out.splitlines()
    (tmp_path / "now").write_text("2026-11-22T09:30:00Z")
    assert f"can go on: pflow runs resume {run_id}" in pflow("runs", "list", "--waiting").out
    assert pflow("runs", "show", run_id, "--json").json["data"]["status"] == "waiting"
    assert "the time to answer `ask` ended at 2026-11-21T09:30:00Z" in pflow("answer", run_id, "go").err
    assert pflow("runs", "resume", run_id).out == "chosen halt\n"


def test_nothing_waits(pflow: Pflow) -> None:
    said = pflow("runs", "list", "--waiting")
    assert (said.code, said.out, said.err) == (0, "", "no run is waiting\n")


def test_a_run_is_shown_with_who_answered_what_and_how(pflow: Pflow, write: Write) -> None:
    deploy = {"id": "deploy", "type": "echo", "params": {"to": "prod"}, "approve": True}
    run_id = begin(pflow, write("a.json", ask(), deploy))
    pflow("answer", run_id, "go")
    pflow("answer", run_id, "no")
    pflow("runs", "resume", run_id)
    lines = pflow("runs", "show", run_id).out.splitlines()
    assert lines[0].startswith(f"{run_id}  waiting, started")
    assert [line.split()[:2] for line in lines[3:5]] == [["ask", "completed"], ["deploy", "waiting"]]
    assert "for approval: Run `deploy` (echo)?" in lines[4]
    user = getpass.getuser()
    assert lines[6] == "answers"
    assert f"answered `go` by {user} via terminal" in lines[7]
    assert f"declined by {user} via terminal" in lines[8]
    assert lines[10:] == [
        "waiting: `deploy` for approval: Run `deploy` (echo)?",
        '  to: "prod"',
        "  choices: yes, no",
        f"  pflow answer {run_id} yes   (or no)",
    ]


def test_a_cancelled_run_that_waited_has_run_its_last_steps(pflow: Pflow, write: Write, tmp_path: Path) -> None:
    clean = {"id": "clean", "type": "write-file", "params": {"path": "left.txt", "content": "${run.status}"}}
    run_id = begin(pflow, write("a.json", ask(), clean, **{"finally": "clean"}))
    said = pflow("runs", "cancel", run_id)
    assert (said.code, said.out) == (0, f"cancelled {run_id}\n")
    assert (tmp_path / "left.txt").read_text() == "cancelled"


def test_a_question_needs_no_secret_to_be_answered_but_the_run_does_to_go_on(
    pflow: Pflow, write: Write, tmp_path: Path
) -> None:
    secret = {"token": {"type": "string", "secret": True}}
    use = {"id": "use", "type": "write-file", "params": {"path": "t.txt", "content": "${token}"}}
    run_id = begin(pflow, write("a.json", ask(), use, inputs=secret), "token=very-secret-token")
    said = pflow("answer", run_id, "go")
    assert said.code == 2
    assert f"pflow runs resume {run_id}" in said.err
    assert pflow("runs", "resume", run_id, "token=very-secret-token").code == 0
    assert (tmp_path / "t.txt").read_text() == "very-secret-token"


# Completion


@pytest.fixture
def offered(pflow: Pflow, monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[str]]:
    def complete(*words: str) -> list[str]:
        monkeypatch.setenv("COMP_WORDS", "\n".join(["pflow", *words]))
        monkeypatch.setenv("COMP_CWORD", str(len(words)))
        monkeypatch.setenv("_PFLOW_COMPLETE", "bash_complete")
        said = pflow()
        monkeypatch.delenv("_PFLOW_COMPLETE")
        assert said.err == ""
        return [line.partition(",")[2] for line in said.out.splitlines() if line]

    return complete


def test_runs_that_wait_their_steps_and_choices_are_offered(
    pflow: Pflow, write: Write, offered: Callable[..., list[str]], three: str, home: Path
) -> None:
    pflow("echo", "--x=1")
    fields = begin(pflow, write("a.json", ask(schema=FORM)))
    assert offered("answer", "") == [fields, three]
    assert offered("answer", three, "") == ["send[0]", "send[1]", "send[2]", "yes", "no"]
    assert offered("answer", three, "send[1]", "") == ["yes", "no"]
    assert offered("answer", fields, "") == ["go", "halt", "n=", "note="]
    assert offered("answer", fields, "go", "") == ["n=", "note="]
    assert offered("answer", fields, "go", "n=3", "") == ["note="]
    assert offered("answer", "nothing", "") == []
    with Workspace(Home(home)) as workspace:
        waits = workspace.run({"nodes": [{"id": "m", "type": "wait", "params": {"message": "paid"}}]}).run_id
    assert offered("send", waits, "") == ["paid"]
    assert offered("send", three, "") == []


def test_many_answers_are_named_in_short_and_told_how_to_give_them(pflow: Pflow, write: Write) -> None:
    each = {**ask(), "id": "each", "batch": {"items": list(range(30))}}
    run_id = begin(pflow, write("many.json", each))
    said = pflow("answer", run_id, "go")
    assert (said.code, said.err.splitlines()[0]) == (2, "error: `each` asks about 30 items")
    assert "each --all CHOICE`" in said.err
    said = pflow("answer", run_id, "each", "--all", "go")
    assert said.code == 0
    assert "`each[19]` and 10 more\n" in said.err
