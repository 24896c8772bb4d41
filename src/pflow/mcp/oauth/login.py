"""OAuth for remote servers: the tokens of requests, and logging in and out. Imports the SDK only to get a token."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, TypedDict, Unpack

from pflow.core.errors import ServerError, UsageError
from pflow.core.file.home import Home
from pflow.mcp.server.config import ServerConfig
from pflow.mcp.server.credential import auth_failed, check_credentials, client_secret
from pflow.mcp.server.token_store import TokenStore

if TYPE_CHECKING:
    from pflow.mcp.oauth.client import OAuthClient

PATIENCE = 300.0
"""Seconds that a person has to log in."""

Say = Callable[[str], None]
Open = Callable[[str], object]

_PROBE = b'{"jsonrpc":"2.0","id":1,"method":"ping"}'
_PROBE_SECONDS = 30.0
_PROBE_HEADERS = {
    "accept": "application/json, text/event-stream",
    "content-type": "application/json",
    "mcp-protocol-version": "2025-11-25",
}


class Asking(TypedDict, total=False):
    """How a person is asked to log in: within how many seconds, and what opens the address."""

    timeout: float
    open_url: Open | None


def oauth_for(
    server: ServerConfig,
    *,
    home: Home,
    variables: Mapping[str, str],
    interactive: bool,
    say: Say,
    timeout: float = PATIENCE,
    open_url: Open | None = None,
    learn: Callable[[str], None] | None = None,
    fresh: bool = False,
) -> OAuthClient:
    """What signs the requests of an HTTP client to an expanded server.

    Raises a `StepError` with the action `auth_failed`, now or while a request is sent, if there is no token and none
    can be had. Only if `interactive` is a person asked to log in, at an address that is told to `say` and opened.
    `learn` is told every token before it is used, in any thread; `fresh` ignores the login there is.
    """
    from pflow.mcp.oauth.client import OAuthClient, Person  # lazy: httpx2 costs 120 ms

    if server.auth is None or not server.uses_oauth:
        raise UsageError(
            f"server `{server.name}` has no OAuth in its configuration",
            suggestions=['give it `"auth": {"type": "oauth"}`, or `"client_credentials"` for a program of its own'],
        )

    def show_url(url: str) -> None:
        say(f"to let pflow use server `{server.name}`, open this address and log in: {url}")
        (open_url or _open_browser)(url)

    client = OAuthClient(
        server,
        server.auth,
        TokenStore(home, server, say),
        secret=client_secret(server, variables),
        person=Person(show_url=show_url, timeout=timeout) if interactive and server.auth.type == "oauth" else None,
        learn=learn or (lambda secret: None),
        fresh=fresh,
    )
    if not interactive:
        client.check_login()
    return client


async def login(
    server: ServerConfig,
    *,
    home: Home,
    variables: Mapping[str, str],
    say: Say,
    **asking: Unpack[Asking],
) -> None:
    """Log in to an expanded server anew, whatever is known of it, and keep the tokens."""
    from pflow.mcp.transport.http_channel import Channel  # lazy: httpx2 costs 120 ms

    client = oauth_for(server, home=home, variables=variables, interactive=True, say=say, fresh=True, **asking)
    headers = check_credentials(server, variables)
    channel = Channel(server.url, headers, insecure=server.insecure, pin_file=server.pin_file, auth=client)
    method, body = ("GET", None) if server.transport == "sse" else ("POST", _PROBE)
    try:
        status = await channel.probe(method, _PROBE_HEADERS, body, _PROBE_SECONDS)
    except ServerError as error:
        raise ServerError(
            f"server `{server.name}` or its authorization server cannot be reached: {type(error.__cause__).__name__}",
            suggestions=["check the URL of the server, and your network"],
        ) from None
    finally:
        await channel.close()
    if not client.renewed:
        raise auth_failed(
            f"server `{server.name}` did not ask for a login (HTTP {status})",
            suggestions=["if it needs none, take `auth` out of its configuration"],
        )
    if status in (401, 403):
        raise auth_failed(
            f"server `{server.name}` refuses the token that was just made for it (HTTP {status})",
            suggestions=["check `auth.scopes` and `auth.client_id` of the server, or ask its operator"],
        )


def _open_browser(url: str) -> None:
    # lazy: only a person's login needs them
    import webbrowser
    from contextlib import suppress
    from threading import Thread

    def run() -> None:
        with suppress(webbrowser.Error, OSError):
            webbrowser.open(url)

    # A browser in the terminal would keep us from hearing what it is sent back with.
    Thread(target=run, daemon=True).start()
