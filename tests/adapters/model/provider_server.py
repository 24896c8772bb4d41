"""A provider on loopback that answers as it is told: every wire, whole or in a stream, well and badly."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

Json = dict[str, Any]
USAGE = (11, 7)


class Asked(NamedTuple):
    """A request that came in."""

    path: str
    headers: dict[str, str]
    body: Json


class Act:
    """What is sent for one request: a status, headers, and pieces of a body, for ever with `repeat`."""

    def __init__(
        self,
        pieces: list[bytes],
        *,
        status: int = 200,
        kind: str = "text/event-stream",
        repeat: bool = False,
        headers: dict[str, str] | None = None,
    ) -> None:
        self.pieces = pieces
        self.status = status
        self.kind = kind
        self.repeat = repeat
        self.headers = headers or {}


class ProviderServer:
    """Plays its acts in turn; the last one again and again."""

    def __init__(self, acts: list[Act]) -> None:
        self.acts = acts
        self.asked: list[Asked] = []
        provider = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                headers = {name.lower(): value for name, value in self.headers.items()}
                act = provider.acts[min(len(provider.asked), len(provider.acts) - 1)]
                provider.asked.append(Asked(self.path, headers, body))
                self.send_response(act.status)
                self.send_header("content-type", act.kind)
                self.send_header("connection", "close")
                for name, value in act.headers.items():
                    self.send_header(name, value)
                self.end_headers()
                self.close_connection = True
                try:
                    self._write(act)
                except OSError:
                    pass  # who asked has heard enough

            def _write(self, act: Act) -> None:
                while True:
                    for piece in act.pieces:
                        self.wfile.write(piece)
                    if not act.repeat:
                        return

            def log_message(self, format: str, *args: object) -> None:
                """Say nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/v1"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


@contextmanager
def provider(*acts: Act) -> Iterator[ProviderServer]:
    """A provider that plays these."""
    server = ProviderServer(list(acts))
    try:
        yield server
    finally:
        server.close()


def event(data: object) -> bytes:
    return b"data: " + (data if isinstance(data, bytes) else json.dumps(data).encode()) + b"\n\n"


def failing(status: int, message: str = "", **headers: str) -> Act:
    """An error with the body that most providers send."""
    body = json.dumps({"error": {"message": message or f"status {status}", "type": "x"}}).encode()
    sent = {name.replace("_", "-"): value for name, value in headers.items()}
    return Act([body], status=status, kind="application/json", headers=sent)


def saying(wire: str, text: str, *, stop: str = "done", tool: bool = False) -> Act:
    """A good answer in a stream of that wire; `stop` may be `cut` or `refused`."""
    return Act([event(data) for data in STREAMS[wire](text, stop, tool)])


def saying_whole(wire: str, text: str) -> Act:
    """The same as one object, from servers that do not stream."""
    return Act([json.dumps(WHOLES[wire](text)).encode()], kind="application/json")


def halves(text: str) -> tuple[str, str]:
    return text[: len(text) // 2], text[len(text) // 2 :]


def chat_stream(text: str, stop: str, tool: bool) -> Iterator[object]:
    for part in halves(text):
        call = [{"index": 0, "function": {"name": "answer", "arguments": part}}]
        refusal = {"refusal": part} if stop == "refused" else {"content": part}
        yield {"model": "served", "choices": [{"index": 0, "delta": {"tool_calls": call} if tool else refusal}]}
    yield {"choices": [{"index": 0, "delta": {}, "finish_reason": "length" if stop == "cut" else "stop"}]}
    usage = {"prompt_tokens": USAGE[0], "completion_tokens": USAGE[1], "prompt_tokens_details": {"cached_tokens": 3}}
    yield {"choices": [], "usage": usage}
    yield b"[DONE]"


def response_item(text: str, stop: str, tool: bool) -> Json:
    if tool:
        return {"type": "function_call", "name": "answer", "arguments": text}
    part = {"type": "refusal", "refusal": text} if stop == "refused" else {"type": "output_text", "text": text}
    return {"type": "message", "role": "assistant", "content": [part]}


def response(text: str, stop: str = "done", tool: bool = False) -> Json:
    end = {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}} if stop == "cut" else {}
    return {
        "model": "served",
        "status": "completed",
        "output": [{"type": "reasoning", "content": [{"text": "hm"}]}, response_item(text, stop, tool)],
        "usage": {"input_tokens": USAGE[0], "output_tokens": USAGE[1], "input_tokens_details": {"cached_tokens": 3}},
        **end,
    }


def response_stream(text: str, stop: str, tool: bool) -> Iterator[object]:
    yield {"type": "response.created", "response": {"status": "in_progress"}}
    for part in halves(text):
        yield {"type": "response.output_text.delta", "delta": part}
    kind = "response.incomplete" if stop == "cut" else "response.completed"
    yield {"type": kind, "response": response(text, stop, tool)}


def message_stream(text: str, stop: str, tool: bool) -> Iterator[object]:
    usage = {"input_tokens": USAGE[0] - 3, "cache_read_input_tokens": 3, "output_tokens": 1}
    yield {"type": "message_start", "message": {"model": "served", "usage": usage, "content": []}}
    yield {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}
    for part in halves(text):
        delta = {"type": "input_json_delta", "partial_json": part} if tool else {"type": "text_delta", "text": part}
        yield {"type": "content_block_delta", "index": 0, "delta": delta}
    reason = {"cut": "max_tokens", "refused": "refusal"}.get(stop, "end_turn")
    yield {"type": "message_delta", "delta": {"stop_reason": reason}, "usage": {"output_tokens": USAGE[1]}}
    yield {"type": "message_stop"}


STREAMS: dict[str, Callable[[str, str, bool], Iterator[object]]] = {
    "chat": chat_stream,
    "responses": response_stream,
    "messages": message_stream,
}

WHOLES: dict[str, Callable[[str], Json]] = {
    "chat": lambda text: {
        "model": "served",
        "choices": [{"message": {"role": "assistant", "content": text}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": USAGE[0], "completion_tokens": USAGE[1]},
    },
    "responses": response,
    "messages": lambda text: {
        "type": "message",
        "model": "served",
        "content": [{"type": "text", "text": text}],
        "stop_reason": "end_turn",
        "usage": {"input_tokens": USAGE[0], "output_tokens": USAGE[1]},
    },
}
