"""A driver beside other work, such as a server's: while it is there, runs that are due are taken up.

Each is driven in a process of its own, because what this process does may end at any time, and runs of others must not
end with it. Where there is a daemon, everything is left to that.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from pflow.adapters.driver_mark import find_daemon
from pflow.adapters.lease import Lease
from pflow.core.errors import PflowError
from pflow.engine.ports import RunInfo
from pflow.workspace.driving.apart import drive_apart
from pflow.workspace.driving.driver import Driver, Say
from pflow.workspace.driving.driving import Driving
from pflow.workspace.warm_workspace import WarmWorkspaces

_QUIET_SECONDS = 2.0
"""How long the other work has to begin undisturbed."""

_POLL_SECONDS = 1.0


async def drive_beside(workspaces: WarmWorkspaces, *, say: Say, warn: Say) -> None:
    """Take up what is due until this is cancelled. What was taken up goes on by itself."""
    await asyncio.sleep(_QUIET_SECONDS)
    home = workspaces.home

    def driving() -> Driving:
        return workspaces.open().driving

    async def take_up(info: RunInfo, begun: Callable[[], None]) -> str:
        return await drive_apart(driving(), info.run_id, begun)

    try:
        lease = await asyncio.to_thread(Lease, home.drivers)
    except PflowError as error:
        warn(f"runs that wait are not taken up: {error.message}")
        return
    try:
        driver = Driver(
            driving,
            take_up,
            say=say,
            warn=warn,
            poll_seconds=_POLL_SECONDS,
            rests=lambda: find_daemon(home) is not None,
        )
        await driver.work()
    finally:
        lease.release()
