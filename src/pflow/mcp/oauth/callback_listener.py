"""Hears, once, where a browser is sent after a person has logged in: a listener on this machine for one address.

It tells the browser nothing of what it heard. What does not carry the expected state, such as a request of a web page
that guesses the port, is answered and ignored.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from hmac import compare_digest
from urllib.parse import parse_qs, urlsplit

from pflow.core.advice import Advice
from pflow.core.file.file_name import show
from pflow.core.frozen import Frozen
from pflow.mcp.server.credential import auth_failed

PATH = "/callback"

_HEAD_BYTES = 16 << 10
_PATIENCE_SECONDS = 10.0
"""Seconds for a browser to say what it wants; some open connections that they never use."""

_MOST_OPEN = 64
_MOST_IGNORED = 10_000
"""Requests that are not the answer; after more of them the login is given up."""

_PAGE = """<!doctype html>
<html lang="en"><meta charset="utf-8"><title>pflow</title>
<p>{text}</p>
</html>
"""


class Answer(Frozen):
    """What the authorization server sent the browser back with; its code is a secret."""

    code: str
    state: str
    issuer: str | None = None

    def __repr__(self) -> str:
        return "Answer()"


@asynccontextmanager
async def listen() -> AsyncIterator[Redirect]:
    """A listener on a free port of 127.0.0.1, gone with all its connections at the end."""
    redirect = Redirect()
    server = await asyncio.start_server(redirect.serve, "127.0.0.1", 0, limit=_HEAD_BYTES)
    redirect.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}{PATH}"
    try:
        yield redirect
    finally:
        server.close()
        await redirect.close()
        await server.wait_closed()


class Redirect:
    """The address that a browser is to be sent to, and what it brings."""

    def __init__(self) -> None:
        self.url = ""
        self._state = ""
        self._ignored = 0
        self._query: asyncio.Future[dict[str, str]] = asyncio.get_running_loop().create_future()
        self._open: dict[asyncio.Task[None], asyncio.StreamWriter] = {}

    def expect(self, authorization_url: str) -> None:
        """From now on, what carries the state of this request is the answer to it."""
        self._state = parse_qs(urlsplit(authorization_url).query).get("state", [""])[0]

    async def answer(self, server: str, timeout: float) -> Answer:
        """What came. Raises a `StepError` if it is a refusal, or is not there in time."""
        again = [Advice("try again with `{log_in}`", server=server)]
        try:
            async with asyncio.timeout(timeout):
                query = await self._query
        except TimeoutError:
            raise auth_failed(
                f"nobody has logged in to server `{server}` within {timeout:g} seconds",
                details={"ignored": f"{self._ignored:,} without the state of this login"} if self._ignored else {},
                suggestions=again,
            ) from None
        details = {}
        if not query:
            problem = f"was given up: {_MOST_IGNORED:,} requests came that do not belong to it"
        elif "error" in query:
            problem = f"was refused: `{show(query['error'])}`"
            if "error_description" in query:
                details["description"] = show(query["error_description"], 200)
        elif not query.get("code"):
            problem = "came back without a code"
        else:
            return Answer(code=query["code"], state=query["state"], issuer=query.get("iss"))
        raise auth_failed(f"the login to server `{server}` {problem}", details=details, suggestions=again)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer one connection."""
        task = asyncio.current_task()
        assert task is not None
        if len(self._open) >= _MOST_OPEN:
            next(
                iter(self._open.values())
            ).transport.abort()  # a browser that says nothing makes room for one that does
        self._open[task] = writer
        try:
            with suppress(TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, OSError):
                async with asyncio.timeout(_PATIENCE_SECONDS):
                    writer.write(self._reply(await reader.readuntil(b"\r\n\r\n")))
                    await writer.drain()
        finally:
            writer.close()
            with suppress(OSError):
                await writer.wait_closed()
            del self._open[task]

    async def close(self) -> None:
        """End the connections that are still open."""
        tasks = list(self._open)
        for writer in self._open.values():
            writer.transport.abort()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._query.cancel()

    def _reply(self, head: bytes) -> bytes:
        words = head.split(b"\r\n", 1)[0].decode("latin-1").split(" ")
        if len(words) != 3 or words[0] != "GET" or words[1].partition("?")[0] != PATH:
            return _http("404 Not Found", "There is nothing here.")
        if self._query.done():
            return _http("410 Gone", "This login is over.")
        try:
            pairs = parse_qs(words[1].partition("?")[2], max_num_fields=50)
        except ValueError:
            pairs = {}
        query = {name: values[0] for name, values in pairs.items()}
        if not self._is_expected(query):
            self._ignored += 1
            if self._ignored >= _MOST_IGNORED:
                self._query.set_result({})
            return _http("400 Bad Request", "This is not the answer to a login.")
        self._query.set_result(query)
        if "error" in query or not query.get("code"):
            return _http("400 Bad Request", "The login did not succeed. Your terminal says why.")
        return _http("200 OK", "Thank you. You can close this window and go back to your terminal.")

    def _is_expected(self, query: dict[str, str]) -> bool:
        return bool(self._state) and compare_digest(query.get("state", "").encode(), self._state.encode())


def _http(status: str, text: str) -> bytes:
    body = _PAGE.format(text=text).encode()
    headers = [
        f"HTTP/1.1 {status}",
        "Content-Type: text/html; charset=utf-8",
        f"Content-Length: {len(body)}",
        "Cache-Control: no-store",
        "Referrer-Policy: no-referrer",
        "Content-Security-Policy: default-src 'none'",
        "Connection: close",
    ]
    return "\r\n".join([*headers, "", ""]).encode() + body
