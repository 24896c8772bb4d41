"""Connections: which certificates they trust, which addresses they may reach, and how many stay open."""

from __future__ import annotations

import asyncio
import ssl
from asyncio.staggered import staggered_race
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from functools import partial

import httpcore2
import httpx2

from pflow.core.errors import UsageError
from pflow.core.file.file_name import show

Lookup = Callable[[str, int], Awaitable[Sequence[str]]]
"""Finds the addresses of a host. Raises if policy refuses one of them."""

_KEEP_IDLE_SECONDS = 15.0
_NEXT_ADDRESS_SECONDS = 0.25


@dataclass(frozen=True, slots=True, kw_only=True)
class Trust:
    """Which certificates count: those of the known authorities, those in `pin_file` alone, or any."""

    insecure: bool = False
    pin_file: str = ""

    def context(self) -> ssl.SSLContext:
        """The context that verifies connections. Raises `UsageError` for a pin file that cannot be used."""
        if not self.pin_file:
            return httpx2.create_ssl_context(verify=not self.insecure)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = not self.insecure
        # A pinned certificate is trusted no matter who signed it; without this only a self-signed one would be.
        context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
        name = show(self.pin_file)
        try:
            context.load_verify_locations(cafile=self.pin_file)
        except ssl.SSLError as error:
            raise UsageError(f"the pin file `{name}` does not contain a certificate in PEM form") from error
        except OSError as error:
            reason = error.strerror or "no reason given"
            raise UsageError(f"the pin file `{name}` cannot be read: {reason}") from error
        return context


class Connections:
    """A pool of connections under one trust; None is for plain HTTP, which needs no certificates."""

    def __init__(self, trust: Trust | None, lookup: Lookup | None, most: int, most_idle: int) -> None:
        self._pool = httpcore2.AsyncConnectionPool(
            # reading the certificate authorities costs more than a call, so plain http goes without
            ssl_context=trust.context() if trust else None,
            max_connections=most,
            max_keepalive_connections=most_idle,
            keepalive_expiry=_KEEP_IDLE_SECONDS,
            network_backend=_CheckedBackend(lookup) if lookup else None,
        )

    async def aclose(self) -> None:
        """Close them all."""
        await self._pool.aclose()

    async def send(self, request: httpx2.Request) -> httpx2.Response:
        """The answer to one request, its body not yet read. Raises what `FAILURES` lists."""
        url = request.url
        assert isinstance(request.stream, httpx2.AsyncByteStream)
        answer = await self._pool.handle_async_request(
            httpcore2.Request(
                request.method,
                httpcore2.URL(scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path),
                headers=request.headers.raw,
                content=request.stream,
                extensions=request.extensions,
            )
        )
        return httpx2.Response(answer.status, headers=answer.headers, stream=_Body(answer), request=request)


class _Body(httpx2.AsyncByteStream):
    def __init__(self, answer: httpcore2.Response) -> None:
        self._answer = answer

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async with aclosing(self._answer.aiter_stream()) as parts:
            async for part in parts:
                yield part

    async def aclose(self) -> None:
        await self._answer.aclose()


class _CheckedBackend(httpcore2.AsyncNetworkBackend):
    """Connects only to checked addresses, and looks each name up only once."""

    def __init__(self, lookup: Lookup) -> None:
        self._lookup = lookup
        self._sockets = httpcore2.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        addresses = await self._lookup(host, port)
        connect = partial(
            self._sockets.connect_tcp,
            port=port,
            timeout=timeout,
            local_address=local_address,
            socket_options=socket_options,
        )
        if len(addresses) == 1:
            return await connect(addresses[0])
        attempts = [partial(connect, host=one) for one in addresses]
        stream: httpcore2.AsyncNetworkStream | None
        stream, _, errors = await staggered_race(attempts, delay=_NEXT_ADDRESS_SECONDS)
        if stream is None:
            raise next(error for error in errors if error is not None)
        return stream

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)
