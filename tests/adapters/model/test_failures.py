"""What providers do wrong: each failure ends bounded, in a typed error that holds no key."""

from __future__ import annotations

from pathlib import Path

import pytest

from pflow.core.errors import ModelError
from pflow.engine.model.llm import Image
from tests.adapters.model.asking import KEY, Asking
from tests.adapters.model.provider_server import Act, event, failing, provider, saying
from tests.adapters.model.test_wires import SCHEMA, WIRES, sent_form

GOOD = saying("chat", "fine")


def failure(
    home: Path, *acts: Act, wire: str = "chat", text: str = "hi", **fields: object
) -> tuple[ModelError, Asking, int]:
    with provider(*acts) as server:
        asking = Asking(home, server.url, wire)
        with pytest.raises(ModelError) as caught:
            asking.ask(text, **fields)
        shown = repr([caught.value, caught.value.details, caught.value.suggestions, asking.reports])
        assert KEY not in shown
        return caught.value, asking, len(server.asked)


@pytest.mark.parametrize("status", [401, 403])
def test_a_wrong_key_is_said_at_once_and_never_repeated(home: Path, status: int) -> None:
    error, asking, tries = failure(home, failing(status, f"Incorrect API key provided: {KEY}"))
    assert (error.action, tries, asking.waits) == ("auth_failed", 1, [])
    assert "«secret:MY_KEY»" in str(error.details["answer"])


@pytest.mark.parametrize(
    ("status", "action"),
    [(408, "timeout"), (409, "error"), (429, "rate_limited"), (500, "error"), (503, "error"), (529, "error")],
)
def test_what_may_pass_is_tried_four_times(home: Path, status: int, action: str) -> None:
    error, asking, tries = failure(home, failing(status))
    assert (error.action, tries, asking.waits) == (action, 4, [1, 2, 4])
    assert len(asking.reports) == 3
    assert str(status) in error.message


def test_retry_after_is_heeded_up_to_a_minute(home: Path) -> None:
    acts = (failing(429, retry_after="7"), failing(429, retry_after="3600"), GOOD)
    with provider(*acts) as server:
        asking = Asking(home, server.url)
        assert asking.ask().text == "fine"
    assert asking.waits == [7, 60]
    assert "tries again in 7 s (2 of 4)" in asking.reports[0]


def test_an_account_without_credit_is_not_tried_again(home: Path) -> None:
    error, _, tries = failure(home, failing(429, "insufficient_quota: check your billing details"))
    assert (error.action, tries) == ("rate_limited", 1)


def test_an_unknown_model_is_said_with_the_words_of_the_provider(home: Path) -> None:
    error, _, tries = failure(home, failing(404, "The model `some-model` does not exist"))
    assert (error.action, tries) == ("error", 1)
    assert "does not exist" in error.message


@pytest.mark.parametrize(
    "message",
    [
        "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens.",
        "prompt is too long: 210000 tokens > 200000 maximum",
        "the request exceeds the available context size, try increasing it",
    ],
)
def test_a_prompt_beyond_the_context_is_refused_with_sizes(home: Path, message: str) -> None:
    error, _, tries = failure(home, failing(400, message), text="x" * 4000, schema=SCHEMA)
    assert tries == 1
    assert "4,000 characters, about 1,000 tokens" in error.message
    assert error.details["answer"] == message


def test_a_prompt_beyond_the_configured_context_is_not_sent(home: Path) -> None:
    with provider(GOOD) as server:
        with pytest.raises(ModelError, match="about 1,000 tokens, and `mine` takes 900"):
            Asking(home, server.url, context=900).ask("x" * 4000)
    assert server.asked == []


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize(
    "garbage",
    [
        Act([b"<html>gateway</html>"], kind="text/html"),
        Act([b"[1, 2]"], kind="application/json"),
        Act([b"{}"], kind="application/json"),
        Act([event(b"not json")]),
        Act([b""]),
        Act([b"\xff\xfe\x00"]),
    ],
    ids=["html", "array", "empty object", "event", "nothing", "bytes"],
)
def test_garbage_is_tried_again_and_then_shown_by_its_head(home: Path, wire: str, garbage: Act) -> None:
    error, asking, tries = failure(home, garbage, wire=wire)
    assert (error.action, tries, asking.waits) == ("error", 4, [1, 2, 4])


