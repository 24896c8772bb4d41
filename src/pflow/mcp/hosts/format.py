"""Reads the MCP servers that other programs have configured, each in its own format. Starts and changes nothing."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import orjson

from pflow.core.errors import NotFoundError, PflowError, StorageError, UsageError
from pflow.core.file.atomic import parse_object
from pflow.core.file.file_name import show
from pflow.core.file.os_call import BINARY, NONBLOCK
from pflow.core.frozen import Frozen
from pflow.core.json_type import object_in
from pflow.core.printable import shorten
from pflow.core.suggest import nearest
from pflow.mcp.hosts.entry import Origin, translate
from pflow.mcp.hosts.host import HOSTS, host_files, starts_pflow
from pflow.mcp.hosts.jsonc import Members, find_repeated, parse_members, strip_comments
from pflow.mcp.server.config import ServerConfig, read_server
from pflow.mcp.server.tool_name import MAX_PART, sanitise

MAX_FILE = 64 << 20
MAX_WRITTEN = 1 << 20
"""Bytes of a file that people write, with comments; programs write more, and plain JSON."""

MAX_SERVERS = 1000

_FORMS = "`mcpServers`, `servers`, `context_servers`, `mcp` or `[mcp_servers.NAME]`"
_TABLES = ("mcpServers", "servers", "mcp_servers", "context_servers")


class Imported(Frozen):
    """Servers that were found, under names of ours, and what a person should know about them."""

    servers: tuple[ServerConfig, ...]
    notes: tuple[str, ...] = ()


def read_host(source: str, *, home: Path, environ: Mapping[str, str]) -> Imported:
    """The servers of a file, or those that the person has configured in one of `HOSTS`.

    The name of a host never means a file in the current directory: others may have written that one.
    """
    if source not in HOSTS:
        if not re.search(r"[/\\.~]", source) and not os.path.lexists(source):
            near = nearest(source, HOSTS, limit=1)
            raise NotFoundError(
                f"`{shorten(source)}` is neither a file nor a program whose servers can be imported",
                details={"known": list(HOSTS)},
                suggestions=[f"did you mean `{near[0]}`?"] if near else [],
            )
        path = home / source[2:] if source.startswith("~/") else Path(source)
        return read_host_file(path, home=home)
    # Claude Code and Claude Desktop were one name here, and people have both.
    also = host_files("claude-desktop", home, environ) if source == "claude" else []
    places = host_files(source, home, environ) + also
    found = [read_host_file(path, home=home, empty=True) for path in places if os.path.lexists(path)]
    if not found:
        raise NotFoundError(
            f"there is no configuration of {source}",
            details={"looked at": [str(path) for path in places]},
            suggestions=["give the path of the file instead"],
        )
    notes = [note for part in found for note in part.notes]
    servers = _with_own_names([(config.name, config) for part in found for config in part.servers], notes)
    return Imported(servers=tuple(servers), notes=tuple(notes))


def read_host_file(path: Path, *, home: Path, empty: bool = False) -> Imported:
    """The servers of one file in any of the formats; one without any is an error unless it may be `empty`."""
    content = parse_config(path, read_config(path))
    origin = Origin(folder=_project(path), home=home, gemini=path.parent.name == ".gemini")
    notes: list[str] = []
    named: list[tuple[str, ServerConfig]] = []
    known = False
    for entries, where, off in _tables(content, origin):
        known = True
        if len(entries) > MAX_SERVERS:
            raise UsageError(f"`{_shown(path)}` holds {len(entries)} servers; at most {MAX_SERVERS} are read")
        for raw, fields in entries.items():
            if twice := raw if raw in _repeated(entries) else find_repeated(fields):
                notes.append(f"`{show(raw)}` is not taken over: `{show(twice)}` stands there more than once")
                continue
            found = _take(raw, {"disabled": True} if raw in off else fields, where, notes)
            if found is not None:
                named.append((raw, found))
    if not known and not empty:
        raise UsageError(f"`{_shown(path)}` holds no MCP servers", suggestions=[f"it should have {_FORMS}"])
    servers = _with_own_names(named, notes)
    return Imported(servers=tuple(servers), notes=tuple(notes))


def _shown(path: Path) -> str:
    return shorten(str(path), 200)


def _take(raw: str, fields: object, origin: Origin, notes: list[str]) -> ServerConfig | None:
    shown = show(raw)
    try:
        translated, remarks = translate(fields, origin)
        if translated is not None and starts_pflow(_words(translated)):
            notes.append(f"`{shown}` is pflow itself and not taken over")
            return None
        config = read_server(sanitise(raw, default="server"), translated) if translated is not None else None
    except PflowError as error:
        advice = f"; {error.suggestions[-1]}" if error.suggestions else ""
        notes.append(f"`{shown}` is not taken over: {error.message}{advice}")
        return None
    notes.extend(f"`{shown}`: {remark}" for remark in remarks)
    return config


def _words(fields: Mapping[str, object]) -> list[object]:
    args = fields.get("args")
    return [fields.get("command", ""), *(args if isinstance(args, list) else [])]


def _repeated(table: Mapping[str, object]) -> frozenset[str]:
    return table.repeated if isinstance(table, Members) else frozenset()


def _with_own_names(named: list[tuple[str, ServerConfig]], notes: list[str]) -> list[ServerConfig]:
    """Each server once, under a name that no other has."""
    taken: dict[str, ServerConfig] = {}
    known: set[tuple[str, bytes]] = set()
    numbers: dict[str, int] = {}
    for raw, config in named:
        content = (config.name, orjson.dumps(config.as_fields()))
        if content in known:
            continue
        known.add(content)
        name = config.name
        while name in taken:
            number = numbers[config.name] = numbers.get(config.name, 1) + 1
            end = f"-{number}"
            name = config.name[: MAX_PART - len(end)] + end
        if name != raw:
            notes.append(f"`{show(raw)}` is called `{name}` here")
        taken[name] = config._replace(name=name)
    return list(taken.values())


def _tables(content: Mapping[str, object], origin: Origin) -> Iterator[tuple[dict[str, object], Origin, set[str]]]:
    """The tables of servers in a file, each with where it belongs and which of its servers are switched off."""
    _check_once(content, (*_TABLES, "mcp", "projects"))
    host = object_in(content, "mcp")
    _check_once(host, ("servers",))
    tables = [(content.get(key), key) for key in _TABLES]
    inner = None if _is_opencode(host.get("servers")) else host.get("servers")
    for table, key in [*tables, (inner, "mcp.servers")]:
        if table is None:
            continue
        if not isinstance(table, dict):
            raise UsageError(f"`{key}` is not an object of servers by name")
        yield table, origin, _switched_off(table, host.get("excluded"), host.get("allowed"))
    if own := [name for name in host if _is_opencode(host[name])]:
        table = Members((name, host[name]) for name in own)
        table.repeated = _repeated(host)
        yield table, origin, set()
    projects = object_in(content, "projects")
    for folder in projects:
        project = object_in(projects, folder)
        _check_once(project, _TABLES)
        if table := object_in(project, "mcpServers"):
            off = _switched_off(table, project.get("disabledMcpServers"), None)
            yield table, origin._replace(folder=Path(folder)), off


def _check_once(part: Mapping[str, object], names: Sequence[str]) -> None:
    """Raises for a part of a file that stands there more than once: programs differ in which one they take."""
    twice = [name for name in names if name in _repeated(part)]
    if twice:
        raise UsageError(
            f"`{twice[0]}` stands in the file more than once",
            suggestions=["leave one of them; programs differ in which one they take"],
        )


def _is_opencode(entry: object) -> bool:
    """Whether a member of `mcp` is a server; other programs keep something else there."""
    return isinstance(entry, dict) and entry.get("type") in ("local", "remote")


def _switched_off(table: Mapping[str, object], excluded: object, allowed: object) -> set[str]:
    off = {name for name in table if isinstance(excluded, list) and name in excluded}
    return off | {name for name in table if isinstance(allowed, list) and allowed and name not in allowed}


def _project(path: Path) -> Path:
    """The directory that relative paths in a file start from: the project's, not that of the editor's settings."""
    folder = path.absolute().parent
    return folder.parent if folder.name in (".vscode", ".cursor", ".gemini", ".codex", ".zed", ".opencode") else folder


def read_config(path: Path) -> bytes:
    """The bytes of a configuration; raises `NotFoundError` and `StorageError`."""
    try:
        fd = os.open(path, os.O_RDONLY | NONBLOCK | BINARY)
        try:
            if not stat.S_ISREG(os.fstat(fd).st_mode):
                raise StorageError(f"cannot read `{_shown(path)}`: it is not a file")
            with open(fd, "rb", closefd=False) as file:
                data = file.read(MAX_FILE + 1)
        finally:
            os.close(fd)
    except (FileNotFoundError, NotADirectoryError):
        raise NotFoundError(f"there is no file `{_shown(path)}`") from None
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise StorageError(f"cannot read `{_shown(path)}`: {why}") from None
    if len(data) > MAX_FILE:
        raise StorageError(f"`{_shown(path)}` is larger than {MAX_FILE} bytes")
    return data


def parse_config(path: Path, data: bytes) -> dict[str, object]:
    """What a configuration holds, JSON with or without comments, or TOML; raises `UsageError`."""
    data = data.removeprefix(b"\xef\xbb\xbf")
    toml = path.suffix == ".toml"
    content = _parse_toml(data) if toml else _parse_json(data)
    if content is None:
        raise UsageError(
            f"`{_shown(path)}` is not {'TOML' if toml else 'a JSON object'}",
            suggestions=["check the file with the program that it belongs to"],
        )
    return content


def _parse_toml(data: bytes) -> dict[str, object] | None:
    import tomllib  # lazy: one host alone writes TOML

    try:
        return tomllib.loads(data.decode()) if len(data) <= MAX_WRITTEN else None
    except (ValueError, RecursionError):
        return None


def _parse_json(data: bytes) -> dict[str, object] | None:
    try:
        if parse_object(data) is None:
            # With comments, as people write it.
            data = strip_comments(data.decode()).encode() if len(data) <= MAX_WRITTEN else b""
        found = parse_members(data) if parse_object(data) is not None else None
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None
