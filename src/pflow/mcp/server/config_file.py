"""The servers that a person configured: the one file that holds them, and nothing else does."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping

from pflow.core.advice import Advice
from pflow.core.errors import ExistsError, NotFoundError, PflowError, StorageError
from pflow.core.file.atomic import (
    JSON_LIMIT,
    corrupt_error,
    locked,
    make_private,
    parse_object,
    read_private,
    set_aside,
    update_json,
)
from pflow.core.file.file_name import show
from pflow.core.file.home import Home
from pflow.core.file.os_call import Calls
from pflow.core.suggest import nearest
from pflow.mcp.server.config import ServerConfig, check_server, read_server

Json = dict[str, object]


class ServerBook:
    """`mcp-servers.json` of a home, read anew each time it is asked. `notices` says what is odd about it."""

    def __init__(self, home: Home, *, notices: list[str] | None = None, calls: Calls = os) -> None:
        self.notices: list[str] = [] if notices is None else notices
        self._path = home.servers
        self._calls = calls

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
                self._note(f"`{self._path.name}`: {error.message}")
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
        def change_content(content: Json) -> Json:
            servers = _servers_of(content)
            if servers is None:
                raise corrupt_error(self._path, set_aside(self._path, calls=self._calls))
            return {**content, "servers": dict(sorted(change(servers).items()))}

        try:
            update_json(self._path, change_content, calls=self._calls)
        except TypeError:
            # Reading takes deeper nesting than writing.
            raise StorageError(
                f"`{self._path}` holds values that are nested too deeply to be kept",
                suggestions=["repair it by hand"],
            ) from None

    def _read(self) -> Json:
        try:
            content = parse_object(read_private(self._path, JSON_LIMIT))
        except NotFoundError:
            self._note_lost()
            return {}
        servers = None if content is None else _servers_of(content)
        if content is None or servers is None:
            content, servers = self._recover()
        self._restrict()
        for key in content:
            if key != "servers":
                self._note(f"`{self._path.name}` holds an unknown field `{show(key)}`; it has no effect")
        return servers

    def _recover(self) -> tuple[Json, Json]:
        """The content if it can be read after all, with nobody writing; else set the file aside and raise."""
        with locked(self._path, calls=self._calls):
            content = parse_object(read_private(self._path, JSON_LIMIT))
            servers = None if content is None else _servers_of(content)
            if content is not None and servers is not None:
                return content, servers
            raise corrupt_error(self._path, set_aside(self._path, calls=self._calls))

    def _restrict(self) -> None:
        # The file may hold credentials that someone wrote there in clear.
        try:
            if make_private(self._path):
                self._note(f"`{self._path}` was readable for other users; now only you can read it")
        except StorageError as error:
            self._note(f"other users can read `{self._path}`: {error.message}")

    def _note_lost(self) -> None:
        """Servers that were set aside must not look like servers that were never there."""
        prefix = f"{self._path.name}.corrupt-"
        try:
            asides = sorted(path.name for path in self._path.parent.iterdir() if path.name.startswith(prefix))
        except OSError:
            return
        if asides:
            self._note(f"`{self._path}` was damaged and set aside as `{asides[-1]}`; there are no servers now")

    def _note(self, notice: str) -> None:
        if notice not in self.notices:
            self.notices.append(notice)


def _servers_of(content: Mapping[str, object]) -> Json | None:
    servers = content.get("servers", {})
    return servers if isinstance(servers, dict) else None


def _not_configured(name: str, servers: Iterable[str]) -> NotFoundError:
    known = sorted(servers)
    near = nearest(name, known)
    return NotFoundError(
        f"Server {show(name)} not configured",
        details={"known": known[:20]} if known else None,
        suggestions=[f"did you mean `{near[0]}`?"] if near else [Advice("add it with `{add_server}`")],
    )
