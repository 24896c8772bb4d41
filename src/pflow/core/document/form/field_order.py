"""The order in which the canonical form has the fields of a document and of its nodes: what it takes, does, gives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from pflow.core.document.position import Path

DOCUMENT_ORDER = (
    "ir_version",
    "name",
    "description",
    "metadata",
    "requires",
    "inputs",
    "state",
    "budget",
    "timeout",
    "start_node",
    "nodes",
    "edges",
    "mappings",
    "on_failure",
    "finally",
    "outputs",
)
NODE_ORDER = (
    "id",
    "type",
    "version",
    "mcp_metadata",
    "description",
    "when",
    "approve",
    "params",
    "batch",
    "retry",
    "timeout",
    "limit",
    "repeatable",
    "max_visits",
    "on",
)

T = TypeVar("T")


def in_order(entries: Sequence[T], path: Path, name: Callable[[T], str]) -> list[T]:
    """The entries of the object at `path` in canonical order; what the order does not name comes last, as it stood."""
    order = DOCUMENT_ORDER if path == () else NODE_ORDER if len(path) == 2 and path[0] == "nodes" else ()
    places = {field: place for place, field in enumerate(order)}
    return sorted(entries, key=lambda entry: places.get(name(entry), len(places)))


def value_in_order(value: object) -> object:
    """A document's value with its fields in canonical order: two that are equal in this are equal in every order."""
    if not isinstance(value, dict):
        return value
    ordered = dict(in_order(list(value.items()), (), lambda item: item[0]))
    nodes = ordered.get("nodes")
    if isinstance(nodes, list):
        ordered["nodes"] = [
            dict(in_order(list(node.items()), ("nodes", 0), lambda item: item[0])) if isinstance(node, dict) else node
            for node in nodes
        ]
    return ordered
