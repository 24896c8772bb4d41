"""The part of `docs/nodes.md` that the registry knows: what each built-in node takes and gives.

`python -m tests.docs.node_table` writes it into the page; a test tells when that is due.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

import orjson

from pflow.core.file.home import Home
from pflow.core.interface import MISSING, Field
from pflow.registry.entry import Entry
from pflow.registry.registry import Registry
from tests.docs.page import DOCS

PAGE = DOCS / "nodes.md"

_PART = re.compile(r"(<!-- node (\S+) -->\n)(.*?)(<!-- end -->)", re.DOTALL)
_PURITY = {
    "pure": "Pure: rerun and cached.",
    "read": "Reads only: rerun, never cached.",
    "impure": "Has effects: never rerun unasked.",
}


def builtin_nodes(home: Path) -> dict[str, Entry]:
    """Every node type that comes with pflow."""
    registry = Registry.load(Home(home))
    return {name: registry.get(name) for name in registry.names() if registry.get(name).module}


def written_nodes(text: str) -> dict[str, str]:
    """The nodes that a page describes, and what it says of each that the registry knows."""
    return {name: part for _, name, part, _ in _PART.findall(text)}


def node_part(entry: Entry) -> str:
    """What the registry knows of a node type, as Markdown."""
    interface = entry.interface
    parts = [interface.description]
    if interface.params:
        parts.append("\n".join(_table("Param", "Default", interface.params)))
    if interface.open_params:
        parts.append("Takes any param." if not interface.params else "Takes any other param as well.")
    if interface.outputs:
        parts.append("\n".join(_table("Output", "", interface.outputs)))
    actions = ", ".join(f"`{action}`" for action in interface.actions if action != "default")
    parts.append(f"Actions: {actions or 'none of its own'}. {_PURITY[interface.purity]}")
    return "\n" + "\n\n".join(parts) + "\n\n"


def _table(head: str, state: str, fields: tuple[Field, ...]) -> Iterator[str]:
    yield f"| {head} | Type | {state + ' | ' if state else ''}|"
    yield "|---|---|---|" + ("---|" if state else "")
    for field in fields:
        cells = [f"`{field.name}`", _type(field), *([_default(field)] if state else []), _about(field)]
        yield f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def _type(field: Field) -> str:
    return field.type.replace("|", " or ")


def _default(field: Field) -> str:
    if field.required:
        return "required"
    return "" if field.default in (MISSING, None, "") else f"`{orjson.dumps(field.default).decode()}`"


def _about(field: Field) -> str:
    names = _properties(field.schema)
    return f"{field.description}. Fields: {', '.join(names)}" if names else field.description


def _properties(schema: object) -> list[str]:
    if not isinstance(schema, Mapping):
        return []
    properties = schema.get("properties")
    if isinstance(properties, Mapping):
        return [f"`{name}`" for name in properties]
    return _properties(schema.get("items"))


def main() -> None:
    """Bring the page up to date."""
    with tempfile.TemporaryDirectory() as home:
        nodes = builtin_nodes(Path(home))
    text = PAGE.read_text("utf-8")
    PAGE.write_text(_PART.sub(lambda found: f"{found[1]}{node_part(nodes[found[2]])}{found[4]}", text), "utf-8")


if __name__ == "__main__":
    main()
