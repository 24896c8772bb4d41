"""The `llm` step with a model that is scripted: what it asks, what it gives, and how it fails."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest

from pflow import Workspace
from pflow.core.errors import ModelError, NoModelError
from pflow.core.file.home import Home
from pflow.engine.model.llm import Prompt
from tests.nodes.model.scripted import ScriptedModel, asks, document, workspace_of

PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 20

TITLE = {"title": {"type": "string"}, "note": {"type": "string", "default": ""}}


def fails(action: str, **more: Any) -> Callable[[Prompt], object]:
    """A model that does not answer."""

    def say(_: Prompt) -> object:
        raise ModelError(f"it ended with {action}", action=action, **more)

    return say


def test_a_step_gives_text_its_usage_its_cost_and_its_model(home: Path) -> None:
    outputs = {name: f"${{ask.{name}}}" for name in ("response", "text", "usage", "cost", "model")}
    with workspace_of(home, ScriptedModel("Because.")) as workspace:
        outcome = workspace.run(document(asks(), outputs=outputs))
    assert outcome.outputs == {
        "response": "Because.",
        "text": "Because.",
        "usage": {"input": 10, "output": 5, "cached": 0},
        "cost": 0.25,
        "model": "scripted-1",
    }


def test_templates_stand_in_prompts_as_in_any_text(home: Path) -> None:
    model = ScriptedModel()
    node = asks("Say ${word} of ${list}", system="Be ${word}", temperature=0, max_tokens=7, options={"top_p": 0.5})
    inputs = {"word": {"default": "brief"}, "list": {"default": [1, 2]}}
    with workspace_of(home, model) as workspace:
        assert workspace.run(document(node, inputs=inputs)).success
    [prompt] = model.prompts
    assert (prompt.text, prompt.system) == ("Say brief of [1,2]", "Be brief")
    assert (prompt.temperature, prompt.max_tokens, prompt.options) == (0.0, 7, {"top_p": 0.5})
    assert prompt.schema is None


def test_a_map_of_fields_is_asked_for_as_json_schema(home: Path) -> None:
    model = ScriptedModel({"title": "A"})
    with workspace_of(home, model) as workspace:
        outcome = workspace.run(document(asks(schema=TITLE), outputs={"answer": "${ask.response}"}))
    assert outcome.outputs == {"answer": {"title": "A", "note": ""}}
    assert model.prompts[0].schema == {
        "type": "object",
        "properties": TITLE,
        "required": ["title"],
        "additionalProperties": False,
    }


def test_json_schema_is_asked_for_as_it_is(home: Path) -> None:
    model = ScriptedModel([1, 2])
    schema = {"type": "array", "items": {"type": "integer"}}
    with workspace_of(home, model) as workspace:
        outcome = workspace.run(document(asks(schema=schema), outputs={"first": "${ask.response[0]}"}))
    assert (outcome.outputs, model.prompts[0].schema) == ({"first": 1}, schema)


def test_pictures_come_from_files_and_data_urls(home: Path, tmp_path: Path) -> None:
    model = ScriptedModel()
    (tmp_path / "a.png").write_bytes(PNG)
    url = "data:image/png;base64," + base64.b64encode(PNG).decode()
    with workspace_of(home, model) as workspace:
        assert workspace.run(document(asks(images=[str(tmp_path / "a.png"), url]))).success
    assert [(one.media_type, one.data) for one in model.prompts[0].images] == [("image/png", PNG)] * 2


@pytest.mark.parametrize(
    ("image", "said"),
    [
        ("missing.png", "does not exist"),
        ("text.png", "is not a picture"),
        ("data:text/plain;base64,AAAA", "is not a data URL of a picture"),
        ("data:image/png;base64,!", "not valid base64"),
    ],
)
def test_what_is_not_a_picture_is_refused(home: Path, tmp_path: Path, image: str, said: str) -> None:
    model = ScriptedModel()
    (tmp_path / "text.png").write_text("no")
    path = image if image.startswith("data:") else str(tmp_path / image)
    with workspace_of(home, model) as workspace:
        outcome = workspace.run(document(asks(images=[path])))
    assert outcome.error is not None and said in str(outcome.error["message"])
    assert model.prompts == []


def test_a_picture_from_a_protected_place_is_refused(home: Path) -> None:
    model = ScriptedModel()
    with workspace_of(home, model) as workspace:
        workspace.set_setting("SOME_KEY", "secret-of-mine")
        outcome = workspace.run(document(asks(images=[str(home / "settings.json")])))
    assert outcome.error is not None and outcome.error["type"] == "security"
    assert model.prompts == []


@pytest.mark.parametrize("action", ["refused", "cut", "rate_limited", "auth_failed", "timeout", "error"])
def test_each_failure_has_its_own_edge(home: Path, action: str) -> None:
    after = {"id": "after", "type": "echo", "params": {"why": "${ask.error.action}"}}
    other = {"id": "other", "type": "echo", "params": {"why": "none"}}
    edges = [{"from": "ask", "to": "other"}, {"from": "ask", "to": "after", "action": action}]
    with workspace_of(home, ScriptedModel(fails(action))) as workspace:
        outcome = workspace.run(document(asks(), other, after, edges=edges, outputs={"why": "${after.why:-}"}))
    assert (outcome.status, outcome.outputs) == ("completed", {"why": action})


def test_a_refusal_without_an_edge_of_its_own_is_an_error(home: Path) -> None:
    node = asks(more={"on": {"error": "next"}})
    with workspace_of(home, ScriptedModel(fails("refused"))) as workspace:
        outcome = workspace.run(document(node, {"id": "after", "type": "echo", "params": {"x": 1}}))
    assert outcome.success


def test_refused_is_still_a_word_like_any_other_elsewhere(home: Path) -> None:
    question = {"id": "ask", "type": "ask", "params": {"prompt": "?", "choices": ["taken", "refused"], "who": "agent"}}
    last = {"id": "last", "type": "echo", "params": {"x": "${ask.by}"}}
    edges = [{"from": "ask", "to": "last", "action": choice} for choice in ("taken", "refused")]
    with workspace_of(home) as workspace:
        waiting = workspace.run(document(question, last, edges=edges))
        assert waiting.status == "waiting"
        workspace.answer(waiting.run_id, choice="refused", by="ada")
        assert workspace.resume(waiting.run_id).outputs == {"x": "ada"}


def test_an_attempt_that_was_told_to_wait_is_made_again(home: Path) -> None:
    left = [True]

    def say(_: Prompt) -> object:
        if left and left.pop():
            raise ModelError("slower", action="rate_limited", details={"retry_after": 0.01})
        return "now"

    with workspace_of(home, ScriptedModel(say)) as workspace:
        outcome = workspace.run(document(asks(more={"retry": {"attempts": 2}}), outputs={"x": "${ask.response}"}))
    assert outcome.outputs == {"x": "now"}


def test_a_run_that_is_sure_to_need_a_model_does_not_begin_without_one(home: Path, tmp_path: Path) -> None:
    made = {"id": "make", "type": "write-file", "params": {"path": str(tmp_path / "made"), "content": "x"}}
    with workspace_of(home) as workspace, pytest.raises(NoModelError) as caught:
        workspace.run(document(made, asks()))
    assert not (tmp_path / "made").exists()
    assert "`ask` (llm)" in caught.value.message
    [add, key, agent] = caught.value.suggestions
    assert "pflow llm add" in add
    assert "PROVIDER/MODEL" in key
    assert "over MCP" in agent


def test_where_a_model_need_not_be_asked_the_step_says_that_there_is_none(home: Path) -> None:
    node = asks(model="acme/one", more={"when": "wanted"})
    inputs = {"wanted": {"type": "boolean", "default": True}}
    with workspace_of(home, ScriptedModel(available=False)) as workspace:
        outcome = workspace.run(document(node, inputs=inputs))
        assert workspace.run(document(node, inputs=inputs), {"wanted": False}).success
    assert outcome.error is not None
    assert (outcome.error["type"], outcome.failed_node) == ("no_model", "ask")
    assert "`acme/one`" in str(outcome.error["message"])


def test_secrets_reach_the_model_and_nothing_that_is_kept(home: Path) -> None:
    secret = "hunter2-hunter2"
    model = ScriptedModel(lambda prompt: prompt.text.upper() + prompt.text)
    declared = {"key": {"type": "string", "secret": True}}
    with workspace_of(home, model) as workspace:
        outcome = workspace.run(document(asks("Use ${key}"), inputs=declared), {"key": secret})
        trace = orjson.dumps(workspace.show_run(outcome.run_id)).decode()
    assert model.prompts[0].text == f"Use {secret}"
    kept = [path.read_bytes() for path in home.rglob("*") if path.is_file() and path.suffix != ".key"]
    assert secret not in trace and not any(secret.encode() in one for one in kept)


def test_items_of_a_batch_are_asked_one_by_one(home: Path) -> None:
    model = ScriptedModel(lambda prompt: prompt.text[-1])
    node = asks("Rate ${item}", more={"batch": {"items": ["a", "b", "c"], "concurrency": 3}})
    with workspace_of(home, model) as workspace:
        outcome = workspace.run(
            document(node, {"id": "last", "type": "let", "params": {"x": "ask.results.map(r, r.response)"}})
        )
    assert outcome.outputs == {"x": ["a", "b", "c"]}
    assert outcome.spent is not None
    assert (outcome.spent.tokens, outcome.spent.cost) == (45, 0.75)


def test_an_answer_that_takes_too_long_is_a_timeout(home: Path) -> None:
    class Slow(ScriptedModel):
        async def ask(self, prompt: Prompt, report: Callable[[str], None] = lambda _: None) -> Any:
            await asyncio.Event().wait()

    with workspace_of(home, Slow()) as workspace:
        outcome = workspace.run(document(asks(more={"timeout": 0.05})))
    assert outcome.error is not None and outcome.error["type"] == "timeout"


def test_the_time_in_which_an_agent_is_asked_does_not_count(home: Path) -> None:
    begin = {"id": "begin", "type": "echo", "params": {"x": 1}}
    pause = {"id": "pause", "type": "wait", "params": {"for": 0.6}}
    edges = [{"from": "begin", "to": "ask"}, {"from": "begin", "to": "pause"}]
    written = document(begin, asks(more={"timeout": 0.2}), pause, edges=edges, outputs={"said": "${ask.response}"})
    with Workspace(Home(home), lends=True) as workspace:
        outcome = workspace.run(written)
        assert (outcome.status, [one.place for one in outcome.open_waits]) == ("waiting", ["ask"])
        workspace.answer(outcome.run_id, choice="So.", by="ada")
        assert workspace.resume(outcome.run_id).outputs == {"said": "So."}
