"""A person with a browser, and a client that asks a protected server something."""

import asyncio
import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar

import httpx2
import pytest

from pflow.core.file.home import Home
from pflow.mcp.oauth.client import OAuthClient
from pflow.mcp.oauth.login import login, oauth_for
from pflow.mcp.server.config import ServerConfig, read_server
from tests.mcp.oauth.provider import Provider, address_in

T = TypeVar("T")


class World:
    """One provider, one home, and what was said on the way."""

    def __init__(self, provider: Provider, home: Home) -> None:
        self.provider = provider
        self.home = home
        self.said: list[str] = []
        self.pages: list[httpx2.Response] = []
        self.opened: list[str] = []
        self.learned: list[str] = []
        self.variables = {"CLIENT_SECRET": "machine-secret-1"}
        self.timeout = 30.0
        self.browses = True
        self._browsing: list[asyncio.Task[Any]] = []

    def server(self, auth: dict[str, Any] | None = None, **fields: Any) -> ServerConfig:
        return read_server("s", {"url": self.provider.url, "auth": auth or {"type": "oauth"}, **fields})

    def open_url(self, url: str) -> None:
        self.opened.append(url)
        if self.browses:
            self._browsing.append(asyncio.create_task(self.browse(url)))

    async def browse(self, url: str) -> None:
        async with httpx2.AsyncClient(trust_env=False, verify=False, follow_redirects=True) as browser:
            self.pages.append(await browser.get(url))

    async def login(self, server: ServerConfig) -> None:
        try:
            await login(
                server,
                home=self.home,
                variables=self.variables,
                say=self.said.append,
                timeout=self.timeout,
                open_url=self.open_url,
            )
        finally:
            await asyncio.gather(*self._browsing)

    def auth(self, server: ServerConfig, *, interactive: bool = False) -> OAuthClient:
        return oauth_for(
            server,
            home=self.home,
            variables=self.variables,
            interactive=interactive,
            say=self.said.append,
            timeout=self.timeout,
            open_url=self.open_url,
            learn=self.learned.append,
        )

    async def ask(self, auth: OAuthClient, times: int = 1) -> list[httpx2.Response]:
        async with httpx2.AsyncClient(trust_env=False, verify=False, auth=auth) as client:
            answers = await asyncio.gather(
                *(client.post(self.provider.url, json={"n": number}) for number in range(times))
            )
            await asyncio.gather(*self._browsing)
            return answers

    @property
    def addresses(self) -> list[str]:
        return [address_in(text) for text in self.said if "http" in text]


@pytest.fixture
def in_world(home: Path) -> Callable[..., Any]:
    """Runs an async function with a world of its own, and sees that no descriptor is left behind."""

    def run(work: Callable[[World], Awaitable[T]]) -> T:
        async def main() -> T:
            async with Provider() as provider:
                return await work(World(provider, Home(home)))

        before = len(os.listdir("/dev/fd"))
        result = asyncio.run(main())
        assert len(os.listdir("/dev/fd")) == before
        return result

    return run
