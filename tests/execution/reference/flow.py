"""What leads to what in a document, read from its text by the rules of the language, without any code of pflow."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

Raw = dict[str, Any]
"""A document, or a node of one, as it is written."""

SECTIONS = ("on_failure", "finally")

FAILURES = ("error", "timeout", "rate_limited", "auth_failed", "resource_missing")


class Way(NamedTuple):
    """Where an action leads: to a node, or to nothing, which ends it; if its condition holds, or is `else`."""

    target: str
    when: str = ""


class Flow(NamedTuple):
    """The nodes with which a run begins, and the ways out of each node, by action.

    `unclear` are nodes of which nobody can know whether they lead on to the next one. `sections` have the node that
    each begins with.
    """

    starts: list[str]
    ways: dict[str, dict[str, list[Way]]]
    unclear: list[str]
    mode: str
    sections: dict[str, str]

    def targets(self, name: str) -> list[str]:
        """All nodes that a node can lead to."""
        found = [way.target for ways in self.ways[name].values() for way in ways if way.target]
        return list(dict.fromkeys(found))


class Entry(NamedTuple):
    """One edge as it is written, in `edges` or `on`."""

    source: str
    target: str
    action: str
    when: str
    is_next: bool


def derive(document: Raw) -> Flow:
    """The edges of a document."""
    nodes: list[Raw] = document["nodes"]
    ids = [node["id"] for node in nodes]
    entries = list(_entries(document, ids))
    written = document.get("edges")
    if written == "data" or (isinstance(written, list) and written[:1] == ["data"]):
        return _by_data(document, ids, entries)
    start, sections = document.get("start_node", ids[0]), sections_of(document)
    ways: dict[str, dict[str, list[Way]]] = {name: {} for name in ids}
    for entry in entries:
        ways[entry.source].setdefault(entry.action, []).append(Way(entry.target, entry.when))
    if start != ids[0] or (written and _reached([start, *sections.values()], ways) == set(ids)):
        return Flow([start], ways, [], "complete", sections)
    unclear = []
    for index, node in enumerate(nodes):
        following = _following(document, ids, index)
        if _add_order(node, following, ways[node["id"]]) and any(
            entry.target == following and not entry.is_next and ids.index(entry.source) <= index
            for entry in entries
            if following
        ):
            unclear.append(node["id"])
    return Flow([start], ways, unclear, "order", sections)


def sections_of(document: Raw) -> dict[str, str]:
    """The node that each section begins with, in the order in which they run."""
    return {section: document[section] for section in SECTIONS if section in document}


def parts_of(document: Raw) -> dict[str, str]:
    """The section of each node, empty for the main part. Each goes on to the node with which the next one begins."""
    begins = {first: section for section, first in sections_of(document).items()}
    parts: dict[str, str] = {}
    part = ""
    for node in document["nodes"]:
        part = begins.get(node["id"], part)
        parts[node["id"]] = part
    return parts


def _following(document: Raw, ids: list[str], index: int) -> str:
    """The node that comes after another in the same part; none after the last."""
    following = ids[index + 1] if index + 1 < len(ids) else ""
    return following if following not in sections_of(document).values() else ""


def _entries(document: Raw, ids: list[str]) -> Iterator[Entry]:
    """What `edges` and `on` say, target by target; `on: {A: T}` on N is the edge from N to T for A."""
    written = document.get("edges")
    said = [edge for edge in written if edge != "data"] if isinstance(written, list) else []
    rows = [(edge["from"], edge["to"], edge.get("action", "default"), edge.get("when", "")) for edge in said]
    for node in document["nodes"]:
        rows += [(node["id"], targets, action, "") for action, targets in node.get("on", {}).items()]
    for source, targets, action, when in rows:
        for target in targets if isinstance(targets, list) else [targets]:
            is_word = target not in ids  # a node of that id wins over the word
            following = _following(document, ids, ids.index(source))
            meant = following if target == "next" else ""
            yield Entry(source, meant if is_word else target, action, when, is_word and target == "next")


def choices_of(node: Raw) -> list[str]:
    """The actions that a node ends with by choosing."""
    return [*node["params"]["cases"], "else"] if node["type"] == "switch" else []


def _add_order(node: Raw, following: str, ways: dict[str, list[Way]]) -> bool:
    """Give a node what the order of the document adds; whether that leads on to the node that follows."""
    choices = choices_of(node)
    said = [choice for choice in choices if choice in ways]
    is_open = [choice for choice in choices if choice not in ways and (not said or choice == "else")]
    default = ways.get("default", [])
    is_said = any(not way.when or way.when == "else" for way in default)
    never_ends_so = not node.get("when") and (node["type"] == "fail" or bool(choices))
    leads_on = not is_said and not (never_ends_so and not is_open)
    if leads_on:
        default = [*default, Way(following, "else" if default else "")]
    if leads_on and not never_ends_so:
        ways["default"] = default
    for choice in is_open:
        ways[choice] = [Way(way.target) for way in default]
    return leads_on


def _by_data(document: Raw, ids: list[str], entries: list[Entry]) -> Flow:
    ways: dict[str, dict[str, list[Way]]] = {name: {} for name in ids}
    parts = parts_of(document)
    for node in document["nodes"]:
        near = {name for name in ids if parts[name] == parts[node["id"]]}  # what is over before orders nothing
        for name in sorted(named_by(node) & near - {node["id"]}):
            ways[name].setdefault("default", []).append(Way(node["id"]))
    for entry in entries:
        if entry.action == "default":
            ways[entry.source].setdefault("default", []).append(Way(entry.target))
    for node in document["nodes"]:
        own = ways[node["id"]]
        for action, target in node.get("on", {}).items():
            own[action] = own.get("default", []) if target == "next" else []
        for choice in choices_of(node):
            own.setdefault(choice, own.get("default", []))
    led_to = {way.target for own in ways.values() for found in own.values() for way in found}
    starts = [name for name in ids if name not in led_to and not parts[name]]
    return Flow(starts, ways, [], "data", sections_of(document))


_TEMPLATE = re.compile(r"\$\{(\w+)")
_WORD = re.compile(r"\b[a-z]\w*")


def named_by(node: Raw) -> set[str]:
    """The words of a node's templates and expressions."""
    batch = node.get("batch", {})
    expressions = [node.get("when", ""), batch.get("where", "")]
    params = dict(node["params"])
    if node["type"] == "let":
        expressions += params.values()
    elif node["type"] == "switch":
        expressions += params["cases"].values()
    params.pop("workflow", None)
    found = {word for text in _texts([params, batch.get("items")]) for word in _TEMPLATE.findall(text)}
    return found | {word for text in expressions for word in _WORD.findall(str(text))}


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        yield from _texts(list(value.values()))
    elif isinstance(value, list):
        for part in value:
            yield from _texts(part)


