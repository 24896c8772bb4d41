"""The tools of all servers that a process uses, each over one connection: what steps call."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from pflow.core.advice import Advice
from pflow.core.errors import (
    InputNeeded,
    NotFoundError,
    ReplyError,
    SecurityError,
    ServerError,
    ServerGone,
    StepError,
    StepTimeout,
)
from pflow.core.file.home import Home
from pflow.core.json_type import object_in
from pflow.core.rate import Rate, read_rate
from pflow.engine.context import StepContext, find_step

if TYPE_CHECKING:
    from pflow.mcp.call.argument import ArgumentCheck
    from pflow.mcp.connection import Connection, Opened
    from pflow.mcp.server.config import ServerConfig
    from pflow.mcp.server.config_file import ServerBook
    from pflow.mcp.server.server_state import ServerStates
    from pflow.registry.entry import Entry
    from pflow.registry.observed import Observed
    from pflow.registry.registry import Registry


class Pool:
    """The servers of a home, with one connection to each for the running event loop. Importing and making it is cheap.

    `learn` is told of every token that is obtained on the way, in any thread.
    """

    def __init__(
        self,
        home: Home,
        *,
        variables: Callable[[], Mapping[str, str]],
        warn: Callable[[str], None],
        learn: Callable[[str], None] | None = None,
    ) -> None:
        self.home = home
        self.variables = variables
        self.warn = warn
        self.learn = learn
        self._loop: asyncio.AbstractEventLoop | None = None
        self._connections: dict[str, Connection] = {}
        self._told: set[str] = set()

    @cached_property
    def book(self) -> ServerBook:
        """Where servers are configured."""
        from pflow.mcp.server.config_file import ServerBook  # lazy: most runs need no servers

        return ServerBook(self.home)

    @cached_property
    def states(self) -> ServerStates:
        """What is known of servers."""
        from pflow.mcp.server.server_state import ServerStates  # lazy: most runs need no servers

        return ServerStates(self.home)

    def find(self, name: str) -> ServerConfig:
        """A server as it is configured. Warns once of what is odd about the files."""
        try:
            self.states.get(name)
            return self.book.get(name)
        finally:
            for notice in (*self.book.notices, *self.states.notices):
                if notice not in self._told:
                    self._told.add(notice)
                    self.warn(notice)

    def connection(self, server: str) -> Connection:
        """The one connection to a server, open or not."""
        loop = asyncio.get_running_loop()
        if loop is not self._loop:
            # A connection lives on the loop that made it, and was closed before that loop ended.
            self._loop, self._connections = loop, {}
        found = self._connections.get(server)
        if found is None:
            from pflow.mcp.connection import Connection  # lazy: most runs need no servers

            found = self._connections[server] = Connection(server, self)
        return found

    async def close(self) -> None:
        """End every session, and the servers that are ours."""
        connections, self._connections = self._connections, {}
        if connections:
            await asyncio.gather(*(connection.close() for connection in connections.values()), return_exceptions=True)


class Connections:
    """The tools that a registry knows, called over the connections of a pool.

    `starting` is called before a server is started, which gets what its configuration says by then; `heard` with
    what a server gave.
    """

    def __init__(
        self,
        pool: Pool,
        *,
        registry: Callable[[], Registry],
        starting: Callable[[], None],
        heard: Callable[[str, object], None],
    ) -> None:
        self._pool = pool
        self._heard = heard
        self._registry = registry
        self._starting = starting
        self._tools: dict[tuple[str, str], _Tool] = {}

    def prepare(self, servers: Iterable[str]) -> None:
        """Have servers started, all at once, ahead of their first call."""
        waiting = [found for server in servers if not (found := self._pool.connection(server)).is_open]
        if waiting:
            self._starting()
        for connection in waiting:
            connection.prepare()

    def needs(self, server: str, tool: str) -> Sequence[str]:
        """The parameters that a tool cannot do without."""
        return self._tool(server, tool).required

    def rate(self, server: str) -> Rate | None:
        """How often a server may be called; None if that is not limited. Raises `NotFoundError`."""
        limit = read_rate(self._pool.book.get(server).limit)
        return limit if isinstance(limit, Rate) else None

    async def call(self, server: str, tool: str, arguments: Mapping[str, object]) -> Mapping[str, object]:
        """What a tool gives, as the outputs of a step by their names.

        Its arguments are checked before they are sent, and its definition must be the one that was synced. Raises
        `StepError`; `SecurityError` for a definition that is another now; `NotFoundError` for a server that is not
        configured.
        """
        known = self._tool(server, tool)
        try:
            outputs = await self._call(known, arguments)
        except StepError as error:
            error.details.setdefault("server", server)
            error.details.setdefault("tool", tool)
            raise
        self._heard(server, outputs)
        known.learn(self._registry().observed, outputs["result"])
        return outputs

    async def _call(self, known: _Tool, arguments: Mapping[str, object]) -> Mapping[str, object]:
        known.check(arguments)
        connection = self._pool.connection(known.server)
        context = find_step()
        if not connection.is_open:
            self._starting()
            if context is not None:
                context.report(f"starting server `{known.server}`")
        opened = await connection.open()
        before = opened.session.denied
        folder = context.folder if context is not None else lambda: self._pool.home.runs
        try:
            try:
                result = await self._send(opened, known, arguments, context)
            except ServerGone:
                if not known.may_repeat(opened):
                    raise
                result = await self._send(await connection.open(), known, arguments, context)
            if _has_files(result):
                return await asyncio.to_thread(known.read, result, opened.tools, folder)
            return known.read(result, opened.tools, folder)
        except StepError as error:
            denied = opened.session.denied
            _explain(error, known.server, [method for method in denied if denied[method] > before.get(method, 0)])
            raise

    async def close(self) -> None:
        """End every session, and the servers that are ours."""
        await self._pool.close()

    async def _send(
        self, opened: Opened, tool: _Tool, arguments: Mapping[str, object], context: StepContext | None
    ) -> dict[str, object]:
        live = await opened.hash_of(tool.name)
        if live != tool.hash and not tool.accepts(live, opened):
            raise tool.changed(opened.config, opened.tools[tool.name])

        def progress(done: float, total: float | None, message: str) -> None:
            if context is not None:
                context.report(message or (f"{done:g} of {total:g}" if total else f"{done:g} done"))

        try:
            return await opened.session.call_tool(
                tool.name, arguments, timeout=opened.config.timeout, cap=opened.cap, progress=progress
            )
        except ReplyError as error:
            from pflow.mcp.call.tool_result import read_failure  # lazy: importing this module is cheap

            raise read_failure(error, server=tool.server, tool=tool.name, tools=opened.tools) from error
        except InputNeeded as error:
            error.message = f"tool `{tool.name}` of server `{tool.server}` asks for input, which a run cannot give"
            error.suggestions = (Advice("`{describe_node}` shows what can be given ahead", node=tool.node_type),)
            raise
        except StepTimeout as error:
            if error.waited:
                error.message = f"the call of `{tool.name}` on server `{tool.server}` {error.waited}"
            error.suggestions = (
                "try again, or give the step a `retry` or an edge for `timeout`",
                f"`timeout` of server `{tool.server}` in `mcp-servers.json` is how many seconds it may be silent",
            )
            raise

    def _tool(self, server: str, tool: str) -> _Tool:
        found = self._tools.get((server, tool))
        if found is None:
            from pflow.mcp.tools.sync import find_entry  # lazy: importing this module is cheap

            entry = find_entry(self._registry(), server, tool)
            if entry is None:
                raise NotFoundError(
                    f"tool `{tool}` of server `{server}` is not known",
                    suggestions=[Advice("{sync_server}", server=server)],
                )
            found = self._tools[server, tool] = _Tool(entry)
        return found


class _Tool:
    """A tool as it was synced."""

    def __init__(self, entry: Entry) -> None:
        assert entry.tool is not None
        self._entry = entry
        self.node_type = entry.name
        self.server = entry.tool.server
        self.name = entry.tool.tool
        self.hash = entry.tool.manifest_hash
        self.definition = entry.tool.definition
        required = object_in(self.definition, "inputSchema").get("required")
        self.required = tuple(name for name in required if isinstance(name, str)) if isinstance(required, list) else ()
        self._gives_text = entry.gives_text
        self._check: ArgumentCheck | None = None
        self._accepted = ""

    def check(self, arguments: Mapping[str, object]) -> None:
        """Raise `StepError` for arguments that the tool's schema does not admit."""
        if self._check is None:
            from pflow.mcp.call.argument import ArgumentCheck  # lazy: loads the validator

            self._check = ArgumentCheck(self.definition.get("inputSchema", {}), server=self.server, tool=self.name)
        problems = self._check.problems(arguments)
        if problems:
            raise ServerError(
                f"`{self.name}` of server `{self.server}` does not take these arguments: {problems[0]}",
                details={"problems": problems},
                suggestions=[Advice("{describe_node}", node=self.node_type)],
            )

    def accepts(self, live: str, opened: Opened) -> bool:
        """Whether a definition that is not the synced one differs only in what does not count for its server."""
        if live != self._accepted:
            from pflow.mcp.tools.sameness import is_same  # lazy: a definition rarely changes

            if not is_same(opened.config, self.definition, opened.tools[self.name]):
                return False
            self._accepted = live
        return True

    def changed(self, server: ServerConfig, live: Mapping[str, object]) -> SecurityError:
        """The refusal of a definition that is not the synced one."""
        # lazy: a definition rarely changes
        from pflow.mcp.tools.change import compare
        from pflow.mcp.tools.entry import make_entry
        from pflow.mcp.tools.sameness import has_same_schema

        try:
            found: Sequence[str] = compare(self.node_type, self._entry.data, make_entry(server, live, "")).differences
        except ServerError as error:
            found = [error.message]
        advice = [Advice("`{sync_server}` shows the difference and takes it over", server=self.server)]
        if has_same_schema(self.definition, live):
            advice.append(
                Advice(
                    "if it differs again after that, the server words it differently at every start; "
                    "`{compare_schema}` counts only names, types and values of parameters as a change",
                    server=self.server,
                )
            )
        return SecurityError(
            f"tool `{self.name}` of server `{self.server}` is not the one that was synced",
            details={"changed": list(found)},
            suggestions=advice,
        )

    def learn(self, observed: Observed, result: object) -> None:
        """Remember what the result of a call looked like."""
        if self._gives_text and isinstance(result, str):
            from pflow.mcp.call.tool_result import json_in  # lazy: importing this module is cheap

            observed.record_text(self.node_type, self.hash, json_in(result))
        else:
            observed.record(self.node_type, self.hash, result)

    def may_repeat(self, opened: Opened) -> bool:
        """Whether a call whose outcome is unknown may be made again: it says so itself, and it is believed."""
        notes = object_in(self.definition, "annotations")
        reads = notes.get("readOnlyHint") is True
        return (reads and opened.config.trust_readonly) or (
            (reads or notes.get("idempotentHint") is True) and opened.config.trust_idempotent
        )

    def read(
        self, result: Mapping[str, object], tools: Mapping[str, object], folder: Callable[[], Path]
    ) -> dict[str, object]:
        """The outputs that a result means. Raises `StepError` if it is a failure."""
        from pflow.mcp.call.tool_result import read_result, save_file  # lazy: importing this module is cheap

        reading = read_result(
            result,
            server=self.server,
            tool=self.name,
            tools=tools,
            save=lambda data, mime: save_file(folder())(data, mime),
        )
        outputs: dict[str, object] = {}
        if "outputSchema" in self.definition:
            outputs.update((key, value) for key, value in reading.fields.items() if not key.startswith("__"))
        outputs["result"] = reading.value
        if reading.files:
            outputs["files"] = [dict(file) for file in reading.files]
        return outputs


def _explain(error: StepError, server: str, denied: Sequence[str]) -> None:
    """Say what a server asked for and did not get while a call was under way that failed."""
    if denied:
        from pflow.mcp.protocol.favour import FAVOURS  # lazy: rarely asked for

        error.details.setdefault("denied", [f"server `{server}` {FAVOURS[method][0]}" for method in denied])
        error.suggestions = (*error.suggestions, *(FAVOURS[method][1] for method in denied))


def _has_files(result: Mapping[str, object]) -> bool:
    """Whether reading a result means writing files, which takes its time."""
    content = result.get("content")
    return isinstance(content, list) and any(
        isinstance(block, dict) and block.get("type") not in ("text", "resource_link") for block in content
    )
