"""Holds what a step wrote to the types that its node declares."""

from __future__ import annotations

from collections.abc import Mapping

from pflow.core.errors import StepError
from pflow.core.json_type import JSON_TYPES, describe, fits, type_of, with_article


def check_outputs(node: str, declared: Mapping[str, str], writes: Mapping[str, object]) -> None:
    """Raise `StepError` for the first value that is of another type of JSON than the one declared.

    Null always fits: an annotation's `None` is not part of the declared type. What JSON cannot hold has no type here.
    """
    for name, kind in declared.items():
        value = writes.get(name)
        given = type_of(value)
        if value is None or given not in JSON_TYPES or fits(value, kind) or _is_whole(value, kind):
            continue
        wanted = " or ".join(with_article(word) for word in kind.split("|"))
        raise StepError(
            f"node `{node}` declares its output `{name}` as {wanted}, and wrote {describe(value)}",
            details={"output": name, "declared": kind, "written": given},
            suggestions=["correct what the node writes, or the type that it declares"],
        )


def _is_whole(value: object, kind: str) -> bool:
    return isinstance(value, float) and value.is_integer() and "integer" in kind.split("|")
