"""Which model is meant, and what is said if nobody can answer."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from pflow.adapters.model.provider import WIRES as NAMES
from pflow.adapters.model.provider import agents, providers
from pflow.adapters.model.target import Choice, Target
from pflow.adapters.model.wires import WIRES
from pflow.core.errors import ModelError, NoModelError, SecurityError, UsageError
from pflow.core.setting.option import FAMILIES, OPTIONS
from pflow.engine.model.llm import Prompt
from tests.adapters.model.asking import Asking
from tests.adapters.model.provider_server import provider, saying

OPENAI = {"OPENAI_API_KEY": "sk-0123456789"}
BOTH = {**OPENAI, "GROQ_API_KEY": "gsk-0123456789"}
MINE = {"mine": {"provider": "groq", "model": "m", "key": "OPENAI_API_KEY"}}


def find(
    model: str = "",
    *,
    models: dict[str, dict[str, str]] | None = None,
    default: str = "",
    agents: str = "",
    variables: dict[str, str] | None = None,
) -> Target:
    choice = Choice(
        models=models or {}, default=default, agents=agents, variables=OPENAI if variables is None else variables
    )
    return choice.find(model)


def test_what_the_step_names_comes_before_the_default() -> None:
    assert find("openai/x", models=MINE, default="mine").base_url == "https://api.openai.com/v1"
    assert find(models=MINE, default="mine").base_url == "https://api.groq.com/openai/v1"
    assert find("mine", models=MINE, default="openai/x").key == "OPENAI_API_KEY"


def test_the_only_model_that_is_configured_needs_no_default() -> None:
    assert find(models=MINE).name == "mine"


def test_an_id_without_a_provider_belongs_to_the_one_whose_key_is_set() -> None:
    assert (find("x").provider, find("x").model) == ("openai", "x")
    with pytest.raises(NoModelError, match="`OPENAI_API_KEY` and `GROQ_API_KEY` are set"):
        find("x", variables=BOTH)


def test_an_id_may_have_slashes_of_its_own() -> None:
    assert find("openrouter/a/b:free", variables={"OPENROUTER_API_KEY": "x" * 20}).model == "a/b:free"


def test_a_key_alone_is_not_enough_and_the_ways_out_are_named() -> None:
    with pytest.raises(NoModelError) as caught:
        find()
    assert caught.value.message == "no language model is configured; `OPENAI_API_KEY` is set"
    assert [str(hint) for hint in caught.value.suggestions] == [
        "`pflow llm add NAME --provider PROVIDER --model MODEL` configures one, "
        "and `pflow llm list` shows the providers",
        "or name the model in the step, `model: openai/MODEL`",
        "or run it from an agent over MCP, which then answers itself",
    ]


def test_a_missing_key_is_named() -> None:
    with pytest.raises(NoModelError) as caught:
        find("anthropic/x")
    assert caught.value.message == "`anthropic/x` needs the key in `ANTHROPIC_API_KEY`, which is not set"
    assert [str(hint) for hint in caught.value.suggestions] == ["`pflow settings set ANTHROPIC_API_KEY` stores it"]


def test_a_local_server_needs_no_key() -> None:
    target = find("ollama/x", variables={})
    assert (target.base_url, target.key) == ("http://127.0.0.1:11434/v1", "")


def test_the_key_of_a_provider_does_not_go_to_another_address() -> None:
    target = find("mine", models={"mine": {"provider": "openai", "model": "m", "base_url": "https://proxy.example/v1"}})
    assert (target.key, target.wire) == ("", "responses")


@pytest.mark.parametrize(
    ("url", "kind"),
    [
        ("http://example.com/v1", SecurityError),
        ("http://192.168.0.5/v1", SecurityError),
        ("ftp://example.com", UsageError),
        ("https://user:pw@example.com/v1", UsageError),
        ("https://${HOST}/v1", UsageError),
        ("nonsense", UsageError),
    ],
)
def test_an_address_must_be_encrypted_or_on_this_machine(url: str, kind: type[Exception]) -> None:
    with pytest.raises(kind):
        find("mine", models={"mine": {"model": "m", "base_url": url}})


def test_what_is_missing_of_a_configured_model_is_named() -> None:
    with pytest.raises(NoModelError, match="it has no model and no base_url"):
        find("mine", models={"mine": {"strict": "on"}})


@pytest.mark.parametrize("name", ["nobody/x", "opanai/x", "agent:nobody", "openai/", "a b", "../x", "\x1b[0m"])
def test_an_unknown_name_is_refused_with_ways_out(name: str) -> None:
    with pytest.raises(NoModelError) as caught:
        find(name, variables={})
    assert len(caught.value.suggestions) >= 3
    assert caught.value.message.isprintable()


def test_an_agent_answers_only_if_the_settings_name_it() -> None:
    with pytest.raises(NoModelError) as caught:
        find("agent:claude", agents="codex")
    assert [str(hint) for hint in caught.value.suggestions] == ["pflow settings set llm.agents 'codex claude'"]
    target = find("agent:claude/opus", agents="codex, claude")
    assert (target.kind, target.provider, target.model) == ("agent", "claude", "opus")


def test_the_data_names_wires_that_exist_and_addresses_that_are_allowed() -> None:
    assert set(NAMES) == set(WIRES) == set(FAMILIES["llm.models"]["wire"].choices)
    for one in providers().values():
        assert one.wire in WIRES
        assert one.base_url.startswith("https://" if one.key else "http://127.0.0.1:")
        assert not one.base_url.endswith("/")
    assert all(f"`{name}`" in OPTIONS["llm.agents"].description for name in agents())


def test_a_limit_of_a_model_holds_for_everybody(home: Path) -> None:
    with provider(saying("chat", "x")) as server:
        asking = Asking(home, server.url, limit="1000/s")

        async def together() -> None:
            await asyncio.gather(*(asking.models.ask(Prompt(text="hi")) for _ in range(3)))

        asyncio.run(together())
        with pytest.raises(ModelError, match=r"`llm.models.mine.limit` is a number per second"):
            Asking(home, server.url, limit="often").ask()
    assert len(server.asked) == 3


def test_what_was_learned_can_be_lost_without_harm(home: Path) -> None:
    with provider(saying("chat", '{"n": 1}')) as server:
        asking = Asking(home, server.url)
        asking.memory.keep(server.url, "some-model", "tool")
        assert asking.memory.find(server.url, "some-model") == "tool"
        (home / "models.json").write_bytes(b"\x00 damaged")
        assert asking.memory.find(server.url, "some-model") is None
        asking.memory.keep(server.url, "some-model", "prompt")
        assert asking.memory.find(server.url, "some-model") == "prompt"
        asking.memory.keep(server.url, "some-model", None)
        assert asking.memory.find(server.url, "some-model") is None
