"""Which part of a document each node belongs to: the main part, `on_failure` or `finally`. No node is in two."""

from __future__ import annotations

from collections.abc import Sequence

from pflow.core.document.document import Document
from pflow.core.event import SECTIONS, Section
from pflow.engine.graph import reached_from
from pflow.execution.node_check import CheckedNode, Report

Links = Sequence[tuple[int, int]]
"""What leads to what, as pairs of nodes."""

_MAIN = "the main part"


def assign_sections(
    document: Document, nodes: Sequence[CheckedNode], starts: Sequence[int], report: Report
) -> dict[Section, int]:
    """Let each node know its section, and report nodes that are in two parts; returns where each section begins."""
    roots = section_roots(document)
    if not roots:
        return roots
    targets = [node.targets() for node in nodes]
    reached: dict[str, set[int]] = {_MAIN: reached_from(targets, starts)}
    reached |= {section: reached_from(targets, (first,)) for section, first in roots.items()}
    parts = [[part for part, members in reached.items() if node.index in members] for node in nodes]
    for section, first in roots.items():
        for member in reached[section]:
            nodes[member].section = section
        if first in starts:
            name = nodes[first].spec.id
            message = f"the document begins with `{name}`, which `{section}` names as well"
            hint = "put the nodes of `on_failure` and `finally` at the end of `nodes`"
            report("crossing", message, (section,), hint=hint)
    if not any(first in starts for first in roots.values()):
        _report_crossings(nodes, parts, report)
    return roots


def section_roots(document: Document) -> dict[Section, int]:
    """The node that each section begins with, in the order in which they run."""
    if not document.sections:
        return {}
    ids = {spec.id: index for index, spec in enumerate(document.nodes)}
    return {section: ids[document.sections[section]] for section in SECTIONS if section in document.sections}


def keep_apart(document: Document, named: Links, written: Links) -> Links:
    """Of the links that templates make, those that stay inside of one part.

    What follows from the first node of a section belongs to it. Its templates may name nodes of what ran before it,
    which orders nothing: that is over when the section begins.
    """
    member: dict[int, str] = {}
    roots = section_roots(document)
    after: dict[int, list[int]] = {}
    for source, target in (*named, *written):
        after.setdefault(source, []).append(target)
    for section, first in reversed(roots.items()):
        left = [first]
        while left:
            node = left.pop()
            if node not in member and (node == first or node not in roots.values()):
                member[node] = section
                left += after.get(node, ())
    return [(source, target) for source, target in named if member.get(source) == member.get(target)]


def _report_crossings(nodes: Sequence[CheckedNode], parts: Sequence[Sequence[str]], report: Report) -> None:
    """Report where two parts meet, not what follows from there."""
    shared = {node.index for node in nodes if len(parts[node.index]) > 1}
    led_by: dict[int, str] = {}
    for node in nodes if shared else ():
        for target in shared.intersection(node.targets()):
            if parts[target] != parts[node.index]:
                led_by[target] = node.spec.id
    for index in sorted(led_by or shared)[: None if led_by else 1]:
        shown = [part if part == _MAIN else f"`{part}`" for part in reversed(parts[index])]
        source = led_by.get(index)
        message = f"`{nodes[index].spec.id}` belongs to {' and to '.join(shown)}"
        hint = "give each part nodes of its own, or let one of them end before"
        report(
            "crossing",
            f"{message}; `{source}` leads to it" if source else message,
            ("nodes", index),
            hint=f"{hint}: on `{source}` write `on: {{default: end}}`" if source else hint,
        )
