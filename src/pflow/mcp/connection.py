"""One server of this process: connected when it is first needed, and again after it has gone. Knows no workflows."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING

from pflow.core.advice import Advice
from pflow.core.errors import SecurityError, ServerError, StepError, StepTimeout, StorageError
from pflow.mcp.call.tool_result import unknown_tool
from pflow.mcp.protocol.handshake import Era
from pflow.mcp.protocol.rpc import CAP
from pflow.mcp.protocol.session import Session
from pflow.mcp.server.config import ServerConfig
from pflow.mcp.server.consent import require_consent
from pflow.mcp.server.launcher import launch_environment, usable
from pflow.mcp.server.program import find_program
from pflow.mcp.server.variable import expand
from pflow.mcp.tools.entry import manifest_hash
from pflow.mcp.transport.open import dial

if TYPE_CHECKING:
    from pflow.http.authorization import Signer
    from pflow.mcp.pool import Pool

_FOREVER_SECONDS = 1e9
_HASH_SEED = "PYTHONHASHSEED"


class Opened:
    """A session and the tools that the server listed in it. `hashes` are of those that were looked at."""

    def __init__(self, config: ServerConfig, session: Session) -> None:
        self.config = config
        self.session = session
        self.cap = max(CAP, config.timeout)
        self.listed: list[dict[str, object]] = []
        self.tools: dict[str, Mapping[str, object]] = {}
        self._hashes: dict[str, str] = {}
        self._listing: asyncio.Task[None] | None = None
        self._listening: asyncio.Task[None] | None = None

    async def list_tools(self) -> None:
        """Have the server list its tools, now."""
        self.listed = await self.session.list_tools(timeout=self.config.timeout)
        self.tools = {str(tool["name"]): tool for tool in self.listed}
        self._hashes = {}

    def listen(self) -> None:
        """Hear of changes to the tools, where a server tells of them only to those who ask."""
        offered = self.session.peer.capabilities.get("tools")
        if self.session.peer.era == "modern" and not (isinstance(offered, dict) and not offered.get("listChanged")):
            self._listening = asyncio.create_task(self._listen())

    async def _listen(self) -> None:
        wanted = {"notifications": {"toolsListChanged": True}}
        with suppress(StepError):  # it has nothing to tell, or the session ended
            await self.session.request("subscriptions/listen", wanted, timeout=_FOREVER_SECONDS, cap=_FOREVER_SECONDS)

    async def hash_of(self, tool: str) -> str:
        """What identifies the tool as the server lists it at this moment. Raises `ServerError` if it does not."""
        if self.session.tools_changed or self._listing is not None:
            await self._list_again()
        found = self._hashes.get(tool)
        if found is None:
            definition = self.tools.get(tool)
            if definition is None:
                raise unknown_tool(self.config.name, tool, self.tools)
            found = self._hashes[tool] = manifest_hash(definition)
        return found

    async def _list_again(self) -> None:
        if self._listing is None:
            self._listing = asyncio.create_task(self.list_tools())
            self._listing.add_done_callback(self._listed)
        await asyncio.shield(self._listing)

    def _listed(self, task: asyncio.Task[None]) -> None:
        self._listing = None
        if not task.cancelled():
            task.exception()  # callers that wait for it get it

    async def close(self) -> None:
        """End the session."""
        for task in (self._listing, self._listening):
            if task is not None:
                task.cancel()
                await asyncio.wait((task,))
        await self.session.close()


class Connection:
    """The one connection to a server, shared by all who call its tools."""

    def __init__(self, name: str, pool: Pool) -> None:
        self._name = name
        self._pool = pool
        self._opened: Opened | None = None
        self._opening: asyncio.Task[Opened] | None = None

    @property
    def is_open(self) -> bool:
        """Whether a call need not wait for the server."""
        return self._opened is not None and self._opened.session.is_open

    def prepare(self) -> None:
        """Begin to connect; the first caller that needs the server learns what came of it."""
        if not self.is_open and self._opening is None:
            self._opening = asyncio.create_task(self._open())
            self._opening.add_done_callback(self._settle)

    async def open(self) -> Opened:
        """The open session, a new one if the last has ended. Raises `PflowError`."""
        if self._opened is not None and self._opened.session.is_open:
            return self._opened
        self.prepare()
        assert self._opening is not None
        return await asyncio.shield(self._opening)

    async def close(self) -> None:
        """End the session, or the attempt at one."""
        if self._opening is not None:
            self._opening.cancel()
            await asyncio.wait((self._opening,))
        if self._opened is not None:
            await self._opened.close()
            self._opened = None

    def _settle(self, task: asyncio.Task[Opened]) -> None:
        self._opening = None
        if not task.cancelled() and task.exception() is None:
            self._opened = task.result()

    async def _open(self) -> Opened:
        pool, name = self._pool, self._name
        if self._opened is not None:
            await self._opened.close()
        config = pool.find(name)
        state = require_consent(pool.states, config, pool.variables())
        known: Era | None = "modern" if state.era == "modern" else "legacy" if state.era == "legacy" else None
        launch = state.launch if state.launch_of == config.fingerprint() and usable(state.launch) else ()
        try:
            opened = await connect(config, pool, launch=launch, era=known)
        except ServerError:
            if not launch:
                raise
            opened = await connect(config, pool, era=known)  # the launcher may know better than what it once started
        if known is not None and opened.session.peer.era != known:
            pool.states.update(name, era=opened.session.peer.era)
        return opened


async def connect(
    config: ServerConfig,
    pool: Pool,
    *,
    launch: tuple[str, ...] = (),
    era: Era | None = None,
    timeout: float | None = None,
) -> Opened:
    """A new session with a server, its tools listed. An `era` that does not hold any more is found out anew."""
    expanded = expand(config, pool.variables())
    for warning in expanded.warnings:
        pool.warn(warning)
    server = expanded.server
    if launch:
        server = server._replace(env=launch_environment(launch, server.env))
    elif server.command and (program := find_program(server)):
        # Another one of this name is not to be started either when the one that was agreed to cannot be.
        server = server._replace(command=program[0])
    server, auth = _authorised(_seeded(server, pool), pool)
    limit = config.timeout if timeout is None else timeout

    def warn(text: str) -> None:
        pool.warn(f"server `{config.name}`: {text}")

    async def reach(attempt: Era | None) -> Opened:
        session = await dial(server, launch=launch, era=attempt, timeout=limit, auth=auth, warn=warn)
        opened = Opened(config, session)
        try:
            await opened.list_tools()
        except BaseException:  # closed, and raised again
            await session.close()
            raise
        opened.listen()
        return opened

    try:
        if era is not None:
            try:
                return await reach(era)
            except ServerError as error:
                if error.action == "auth_failed":
                    raise  # another protocol would not let us in either
            except StepTimeout:
                if era == "legacy":
                    raise  # who waits for a handshake may keep silent about all else, but this was one
        return await reach(None)
    except StepTimeout as error:
        known = {**error.details, "server": config.name}
        late = StepTimeout(f"server `{config.name}` did not answer within {limit:g} s", details=known)
        late.suggestions = (
            f"`timeout` of server `{config.name}` in `mcp-servers.json` is how many seconds it has",
            Advice("{check_server}", server=config.name),
        )
        raise late from error
    except StepError as error:
        error.details.setdefault("server", config.name)
        error.suggestions = (*error.suggestions, Advice("{check_server}", server=config.name))
        raise


def _seeded(server: ServerConfig, pool: Pool) -> ServerConfig:
    """The server with the same hash seed at every start, unless its configuration chooses one.

    A Python server that builds a description from a set would otherwise list another one each time.
    """
    if server.transport != "stdio" or _HASH_SEED in server.env:
        return server
    try:
        seed = pool.states.hash_seed(server.name)
    except (StorageError, SecurityError):
        return server  # a home that cannot be written to costs the constancy, not the server
    return server._replace(env={**server.env, _HASH_SEED: str(seed)})


def _authorised(server: ServerConfig, pool: Pool) -> tuple[ServerConfig, Signer | None]:
    """The server with the headers that let us in, and who asks for tokens. Raises `StepError`; sends nothing."""
    if not server.url:
        return server, None
    from pflow.mcp.server.credential import check_credentials  # lazy: only for servers elsewhere

    variables = pool.variables()
    server = server._replace(headers=check_credentials(server, variables))
    if not server.uses_oauth:
        return server, None
    from pflow.mcp.oauth.login import oauth_for  # lazy: only for servers that ask for it

    auth = oauth_for(server, home=pool.home, variables=variables, interactive=False, say=pool.warn, learn=pool.learn)
    return server, auth
