"""One question to a provider over HTTP: sent, waited for, tried again where that helps, and read up to a limit.

The key goes to the address that is configured and nowhere else: redirects are not followed.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing

import orjson

from pflow.adapters.model.context import too_long
from pflow.adapters.model.message import Question, Reader, Reply, SchemaRefused, Wire, text_in
from pflow.adapters.model.pace import Crowd, Pace
from pflow.adapters.model.target import Target
from pflow.core.advice import Advice
from pflow.core.errors import ModelError, StepError
from pflow.core.json_type import JsonView, object_in
from pflow.core.printable import shorten
from pflow.engine.attempt.limiter import Limiter
from pflow.engine.attempt.turn import take_turn
from pflow.engine.model.llm import Report
from pflow.http.address import URL, parse_url
from pflow.http.client import AGENT, Answer, Client, Hop, Policy
from pflow.http.connection import Trust
from pflow.http.failure import Failure, Kind
from pflow.http.header import UNSAFE, read_wait
from pflow.http.per_loop import PerLoop
from pflow.mcp.transport.sse import Events

LONGEST_WAIT_SECONDS = 60.0
"""However long a provider says to wait before the next try."""

MOST_CHARACTERS = 4 << 20
"""Of an answer."""

_EVENT_BYTES = 8 << 20
_REQUEST_BYTES = 50 << 20
_LINGER_SECONDS = 0.5
"""For the end of a stream that has said everything, so that its connection can be used again."""

_STREAM_BYTES = 128 << 20
_ERROR_BYTES = 64 << 10
_HEAD_CHARACTERS = 500
_REPORT_SECONDS = 2.0
_AGAIN = frozenset((408, 409, 429, 500, 502, 503, 504, 529))
_WRONG_FORM = frozenset((400, 422))
_TOO_LONG = re.compile(
    r"context.{0,24}(length|window|size|limit)|maximum context|(prompt|input) is too long|too many tokens",
    re.IGNORECASE,
)
_NO_CREDIT = re.compile(r"insufficient_quota|credit balance|billing", re.IGNORECASE)
_ADVICE: dict[Kind, Sequence[str]] = {
    "certificate": ("name the authority's file in the environment variable SSL_CERT_FILE",),
    "refused": ("start the server of the model, or correct `base_url`",),
    "connect": ("check the network, and `base_url`",),
}
_PASSING = frozenset[Kind](("connect", "refused", "timeout", "protocol", "broken", "decoding"))


class Passing(Exception):
    """What may be different at the next try. `wait` is what the provider says, None if it says nothing.

    With `is_connection`, a new connection may mend it at once.
    """

    def __init__(self, error: ModelError, *, wait: float | None = None, is_connection: bool = False) -> None:
        super().__init__(error.message)
        self.error = error
        self.wait = wait
        self.is_connection = is_connection


class Exchange:
    """Talks to one model of one provider; see `Talker`."""

    def __init__(
        self,
        target: Target,
        wire: Wire,
        key: str,
        *,
        crowd: Crowd,
        limiter: Limiter | None,
        pace: Pace,
        hide: Callable[[str], str],
    ) -> None:
        self.name = target.shown
        self.place = target.base_url
        self.levels = wire.levels
        self._wire = wire
        self._url = _address(target, wire)
        self._headers = _headers(target, wire, key)
        self._crowd = crowd
        self._limiter = limiter
        self._pace = pace
        self._hide = hide

    async def say(self, question: Question, report: Report) -> Reply:
        """The answer to one question."""
        content = self._encode(question)
        for attempt in range(1, self._pace.tries + 1):
            await self._crowd.wait()
            if self._limiter is not None:
                await take_turn(self._limiter, report)
            try:
                return await self._try(content, question, report)
            except Passing as passing:
                if attempt == self._pace.tries:
                    raise _final(passing.error, attempt) from passing
                pause = 0.0 if passing.is_connection and attempt == 1 else float(1 << attempt - 1)
                wait = min(pause if passing.wait is None else passing.wait, LONGEST_WAIT_SECONDS)
                when = f"in {wait:g} s" if wait else "at once"
                report(f"{passing.error.message}; tries again {when} ({attempt + 1} of {self._pace.tries})")
                self._crowd.hold(wait)
        raise AssertionError("unreachable")

    def _encode(self, question: Question) -> bytes:
        try:
            content = orjson.dumps(self._wire.body(question))
        except TypeError as error:
            raise ModelError(f"the prompt cannot be sent as JSON: {shorten(str(error), 200)}") from error
        if len(content) > _REQUEST_BYTES:
            raise ModelError(
                f"the prompt has {len(content) >> 20} MiB with its images; {_REQUEST_BYTES >> 20} can be sent",
                suggestions=["give smaller images, or fewer at once"],
            )
        return content

    async def _try(self, content: bytes, question: Question, report: Report) -> Reply:
        client = await _clients.get(None, _make_client)
        hop = Hop(method="POST", url=self._url, headers=self._headers, content=content, patience=self._pace.silence)
        reader = self._wire.reader()
        try:
            async with asyncio.timeout(self._pace.answer):
                async with aclosing(await client.exchange(hop)) as answer:
                    if not answer.succeeded:
                        raise await self._refusal(answer, question)
                    await self._read(answer, reader, report)
        except TimeoutError as error:
            message = f"{self.name} was not done after {self._pace.answer:g} s"
            raise ModelError(message, action="timeout", details=self._head(reader)) from error
        except ModelError as error:
            kind = error.details.get("failure")
            if kind not in _PASSING:
                raise
            raise Passing(error, is_connection=kind in ("protocol", "broken")) from error
        if reader.failure is not None:
            raise self._mid_stream(reader.failure, reader)
        if not reader.is_done:
            raise self._broken(f"{self.name} broke off in the middle of its answer", reader)
        return reader.reply()

    async def _read(self, answer: Answer, reader: Reader, report: Report) -> None:
        """Read a stream of events, or one object from servers that do not stream."""
        if answer.kind != "text/event-stream":
            body, is_cut = await answer.read(_EVENT_BYTES)
            if is_cut:
                raise self._too_much(reader, body)
            try:
                reader.take_whole(_object(body))
            except ValueError:
                raise self._broken(f"{self.name} answered with something other than JSON", reader, body) from None
            return
        events = Events(_EVENT_BYTES)
        said = self._pace.clock()
        async with aclosing(answer.chunks()) as chunks:
            async for chunk in chunks:
                for _, data in events.feed(chunk):
                    self._take(data, reader)
                if reader.is_complete:
                    await _linger(chunks)
                    return
                if events.overlong or events.size > _STREAM_BYTES or reader.size > MOST_CHARACTERS:
                    raise self._too_much(reader)
                if reader.size and self._pace.clock() - said > _REPORT_SECONDS:
                    said = self._pace.clock()
                    report(f"{self.name} answers ({reader.size:,} characters)")
        for _, data in events.finish():
            self._take(data, reader)

    def _take(self, data: bytes, reader: Reader) -> None:
        if data.strip() == b"[DONE]":
            reader.is_complete = reader.is_done
            return
        try:
            reader.take(_object(data))
        except ValueError:
            raise self._broken(f"{self.name} sent an event that is not a JSON object", reader, data) from None

    async def _refusal(self, answer: Answer, question: Question) -> Exception:
        """What an answer with a status other than 2xx means."""
        body, _ = await answer.read(_ERROR_BYTES)
        told = _told(body, self._hide)
        status = answer.status
        details: dict[str, object] = {"status": status, "answer": told}
        if status in (401, 403):
            return ModelError(
                f"{self.name} does not accept the key ({status})",
                action="auth_failed",
                details=details,
                suggestions=["check the key, and whether its account may use this model"],
            )
        if answer.location() is not None:
            return ModelError(f"{self.name} redirects elsewhere, which is not followed", details=details)
        if _TOO_LONG.search(told):
            return too_long(self.name, question, details)
        if status == 429 and _NO_CREDIT.search(told):
            return ModelError(f"{self.name} says that the account is used up", action="rate_limited", details=details)
        if status in _AGAIN:
            action = {429: "rate_limited", 408: "timeout", 504: "timeout"}.get(status, "error")
            error = ModelError(f"{self.name} answered with status {status}", action=action, details=details)
            return Passing(error, wait=read_wait(answer.header("retry-after")))
        error = ModelError(f"{self.name} refused the request ({status}): {shorten(told, 200)}", details=details)
        return SchemaRefused(error) if status in _WRONG_FORM and question.level is not None else error

    def _mid_stream(self, failure: JsonView, reader: Reader) -> Exception:
        """What an error means that came where the answer should have been."""
        told = _told(orjson.dumps(failure), self._hide)
        inner = object_in(failure, "error")
        kind = f"{failure.get('code')} {inner.get('type')} {inner.get('code')}"
        details = {"answer": told, **self._head(reader)}
        if re.search(r"rate.?limit|429", kind):
            message = f"{self.name} has had too many questions"
            return Passing(ModelError(message, action="rate_limited", details=details))
        error = ModelError(f"{self.name} ended its answer with an error: {shorten(told, 200)}", details=details)
        return Passing(error) if re.search(r"overloaded|server_error|5\d\d", kind) else error

    def _broken(self, message: str, reader: Reader, body: bytes = b"") -> Passing:
        return Passing(ModelError(message, details=self._head(reader, body)))

    def _too_much(self, reader: Reader, body: bytes = b"") -> ModelError:
        message = f"{self.name} answered with more than {MOST_CHARACTERS >> 20} MiB"
        return ModelError(message, details=self._head(reader, body), suggestions=["limit the answer with `max_tokens`"])

    def _head(self, reader: Reader, body: bytes = b"") -> dict[str, object]:
        """How an answer begins."""
        text = reader.reply().text[:_ERROR_BYTES] or body[:_ERROR_BYTES].decode(errors="replace")
        return {"answer": shorten(self._hide(text), _HEAD_CHARACTERS)} if text else {}


async def _linger(chunks: AsyncGenerator[bytes]) -> None:
    try:
        async with asyncio.timeout(_LINGER_SECONDS):
            async for _ in chunks:
                pass
    except (TimeoutError, ModelError):
        pass  # everything was said


def _final(error: ModelError, tries: int) -> ModelError:
    return ModelError(
        f"{error.message}, {tries} times" if tries > 1 else error.message,
        action=error.action,
        details=error.details,
        suggestions=error.suggestions,
    )


def _told(body: bytes, hide: Callable[[str], str]) -> str:
    """The message in an error's body, wherever this provider puts it."""
    try:
        content = _object(body)
    except ValueError:
        return shorten(hide(body.decode(errors="replace").strip()), _HEAD_CHARACTERS)
    error = content.get("error")
    found = [text_in(error, "message"), text_in(error, "code")] if isinstance(error, dict) else [str(error or "")]
    text = ", ".join(filter(None, [*found, text_in(content, "message")]))
    return shorten(hide(text or orjson.dumps(content).decode()), _HEAD_CHARACTERS)


