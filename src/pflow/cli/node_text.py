"""A node type as people read it: what it does, what it takes, down to the fields inside objects, and what it gives."""

from __future__ import annotations

from typing import TYPE_CHECKING

import orjson

from pflow.cli.run_report import required
from pflow.cli.text import quote
from pflow.core.interface import MISSING, Field
from pflow.core.printable import columns, escape, shorten
from pflow.core.schema_path import calls_seen, count_calls, paths

if TYPE_CHECKING:
    from pflow.mcp.tools.detail import NodeDetail, ParamDetail
    from pflow.mcp.tools.nested import NestedField
    from pflow.workspace import Entry

_PURITY = {
    "pure": "pure: the same inputs give the same outputs; results are cached",
    "read": "reads only: it can safely run again",
    "impure": "has effects: it is never run again unasked",
}
_PROSE_CHARACTERS = 8_000
_INSTRUCTION_CHARACTERS = 500
_DEFAULT_CHARACTERS = 30


def render_node(entry: Entry, detail: NodeDetail, instructions: str) -> str:
    """Everything about a node type; `instructions` are what a tool's server says about all its tools."""
    interface = entry.interface
    whole = f"pflow registry describe {escape(quote(entry.name))} --json"
    blocks = [f"{escape(entry.name)}: {render_prose(detail.description, _PROSE_CHARACTERS, whole)}"]
    for title, fields in (("params", interface.params), ("reads", interface.reads)):
        rows = [row for field in fields for row in _rows(field, detail.params[field.name])]
        if rows:
            blocks.append("\n".join([title, *columns(rows)]))
    if not detail.is_whole:
        blocks.append(_rest(entry))
    outputs = [(escape(field.name), field.type, _seen(field), escape(field.description)) for field in interface.outputs]
    if outputs:
        blocks.append("\n".join(["outputs", *columns(outputs)]))
    result = interface.output("result")
    if result is not None and result.schema is not None and entry.is_virtual:
        lines = paths(result.schema)[1:]
        if lines:
            blocks.append("\n".join(["paths", *(f"  {escape(line)}" for line in lines)]))
    if interface.open_params:
        blocks.append("takes any other parameter as well" if interface.params else "takes any parameter")
    actions = [action for action in interface.actions if action != "default"]
    facts = [f"actions: {', '.join(escape(action) for action in actions)}"] if actions else []
    facts += [_PURITY[interface.purity], f"from {show_source(entry)}"]
    blocks.append("\n".join(facts))
    if instructions and entry.tool:
        server = escape(entry.tool.server)
        said = render_prose(instructions, _INSTRUCTION_CHARACTERS, f"pflow mcp show {server}", indent="  ")
        blocks.append(f"server `{server}` says\n  {said}")
    needed = " ".join(f"{field.name}=…" for field in required(entry))
    blocks.append(f"try it: pflow registry run {escape(entry.name)} {needed}".rstrip())
    return "\n\n".join(blocks)


def render_field(entry: Entry, detail: NodeDetail, focus: str) -> str:
    """What stands at one place inside a parameter."""
    fields = [field for field in (*entry.interface.params, *entry.interface.reads) if field.name in detail.params]
    rows = [row for field in fields for row in _rows(field, detail.params[field.name]) if field.name == focus]
    rows = rows or [_nested(row) for about in detail.params.values() for row in about.fields]
    rest = [] if detail.is_whole else ["", _rest(entry)]
    return "\n".join([f"{escape(entry.name)} {escape(focus)}", *columns(rows), *rest])


def render_prose(text: str, most: int, whole: str, *, indent: str = "") -> str:
    """Foreign text, line by line; `whole` is the command that shows what does not fit."""
    lines = [f"{indent}{escape(line)}".rstrip() for line in text[:most].splitlines()]
    if len(text) > most:
        lines.append(f"{indent}… {len(text) - most:,} more characters: `{whole}`")
    return "\n".join(lines).removeprefix(indent)


def show_source(entry: Entry) -> str:
    """Where a node type comes from."""
    if entry.tool:
        return f"tool `{escape(entry.tool.tool)}` of server `{escape(entry.tool.server)}`"
    if entry.program:
        return escape(f"`{entry.program}` of this program")
    if entry.package:
        return escape(f"package `{entry.package}`")
    return escape(entry.file_path) if entry.is_user else "pflow"


def _rows(field: Field, about: ParamDetail) -> list[tuple[str, str, str, str]]:
    state = "required" if field.required else _default(field.default)
    first = (escape(field.name), _type(field.type, about.items), state, escape(about.description))
    return [first, *map(_nested, about.fields)]


def _nested(row: NestedField) -> tuple[str, str, str, str]:
    state = "required" if row.required else _default(row.default)
    inside = f"{row.inside:,} field{'s' * (row.inside != 1)} inside" if row.inside else ""
    said = "; ".join(text for text in (escape(row.description), inside) if text)
    return escape(row.name), _type(row.type, row.items), f"form {row.form}" if row.form else state, said


def _type(kind: str, items: str) -> str:
    return f"{kind} of {items}" if items and kind == "array" else kind


def _default(default: object) -> str:
    if default is MISSING or default is None:
        return ""
    return f"= {shorten(orjson.dumps(default, default=str).decode(), _DEFAULT_CHARACTERS)}"


def _seen(field: Field) -> str:
    calls = calls_seen(field.schema)
    return f"seen in {count_calls(calls)}" if calls else ""


def _rest(entry: Entry) -> str:
    name = escape(quote(entry.name))
    return f"there is more inside: `pflow registry describe {name} PATH` shows one place, `--json` the whole schema"
