"""What a process that answers many requests keeps between them: the journal, connections, a child in waiting."""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping

from pflow.core.file.home import Home
from pflow.core.setting.settings import Settings
from pflow.engine.ports import Cache, Journal, Observer
from pflow.execution.wiring import Wiring
from pflow.mcp.pool import Pool
from pflow.process.standby import Standby
from pflow.registry.registry import Registry
from pflow.workspace.workspace import Workspace


class Resident:
    """Makes a workspace for each request: read afresh, over what is kept."""

    def __init__(self, home: Home) -> None:
        self.home = home
        self.notices: list[str] = []
        self._environ = dict(os.environ)  # each look into the real one decodes it
        self._lock = threading.Lock()
        self._wiring = Wiring(home)
        self._registry: Registry | None = None
        self._standby = Standby()
        self._pool = Pool(home, variables=self._variables, warn=self.notices.append)

    @property
    def stores(self) -> tuple[Journal, Cache]:
        """The one journal and its cache, so that what the journal recovers and locks is done once."""
        with self._lock:
            return self._wiring.journal, self._wiring.cache

    def workspace(self, observer: Observer | None = None) -> Workspace:
        """A fresh workspace; closing it is not needed, and keeps what is shared."""
        journal, cache = self.stores
        return Workspace(
            self.home,
            observer=observer,
            environ=self._environ,
            journal=journal,
            cache=cache,
            pool=self._pool,
            standby=self._standby,
            registry=self._load_registry,
        )

    async def disconnect(self) -> None:
        """End the MCP servers that were started on this event loop."""
        await self._pool.close()

    def close(self) -> None:
        """Let the journal go, and the child in waiting."""
        self._standby.close()
        with self._lock:
            self._wiring.close()

    def _load_registry(self) -> Registry:
        kept = self._registry
        self._registry = found = Registry.load(self.home) if kept is None else kept.afresh()
        return found

    def _variables(self) -> Mapping[str, str]:
        return Settings.load(self.home, environ=self._environ).variables()
