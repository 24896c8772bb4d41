"""A document of one step: a node type and the parameters that someone gave for it."""

from __future__ import annotations

from collections.abc import Mapping

import orjson

from pflow.engine.binding import coerce_text
from pflow.registry.entry import Entry


def one_step(entry: Entry, params: Mapping[str, object], *, text: bool) -> dict[str, object]:
    """The document; with `text` the params are words of a command line."""
    values = {key: _coerced(entry, key, value) for key, value in params.items()} if text else dict(params)
    node_id = entry.name if entry.name[:1].isalpha() else f"node-{entry.name}"
    return {"name": entry.name, "nodes": [{"id": node_id, "type": entry.name, "params": _literal(values)}]}


def _coerced(entry: Entry, key: str, value: object) -> object:
    field = entry.interface.param(key)
    if field is None or not isinstance(value, str):
        return value
    return coerce_text(value, field.type, key)


def _literal(values: Mapping[str, object]) -> object:
    """Values given for one node are data: a `${` in them is not a template."""
    return orjson.loads(orjson.dumps(values).replace(b"${", b"$${"))
