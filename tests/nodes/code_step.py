"""Code steps for tests, with workers that are started or come from a fork server."""

from __future__ import annotations

import asyncio
import textwrap
from pathlib import Path
from typing import Any

import pytest

from pflow.core.errors import StepError
from pflow.engine.context import StepContext, enter_step
from pflow.engine.ports import Services
from pflow.nodes.code.node import Code, worker_command
from pflow.process.command import child_environment
from pflow.process.fork_server import ForkServer


def run(code: str, inputs: object = None, **params: Any) -> dict[str, Any]:
    """What a code step writes."""
    return asyncio.run(step(code, inputs, **params))


async def step(code: str, inputs: object = None, **params: Any) -> dict[str, Any]:
    """The same, inside an event loop."""
    node = Code()
    written = textwrap.dedent(code) if isinstance(code, str) else code
    node.set_params({"code": written, **({} if inputs is None else {"inputs": inputs}), **params})
    shared: dict[str, Any] = {}
    assert await node.run_async(shared) == "default"
    return shared


def fail(code: str, inputs: object = None, **params: Any) -> StepError:
    """The error of a code step that fails."""
    with pytest.raises(StepError) as caught:
        run(code, inputs, **params)
    return caught.value


def use(workers: ForkServer | None) -> None:
    """Have steps take their workers from a server from now on, or start their own."""
    services = Services(home=Path("/nowhere"), settings={}, workers=lambda: workers)
    enter_step(StepContext("run", "node", "step", services, lambda step, message: None))


def start(server: ForkServer) -> ForkServer:
    """The server, when it is ready for steps."""

    async def ready() -> None:
        server.want(worker_command(), child_environment())
        while not server.pid:
            await asyncio.sleep(0.001)

    asyncio.run(asyncio.wait_for(ready(), 60))
    return server
