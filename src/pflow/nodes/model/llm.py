"""The `llm` node: a prompt to a language model, or, where there is none, to the agent that started the run."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, MutableMapping
from typing import Annotated, Any

import orjson
from pocketflow import AsyncNode

from pflow.core.errors import ModelError, StepError
from pflow.core.event import StepAnswered
from pflow.core.json_type import fits
from pflow.engine.asking.approval import clean_prompt
from pflow.engine.asking.question import Question
from pflow.engine.context import StepContext, current_step
from pflow.engine.model.llm import Completion, Prompt
from pflow.engine.model.schema import TEXT, response_schema, with_defaults
from pflow.nodes import param

MOST_LENT_CHARACTERS = 100_000
"""Of a prompt that an agent is to answer."""

_MOST_TOKENS = 10_000_000


class Llm(AsyncNode):
    """Ask a language model; with a `schema`, the answer is a value that fits it.

    Without a model that is configured, a run that an agent started over MCP asks that agent instead, and waits for its
    answer. The step has no effects: it may run again when a run is resumed.
    """

    name = "llm"
    purity = "read"
    actions = ("default", "refused", "cut", "rate_limited", "auth_failed", "timeout", "error")

    class Params:
        prompt: Annotated[str, "What the model is asked"]
        system: Annotated[str, "Instructions that stand before it"] = ""
        model: Annotated[str, "A name of the settings, or PROVIDER/MODEL; the configured default without it"] = ""
        schema: Annotated[
            dict[str, Any], "Fields of the answer, by name, such as {title: {type: string}}, or JSON Schema", "slot:raw"
        ] = {}  # noqa: RUF012
        temperature: Annotated[float | None, "How much chance there is in the answer, from 0 to 2"] = None
        max_tokens: Annotated[int | None, "How long the answer may be"] = None
        images: Annotated[list[str], "Pictures that go with the prompt: paths or data URLs"] = []  # noqa: RUF012
        options: Annotated[dict[str, Any], "What else the provider is to be told, as it names it"] = {}  # noqa: RUF012

    class Outputs:
        response: Annotated[Any, "The answer: text, or with a `schema` a value that fits it"]
        text: Annotated[str, "The answer as text"]
        usage: Annotated[dict[str, Any] | None, "Tokens: input, output, cached; null if an agent answered"]
        cost: Annotated[float | None, "US dollars; null if the price is not known, or an agent answered"]
        model: Annotated[str, "Who answered: the model's id, or the agent"]

    async def exec_async(self, prep_res: object) -> dict[str, object]:
        """Have the prompt answered."""
        step = current_step()
        if step.desk is None:
            raise StepError("an `llm` step needs a run")
        question = question_of(self.params)
        model = param.text(self.params, "model")
        if step.desk.is_lent(question, model):
            found = await _lend(step, question)
        else:
            prompt = await asyncio.to_thread(prompt_of, self.params)
            step.report(f"asking {model or 'the model'}")
            found = _outputs(await step.desk.complete(prompt), step)
        return {**found, "response": with_defaults(param.mapping(self.params, "schema"), found["response"])}

    async def post_async(self, shared: MutableMapping[str, Any], prep_res: object, exec_res: dict[str, object]) -> str:
        """Write the answer."""
        shared.update(exec_res)
        return "default"


def prompt_of(params: Mapping[str, Any]) -> Prompt:
    """The prompt that the parameters of a step describe."""
    given = param.strings(params, "images", "paths or data URLs") or []
    images: tuple[Any, ...] = ()
    if given:
        from pflow.nodes.model.picture import read_pictures  # lazy: few prompts have pictures

        images = read_pictures(given)
    written = param.mapping(params, "schema")
    return Prompt(
        text=param.required_text(params, "prompt", "say what the model is asked"),
        system=param.text(params, "system"),
        model=param.text(params, "model"),
        schema=response_schema(written) if written else None,
        temperature=_temperature(params),
        max_tokens=param.integer(params, "max_tokens", None, least=1, most=_MOST_TOKENS),
        images=images,
        options=param.mapping(params, "options"),
    )


def question_of(params: Mapping[str, Any]) -> Question:
    """What an agent is asked in place of a model. Its form is a schema: an answer is any value that fits."""
    text = param.required_text(params, "prompt", "say what the model is asked")
    written = param.mapping(params, "schema")
    show: dict[str, object] = {}
    if system := param.text(params, "system"):
        show["system"] = system
    if images := param.strings(params, "images", "paths or data URLs"):
        from pflow.nodes.model.picture import name_pictures  # lazy: few prompts have pictures

        show["images"] = name_pictures(images)
    return Question(
        kind="question",
        prompt=clean_prompt(text, most=len(text) + 1),
        show=show,
        form={"schema": response_schema(written) if written else TEXT},
        who="agent",
    )


async def _lend(step: StepContext, question: Question) -> dict[str, object]:
    """Have the agent answer that started the run."""
    if len(question.prompt) > MOST_LENT_CHARACTERS:
        raise ModelError(
            f"the prompt has {len(question.prompt):,} characters; an agent is asked at most {MOST_LENT_CHARACTERS:,}",
            suggestions=["shorten what goes into the prompt, or configure a model"],
        )
    assert step.ask is not None
    answered: StepAnswered = await step.ask(question)
    if answered.outcome != "answered":
        by = f" by {answered.by}" if answered.by else ""
        raise ModelError(f"the prompt was declined{by}", action="refused")
    value = answered.answer.get("answer")
    text = value if isinstance(value, str) else orjson.dumps(value).decode()
    return {"response": value, "text": text, "usage": None, "cost": None, "model": answered.by}


def _outputs(completion: Completion, step: StepContext) -> dict[str, object]:
    for note in completion.notes:
        step.report(note)
    return {
        "response": completion.value,
        "text": completion.text,
        "usage": completion.usage._asdict(),
        "cost": completion.cost,
        "model": completion.model,
    }


def _temperature(params: Mapping[str, Any]) -> float | None:
    value = params.get("temperature")
    if value is None:
        return None
    if not fits(value, "number") or not 0 <= value <= 2:
        raise param.wrong("temperature", "a number from 0 to 2", value)
    return float(value)
