"""Signs the requests to one server with its token, and obtains or renews a token where that is needed.

While a stored token is good, nothing of the SDK is imported, and requests do not wait for each other.
"""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from pflow.core.advice import Advice
from pflow.core.errors import StepError
from pflow.core.file.atomic import make_folder
from pflow.core.file.lock import hold_lock, open_lock
from pflow.core.frozen import Frozen
from pflow.core.printable import shorten
from pflow.http.authorization import Flow, Request, Response, Signer, bound_body
from pflow.mcp.oauth.callback_listener import listen
from pflow.mcp.server.auth import Auth
from pflow.mcp.server.config import ServerConfig
from pflow.mcp.server.credential import auth_failed, check_scopes, scopes_of
from pflow.mcp.server.token_store import Login, TokenStore

if TYPE_CHECKING:
    from pflow.mcp.oauth.grant import Grant

_PARAMETER = re.compile(r'\b(error|scope)=(?:"([^"]*)"|([^\s,]+))')
_LOCK_POLL_SECONDS = 0.05
_LOCK_TURNS = 1200
"""Longer than another process takes to renew a token; a process that still holds the lock then has stopped."""


class Person(Frozen):
    """Somebody who can log in: is shown an address, and has `timeout` seconds to answer there."""

    show_url: Callable[[str], None]
    timeout: float


class OAuthClient(Signer):
    """One server's tokens. Without a `person` a login that has ended is an error; `fresh` ignores the one there is."""

    def __init__(
        self,
        server: ServerConfig,
        auth: Auth,
        store: TokenStore,
        *,
        secret: str | None,
        person: Person | None,
        learn: Callable[[str], None],
        fresh: bool = False,
    ) -> None:
        self.renewed = False
        self._server = server
        self._auth = auth
        self._store = store
        self._secret = secret
        self._person = person
        self._learn = learn
        self._fresh = fresh
        self._login: Login | None = None
        self._turn = asyncio.Lock()

    def check_login(self) -> None:
        """Raises if a person would have to log in first."""
        login = self._login = self._read()
        if self._auth.type == "oauth" and (login is None or (login.expired and not self._is_renewable(login))):
            raise log_in(self._server, login)

    async def async_auth_flow(self, request: Request) -> Flow:
        """Sends the request with the token; once more with another if the first is refused."""
        attempt = _Attempt(request, self._login)
        while True:
            if not self._is_good(attempt):
                async with self._turn, AsyncExitStack() as stack:
                    while (flow := await self._next(attempt, stack)) is not None:
                        async with aclosing(flow):
                            try:
                                outgoing = await flow.__anext__()
                                while True:
                                    outgoing = await flow.asend((yield outgoing))
                            except StopAsyncIteration:
                                pass
            self._sign(attempt)
            answer = yield request
            if not attempt.is_refused(answer) or "obtain" in attempt.tried:
                return

    def _is_good(self, attempt: _Attempt) -> bool:
        login = self._login
        if login is None or login.access_token == attempt.refused:
            return False
        return not login.expired or login is not attempt.before  # what was just given is worth a try in any case

    def _sign(self, attempt: _Attempt) -> None:
        login = self._login
        if login is None or not self._is_good(attempt):
            attempt.request.headers.pop("Authorization", None)
            attempt.sent = ""
            return
        granted = frozenset(login.scope.split()) if login.scope else scopes_of(login.access_token)
        check_scopes(self._server, granted, where="")
        attempt.request.headers["Authorization"] = f"Bearer {login.access_token}"
        attempt.sent = login.access_token

    async def _next(self, attempt: _Attempt, stack: AsyncExitStack) -> Flow | None:
        """What to do next to have a good token; None once there is one, or none can be had before being asked."""
        if self._is_good(attempt):
            return None
        tried = attempt.tried
        if "read" not in tried and not self._fresh:
            tried.add("read")
            # Another process may be renewing it, and refresh tokens are often good for one time only.
            await stack.enter_async_context(_alone(self._store.lock))
            self._login = attempt.before = await asyncio.to_thread(self._read)
            if self._is_good(attempt):
                return None
        login, challenge = attempt.before, attempt.challenge
        if login is not None and self._is_renewable(login) and "refresh" not in tried and not attempt.wants_more:
            tried.add("refresh")
            return self._grant().refresh(attempt.request, login)
        self._check_wanted(attempt)
        if self._auth.type == "oauth" and self._person is None:
            raise log_in(self._server, login, more=attempt.wants_more)
        if challenge is None or "obtain" in tried:
            return None
        tried.add("obtain")
        if self._person is None:
            return self._grant().client_credentials(attempt.request, challenge, login)
        await stack.aclose()  # a person takes longer than others should wait
        redirect = await stack.enter_async_context(listen())
        return self._grant().authorize(attempt.request, challenge, login, redirect=redirect, person=self._person)

    def _is_renewable(self, login: Login) -> bool:
        return self._auth.type == "oauth" and bool(login.refresh_token) and bool(self._auth.client_id or login.client)

    def _check_wanted(self, attempt: _Attempt) -> None:
        """A server gets no more scopes than its configuration says."""
        missing = [scope for scope in attempt.wanted if scope not in self._auth.scopes]
        if self._auth.scopes and missing:
            raise auth_failed(
                f"server `{self._server.name}` wants the scope `{shorten(missing[0])}`, which is not in `auth.scopes`",
                suggestions=["add it to `auth.scopes` if the server may have it, and log in again"],
            )

    def _grant(self) -> Grant:
        # lazy: the SDK costs 600 ms, and is needed only while a token is got or renewed
        from pflow.mcp.oauth.grant import Grant

        return Grant(self._server, self._secret, self._keep)

    def _read(self) -> Login | None:
        login = self._store.read()
        if login is not None:
            self._teach(login)
        return login

    def _keep(self, login: Login) -> None:
        self._teach(login)
        self._login = login
        self.renewed = True
        self._store.write(login)

    def _teach(self, login: Login) -> None:
        for secret in login.secrets():
            self._learn(secret)


