"""Without a model, the agent that started a run answers its prompts: in both eras, and over restarts of the server."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest

from pflow import Workspace
from pflow.core.errors import InputError, NoModelError
from pflow.core.file.home import Home
from tests.mcp_server.asking.document import open_questions, status_of
from tests.mcp_server.asking.host import CLAUDE, CODEX, GEMINI, OLDER_CLAUDE, OPENCODE, Host, Json, Profile
from tests.nodes.model.scripted import ScriptedModel, asks, document, workspace_of
from tests.robust.world import until

PROFILES = [
    CLAUDE,
    CODEX,
    *(pytest.param(profile, marks=pytest.mark.slow) for profile in (OLDER_CLAUDE, OPENCODE, GEMINI)),
]
"""One of each era, and the others."""

PERSON: Json = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
SCHEMA: Json = {"title": {"type": "string"}, "people": {"type": "array", "items": PERSON}}
TWO = document(
    asks("Who wrote ${book}?", id="who", schema=SCHEMA, system="Be brief.", more={"timeout": 60}),
    asks("Praise ${who.response.people[0].name}", id="praise"),
    inputs={"book": {"type": "string", "default": "this"}},
    outputs={"said": "${praise.response}", "usage": "${praise.usage}", "cost": "${who.cost}", "by": "${who.model}"},
)
ANSWER: Json = {"title": "This", "people": [{"name": "Ada"}]}


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch) -> None:
    """An environment with nothing in it, as `env -i` makes one."""
    for name in list(os.environ):
        monkeypatch.delenv(name)


@pytest.fixture
def start(home: Path) -> Iterator[Callable[[Profile], Host]]:
    hosts: list[Host] = []

    def make(profile: Profile) -> Host:
        if hosts:
            hosts[-1].end()
        hosts.append(Host(home, profile))
        return hosts[-1]

    yield make
    for host in hosts:
        host.raw.kill()


def pflow(home: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """What a person types."""
    environment = {**os.environ, "PFLOW_HOME": str(home)}
    command = [sys.executable, "-m", "pflow", *words]
    return subprocess.run(
        command, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120
    )


def data_of(result: Json) -> Json:
    found: Json = result["structuredContent"]["data"]
    return found


@pytest.mark.parametrize("profile", PROFILES, ids=lambda profile: f"{profile.name}-{profile.protocol}")
def test_an_agent_answers_two_prompts_with_a_restart_between(
    bare: None, home: Path, start: Callable[[Profile], Host], profile: Profile
) -> None:
    first = start(profile).call({"workflow": TWO, "parameters": {"book": "It"}})
    data = data_of(first)
    run_id = data["run_id"]
    [waiting] = data["waiting"]
    assert (waiting["step"], waiting["who"], waiting["prompt"]) == ("who", "agent", "Who wrote It?")
    assert waiting["schema"]["properties"] == SCHEMA
    assert waiting["show"] == {"system": "Be brief."}
    text = first["content"][0]["text"]
    assert "Who wrote It?" in text and f"workflow_execute(resume='{run_id}', answers={{\"who\"" in text

    second = start(profile).call({"resume": run_id, "answers": {"who": {"answer": ANSWER}}})
    [waiting] = data_of(second)["waiting"]
    assert (waiting["prompt"], waiting["schema"]) == ("Praise Ada", {"type": "string"})

    last = start(profile).call({"resume": run_id, "answers": {"praise": {"answer": "Well done."}}})
    assert data_of(last)["outputs"] == {"said": "Well done.", "usage": None, "cost": None, "by": profile.by}
    assert "cost" not in data_of(last)
    with Workspace(Home(home)) as workspace:
        steps: Any = workspace.show_run(run_id)["steps"]
    assert [(one["by"], one["via"]) for step in steps for one in step["waits"]] == [(profile.by, "mcp-answers")] * 2


@pytest.mark.slow
def test_nobody_is_shown_a_form(home: Path, start: Callable[[Profile], Host]) -> None:
    for profile in (CLAUDE, OLDER_CLAUDE):
        host = start(profile)
        result = host.call({"workflow": TWO})  # fails if a person is asked
        assert data_of(result)["status"] == "waiting"
        assert host.asked == []


def test_an_answer_that_does_not_fit_is_told_what_is_wrong_and_the_question_stays(
    home: Path, start: Callable[[Profile], Host]
) -> None:
    host = start(CLAUDE)
    run_id = data_of(host.call({"workflow": TWO}))["run_id"]
    wrong: list[object] = [{"title": 7, "people": [{}]}, {"title": "x"}, [], "no JSON", 7, {**ANSWER, "more": 1}]
    for answer in wrong:
        result = host.call({"resume": run_id, "answers": {"who": {"answer": answer}}})
        error = result["structuredContent"]["error"]
        assert result["isError"] and error["details"]["problems"], answer
    assert "`people[0].name` is missing" in str(
        host.call({"resume": run_id, "answers": {"who": {"answer": wrong[0]}}})["structuredContent"]["error"]
    )
    assert status_of(home, run_id) == "waiting"
    assert data_of(host.call({"resume": run_id, "answers": {"who": {"answer": ANSWER}}}))["waiting"]


def test_an_agent_can_decline(home: Path, start: Callable[[Profile], Host]) -> None:
    host = start(CLAUDE)
    node = asks(more={"on": {"refused": "next"}})
    written = document(node, {"id": "end", "type": "echo", "params": {"x": "${ask.error.message:-answered}"}})
    run_id = data_of(host.call({"workflow": written}))["run_id"]
    ended = data_of(host.call({"resume": run_id, "answers": {"ask": {"decline": True}}}))
    assert "declined by claude-code" in ended["outputs"]["x"]


def test_all_items_of_a_batch_are_answered_together(home: Path, start: Callable[[Profile], Host]) -> None:
    host = start(OPENCODE)
    each = asks(
        "Rate ${item}",
        schema={"score": {"type": "integer"}},
        more={"batch": {"items": ["a", "b", "c"]}, "timeout": 60, "limit": "100/s"},
    )
    last = {"id": "last", "type": "let", "params": {"scores": "ask.results.map(r, r.response.score)"}}
    data = data_of(host.call({"workflow": document(each, last)}))
    assert [one["prompt"] for one in data["waiting"]] == ["Rate a", "Rate b", "Rate c"]
    answers = {one["step"]: {"answer": {"score": number}} for number, one in enumerate(data["waiting"])}
    ended = data_of(host.call({"resume": data["run_id"], "answers": answers}))
    assert ended["outputs"] == {"scores": [0, 1, 2]}


def test_prompts_stand_whole_in_a_result_as_long_as_they_fit(home: Path, start: Callable[[Profile], Host]) -> None:
    host = start(CLAUDE)
    each = asks("${item}", more={"batch": {"items": [letter * 40_000 for letter in "abc"]}})
    data = data_of(host.call({"workflow": document(each)}))
    assert [one["prompt"] for one in data["waiting"]] == ["a" * 40_000, "b" * 40_000]
    assert data["more_waiting"] == 1
    answers = {one["step"]: {"answer": "ok"} for one in data["waiting"]}
    data = data_of(host.call({"resume": data["run_id"], "answers": answers}))
    assert [one["prompt"] for one in data["waiting"]] == ["c" * 40_000]


@pytest.mark.slow
def test_a_prompt_that_is_too_long_for_an_agent_fails(home: Path, start: Callable[[Profile], Host]) -> None:
    result = start(CLAUDE).call({"workflow": document(asks("x" * 100_001))})
    assert result["structuredContent"]["error"]["type"] == "model"


@pytest.mark.slow
def test_a_detached_run_is_lent_as_well(home: Path, start: Callable[[Profile], Host]) -> None:
    host = start(CLAUDE)
    run_id = data_of(host.call({"workflow": TWO, "detach": True}))["run_id"]
    until(lambda: bool(open_questions(home, run_id)), "the detached run asks")
    ended = host.call({"resume": run_id, "answers": {"who": {"answer": ANSWER}}})
    assert data_of(ended)["run_id"] == run_id


@pytest.mark.slow
def test_a_person_can_answer_in_a_terminal_and_the_next_prompt_is_still_lent(
    home: Path, start: Callable[[Profile], Host]
) -> None:
    run_id = data_of(start(CLAUDE).call({"workflow": TWO}))["run_id"]
    wrong = pflow(home, "answer", run_id, "who", "title=This")
    assert (wrong.returncode, "`people` is missing" in wrong.stderr) == (2, True)
    done = pflow(home, "answer", run_id, "who", "title=This", 'people=[{"name": "Bob"}]')
    assert (done.returncode, "Praise Bob" in done.stderr) == (4, True)
    done = pflow(home, "answer", run_id, "praise", "Fine.")
    assert (done.returncode, "Fine." in done.stdout) == (0, True)


def test_an_answer_can_be_one_word_of_json(home: Path, start: Callable[[Profile], Host]) -> None:
    run_id = data_of(start(CLAUDE).call({"workflow": TWO}))["run_id"]
    assert pflow(home, "answer", run_id, "who", '{"title": "This", "people": [{"name": "Eve"}]}').returncode == 4
    assert "Praise Eve" in pflow(home, "runs", "show", run_id).stdout


@pytest.mark.slow
def test_a_run_that_failed_for_want_of_a_model_goes_on_from_an_agent(
    home: Path, start: Callable[[Profile], Host]
) -> None:
    written = document(asks(more={"when": "true"}), outputs={"said": "${ask.response}"})
    with workspace_of(home) as workspace:
        failed = workspace.run(written)
    assert failed.error is not None and failed.error["type"] == "no_model"
    host = start(GEMINI)
    assert data_of(host.call({"resume": failed.run_id}))["waiting"][0]["prompt"] == "Why?"
    ended = data_of(host.call({"resume": failed.run_id, "answers": {"ask": "So."}}))
    assert ended["outputs"] == {"said": "So."}


@pytest.mark.slow
def test_what_was_lent_is_not_asked_of_a_model_that_comes_later(home: Path, start: Callable[[Profile], Host]) -> None:
    run_id = data_of(start(CLAUDE).call({"workflow": TWO}))["run_id"]
    model = ScriptedModel("from the model")
    with workspace_of(home, model) as workspace:
        assert workspace.resume(run_id).status == "waiting"
        workspace.answer(run_id, "who", fields=ANSWER, by="ada")
        ended = workspace.resume(run_id)
    assert (ended.outputs["said"], ended.outputs["by"]) == ("from the model", "ada")
    assert [prompt.text for prompt in model.prompts] == ["Praise Ada"]


def test_secrets_are_not_in_what_an_agent_is_asked(home: Path, start: Callable[[Profile], Host]) -> None:
    declared = {"key": {"type": "string", "secret": True}}
    arguments = {"workflow": document(asks("Use ${key}"), inputs=declared), "parameters": {"key": "hunter2-hunter2"}}
    result = start(CLAUDE).call(arguments)
    assert "hunter2" not in str(result) and "Use " in str(result)


@pytest.mark.slow
def test_a_toolset_that_cannot_answer_is_told_that_there_is_no_model(home: Path) -> None:
    with Workspace(Home(home)) as workspace:
        workspace.save(TWO, "two")
    host = Host(home, CLAUDE, "--toolset", "core")
    try:
        result = host.call({"name": "two"}, tool="execute")
    finally:
        host.end()
    assert result["structuredContent"]["error"]["type"] == "no_model"


def test_nothing_is_lent_at_a_terminal(home: Path, tmp_path: Path) -> None:
    (tmp_path / "two.json").write_bytes(orjson.dumps(TWO))
    done = pflow(home, "run", str(tmp_path / "two.json"))
    assert done.returncode == 1
    assert "pflow llm add" in done.stderr and "PROVIDER/MODEL" in done.stderr and "over MCP" in done.stderr


def test_the_answer_of_a_question_with_fields_is_still_an_object(home: Path) -> None:
    question = {"id": "ask", "type": "ask", "params": {"prompt": "?", "schema": {"a": {}}, "who": "agent"}}
    with workspace_of(home) as workspace:
        run_id = workspace.run(document(question)).run_id
        [one] = open_questions(home, run_id)
        assert one.schema is None
        with pytest.raises(InputError):
            workspace.answer(run_id, "ask", "text")
    with workspace_of(home) as workspace, pytest.raises(NoModelError):
        workspace.run(TWO)
