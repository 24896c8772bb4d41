"""What a process that lives on has read and checked before, so that the same document is not checked again."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple

import orjson

from pflow.core.document.document import Document
from pflow.core.document.parse import Parsed, parse_value
from pflow.engine.plan import Plan, PlanNode
from pflow.engine.value import EXACT
from pflow.registry.registry import Registry

_MOST_KEPT = 64
_MOST_BYTES = 64 << 10
"""Of one document; larger ones are rare, and checked each time."""


class PlanKey(NamedTuple):
    """All that a plan is made from, beside the node types."""

    document: bytes
    name: str
    keeps_as: str
    strict: bool


class PlanMemo:
    """The plans of documents in which nothing was found, the least recently used first.

    A plan is given out only where the same node types would make it again. It depends on nothing else: those that
    include other documents, use somebody's own nodes, or were checked against what results were seen to look like, are
    not kept.
    """

    def __init__(self) -> None:
        self._plans: OrderedDict[PlanKey, tuple[object, Plan]] = OrderedDict()
        self._parse = lru_cache(_MOST_KEPT)(lambda written: parse_value(orjson.loads(written)))
        self._lock = threading.Lock()

    def parse(self, document: Mapping[str, object]) -> Parsed:
        """An inline document, which is not read again if the same JSON was given before."""
        try:
            written = orjson.dumps(document, None, EXACT)
        except TypeError:
            return parse_value(document)
        if len(written) > _MOST_BYTES or b"null" in written:  # which NaN is written as, too
            return parse_value(document)
        return self._parse(written)

    def key(self, document: Document, *, name: str, keeps_as: str, strict: bool) -> PlanKey | None:
        """The key of a document; None if it is too large."""
        written = orjson.dumps(document.raw)
        return PlanKey(written, name, keeps_as, strict) if len(written) <= _MOST_BYTES else None

    def find(self, key: PlanKey, types: Registry) -> Plan | None:
        """The plan, if it was kept and these node types would make it again."""
        with self._lock:
            basis, plan = self._plans.get(key, (None, None))
            if plan is None or basis is not types.basis:
                return None
            self._plans.move_to_end(key)
            return plan

    def keep(self, key: PlanKey, types: Registry, plan: Plan) -> None:
        """Keep a plan in whose document nothing was found, if it depends on nothing else."""
        basis = types.basis
        if basis is None or not all(_is_of_document(node) for node in plan.nodes):
            return
        with self._lock:
            self._plans[key] = (basis, plan)
            if len(self._plans) > _MOST_KEPT:
                self._plans.popitem(last=False)


def _is_of_document(node: PlanNode) -> bool:
    """Whether a node is made from the document and built-in node types alone."""
    return node.child is None and (node.trusted or node.choice is not None)
