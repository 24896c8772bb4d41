"""Reads the edges between nodes, the start and the mappings; reports nodes that cannot be reached."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from itertools import islice, pairwise

from pflow.core.document.document import Edge, KeyMapping
from pflow.core.document.fields import Fields, wrong_type
from pflow.core.document.position import Issues, Path
from pflow.core.printable import shorten
from pflow.core.suggest import nearest

MAX_EDGES = 50_000
"""Edges of a document."""

_LISTED = 50
"""Nodes that an issue lists as known; a thousand issues may each list them."""

_EDGE = dict.fromkeys(("from", "to", "action"))
_MAPPING = dict.fromkeys(("input_mappings", "output_mappings"))


def read_flow(top: Fields, ids: Mapping[str, int]) -> tuple[bool, tuple[Edge, ...], str | None]:
    """Whether the templates give the order, the edges (document order if none are given), and the start."""
    issues = top.issues
    written = top.values.get("edges")
    start = top.text("start_node") or None
    if start is not None and start not in ids:
        _unknown_node(issues, "`start_node`", start, ("start_node",), ids)
        start = None
    if written == "data":
        return True, (), start
    edges: list[Edge] = []
    links: dict[str, list[str]] = {name: [] for name in ids}
    if isinstance(written, list) and written:
        if len(written) > MAX_EDGES:
            message = f"the document has {len(written):,} edges; at most {MAX_EDGES:,} are allowed"
            issues.add("too-many", message, ("edges",), hint='"edges": "data" derives them from the templates')
            return False, (), start
        for index, item in enumerate(written):
            _read_edge(issues, item, ("edges", index), ids, edges, links)
    else:
        if written is not None and not isinstance(written, list):
            hint = 'did you mean "data"?' if isinstance(written, str) else 'write [{"from": "…", "to": "…"}]'
            wrong_type(issues, ("edges",), 'an array or "data"', written, hint)
        for source, target in pairwise(ids):
            edges.append(Edge(source=source, target=target))
            links[source].append(target)
    if ids:
        start = _check_reach(issues, ids, links, start)
    return False, tuple(edges), start


def _read_edge(
    issues: Issues,
    value: object,
    path: Path,
    ids: Mapping[str, int],
    edges: list[Edge],
    links: Mapping[str, list[str]],
) -> None:
    """Append the edge, and the link it makes; a mistyped end still links to the node it likely meant."""
    if not isinstance(value, dict):
        wrong_type(issues, path, "an object", value, 'write {"from": "…", "to": "…"}')
        return
    fields = Fields(issues, value, path, _EDGE, what="an edge", required=("from", "to"))
    source, target, action = fields.text("from"), fields.text("to"), fields.word("action", "default")
    ends: list[str] = []
    known = True
    for field, name in (("from", source), ("to", target)):
        if name in ids:
            ends.append(name)
        elif isinstance(fields.values.get(field), str):
            known = False
            ends += _unknown_node(issues, "an edge", name, (*path, field), ids)
    if source == target and action == "default" and source in ids:
        hint = 'give the edge an action: {"from": "x", "to": "x", "action": "retry"}'
        message = f"the node `{shorten(source)}` leads to itself whatever happens, so it would never end"
        issues.add("self-edge", message, path, hint=hint)
    if len(ends) == 2:
        links[ends[0]].append(ends[1])
        if known:
            edges.append(Edge(source=source, target=target, action=action))


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


def _check_reach(issues: Issues, ids: Mapping[str, int], links: Mapping[str, list[str]], start: str | None) -> str:
    """Report nodes that cannot be reached; return where the document starts."""
    begin = start or next(iter(ids))
    reached = _reach(begin, links)
    missing = [name for name in ids if name not in reached]
    if not missing:
        return begin
    targets = {target for ends in links.values() for target in ends}
    roots = [name for name in missing if name not in targets]
    hint = "add an edge that leads to it, or remove it"
    if start is None and len(roots) == 1 and len(_reach(roots[0], links)) == len(ids):
        hint = f'should the document start there? Set "start_node": "{roots[0]}"'
    for name in missing:
        message = f"nothing leads to the node `{shorten(name)}` from the start, `{shorten(begin)}`"
        issues.add("unreachable", message, ("nodes", ids[name], "id"), hint=hint)
    return begin


def _reach(begin: str, links: Mapping[str, list[str]]) -> set[str]:
    reached = {begin}
    waiting = [begin]
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
