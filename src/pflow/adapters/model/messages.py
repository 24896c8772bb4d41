"""The wire `messages`: Anthropic's Messages."""

from __future__ import annotations

from collections.abc import Mapping

from pflow.adapters.model.message import (
    TOOL,
    TOOL_TEXT,
    Pieces,
    Question,
    Reply,
    Stop,
    Turn,
    Wire,
    as_base64,
    common_body,
    count_in,
    text_in,
)
from pflow.core.json_type import JsonView, object_in, objects_in
from pflow.engine.model.llm import NO_USAGE, Usage

_VERSION = "2023-06-01"
_MOST_TOKENS = 8192
"""What an answer may have if nobody says: this protocol wants a number, and every model allows this one."""

_STOPS: dict[str, Stop] = {
    "max_tokens": "cut",
    "model_context_window_exceeded": "cut",
    "refusal": "refused",
}


def make_headers(key: str) -> Mapping[str, str]:
    """The version of the protocol, and the key if there is one."""
    return {"anthropic-version": _VERSION, **({"x-api-key": key} if key else {})}


def make_body(question: Question) -> dict[str, object]:
    """The request."""
    body = {
        "max_tokens": _MOST_TOKENS,
        **common_body(question, "max_tokens"),
        "messages": list(map(_message, question.turns)),
    }
    if question.system:
        body["system"] = question.system
    if question.level in ("strict", "native"):
        body["output_config"] = {"format": {"type": "json_schema", "schema": question.schema}}
    elif question.level == "tool":
        body["tools"] = [{"name": TOOL, "description": TOOL_TEXT, "input_schema": question.schema}]
        body["tool_choice"] = {"type": "tool", "name": TOOL}
    return body


def _message(turn: Turn) -> dict[str, object]:
    if not turn.images:
        return {"role": turn.role, "content": turn.text}
    images = [
        {"type": "image", "source": {"type": "base64", "media_type": image.media_type, "data": as_base64(image)}}
        for image in turn.images
    ]
    return {"role": turn.role, "content": [*images, {"type": "text", "text": turn.text}]}


class MessageReader:
    """Reads events, or a whole message."""

    def __init__(self) -> None:
        self.is_done = self.is_complete = False
        self.failure: JsonView | None = None
        self._text = Pieces()
        self._call = Pieces()
        self._stop: Stop = "done"
        self._usage = NO_USAGE
        self._model = ""

    @property
    def size(self) -> int:
        """Characters so far."""
        return self._text.size + self._call.size

    def take(self, event: JsonView) -> None:
        """Read an event."""
        kind = text_in(event, "type")
        if kind == "message_start":
            self._note(object_in(event, "message"))
        elif kind == "content_block_delta":
            delta = object_in(event, "delta")
            self._text.add(text_in(delta, "text"))
            self._call.add(text_in(delta, "partial_json"))
        elif kind == "message_delta":
            self._note(object_in(event, "delta"))
            self._count(object_in(event, "usage"))
        elif kind == "message_stop":
            self.is_done = self.is_complete = True
        elif kind == "error" or event.get("error"):
            self.failure = event

    def take_whole(self, answer: JsonView) -> None:
        """Read a message."""
        import orjson  # lazy: streams do without

        if answer.get("error"):
            self.failure = answer
        for block in objects_in(answer.get("content")):
            self._text.add(text_in(block, "text"))
            if text_in(block, "type") == "tool_use":
                self._call.add(orjson.dumps(block.get("input")).decode())
        self._note(answer)
        self.is_done = text_in(answer, "type") == "message"

    def _note(self, message: JsonView) -> None:
        self._model = text_in(message, "model") or self._model
        self._stop = _STOPS.get(text_in(message, "stop_reason"), "done")
        self._count(object_in(message, "usage"))

    def _count(self, usage: JsonView) -> None:
        """Take over what is told; the tokens of a prompt are told in parts, and not always again at the end."""
        cached = count_in(usage, "cache_read_input_tokens")
        given = count_in(usage, "input_tokens") + cached + count_in(usage, "cache_creation_input_tokens")
        self._usage = Usage(
            input=given or self._usage.input,
            output=count_in(usage, "output_tokens") or self._usage.output,
            cached=cached or self._usage.cached,
        )

    def reply(self) -> Reply:
        """What was answered so far."""
        text = self._call.text() or self._text.text()
        return Reply(text=text, stop=self._stop, usage=self._usage, model=self._model)


WIRE = Wire(
    path="/messages",
    levels=("strict", "tool", "prompt"),
    headers=make_headers,
    body=make_body,
    reader=MessageReader,
)
