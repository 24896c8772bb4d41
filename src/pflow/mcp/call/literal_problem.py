"""Whether an error of a validator holds whatever the values that are not known yet turn out to be."""

from __future__ import annotations

from collections.abc import Collection

Place = tuple[str | int, ...]

_OF_SHAPE = frozenset(
    (
        "type",
        "required",
        "additionalProperties",
        "minItems",
        "maxItems",
        "minProperties",
        "maxProperties",
        "falseSchema",
    )
)
"""Keywords that look at the names or the number of what is inside, not at the values."""

_CONDITIONAL = frozenset(("if", "then", "else", "dependentSchemas", "dependencies"))
_INNER = frozenset(("properties", "items", "prefixItems", "additionalProperties", "patternProperties"))
"""Keywords that lead from the set of arguments, of which some may still come, into one of them."""


def is_certain(error: object, unknown: Collection[Place]) -> bool:
    """Whether one error of `jsonschema_rs` has nothing to do with the values at the `unknown` places."""
    place = tuple(getattr(error, "instance_path", ()))
    kind = getattr(error, "kind", None)
    keyword = str(getattr(kind, "name", ""))
    if place in unknown or (keyword == "required" and not place):
        return False
    if _is_conditional(error, bool(unknown)):
        return False
    if keyword in _OF_SHAPE or not any(other[: len(place)] == place for other in unknown):
        return keyword not in ("anyOf", "oneOf") or bool(place) or _all_certain(kind, unknown)
    return keyword in ("anyOf", "oneOf") and _all_certain(kind, unknown)


def _is_conditional(error: object, has_unknown: bool) -> bool:
    """Whether an error holds only under a condition that what is not known yet, or still comes, may decide."""
    path = [str(part) for part in getattr(error, "schema_path", ())]
    found = next((depth for depth, part in enumerate(path) if part in _CONDITIONAL), None)
    return found is not None and (has_unknown or _INNER.isdisjoint(path[:found]))


def _all_certain(kind: object, unknown: Collection[Place]) -> bool:
    """Whether every alternative has an error that is certain."""
    facts = kind.as_dict() if kind is not None and hasattr(kind, "as_dict") else {}
    branches = facts.get("context")
    if not isinstance(branches, list) or not branches:
        return False
    return all(isinstance(branch, list) and any(is_certain(error, unknown) for error in branch) for branch in branches)
