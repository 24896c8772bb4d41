"""JSON-RPC over a pair of file descriptors: many requests in flight, each ending in a result, an error or a timeout.

What the methods mean, and whose process is at the other end, is known elsewhere.
"""

from __future__ import annotations

import asyncio
import os
from collections import Counter
from collections.abc import Callable, Mapping

import orjson

from pflow.core.errors import ServerError, ServerGone, StepError, StepTimeout
from pflow.core.render import shorten
from pflow.mcp.frame import LINE_LIMIT, Lines, decode, find_reply_id
from pflow.mcp.reply import INVALID, read_progress, read_reply

IDLE = 30.0
"""Seconds that a server may be silent about a request; progress begins them anew."""

CAP = 1800.0
"""Seconds that a request may take, whatever its progress."""

Progress = Callable[[float, float | None, str], None]
"""Told how far a request is: so much, of how much if known, and what is being done."""

_CHUNK = 1 << 16
_DRAIN = 512
_MOST_QUEUED = 1 << 20
_GREETINGS = frozenset(("initialize", "server/discover"))


class Hooks:
    """What a connection tells its owner, and asks of it. The plain ones decline and ignore everything."""

    def ended(self, error: ServerGone | None) -> None:
        """The other end broke the rules (`error`), or it closed the stream."""

    def serve(self, method: str, params: Mapping[str, object]) -> Mapping[str, object] | None:
        """Answer a request of the server with `result` or `error`; None drops it."""
        return None

    def notice(self, method: str, params: Mapping[str, object]) -> bool:
        """A notification came; whether it was of use."""
        return False

    def describe(self) -> dict[str, object]:
        """What is known of the server's state, for the details of errors."""
        return {}

    def warn(self, message: str) -> None:
        """Something is wrong that does not stop the work; said once per kind."""


class _Call:
    """A request in flight."""

    __slots__ = ("cap", "done", "future", "idle", "method", "progress", "until", "wake")

    def __init__(
        self,
        method: str,
        future: asyncio.Future[dict[str, object]],
        now: float,
        idle: float,
        cap: float,
        progress: Progress | None,
    ) -> None:
        self.method = method
        self.future = future
        self.idle = idle
        self.cap = cap
        self.until = now + cap
        self.wake = now + min(idle, cap)
        self.progress = progress
        self.done = 0.0


