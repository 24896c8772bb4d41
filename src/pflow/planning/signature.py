"""What a node type takes and gives on one line each: `path: string, append?: boolean`. Not its whole interface."""

from __future__ import annotations

from collections.abc import Mapping

from pflow.core.interface import named_fields
from pflow.core.printable import shorten

_MOST_FIELDS = 12
_NAME_CHARACTERS = 60
_TYPE_CHARACTERS = 40


def signature(interface: Mapping[str, object]) -> dict[str, str]:
    """`takes` and `gives`; a question mark is behind what may be left out, and required parameters come first."""
    groups = [field for group in ("params", "reads") for field in named_fields(interface.get(group))]
    taken = sorted(groups, key=lambda field: field[1].get("required") is not True)
    more = ["any other"] if interface.get("open_params") is True else []
    takes = [_field(name, field, optional=field.get("required") is not True) for name, field in taken]
    gives = [_field(name, field, optional=False) for name, field in named_fields(interface.get("outputs"))]
    return {"takes": _line([*takes, *more]), "gives": _line(gives)}


def _field(name: str, field: Mapping[str, object], *, optional: bool) -> str:
    kind = shorten(str(field.get("type") or "any"), _TYPE_CHARACTERS)
    return f"{shorten(name, _NAME_CHARACTERS)}{'?' * optional}: {kind}"


def _line(fields: list[str]) -> str:
    rest = [f"… {len(fields) - _MOST_FIELDS} more"] if len(fields) > _MOST_FIELDS else []
    return ", ".join([*fields[:_MOST_FIELDS], *rest])
