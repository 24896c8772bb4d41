"""A model for agents' programs to talk to, on this machine and without a mind: it calls one tool, then stops.

It speaks as much of Anthropic's Messages and OpenAI's Responses as the programs need, and streams as they do.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, NamedTuple

Json = dict[str, Any]
DONE = "The tool has answered."
OWN, WAITED = "toolu_own", "toolu_waited"
WAIT = "WaitForMcpServers"
"""A tool of Claude Code, whose servers may still be starting when the model is asked."""

USAGE = {"input_tokens": 10, "output_tokens": 5}


class Call(NamedTuple):
    """The one call that the model makes; `tool` is the end of the name under which a program offers it."""

    tool: str
    arguments: Json


class Model:
    """Serves on a free port of loopback until it is closed; `results` are what tools answered."""

    def __init__(self, call: Call) -> None:
        self.call = call
        self.requests: list[tuple[str, Json]] = []
        model = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self._answer(b"{}", "application/json")

            def do_HEAD(self) -> None:
                self._answer(b"", "application/json")

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                try:
                    request = json.loads(body)
                except ValueError:
                    request = {}
                kind, data = model.answer(self.path, request)
                self._answer(data, kind)

            def _answer(self, data: bytes, kind: str) -> None:
                self.send_response(200)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, format: str, *args: object) -> None:
                """Say nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        """Where it is."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    @property
    def results(self) -> list[str]:
        """What the tool answered, as the program passed it on."""
        return [text for _, request in self.requests for text in results_in(request, OWN)]

    def __enter__(self) -> Model:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def answer(self, path: str, request: Json) -> tuple[str, bytes]:
        """The kind and the body of an answer."""
        path = path.partition("?")[0]
        self.requests.append((path, request))
        if path.endswith("/count_tokens"):
            return "application/json", b'{"input_tokens": 10}'
        if path.endswith("/messages"):
            message = self._message(request)
            if not request.get("stream"):
                return "application/json", json.dumps(message).encode()
            return "text/event-stream", as_events(message_events(message))
        if path.endswith("/responses"):
            return "text/event-stream", as_events(response_events(self._items(request)))
        return "application/json", b"{}"

    def _message(self, request: Json) -> Json:
        names = [str(tool.get("name")) for tool in request.get("tools") or ()]
        name = next((tool for tool in names if tool.endswith(self.call.tool)), None)
        content: Json = {"type": "text", "text": DONE}
        if name is not None and not list(results_in(request, OWN)):
            content = {"type": "tool_use", "id": OWN, "name": name, "input": self.call.arguments}
        elif name is None and WAIT in names and not list(results_in(request, WAITED)):
            content = {"type": "tool_use", "id": WAITED, "name": WAIT, "input": {}}
        stop = "tool_use" if content["type"] == "tool_use" else "end_turn"
        about = {"id": "msg_1", "type": "message", "role": "assistant", "model": str(request.get("model"))}
        return {**about, "content": [content], "stop_reason": stop, "stop_sequence": None, "usage": USAGE}

    def _items(self, request: Json) -> list[Json]:
        if list(results_in(request, OWN)):
            return [{"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": DONE}]}]
        for tool in request.get("tools") or ():
            for inner in tool.get("tools") or (tool,):
                name = str(inner.get("name") or "")
                if name.endswith(self.call.tool):
                    namespace = {"namespace": tool["name"]} if inner is not tool else {}
                    arguments = json.dumps(self.call.arguments)
                    return [
                        {"type": "function_call", "call_id": OWN, "name": name, "arguments": arguments, **namespace}
                    ]
        return [{"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "no tool"}]}]


def results_in(request: Json, call: str) -> Iterator[str]:
    """What a tool answered to a call, in either protocol."""
    for message in request.get("messages") or ():
        content = message.get("content")
        for block in content if isinstance(content, list) else ():
            if block.get("type") == "tool_result" and block.get("tool_use_id") == call:
                yield as_text(block.get("content"))
    items = request.get("input")
    for item in items if isinstance(items, list) else ():
        if item.get("type") == "function_call_output" and item.get("call_id") == call:
            yield as_text(item.get("output"))


def as_text(content: object) -> str:
    return content if isinstance(content, str) else json.dumps(content)


def message_events(message: Json) -> Iterator[tuple[str, Json]]:
    """A message of the one protocol, in pieces."""
    [content] = message["content"]
    yield "message_start", {"message": {**message, "content": [], "stop_reason": None}}
    if content["type"] == "text":
        yield "content_block_start", {"index": 0, "content_block": {"type": "text", "text": ""}}
        yield "content_block_delta", {"index": 0, "delta": {"type": "text_delta", "text": content["text"]}}
    else:
        yield "content_block_start", {"index": 0, "content_block": {**content, "input": {}}}
        piece = json.dumps(content["input"])
        yield "content_block_delta", {"index": 0, "delta": {"type": "input_json_delta", "partial_json": piece}}
    yield "content_block_stop", {"index": 0}
    delta = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    yield "message_delta", {"delta": delta, "usage": {"output_tokens": 5}}
    yield "message_stop", {}


def response_events(items: list[Json]) -> Iterator[tuple[str, Json]]:
    """A response of the other one."""
    yield "response.created", {"response": {"id": "resp_1"}}
    for index, item in enumerate(items):
        yield "response.output_item.done", {"output_index": index, "item": item}
    usage = {**USAGE, "input_tokens_details": None, "output_tokens_details": None, "total_tokens": 15}
    yield "response.completed", {"response": {"id": "resp_1", "output": items, "usage": usage}}


def as_events(events: Iterator[tuple[str, Mapping[str, Any]]]) -> bytes:
    """Server-sent events."""
    return "".join(f"event: {kind}\ndata: {json.dumps({'type': kind, **data})}\n\n" for kind, data in events).encode()
