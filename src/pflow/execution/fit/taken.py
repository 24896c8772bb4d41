"""What the places of a node take: its type's params, a tool's arguments down to the last field, a workflow's inputs."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from pflow.core.errors import InputError
from pflow.core.interface import MISSING, VALUE_SLOTS, Field
from pflow.core.template.compiled import Compiled, Taken, ValuePath, WithDefault
from pflow.core.value_type import UNKNOWN, ValueType, of_field, of_kinds, of_schema
from pflow.engine.binding import coerce_text
from pflow.execution.node_check import CheckedNode

ITEMS = of_kinds("array|object")
"""What a batch goes through: an array, or an object with its keys and values."""


def taken_by(node: CheckedNode, field: Field) -> ValueType:
    """What a node takes as one of its params."""
    if node.child is not None and field.name == "inputs":
        inputs = {name: {"type": declared.type} for name, declared in node.child.inputs.items()}
        return of_schema({"type": "object", "properties": inputs})
    if field.slot not in (*VALUE_SLOTS, "url"):
        return UNKNOWN
    schema = input_schema(node)
    if schema is not None:
        found = of_schema({**schema, "type": "object"}, schema).at((field.name,))
        if found.kinds is not None:
            return found
    return of_field(field)


def input_schema(node: CheckedNode) -> Mapping[str, object] | None:
    """The schema of the arguments of the tool that a node calls; None for other nodes."""
    tool = node.entry.tool if node.entry is not None else None
    schema = tool.definition.get("inputSchema") if tool is not None else None
    return schema if isinstance(schema, Mapping) else None


def convert_to(compiled: Compiled, taken: ValueType) -> Compiled:
    """A value whose templates give what their places take, where that is possible without loss."""
    return compiled if taken.kinds is None else compiled.converted(_kinds_at(taken))


def read_default_as(compiled: Compiled, taken: ValueType) -> Compiled:
    """A value whose default is one of its place, where it is one template with a default and the place has a type."""
    kinds = taken.kinds
    if kinds is None or not compiled.is_single or compiled.references[0].default is MISSING:
        return compiled
    return WithDefault(compiled, Taken(kinds, lambda text: read_default(text, kinds)))


def read_default(text: str, kinds: frozenset[str]) -> object:
    """The text of a template's default as a value of its place; the text itself where that may be text, or is none."""
    if "string" in kinds:
        return text
    try:
        return coerce_text(text, "|".join(kinds - {"null"}), "default")
    except InputError:
        return text


def _kinds_at(taken: ValueType) -> Callable[[ValuePath], Taken | None]:
    def at(path: ValuePath) -> Taken | None:
        found = taken.at(path).kinds
        return None if found is None else Taken(found, lambda text: read_default(text, found))

    return at
