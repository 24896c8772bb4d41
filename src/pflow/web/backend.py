"""The workspaces behind the page: one that only reads, on a thread of its own, and a new one for each action."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:  # it is loaded when the first page is asked for, which is there sooner without it
    from pflow.workspace import Workspace

T = TypeVar("T")

Open = Callable[[], "Workspace"]
"""Opens a workspace over the home of the page."""

_MOST_ACTIONS = 4
"""At once: starting a run takes a while, and nobody clicks faster."""


class Backend:
    """Does what requests ask for, off the event loop."""

    def __init__(self, open_workspace: Open) -> None:
        self.open = open_workspace
        self._reader = ThreadPoolExecutor(1, "pflow-page")
        self._actors = ThreadPoolExecutor(_MOST_ACTIONS, "pflow-act")
        self._workspace: Workspace | None = None

    async def read(self, work: Callable[[Workspace], T]) -> T:
        """What somebody reads of the runs."""
        return await asyncio.get_running_loop().run_in_executor(self._reader, self._read, work)

    async def act(self, work: Callable[[Workspace], T]) -> T:
        """Something that is done, or that depends on files which people edit."""
        return await asyncio.get_running_loop().run_in_executor(self._actors, self._act, work)

    def close(self) -> None:
        """Begin nothing more, and close what was opened once nobody reads any more."""
        self._reader.submit(self._close)
        self._reader.shutdown(wait=False)
        self._actors.shutdown(wait=False, cancel_futures=True)

    def _close(self) -> None:
        if self._workspace is not None:
            self._workspace.close()

    def _read(self, work: Callable[[Workspace], T]) -> T:
        if self._workspace is None:
            self._workspace = self.open()
        return work(self._workspace)

    def _act(self, work: Callable[[Workspace], T]) -> T:
        with self.open() as workspace:
            return work(workspace)