class _Attempt:
    """One request on its way: what was tried to have it accepted, and why it was not."""

    def __init__(self, request: Request, before: Login | None) -> None:
        self.request = request
        self.before = before
        self.tried: set[str] = set()
        self.challenge: Response | None = None
        self.sent = ""
        self.refused: str | None = None
        self.wants_more = False
        self.wanted: list[str] = []

    def is_refused(self, answer: Response) -> bool:
        """Whether the server wants another token than the one it was sent."""
        found = _PARAMETER.findall(answer.headers.get("WWW-Authenticate", ""))
        named = {name: quoted or plain for name, quoted, plain in found}
        more = answer.status_code == 403 and named.get("error") == "insufficient_scope"
        if answer.status_code != 401 and not more:
            return False
        bound_body(answer)
        self.challenge = answer
        self.refused = self.sent
        self.wants_more = more
        self.wanted = named.get("scope", "").split() if more else []
        self.tried.discard("read")
        return True


def log_in(server: ServerConfig, known: Login | None, *, more: bool = False) -> StepError:
    """What to raise where a person would have to log in and nobody is there; `more`: for more scopes than are known."""
    why = "wants more than you agreed to" if more else "wants you to log in again" if known else "wants you to log in"
    return auth_failed(f"server `{server.name}` {why}", suggestions=[Advice("run `{log_in}`", server=server.name)])


@asynccontextmanager
async def _alone(path: Path) -> AsyncIterator[None]:
    """Keep other processes from renewing the same login meanwhile, without blocking this one's other work."""
    make_folder(path.parent)
    lock = path.parent / f".{path.name}.lock"
    fd = open_lock(lock)
    try:
        for _ in range(_LOCK_TURNS):
            if hold_lock(fd, lock, wait=False):
                break
            await asyncio.sleep(_LOCK_POLL_SECONDS)
        yield
    finally:
        os.close(fd)
