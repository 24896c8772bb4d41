"""Stand-ins that live in memory, for tests of documents, of nodes and of programs that use pflow."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence

from pflow.adapters.memory_cache import MemoryCache
from pflow.adapters.memory_dispatch import MemoryDispatch
from pflow.adapters.memory_journal import MemoryJournal, MemoryStore
from pflow.adapters.memory_schedules import MemorySchedules, ScheduleStore
from pflow.adapters.model.scripted import ScriptedLLM
from pflow.core.errors import NotFoundError, StepError
from pflow.core.event import Event

__all__ = [
    "MemoryCache",
    "MemoryDispatch",
    "MemoryJournal",
    "MemorySchedules",
    "MemoryStore",
    "MemoryTools",
    "RecordingObserver",
    "ScheduleStore",
    "ScriptedLLM",
]

Tool = Callable[..., object]

_NAMED = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


class MemoryTools:
    """Tools of MCP servers as Python functions, by server and name. See `pflow.engine.ports.ToolSessions`.

    A tool needs the parameters that have no default. What it returns, or what awaiting that gives, is its `result`; it
    fails by raising `StepError`. `calls` holds every call that was made: server, tool and arguments.
    """

    def __init__(self, tools: Mapping[str, Mapping[str, Tool]]) -> None:
        self._tools = tools
        self.calls: list[tuple[str, str, Mapping[str, object]]] = []

    def prepare(self, servers: Iterable[str]) -> None:
        """Functions need no start."""

    def needs(self, server: str, tool: str) -> Sequence[str]:
        """The parameters without a default."""
        parameters = inspect.signature(self._find(server, tool)).parameters.values()
        return tuple(found.name for found in parameters if found.default is found.empty and found.kind in _NAMED)

    async def call(self, server: str, tool: str, arguments: Mapping[str, object]) -> Mapping[str, object]:
        """Call the function."""
        function = self._find(server, tool)
        try:
            _check(function, tool, arguments)
            self.calls.append((server, tool, dict(arguments)))
            result = function(**arguments)
            return {"result": await result if inspect.isawaitable(result) else result}
        except StepError as error:
            error.details.setdefault("server", server)
            error.details.setdefault("tool", tool)
            raise

    async def close(self) -> None:
        """Functions need no end."""

    def _find(self, server: str, tool: str) -> Tool:
        try:
            return self._tools[server][tool]
        except KeyError:
            raise NotFoundError(f"tool `{tool}` of server `{server}` is not known") from None


def _check(function: Tool, tool: str, arguments: Mapping[str, object]) -> None:
    try:
        inspect.signature(function).bind(**arguments)
    except TypeError as error:
        raise StepError(f"`{tool}` does not take these arguments: {error}") from None


class RecordingObserver:
    """Keeps everything it is told, by run. See `pflow.engine.ports.Observer`."""

    def __init__(self) -> None:
        self.events: list[tuple[str, Event]] = []
        self.reports: list[tuple[str, str, str]] = []

    def notify(self, run_id: str, event: Event) -> None:
        """Keep an event."""
        self.events.append((run_id, event))

    def report(self, run_id: str, step: str, message: str) -> None:
        """Keep what a step said."""
        self.reports.append((run_id, step, message))