def test_the_head_of_garbage_is_in_the_details(home: Path) -> None:
    error, _, _ = failure(home, Act([b"<html>bad gateway</html>"], kind="text/html"))
    assert error.details["answer"] == "<html>bad gateway</html>"


@pytest.mark.parametrize("wire", WIRES)
def test_a_stream_that_breaks_off_is_not_an_answer(home: Path, wire: str) -> None:
    whole = saying(wire, "hello there")
    error, _, tries = failure(home, Act(whole.pieces[:2]), wire=wire)
    assert (error.action, tries) == ("error", 4)
    assert "broke off" in error.message
    with provider(Act(whole.pieces[:2]), whole) as server:
        assert Asking(home, server.url, wire).ask().text == "hello there"


def test_an_endless_stream_is_left(home: Path) -> None:
    piece = event({"choices": [{"index": 0, "delta": {"content": "x" * 4000}}]})
    error, _, tries = failure(home, Act([piece * 16], repeat=True))
    assert (error.action, tries) == ("error", 1)
    assert "more than 4 MiB" in error.message
    assert str(error.details["answer"]).startswith("xxx")


def test_ten_megabytes_are_not_read_to_their_end(home: Path) -> None:
    act = Act([b'{"choices": [{"message": {"content": "', b"y" * (10 << 20), b'"}}]}'], kind="application/json")
    error, _, tries = failure(home, act)
    assert (error.action, tries) == ("error", 1)
    assert len(str(error.details["answer"])) <= 500


def test_an_event_without_end_is_left(home: Path) -> None:
    error, _, tries = failure(home, Act([b"data: " + b"z" * (1 << 20), *[b"z" * (1 << 20)] * 8], repeat=False))
    assert (error.action, tries) == ("error", 1)


@pytest.mark.parametrize(
    ("said", "action", "tries"),
    [
        ({"error": {"message": "Overloaded", "type": "overloaded_error"}, "type": "error"}, "error", 4),
        ({"error": {"message": "slow down", "type": "rate_limit_error"}, "type": "error"}, "rate_limited", 4),
        ({"error": {"message": "no", "type": "invalid_request_error"}, "type": "error"}, "error", 1),
    ],
)
@pytest.mark.parametrize("wire", WIRES)
def test_an_error_inside_a_stream_counts_as_one(
    home: Path, wire: str, said: dict[str, object], action: str, tries: int
) -> None:
    error, _, tried = failure(home, Act([event(said)]), wire=wire)
    assert (error.action, tried) == (action, tries)


def test_a_server_that_is_not_there_is_said_to_be_so(home: Path) -> None:
    with provider(GOOD) as server:
        url = server.url
    asking = Asking(home, url)
    with pytest.raises(ModelError, match="nothing listens there, 4 times"):
        asking.ask()


def test_a_redirect_is_not_followed_with_the_key(home: Path) -> None:
    with provider(GOOD) as other:
        error, _, _ = failure(home, Act([], status=307, headers={"location": f"{other.url}/chat/completions"}))
    assert other.asked == []
    assert "redirects" in error.message


def test_everyone_who_asks_the_model_waits_when_it_says_so(home: Path) -> None:
    with provider(failing(429, retry_after="30"), GOOD) as server:
        asking = Asking(home, server.url)
        asking.ask()
        asking.models._crowds[server.url, "some-model"].hold(5)
        asking.ask()
    assert asking.waits == [30, 5]


