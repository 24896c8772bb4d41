"""Questions of runs at a terminal: asked one at a time, by letter or word, and left waiting by Ctrl-C."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pflow.cli.asking.choice_letter import letters_of, show_choice
from pflow.core.file.home import Home
from pflow.workspace import Workspace
from tests.cli.conftest import Pflow
from tests.cli.conversation import CTRL_C, CTRL_D, Conversation

ASK: dict[str, Any] = {"id": "ask", "type": "ask", "params": {"prompt": "Go on?", "choices": ["go", "halt"]}}
AFTER: dict[str, Any] = {"id": "after", "type": "echo", "params": {"text": "chosen ${ask.choice}"}}
PROMPT = "leaves it waiting): "

Write = Callable[..., str]


@pytest.fixture
def talk(pflow: Pflow, tmp_path: Path) -> Callable[..., Conversation]:
    """Starts pflow on a terminal of its own, in the home that `pflow` prepared."""
    return lambda *words, **more: Conversation(tmp_path, *words, **more)


Talk = Callable[..., Conversation]


def ask(**params: Any) -> dict[str, Any]:
    return {**ASK, "params": {**ASK["params"], **params}}


@pytest.mark.parametrize("key", ["g", "G", "go", "Go"])
def test_a_choice_is_a_letter_or_a_word(talk: Talk, write: Write, key: str) -> None:
    with talk("run", write("a.json", ask(), AFTER)) as shown:
        shown.expect(PROMPT).press(f"{key}\n")
        assert shown.end() == 0
        assert shown.lines[0:2] == [
            "question `ask`: Go on?",
            f"  [g]o  [h]alt  (? shows everything, Ctrl-C leaves it waiting): {key}",
        ]
        assert shown.lines[-1] == "chosen go"


def test_what_is_no_choice_is_asked_again(talk: Talk, write: Write) -> None:
    with talk("run", write("a.json", ask(), AFTER)) as shown:
        shown.expect(PROMPT).press("x\n").expect("`x` is not one of the choices")
        shown.expect(PROMPT).press("\n").expect(PROMPT).press("halt\n").expect("chosen halt")
        assert shown.end() == 0


def test_fields_are_asked_for_one_by_one_with_types_and_defaults(talk: Talk, write: Write) -> None:
    fields = {
        "n": {"type": "integer", "minimum": 1},
        "place": {"type": "string", "enum": ["here", "there"], "default": "here"},
        "note": {"type": "string", "required": False, "description": "What to remember"},
        "sure": {"type": "boolean"},
    }
    end = {"id": "end", "type": "let", "params": {"answer": "ask.answer"}}
    with talk("run", write("a.json", ask(schema=fields), end)) as shown:
        shown.expect(PROMPT).press("g\n")
        shown.expect("  n (integer): ").press("\n").expect("  n (integer): ").press("0\n")
        shown.expect("`n` must be at least 1").expect("  n (integer): ").press("x\n")
        shown.expect("`n` must be an integer, not `x`").expect("  n (integer): ").press("3\n")
        shown.expect('  place (string: here or there, by default "here"): ').press("\n")
        shown.expect("  note (string, optional; What to remember): ").press("\n")
        shown.expect("  sure (boolean): ").press("yes\n")
        assert shown.end() == 0
        text = "\n".join(shown.lines)
    assert text.endswith('{\n  "n": 3,\n  "place": "here",\n  "sure": true\n}')


def test_a_question_mark_shows_everything(talk: Talk, write: Write) -> None:
    long = "\n".join(f"line {n}" for n in range(40))
    question = ask(show={"body": long, "size": 40}, timeout="3d", default="halt")
    with talk("run", write("a.json", question, AFTER)) as shown:
        shown.expect("line 39").expect(PROMPT)
        assert not any("line 0" in line for line in shown.lines)
        shown.press("?\n").expect("line 0").expect("line 39").expect("size: 40").expect("then `halt` counts")
        shown.expect("pflow answer ").expect(PROMPT).press("g\n")
        assert shown.end() == 0


def test_an_approval_shows_what_would_be_done_and_no_declines(talk: Talk, write: Write) -> None:
    deploy = {"id": "deploy", "type": "shell", "params": {"command": "echo deployed"}, "approve": True}
    with talk("run", write("a.json", deploy)) as shown:
        shown.expect("approve `deploy`: Run `deploy` (shell)?").expect('command: "echo deployed"')
        shown.expect("[y]es  [n]o").expect(PROMPT).press("n\n")
        assert shown.end() == 1
        assert any("was not approved: it was declined by" in line for line in shown.lines)


def test_decline_is_a_word_of_its_own(talk: Talk, write: Write) -> None:
    with talk("run", write("a.json", ask(default="halt"), AFTER)) as shown:
        shown.expect(PROMPT).press("decline\n").expect("chosen halt")
        assert shown.end() == 0


def test_ctrl_c_leaves_the_question_for_later(talk: Talk, write: Write, pflow: Pflow) -> None:
    with talk("run", write("a.json", ask(), AFTER)) as shown:
        shown.expect(PROMPT).press(CTRL_C)
        shown.expect("waiting: `ask` for an answer: Go on?").expect("pflow answer ")
        assert shown.end() == 130
    [run] = pflow("runs", "list", "--json").json["data"]["runs"]
    assert run["status"] == "waiting"
    with talk("answer", "latest") as shown:
        shown.expect(PROMPT).press(CTRL_C)
        assert shown.end() == 130
    with talk("answer", "latest") as shown:
        shown.expect(PROMPT).press("go\n").expect("answered `ask`").expect("chosen go")
        assert shown.end() == 0
        assert sum("question `ask`" in line for line in shown.lines) == 1


def test_ctrl_d_leaves_it_as_well(talk: Talk, write: Write) -> None:
    with talk("run", write("a.json", ask(schema={"n": {"type": "integer"}}), AFTER)) as shown:
        shown.expect(PROMPT).press("g\n").expect("n (integer): ").press(CTRL_D)
        shown.expect("waiting: `ask`")
        assert shown.end() == 4


def test_a_resume_asks_inline_too_and_one_question_after_the_other(talk: Talk, write: Write, pflow: Pflow) -> None:
    beside = [{"from": "start", "to": name} for name in ("one", "two")]
    nodes = [{"id": "start", "type": "echo"}, {**ASK, "id": "one"}, {**ASK, "id": "two"}]
    assert pflow("run", write("a.json", *nodes, edges=beside)).code == 4
    with talk("runs", "resume", "latest") as shown:
        shown.expect("question `one`").expect(PROMPT)
        assert not any("question `two`" in line for line in shown.lines)
        shown.press("g\n").expect("question `two`").expect(PROMPT).press("h\n")
        assert shown.end() == 0


def test_with_json_nobody_is_asked(talk: Talk, write: Write) -> None:
    with talk("run", write("a.json", ask(), AFTER), "--json") as shown:
        shown.expect('"status": "waiting"')
        assert shown.end() == 4


def test_what_others_run_meanwhile_does_not_garble_the_prompt(talk: Talk, write: Write, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    slow = {"id": "slow", "type": "shell", "params": {"command": "cat fifo"}}
    quick = {"id": "quick", "type": "shell", "params": {"command": "echo quick"}}
    edges = [{"from": "start", "to": name} for name in ("ask", "slow")] + [{"from": "slow", "to": "quick"}]
    file = write("a.json", {"id": "start", "type": "echo"}, ASK, slow, quick, edges=edges)
    with talk("run", file) as shown:
        shown.expect(PROMPT).press("g")
        (tmp_path / "fifo").write_text("done")  # the step ends while the answer is half typed
        with Workspace(Home(tmp_path / ".pflow")) as workspace:
            while _status_of(workspace, "quick") != "completed":
                threading.Event().wait(0.02)
        shown.press("o\n")
        assert shown.end() == 0
        lines = shown.lines
    at = lines.index("question `ask`: Go on?")
    assert lines[at + 1].endswith("(? shows everything, Ctrl-C leaves it waiting): go")
    after = [line.split("  ")[0] for line in lines[at + 2 :]]
    assert {"✓ slow", "✓ quick", "✓ ask"} <= set(after)


def _status_of(workspace: Workspace, step: str) -> str:
    steps: Any = workspace.show_run("latest")["steps"]
    return next((str(one["status"]) for one in steps if one["step"] == step), "")


def test_an_answer_from_elsewhere_ends_the_prompt(talk: Talk, write: Write, pflow: Pflow) -> None:
    with talk("run", write("a.json", ask(), AFTER)) as shown:
        shown.expect(PROMPT)
        assert pflow("answer", "latest", "halt").out == "answered `ask`; the process that runs it takes it up\n"
        shown.expect("chosen halt")
        assert shown.end() == 0


def test_what_was_typed_before_the_question_does_not_answer_it(talk: Talk, write: Write, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    first = {"id": "first", "type": "shell", "params": {"command": "cat fifo"}}
    deploy = {"id": "deploy", "type": "echo", "params": {"text": "deployed"}, "approve": True}
    with talk("run", write("a.json", first, deploy)) as shown:
        shown.expect("first").press("y\n").expect("y")
        (tmp_path / "fifo").write_text("x")
        shown.expect("approve `deploy`").expect(PROMPT).press("n\n")
        assert shown.end() == 1


def test_a_message_is_waited_for_with_a_word_about_it(talk: Talk, write: Write, pflow: Pflow) -> None:
    with talk("run", write("a.json", {"id": "m", "type": "wait", "params": {"message": "paid"}})) as shown:
        shown.expect("waiting: `m` for message `paid`").expect("Ctrl-C leaves it waiting; `--detach`")
        shown.expect("· waiting for message `paid`")
        assert pflow("send", "latest", "paid", "sum=3").code == 0
        shown.expect("1 step in")
        assert shown.end() == 0


def test_a_dumb_terminal_is_asked_as_well(talk: Talk, write: Write) -> None:
    with talk("run", write("a.json", ask(), AFTER), term="dumb") as shown:
        shown.expect(PROMPT).press("g\n").expect("chosen go")
        assert shown.end() == 0


@pytest.mark.parametrize(
    ("choices", "shown"),
    [
        (["post", "edit", "stop"], "[p]ost [e]dit [s]top"),
        (["stop", "start", "status"], "[s]top s[t]art st[a]tus"),
        (["yes", "no"], "[y]es [n]o"),
        (["ba", "b"], "b[a] [b]"),
        (["a", "A1"], "[a] A[1]"),
        (["ja", "ä", "…"], "[j]a [a] ä [b] …"),
        ([f"c{n}" for n in range(12)], "[c]0 c[1] c[2] c[3] c[4] c[5] c[6] c[7] c[8] c[9] c1[0] [a] c11"),
    ],
)
def test_every_choice_has_a_letter_of_its_own(choices: list[str], shown: str) -> None:
    letters = letters_of(choices)
    assert list(letters.values()) == choices
    assert " ".join(show_choice(letter, choice) for letter, choice in letters.items()) == shown
