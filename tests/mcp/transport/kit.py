"""Sessions with a misbehaving site, each on a loop of its own."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from pflow.mcp.protocol.session import Session
from pflow.mcp.transport.remote import connect_http
from tests.mcp.transport.site import Site

T = TypeVar("T")

DEADLINE = 20.0
"""Far beyond what anything here should take, on however busy a machine."""


class Kit:
    """Starts sites; the last one stays known as `site`, with all it was asked."""

    site: Site
    other: Site

    def talk(
        self,
        speaks: str,
        doing: str,
        use: Callable[[Session], Awaitable[T]],
        *,
        style: str = "json",
        tls: ssl.SSLContext | None = None,
        other: str | None = None,
        memory: dict[str, Any] | None = None,
        **options: Any,
    ) -> T:
        """What `use` gets from a session with such a site; the session is closed after it.

        `other` is the behaviour of a second site, which the first one knows.
        """

        async def main() -> T:
            async with asyncio.timeout(DEADLINE), Site(speaks, doing, style=style, tls=tls) as site:
                async with Site(speaks, other or "", style=style) as second:
                    self.site, self.other = site, second
                    site.other = second
                    site.memory |= memory or {}
                    session = await connect_http(site.url, **{"timeout": DEADLINE, **options})
                    try:
                        return await use(session)
                    finally:
                        await session.close()

        return asyncio.run(main())


async def echo(session: Session, text: str = "hi", **options: Any) -> str:
    """Call the tool and give back its text."""
    result: Any = await session.call_tool("echo", {"text": text}, **options)
    said: str = result["content"][0]["text"]
    return said
