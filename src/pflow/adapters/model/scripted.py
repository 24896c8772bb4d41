"""A model that says what it is told to: the twin of real ones, with the same checks and repairs, and no network."""

from __future__ import annotations

from collections.abc import Iterable

import orjson

from pflow.adapters.model.conversation import Conversation
from pflow.adapters.model.message import Level, Question, Reply
from pflow.adapters.model.shape import Shape
from pflow.core.errors import ModelError, NoModelError
from pflow.engine.model.llm import Completion, Prompt, Report, Usage

_NAME = "scripted"


class ScriptedLLM:
    """Answers prompts in order. See `pflow.engine.model.llm.LLM`.

    An answer is text, a value that becomes JSON, or an error that is raised. `models` are the names that it answers to,
    all without any. `prompts` holds what was asked, and `price` is what a token costs.
    """

    def __init__(
        self, answers: Iterable[object] = (), *, models: Iterable[str] | None = None, price: float | None = None
    ) -> None:
        self.prompts: list[Prompt] = []
        self.questions: list[Question] = []
        """Every round, those of repairs included."""
        self.name = f"`{_NAME}`"
        self.place = _NAME
        self.levels: tuple[Level, ...] = ("native",)
        self._answers = iter(answers)
        self._models = None if models is None else frozenset(models)
        self._price = price

    def is_available(self, model: str = "") -> bool:
        """Whether it answers to that name."""
        return self._models is None or not model or model in self._models

    async def ask(self, prompt: Prompt, report: Report = lambda message: None) -> Completion:
        """The next answer, checked against the schema."""
        if not self.is_available(prompt.model):
            raise NoModelError(f"there is no language model `{prompt.model}`")
        self.prompts.append(prompt)
        talk = Conversation(self, prompt, prompt.model or _NAME, report)
        tally = talk.tally
        try:
            if prompt.schema is None:
                answer = await talk.text()
            else:
                answer = await talk.value(Shape(prompt.schema), self.levels)
        except ModelError as error:
            error.tokens, error.cost = tally.usage.input + tally.usage.output, self._cost(tally.usage)
            raise
        return Completion(
            text=answer.text,
            value=answer.value,
            model=prompt.model or _NAME,
            usage=tally.usage,
            cost=self._cost(tally.usage),
            notes=answer.notes,
        )

    async def say(self, question: Question, report: Report) -> Reply:
        """The next answer as a reply; a word is a token."""
        self.questions.append(question)
        try:
            answer = next(self._answers)
        except StopIteration:
            raise ModelError("the script has no further answer") from None
        if isinstance(answer, Reply):
            return answer
        if isinstance(answer, BaseException):
            raise answer
        text = answer if isinstance(answer, str) else orjson.dumps(answer).decode()
        read = sum(len(turn.text.split()) for turn in question.turns) + len(question.system.split())
        return Reply(text=text, usage=Usage(input=read, output=len(text.split())))

    def _cost(self, usage: Usage) -> float | None:
        return None if self._price is None else self._price * (usage.input + usage.output)
