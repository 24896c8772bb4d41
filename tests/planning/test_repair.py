"""A failed run is mended by a model that sees shapes, and goes on only when somebody has agreed."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from pflow import execute_workflow
from pflow.core.errors import NoModelError, SecurityError, UsageError
from pflow.core.file.home import Home
from pflow.workspace import Workspace
from tests.cli.conftest import Pflow
from tests.planning.conftest import Ask, Planning, recorded

BROKEN = {
    "name": "greet",
    "inputs": {"who": {"type": "object", "default": {"name": "Ada-Lovelace", "born": 181512}}},
    "nodes": [
        {"id": "person", "type": "echo", "params": {"data": "${who}"}},
        {"id": "say", "type": "let", "params": {"text": "'hello ' + person.data.title"}},
    ],
    "outputs": {"text": "${say.text}"},
}
SHELL = {"nodes": [{"id": "count", "type": "shell", "params": {"command": "exho three"}}]}


@pytest.fixture
def broken(write: Callable[..., str]) -> str:
    """A workflow that fails at its second step."""
    more = {name: part for name, part in BROKEN.items() if name != "nodes"}
    nodes = BROKEN["nodes"]
    assert isinstance(nodes, list)
    return write("broken.json", *nodes, **more)


def test_a_repair_shows_what_changes_and_the_run_goes_on_with_it(planning: Planning) -> None:
    workspace, _ = planning("repair_good")
    failed = workspace.run(BROKEN)
    assert failed.failed_node == "say"
    repair = workspace.propose_repair(failed.run_id)
    assert repair.ok
    assert [change.as_dict() for change in repair.comparison.changes or ()] == [
        {
            "change": "changed",
            "path": "nodes.say.params.text",
            "before": "'hello ' + person.data.title",
            "after": "'hello ' + person.data.name",
        }
    ]
    assert repair.gained == ()
    outcome = workspace.resume(failed.run_id, edited=repair.text)
    assert outcome.outputs == {"text": "hello Ada-Lovelace"}
    assert outcome.reused == ("person",)


def test_a_proposal_runs_nothing_and_is_kept_as_a_draft(planning: Planning) -> None:
    workspace, _ = planning("repair_good")
    failed = workspace.run(BROKEN)
    repair = workspace.propose_repair(failed.run_id)
    assert [run.state for run in workspace.runs()] == ["failed"]
    assert repair.draft == "greet-repaired"
    assert workspace.resume(failed.run_id, edited=repair.draft).success


def test_the_model_sees_shapes_and_no_values(planning: Planning) -> None:
    workspace, llm = planning("repair_good")
    failed = workspace.run(BROKEN, {"who": {"name": "Grace-Hopper", "born": 190612, "deep": {"secret": ["x-value-y"]}}})
    workspace.propose_repair(failed.run_id)
    [asked] = llm.prompts
    assert '"name": "string"' in asked.text
    assert '"born": "integer"' in asked.text
    for value in ("Grace-Hopper", "190612", "x-value-y"):
        assert value not in asked.text


def test_values_that_stand_in_the_error_itself_are_taken_out(planning: Planning) -> None:
    workspace, llm = planning("repair_unchanged")
    document = {
        "inputs": {"path": {"type": "string"}},
        "nodes": [{"id": "read", "type": "read-file", "params": {"path": "${path}"}}],
    }
    failed = workspace.run(document, {"path": "private-diary.txt"})
    assert "private-diary" in str(failed.error)
    workspace.propose_repair(failed.run_id)
    assert "private-diary" not in llm.prompts[0].text
    assert "‹value›" in llm.prompts[0].text


def test_secrets_stay_where_they_are(planning: Planning) -> None:
    planning("repair_good")[0].set_setting("API_TOKEN", "correct-horse-battery")
    workspace, llm = planning("repair_unchanged")
    document = {
        "inputs": {"api_token": {"type": "string", "secret": True}},
        "nodes": [{"id": "a", "type": "fail", "params": {"message": "refused with ${api_token}"}}],
    }
    failed = workspace.run(document)
    workspace.propose_repair(failed.run_id)
    assert "correct-horse" not in llm.prompts[0].text


def test_a_document_that_holds_a_credential_is_not_shown_to_a_model(planning: Planning) -> None:
    workspace, llm = planning("repair_good")
    token = "ghp_aB3dE5fG7hI9jK1lM3nO5pQ7rS9tU1vW3xY5"
    failed = workspace.run({"nodes": [{"id": "a", "type": "fail", "params": {"message": token}}]})
    with pytest.raises(SecurityError, match="holds what looks like a credential"):
        workspace.propose_repair(failed.run_id)
    assert llm.prompts == []


def test_a_document_that_cannot_be_checked_alone_is_not_repaired(planning: Planning, tmp_path: Path) -> None:
    workspace, llm = planning("repair_good")
    (tmp_path / "inner.yaml").write_text("nodes:\n  - {id: no, type: fail, params: {message: no}}\n")
    (tmp_path / "outer.yaml").write_text("nodes:\n  - {id: in, type: workflow, params: {workflow: ./inner.yaml}}\n")
    failed = workspace.run(str(tmp_path / "outer.yaml"))
    Path(tmp_path / "inner.yaml").unlink()
    with pytest.raises(UsageError, match="its document is not valid on its own"):
        workspace.propose_repair(failed.run_id)
    assert llm.prompts == []


def test_a_repair_may_not_add_steps_with_effects(planning: Planning) -> None:
    workspace, llm = planning("repair_command")
    failed = workspace.run(BROKEN)
    repair = workspace.propose_repair(failed.run_id)
    assert [issue.code for issue in repair.issues] == ["not-offered"]
    assert repair.draft == ""
    assert len(llm.prompts) == 4


def test_a_run_is_repaired_at_most_three_times(planning: Planning) -> None:
    workspace, llm = planning("repair_again")
    outcome = workspace.run(BROKEN)
    for _ in range(3):
        repair = workspace.propose_repair(outcome.run_id)
        outcome = workspace.resume(outcome.run_id, edited=repair.text)
        assert not outcome.success
    with pytest.raises(UsageError, match="was repaired 3 times already"):
        workspace.propose_repair(outcome.run_id)
    assert len(llm.prompts) == 3


def test_only_a_run_that_failed_is_repaired(planning: Planning) -> None:
    workspace, _ = planning("repair_good")
    done = workspace.run({"nodes": [{"id": "a", "type": "echo", "params": {"x": 1}}]})
    with pytest.raises(UsageError, match="is completed; only a run that failed can be repaired"):
        workspace.propose_repair(done.run_id)


def test_without_a_model_a_repair_says_what_works_without(home: Path) -> None:
    with Workspace(Home(home)) as workspace:
        failed = workspace.run({"nodes": [{"id": "a", "type": "fail", "params": {"message": "no"}}]})
        with pytest.raises(NoModelError) as caught:
            workspace.propose_repair(failed.run_id)
    assert "--with" in caught.value.suggestions[1]


# execute_workflow


def test_a_program_that_enables_repair_gets_the_mended_outcome_and_a_notice(home: Path) -> None:
    outcome = execute_workflow(BROKEN, enable_repair=True, llm=recorded("repair_good"))
    assert outcome.outputs == {"text": "hello Ada-Lovelace"}
    assert outcome.notices[0] == "a model mended step `say`: The key is `name`."


def test_a_program_gives_up_after_three_repairs(home: Path) -> None:
    llm = recorded("repair_again")
    outcome = execute_workflow(BROKEN, enable_repair=True, llm=llm)
    assert outcome.status == "failed"
    assert len(llm.prompts) == 3


def test_a_program_never_runs_a_command_of_a_model_that_nobody_has_seen(home: Path) -> None:
    outcome = execute_workflow(SHELL, enable_repair=True, llm=recorded("repair_shell"))
    assert outcome.status == "failed"
    assert outcome.notices[0].startswith(
        "not repaired: the model wrote commands or code, which a person looks at first"
    )


def test_without_repair_no_model_is_asked(home: Path) -> None:
    llm = recorded("repair_good")
    assert not execute_workflow(BROKEN, llm=llm).success
    assert llm.prompts == []


# The command line


def test_a_failed_run_is_mended_and_goes_on(ask: Ask, broken: str) -> None:
    said = ask("repair_good", "run", broken, "--repair", "--yes")
    assert said.code == 0, said
    assert said.out == "hello Ada-Lovelace\n"
    assert "~ say.params.text" in said.err
    assert "kept: person" in said.err


def test_in_a_pipe_nobody_agrees_and_the_way_on_is_told(ask: Ask, broken: str, pflow: Pflow) -> None:
    said = ask("repair_good", "run", broken, "--repair")
    assert said.code == 1
    assert said.out == ""
    [line] = [line for line in said.err.splitlines() if line.startswith("nobody agreed")]
    command = line.partition("go on with it: pflow ")[2].split()
    assert pflow(*command).out == "hello Ada-Lovelace\n"


def test_in_a_pipe_no_repair_is_offered(ask: Ask, broken: str) -> None:
    said = ask("repair_good", "run", broken)
    assert said.code == 1
    assert "mend" not in said.err


def test_programs_read_what_was_repaired(ask: Ask, broken: str) -> None:
    said = ask("repair_good", "run", broken, "--repair", "--yes", "--json")
    assert said.json["success"]
    [repair] = said.json["repairs"]
    assert (repair["step"], repair["valid"], repair["planner"]["model"]) == ("say", True, "scripted-1")


def test_a_command_that_a_model_wrote_is_not_run_by_yes_alone(ask: Ask, tmp_path: Path) -> None:
    (tmp_path / "shell.json").write_text(json.dumps(SHELL))
    said = ask("repair_shell", "run", "shell.json", "--repair", "--yes")
    assert said.code == 1
    assert "count runs the command echo three" in said.err
    assert "not run: a model wrote commands or code, and nobody has looked at them" in said.err


def test_a_model_that_changes_nothing_says_why(ask: Ask, broken: str) -> None:
    said = ask("repair_unchanged", "run", broken, "--repair", "--yes")
    assert said.code == 1
    assert "the model changed nothing. It says: The input is wrong, not the document." in said.err


def test_repair_without_a_model_says_so_and_changes_nothing(pflow: Pflow, broken: str) -> None:
    said = pflow("run", broken, "--repair", "--yes")
    assert said.code == 1
    assert "not repaired: a repair needs a language model, and no model is configured" in said.err


def test_three_repairs_that_do_not_help_are_the_end(ask: Ask, broken: str) -> None:
    said = ask("repair_again", "run", broken, "--repair", "--yes")
    assert said.code == 1
    assert said.err.count("a model would mend step `say`") == 3
    assert "was repaired 3 times already" in said.err