def _object(data: bytes) -> JsonView:
    """Raises `ValueError` for anything other than a JSON object."""
    found = orjson.loads(data)
    if not isinstance(found, dict):
        raise ValueError("not an object")
    return found


def _address(target: Target, wire: Wire) -> URL:
    try:
        return parse_url(target.base_url.rstrip("/") + wire.path)
    except ValueError as error:
        raise ModelError(f"`{shorten(target.base_url)}` is not the address of a provider") from error


def _headers(target: Target, wire: Wire, key: str) -> dict[str, str]:
    if UNSAFE.search(key) or not key.isascii():
        raise ModelError(
            f"the key in `{target.key}` holds a line break or another character that no key has",
            action="auth_failed",
            suggestions=[Advice("store it again, with `{set_setting}`", name=target.key)],
        )
    return {**AGENT, "content-type": "application/json", "accept": "text/event-stream", **wire.headers(key.strip())}


def _make_client() -> Client:
    trust = Trust()
    return Client(Policy(trust=lambda url: trust, error=_failure, most_connections=100, most_idle=20))


def _failure(failure: Failure) -> StepError:
    reason = {"refused": "nothing listens there", "timeout": "it was silent for too long"}.get(failure.kind)
    message = f"the exchange with `{failure.place}` failed: {reason or shorten(failure.reason, 200) or failure.kind}"
    action = "timeout" if failure.kind == "timeout" else "error"
    details = {"failure": failure.kind}
    return ModelError(message, action=action, details=details, suggestions=_ADVICE.get(failure.kind, ()))


_clients: PerLoop[Client] = PerLoop()