class Wire:
    """A connection, open from the start. `dropped` counts what came and was of no use, by kind."""

    def __init__(
        self, reading: int, writing: int, hooks: Hooks, *, limit: int = LINE_LIMIT, write_timeout: float = IDLE
    ) -> None:
        self.dropped: Counter[str] = Counter()
        self._hooks = hooks
        self._limit = limit
        self._lines = Lines(limit)
        self._reading, self._writing = reading, writing
        self._same = reading == writing
        self._write_timeout = write_timeout
        self._error: ServerGone | None = None
        self._calls: dict[int, _Call] = {}
        self._last_id = 0
        self._queue = bytearray()
        self._sent = 0
        self._timer: asyncio.TimerHandle | None = None
        self._write_timer: asyncio.TimerHandle | None = None
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(reading, self._receive)

    async def request(
        self,
        method: str,
        params: Mapping[str, object],
        *,
        meta: Mapping[str, object] | None = None,
        idle: float = IDLE,
        cap: float = CAP,
        progress: Progress | None = None,
    ) -> dict[str, object]:
        """The result of a request. With `meta`, it goes out with that and a token for progress.

        Raises `ReplyError` when the server answers with an error, `StepTimeout` when it does not answer in time,
        `ServerGone` when the connection ends, and `ServerError` when the answer makes no sense.
        """
        if self._error is not None:
            raise _copy(self._error)
        self._last_id = number = self._last_id + 1
        if meta is not None:
            params = {**params, "_meta": {**meta, "progressToken": number}}
        data = _encode({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
        call = _Call(method, self._loop.create_future(), self._loop.time(), idle, cap, progress)
        self._calls[number] = call
        self._arm(call.wake)
        self._send(data)
        try:
            return await call.future
        except asyncio.CancelledError:
            if self._calls.pop(number, None) is not None:
                self._give_up(number, method, "cancelled")
            raise

    @property
    def is_open(self) -> bool:
        """Whether requests can still be made."""
        return self._error is None

    def notify(self, method: str, params: Mapping[str, object]) -> None:
        """Send a notification."""
        self._send(_encode({"jsonrpc": "2.0", "method": method, "params": params}))

    def fail(self, error: ServerGone) -> None:
        """End every request in flight, and all that come, with this error. The first one stays."""
        if self._error is None:
            self._error = error
            self._loop.remove_reader(self._reading)
        calls, self._calls = self._calls, {}
        for call in calls.values():
            if not call.future.done():
                call.future.set_exception(_copy(self._error))

    def drain(self) -> None:
        """Take what already arrived, up to a bound."""
        for _ in range(_DRAIN):
            if not self._receive():
                break

    def close_writing(self) -> None:
        """Tell the server that nothing more comes."""
        self._queue.clear()
        if self._write_timer is not None:
            self._write_timer.cancel()
        if self._writing >= 0:
            self._loop.remove_writer(self._writing)
            if not self._same:
                os.close(self._writing)
            self._writing = -1

    def close(self) -> None:
        """Let go of everything; what is still in flight must have been failed."""
        self.close_writing()
        if self._timer is not None:
            self._timer.cancel()
        if self._reading >= 0:
            self._loop.remove_reader(self._reading)
            os.close(self._reading)
            self._reading = -1

    def _send(self, data: bytes) -> None:
        if self._writing < 0:
            return
        if self._queue:
            self._queue += data
            return
        sent = self._write(data)
        if 0 <= sent < len(data):
            self._queue += memoryview(data)[sent:]
            self._loop.add_writer(self._writing, self._write_queued)
            self._write_timer = self._loop.call_later(self._write_timeout, self._check_writing, self._sent)

    def _write(self, data: bytes | memoryview) -> int:
        """How much was written: −1 when nothing can be any more."""
        try:
            sent = os.write(self._writing, data)
        except BlockingIOError:
            return 0
        except OSError:
            self.close_writing()
            self._hooks.ended(None)
            return -1
        self._sent += sent
        return sent

    def _write_queued(self) -> None:
        sent = self._write(bytes(self._queue[:_CHUNK]))
        if sent > 0:
            del self._queue[:sent]
        if not self._queue and self._writing >= 0:
            self._loop.remove_writer(self._writing)
            if self._write_timer is not None:
                self._write_timer.cancel()

    def _check_writing(self, sent: int) -> None:
        if self._sent == sent:
            self._break(f"the MCP server did not read what it was sent for {self._write_timeout:g} s")
        else:
            self._write_timer = self._loop.call_later(self._write_timeout, self._check_writing, self._sent)

    def _receive(self) -> bool:
        """Take some of what arrived; whether there may be more."""
        if self._reading < 0 or self._error is not None:
            return False
        try:
            data = os.read(self._reading, _CHUNK)
        except BlockingIOError:
            return False
        except OSError:
            data = b""
        if not data:
            self._loop.remove_reader(self._reading)
            self._hooks.ended(None)
            return False
        for line in self._lines.feed(data):
            self._take(line)
        if self._lines.overlong:
            self._break(f"the MCP server sent a line of more than {self._limit:,} bytes")
        return True

    def _break(self, message: str) -> None:
        self._hooks.ended(ServerGone(message, details=self._hooks.describe()))

    def _take(self, line: bytes) -> None:
        try:
            message = decode(line)
        except ValueError as error:
            if line.strip():
                self._refuse(line, error)
            return
        if isinstance(message, dict):
            self._dispatch(message)
        elif isinstance(message, list):
            for item in message:
                if isinstance(item, dict):
                    self._dispatch(item)
                else:
                    self._drop("garbage", line)
        else:
            self._drop("garbage", line)

    def _refuse(self, line: bytes, error: ValueError) -> None:
        number = find_reply_id(line)
        call = self._calls.pop(number, None) if number is not None else None
        if call is None:
            self._drop("garbage", line)
        elif not call.future.done():
            known = {"method": call.method, "cause": str(error), "line": shorten(line[:200].decode(errors="replace"))}
            call.future.set_exception(ServerError(INVALID, details={**known, **self._hooks.describe()}))

    def _dispatch(self, message: dict[str, object]) -> None:
        method = message.get("method")
        if type(method) is str:
            params = message.get("params")
            known: dict[str, object] = params if isinstance(params, dict) else {}
            if "id" in message:
                self._serve(message["id"], method, known)
            elif method == "notifications/progress":
                self._note_progress(known)
            elif not self._hooks.notice(method, known):
                self.dropped["notification"] += 1
            return
        number = message.get("id")
        if type(number) is not int:
            self.dropped["bad id"] += 1
            return
        call = self._calls.pop(number, None)
        if call is None:
            self.dropped["unknown id"] += 1
            return
        if call.future.done():
            return
        result = read_reply(message, call.method, self._hooks.describe)
        if isinstance(result, StepError):
            call.future.set_exception(result)
        else:
            call.future.set_result(result)

    def _serve(self, number: object, method: str, params: Mapping[str, object]) -> None:
        answer = None
        if type(number) in (int, str) and len(self._queue) < _MOST_QUEUED:
            answer = self._hooks.serve(method, params)
        if answer is None:
            self.dropped["request"] += 1
        else:
            self._send(_encode({"jsonrpc": "2.0", "id": number, **answer}))

    def _note_progress(self, params: Mapping[str, object]) -> None:
        token = params.get("progressToken")
        call = self._calls.get(token) if type(token) is int else None
        step = read_progress(params)
        if call is None or step is None or step[0] < call.done:
            self.dropped["progress"] += 1
            return
        call.done = step[0]
        call.wake = min(self._loop.time() + call.idle, call.until)
        if call.progress is not None:
            call.progress(*step)

    def _drop(self, kind: str, line: bytes) -> None:
        self.dropped[kind] += 1
        if self.dropped[kind] == 1:
            shown = shorten(line[:200].decode(errors="replace"))
            self._hooks.warn(f"the MCP server wrote something else than messages to its output: `{shown}`")

    def _arm(self, wake: float) -> None:
        """Be woken at a time; one timer serves all calls, so that a call costs none of its own."""
        if self._timer is not None and not self._timer.cancelled():
            if self._timer.when() <= wake:
                return
            self._timer.cancel()
        self._timer = self._loop.call_at(wake, self._expire)

    def _expire(self) -> None:
        self._timer = None
        now = self._loop.time() + 0.001
        late = [number for number, call in self._calls.items() if call.wake <= now]
        for number in late:
            call = self._calls.pop(number)
            if call.future.done():
                continue
            capped = call.until <= now and call.cap != call.idle
            waited = (
                f"was not done within {_seconds(call.cap)}" if capped else f"got no answer for {_seconds(call.idle)}"
            )
            call.future.set_exception(
                StepTimeout(
                    f"`{call.method}` {waited}",
                    details={**({"dropped": dict(self.dropped)} if self.dropped else {}), **self._hooks.describe()},
                )
            )
            self._give_up(number, call.method, "timeout")
        if self._calls:
            self._arm(min(call.wake for call in self._calls.values()))

    def _give_up(self, number: int, method: str, reason: str) -> None:
        # Before the greeting is over a server need not know of cancelling, and `initialize` may not be cancelled.
        if method not in _GREETINGS and self._error is None:
            self.notify("notifications/cancelled", {"requestId": number, "reason": reason})


def _seconds(number: float) -> str:
    return f"{round(number, 1) or round(number, 3):g} s"


def _encode(message: Mapping[str, object]) -> bytes:
    try:
        return orjson.dumps(message, option=orjson.OPT_APPEND_NEWLINE)
    except TypeError as error:
        raise StepError(f"the arguments cannot be sent as JSON: {error}") from error


def _copy(error: ServerGone) -> ServerGone:
    """Each caller gets an error of its own, to which it may add."""
    return type(error)(error.message, details=error.details, suggestions=error.suggestions)
