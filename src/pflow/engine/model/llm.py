"""Asking a language model: what is asked, what comes back, and the port that answers. Knows no provider."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol

from pflow.core.frozen import Frozen


class Image(Frozen):
    """A picture that goes with a prompt."""

    media_type: str
    data: bytes


class Prompt(Frozen):
    """A question to a model.

    `model` is a name of the settings or `PROVIDER/MODEL`; without one the configured default answers. With a `schema`
    (JSON Schema) the answer is a value that fits it. `options` reach the provider as they are.
    """

    text: str
    system: str = ""
    model: str = ""
    schema: Mapping[str, object] | None = None
    temperature: float | None = None
    max_tokens: int | None = None
    images: tuple[Image, ...] = ()
    options: Mapping[str, object] = {}


class Usage(Frozen):
    """Tokens that were read and written, those read from the provider's cache among the former."""

    input: int = 0
    output: int = 0
    cached: int = 0

    def plus(self, other: Usage) -> Usage:
        """Both together."""
        return Usage(
            input=self.input + other.input, output=self.output + other.output, cached=self.cached + other.cached
        )


NO_USAGE = Usage()


class Completion(Frozen):
    """What a model answered. `value` is the text, or what the schema asked for.

    `model` is the id that the provider gives it. `usage` counts every round that was needed, and `cost` is its price in
    US dollars, None where nobody knows it. `notes` say what a person should know of how the answer came about.
    """

    text: str
    value: object
    model: str
    usage: Usage = NO_USAGE
    cost: float | None = None
    notes: tuple[str, ...] = ()


Report = Callable[[str], None]
"""Told what a model is doing, for progress."""


def _silent(message: str) -> None:
    """Nobody looks."""


class LLM(Protocol):
    """Answers prompts."""

    def is_available(self, model: str = "") -> bool:
        """Whether somebody is configured who could answer. Starts nothing and opens no connection."""

    async def ask(self, prompt: Prompt, report: Report = _silent) -> Completion:
        """What the model answers, checked against the schema.

        Raises `NoModelError` if nobody is configured, and `ModelError` with the action `refused`, `cut`,
        `rate_limited`, `auth_failed`, `timeout` or `error`.
        """
