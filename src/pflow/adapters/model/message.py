"""What goes over any wire and what comes back, in words of our own; knows no protocol."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal, NamedTuple, Protocol

from pflow.core.errors import ModelError
from pflow.core.frozen import Frozen
from pflow.core.json_type import JsonView
from pflow.engine.model.llm import NO_USAGE, Image, Report, Usage

Level = Literal["strict", "native", "tool", "prompt"]
"""How a model is made to answer in a form: enforced, asked for by its protocol, as a tool call, or in words."""

Stop = Literal["done", "cut", "refused"]

TOOL = "answer"
"""The name of the schema, and of the tool that an answer is a call of."""

TOOL_TEXT = "Give the answer."


class Turn(Frozen):
    """Something that was said."""

    role: Literal["user", "assistant"]
    text: str
    images: tuple[Image, ...] = ()


class Question(Frozen):
    """One request. `schema` is what goes to the provider at this `level`, not what the caller wrote."""

    model: str
    turns: tuple[Turn, ...]
    system: str = ""
    level: Level | None = None
    schema: JsonView | None = None
    temperature: float | None = None
    max_tokens: int | None = None
    options: Mapping[str, object] = {}


class Reply(Frozen):
    """One answer. `cost` is what whoever gave it says that it costs."""

    text: str
    stop: Stop = "done"
    usage: Usage = NO_USAGE
    model: str = ""
    cost: float | None = None


class SchemaRefused(Exception):
    """A provider does not take a request for an answer in this form; `error` says so to people."""

    def __init__(self, error: ModelError) -> None:
        super().__init__(error.message)
        self.error = error


class Reader(Protocol):
    """Puts an answer together from the events of a stream, or from one whole answer."""

    is_done: bool
    """Whether the answer came to its end."""
    is_complete: bool
    """Whether nothing more is expected, not even how many tokens it took."""
    failure: JsonView | None
    """What the provider says went wrong in the middle of a stream."""

    def take(self, event: JsonView) -> None:
        """Read an event."""

    def take_whole(self, answer: JsonView) -> None:
        """Read an answer that did not come as a stream."""

    @property
    def size(self) -> int:
        """Characters so far."""

    def reply(self) -> Reply:
        """What was answered so far."""


class Wire(NamedTuple):
    """A protocol: where requests go, what they carry, and how answers are read."""

    path: str
    levels: tuple[Level, ...]
    headers: Callable[[str], Mapping[str, str]]
    """The headers for a key; "" is no key."""
    body: Callable[[Question], dict[str, object]]
    reader: Callable[[], Reader]


class Talker(Protocol):
    """Whoever answers questions: a provider behind a wire, an agent, another package."""

    name: str
    place: str
    """What is remembered about it is remembered for this place and the model."""
    levels: tuple[Level, ...]

    async def say(self, question: Question, report: Report) -> Reply:
        """The answer to one question. Raises `ModelError`, or `SchemaRefused`."""


def bearer(key: str) -> Mapping[str, str]:
    """How most providers take a key."""
    return {"authorization": f"Bearer {key}"} if key else {}


def text_in(content: JsonView, key: str) -> str:
    """The string that stands under a key; "" if nothing or anything else does."""
    value = content.get(key)
    return value if isinstance(value, str) else ""


def count_in(content: JsonView, key: str) -> int:
    """The number that stands under a key; 0 if nothing or anything else does."""
    value = content.get(key)
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0


def as_data_url(image: Image) -> str:
    """An image as text."""
    return f"data:{image.media_type};base64,{as_base64(image)}"


def as_base64(image: Image) -> str:
    """The bytes of an image as text."""
    from base64 import b64encode  # lazy: few prompts have images

    return b64encode(image.data).decode()


class Pieces:
    """Text that comes in pieces; tells its size without joining them."""

    def __init__(self) -> None:
        self.size = 0
        self._parts: list[str] = []

    def add(self, text: str) -> None:
        """Append a piece."""
        self._parts.append(text)
        self.size += len(text)

    def text(self) -> str:
        """Everything so far."""
        return "".join(self._parts)


def common_body(question: Question, limit: str) -> dict[str, object]:
    """The fields that all protocols have alike; `limit` is what this one calls the most tokens to write.

    Options of the caller never replace what is asked, or how it is answered.
    """
    body: dict[str, object] = {"model": question.model, "stream": True}
    if question.temperature is not None:
        body["temperature"] = question.temperature
    if question.max_tokens is not None:
        body[limit] = question.max_tokens
    return {**question.options, **body}