@pytest.mark.parametrize("wire", WIRES)
def test_a_schema_that_is_refused_goes_a_level_down_and_is_remembered(home: Path, wire: str) -> None:
    good = saying(wire, '{"n": 1}')
    with provider(failing(400, "schemas are not supported"), good, good) as server:
        asking = Asking(home, server.url, wire)
        first = asking.tell(schema=SCHEMA)
        second = asking.tell(schema=SCHEMA)
    levels = [sent_form(wire, asked.body)[0] for asked in server.asked]
    below = "tool" if wire == "messages" else "native"
    assert levels == ["strict", below, below]
    assert (first.level, second.level, second.completion.notes) == (below, below, ())
    assert "refused the schema as a strict schema" in first.completion.notes[0]


def test_a_schema_that_is_refused_at_every_level_ends_with_the_words_of_the_provider(home: Path) -> None:
    error, _, tries = failure(home, failing(400, "no thanks"), schema=SCHEMA)
    assert (error.action, tries) == ("error", 4)
    assert "no thanks" in error.message


def test_an_answer_that_does_not_fit_is_repaired_with_what_is_wrong(home: Path) -> None:
    with provider(saying("chat", '{"n": "three"}'), saying("chat", 'Sure!\n```json\n{"n": 3}\n```')) as server:
        told = Asking(home, server.url).tell("count", schema=SCHEMA)
    answer = told.completion
    assert (answer.value, answer.usage.input, answer.usage.output) == ({"n": 3}, 22, 14)
    assert [turn["role"] for turn in server.asked[1].body["messages"]] == ["user", "assistant", "user"]
    assert "`n` must be integer" in server.asked[1].body["messages"][2]["content"]
    assert answer.notes == ("answer 1 did not fit: `n` must be integer, not string",)


def test_a_model_that_ignores_schemas_is_asked_in_words_and_given_up_after_two_repairs(home: Path) -> None:
    error, asking, tries = failure(home, saying("chat", "I like numbers."), schema=SCHEMA)
    assert (error.action, tries, error.tokens) == ("error", 3, 54)
    assert error.details == {"problems": ["the answer is not JSON"], "answer": "I like numbers."}
    assert len(asking.reports) == 2


@pytest.mark.parametrize(
    ("strict", "levels"), [("on", ["strict", "native"]), ("off", ["native", "tool"]), ("prompt", ["prompt"])]
)
def test_the_setting_strict_says_which_levels_are_tried(home: Path, strict: str, levels: list[str]) -> None:
    with provider(failing(422, "no"), saying("chat", '{"n": 1}')) as server:
        asking = Asking(home, server.url, strict=strict)
        if strict == "prompt":
            server.acts = server.acts[1:]
        asking.ask(schema=SCHEMA)
    assert [sent_form("chat", asked.body)[0] for asked in server.asked] == levels


def test_a_schema_that_is_none_is_refused_before_anybody_is_asked(home: Path) -> None:
    with provider(GOOD) as server:
        with pytest.raises(ModelError, match="the schema cannot be used"):
            Asking(home, server.url).ask(schema={"type": "object", "properties": {"n": {"type": "nothing"}}})
    assert server.asked == []


@pytest.mark.parametrize("wire", WIRES)
def test_a_connection_that_stays_open_after_the_answer_is_not_waited_for(home: Path, wire: str) -> None:
    answer = saying(wire, "hello")
    with provider(Act([b"".join(answer.pieces), *[b": still here\n\n"] * 100_000], repeat=True)) as server:
        assert Asking(home, server.url, wire).ask().text == "hello"


@pytest.mark.parametrize(
    ("text", "fields", "said"),
    [
        ("hi", {"options": {"seed": object()}}, "cannot be sent as JSON"),
        ("half a pair: \ud800", {}, "cannot be sent as JSON"),
        ("hi", {"images": (Image(media_type="image/png", data=bytes(40 << 20)),)}, "has 53 MiB with its images"),
    ],
)
def test_a_prompt_that_cannot_be_sent_is_refused_here(
    home: Path, text: str, fields: dict[str, object], said: str
) -> None:
    with provider(GOOD) as server:
        with pytest.raises(ModelError, match=said):
            Asking(home, server.url).ask(text, **fields)
    assert server.asked == []
