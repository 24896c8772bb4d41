"""What identifies the work of a node: its type, its code, its params as written, its batch and its mapping."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import orjson

from pflow.core.document.document import Batch, KeyMapping, NodeSpec
from pflow.core.interface import MISSING
from pflow.engine.value import digest_all


def define(
    spec: NodeSpec,
    node_hash: str,
    mapping: KeyMapping | None,
    child: Mapping[str, object] | None = None,
    *,
    ordered: str = "",
) -> tuple[str, Callable[[], tuple[str, ...]]]:
    """The definition of a node, and how to ask for those that earlier releases recorded for it.

    `child` is the sub-workflow that it runs, with the documents inside it. `ordered` names the param of which the
    order of the keys counts.
    """
    params = orjson.dumps(spec.params, option=orjson.OPT_SORT_KEYS)
    batch_fields = _set_fields(spec.batch, but=("concurrency", "max_failed", "spread"))
    mapping_fields = _set_fields(mapping)
    shape = orjson.dumps([batch_fields, mapping_fields, *_order(spec.params.get(ordered))])

    def former() -> tuple[str, ...]:
        from pflow.execution.past.former_identity import former_child_hash, former_definitions  # lazy: only for a past

        if child is None:
            return former_definitions(spec.type, [node_hash], params, batch_fields, mapping_fields)
        earlier = former_child_hash(child)
        formers = former_definitions(spec.type, [node_hash, earlier], params, batch_fields, mapping_fields)
        return (*formers, identify(earlier))

    def identify(known_as: str) -> str:
        return digest_all([spec.type.encode(), known_as.encode(), params, shape])

    return identify(node_hash), former


def _order(value: object) -> list[list[str]]:
    """The keys in their order, unless they are in the one that the params are identified by."""
    names = list(value) if isinstance(value, Mapping) else []
    return [names] if names != sorted(names) else []


def _set_fields(value: Batch | KeyMapping | None, but: tuple[str, ...] = ()) -> dict[str, object] | None:
    """The fields that are not at their defaults, by name: a field that is added later changes no definition."""
    if value is None:
        return None
    fields = ((name, getattr(value, name)) for name in sorted(value._fields) if name not in but)
    return {name: given for name, given in fields if given != getattr(type(value), name, MISSING)}
