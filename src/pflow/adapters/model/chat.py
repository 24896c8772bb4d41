"""The wire `chat`: OpenAI's Chat Completions, which nearly every provider speaks."""

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

_STOPS: dict[str, Stop] = {"length": "cut", "content_filter": "refused"}


def make_body(question: Question) -> dict[str, object]:
    """The request."""
    system = [{"role": "system", "content": question.system}] if question.system else []
    body = {
        **common_body(question, "max_tokens"),
        "messages": [*system, *map(_message, question.turns)],
        "stream_options": {"include_usage": True},
    }
    if question.level in ("strict", "native"):
        form = {"name": TOOL, "schema": question.schema, **({"strict": True} if question.level == "strict" else {})}
        body["response_format"] = {"type": "json_schema", "json_schema": form}
    elif question.level == "tool":
        function = {"name": TOOL, "description": TOOL_TEXT, "parameters": question.schema}
        body["tools"] = [{"type": "function", "function": function}]
        body["tool_choice"] = {"type": "function", "function": {"name": TOOL}}
    return body


def _message(turn: Turn) -> dict[str, object]:
    if not turn.images:
        return {"role": turn.role, "content": turn.text}
    images = [{"type": "image_url", "image_url": {"url": as_data_url(image)}} for image in turn.images]
    return {"role": turn.role, "content": [{"type": "text", "text": turn.text}, *images]}


class ChatReader:
    """Reads chunks, or a whole completion."""

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
        """Read a chunk."""
        self._take(event, "delta")

    def take_whole(self, answer: JsonView) -> None:
        """Read a completion."""
        self._take(answer, "message")
        self.is_done = self.is_done or bool(objects_in(answer.get("choices")))

    def _take(self, event: JsonView, part: str) -> None:
        if event.get("error"):
            self.failure = event
        self._model = text_in(event, "model") or self._model
        if usage := object_in(event, "usage"):
            cached = count_in(object_in(usage, "prompt_tokens_details"), "cached_tokens")
            self._usage = Usage(
                input=count_in(usage, "prompt_tokens"), output=count_in(usage, "completion_tokens"), cached=cached
            )
            self.is_complete = self.is_done
        for choice in objects_in(event.get("choices"))[:1]:
            said = object_in(choice, part)
            self._text.add(text_in(said, "content"))
            self._refusal.add(text_in(said, "refusal"))
            for call in objects_in(said.get("tool_calls")):
                self._call.add(text_in(object_in(call, "function"), "arguments"))
            if reason := text_in(choice, "finish_reason"):
                self.is_done = True
                self._stop = _STOPS.get(reason, "done")

    def reply(self) -> Reply:
        """What was answered so far."""
        refusal = self._refusal.text()
        text = refusal or self._call.text() or self._text.text()
        stop: Stop = "refused" if refusal else self._stop
        return Reply(text=text, stop=stop, usage=self._usage, model=self._model)


WIRE = Wire(
    path="/chat/completions",
    levels=("strict", "native", "tool", "prompt"),
    headers=bearer,
    body=make_body,
    reader=ChatReader,
)
