"""The servers that a person configured: the one file that holds them, and nothing else does."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable

from pflow.core.advice import Advice
from pflow.core.errors import ExistsError, NotFoundError, PflowError, StorageError
from pflow.core.file.file_name import show
from pflow.core.file.home import Home
from pflow.core.file.os_call import Calls
from pflow.core.file.state_file import StateFile
from pflow.core.json_type import Json, object_in
from pflow.core.suggest import nearest
from pflow.mcp.server.config import ServerConfig, check_server, read_server


class ServerBook:
    """`mcp-servers.json` of a home, read anew each time it is asked. `notices` says what is odd about it."""

    def __init__(self, home: Home, *, notices: list[str] | None = None, calls: Calls = os) -> None:
        self.notices: list[str] = [] if notices is None else notices
        # The file may hold credentials in plain text.
        self._file = StateFile(
            home.servers,
            is_valid=lambda content: isinstance(content.get("servers", {}), dict),
            private=True,
            say=self._note,
            calls=calls,
        )

    def names(self) -> list[str]:
        """Every configured server, sorted."""
        return sorted(self._read())

    def servers(self) -> list[ServerConfig]:
        """Every server that can be used; the others are notices."""
        found = []
        for name, fields in sorted(self._read().items()):
            try:
                found.append(read_server(name, fields))
            except PflowError as error:
                self._note(f"`{self._file.path.name}`: {error.message}")
        return found

    def get(self, name: str) -> ServerConfig:
        """One server; a `NotFoundError` for one that is not configured."""
        servers = self._read()
        if name not in servers:
            raise _not_configured(name, servers)
        return read_server(name, servers[name])

    def add(self, config: ServerConfig, *, overwrite: bool = False) -> None:
        """Keep a server; an `ExistsError` if the name is taken and `overwrite` is not said."""
        self.add_all([config], overwrite=overwrite)

    def add_all(self, configs: Iterable[ServerConfig], *, overwrite: bool = False) -> None:
        """Keep several servers, all or none."""
        added = {config.name: check_server(config).as_fields() for config in configs}

        def change(servers: Json) -> Json:
            taken = [name for name in added if name in servers]
            if taken and not overwrite:
                raise ExistsError(
                    f"there is already a server `{taken[0]}`",
                    suggestions=["choose another name, or replace it with `--overwrite`"],
                )
            return {**servers, **added}

        self._change(change)

    def remove(self, name: str) -> None:
        """Forget a server; a `NotFoundError` if it is not there."""

        def change(servers: Json) -> Json:
            if name not in servers:
                raise _not_configured(name, servers)
            return {key: fields for key, fields in servers.items() if key != name}

        self._change(change)

    def _change(self, change: Callable[[Json], Json]) -> None:
        try:
            self._file.update(
                lambda content: {**content, "servers": dict(sorted(change(object_in(content, "servers")).items()))}
            )
        except TypeError:
            # Reading takes deeper nesting than writing.
            raise StorageError(
                f"`{self._file.path}` holds values that are nested too deeply to be kept",
                suggestions=["repair it by hand"],
            ) from None

    def _read(self) -> Json:
        content = self._file.read()
        if content is None:
            # Servers that were set aside must not look like servers that were never there.
            if aside := self._file.last_aside():
                self._note(f"`{self._file.path}` was damaged and set aside as `{aside}`; there are no servers now")
            return {}
        for key in content:
            if key != "servers":
                self._note(f"`{self._file.path.name}` holds an unknown field `{show(key)}`; it has no effect")
        return object_in(content, "servers")

    def _note(self, notice: str) -> None:
        if notice not in self.notices:
            self.notices.append(notice)


def _not_configured(name: str, servers: Iterable[str]) -> NotFoundError:
    known = sorted(servers)
    near = nearest(name, known)
    return NotFoundError(
        f"Server {show(name)} not configured",
        details={"known": known[:20]} if known else None,
        suggestions=[f"did you mean `{near[0]}`?"] if near else [Advice("add it with `{add_server}`")],
    )
