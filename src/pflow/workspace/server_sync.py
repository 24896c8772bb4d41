"""Reads the tools of servers into the registry: connects to some at a time, then takes over what each lists."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Collection, Sequence

from pflow.core.advice import Advice
from pflow.core.errors import PflowError, SecurityError, ServerError
from pflow.core.file.home import Home
from pflow.core.library.workflow_manager import WorkflowManager
from pflow.core.printable import cut
from pflow.mcp.connection import Opened, connect
from pflow.mcp.pool import Pool
from pflow.mcp.server.config import ServerConfig
from pflow.mcp.server.consent import describe_change, grant, require_consent
from pflow.mcp.server.launcher import find_launch
from pflow.mcp.tools.prose import clean_prose
from pflow.mcp.tools.sync import apply_sync, plan_sync, touched
from pflow.registry.registry import Registry
from pflow.workspace.in_turn import Waiting, in_turn
from pflow.workspace.server_report import SyncFailure, SyncReport, report_failure, report_sync

Agree = Callable[[str], bool]
"""Shows a person what would be started or connected to, and says whether they agree."""

PATIENCE_SECONDS = 120.0
"""How long a server may take to start here, where a launcher may have to download it first."""


MOST_INSTRUCTIONS = 16 << 10
"""Characters that are kept of what a server says about its tools."""


class Listing:
    """What a server listed, and how it was reached."""

    def __init__(self, opened: Opened, launch: tuple[str, ...], seconds: float) -> None:
        self.tools = opened.listed
        self.peer = opened.session.peer
        self.launch = launch
        self.seconds = seconds


class Sync:
    """One synchronisation of some servers of a home; `stored` are the names of its credentials."""

    def __init__(self, pool: Pool, registry: Registry, *, dry_run: bool, stored: Collection[str]) -> None:
        self._pool = pool
        self._stored = stored
        self._registry = registry
        self._dry_run = dry_run

    def run(
        self, servers: Sequence[ServerConfig], agree: Agree | None, waiting: Waiting | None = None
    ) -> list[SyncReport | SyncFailure]:
        """A report per server; one that fails does not block the others."""
        reports: dict[str, SyncReport | SyncFailure] = {}
        agreed: list[ServerConfig] = []
        for server in servers:
            try:
                self._ask(server, agree)
                agreed.append(server)
            except SecurityError as error:
                reports[server.name] = report_failure(server.name, error)
        for server, found in zip(agreed, asyncio.run(in_turn(agreed, self._list, waiting)), strict=True):
            reports[server.name] = (
                self._take_over(server, found) if isinstance(found, Listing) else report_failure(server.name, found)
            )
        return [reports[server.name] for server in servers]

    def _ask(self, server: ServerConfig, agree: Agree | None) -> None:
        states, variables = self._pool.states, self._pool.variables()
        try:
            require_consent(states, server, variables)
        except SecurityError as error:
            if agree is None:
                error.suggestions = (
                    Advice(
                        "`{sync_server}` on a terminal shows what it is and asks; `--yes` agrees unseen",
                        server=server.name,
                    ),
                )
                raise
            shown = describe_change(server, states.get(server.name), variables=variables, stored=self._stored)
            if not agree(shown):
                raise SecurityError(f"server `{server.name}` was not agreed to") from None
            grant(states, server, variables=variables)

    async def _list(self, server: ServerConfig) -> Listing | PflowError:
        begin = time.perf_counter()
        try:
            opened = await connect(server, self._pool, timeout=max(server.timeout, PATIENCE_SECONDS))
        except PflowError as error:
            return error
        try:
            pid = opened.session.pid
            launch = await find_launch((server.command, *server.args), pid) if pid is not None else ()
            return Listing(opened, launch, round(time.perf_counter() - begin, 3))
        finally:
            await opened.close()

    def _take_over(self, server: ServerConfig, found: Listing) -> SyncReport | SyncFailure:
        try:
            plan = plan_sync(server, found.tools, found.peer.release, self._registry, self._pool.book.names())
        except ServerError as error:
            return report_failure(server.name, error)
        if not self._dry_run:
            apply_sync(plan, self._registry)
            self._pool.states.update(
                server.name,
                launch=found.launch,
                launch_of=server.fingerprint() if found.launch else "",
                era=found.peer.era,
                version=found.peer.release,
                synced_at=time.time(),
                tools=len(found.tools),
                instructions=clean_prose(cut(found.peer.instructions, MOST_INSTRUCTIONS)),
            )
        return report_sync(
            plan,
            touched=touched(plan, _saved(self._pool.home)),
            seconds=found.seconds,
            protocol=found.peer.version,
        )


def _saved(home: Home) -> list[tuple[str, dict[str, object]]]:
    """Every workflow that is kept, as far as it can be read."""
    found: list[tuple[str, dict[str, object]]] = []
    for manager in (WorkflowManager(home), WorkflowManager.for_drafts(home)):
        for name in manager.names():
            try:
                found.append((name, manager.load_ir(name)))
            except PflowError:
                continue  # running it says why
    return found
