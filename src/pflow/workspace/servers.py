"""The use cases of MCP servers. Only a person at a command line configures them, never an agent or a document."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from pflow.core.advice import Advice
from pflow.core.errors import NotFoundError, PflowError, SecurityError, UsageError
from pflow.core.file.home import absolute
from pflow.core.frozen import Frozen
from pflow.core.printable import escape
from pflow.core.suggest import nearest
from pflow.execution.wiring import Wiring
from pflow.mcp.server.address import has_reference
from pflow.mcp.server.config import ServerConfig, check_server, read_server
from pflow.mcp.server.config_file import ServerBook
from pflow.mcp.server.consent import describe, describe_change, grant, require_consent
from pflow.mcp.server.secret_scan import ServerView, advise, hides_something, view
from pflow.mcp.server.server_state import ServerState, ServerStates

if TYPE_CHECKING:
    from pflow.core.setting.redactor import Redactor
    from pflow.mcp.pool import Pool
    from pflow.registry.entry import Entry
    from pflow.workspace.in_turn import Waiting
    from pflow.workspace.server_report import ImportReport, ServerCheck, ServerDetail, SyncFailure, SyncReport

F = TypeVar("F", bound=Frozen)


class Servers:
    """The configured servers of a home. Everything comes back without the values of secrets."""

    def __init__(self, wiring: Wiring, notices: list[str]) -> None:
        self._book = ServerBook(wiring.home, notices=notices)
        self._states = ServerStates(wiring.home, notices=notices)
        self._environ = os.environ if wiring.environ is None else wiring.environ
        self._wiring = wiring
        self._notices = notices

    def names(self) -> list[str]:
        """Every configured server."""
        return self._book.names()

    def list(self) -> list[ServerView]:
        """Every server that can be used."""
        return [view(server) for server in self._book.servers()]

    def show(self, name: str) -> ServerView:
        """One server; raises `NotFoundError`."""
        return view(self._book.get(name))

    def describe(self, name: str) -> ServerDetail:
        """One server, with its tools and what it says about them as of the last sync; raises `NotFoundError`."""
        from pflow.workspace.server_report import ServerDetail  # lazy: most uses need no reports

        state = self._states.get(name)
        detail = ServerDetail(
            server=self.show(name),
            version=state.version,
            tools=tuple(self.tools(name)),
            instructions=state.instructions,
        )
        return self._discreet([detail])[0]

    def instructions(self, name: str) -> str:
        """What a server says about all its tools; nothing before it was synced."""
        said = self._states.get(name).instructions
        return self._redactor().text(said) if said else ""

    def add(self, name: str, fields: Mapping[str, object], *, overwrite: bool = False) -> ServerView:
        """Configure a server by its fields in `mcp-servers.json`; gives it back with `warnings`. Starts nothing.

        Adding a server agrees to it. Paths relative to the current directory are made absolute.
        """
        server, warnings = self._settle(read_server(name, {**fields}))
        self._book.add(server, overwrite=overwrite)
        grant(self._states, server, variables=self._wiring.settings.variables())
        return view(server, [*warnings, *advise(server)], self._facts(server)[1:])

    def preview(self, name: str, fields: Mapping[str, object]) -> str:
        """What a person reads before they agree to a server that is not configured yet, whole and escaped."""
        server, warnings = self._settle(read_server(name, {**fields}))
        text = describe_change(
            server, ServerState(), variables=self._wiring.settings.variables(), stored=self._stored()
        )
        return "\n".join([text, *(f"  note: {escape(warning)}" for warning in [*warnings, *advise(server)])])

    def remove(self, name: str) -> None:
        """Forget a server and its tools; raises `NotFoundError`."""
        self._book.remove(name)
        self._states.forget(name)
        from pflow.mcp.tools.sync import node_types_of  # lazy: most uses need no registry

        registry = self._wiring.registry
        found = node_types_of(registry, name)
        for node_type in found:
            registry.remove(node_type)
        if found:
            registry.save()

    def sync(
        self,
        names: Sequence[str] = (),
        *,
        agree: Callable[[str], bool] | None,
        dry_run: bool = False,
        trust_readonly: bool = False,
        compare: str | None = None,
        waiting: Waiting | None = None,
    ) -> Sequence[SyncReport | SyncFailure]:
        """Start servers, all if none is named, and make their tools node types; a report for each.

        `agree` is asked about a server that changed since it was agreed to, or never was; without it such a server is
        refused. From now on, with `trust_readonly` the servers are trusted on which of their tools only read, and
        `compare` says what of their tools must stay as it is synced: `everything`, or only the `schema`.
        `waiting` is told now and then which servers have not answered yet, and how many have yet to be started.
        """
        # lazy: most uses talk to no server
        from pflow.workspace.server_report import report_failure
        from pflow.workspace.server_sync import Sync

        servers, broken = self._chosen(names)
        chosen = {"trust_readonly": trust_readonly, "compare": compare}
        if changes := {name: value for name, value in chosen.items() if value}:
            servers = [check_server(server._replace(**changes)) for server in servers]
            if not dry_run:
                self._book.add_all(servers, overwrite=True)
        sync = Sync(self._pool(self._warn), self._wiring.registry, dry_run=dry_run, stored=self._stored())
        reports = sync.run(servers, agree, waiting)
        return self._discreet([*reports, *(report_failure(name, error) for name, error in broken.items())])

    def check(self, names: Sequence[str] = (), *, waiting: Waiting | None = None) -> Sequence[ServerCheck]:
        """Look at servers, all if none is named, and at everything on the way to them; a report for each."""
        from pflow.workspace.server_check import check_servers, report_broken  # lazy: most uses talk to no server

        servers, broken = self._chosen(names)
        # What is worth a warning is worth a check of its own, so it is said there.
        reports = check_servers(self._pool(lambda _: None), self._wiring.registry, servers, waiting)
        return self._discreet([*reports, *(report_broken(name, error) for name, error in broken.items())])

    def log_in(self, name: str, *, say: Callable[[str], None]) -> None:
        """Get tokens for a server that wants OAuth: a person logs in, or a client by itself. Raises `StepError`."""
        import asyncio  # lazy: most uses talk to no server

        from pflow.mcp.oauth.login import login
        from pflow.mcp.server.variable import expand

        variables = self._wiring.settings.variables()
        config = self._book.get(name)
        require_consent(self._states, config, variables)
        server = expand(config, variables).server
        asyncio.run(login(server, home=self._wiring.home, variables=variables, say=say))

    def record(self, name: str, command: Sequence[str] = (), *, say: Callable[[str], None]) -> int:
        """Stand between a client on stdin and stdout and a server, and record its calls as a session; the exit code.

        Without a `command`, the server is the one that is configured under this name. Raises `PflowError`.
        """
        from pflow.workspace.driving.record_server import record_server  # lazy: most uses talk to no server

        return record_server(self._wiring, self._states, name, command, redactor=self._redactor(), say=say)

    def log_out(self, name: str) -> bool:
        """Forget the tokens of a server; whether there were any."""
        from pflow.mcp.server.token_store import forget  # lazy: most uses talk to no server

        self._book.get(name)
        return forget(self._wiring.home, name)

    def find_tool(self, name: str, tool: str) -> Entry:
        """The node type of a tool, by its own name or the one in its node type. Raises `NotFoundError`."""
        # lazy: most uses need no registry
        from pflow.mcp.server.tool_name import PREFIX
        from pflow.mcp.tools.sync import find_entry, tools_of

        registry = self._wiring.registry
        self._book.get(name)
        entry = find_entry(registry, name, tool)
        if entry is None and f"{PREFIX}{name}-{tool}" in registry:
            entry = registry.get(f"{PREFIX}{name}-{tool}")
        if entry is not None:
            return entry
        known = tools_of(registry, name)
        near = nearest(tool, known)
        raise NotFoundError(
            f"Tool {tool} not found on server {name}" if known else f"the tools of server `{name}` are not known yet",
            details={"similar": near} if near else None,
            suggestions=[f"did you mean `{near[0]}`?"] if near else [Advice("{sync_server}", server=name)],
        )

    def variables(self) -> set[str]:
        """Names of the variables that the configured servers are filled in with."""
        from pflow.mcp.server.variable import references  # lazy: most uses talk to no server

        return {name for server in self._book.servers() for name in references(server)}

    def tools(self, name: str) -> Sequence[str]:
        """The tools of a server as of its last sync, by their own names."""
        from pflow.mcp.tools.sync import tools_of  # lazy: most uses need no registry

        return tools_of(self._wiring.registry, name)

    def back_up(self, source: str) -> str:
        """Copy a file beside itself, for its owner's eyes only; gives the path of the copy."""
        from pflow.core.file.atomic import JSON_LIMIT, read_private, write_atomic  # lazy: only for this

        path = self._person() / source[2:] if source.startswith("~/") else absolute(source)
        copy = path.with_name(f"{path.name}.bak")
        write_atomic(copy, read_private(path, JSON_LIMIT))
        return str(copy)

    def _person(self) -> Path:
        return Path(self._environ.get("HOME") or Path.home())

    def _chosen(self, names: Sequence[str]) -> tuple[Sequence[ServerConfig], Mapping[str, PflowError]]:
        """Servers by name, all if none is named, and why others cannot be used. Raises `NotFoundError`."""
        servers: list[ServerConfig] = []
        broken: dict[str, PflowError] = {}
        for name in names or self._book.names():
            try:
                servers.append(self._book.get(name))
            except (UsageError, SecurityError) as error:  # one bad entry of the file does not block the others
                broken[name] = error
        return servers, broken

    def _stored(self) -> set[str]:
        """The names of the credentials among the settings."""
        return {setting.key for setting in self._wiring.settings.list() if setting.secret}

    def _pool(self, warn: Callable[[str], None]) -> Pool:
        from pflow.mcp.pool import Pool  # lazy: most uses talk to no server

        return Pool(self._wiring.home, variables=self._wiring.settings.variables, warn=warn)

    def _warn(self, warning: str) -> None:
        self._notices.append(self._wiring.redactor.text(warning))

    def _discreet(self, reports: Sequence[F]) -> Sequence[F]:
        """Reports without the secrets that servers were given and may have repeated."""
        redactor = self._redactor()
        return [redactor.report(report) for report in reports]

    def _redactor(self) -> Redactor:
        """What takes out secrets, those of servers too."""
        from pflow.mcp.server.server_secret import server_secrets  # lazy: most uses talk to no server

        redactor = self._wiring.redactor
        for name, value in server_secrets(self._wiring.home, self._wiring.settings.variables()).items():
            redactor.add(name, value)
        return redactor

    def import_from(
        self,
        source: str,
        *,
        agree: Callable[[str], bool] | None = None,
        overwrite: bool = False,
        dry_run: bool = False,
    ) -> ImportReport:
        """Take over the servers of another program, or of a file. Starts nothing.

        Importing a server agrees to it, unless it would be given a setting or an environment variable that programs do
        not get anyway. `agree` is asked about such a server; without it, nobody has agreed to it yet.
        """
        # lazy: importing is rare
        from pflow.mcp.hosts.format import read_host
        from pflow.workspace.server_import import choose
        from pflow.workspace.server_report import ImportReport

        found = read_host(source, home=self._person(), environ=self._environ)
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
        variables = self._wiring.settings.variables()
        asked = None if dry_run else agree
        choice = choose(added, asked, states=self._states, variables=variables, stored=self._stored())
        if choice.added and not dry_run:
            self._book.add_all(choice.added, overwrite=overwrite)
            grant(self._states, *choice.agreed, variables=variables)
        notes += choice.notes
        notes += [warning for server in choice.added for warning in [*self._look(server), *advise(server)]]
        views = tuple(
            view(server, facts=self._facts(server)[0 if hides_something(server) else 1 :]) for server in choice.added
        )
        return ImportReport(added=views, kept=tuple(kept), notes=tuple(notes), dry_run=dry_run)

    def _facts(self, server: ServerConfig) -> Sequence[str]:
        return describe(server, variables=self._wiring.settings.variables(), stored=self._stored())

    def _settle(self, server: ServerConfig) -> tuple[ServerConfig, Sequence[str]]:
        if server.transport != "stdio" or server.cwd:
            return server, self._look(server)
        warnings: Sequence[str] = []
        if re.search(r"[/\\]", server.command) and server.command[0] != "~" and not has_reference(server.command):
            server = server._replace(command=str(absolute(server.command)))
        here = next((arg for arg in server.args if _is_here(arg)), None)
        if here is not None:
            server = server._replace(cwd=str(absolute(".")))
            warnings = [f"it starts in this directory, where `{here}` is; `--cwd` chooses another"]
        return server, [*warnings, *self._look(server)]

    def _look(self, server: ServerConfig) -> Sequence[str]:
        """Whether the command can be found, without starting it."""
        from pflow.mcp.server.program import meaning_of  # lazy: only when servers are configured

        if server.transport != "stdio" or meaning_of(server, self._wiring.settings.variables()).program:
            return []
        return [f"there is no program `{server.command}` now; install it before the server is used"]


def _is_here(arg: str) -> bool:
    """Whether an argument means a file by its place relative to the current directory."""
    if not arg or arg[0] in "-~" or has_reference(arg) or "\0" in arg or Path(arg).is_absolute():
        return False
    try:
        return re.match(r"\.\.?(?:[/\\]|\Z)", arg) is not None or Path(arg).exists()
    except OSError:
        return False
