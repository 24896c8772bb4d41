"""What every `LLM` does, whether models of a provider answer it or a script."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

import pytest

from pflow.adapters.model.message import Reply
from pflow.core.errors import ModelError, NoModelError
from pflow.engine.model.llm import LLM, Completion, Prompt, Usage
from pflow.testing import ScriptedLLM
from tests.adapters.model.asking import Asking
from tests.adapters.model.provider_server import Act, provider, saying

SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
CUT, REFUSED = object(), object()
Make = Callable[[Sequence[object]], LLM]


@pytest.fixture(params=["chat", "responses", "messages", "scripted"])
def make(request: pytest.FixtureRequest, home: Path) -> Iterator[Make]:
    """An `LLM` that gives these answers in turn."""
    with ExitStack() as stack:

        def serve(answers: Sequence[object]) -> LLM:
            acts = [_act(request.param, answer) for answer in answers]
            server = stack.enter_context(provider(*acts or [Act([], status=500)]))
            return Asking(home, server.url, request.param).models

        def script(answers: Sequence[object]) -> LLM:
            return ScriptedLLM([_reply(answer) for answer in answers], models=["mine"])

        yield script if request.param == "scripted" else serve


def _act(wire: str, answer: object) -> Act:
    if answer in (CUT, REFUSED):
        return saying(wire, "no", stop="cut" if answer is CUT else "refused")
    return saying(wire, answer if isinstance(answer, str) else json.dumps(answer))


def _reply(answer: object) -> object:
    if answer in (CUT, REFUSED):
        return Reply(text="no", stop="cut" if answer is CUT else "refused", usage=Usage(input=11, output=7))
    return answer


def ask(llm: LLM, **fields: object) -> Completion:
    return asyncio.run(llm.ask(Prompt(text="hi", model="mine")._replace(**fields)))


def test_without_a_schema_the_value_is_the_text(make: Make) -> None:
    answer = ask(make(["hello"]))
    assert (answer.text, answer.value, answer.notes) == ("hello", "hello", ())
    assert answer.usage.input > 0 and answer.usage.output > 0


def test_with_a_schema_the_value_fits_it(make: Make) -> None:
    answer = ask(make([{"n": 3}]), schema=SCHEMA)
    assert answer.value == {"n": 3}
    assert json.loads(answer.text) == {"n": 3}


def test_an_answer_that_does_not_fit_is_asked_for_again_and_counted(make: Make) -> None:
    once = ask(make([{"n": 3}]), schema=SCHEMA).usage
    answer = ask(make([{"n": "x"}, {"n": 3}]), schema=SCHEMA)
    assert answer.value == {"n": 3}
    assert answer.usage.input > once.input and answer.usage.output > once.output
    assert len(answer.notes) == 1


def test_after_two_repairs_the_answer_is_given_up(make: Make) -> None:
    with pytest.raises(ModelError, match="did not answer in the form of the schema, 3 times") as caught:
        ask(make([{"n": "x"}, {}, {"n": None}]), schema=SCHEMA)
    assert caught.value.action == "error"
    assert caught.value.tokens > 0


@pytest.mark.parametrize(("answer", "action"), [(CUT, "cut"), (REFUSED, "refused")])
def test_what_ends_an_answer_is_the_action(make: Make, answer: object, action: str) -> None:
    with pytest.raises(ModelError) as caught:
        ask(make([answer]))
    assert (caught.value.action, caught.value.tokens) == (action, 18)


def test_a_schema_that_cannot_be_used_is_an_error(make: Make) -> None:
    with pytest.raises(ModelError, match="the schema cannot be used"):
        ask(make(["{}"]), schema={"type": "object", "properties": {"n": {"type": "nothing"}}})


def test_nobody_answers_to_an_unknown_name(make: Make) -> None:
    llm = make(["hello"])
    assert (llm.is_available(), llm.is_available("mine"), llm.is_available("other")) == (True, True, False)
    with pytest.raises(NoModelError):
        ask(llm, model="other")


def test_several_ask_at_once(make: Make) -> None:
    llm = make(["hello"] * 5)

    async def together() -> list[Completion]:
        return await asyncio.gather(*(llm.ask(Prompt(text="hi")) for _ in range(5)))

    assert [answer.text for answer in asyncio.run(together())] == ["hello"] * 5
