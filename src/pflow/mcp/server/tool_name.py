"""From the names that servers and tools give themselves to node types `mcp-SERVER-TOOL`, and back. Pure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from itertools import chain

from pflow.core.file.file_name import show
from pflow.core.frozen import Frozen

PREFIX = "mcp-"
MAX_PART = 64
"""Characters of a server's name, and of a tool's part of a node type."""

_MARK_CHARACTERS = 6
_WORDS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_OTHER = re.compile(r"[^a-z0-9]+")


class ToolNames(Frozen):
    """The node type of each tool of a server by the tool's raw name, and what a person should know about them."""

    node_types: Mapping[str, str]
    warnings: tuple[str, ...] = ()


def sanitise(raw: str, *, default: str) -> str:
    """A name in `[a-z0-9-]`: words apart by hyphens, accents dropped, `default` where nothing is left.

    A long name is cut and marked with the hash of the whole, so that two long names with one beginning differ.
    """
    # Only the beginning can matter, apart from the hash; a name may be as long as a server likes.
    head = raw[: 4 * MAX_PART]
    if not head.isascii():
        import unicodedata  # lazy: nearly all names are ASCII

        head = unicodedata.normalize("NFKD", head)
        head = "".join(char for char in head if not unicodedata.combining(char))
    name = _OTHER.sub("-", _WORDS.sub("-", head).lower()).strip("-")
    if len(name) > MAX_PART or len(raw) > 4 * MAX_PART:
        return _marked(name, raw, _MARK_CHARACTERS)
    return name or default


def name_tools(server: str, tools: Iterable[str], servers: Collection[str] = ()) -> ToolNames:
    """Node types for the tools of a server, each its own, whatever order the tools come in.

    Tools that would share a name all get a mark from their raw name: a plain name that passed from one tool to
    another would make a saved workflow call the wrong one. So do those whose plain name another of the configured
    `servers` owns.
    """
    listed = list(tools)
    raws = sorted(set(listed))
    plain = {raw: sanitise(raw, default="tool") for raw in raws}
    marks = {raw: 0 if _is_own(server, plain[raw], servers) else _MARK_CHARACTERS for raw in raws}
    foreign = [raw for raw in raws if marks[raw]]
    names = {raw: _marked(plain[raw], raw, marks[raw]) for raw in raws}
    while shared := _shared(names):
        for raw in chain.from_iterable(shared.values()):
            marks[raw] += _MARK_CHARACTERS
            names[raw] = _marked(plain[raw], raw, marks[raw])
    node_types = {raw: f"{PREFIX}{server}-{names[raw]}" for raw in listed}
    return ToolNames(node_types=node_types, warnings=_warnings(server, plain, node_types, foreign, listed))


def parse_node_type(node_type: str, servers: Iterable[str]) -> tuple[str, str] | None:
    """Server and tool that a node type names, by the longest configured server that fits; None if none does."""
    if not node_type.startswith(PREFIX):
        return None
    rest = node_type[len(PREFIX) :]
    fitting = [server for server in servers if rest.startswith(f"{server}-") and len(rest) > len(server) + 1]
    server = max(fitting, key=len, default="")
    return (server, rest[len(server) + 1 :]) if server else None


def _is_own(server: str, name: str, servers: Collection[str]) -> bool:
    parsed = parse_node_type(f"{PREFIX}{server}-{name}", servers)
    return parsed is None or len(parsed[0]) <= len(server)


def _marked(name: str, raw: str, size: int) -> str:
    if not size:
        return name
    from hashlib import sha256  # lazy: names that need a mark are rare

    mark = sha256(raw.encode("utf-8", "surrogatepass")).hexdigest()[:size]
    cut = name[: max(MAX_PART - len(mark) - 1, 0)].rstrip("-")
    return f"{cut}-{mark}" if cut else mark


def _shared(names: Mapping[str, str]) -> dict[str, list[str]]:
    """The names that several tools would have, and these tools."""
    by_name: dict[str, list[str]] = {}
    for raw, name in names.items():
        by_name.setdefault(name, []).append(raw)
    return {name: raws for name, raws in by_name.items() if len(raws) > 1}


def _warnings(
    server: str, plain: Mapping[str, str], node_types: Mapping[str, str], foreign: list[str], listed: list[str]
) -> tuple[str, ...]:
    found = []
    for name, raws in sorted(_shared(plain).items()):
        shown = ", ".join(f"`{show(raw)}` is `{node_types[raw]}`" for raw in raws)
        found.append(f"{len(raws)} tools of server `{server}` have names that become `{name}`: {shown}")
    found += [
        f"tool `{show(raw)}` of server `{server}` is `{node_types[raw]}`: "
        f"`{PREFIX}{server}-{plain[raw]}` means a tool of another server"
        for raw in foreign
    ]
    repeated = sorted(raw for raw, count in Counter(listed).items() if count > 1)
    found += [f"server `{server}` lists the tool `{show(raw)}` more than once" for raw in repeated]
    return tuple(found)