def _reached(starts: Iterable[str], ways: Mapping[str, Mapping[str, list[Way]]]) -> set[str]:
    reached: set[str] = set()
    waiting = list(starts)
    while waiting:
        name = waiting.pop()
        if name and name not in reached:
            reached.add(name)
            waiting += [way.target for found in ways[name].values() for way in found]
    return reached


class Reach:
    """Which nodes each node can still reach, with the edges that close a loop left out."""

    def __init__(self, flow: Flow) -> None:
        names = list(flow.ways)
        self.starts = [*flow.starts, *flow.sections.values()]
        self.reached = _reached(self.starts, flow.ways)
        edges = [(name, target) for name in names for target in flow.targets(name)]
        # An edge closes a loop if every way to where it begins passes through where it leads.
        self.loops = [(a, b) for a, b in edges if a == b or a not in self._without(flow, b)]
        self.forward = [edge for edge in edges if edge not in self.loops]
        self.after = {name: self._closure(name) for name in names}
        self.has_other_loops = any(name in self.after[name] for name in names)

    def can(self, source: str, target: str) -> bool:
        """Whether a node can still lead to another."""
        return target in self.after[source]

    def by(self, source: str, ways: Iterable[Way]) -> set[str]:
        """What a node can still lead to by some of its ways."""
        targets = [way.target for way in ways if (source, way.target) in self.forward]
        return {name for target in targets for name in (target, *self.after[target])}

    def _without(self, flow: Flow, closed: str) -> set[str]:
        ways = {name: ({} if name == closed else own) for name, own in flow.ways.items()}
        return _reached((name for name in self.starts if name != closed), ways)

    def _closure(self, name: str) -> set[str]:
        found: set[str] = set()
        waiting = [name]
        while waiting:
            here = waiting.pop()
            for source, target in self.forward:
                if source == here and target not in found:
                    found.add(target)
                    waiting.append(target)
        return found
