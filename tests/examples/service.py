"""A web service on this machine, for documents that call one."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock, Thread
from typing import NamedTuple


class Answer(NamedTuple):
    """What the service says: a status, and a value that is sent as JSON."""

    status: int = 200
    value: object = None
    headers: tuple[tuple[str, str], ...] = ()


Script = Callable[[str, int], Answer]
"""The answer for a path with its query, and for how often it has been asked for, from 1."""


class Service:
    """Answers as its script says, and counts what it was asked for."""

    def __init__(self, script: Script, url: str) -> None:
        self.url = url
        self.asked: Counter[str] = Counter()
        self._script = script
        self._lock = Lock()

    def answer(self, path: str) -> Answer:
        with self._lock:
            self.asked[path] += 1
            return self._script(path, self.asked[path])


@contextmanager
def serving(script: Script) -> Iterator[Service]:
    """A service that runs until the block ends."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def respond(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length") or 0))
            given = service.answer(self.path)
            body = json.dumps(given.value).encode()
            self.send_response(given.status)
            for name, value in (("Content-Type", "application/json"), *given.headers):
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_GET = do_POST = respond

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        service = Service(script, f"http://127.0.0.1:{server.server_address[1]}")
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield service
        finally:
            server.shutdown()
            thread.join()
