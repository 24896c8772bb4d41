"""A step on its way from its parameters to its start."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pflow.engine.plan import PlanNode
from pflow.engine.value import digest_all


class Launch:
    """A step that is about to start: its name, its rendered params, and what identifies it and its inputs.

    Its end `is_recorded` ahead of all others' where something else became real in the same transaction.
    """

    __slots__ = (
        *("attempt", "begun", "cache_key", "definition", "inputs", "is_recorded", "items", "node", "params"),
        *("repeatable", "step", "values", "visit"),
    )

    def __init__(self, node: PlanNode, step: str, visit: int) -> None:
        self.node = node
        self.step = step
        self.visit = visit
        self.params: dict[str, Any] = {}
        self.items: Sequence[object] = ()
        self.definition = node.definition
        self.values: Sequence[bytes] | None = None
        self.inputs = ""
        self.cache_key = ""
        self.attempt = 1
        self.begun = True
        self.is_recorded = False
        self.repeatable = node.purity != "impure"

    def identify(self, definition: str) -> None:
        """Let `definition` stand for the node, here and in what identifies the inputs."""
        self.definition = definition
        self.inputs = definition if self.values is None else digest_all([definition.encode(), *self.values])
