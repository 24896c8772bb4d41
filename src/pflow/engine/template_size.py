"""Bounds what the templates of one step bring into it, before the step starts and before anything is copied."""

from __future__ import annotations

from collections.abc import Sequence

from pflow.core.errors import UnresolvedError
from pflow.core.template.compiled import MOST_BUILT, Reference, too_large
from pflow.engine.plan import PlanNode
from pflow.engine.value import MOST_BYTES

_MOST_PASSED = MOST_BYTES - 16_000_000
"""Leaves room for what the document itself adds, so that the params of a failed step can always be recorded."""


def check_sizes(node: PlanNode, sizes: Sequence[tuple[Reference, int]]) -> None:
    """Raise `UnresolvedError` where the values of several templates are too large together; text is bounded already."""
    total = sum(size for _, size in sizes)
    if total <= MOST_BUILT:
        return
    known = {reference.text: size for reference, size in sizes}
    parts = {**node.params.named(), **({"items": node.batch.items} if node.batch else {})}
    for name, part in parts.items():
        built = sum(known.get(reference.text, 0) for reference in part.references)
        if len(part.references) > 1 and built > MOST_BUILT:
            raise too_large(f"`{name}` of node `{node.id}`")
    if total > _MOST_PASSED:
        raise UnresolvedError(
            f"node `{node.id}` would get {total // 1_000_000} MB through templates; "
            f"{_MOST_PASSED // 1_000_000} MB is the most that a step takes",
            suggestions=["pass large values on through files"],
        )
