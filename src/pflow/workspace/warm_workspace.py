"""What a process that answers many requests keeps between them: the journal, connections, child processes at hand."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Unpack

from pflow.core.file.home import Home
from pflow.core.setting.settings import GivenOptions, Settings
from pflow.engine.attempt.turn import Limits
from pflow.engine.ports import Observer
from pflow.execution.plan_memo import PlanMemo
from pflow.execution.wiring import Parts, Wiring
from pflow.mcp.pool import Pool
from pflow.process.workers import make_workers
from pflow.registry.registry import Registry
from pflow.workspace.workspace import Workspace


class WarmWorkspaces:
    """Opens a workspace for each request: files are read afresh, everything else is kept.

    With `driven`, its runs are driven for others; `on` names the place where runs are kept, if it is not the home, and
    `queue` one of its queues.
    """

    def __init__(
        self, home: Home, *, project: Path | None = None, driven: bool = False, on: str = "", queue: str = ""
    ) -> None:
        self.home = home
        self._project = project
        self._environ = dict(os.environ)  # each look into the real one decodes it
        self._secrets: dict[str, str] = {}
        self._lock = threading.Lock()
        place: Parts = {"on": on, "queue": queue} if on else {}
        self._fixed: Parts = {"driven": driven, **place}
        self._wiring = Wiring(home, **self._fixed)
        self._registry: Registry | None = None
        self._settings: Settings | None = None
        self._workers = make_workers(lives_long=True)
        self._limits = Limits()
        self._plans = PlanMemo()
        self._pool = Pool(home, variables=self._variables, warn=lambda _: None)

    def open(self, observer: Observer | None = None, **parts: Unpack[Parts]) -> Workspace:
        """A fresh workspace. It need not be closed; closing it keeps what is shared."""
        with self._lock:  # only one thread opens the journal, which recovers and locks
            journal, cache = self._wiring.journal, self._wiring.cache
            dispatch, schedules = self._wiring.dispatch, self._wiring.schedules
        kept: Parts = {
            **self._fixed,
            "environ": self._environ,
            "secrets": self._secrets,
            "journal": journal,
            "cache": cache,
            "schedules": schedules,
            "dispatch": dispatch,
            "pool": self._pool,
            "workers": self._workers,
            "limits": self._limits,
            "plans": self._plans,
            "registry": self._load_registry,
            "settings": self._load_settings,
        }
        if self._fixed.get("on"):
            kept["roster"] = self._wiring.roster
        kept.update(parts)
        return Workspace(self.home, project=self._project, observer=observer, **kept)

    def hide(self, name: str, secret: str) -> None:
        """Keep a secret of this process out of everything that is stored or shown from now on."""
        self._secrets[name] = secret

    def derive_key(self, purpose: str) -> bytes:
        """A secret of the home for one purpose, the same in every process."""
        return self._wiring.derive_key(purpose)

    async def disconnect(self) -> None:
        """End the MCP servers that were started on this event loop."""
        await self._pool.close()

    def close(self) -> None:
        """Close the journal and end the child processes that wait."""
        if self._workers is not None:
            self._workers.close()
        with self._lock:
            self._wiring.close()

    def _load_registry(self) -> Registry:
        kept = self._registry
        self._registry = found = Registry.load(self.home) if kept is None else kept.afresh()
        return found

    def _load_settings(self, given: Callable[[], GivenOptions]) -> Settings:
        kept = self._settings
        load = partial(Settings.load, self.home, environ=self._environ) if kept is None else kept.afresh
        self._settings = found = load(given=given)
        return found

    def _variables(self) -> Mapping[str, str]:
        return Settings.load(self.home, environ=self._environ).variables()
