"""A language model whose answers were written down before, for tests and examples. It checks nothing.

A provider that is broken, or that somebody else controls, may give anything at all; so may a script.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

import orjson

from pflow.core.errors import ModelError
from pflow.engine.model.llm import Completion, Prompt, Report, Usage

Answer = str | Mapping[str, object] | ModelError
"""The text of an answer, the value of one, or the error that is raised instead."""

_TOKEN_CHARACTERS = 4


def _silent(message: str) -> None:
    """Nobody looks."""


class ScriptedLLM:
    """Gives one answer after the other. `prompts` holds everything that it was asked. See `pflow.engine.model.llm`."""

    def __init__(
        self, answers: Iterable[Answer] = (), *, model: str = "scripted-1", price: float | None = None
    ) -> None:
        self._answers = list(answers)
        self._model = model
        self._price = price
        self.prompts: list[Prompt] = []

    @classmethod
    def from_file(cls, path: Path) -> ScriptedLLM:
        """The model of a recording: an object with `answers`, each with `text`, `value` or `error`."""
        recorded = orjson.loads(path.read_bytes())
        price = recorded.get("price")
        return cls(map(_read, recorded["answers"]), price=float(price) if price is not None else None)

    def is_available(self, model: str = "") -> bool:
        """It always answers."""
        return True

    async def ask(self, prompt: Prompt, report: Report = _silent) -> Completion:
        """The next answer; `price` is what each is said to cost."""
        self.prompts.append(prompt)
        if not self._answers:
            raise ModelError("the script has no further answer", suggestions=["record one more answer"])
        answer = self._answers.pop(0)
        if isinstance(answer, ModelError):
            raise answer
        text = answer if isinstance(answer, str) else orjson.dumps(answer).decode()
        asked = len(prompt.text) + len(prompt.system)
        return Completion(
            text=text,
            value=_value(text) if prompt.schema is not None else text,
            model=self._model,
            usage=Usage(input=asked // _TOKEN_CHARACTERS, output=len(text) // _TOKEN_CHARACTERS),
            cost=self._price,
        )


def _read(recorded: Mapping[str, object]) -> Answer:
    error, value = recorded.get("error"), recorded.get("value")
    if isinstance(error, Mapping):
        return ModelError(str(error["message"]), action=str(error["action"]))
    if isinstance(value, Mapping):
        return value
    return str(recorded["text"]) * int(str(recorded.get("times", 1)))


def _value(text: str) -> object:
    try:
        value: object = orjson.loads(text)
    except ValueError:
        return text
    return value
