"""Finds out what keeps a server from working: looks at everything on the way to it, in order, and says what helps."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from shutil import which

from pflow.core.errors import PflowError
from pflow.mcp.config import ServerConfig
from pflow.mcp.connection import Surroundings, connect
from pflow.mcp.consent import check_consent
from pflow.mcp.expansion import expand
from pflow.mcp.exposure import advise
from pflow.mcp.launcher import usable
from pflow.mcp.sync import plan_sync
from pflow.registry.registry import Registry

Json = dict[str, object]


def check_servers(around: Surroundings, registry: Registry, servers: Sequence[ServerConfig]) -> list[Json]:
    """A report per server: `ok`, and `checks` as far as they led. Every server is started, and ended again."""

    async def check_all() -> list[Json]:
        return await asyncio.gather(*(_Check(around, registry, server).run() for server in servers))

    return asyncio.run(check_all())


class _Check:
    def __init__(self, around: Surroundings, registry: Registry, server: ServerConfig) -> None:
        self._around = around
        self._registry = registry
        self._server = server
        self._checks: list[Json] = []

    async def run(self) -> Json:
        """Everything, until something fails."""
        try:
            self._look()
            await self._dial()
        except PflowError as error:
            known = {"details": error.details} if error.details else {}
            self._note("failed", False, error.message, hints=error.suggestions, **known)
        failed = any(check["ok"] is False for check in self._checks)
        return {"server": self._server.name, "ok": not failed, "checks": self._checks}

    def _look(self) -> None:
        server, around = self._server, self._around
        for warning in advise(server):
            self._note("configuration", None, warning)
        expanded = expand(server, around.variables())
        for warning in expanded.warnings:
            self._note("variables", None, warning, hints=["`pflow settings set NAME` stores a value"])
        if server.transport == "stdio":
            state = around.states.get(server.name)
            program = which(expanded.server.command)
            if program is not None:
                self._note("command", True, program)
            if state.launch:
                found = "is started" if usable(state.launch) else "is gone; the command is started"
                self._note("launcher", True, f"`{' '.join(state.launch)}` {found} in its place")
        check_consent(server, around.states.get(server.name))
        self._note("agreed", True, "as it is configured now")

    async def _dial(self) -> None:
        server, around = self._server, self._around
        begin = time.perf_counter()
        opened = await connect(server, around)
        try:
            took = time.perf_counter() - begin
            peer = opened.session.peer
            name = f"{peer.name} {peer.release}".strip() or "a server that does not say its name"
            self._note("connected", True, f"{name}, protocol {peer.version}", ms=round(took * 1000, 1))
        finally:
            await opened.close()
        plan = plan_sync(server, opened.listed, peer.release, self._registry, around.book.names())
        counts = {kind: len(plan.names(kind)) for kind in ("added", "changed", "removed")}
        said = ", ".join(f"{count} {kind}" for kind, count in counts.items() if count)
        self._note(
            "tools",
            None if said else True,
            f"{len(opened.listed)} tools" + (f"; since the last sync: {said}" if said else ", all as synced"),
            hints=[f"pflow mcp sync {server.name}"] if said else [],
        )

    def _note(self, check: str, ok: bool | None, found: str, *, hints: Sequence[str] = (), **more: object) -> None:
        self._checks.append({"check": check, "ok": ok, "found": found, "hints": list(hints), **more})
