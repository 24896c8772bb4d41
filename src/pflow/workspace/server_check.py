"""Finds out why a server does not work: checks everything on the way to it, in order, and says what helps."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence

from pflow.core.advice import Advice
from pflow.core.errors import PflowError
from pflow.core.health import Check
from pflow.mcp.connection import connect
from pflow.mcp.pool import Pool
from pflow.mcp.server.config import ServerConfig
from pflow.mcp.server.consent import require_consent
from pflow.mcp.server.launcher import usable
from pflow.mcp.server.program import find_program
from pflow.mcp.server.secret_scan import advise
from pflow.mcp.server.variable import expand
from pflow.mcp.tools.sync import plan_sync
from pflow.registry.registry import Registry
from pflow.workspace.in_turn import Waiting, in_turn
from pflow.workspace.server_report import ServerCheck


def check_servers(
    pool: Pool, registry: Registry, servers: Sequence[ServerConfig], waiting: Waiting | None = None
) -> list[ServerCheck]:
    """A report per server: `ok`, and `checks` as far as they led. Every server is started, and ended again."""
    return asyncio.run(in_turn(servers, lambda server: _Check(pool, registry, server).run(), waiting))


def report_broken(name: str, error: PflowError) -> ServerCheck:
    """The report about a server whose configuration cannot be used."""
    return ServerCheck(server=name, ok=False, checks=(_failure("configuration", name, error),))


def _failure(check: str, server: str, error: PflowError) -> Check:
    known = {key: value for key, value in error.details.items() if (key, value) != ("server", server)}
    being_done = Advice("{check_server}", server=server)
    hints = tuple(hint for hint in error.suggestions if hint != being_done)
    return Check(check=check, ok=False, found=error.message, hints=hints, details=known)


class _Check:
    def __init__(self, pool: Pool, registry: Registry, server: ServerConfig) -> None:
        self._pool = pool
        self._registry = registry
        self._server = server
        self._checks: list[Check] = []
        self._step = "configuration"

    async def run(self) -> ServerCheck:
        """Everything, until something fails."""
        try:
            self._look()
            await self._dial()
        except PflowError as error:
            self._checks.append(_failure(self._step, self._server.name, error))
        failed = any(check.ok is False for check in self._checks)
        return ServerCheck(server=self._server.name, ok=not failed, checks=tuple(self._checks))

    def _look(self) -> None:
        server, pool = self._server, self._pool
        for warning in advise(server):
            self._note("configuration", None, warning)
        expanded = expand(server, pool.variables())
        for warning in expanded.warnings:
            self._note("variables", None, warning, hints=[Advice("`{set_setting}` stores a value", name="NAME")])
        if server.transport == "stdio":
            state = pool.states.get(server.name)
            program = find_program(expanded.server)
            if program:
                self._note("command", True, program[0])
            if state.launch:
                found = "is started" if usable(state.launch) else "is gone; the command is started"
                self._note("launcher", True, f"`{' '.join(state.launch)}` {found} in its place")
        self._step = "agreed"
        require_consent(pool.states, server, pool.variables())
        self._note("agreed", True, "as it is configured now")

    async def _dial(self) -> None:
        server, pool = self._server, self._pool
        self._step = "connected"
        begin = time.perf_counter()
        opened = await connect(server, pool)
        try:
            took = time.perf_counter() - begin
            peer = opened.session.peer
            name = f"{peer.name} {peer.release}".strip() or "a server that does not say its name"
            self._note("connected", True, f"{name}, protocol {peer.version}", ms=round(took * 1000, 1))
        finally:
            await opened.close()
        self._step = "tools"
        plan = plan_sync(server, opened.listed, peer.release, self._registry, pool.book.names())
        counts = {kind: len(plan.names(kind)) for kind in ("added", "changed", "removed")}
        said = ", ".join(f"{number} {kind}" for kind, number in counts.items() if number)
        count = len(opened.listed)
        self._note(
            "tools",
            None if said else True,
            f"{count:,} tool{'s' * (count != 1)}" + (f"; since the last sync: {said}" if said else ", all as synced"),
            hints=[Advice("{sync_server}", server=server.name)] if said else [],
        )

    def _note(
        self, check: str, ok: bool | None, found: str, *, hints: Sequence[str] = (), ms: float | None = None
    ) -> None:
        self._checks.append(Check(check=check, ok=ok, found=found, hints=tuple(hints), ms=ms))
