"""A command that is a list of arguments: no shell reads it, and values stay inside the argument they stand in."""

import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pflow.core.errors import DocumentError
from pflow.core.file.home import Home
from pflow.core.setting.settings import Settings
from pflow.execution.check import check_source
from pflow.execution.outcome import Outcome
from pflow.execution.wiring import Wiring
from pflow.execution.workflow_source import find_source
from pflow.workspace import Workspace
from tests.quick import examples

HOSTILE = [
    "$(touch pwned)",
    "`touch pwned`",
    "; touch pwned",
    "' \" \\",
    "a\nb",
    "-n",
    "*",
    "~",
    "$HOME",
    "${HOME}",
    "",
]


def step(command: object, **params: object) -> dict[str, Any]:
    return {
        "inputs": {"v": {"type": "any", "default": ""}},
        "nodes": [{"id": "s", "type": "shell", "params": {"command": command, **params}}],
        "outputs": {"out": {"source": "${s.stdout}"}},
    }


def run(home: Path, document: dict[str, Any], **params: object) -> Outcome:
    with Workspace(Home(home)) as workspace:
        return workspace.run(document, params)


@pytest.mark.parametrize("value", HOSTILE)
def test_a_value_stays_one_argument(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.chdir(tmp_path)
    command = ["printf", "<%s>", "${v}", "a ${v}${v} b", "$(id)", "$HOME", 5, 1.5, True]
    outcome = run(tmp_path / "home", step(command), v=value)
    assert outcome.outputs == {"out": f"<{value}><a {value}{value} b><$(id)><$HOME><5><1.5><true>"}
    assert not (tmp_path / "pwned").exists()


@given(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"])))
@settings(max_examples=examples(20))
def test_any_text_arrives_as_it_is(tmp_path_factory: pytest.TempPathFactory, value: str) -> None:
    outcome = run(tmp_path_factory.getbasetemp() / "text home", step(["printf", "%s.", "${v}"]), v=value)
    assert outcome.outputs == {"out": f"{value}."}


@pytest.mark.parametrize(("value", "text"), [(7, "7"), (1.5, "1.5"), (True, "true")])
def test_numbers_and_booleans_are_text(tmp_path: Path, value: object, text: str) -> None:
    assert run(tmp_path / "home", step(["printf", "%s", "${v}"]), v=value).outputs == {"out": text}


@pytest.mark.parametrize(("value", "kind"), [([1], "an array"), ({"a": 1}, "an object"), (None, "null")])
def test_a_value_of_another_type_is_not_an_argument(tmp_path: Path, value: object, kind: str) -> None:
    failed = run(tmp_path / "home", step(["printf", "%s", "${v}"]), v=value).error
    assert failed is not None
    assert failed["message"] == (f"the value of `${{v}}` is {kind}, and an argument is a string, a number or a boolean")


def test_inside_of_longer_text_a_value_is_json(tmp_path: Path) -> None:
    outcome = run(tmp_path / "home", step(["printf", "%s", "--data=${v}"]), v={"a": [1, None]})
    assert outcome.outputs == {"out": '--data={"a":[1,null]}'}


@pytest.mark.parametrize("value", ["a\0b", "x" * 120_001])
def test_a_value_that_no_argument_can_carry_fails_the_step(tmp_path: Path, value: str) -> None:
    assert not run(tmp_path / "home", step(["true", "${v}"]), v=value).success


def test_stdin_variables_folder_and_exit_codes_work_as_in_a_command_line(tmp_path: Path) -> None:
    params = {"stdin": "one\n", "env": {"WORD": "${v}"}, "cwd": str(tmp_path), "ok_codes": [3]}
    command = ["sh", "-c", 'cat; pwd; echo "$WORD" "$1"; exit 3', "sh", "${v}"]
    outcome = run(tmp_path / "home", step(command, **params), v="$(id)")
    assert outcome.outputs == {"out": f"one\n{tmp_path}\n$(id) $(id)"}


def test_a_batch_fills_in_its_items(tmp_path: Path) -> None:
    document = step(["printf", "%s", "${item};${item_index}"])
    document["nodes"][0]["batch"] = {"items": ["$(id)", "b c"]}
    document["outputs"] = {
        "first": {"source": "${s.results[0].stdout}"},
        "second": {"source": "${s.results[1].stdout}"},
    }
    assert run(tmp_path / "home", document).outputs == {"first": "$(id);0", "second": "b c;1"}


def test_a_timeout_ends_the_program(tmp_path: Path) -> None:
    error = run(tmp_path / "home", step(["sleep", 60], timeout=0.2)).error
    assert error is not None
    assert error["message"] == "the command took longer than 0.2 s and was ended"


def test_a_program_is_found_on_the_path_or_in_the_folder(tmp_path: Path) -> None:
    tool = tmp_path / "tool"
    tool.write_text('#!/bin/sh\nprintf "%s" "$1"\n')
    tool.chmod(0o755)
    assert run(tmp_path / "home", step(["./tool", "${v}"], cwd=str(tmp_path)), v="a b").outputs == {"out": "a b"}
    assert run(tmp_path / "home", step([str(tool), "${v}"]), v="a b").outputs == {"out": "a b"}


def test_a_missing_program_is_named_and_secrets_are_not(tmp_path: Path) -> None:
    document = step(["no-such-program", "--key=${key}", "${v}"])
    document["inputs"]["key"] = {"type": "string", "secret": True}
    error = run(tmp_path / "home", document, v="w", key="hunter2hunter2").error
    assert error is not None
    assert error["message"] == "the command `no-such-program` was not found"
    assert "hunter2" not in str(error)


# Runs that were recorded before a check existed


RUNS_A_VALUE = {
    "inputs": {"n": {"type": "string"}},
    "nodes": [
        {"id": "wait", "type": "shell", "params": {"command": "test -e go"}},
        {"id": "s", "type": "shell", "params": {"command": 'sh -c "echo $NAME"', "env": {"NAME": "${n}"}}},
    ],
    "edges": [{"from": "wait", "to": "s"}],
    "outputs": {"out": {"source": "${s.stdout}"}},
}


def begin_recorded(home: Home) -> str:
    """A failed run of a document that today's checks refuse, as an earlier release left it."""
    with Workspace(home) as workspace:
        checked = check_source(Wiring(home), find_source(RUNS_A_VALUE, home), recorded=True)
        outcome = workspace.wait(workspace.begin(checked, {"n": "a"}))
    assert not outcome.success
    return outcome.run_id


def test_a_refused_command_is_a_warning_when_its_run_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    home = Home(tmp_path / "home")
    run_id = begin_recorded(home)
    (tmp_path / "go").touch()
    with Workspace(home) as workspace:
        assert not workspace.check(RUNS_A_VALUE).ok
        resumed = workspace.begin_resume(run_id)
        assert [(issue.severity, issue.code) for issue in resumed.warnings] == [("warning", "template")]
        assert workspace.wait(resumed).outputs == {"out": "a"}


def test_the_strict_policy_refuses_a_run_that_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    home = Home(tmp_path / "home")
    run_id = begin_recorded(home)
    Settings(home).set("shell.strict", "true")
    with Workspace(home) as workspace, pytest.raises(DocumentError, match="which `shell.strict` refuses"):
        workspace.begin_resume(run_id)


# The strict policy


@pytest.mark.parametrize(
    ("command", "env", "refused"),
    [
        ("echo ${v}", {}, 1),
        ('echo "$NAME"', {"NAME": "${v}"}, 1),
        ("sh -c 'echo \"$NAME\"'", {"NAME": "${v}"}, 1),
        ("echo ${v} $${NAME}", {"NAME": "${v}"}, 2),
        ("echo a", "${v}", 1),
        ("echo a", {"NAME": "${v}"}, 0),
        ("echo a", {"NAME": "b"}, 0),
        (["echo", "${v}"], {"NAME": "${v}"}, 0),
    ],
)
def test_the_strict_policy_wants_values_in_lists(tmp_path: Path, command: object, env: object, refused: int) -> None:
    home = Home(tmp_path / "home")
    document = step(command, env=env)
    with Workspace(home) as workspace:
        assert workspace.check(document).ok
    Settings(home).set("shell.strict", "true")
    with Workspace(home) as workspace:
        found = workspace.check(document).errors
        assert [issue.hint for issue in found] == [
            'write `command` as a list of arguments: `["program", "${value}"]`'
        ] * refused


def test_names_from_a_value_are_checked_when_they_are_known(tmp_path: Path) -> None:
    document = step("env", env="${v}")
    assert "A=b" in str(run(tmp_path / "home", document, v={"A": "b"}).outputs)
    error = run(tmp_path / "home", document, v={"HOME": os.devnull}).error
    assert error is not None
    assert error["message"] == "`env` has a variable `HOME` that cannot be set"
