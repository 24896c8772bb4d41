"""JSON-RPC without what carries it: many requests in flight, each ending in a result, an error or a timeout.

What the methods mean, and whose process is at the other end, is known elsewhere.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Coroutine, Mapping
from functools import partial
from typing import TYPE_CHECKING, TypedDict, Unpack

import orjson

from pflow.core.errors import ServerError, ServerGone, StepError, StepTimeout
from pflow.core.json_type import JsonView, object_in
from pflow.core.printable import shorten
from pflow.mcp.protocol.json_line import decode, find_reply_id
from pflow.mcp.protocol.rpc_reply import INVALID, read_progress, read_reply

if TYPE_CHECKING:
    from pflow.mcp.protocol.session import Link

IDLE = 30.0
"""Seconds that a server may be silent about a request; progress begins them anew."""

CAP = 1800.0
"""Seconds that a request may take, whatever its progress."""

Progress = Callable[[float, float | None, str], None]
"""Told how far a request is: so much, of how much if known, and what is being done."""

Served = Mapping[str, object] | Coroutine[object, object, Mapping[str, object]] | None

_GREETINGS = frozenset(("initialize", "server/discover"))


class Patience(TypedDict, total=False):
    """How long a server may be silent about a request, how long that may take, and who is told how far it is."""

    timeout: float
    cap: float
    progress: Progress | None


class Call:
    """A request in flight."""

    __slots__ = ("cap", "done", "future", "idle", "method", "progress", "until", "wake")

    def __init__(
        self,
        method: str,
        future: asyncio.Future[dict[str, object]],
        now: float,
        timeout: float = IDLE,
        cap: float = CAP,
        progress: Progress | None = None,
    ) -> None:
        self.method = method
        self.future = future
        self.idle = timeout
        self.cap = cap
        self.until = now + cap
        self.wake = now + min(timeout, cap)
        self.progress = progress
        self.done = 0.0


class Rpc:
    """The requests of one connection, open from the start; `dropped` counts what came and was of no use, by kind.

    What carries the messages says how they are sent, and hands over what arrives.
    """

    garbage = "the MCP server sent something other than messages"

    def __init__(self, link: Link) -> None:
        self.dropped: Counter[str] = Counter()
        self._link = link
        self._error: ServerGone | None = None
        self._calls: dict[int, Call] = {}
        self._answering: set[asyncio.Task[Mapping[str, object]]] = set()
        self._last_id = 0
        self._timer: asyncio.TimerHandle | None = None
        self._loop = asyncio.get_running_loop()

    async def request(
        self, method: str, params: JsonView, *, meta: JsonView | None = None, **patience: Unpack[Patience]
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
        data = encode({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
        call = Call(method, self._loop.create_future(), self._loop.time(), **patience)
        self._calls[number] = call
        self._arm(call.wake)
        self._transmit(number, call, params, data)
        try:
            return await call.future
        except asyncio.CancelledError:
            if self._calls.pop(number, None) is not None:
                self._give_up(number, call, "cancelled")
            raise

    @property
    def is_open(self) -> bool:
        """Whether requests can still be made."""
        return self._error is None

    def notify(self, method: str, params: Mapping[str, object]) -> None:
        """Send a notification."""
        self._send(encode({"jsonrpc": "2.0", "method": method, "params": params}))

    def fail(self, error: ServerGone) -> None:
        """End every request in flight, and all that come, with this error. The first one stays."""
        if self._error is None:
            self._error = error
            self._silence()
        for task in self._answering:
            task.cancel()
        calls, self._calls = self._calls, {}
        for call in calls.values():
            if not call.future.done():
                call.future.set_exception(_copy(self._error))

    def _transmit(self, number: int, call: Call, params: Mapping[str, object], data: bytes) -> None:
        """Send a request: `data` is all of it."""
        self._send(data)

    def _send(self, data: bytes) -> None:
        """Send a notification, or the answer to a request of the server."""
        raise NotImplementedError

    def _is_busy(self) -> bool:
        """Whether so much is still to be sent that the server's own requests must be left."""
        return False

    def _silence(self) -> None:
        """Nothing that still arrives counts."""

    def _take(self, line: bytes, asked: int | None = None) -> None:
        """Take a message; what cannot be read is the reply to `asked`, if that is known."""
        try:
            message = decode(line)
        except ValueError as error:
            if line.strip():
                self._refuse(line, error, asked)
            return
        for item in message if isinstance(message, list) else (message,):
            if isinstance(item, dict):
                self._dispatch(item)
            else:
                self._drop(line)

    def _refuse(self, line: bytes, error: ValueError, asked: int | None) -> None:
        number = find_reply_id(line) if asked is None else asked
        call = self._calls.pop(number, None) if number is not None else None
        if call is None:
            self._drop(line)
        elif not call.future.done():
            known = {"method": call.method, "cause": str(error), "line": shorten(line[:200].decode(errors="replace"))}
            call.future.set_exception(ServerError(INVALID, details={**known, **self._link.describe()}))

    def _dispatch(self, message: dict[str, object]) -> None:
        method = message.get("method")
        if type(method) is str:
            params = object_in(message, "params")
            if "id" in message:
                self._serve(message["id"], method, params)
            elif method == "notifications/progress":
                self._note_progress(params)
            elif not self._link.notice(method, params):
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
        result = read_reply(message, call.method, self._link.describe)
        if isinstance(result, StepError):
            call.future.set_exception(result)
        else:
            call.future.set_result(result)

    def _serve(self, number: object, method: str, params: Mapping[str, object]) -> None:
        answer = None
        if type(number) in (int, str) and not self._is_busy():
            answer = self._link.serve(method, params)
        if answer is None:
            self.dropped["request"] += 1
        elif isinstance(answer, Coroutine):
            task = self._loop.create_task(answer)
            self._answering.add(task)
            task.add_done_callback(partial(self._answered, number))
        else:
            self._send(encode({"jsonrpc": "2.0", "id": number, **answer}))

    def _answered(self, number: object, task: asyncio.Task[Mapping[str, object]]) -> None:
        """Send what was asked for; from now on, waiting calls wait for the server again."""
        self._answering.discard(task)
        if task.cancelled() or self._error is not None:
            return
        self._send(encode({"jsonrpc": "2.0", "id": number, **task.result()}))
        now = self._loop.time()
        for call in self._calls.values():
            call.wake = min(now + call.idle, call.until)

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

    def _drop(self, line: bytes) -> None:
        self.dropped["garbage"] += 1
        if self.dropped["garbage"] == 1:
            shown = shorten(line[:200].decode(errors="replace"))
            self._link.warn(f"{self.garbage}: `{shown}`")

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
        if self._answering:  # the server may be silent for as long as it is our turn
            for call in self._calls.values():
                call.wake = min(max(call.wake, now + call.idle), call.until)
        late = [number for number, call in self._calls.items() if call.wake <= now]
        for number in late:
            call = self._calls.pop(number)
            if call.future.done():
                continue
            capped = call.until <= now and call.cap != call.idle
            limit = call.cap if capped else call.idle
            seconds = f"{round(limit, 1) or round(limit, 3):g} s"
            waited = f"was not done within {seconds}" if capped else f"got no answer for {seconds}"
            details = {**({"dropped": dict(self.dropped)} if self.dropped else {}), **self._link.describe()}
            call.future.set_exception(StepTimeout(f"`{call.method}` {waited}", waited=waited, details=details))
            self._give_up(number, call, "timeout")
        if self._calls:
            self._arm(min(call.wake for call in self._calls.values()))

    def _give_up(self, number: int, call: Call, reason: str) -> None:
        # Before the greeting is over a server need not know of cancelling, and `initialize` may not be cancelled.
        if call.method not in _GREETINGS and self._error is None:
            self.notify("notifications/cancelled", {"requestId": number, "reason": reason})


def encode(message: Mapping[str, object]) -> bytes:
    """A message as a line."""
    try:
        return orjson.dumps(message, option=orjson.OPT_APPEND_NEWLINE)
    except TypeError as error:
        raise StepError(f"the arguments cannot be sent as JSON: {error}") from error


def _copy(error: ServerGone) -> ServerGone:
    """Each caller gets an error of its own, to which it may add."""
    return type(error)(error.message, details=error.details, suggestions=error.suggestions)
