"""Signing of requests: a signer may send other requests first and read their answers, up to a limit."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import aclosing

import httpx2

from pflow.core.errors import StepError
from pflow.http.failure import FAILURES

LIMIT = 1 << 20
"""Bytes of an answer that a signer may read."""

Signer = httpx2.Auth
"""Adds credentials to a request. It may send other requests first."""

Request = httpx2.Request
Response = httpx2.Response
Flow = AsyncGenerator[Request, Response]


async def authorize(request: Request, signer: Signer, send: Callable[[Request], Awaitable[Response]]) -> Response:
    """The answer to a request that `signer` has signed."""
    async with aclosing(signer.async_auth_flow(request)) as flow:
        request = await anext(flow)
        while True:
            response = await send(request)
            try:
                request = await flow.asend(response)
            except StopAsyncIteration:
                return response
            except BaseException:  # closed, and raised again
                await response.aclose()
                raise
            await _keep(response)


def bound_body(response: Response) -> Response:
    """The response, whose body raises an error once it is too long."""
    if not response.is_stream_consumed:
        response.stream = _Bounded(response.stream)
    return response


def time_limit(seconds: float) -> dict[str, object]:
    """The extensions of a request that may take `seconds` for each part: to connect, to write, to read."""
    return {"timeout": dict.fromkeys(("connect", "read", "write", "pool"), seconds)}


async def _keep(response: Response) -> None:
    """Read an answer on which the signer continues: it may look into it later."""
    try:
        await bound_body(response).aread()
    except (httpx2.StreamError, *FAILURES):
        pass
    finally:
        await response.aclose()


class _Bounded(httpx2.AsyncByteStream):
    def __init__(self, stream: object) -> None:
        assert isinstance(stream, httpx2.AsyncByteStream)
        self._stream = stream

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        async for chunk in self._stream:
            size += len(chunk)
            if size > LIMIT:
                raise StepError(f"a login was answered with more than {LIMIT} bytes", action="auth_failed")
            yield chunk

    async def aclose(self) -> None:
        await self._stream.aclose()
