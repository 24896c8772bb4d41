"""Writes a session in pflow's own form while it goes on: the calls among the messages of a client and its server."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import orjson

from pflow.core.errors import PflowError
from pflow.core.file.atomic import make_folder
from pflow.core.file.lock import hold_lock
from pflow.core.json_type import Json, JsonView, object_in, objects_in
from pflow.core.session.recorded import header

_LONGEST_BYTES = 16 << 20
_MOST_OPEN = 10_000


class Recording:
    """What a client asks of a server and what it is answered. Nothing here raises: a conversation must go on.

    The file is made with the first call. `redact` takes secrets out of what is written, `warn` is told once if no more
    can be.
    """

    def __init__(
        self,
        folder: Path,
        server: str,
        *,
        directory: str,
        redact: Callable[[object], object],
        warn: Callable[[str], None],
    ) -> None:
        self._folder = folder
        self._server = server
        self._directory = directory
        self._redact = redact
        self._warn = warn
        self._lock = threading.Lock()
        self._open: dict[str, Json] = {}
        self._group = 0
        self._fd = -1
        self._is_lost = False

    def asked(self, line: bytes) -> None:
        """A line of the client."""
        if b"tools/call" in line or b"notifications/cancelled" in line:
            with self._lock:
                for message in _messages(line):
                    self._ask(message)

    def answered(self, line: bytes) -> None:
        """A line of the server."""
        if self._open:
            with self._lock:
                for message in _messages(line):
                    self._answer(message)

    def close(self) -> None:
        """Write down the calls that were never answered."""
        with self._lock:
            for call in self._open.values():
                self._write(call)
            self._open.clear()
            if self._fd >= 0:
                os.close(self._fd)
            self._fd, self._is_lost = -1, True

    def _ask(self, message: JsonView) -> None:
        params = object_in(message, "params")
        if message.get("method") == "notifications/cancelled":
            call = self._open.pop(_key(params.get("requestId")), None)
            if call is not None:
                self._write({**call, "error": {"message": "the client cancelled the call"}})
        elif message.get("method") == "tools/call" and "id" in message and len(self._open) < _MOST_OPEN:
            self._group += not self._open
            facts = {"tool": params.get("name"), "arguments": params.get("arguments") or {}}
            self._open[_key(message["id"])] = {**facts, "at": time.time(), "group": self._group}

    def _answer(self, message: JsonView) -> None:
        if "method" in message or (call := self._open.pop(_key(message.get("id")), None)) is None:
            return
        result = object_in(message, "result")
        if "error" in message:
            self._write({**call, "error": object_in(message, "error")})
        elif result.get("resultType") != "input_required":  # else the client asks again, with more
            self._write({**call, "result": result})

    def _write(self, call: Json) -> None:
        if self._is_lost:
            return
        try:
            if self._fd < 0:
                self._begin()
            self._append(self._redact(call))
        except (OSError, PflowError, TypeError, ValueError) as error:
            self._is_lost = True
            self._warn(f"the session is not recorded any further: {error}")

    def _begin(self) -> None:
        make_folder(self._folder)
        now = datetime.now(UTC)
        id = f"{now:%Y%m%d-%H%M%S}-{os.urandom(4).hex()}"
        path = self._folder / f"{id}.jsonl"
        self._fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o600)
        hold_lock(self._fd, path)
        self._append(header(id, self._server, self._directory, now.isoformat()))

    def _append(self, line: object) -> None:
        data = memoryview(orjson.dumps(line) + b"\n")
        while data:
            data = data[os.write(self._fd, data) :]


class LongLines:
    """Cuts a stream into lines, each passed on whole; those that are too long to be kept are left out."""

    def __init__(self, take: Callable[[bytes], None]) -> None:
        self._take = take
        self._kept: list[bytes] = []
        self._size = 0

    def feed(self, data: bytes) -> None:
        """Take the next bytes of the stream."""
        *lines, rest = data.split(b"\n")
        for line in lines:
            self._keep(line)
            if self._size <= _LONGEST_BYTES:
                self._take(b"".join(self._kept))
            self._kept, self._size = [], 0
        self._keep(rest)

    def _keep(self, part: bytes) -> None:
        self._size += len(part)
        if self._size > _LONGEST_BYTES:
            self._kept = []
        elif part:
            self._kept.append(part)


def _messages(line: bytes) -> list[JsonView]:
    """The messages of a line; some clients send several as an array."""
    try:
        value: object = orjson.loads(line)
    except ValueError:
        return []
    return objects_in(value if isinstance(value, list) else [value])


def _key(id: object) -> str:
    """An id of a message: 1 and "1" are two."""
    return repr(id)
