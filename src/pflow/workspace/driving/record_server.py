"""Records what a client asks of an MCP server: this process stands between the two until one of them ends."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Mapping, Sequence

from pflow.core.errors import UsageError
from pflow.core.session.recording import Recording
from pflow.core.setting.redactor import Redactor
from pflow.core.setting.secret_name import is_secret_name
from pflow.execution.wiring import Wiring
from pflow.mcp.server.config_file import ServerBook
from pflow.mcp.server.consent import require_consent
from pflow.mcp.server.program import find_program
from pflow.mcp.server.server_state import ServerStates
from pflow.mcp.server.variable import expand
from pflow.mcp.transport.relay import Relay
from pflow.process.command import child_environment
from pflow.workspace.driving.until_signal import serve_until_signal


def record_server(
    wiring: Wiring,
    states: ServerStates,
    name: str,
    command: Sequence[str],
    *,
    redactor: Redactor,
    say: Callable[[str], None],
) -> int:
    """Pass everything on and record the calls; the exit code.

    A `command` gets the whole environment, as it would from the client that has this process in its place.
    """
    if command:
        argv, env, cwd = tuple(command), wiring.environ, None
        for key, value in env.items():
            if is_secret_name(key):
                redactor.add(key, value)
    else:
        argv, env, cwd = _configured(wiring, states, name)
    recording = Recording(
        wiring.home.sessions,
        name,
        directory=os.getcwd(),  # noqa: PTH109
        redact=redactor.value,
        warn=say,
    )
    return asyncio.run(_hold(argv, env, cwd, recording))


def _configured(
    wiring: Wiring, states: ServerStates, name: str
) -> tuple[tuple[str, ...], Mapping[str, str], str | None]:
    config = ServerBook(wiring.home).get(name)
    if config.transport != "stdio":
        raise UsageError(
            f"server `{name}` is reached over {config.transport}; only servers that a command starts can be recorded"
        )
    variables = wiring.settings.variables()
    require_consent(states, config, variables)
    server = expand(config, variables).server
    program = find_program(server)
    argv = (program[0] if program else server.command, *server.args)
    return argv, child_environment(server.env), server.cwd or None


async def _hold(argv: Sequence[str], env: Mapping[str, str], cwd: str | None, recording: Recording) -> int:
    relay = Relay(argv, env, cwd, recording)
    held = asyncio.ensure_future(relay.hold())
    code = await serve_until_signal(held, stop=relay.stop)
    return code or held.result()
