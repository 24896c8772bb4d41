"""Language models through the workspace: what steps may ask, who answers, and that keys stay where they belong."""

from __future__ import annotations

from pathlib import Path

import pytest
from pocketflow import AsyncNode

from pflow import Home, Workspace, current_step
from pflow.core.errors import ExistsError
from pflow.engine.model.llm import Prompt
from pflow.testing import ScriptedLLM
from tests.adapters.model.provider_server import failing, provider, saying

KEY = "c4n4ry-0123456789-abcdef"
DOCUMENT = {
    "nodes": [{"id": "ask-model", "params": {"text": "hi"}}],
    "outputs": {"said": {"source": "${ask-model.said}"}},
}


class AskModel(AsyncNode):
    """Ask a model.

    Interface:
    - Params: text: str (required) - What to ask
    - Writes: shared["said"]: str - What it said
    """

    async def exec_async(self, prep_res: object) -> str:
        step = current_step()
        assert step is not None
        llm = step.services.llm()
        assert llm is not None and llm.is_available()
        return (await llm.ask(Prompt(text=str(self.params["text"])), step.report)).text

    async def post_async(self, shared: dict[str, object], prep_res: object, exec_res: str) -> None:
        shared["said"] = exec_res


def test_a_step_asks_the_model_that_a_program_brings(home: Path) -> None:
    llm = ScriptedLLM(["hello"])
    with Workspace(Home(home), nodes=[AskModel], llm=llm) as workspace:
        assert workspace.run(DOCUMENT).outputs == {"said": "hello"}
    assert [prompt.text for prompt in llm.prompts] == ["hi"]


def test_a_model_that_is_configured_while_a_program_runs_answers_its_next_step(home: Path) -> None:
    with provider(saying("chat", "hello")) as server, Workspace(Home(home), nodes=[AskModel]) as workspace:
        assert workspace.run(DOCUMENT).status == "failed"
        workspace.models.add("mine", model="m", base_url=server.url)
        assert workspace.run(DOCUMENT).outputs == {"said": "hello"}
        with pytest.raises(ExistsError):
            workspace.models.add("mine", model="m", base_url=server.url)


def test_a_key_that_a_provider_sends_back_is_in_nothing_that_is_kept(home: Path) -> None:
    environ = {"WHATEVER": KEY}  # a name that tells nobody what it holds
    acts = (saying("chat", f"your key is {KEY}"), failing(400, f"your key is {KEY}"))
    with provider(*acts) as server:
        with Workspace(Home(home), nodes=[AskModel], environ=environ) as workspace:
            workspace.models.add("mine", model="m", base_url=server.url, key="WHATEVER")
            good, bad = workspace.run(DOCUMENT), workspace.run(DOCUMENT)
    assert (good.status, bad.status) == ("completed", "failed")
    assert server.asked[0].headers["authorization"] == f"Bearer {KEY}"
    assert KEY not in repr([bad.error, bad.envelope()])
    files = [path for path in home.rglob("*") if path.is_file()]
    assert [path for path in files if KEY.encode() in path.read_bytes()] == []
