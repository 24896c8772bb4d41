"""Runs for people: named by their workflow, filtered, shown with values and items, compared, drawn and followed."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.cli.conftest import Pflow, spawn
from tests.cli.conversation import Conversation

LETTERS = """
name: letters
inputs: {word: {type: string, default: dear}}
nodes:
  - {id: greet, type: echo, batch: {items: [ada, bob]}, params: {text: "${word} ${item}"}}
  - {id: extra, type: echo, when: "word == 'hello'", params: {text: "${greet.results[0].text}"}}
outputs: {first: "${greet.results[0].text}"}
"""


@pytest.fixture
def letters(pflow: Pflow, tmp_path: Path) -> list[str]:
    """Two runs of a workflow, the newest first."""
    (tmp_path / "letters.yaml").write_text(LETTERS)
    assert pflow("run", "letters.yaml").code == 0
    assert pflow("run", "letters.yaml", "word=hello").code == 0
    return [run["run_id"] for run in pflow("runs", "list", "--json").json["data"]["runs"]]


@pytest.mark.parametrize(
    ("reference", "place"), [("letters", 0), ("letters~1", 1), ("latest", 0), ("latest~1", 1), ("letters~0", 0)]
)
def test_a_run_is_named_by_its_workflow(pflow: Pflow, letters: list[str], reference: str, place: int) -> None:
    assert pflow("runs", "show", reference, "--json").json["data"]["run_id"] == letters[place]
    assert pflow("trace", reference, "--json").json["data"]["run_id"] == letters[place]


def test_a_reference_that_means_nothing_says_what_there_is(pflow: Pflow, letters: list[str]) -> None:
    said = pflow("runs", "show", "leters")
    assert (said.code, "did you mean `letters`?" in said.err) == (2, True)
    said = pflow("runs", "show", "letters~2")
    assert (said.code, "hint: the oldest is `letters~1`" in said.err) == (2, True)
    said = pflow("runs", "show", letters[0][:4])
    assert said.code == 2
    assert f"hint: {letters[0]}  letters, completed, " in said.err, "candidates come with their names and times"
    assert pflow("trace", "/etc/passwd").code == 3


def test_runs_are_filtered(pflow: Pflow, letters: list[str]) -> None:
    pflow("echo", "--x=1")
    listed = pflow("runs", "list", "--workflow", "letters", "--status", "completed", "--since", "1h", "--json")
    assert [run["run_id"] for run in listed.json["data"]["runs"]] == letters
    assert all("duration_ms" in run for run in listed.json["data"]["runs"])
    assert pflow("runs", "list", "--text", "lett", "--limit", "1").out.split()[0] == letters[0]
    assert pflow("runs", "list", "--status", "failed").err == "no run matches\n"
    assert pflow("runs", "list", "--since", "0s").out == ""
    assert pflow("runs", "list", "--since", "soon").code == 2


def test_a_run_shows_its_outputs(pflow: Pflow, letters: list[str]) -> None:
    lines = pflow("runs", "show", "letters").out.splitlines()
    assert lines[-2:] == ["outputs", "  first: hello ada"]


def test_steps_show_what_they_were_given_and_gave(pflow: Pflow, letters: list[str]) -> None:
    shown = pflow("runs", "show", "letters", "--values").out
    assert "  given\n    text: hello ada\n  gave\n    text: hello ada\n" in shown
    said = pflow("runs", "show", "letters", "--step", "greet", "--step", "greet[1]")
    assert re.search(r'    greet\[1\]  completed  \d+ ms  \{"text":"hello bob"\}\n', said.out)
    assert re.search(
        r"\ngreet\[1\]  completed in \d+ ms\n  given\n    text: hello bob\n  gave\n    text: hello bob\n", said.out
    )
    assert pflow("runs", "show", "letters", "--step", "greet[2]").code == 2
    [item] = pflow("runs", "show", "letters", "--step", "greet[1]", "--json").json["data"]["steps"]
    assert (item["given"], item["outputs"]) == ({"text": "hello bob"}, {"text": "hello bob"})


def test_values_are_a_tree_on_request(pflow: Pflow, letters: list[str]) -> None:
    said = pflow("trace", "letters", "--step", "greet", "--field", "outputs.results", "--text")
    assert said.out == "[0]:\n  text: hello ada\n[1]:\n  text: hello bob\n"
    assert json.loads(pflow("trace", "letters", "--step", "greet", "--field", "outputs.results").out) == [
        {"text": "hello ada"},
        {"text": "hello bob"},
    ]


def test_secrets_that_a_step_was_given_are_not_shown(pflow: Pflow, tmp_path: Path) -> None:
    (tmp_path / "s.yaml").write_text(
        "inputs: {key: {type: string, secret: true}}\n"
        "nodes: [{id: use, type: shell, params: {command: ['true', 'key ${key}']}}]\n"
    )
    assert pflow("run", "s.yaml", "key=hush-hush-12345").code == 0
    shown = pflow("runs", "show", "latest", "--values")
    assert "hush-hush" not in shown.out + shown.err


def test_two_runs_are_compared(pflow: Pflow, letters: list[str]) -> None:
    said = pflow("runs", "diff", "letters~1", "letters")
    assert said.code == 1
    assert 'inputs\n  inputs.word\n    - "dear"\n    + "hello"\n' in said.out
    assert 'greet\n  outputs.results[0].text\n    - "dear ada"\n    + "hello ada"\n' in said.out
    assert said.out.endswith("the runs differ; steps: 2 output differs\n")
    assert pflow("runs", "diff", "letters", "letters").out.endswith("the runs are equal\n")
    assert pflow("runs", "diff", "letters", "letters").code == 0
    assert pflow("runs", "diff", "letters", "nothing").code == 2
    data = pflow("runs", "diff", "letters~1", "letters", "--json").json["data"]
    assert (data["equal"], data["a"]["run_id"], data["steps"][0]["class"]) == (False, letters[1], "output differs")


def test_the_graph_of_a_run_has_its_colours(pflow: Pflow, letters: list[str], tmp_path: Path) -> None:
    assert pflow("describe", "--run", "letters~1", "--svg", "run.svg").code == 0
    root = ElementTree.fromstring((tmp_path / "run.svg").read_text())
    states = {group.get("data-node"): group.get("class") for group in root.iter() if group.get("data-node")}
    assert states == {"greet": "done", "extra": "skipped"}
    assert pflow("describe", "--run", "letters", "--json").json["data"]["nodes"] == {"greet": "done", "extra": "done"}
    assert "  greet  done\n" in pflow("describe", "--run", "letters").out
    assert pflow("describe", "letters.yaml", "--run", "letters").code == 2
    assert pflow("describe").code == 2


def test_colours_are_for_terminals_that_want_them(pflow: Pflow, letters: list[str], tmp_path: Path) -> None:
    assert "\x1b" not in pflow("runs", "show", "letters").out
    for colour in (True, False):
        with Conversation(tmp_path, "runs", "show", "letters", colour=colour) as terminal:
            assert terminal.end() == 0
            assert ("\x1b[32mcompleted\x1b[0m" in terminal.shown) is colour
            assert terminal.lines[-1] == "  first: hello ada"


def test_a_value_cannot_paint_the_terminal(pflow: Pflow, tmp_path: Path) -> None:
    (tmp_path / "odd.json").write_text(
        json.dumps(
            {"nodes": [{"id": "a", "type": "echo", "params": {"x": "\x1b[31m\ue001red"}}], "outputs": {"x": "${a.x}"}}
        )
    )
    pflow("run", "odd.json")
    with Conversation(tmp_path, "runs", "show", "latest", colour=True) as terminal:
        assert terminal.end() == 0
    assert terminal.lines[-1] == r"  x: \x1b[31m\ue001red"


GATED = """
name: gated
inputs: {key: {type: string, secret: true}}
nodes:
  - {id: work, type: shell, params: {command: "echo begun ${key}; read line < gate; echo $line"}}
