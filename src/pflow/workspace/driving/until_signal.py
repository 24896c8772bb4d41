"""How a server ends: when its work is done, or at a signal."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Awaitable, Callable

from pflow.workspace.serving import SIGNALS


async def serve_until_signal(serving: Awaitable[object], *, stop: Callable[[], None]) -> int:
    """Wait for the end of `serving`, which a signal brings about with `stop`; the exit code.

    A second signal ends the process at once.
    """
    loop = asyncio.get_running_loop()
    code = 0

    def interrupt(name: str) -> None:
        nonlocal code
        if code:
            os._exit(code)
        code = SIGNALS[name]
        stop()

    for name in SIGNALS:
        number = getattr(signal, name)
        if name != "SIGHUP" or signal.getsignal(number) is not signal.SIG_IGN:  # which `nohup` sees to
            loop.add_signal_handler(number, interrupt, name)
    await serving
    return code
