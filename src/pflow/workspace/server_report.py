"""What came of a sync, a check or an import of MCP servers. The fields are the keys of the JSON."""

from __future__ import annotations

from collections.abc import Mapping

from pflow.core.errors import PflowError
from pflow.core.frozen import Frozen
from pflow.core.health import Check
from pflow.mcp.server.secret_scan import ServerView as ServerView  # noqa: PLC0414 callers get it here
from pflow.mcp.tools.sync import SyncPlan, Touched


class AddedTool(Frozen):
    """A tool that became a node type."""

    name: str
    description: str


class ChangedTool(Frozen):
    """A node type whose tool changed; `differences` are sentences."""

    name: str
    differences: tuple[str, ...]


class SyncReport(Frozen):
    """What a server lists, and what that changed in the registry and means for saved workflows."""

    server: str
    tools_discovered: int
    tools_registered: int
    added: tuple[AddedTool, ...]
    changed: tuple[ChangedTool, ...]
    removed: tuple[str, ...]
    unchanged: tuple[str, ...]
    warnings: tuple[str, ...]
    touched: tuple[Touched, ...]
    seconds: float
    protocol: str


class Failure(Frozen):
    """An error as programs get it; `type` is its code."""

    type: str
    message: str
    details: Mapping[str, object]
    suggestions: tuple[str, ...]


class SyncFailure(Frozen):
    """A server whose tools could not be read, and why."""

    server: str
    error: Failure


class ServerCheck(Frozen):
    """Whether a server works, and what was looked at, in order and as far as it led."""

    server: str
    ok: bool
    checks: tuple[Check, ...]


class ServerDetail(Frozen):
    """A server as it is configured, and what the last sync learned of it. `instructions` are the server's own words."""

    server: ServerView
    version: str = ""
    tools: tuple[str, ...] = ()
    instructions: str = ""


class ImportReport(Frozen):
    """What was taken over from another program, and the names of those that stayed as they were."""

    added: tuple[ServerView, ...]
    kept: tuple[str, ...]
    notes: tuple[str, ...]
    dry_run: bool


def report_sync(plan: SyncPlan, *, touched: tuple[Touched, ...], seconds: float, protocol: str) -> SyncReport:
    """The report about a server whose tools were read."""
    return SyncReport(
        server=plan.server,
        tools_discovered=plan.discovered,
        tools_registered=plan.registered,
        added=tuple(AddedTool(name=name, description=plan.description(name)) for name in plan.added),
        changed=tuple(
            ChangedTool(name=change.name, differences=change.differences)
            for change in plan.changes
            if not change.is_gone
        ),
        removed=tuple(plan.names("removed")),
        unchanged=plan.unchanged,
        warnings=plan.warnings,
        touched=touched,
        seconds=seconds,
        protocol=protocol,
    )


def report_failure(server: str, error: PflowError) -> SyncFailure:
    """The report about a server whose tools could not be read."""
    failure = Failure(type=error.code, message=error.message, details=error.details, suggestions=error.suggestions)
    return SyncFailure(server=server, error=failure)
