"""The use cases of MCP servers, as a person configures them at a command line; no agent and no document may."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from pflow.core.path import Home, absolute
from pflow.mcp.address import has_reference
from pflow.mcp.config import ServerConfig, read_server
from pflow.mcp.consent import grant
from pflow.mcp.exposure import advise, view
from pflow.mcp.server_book import ServerBook
from pflow.mcp.server_state import ServerStates

Json = dict[str, object]


class Servers:
    """The configured servers of a home. Everything comes back without the values of secrets."""

    def __init__(self, home: Home, *, environ: Mapping[str, str] | None, notices: list[str]) -> None:
        self._book = ServerBook(home, notices=notices)
        self._states = ServerStates(home, notices=notices)
        self._environ = os.environ if environ is None else environ

    def names(self) -> list[str]:
        """Every configured server."""
        return self._book.names()

    def list(self) -> list[Json]:
        """Every server that can be used."""
        return [view(server) for server in self._book.servers()]

    def show(self, name: str) -> Json:
        """One server; raises `NotFoundError`."""
        return view(self._book.get(name))

    def add(self, name: str, fields: Mapping[str, object], *, overwrite: bool = False) -> Json:
        """Configure a server by its fields in `mcp-servers.json`; gives it back with `warnings`. Starts nothing.

        Whoever adds a server agrees to it. Paths that mean something in the current folder are made to mean the
        same from anywhere.
        """
        server, warnings = self._settle(read_server(name, {**fields}))
        self._book.add(server, overwrite=overwrite)
        grant(self._states, server)
        return {**view(server), "warnings": [*warnings, *advise(server)]}

    def remove(self, name: str) -> None:
        """Forget a server; raises `NotFoundError`."""
        self._book.remove(name)
        self._states.forget(name)

    def import_from(self, source: str, *, overwrite: bool = False, dry_run: bool = False) -> Json:
        """Take over the servers of another program, or of a file. Gives `added`, `kept` and `notes`. Starts nothing."""
        from pflow.mcp.host_format import read_host  # lazy: importing is rare

        home = Path(self._environ.get("HOME") or Path.home())
        found = read_host(source, home=home, environ=self._environ)
        present = {server.name: server for server in self._book.servers()}
        names = set(self._book.names())
        added: list[ServerConfig] = []
        kept: list[str] = []
        notes = [*found.notes]
        for server in found.servers:
            if present.get(server.name) == server:
                kept.append(server.name)
            elif server.name in names and not overwrite:
                kept.append(server.name)
                notes.append(f"`{server.name}` is configured otherwise already; `--overwrite` would replace it")
            else:
                added.append(server)
        if added and not dry_run:
            self._book.add_all(added, overwrite=overwrite)
            grant(self._states, *added)
        notes += [warning for server in added for warning in [*self._look(server), *advise(server)]]
        return {"added": [view(server) for server in added], "kept": kept, "notes": notes, "dry_run": dry_run}

    def _settle(self, server: ServerConfig) -> tuple[ServerConfig, Sequence[str]]:
        if server.transport != "stdio" or server.cwd:
            return server, self._look(server)
        warnings: Sequence[str] = []
        if re.search(r"[/\\]", server.command) and server.command[0] != "~" and not has_reference(server.command):
            server = server._replace(command=str(absolute(server.command)))
        here = next((arg for arg in server.args if _is_here(arg)), None)
        if here is not None:
            server = server._replace(cwd=str(absolute(".")))
            warnings = [f"it starts in this folder, where `{here}` is; `--cwd` chooses another"]
        return server, [*warnings, *self._look(server)]

    def _look(self, server: ServerConfig) -> Sequence[str]:
        """Whether the command can be found, without starting it."""
        if server.transport != "stdio" or has_reference(server.command) or server.command[0] == "~":
            return []
        from shutil import which  # lazy: only when servers are configured

        if which(os.path.join(server.cwd, server.command) if server.command[0] == "." else server.command):  # noqa: PTH118
            return []
        return [f"there is no program `{server.command}` now; install it before the server is used"]


def _is_here(arg: str) -> bool:
    """Whether an argument means a file by its place relative to the current folder."""
    if not arg or arg[0] in "-~" or has_reference(arg) or "\0" in arg or Path(arg).is_absolute():
        return False
    try:
        return re.match(r"\.\.?(?:[/\\]|\Z)", arg) is not None or Path(arg).exists()
    except OSError:
        return False
