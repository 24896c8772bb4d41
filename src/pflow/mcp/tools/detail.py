"""A node type in full, for those who use it: the whole description, every parameter, and what stands inside it. Pure.

A tool's entry keeps a summary to list and check by. The rest is read from its definition, so that what was synced by
an earlier version shows it, too.
"""

from __future__ import annotations

from collections.abc import Mapping

from pflow.core.errors import NotFoundError
from pflow.core.frozen import Frozen
from pflow.core.json_type import object_in
from pflow.core.printable import shorten
from pflow.core.suggest import did_you_mean
from pflow.mcp.tools.nested import MOST_FIELDS, NestedField, describe_place, has_words, nested_fields
from pflow.mcp.tools.prose import describe_params, whole_description
from pflow.mcp.tools.schema import SchemaReader
from pflow.registry.entry import Entry

_TAKEN = ("params", "reads", "inputs")
"""Where an entry of the registry has what a node type takes."""


class ParamDetail(Frozen):
    """What is known of a parameter beside name, type and default. `items` is the type of an array's items."""

    description: str = ""
    enum: tuple[object, ...] = ()
    items: str = ""
    fields: tuple[NestedField, ...] = ()


class NodeDetail(Frozen):
    """What a node type does and takes; `is_whole` unless fields inside its parameters are left out.

    `params` are by name, with a focus only those that it is in. `interface` is the same as JSON, with the outputs.
    """

    description: str
    params: Mapping[str, ParamDetail]
    interface: Mapping[str, object]
    is_whole: bool = True


def describe_entry(entry: Entry, *, most: int = MOST_FIELDS, focus: str = "") -> NodeDetail:
    """A node type in full, with at most that many fields inside its parameters.

    With a `focus`, a path such as `body.message`, only what stands there. Raises `NotFoundError` if nothing does.
    """
    fields = {field.name: field for field in (*entry.interface.params, *entry.interface.reads)}
    definition = entry.tool.definition if entry.tool else {}
    description = whole_description(definition) if definition and not focus else entry.interface.description
    root, schemas = _schemas(entry)
    nested = nested_fields(root, schemas, most=most, focus=focus)
    wanted = [name for name in fields if not focus or name in nested.of or name == focus]
    if focus and not wanted:
        known = [row.name for rows in nested_fields(root, schemas, most=most).of.values() for row in rows]
        raise NotFoundError(
            f"node type `{entry.name}` takes nothing at `{shorten(focus)}`",
            suggestions=[hint] if (hint := did_you_mean(focus, [*fields, *known])) else (),
        )
    said = describe_params(whole_description(definition), fields) if definition else {}
    reader = SchemaReader(root)
    params = {}
    for name in wanted:
        about = describe_place(reader, schemas[name], name) if name in schemas else NestedField(name=name, type="any")
        given = about.description if definition else fields[name].description
        params[name] = ParamDetail(
            description=_joined(given, said.get(name, ""), is_bare=not has_words(reader, schemas.get(name))),
            enum=about.enum,
            items=about.items,
            fields=nested.of.get(name, ()),
        )
    interface = _interface(entry, description, params)
    if focus:
        interface = {group: interface[group] for group in _TAKEN if interface.get(group)}
    return NodeDetail(description=description, params=params, interface=interface, is_whole=nested.is_whole)


def _interface(entry: Entry, description: str, params: Mapping[str, ParamDetail]) -> dict[str, object]:
    """The interface as the registry has it, with what is known beyond that."""
    data = entry.data.get("interface")
    interface: dict[str, object] = {**data, "description": description} if isinstance(data, dict) else {}
    interface.pop("synonyms", None)  # they are for finding it
    for group in _TAKEN:
        fields = interface.get(group)
        if isinstance(fields, list):
            interface[group] = [_field(field, params) for field in fields if _name(field) in params]
    return interface


def _field(field: object, params: Mapping[str, ParamDetail]) -> object:
    if not isinstance(field, dict):
        return field
    about = params[_name(field)]
    rows = [row.as_dict() for row in about.fields]
    more = {"description": about.description, "items": about.items, "enum": list(about.enum), "fields": rows}
    return {**field, **{word: value for word, value in more.items() if value}}


def _name(field: object) -> str:
    return str(field.get("name")) if isinstance(field, dict) else str(field)


def _schemas(entry: Entry) -> tuple[Mapping[str, object], dict[str, object]]:
    """The schemas of the parameters by name, and the one that their references lead into."""
    if entry.tool:
        root = object_in(entry.tool.definition, "inputSchema")
        return root, SchemaReader(root).parameters().schemas
    fields = (*entry.interface.params, *entry.interface.reads)
    return {}, {field.name: field.schema for field in fields if field.schema is not None}


def _joined(given: str, said: str, *, is_bare: bool) -> str:
    """What the schema says of a parameter, behind what the description says where the schema has no words for it."""
    return "; ".join(text for text in (said.rstrip(" ;"), given) if text) if is_bare else given
