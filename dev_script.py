"""A model that follows a script: it makes one call after the other, then stops. Agents write sessions of it.

It speaks as much of Anthropic's Messages, OpenAI's Responses and chat, and Gemini's streams as the programs need. How
far a conversation has come is seen from the results in it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from dev_model import USAGE, Json, Model, as_events, message_events, response_events

ANSWER = "All done: 2 files."
SHELLS: Mapping[str, str] = {
    "Bash": "command",
    "exec_command": "cmd",
    "bash": "command",
    "run_shell_command": "command",
}
"""The shells of the programs, and what they call a command."""


class Turn(NamedTuple):
    """A call: of a shell, or of the tool whose name ends so."""

    tool: str
    arguments: Json


class Script(Model):
    """See the module."""

    def __init__(self, turns: Sequence[Turn]) -> None:
        self._turns = turns
        super().__init__(None)  # type: ignore[arg-type]

    def answer(self, path: str, request: Json) -> tuple[str, bytes]:
        """The kind and the body of an answer."""
        path = path.partition("?")[0]
        self.requests.append((path, request))
        if "contents" in request:
            return self._gemini(path, request)
        if path.endswith("/count_tokens"):
            return "application/json", b'{"input_tokens": 10}'
        if path.endswith("/messages"):
            return self._messages(request)
        if path.endswith("/responses"):
            return "text/event-stream", as_events(response_events(self._items(request)))
        if path.endswith("/chat/completions"):
            return self._chat(request)
        return "application/json", b"{}"

    def _next(self, names: Sequence[str], done: int) -> tuple[str, Json] | None:
        """The call after so many, with the name that the program has for its tool."""
        if done >= len(self._turns):
            return None
        turn = self._turns[done]
        if turn.tool == "shell":
            name = next((name for name in SHELLS if name in names), "")
            given = {SHELLS[name]: turn.arguments["command"]} if name else {}
            return (name, {**given, "description": "run"} if name != "exec_command" else given) if name else None
        name = next((name for name in names if name.endswith(turn.tool)), "")
        return (name, turn.arguments) if name else None

    def _messages(self, request: Json) -> tuple[str, bytes]:
        done = sum(block.get("type") == "tool_result" for block in _blocks(request.get("messages")))
        called = self._next([str(tool.get("name")) for tool in request.get("tools") or ()], done)
        content: Json = {"type": "text", "text": ANSWER}
        if called is not None:
            content = {"type": "tool_use", "id": f"toolu_{done}", "name": called[0], "input": called[1]}
        stop = "tool_use" if called else "end_turn"
        about = {"id": f"msg_{done}", "type": "message", "role": "assistant", "model": str(request.get("model"))}
        message = {**about, "content": [content], "stop_reason": stop, "stop_sequence": None, "usage": USAGE}
        if not request.get("stream"):
            return "application/json", json.dumps(message).encode()
        return "text/event-stream", as_events(message_events(message))

    def _items(self, request: Json) -> list[Json]:
        given = request.get("input")
        items = given if isinstance(given, list) else []
        done = sum(item.get("type") == "function_call_output" for item in items)
        spaces = {
            str(inner.get("name")): ({"namespace": tool["name"]} if inner is not tool else {})
            for tool in request.get("tools") or ()
            for inner in tool.get("tools") or (tool,)
        }
        called = self._next(list(spaces), done)
        if called is None:
            return [{"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": ANSWER}]}]
        name, arguments = called
        call = {"type": "function_call", "call_id": f"call_{done}", "name": name, "arguments": json.dumps(arguments)}
        return [{**call, **spaces[name]}]

    def _chat(self, request: Json) -> tuple[str, bytes]:
        messages = request.get("messages") or []
        done = sum(message.get("role") == "tool" for message in messages)
        names = [str(tool.get("function", {}).get("name")) for tool in request.get("tools") or ()]
        called = self._next(names, done)
        delta: Json = {"role": "assistant", "content": ANSWER}
        if called is not None:
            function = {"name": called[0], "arguments": json.dumps(called[1])}
            delta = {
                "role": "assistant",
                "tool_calls": [{"index": 0, "id": f"call_{done}", "type": "function", "function": function}],
            }
        end = "tool_calls" if called else "stop"
        about = {"id": "chat_1", "object": "chat.completion.chunk", "created": 1, "model": str(request.get("model"))}
        usage = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
        chunks = [
            {**about, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]},
            {**about, "choices": [{"index": 0, "delta": {}, "finish_reason": end}], "usage": usage},
        ]
        if not request.get("stream"):
            choice = {"index": 0, "message": delta, "finish_reason": end}
            return "application/json", json.dumps({**about, "choices": [choice], "usage": usage}).encode()
        return "text/event-stream", b"".join(_data(chunk) for chunk in chunks) + b"data: [DONE]\n\n"

    def _gemini(self, path: str, request: Json) -> tuple[str, bytes]:
        parts = [part for content in request.get("contents") or () for part in content.get("parts") or ()]
        done = sum("functionResponse" in part for part in parts)
        tools = [one for tool in request.get("tools") or () for one in tool.get("functionDeclarations") or ()]
        called = self._next([str(tool.get("name")) for tool in tools], done)
        part: Json = {"text": ANSWER} if called is None else {"functionCall": {"name": called[0], "args": called[1]}}
        usage = {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2}
        candidate = {"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0}
        answer = {"candidates": [candidate], "usageMetadata": usage}
        if "streamGenerateContent" in path:
            return "text/event-stream", _data(answer)
        return "application/json", json.dumps(answer).encode()


def _blocks(messages: object) -> Iterator[Json]:
    for message in messages if isinstance(messages, list) else ():
        content = message.get("content")
        yield from content if isinstance(content, list) else ()


def _data(value: Mapping[str, Any]) -> bytes:
    return f"data: {json.dumps(value)}\n\n".encode()
