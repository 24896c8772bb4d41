"""What a node type or a workflow takes and gives, line by line, for clients that show only the text of an answer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import orjson

from pflow.core.interface import named_fields
from pflow.core.json_type import objects_in
from pflow.core.printable import escape, shorten

_DEFAULT_CHARACTERS = 60
_MOST_PATHS = 60
_GROUPS = (("takes", ("params", "inputs", "reads")), ("gives", ("outputs",)))


def interface_lines(about: Mapping[str, object]) -> list[str]:
    """The same that `about`, a match or a description, says to programs.

    `- path: string, required; the file to read` for each parameter, for the fields inside it, and for each output.
    """
    found = about.get("interface", about)
    interface = found if isinstance(found, Mapping) else {}
    lines: list[str] = []
    for title, groups in _GROUPS:
        rows = [line for group in groups for field in named_fields(interface.get(group)) for line in _rows(*field)]
        lines += [f"{title}:", *rows] if rows else []
    if interface.get("open_params") is True:
        lines.append("takes any other parameter as well")
    actions = interface.get("actions")
    if isinstance(actions, list) and (others := [str(action) for action in actions if action != "default"]):
        lines.append(f"actions: {', '.join(others)}")
    structure = about.get("structure")
    if isinstance(structure, Mapping) and structure:
        paths = [f"{path}  {kind}" for path, kind in structure.items()]
        more = [f"… {len(paths) - _MOST_PATHS} more"] if len(paths) > _MOST_PATHS else []
        lines += ["template paths:", *paths[:_MOST_PATHS], *more]
    return [escape(line) for line in lines]


def prose_lines(text: object) -> list[str]:
    """Text of several lines, each escaped."""
    return [escape(line) for line in str(text).splitlines()]


def _rows(name: str, field: Mapping[str, object]) -> Iterator[str]:
    yield _row(name, field)
    for inner in objects_in(field.get("fields")):
        yield _row(str(inner.get("name")), inner)


def _row(name: str, field: Mapping[str, object]) -> str:
    kind, items = str(field.get("type") or "any"), field.get("items")
    parts = [f"{kind} of {items}" if items and kind == "array" else kind]
    if form := field.get("form"):
        parts.append(f"form {form}")
    if field.get("required") is True:
        parts.append("required")
    default = field.get("default")
    if default not in (None, ""):
        parts.append(f"default {shorten(orjson.dumps(default, default=str).decode(), _DEFAULT_CHARACTERS)}")
    said = str(field.get("description") or "")
    inside = f"{field['inside']} fields inside" if field.get("inside") else ""
    return f"- {name}: " + "; ".join(text for text in (", ".join(parts), said, inside) if text)
