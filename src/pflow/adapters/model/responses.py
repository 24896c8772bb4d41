"""The wire `responses`: OpenAI's Responses. Nothing is stored by the provider."""

from __future__ import annotations

from pflow.adapters.model.message import (
    TOOL,
    TOOL_TEXT,
    Pieces,
    Question,
    Reply,
    Stop,
    Turn,
    Wire,
    as_data_url,
    bearer,
    common_body,
    count_in,
    text_in,
)
from pflow.core.json_type import JsonView, object_in, objects_in
from pflow.engine.model.llm import NO_USAGE, Usage

_ENDS = frozenset(("response.completed", "response.incomplete", "response.failed"))


def make_body(question: Question) -> dict[str, object]:
    """The request."""
    body = {**common_body(question, "max_output_tokens"), "input": list(map(_item, question.turns)), "store": False}
    if question.system:
        body["instructions"] = question.system
    if question.level in ("strict", "native"):
        is_strict = question.level == "strict"
        form = {"type": "json_schema", "name": TOOL, "schema": question.schema, "strict": is_strict}
        body["text"] = {"format": form}
    elif question.level == "tool":
        tool = {"type": "function", "name": TOOL, "description": TOOL_TEXT, "parameters": question.schema}
        body["tools"] = [{**tool, "strict": False}]
        body["tool_choice"] = {"type": "function", "name": TOOL}
    return body


def _item(turn: Turn) -> dict[str, object]:
    kind = "input_text" if turn.role == "user" else "output_text"
    images = [{"type": "input_image", "image_url": as_data_url(image)} for image in turn.images]
    return {"type": "message", "role": turn.role, "content": [{"type": kind, "text": turn.text}, *images]}


class ResponseReader:
    """Reads events, or a whole response; the last event of a stream holds one, which is what counts."""

    def __init__(self) -> None:
        self.is_done = self.is_complete = False
        self.failure: JsonView | None = None
        self._text = Pieces()
        self._call = Pieces()
        self._refusal = Pieces()
        self._stop: Stop = "done"
        self._usage = NO_USAGE
        self._model = ""

    @property
    def size(self) -> int:
        """Characters so far."""
        return self._text.size + self._call.size + self._refusal.size

    def take(self, event: JsonView) -> None:
        """Read an event."""
        kind = text_in(event, "type")
        if kind == "response.output_text.delta":
            self._text.add(text_in(event, "delta"))
        elif kind == "response.refusal.delta":
            self._refusal.add(text_in(event, "delta"))
        elif kind == "response.function_call_arguments.delta":
            self._call.add(text_in(event, "delta"))
        elif kind in _ENDS:
            self.take_whole(object_in(event, "response"))
            self.is_done = self.is_complete = True
        elif kind == "error" or event.get("error"):
            self.failure = event

    def take_whole(self, answer: JsonView) -> None:
        """Read a response."""
        self.is_done = bool(text_in(answer, "status") or answer.get("output"))
        self._model = text_in(answer, "model") or self._model
        if answer.get("error"):
            self.failure = answer
        usage = object_in(answer, "usage")
        cached = count_in(object_in(usage, "input_tokens_details"), "cached_tokens")
        self._usage = Usage(
            input=count_in(usage, "input_tokens"), output=count_in(usage, "output_tokens"), cached=cached
        )
        if text_in(answer, "status") == "incomplete":
            reason = text_in(object_in(answer, "incomplete_details"), "reason")
            self._stop = "refused" if reason == "content_filter" else "cut"
        output = objects_in(answer.get("output"))
        if output:
            self._text, self._call, self._refusal = Pieces(), Pieces(), Pieces()
        for item in output:
            if text_in(item, "type") == "function_call":
                self._call.add(text_in(item, "arguments"))
            for part in objects_in(item.get("content")) if text_in(item, "type") == "message" else ():
                self._refusal.add(text_in(part, "refusal"))
                self._text.add(text_in(part, "text"))

    def reply(self) -> Reply:
        """What was answered so far."""
        refusal = self._refusal.text()
        text = refusal or self._call.text() or self._text.text()
        stop: Stop = "refused" if refusal else self._stop
        return Reply(text=text, stop=stop, usage=self._usage, model=self._model)


WIRE = Wire(
    path="/responses",
    levels=("strict", "native", "tool", "prompt"),
    headers=bearer,
    body=make_body,
    reader=ResponseReader,
)
