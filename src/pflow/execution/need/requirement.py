"""Compares what documents require with what is there: this pflow, servers, settings and programs. Starts nothing."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Literal

from pflow import __version__
from pflow.core.document.document import Document, Requirements
from pflow.core.document.issue import CREDENTIAL, Issue
from pflow.core.document.parse import Parsed
from pflow.core.document.position import Path
from pflow.core.document.requirement import fits_version
from pflow.core.errors import PflowError, UsageError
from pflow.core.frozen import Frozen
from pflow.execution.need.included import Included, documents_of
from pflow.execution.wiring import Wiring
from pflow.execution.workflow_source import Source

if TYPE_CHECKING:
    from pflow.mcp.server.config import ServerConfig

Kind = Literal["pflow", "server", "setting", "program"]

MISSING, BAD_SERVER = "missing-requirement", "bad-server"
"""The codes of issues about something that a document requires: it is not there, or makes no sense."""


class Missing(Frozen):
    """Something that a document requires and that is not there. `server` holds the fields of one to be added.

    A server that is configured, but whose tools are not known, is `unsynced`.
    """

    kind: Kind
    name: str
    message: str
    path: Path = ()
    server: Mapping[str, object] = {}
    unsynced: bool = False


class Difference(Frozen):
    """A server that is configured in another way than a document asks for. The configured one is used."""

    name: str
    wanted: Mapping[str, object]


class Needs(Frozen):
    """What a workflow requires, all its documents together: what is missing, and what is there but differs."""

    missing: tuple[Missing, ...]
    differing: tuple[Difference, ...]


def find_needs(wiring: Wiring, source: Source) -> Needs:
    """What a workflow and the ones that it includes require."""
    missing: dict[tuple[str, str], Missing] = {}
    differing: dict[str, Difference] = {}
    for document in documents_of(source.parsed, source.load):
        requires = document.parsed.document.requires if document.parsed.document else None
        if requires is None:
            continue
        for found in _compare(wiring, requires):
            if isinstance(found, Difference):
                differing.setdefault(found.name, found)
            else:
                missing.setdefault((found.kind, found.name), _within(document, found))
    return Needs(missing=tuple(missing.values()), differing=tuple(differing.values()))


def _within(document: Included, found: Missing) -> Missing:
    """What is missing, with the node whose workflow needs it, unless the document itself does."""
    if not document.trail:
        return found
    return found._replace(
        message=f"{found.message}; the workflow of node `{'/'.join(document.trail)}` needs it", path=()
    )


def missing_issues(source: Source, missing: Iterable[Missing]) -> tuple[Issue, ...]:
    """What is missing as issues, each where the document asks for it."""
    update = "update pflow"
    return tuple(
        source.parsed.places.issue(MISSING, found.message, found.path, hint=update if found.kind == "pflow" else "")
        for found in missing
    )


def point_to_server(document: Document, issues: Iterable[Issue], missing: Iterable[Missing]) -> tuple[Issue, ...]:
    """The issues; where a tool is unknown since its server is missing, they say so instead of guessing."""
    servers = [found.name for found in missing if found.kind == "server"]
    known = {
        f"nodes[{index}].type": f"the required server `{server}` has its tools"
        for index, spec in enumerate(document.nodes)
        for server in servers
        if spec.type.startswith(f"mcp-{server}-")
    }
    return tuple(
        issue._replace(hint=known[issue.path], known=())
        if issue.code == "unknown-type" and issue.path in known
        else issue
        for issue in issues
    )


def check_servers(document: Document, parsed: Parsed) -> Iterator[Issue]:
    """Errors in the servers that a document requires: what `pflow mcp add` would refuse, and secrets in clear."""
    for name, fields in (document.requires.servers if document.requires else {}).items():
        path: Path = ("requires", "servers", name)
        try:
            server = read_required(name, fields)
        except PflowError as error:
            hint = error.suggestions[0] if error.suggestions else ""
            yield parsed.places.issue(BAD_SERVER, error.message, path, hint=hint)
            continue
        for part in _secret_parts(server):
            yield parsed.places.issue(
                CREDENTIAL,
                f"the required server `{name}` holds what looks like a secret, in its {part}",
                path,
                hint="write a reference such as `${TOKEN}` in its place, and the name under `requires.settings`",
            )


def read_required(name: str, fields: Mapping[str, object]) -> ServerConfig:
    """A required server as it would be configured. Raises `UsageError` and `SecurityError`."""
    from pflow.mcp.server.config import read_server  # lazy: only documents that require servers come here

    server = read_server(name, dict(fields))
    command = server.command
    if "/" in command and not command.startswith(("/", "~")):
        raise UsageError(
            f"the command of the required server `{name}` is a path relative to some directory",
            suggestions=["name a program that a shell finds, or give an absolute path"],
        )
    return server


def _secret_parts(server: ServerConfig) -> list[str]:
    from pflow.mcp.server.secret_scan import literal_secrets  # lazy: only documents that require servers come here

    return literal_secrets(server)


def _compare(wiring: Wiring, requires: Requirements) -> Iterator[Missing | Difference]:
    if requires.pflow and not fits_version(requires.pflow, __version__):
        message = f"the document requires pflow `{requires.pflow}`, and this is {__version__}"
        yield Missing(kind="pflow", name=requires.pflow, message=message, path=("requires", "pflow"))
    for name, fields in requires.servers.items():
        yield from _compare_server(wiring, name, fields)
    variables, problem = _variables(wiring) if requires.settings else ({}, "")
    for index, name in enumerate(requires.settings):
        if not variables.get(name):
            message, path = problem or f"the setting `{name}` is not set", ("requires", "settings", index)
            yield Missing(kind="setting", name=name, message=message, path=path)
    for index, name in enumerate(requires.programs):
        if not _has_program(wiring, name):
            message, path = f"there is no program `{name}`", ("requires", "programs", index)
            yield Missing(kind="program", name=name, message=message, path=path)


def _variables(wiring: Wiring) -> tuple[Mapping[str, str], str]:
    """Settings and environment as steps get them, or why the settings cannot be read."""
    try:
        return wiring.settings.step_variables(), ""
    except PflowError as error:
        return {}, error.message


def _compare_server(wiring: Wiring, name: str, fields: Mapping[str, object]) -> Iterator[Missing | Difference]:
    # lazy: only documents that require servers come here
    from pflow.mcp.server.config_file import ServerBook
    from pflow.mcp.tools.sync import tools_of

    missing = Missing(kind="server", name=name, message="", path=("requires", "servers", name))
    try:
        wanted = read_required(name, fields)
        book = ServerBook(wiring.home)
        configured = book.get(name) if name in book.names() else None
    except PflowError as error:
        yield missing._replace(message=error.message)
        return
    if configured is None:
        yield missing._replace(message=f"the MCP server `{name}` is not configured", server=fields)
        return
    if _reached(configured) != _reached(wanted):
        yield Difference(name=name, wanted=fields)
    if not tools_of(wiring.registry, name):
        message = f"the tools of the MCP server `{name}` are not known yet"
        yield missing._replace(message=message, server=fields, unsynced=True)


def _reached(server: ServerConfig) -> tuple[object, ...]:
    """What is started or talked to."""
    return (server.transport, server.command, server.args, server.url)


def _has_program(wiring: Wiring, name: str) -> bool:
    from shutil import which  # lazy: only documents that require programs come here

    return which(name, path=wiring.environ.get("PATH", os.defpath)) is not None
