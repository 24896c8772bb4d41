"""Which servers of an import a person agrees to: all that are shown, but not by themselves to get their credentials."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

from pflow.core.advice import Advice
from pflow.core.frozen import Frozen
from pflow.mcp.server.config import ServerConfig
from pflow.mcp.server.consent import describe_change, describe_drawn
from pflow.mcp.server.program import own_variables
from pflow.mcp.server.server_state import ServerStates


class Choice(Frozen):
    """The servers to add, those of them that are agreed to, and what a person should know about the others."""

    added: Sequence[ServerConfig]
    agreed: Sequence[ServerConfig]
    notes: Sequence[str]


def choose(
    servers: Sequence[ServerConfig],
    agree: Callable[[str], bool] | None,
    *,
    states: ServerStates,
    variables: Mapping[str, str],
    stored: Collection[str],
) -> Choice:
    """Asks about each server that would be given a setting or an environment variable of the person's own.

    Where nobody can be asked, such a server is added and not agreed to. `stored` are the names of the credentials among
    the settings.
    """
    added: list[ServerConfig] = []
    agreed: list[ServerConfig] = []
    notes: list[str] = []
    for server in servers:
        if own_variables(server, stored):
            if agree is None:
                given = describe_drawn(server, variables=variables, stored=stored)
                asks = Advice("`{sync_server}` asks", server=server.name)
                notes.append(f"`{server.name}` is not agreed to yet: it would send {given}; {asks}")
                added.append(server)
                continue
            state = states.get(server.name)
            if not agree(describe_change(server, state, variables=variables, stored=stored)):
                notes.append(f"`{server.name}` is not taken over: it was not agreed to")
                continue
        added.append(server)
        agreed.append(server)
    return Choice(added=added, agreed=agreed, notes=notes)
