"""What identifies the work of a node: its type, its code, its params as written, its batch and its mapping."""

from __future__ import annotations

from collections.abc import Callable

import orjson

from pflow.core.document.document import Batch, KeyMapping, NodeSpec
from pflow.core.interface import MISSING
from pflow.engine.value import digest_all


def define(spec: NodeSpec, node_hash: str, mapping: KeyMapping | None) -> tuple[str, Callable[[], tuple[str, ...]]]:
    """The definition of a node, and how to ask for those that earlier releases recorded for it."""
    params = orjson.dumps(spec.params, option=orjson.OPT_SORT_KEYS)
    batch_fields = _set_fields(spec.batch, but=("concurrency", "max_failed"))
    mapping_fields = _set_fields(mapping)
    shape = orjson.dumps([batch_fields, mapping_fields])

    def former() -> tuple[str, ...]:
        from pflow.execution.former_identity import former_definitions  # lazy: only a run with a past asks

        return former_definitions(spec.type, node_hash, params, batch_fields, mapping_fields)

    return digest_all([spec.type.encode(), node_hash.encode(), params, shape]), former


def _set_fields(value: Batch | KeyMapping | None, but: tuple[str, ...] = ()) -> dict[str, object] | None:
    """The fields that are not at their defaults, by name: a field that is added later changes no definition."""
    if value is None:
        return None
    fields = ((name, getattr(value, name)) for name in sorted(value._fields) if name not in but)
    return {name: given for name, given in fields if given != getattr(type(value), name, MISSING)}
