"""`pflow llm …`: models are configured, listed and tried; keys are named and never shown."""

from __future__ import annotations

import re

import pytest

from tests.adapters.model.provider_server import failing, provider, saying
from tests.cli.conftest import Pflow

KEY = "sk-c4n4ry-0123456789abcdef"
GREETING, COLOR = saying("chat", "Hello!"), saying("chat", '{"color": "blue"}')


def test_the_first_model_becomes_the_default_and_the_second_does_not(pflow: Pflow) -> None:
    said = pflow("llm", "add", "local", "--provider", "ollama", "--model", "m")
    assert said.out == "local is m at http://127.0.0.1:11434/v1, over `chat`; it is the default\n"
    said = pflow("llm", "add", "other", "--provider", "openai", "--model", "x")
    assert said.out == "other is x at https://api.openai.com/v1, over `responses`\n"
    assert said.err == (
        "note: `other` needs the key in `OPENAI_API_KEY`, which is not set\n"
        "hint: `pflow settings set OPENAI_API_KEY` stores the key\n"
    )
    assert pflow("settings", "get", "llm.default").out == "local\n"
    listed = pflow("llm", "list", "--json").json["data"]
    assert [(one["name"], one.get("is_default", False)) for one in listed["models"]] == [
        ("local", True),
        ("other", False),
    ]
    assert {one["name"] for one in listed["agents"]} == {"claude", "codex", "gemini"}


def test_a_model_is_replaced_only_if_told_and_then_whole(pflow: Pflow) -> None:
    pflow("llm", "add", "mine", "--base-url", "https://a.example/v1", "--model", "m", "--wire", "messages")
    said = pflow("llm", "add", "mine", "--provider", "ollama", "--model", "n")
    assert (said.code, "--overwrite" in said.err) == (2, True)
    pflow("llm", "add", "mine", "--provider", "ollama", "--model", "n", "--overwrite")
    listed = pflow("settings", "list").out
    assert re.findall(r"llm\.models\.mine\.\w+", listed) == ["llm.models.mine.model", "llm.models.mine.provider"]
    assert pflow("llm", "remove", "mine").out == "mine is no longer configured\n"
    assert "llm.models" not in pflow("settings", "list").out
    assert pflow("llm", "remove", "mine").code == 2


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("Big", "--provider", "openai", "--model", "m"), 2, "cannot name a model"),
        (("a.b", "--provider", "openai", "--model", "m"), 2, "cannot name a model"),
        (("big", "--provider", "opena", "--model", "m"), 2, "did you mean `openai`?"),
        (("big", "--model", "m"), 2, "needs a provider or a base URL"),
        (("big", "--base-url", "http://example.com/v1", "--model", "m"), 3, "is not encrypted"),
        (("big", "--base-url", "example.com", "--model", "m"), 2, "has the form"),
        (("big", "--provider", "openai", "--model", "m", "--key", KEY), 2, "by the name of the credential"),
        (("big", "--provider", "openai", "--model", "m", "--wire", "soap"), 2, "soap"),
        (("big", "--provider", "openai"), 2, "--model"),
    ],
)
def test_what_cannot_be_configured_is_refused_and_nothing_is_stored(
    pflow: Pflow, words: tuple[str, ...], code: int, said: str
) -> None:
    answer = pflow("llm", "add", *words)
    assert (answer.code, said in answer.err) == (code, True), answer
    assert KEY not in answer.err
    assert "llm.models" not in pflow("settings", "list").out


def test_a_test_says_wire_level_tokens_cost_and_time(pflow: Pflow) -> None:
    with provider(GREETING, COLOR) as server:
        pflow("llm", "add", "mine", "--base-url", server.url, "--model", "m", "--key", "MY_KEY")
        pflow("settings", "set", "MY_KEY", stdin=KEY)
        said = pflow("llm", "test")
    assert said.code == 0
    steady = re.sub(r"\d+\.\d s ", "T s ", said.out)
    assert steady == (
        "mine: m over `chat`\n"
        "  text    T s  11 + 7 tokens  cost unknown               Hello!\n"
        '  schema  T s  11 + 7 tokens  cost unknown  by `strict`  {"color": "blue"}\n'
    )
    assert server.asked[0].headers["authorization"] == f"Bearer {KEY}"


def test_a_test_as_json_has_the_same(pflow: Pflow) -> None:
    with provider(GREETING, failing(400, "no schemas"), COLOR) as server:
        pflow("llm", "add", "mine", "--base-url", server.url, "--model", "m")
        data = pflow("llm", "test", "mine", "--json").json["data"]
    assert (data["name"], data["wire"], data["ok"]) == ("mine", "chat", True)
    text, schema = data["trials"]
    assert (text["answer"], text["tokens"], text["cost"]) == ("Hello!", {"input": 11, "output": 7, "cached": 3}, None)
    assert (schema["level"], len(schema["notes"])) == ("native", 1)


def test_a_wrong_key_fails_the_test_without_being_shown(pflow: Pflow) -> None:
    with provider(failing(401, f"bad key {KEY}")) as server:
        pflow("settings", "set", "MY_KEY", stdin=KEY)
        pflow("llm", "add", "mine", "--base-url", server.url, "--model", "m", "--key", "MY_KEY")
        said = pflow("llm", "test")
        as_json = pflow("llm", "test", "--json")
    assert (said.code, as_json.code, len(server.asked)) == (1, 1, 2)
    assert "does not accept the key (401)" in said.out
    assert as_json.json["data"]["trials"][0]["action"] == "auth_failed"
    assert KEY not in said.out + said.err + as_json.out + as_json.err


def test_without_any_model_the_ways_out_are_named(pflow: Pflow) -> None:
    said = pflow("llm", "test")
    assert (said.code, said.err.count("hint: ")) == (1, 3)
    assert pflow("llm", "test", "--json").json["error"]["type"] == "no_model"
    assert pflow("llm", "test", "nobody").code == 1
