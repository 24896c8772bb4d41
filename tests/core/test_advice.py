"""Advice is a string for a shell, and data for everything else."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from pflow.core.advice import Advice, from_data, to_data, to_text
from pflow.core.errors import StepError
from pflow.core.setting.redactor import Redactor
from pflow.engine.failure import describe_failure
from pflow.mcp_server.envelope import IN_TOOLS

ADVICE = Advice("then go on with `{resume}`", run="r1")


def test_advice_reads_as_the_commands_of_a_shell() -> None:
    assert ADVICE == "then go on with `pflow runs resume r1`"


def test_an_edge_with_words_of_its_own_says_the_commands_in_them() -> None:
    assert ADVICE.said_with(IN_TOOLS) == "then go on with `workflow_execute(resume='r1')`"


def test_a_command_that_only_a_person_can_run_stays_a_command() -> None:
    assert Advice("run `{log_in}`", server="s").said_with(IN_TOOLS) == "run `pflow mcp login s`"


@given(st.text())
def test_an_argument_is_never_taken_for_a_command(word: str) -> None:
    assert Advice("{resume}", run=word) == f"pflow runs resume {word}"
    assert Advice("`{word}` and {list_runs}", word=word) == f"`{word}` and pflow runs list"


def test_a_recorded_error_keeps_its_advice_as_data() -> None:
    error = describe_failure(StepError("no", suggestions=[ADVICE, "or wait"]), "n")
    recorded = to_data(error)
    assert recorded["suggestions"] == [{"advice": "then go on with `{resume}`", "args": {"run": "r1"}}, "or wait"]
    again: Any = from_data(recorded)
    assert again == error
    assert [type(one) for one in again["suggestions"]] == [Advice, str]


def test_hints_of_issues_in_an_error_are_recorded_as_data_too() -> None:
    error = {"type": "validation", "details": {"issues": [{"code": "x", "hint": ADVICE}, {"code": "y"}]}}
    recorded = to_data(error)
    assert recorded["details"] == {
        "issues": [{"code": "x", "hint": {"advice": ADVICE.text, "args": ADVICE.args}}, {"code": "y"}]
    }
    assert from_data(recorded) == error


def test_older_records_stay_as_they_are() -> None:
    error = {"type": "execution", "message": "no", "suggestions": ["pflow runs list"]}
    assert from_data(error) == error


def test_steps_see_plain_text() -> None:
    shown: Any = to_text({"suggestions": [ADVICE]})
    assert [type(one) for one in shown["suggestions"]] == [str]


def test_redaction_leaves_advice_without_secrets_as_it_is() -> None:
    redactor = Redactor({"TOKEN": "s3cr3t-value"})
    assert redactor.value(ADVICE) is ADVICE
    assert "s3cr3t" not in str(redactor.value(Advice("{resume}", run="s3cr3t-value")))