"""


@pytest.fixture
def gated(pflow: Pflow, tmp_path: Path) -> str:
    """A run that a process of its own drives, and whose step waits at the pipe `gate`."""
    os.mkfifo(tmp_path / "gate")
    (tmp_path / "gated.yaml").write_text(GATED)
    said = pflow("run", "gated.yaml", "key=hush-hush-12345", "--detach")
    assert said.code == 0, said
    return said.out.strip()


def read_until(process: subprocess.Popen[bytes], text: str) -> str:
    """What a process prints up to a line with this text."""
    assert process.stdout is not None
    lines = []
    for line in process.stdout:
        lines.append(line.decode())
        if text in lines[-1]:
            return "".join(lines)
    raise AssertionError(f"never printed {text!r}, but:\n{''.join(lines)}")


def test_a_run_is_followed_from_another_process(pflow: Pflow, gated: str, tmp_path: Path) -> None:
    with spawn("runs", "follow", gated, cwd=tmp_path) as first:
        told = read_until(first, "begun")
        assert "work  started" in told
        assert "work  │ begun" in told
        assert "hush" not in told
        assert [step["status"] for step in pflow("runs", "show", "gated", "--json").json["data"]["steps"]] == [
            "running"
        ]
        first.send_signal(signal.SIGINT)
        assert first.wait() == 130
        assert first.stderr is not None
        assert f"the run goes on; follow it again: pflow runs follow {gated}" in first.stderr.read().decode()
    with spawn("runs", "follow", "gated", "--json", cwd=tmp_path) as second:
        read_until(second, "StepStarted")
        (tmp_path / "gate").write_text("done\n")
        rest = read_until(second, '"event":"end"')
        assert second.wait() == 0
    events = [json.loads(line) for line in rest.splitlines()]
    assert events[-1] == {"event": "end", "run_id": gated, "status": "completed", "exit_code": 0}
    assert "StepCompleted" in [event["event"] for event in events]
    assert "hush" not in rest


def test_following_a_run_that_has_ended_tells_all_of_it(pflow: Pflow, write: Callable[..., str]) -> None:
    pflow("run", write("a.json", {"id": "stop", "type": "fail", "params": {"message": "it \x1b broke"}}))
    said = pflow("runs", "follow", "a")
    assert said.code == 1
    words = [line.split("  ", 1)[1] for line in said.out.splitlines()]
    assert words == ["a started", "stop  started", "stop  failed it \\x1b broke", "failed it \\x1b broke"]
    assert pflow("runs", "follow", "nothing").code == 2
