"""Makes room for new sessions over HTTP: clients come and go without closing theirs, and must not lock others out.

The SDK keeps the sessions and ends one that nobody used for a while. Here the one that was idle for longest is ended
early if there are too many, of one address or of all. Its client is told to begin a new one, as the protocol has it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container

import orjson

from pflow.mcp_server.http_gate import (
    PATH,
    Application,
    Message,
    Receive,
    Refusal,
    Scope,
    Send,
    answer_refusal,
    replay,
)
from pflow.workspace.serving import LEGACY

_SESSION = b"mcp-session-id"
_VERSION = b"mcp-protocol-version"
_FULL = Refusal(status=503, message="too many sessions are in use")


class Sessions:
    """An application in front of the SDK's, which knows the sessions there, the one used last at the end."""

    def __init__(self, app: Application, *, most: int, of_a_peer: int) -> None:
        self._app = app
        self._most = most
        self._of_a_peer = of_a_peer
        self._peers: dict[bytes, str] = {}
        self._busy: Counter[bytes] = Counter()
        self._opening: Counter[str] = Counter()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on. One that opens a session may end another, or is refused if all are in use."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = dict(reversed(scope["headers"]))  # of two of a name the first counts, as for the SDK
        session = headers.get(_SESSION)
        if session is not None and session in self._peers:
            await self._use(session, scope, receive, send)
            return
        may_open = session is None and scope["method"] == "POST" and scope["path"] == PATH
        if may_open and headers.get(_VERSION, LEGACY[0].encode()).decode("latin-1") in LEGACY:
            body = (await receive())["body"]
            receive = replay(body, receive)
            if orjson.loads(body).get("method") == "initialize":
                await self._open(scope, receive, send)
                return
        await self._app(scope, receive, send)

    async def _open(self, scope: Scope, receive: Receive, send: Send) -> None:
        peer = str((scope.get("client") or ("",))[0])
        is_open = False

        async def notice(message: Message) -> None:
            nonlocal is_open
            session = dict(message.get("headers", ())).get(_SESSION)
            if session is not None and message.get("status", 0) < 400 and not is_open:
                is_open = True
                self._opening[peer] -= 1
                self._peers[session] = peer
            await send(message)

        self._opening[peer] += 1
        try:
            if await self._make_room(scope, peer):
                await self._app(scope, receive, notice)
            else:
                await answer_refusal(_FULL, send)
        finally:
            if not is_open:
                self._opening[peer] -= 1

    async def _make_room(self, scope: Scope, peer: str) -> bool:
        """End idle sessions until one more has room, first those of the same peer; False if there are not enough."""
        while list(self._peers.values()).count(peer) + self._opening[peer] > self._of_a_peer:
            if not await self._end_oldest(scope, {peer}):
                return False
        while len(self._peers) + self._opening.total() > self._most:
            if not await self._end_oldest(scope, set(self._peers.values())):
                return False
        return True

    async def _end_oldest(self, scope: Scope, peers: Container[str]) -> bool:
        for session, peer in self._peers.items():
            if peer in peers and not self._busy[session]:
                break
        else:
            return False
        del self._peers[session]
        ending = {**scope, "method": "DELETE", "headers": [(_SESSION, session)]}
        await self._app(ending, replay(b"", _leave), _ignore)
        return True

    async def _use(self, session: bytes, scope: Scope, receive: Receive, send: Send) -> None:
        async def notice(message: Message) -> None:
            status = message.get("status")
            if status == 404 or (status == 200 and scope["method"] == "DELETE"):
                self._peers.pop(session, None)
            await send(message)

        self._busy[session] += 1
        try:
            await self._app(scope, receive, notice)
        finally:
            self._busy[session] -= 1
            if not self._busy[session]:
                del self._busy[session]
            if session in self._peers:
                self._peers[session] = self._peers.pop(session)


async def _leave() -> Message:
    return {"type": "http.disconnect"}


async def _ignore(_: Message) -> None:
    pass
