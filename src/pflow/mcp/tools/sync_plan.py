"""The tools that a server lists against those the registry has of it: what to add, replace and remove. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Literal

import orjson

from pflow.core.advice import Advice
from pflow.core.errors import ServerError
from pflow.core.file.file_name import show
from pflow.core.frozen import Frozen
from pflow.core.json_type import object_in
from pflow.core.printable import shorten
from pflow.core.suggest import nearest
from pflow.mcp.server.config import ServerConfig
from pflow.mcp.server.tool_name import PREFIX, name_tools
from pflow.mcp.tools.change import ToolChange, compare, source_of
from pflow.mcp.tools.entry import definition_of, make_entry
from pflow.mcp.tools.sameness import has_same_schema, is_same
from pflow.registry.registry import Registry

Entries = dict[str, dict[str, object]]
Kind = Literal["added", "changed", "removed", "unchanged"]

MOST_BYTES = 24 << 20
"""Bytes that the entries of one server may take: the registry is read whole by every command."""

_MOST_WARNINGS = 100
_MOST_NAMED = 10


class SyncPlan(Frozen):
    """What a sync would do. `entries` are to be set; of the changed ones `changes` tells in which way."""

    server: str
    discovered: int
    registered: int
    entries: Entries
    added: tuple[str, ...]
    unchanged: tuple[str, ...]
    changes: tuple[ToolChange, ...]
    by_tool: Mapping[str, ToolChange]
    warnings: tuple[str, ...]

    def names(self, kind: Kind) -> list[str]:
        """The node types of that kind."""
        if kind == "added" or kind == "unchanged":
            return list(self.added if kind == "added" else self.unchanged)
        return [change.name for change in self.changes if change.is_gone == (kind == "removed")]

    def description(self, name: str) -> str:
        """What an entry that is to be set says about its tool."""
        return str(object_in(self.entries[name], "interface").get("description", ""))


def plan_sync(
    server: ServerConfig,
    tools: Sequence[Mapping[str, object]],
    release: str,
    registry: Registry,
    servers: Collection[str] = (),
) -> SyncPlan:
    """Compare what a server lists, in its `release`, with what the registry has of it; changes nothing.

    `servers` are the names of all that are configured. A tool that cannot be used is left out with a warning.
    Raises `ServerError` if the tools together are too large for the registry.
    """
    before = _entries_of(registry, server.name)
    wanted, warnings = _wanted(server, tools, release, registry, servers, before)
    if (size := len(orjson.dumps(wanted))) > MOST_BYTES:
        raise ServerError(
            f"the tools of server `{server.name}` take {size:,} bytes, and {MOST_BYTES:,} are the most",
            details={"tools": len(wanted)},
        )
    entries = {name: entry for name, entry in wanted.items() if before.get(name) != entry}
    changed = {name: compare(name, before[name], entry) for name, entry in entries.items() if name in before}
    changed = {name: change for name, change in changed.items() if change.differences}
    names = {source_of(entry).tool: name for name, entry in wanted.items()}
    gone = {name: source_of(entry).tool for name, entry in before.items() if name not in wanted}
    return SyncPlan(
        server=server.name,
        discovered=len(tools),
        registered=len(wanted),
        entries=entries,
        added=tuple(name for name in wanted if name not in before),
        unchanged=tuple(name for name in wanted if name in before and name not in changed),
        changes=(
            *changed.values(),
            *(
                ToolChange(name=name, tool=tool, is_gone=True, moved_to=names.get(tool, ""))
                for name, tool in gone.items()
            ),
        ),
        by_tool=_by_tool(before, wanted, names, changed),
        warnings=_capped(
            [*warnings, *_overwritten(server.name, list(changed)), *_reworded(server, before, entries, changed)]
        ),
    )


def _entries_of(registry: Registry, server: str) -> dict[str, Mapping[str, object]]:
    found = {name: registry.get(name) for name in registry.names() if name.startswith(PREFIX)}
    return {
        name: entry.data
        for name, entry in found.items()
        if entry.is_virtual and entry.tool and entry.tool.server == server
    }


def _wanted(
    server: ServerConfig,
    tools: Sequence[Mapping[str, object]],
    release: str,
    registry: Registry,
    servers: Collection[str],
    before: Mapping[str, Mapping[str, object]],
) -> tuple[Entries, list[str]]:
    """An entry for every tool that can be used, by node type, and what to say of the others."""
    listed: dict[str, Mapping[str, object]] = {}
    twice: set[str] = set()
    raws: list[str] = []
    for tool in tools:
        raw = str(tool.get("name", ""))
        raws.append(raw)
        if definition_of(listed.setdefault(raw, tool)) != definition_of(tool):
            twice.add(raw)
    named = name_tools(server.name, raws, servers)
    warnings = list(named.warnings)
    wanted: Entries = {}
    chosen = _chosen(server, named.node_types)
    warnings += [
        f"server `{server.name}` has no tool `{show(tool)}`, which its configuration chooses{_meant(tool, listed)}"
        for tool, raw in chosen.items()
        if raw is None
    ]
    for raw, tool in listed.items():
        if server.tools and raw not in chosen.values():
            continue
        name = named.node_types[raw]
        try:
            if raw in twice:
                raise ServerError(f"tool `{show(raw)}` cannot be used: its definitions differ")
            _check_free(name, raw, server.name, registry)
            wanted[name] = make_entry(server, _kept(server, tool, before.get(name)), release)
        except ServerError as error:
            warnings.append(f"{error.message}; it is left out")
    return wanted, warnings


def _kept(server: ServerConfig, tool: Mapping[str, object], old: Mapping[str, object] | None) -> Mapping[str, object]:
    """The tool as it is listed, or as it was synced where what differs does not count for its server."""
    synced = source_of(old).definition if old is not None else {}
    return synced if synced and is_same(server, synced, tool) else tool


def _chosen(server: ServerConfig, node_types: Mapping[str, str]) -> dict[str, str | None]:
    """The tools that a configuration chooses, by its words: their own names, None for those that do not exist."""
    by_type = {node_type: raw for raw, node_type in node_types.items()}
    return {word: word if word in node_types else by_type.get(f"{PREFIX}{server.name}-{word}") for word in server.tools}


def _meant(word: str, listed: Mapping[str, object]) -> str:
    near = nearest(word, listed, limit=1)
    return f"; did you mean `{show(near[0])}`?" if near else ""


def _check_free(name: str, raw: str, server: str, registry: Registry) -> None:
    if name not in registry:
        return
    entry = registry.get(name)
    owner = entry.tool.server if entry.tool else None
    if entry.is_virtual and owner == server:
        return
    holder = f"server `{shorten(str(owner))}`" if entry.is_virtual else f"`{shorten(Path(entry.file_path).name)}`"
    raise ServerError(f"tool `{show(raw)}` cannot be used: its node type `{name}` belongs to {holder}")


def _by_tool(
    before: Mapping[str, Mapping[str, object]],
    wanted: Entries,
    names: Mapping[str, str],
    changed: Mapping[str, ToolChange],
) -> dict[str, ToolChange]:
    """The changes for documents that name a tool by its own name, which outlives a new name of its node type."""
    found: dict[str, ToolChange] = {}
    for name, entry in before.items():
        tool = source_of(entry).tool
        now = names.get(tool)
        if now is None:
            found[tool] = ToolChange(name=name, tool=tool, is_gone=True)
        elif now != name:
            found[tool] = compare(now, entry, wanted[now])
        elif name in changed:
            found[tool] = changed[name]
    return found


def _overwritten(server: str, names: list[str]) -> list[str]:
    if not names:
        return []
    more = f" and {len(names) - _MOST_NAMED:,} more" if len(names) > _MOST_NAMED else ""
    shown = ", ".join(f"`{name}`" for name in names[:_MOST_NAMED])
    return [f"tools of server `{server}` changed since the last sync; the entries are replaced: {shown}{more}"]


def _reworded(
    server: ServerConfig,
    before: Mapping[str, Mapping[str, object]],
    entries: Entries,
    changed: Collection[str],
) -> list[str]:
    """That a server words its tools anew, if the same release does."""
    pairs = [(source_of(before[name]), source_of(entries[name])) for name in changed]
    count = sum(old.version == new.version and has_same_schema(old.definition, new.definition) for old, new in pairs)
    if not count:
        return []
    return [
        f"{count:,} of them changed in wording only, in the same version of the server; if that happens at every sync, "
        "the server words them differently at every start, and "
        + Advice("`{compare_schema}` counts only names, types and values of parameters", server=server.name)
    ]


def _capped(warnings: list[str]) -> tuple[str, ...]:
    if len(warnings) <= _MOST_WARNINGS:
        return tuple(warnings)
    return (*warnings[: _MOST_WARNINGS - 1], f"… and {len(warnings) - _MOST_WARNINGS + 1:,} more warnings")
