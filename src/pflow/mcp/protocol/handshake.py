"""Finding out which protocol a server speaks: the stateless one is probed for, the older ones shake hands."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, Literal

import pflow
from pflow.core.errors import ReplyError, ServerError, ServerGone, StepError
from pflow.core.frozen import Frozen
from pflow.core.json_type import object_in
from pflow.mcp.protocol.rpc import Rpc
from pflow.mcp.protocol.rpc_reply import UNSUPPORTED, excerpt

Era = Literal["modern", "legacy"]

MODERN = "2026-07-28"
LEGACY = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")

PROBE = 2.0
"""Seconds to wait for an answer to the probe before the handshake is sent as well."""

CLIENT = {"name": "pflow", "version": pflow.__version__}


class Peer(Frozen):
    """The other end: the protocol `version` it speaks, and what it says of itself, if it was asked."""

    version: str
    name: str = ""
    release: str = ""
    instructions: str = ""
    capabilities: Mapping[str, object] = {}

    @property
    def era(self) -> Era:
        """What to remember, so that the next connection needs no probe."""
        return "modern" if self.version == MODERN else "legacy"


def request_meta(capabilities: Mapping[str, object]) -> dict[str, object]:
    """What every request of the stateless protocol carries."""
    return {
        "io.modelcontextprotocol/protocolVersion": MODERN,
        "io.modelcontextprotocol/clientCapabilities": capabilities,
        "io.modelcontextprotocol/clientInfo": CLIENT,
    }


async def meet(
    wire: Rpc,
    *,
    era: Era | None,
    asking: Mapping[str, object],
    timeout: float,
    probe: float,
) -> Peer:
    """Agree on a protocol with the server; `asking` says which questions it may ask.

    A known era skips the probe. An unanswered probe stays open while the handshake is tried: a server may just be
    slow to start. Raises `ServerError` when there is no common version, `ServerGone` when the server ends meanwhile,
    `StepTimeout` when it says nothing at all.
    """
    if era == "modern":
        return Peer(version=MODERN)
    legacy = {"roots": {}, **asking}
    if era == "legacy":
        return await _shake_hands(wire, legacy, timeout)
    meta = request_meta(asking)
    loop = asyncio.get_running_loop()
    until = loop.time() + timeout
    asked = asyncio.ensure_future(wire.request("server/discover", {}, meta=meta, timeout=timeout, cap=timeout))
    shaken: asyncio.Task[Peer] | None = None
    try:
        await asyncio.wait((asked,), timeout=min(probe, timeout / 2))
        if asked.done() and (peer := _discovered(wire, asked)) is not None:
            return peer
        shaken = asyncio.ensure_future(_shake_hands(wire, legacy, until - loop.time()))
        if not asked.done():
            await asyncio.wait((asked, shaken), return_when=asyncio.FIRST_COMPLETED)
            if asked.done() and (peer := _discovered(wire, asked)) is not None:
                return peer
            if shaken.done() and shaken.exception() is not None and not asked.done():
                # The handshake was refused; a server that refuses it may yet answer the probe.
                await asyncio.wait((asked,), timeout=probe)
                if asked.done() and (peer := _discovered(wire, asked)) is not None:
                    return peer
        try:
            return await shaken
        except StepError:
            refusal = asked.exception() if asked.done() else None
            if isinstance(refusal, StepError) and refusal.action == "auth_failed":
                raise refusal from None  # what a stateless server says of a handshake explains nothing
            raise
    finally:
        tasks: list[asyncio.Future[Any]] = [task for task in (asked, shaken) if task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)  # a second error is of no interest


def _discovered(wire: Rpc, asked: asyncio.Future[dict[str, object]]) -> Peer | None:
    """The peer, if the probe found one; nothing for any other answer. Raises when the connection ended."""
    error = asked.exception()
    if isinstance(error, ServerGone) and not wire.is_open:
        raise error
    if error is not None:
        if not isinstance(error, StepError) or _refuses_us(error):
            raise error
        # Whoever names our version while refusing the question speaks it all the same.
        named = isinstance(error, ReplyError) and MODERN in (_offered(error) or ())
        return Peer(version=MODERN) if named else None
    result = asked.result()
    versions = result.get("supportedVersions")
    if not isinstance(versions, list) or MODERN not in versions:
        return None
    return _describe(result, MODERN)


def _refuses_us(error: StepError) -> bool:
    """Whether we may not ask at all, whatever it is: a handshake would but have a person log in once more."""
    return error.action == "auth_failed" and error.details.get("status") != 403  # which may be about the question


async def _shake_hands(wire: Rpc, capabilities: Mapping[str, object], timeout: float) -> Peer:
    try:
        result = await _initialize(wire, LEGACY[0], capabilities, timeout)
    except ReplyError as error:
        offered = _offered(error)
        if offered is None:
            raise ServerError(
                f"the MCP handshake failed: {error.message}", details=error.details, suggestions=error.suggestions
            ) from error
        common = [version for version in LEGACY if version in offered]
        if not common:
            raise _unsupported(offered) from error
        result = await _initialize(wire, common[0], capabilities, timeout)
    version = result.get("protocolVersion")
    if not isinstance(version, str) or version not in LEGACY:
        raise _unsupported(version)
    wire.notify("notifications/initialized", {})
    return _describe(result, version)


async def _initialize(wire: Rpc, version: str, capabilities: Mapping[str, object], timeout: float) -> dict[str, object]:
    params = {"protocolVersion": version, "capabilities": capabilities, "clientInfo": CLIENT}
    return await wire.request("initialize", params, timeout=timeout, cap=timeout)


def _offered(error: ReplyError) -> list[object] | None:
    """The versions that a server names when it refuses ours."""
    data = error.details.get("data")
    versions = data.get("supported") if isinstance(data, dict) else None
    if isinstance(versions, list):
        return versions
    return [] if error.message == UNSUPPORTED else None


def _unsupported(theirs: object) -> ServerError:
    return ServerError(UNSUPPORTED, details={"server_speaks": excerpt(theirs), "pflow_speaks": [MODERN, *LEGACY]})


def _describe(result: Mapping[str, object], version: str) -> Peer:
    meta = object_in(result, "_meta")
    info = object_in(result, "serverInfo") or object_in(meta, "io.modelcontextprotocol/serverInfo")
    said = {"name": info.get("name"), "release": info.get("version"), "instructions": result.get("instructions")}
    known = {name: text for name, text in said.items() if isinstance(text, str)}
    return Peer(version=version, capabilities=object_in(result, "capabilities"))._replace(**known)
