"""Cassettes that no longer fit: tools whose definitions have changed since; and how live outputs drifted from them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pflow.core.cassette.cassette import Cassette
from pflow.core.json_type import type_of
from pflow.engine.plan import Plan
from pflow.execution.replay.names import types_of
from pflow.mcp.tools.change import compare
from pflow.registry.registry import Registry

MOST_DRIFT = 20
"""Differences of a value that are listed."""


def stale_tools(registry: Registry, cassette: Cassette, plan: Plan) -> dict[str, tuple[str, ...]]:
    """The tools that a workflow uses and that are not what they were, each with what changed."""
    found: dict[str, tuple[str, ...]] = {}
    for name in sorted(types_of(plan) & cassette.tools.keys()):
        if name not in registry or registry.get(name).manifest_hash == cassette.tools[name]:
            continue
        before, now = cassette.definitions.get(name), registry.get(name).data
        changes = compare(name, before, now).differences if isinstance(before, Mapping) else ()
        found[name] = changes or ("its definition has changed",)
    return found


def shape_drift(before: object, after: object) -> list[str]:
    """How the shape of a value changed, in sentences: fields that came, went, or have another type."""
    was, now = _shape(before), _shape(after)
    changes = []
    for path in {**was, **now}:
        if path not in now:
            changes.append(f"{path or 'the value'} is gone; it was {_kinds(was[path])}")
        elif path not in was:
            changes.append(f"{path or 'the value'} is new: {_kinds(now[path])}")
        elif was[path] != now[path]:
            changes.append(f"{path or 'the value'} is {_kinds(now[path])}; it was {_kinds(was[path])}")
    return changes[:MOST_DRIFT]


def _shape(value: object) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for path, kind in _walk(value, ""):
        found.setdefault(path, set()).add(kind)
    return found


def _walk(value: object, path: str) -> Iterator[tuple[str, str]]:
    yield path, type_of(value)
    if isinstance(value, Mapping):
        for name, part in value.items():
            yield from _walk(part, f"{path}.{name}" if path else str(name))
    elif isinstance(value, list):
        for part in value:
            yield from _walk(part, f"{path}[]")


def _kinds(kinds: set[str]) -> str:
    return " or ".join(sorted(kinds))
