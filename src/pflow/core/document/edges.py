"""Reads the edges between nodes, the start and the mappings; reports nodes that cannot be reached."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from itertools import islice
from typing import NamedTuple

from pflow.core.document.document import END, Edge, KeyMapping, Mode
from pflow.core.document.fields import Fields, wrong_type
from pflow.core.document.position import Issues, Path
from pflow.core.event import SECTIONS, Section
from pflow.core.printable import shorten
from pflow.core.suggest import nearest

MAX_EDGES = 50_000
"""Edges of a document."""

_LISTED = 50
"""Nodes that an issue lists as known; a thousand issues may each list them."""

_EDGE = dict.fromkeys(("from", "to", "action", "when"))
_MAPPING = dict.fromkeys(("input_mappings", "output_mappings"))

Links = dict[str, list[str]]
"""The nodes that each node leads to; a mistyped name links to the node that it likely meant."""


def read_sections(top: Fields, ids: Mapping[str, int]) -> dict[Section, str]:
    """The node that each section of the document begins with."""
    found: dict[Section, str] = {}
    for section in SECTIONS:
        name = top.values.get(section)
        if name is None:
            continue
        if not isinstance(name, str):
            hint = "put the nodes at the end of `nodes`, and write the id of the first of them here"
            wrong_type(top.issues, (section,), "the id of a node", name, hint)
        elif name not in ids:
            _unknown_node(top.issues, f"`{section}`", name, (section,), ids)
        elif name in found.values():
            message = f"`on_failure` and `finally` both begin with `{shorten(name)}`"
            hint = "write `finally` alone if it is to run in any case, or give each a node of its own"
            top.issues.add("crossing", message, (section,), hint=hint)
        else:
            found[section] = name
    return found


def read_flow(
    top: Fields, ids: Mapping[str, int], sections: Mapping[Section, str]
) -> tuple[Mode, tuple[Edge, ...], str | None]:
    """What gives the order, the edges that are written in `edges` and `on`, and the start."""
    issues = top.issues
    written = top.values.get("edges")
    start = top.text("start_node") or None
    if start is not None and start not in ids:
        _unknown_node(issues, "`start_node`", start, ("start_node",), ids)
        start = None
    entries = written if isinstance(written, list) else []
    by_data = written == "data" or entries[:1] == ["data"]
    if written is not None and not isinstance(written, list) and not by_data:
        hint = 'did you mean "data"?' if isinstance(written, str) else 'write [{"from": "…", "to": "…"}]'
        wrong_type(issues, ("edges",), 'an array or "data"', written, hint)
    reader = _Edges(issues, ids, sections.values())
    for index, item in enumerate(entries):
        if not (by_data and index == 0):
            reader.read_entry(item, ("edges", index))
    for name, index, on in _routes(top, ids):
        reader.read_routes(name, on, ("nodes", index, "on"))
    if len(reader.edges) > MAX_EDGES:
        message = f"the document has {len(reader.edges):,} edges; at most {MAX_EDGES:,} are allowed"
        issues.add("too-many", message, ("edges",), hint='"edges": "data" derives them from the templates')
        return "order", (), start
    if by_data:
        return "data", tuple(reader.edges), start
    if not ids:
        return "order", (), start
    mode = _mode(issues, ids, reader, start, sections.values(), has_list=bool(entries))
    return mode, tuple(reader.edges), start or next(iter(ids))


def _routes(top: Fields, ids: Mapping[str, int]) -> Iterable[tuple[str, int, object]]:
    """Each node with something in `on`, and its place."""
    nodes = top.values.get("nodes")
    for name, index in ids.items():
        node = nodes[index] if isinstance(nodes, list) else None
        on = node.get("on") if isinstance(node, dict) else None
        if on is not None:
            yield name, index, on


class _Reading(NamedTuple):
    """What is known of an edge before its target: where it begins, and the node that this was likely meant to be."""

    source: str
    meant: str
    action: str
    when: str
    path: Path


def read_condition(fields: Fields, name: str = "when") -> str:
    """A condition; a constant that YAML has read as a boolean is one as well."""
    value = fields.values.get(name)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list) and value and all(isinstance(one, str) for one in value):
        hint = f"write one condition: `{shorten(' && '.join(value), 200)}`"
        wrong_type(fields.issues, (*fields.path, name), "a string", value, hint)
        return ""
    return fields.text(name).strip()


class _Edges:
    """Reads edges one by one, and keeps what they link; `sure` are the links that are taken whatever happens."""

    def __init__(self, issues: Issues, ids: Mapping[str, int], sections: Collection[str]) -> None:
        self.edges: list[Edge] = []
        self.links: Links = {name: [] for name in ids}
        self.sure: Links = {name: [] for name in ids}
        self._issues = issues
        self._ids = ids
        following = zip(ids, islice(ids, 1, None), strict=False)
        self._following = {name: after for name, after in following if after not in sections}

    def read_entry(self, value: object, path: Path) -> None:
        """An entry of `edges`."""
        if not isinstance(value, dict):
            wrong_type(self._issues, path, "an object", value, 'write {"from": "…", "to": "…"}')
            return
        fields = Fields(self._issues, value, path, _EDGE, what="an edge", required=("from", "to"))
        source, action = fields.text("from"), fields.word("action", "default")
        meant = source
        if source not in self._ids:
            guess = []
            if isinstance(fields.values.get("from"), str):
                guess = _unknown_node(self._issues, "an edge", source, (*path, "from"), self._ids)
            meant = guess[0] if guess else ""
        reading = _Reading(source, meant, action, read_condition(fields), path)
        self._read_targets(reading, fields.values.get("to"), (*path, "to"))

    def read_routes(self, source: str, on: object, path: Path) -> None:
        """What a node says under `on`: a target, or several, for each action."""
        if not isinstance(on, dict):
            wrong_type(self._issues, path, "an object", on, 'write {"error": "…"}: an action, and the node it leads to')
            return
        for action, targets in on.items():
            if not action.strip() or "${" in action:
                message = f"`{shorten(action)}` is not an action"
                self._issues.add("bad-name", message, (*path, action), key=True, hint="write `error`, or `default`")
            elif targets is None:
                hint = "write the id of a node, `next` or `end`"
                wrong_type(self._issues, (*path, action), "the id of a node", targets, hint)
            else:
                here = (*path, action)
                self._read_targets(_Reading(source, source, action, "", here), targets, here)

    def _read_targets(self, edge: _Reading, value: object, at: Path) -> None:
        if value is None:
            return  # said to be missing already
        for index, target in enumerate(value if isinstance(value, list) else [value]):
            where = (*at, index) if isinstance(value, list) else at
            if isinstance(target, str):
                self._read_target(edge, target, where)
            else:
                hint = "write the id of a node, `next` or `end`"
                wrong_type(self._issues, where, "the id of a node", target, hint)

    def _read_target(self, edge: _Reading, target: str, at: Path) -> None:
        """Add one edge if both of its ends are known, and the link that it makes or was likely meant to make."""
        source, meant, action, when, path = edge
        is_next = target == "next" and target not in self._ids
        if is_next:
            target = self._following.get(source, END)
        elif target == "end" and target not in self._ids:
            target = END
        elif target not in self._ids:
            guess = _unknown_node(self._issues, "an edge", target, at, self._ids)
            if guess and meant:
                self.links[meant].append(guess[0])
            return
        if source == target and action == "default" and not when:
            hint = 'give the edge an action: {"from": "x", "to": "x", "action": "retry"}'
            message = f"the node `{shorten(source)}` leads to itself whatever happens, so it would never end"
            self._issues.add("self-edge", message, path, hint=hint)
        if meant and target:
            self.links[meant].append(target)
            if action == "default" and not when:
                self.sure[meant].append(target)
        if source in self._ids:
            self.edges.append(Edge(source=source, target=target, action=action, when=when, is_next=is_next, path=path))


def _unknown_node(issues: Issues, what: str, name: str, path: Path, ids: Collection[str]) -> list[str]:
    """Report a name that no node has; return the node it likely meant."""
    meant = [] if issues.full else nearest(name, ids, limit=1)
    issues.add(
        "unknown-node",
        f"{what} names the node `{shorten(name)}`, which does not exist",
        path,
        known=tuple(islice(ids, _LISTED)),
        hint=f"did you mean `{meant[0]}`?" if meant else "",
    )
    return meant


def _mode(
    issues: Issues,
    ids: Mapping[str, int],
    reader: _Edges,
    start: str | None,
    sections: Collection[str],
    *,
    has_list: bool,
) -> Mode:
    """Whether the edges alone say what leads to what: they do if they reach every node, sections from their own start.

    A start other than the first node needs such edges. Where a node leads to all others and always back to the first,
    which could then never be left, it is likely the start; a way back that is only taken sometimes is a loop.
    """
    links = reader.links
    first = next(iter(ids))
    begin = start or first
    reached = _reach((begin, *sections), links)
    missing = [name for name in ids if name not in reached]
    if not missing:
        return "complete" if has_list or begin != first else "order"
    if begin == first:
        targets = {target for ends in links.values() for target in ends}
        roots = [name for name in missing if name not in targets]
        is_loop = not has_list or len(roots) != 1 or begin not in _reach((roots[0],), reader.sure)
        if start is not None or is_loop or len(_reach((roots[0], *sections), links)) < len(ids):
            return "order"
        hint = f'should the document start there? Set "start_node": "{roots[0]}"'
    else:
        hint = "add an edge that leads to it, or remove it"
    for name in missing:
        message = f"nothing leads to the node `{shorten(name)}` from the start, `{shorten(begin)}`"
        issues.add("unreachable", message, ("nodes", ids[name], "id"), hint=hint)
    return "complete"


def _reach(begin: Iterable[str], links: Mapping[str, Iterable[str]]) -> set[str]:
    """The nodes that links lead to from some of them, these among them."""
    reached = set(begin)
    waiting = list(reached)
    while waiting:
        for target in links[waiting.pop()]:
            if target not in reached:
                reached.add(target)
                waiting.append(target)
    return reached


def read_mappings(top: Fields, ids: Mapping[str, int]) -> dict[str, KeyMapping]:
    """The proxy mappings of the nodes that have some."""
    issues = top.issues
    mappings: dict[str, KeyMapping] = {}
    for name, value in top.mapping("mappings").items():
        path: Path = ("mappings", name)
        if name not in ids:
            _unknown_node(issues, "`mappings`", name, path, ids)
        if not isinstance(value, dict):
            wrong_type(issues, path, "an object", value, 'write {"input_mappings": {"node key": "store key"}}')
            continue
        fields = Fields(issues, value, path, _MAPPING, what="a mapping")
        reads, writes = (_read_keys(fields, kind) for kind in _MAPPING)
        if name in ids:
            mappings[name] = KeyMapping(input_mappings=reads, output_mappings=writes)
    return mappings


def _read_keys(fields: Fields, kind: str) -> dict[str, str]:
    keys: dict[str, str] = {}
    for name, key in fields.mapping(kind).items():
        path: Path = (*fields.path, kind, name)
        if not isinstance(key, str):
            wrong_type(fields.issues, path, "a string, the key in the store", key)
        elif key.startswith("__") or name.startswith("__"):
            message = f"`{shorten(key)}` is reserved: keys that begin with `__` belong to pflow"
            fields.issues.add("reserved-name", message, path)
        else:
            keys[name] = key
    return keys
