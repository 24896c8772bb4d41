"""What a tool is and takes, in words: the values of a parameter in a line, the whole as a node's docstring."""

from __future__ import annotations

from collections.abc import Mapping

import orjson

from pflow.core.interface import MISSING, Field
from pflow.core.printable import cut, escape, shorten
from pflow.registry.entry import ToolConfig, interface_from_json, tool_in

_LONGEST_PROSE = 1_000
_LONGEST_VALUE = 40
_LONGEST_PATTERN = 80
_MOST_VALUES = 20
_RANGES = (
    ("minimum", "maximum", ""),
    ("exclusiveMinimum", "exclusiveMaximum", ""),
    ("minLength", "maxLength", "character"),
    ("minItems", "maxItems", "item"),
)
_SAID = frozenset(("enum", "const", "format", "pattern", *(word for low, high, _ in _RANGES for word in (low, high))))
_PYTHON = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "array": "list", "object": "dict"}


def describe_value(schema: Mapping[str, object]) -> str:
    """What a schema says about its value, then its limits: `how many to give; 1 to 100`."""
    text = schema.get("description")
    parts = [one_line(text).rstrip(" ;")] if isinstance(text, str) else []
    parts += describe_limits(schema)
    return "; ".join(part for part in parts if part)


def describe_limits(schema: Mapping[str, object]) -> list[str]:
    """Which values a schema admits, each limit in a few words."""
    if _SAID.isdisjoint(schema):
        return []
    found = []
    values = schema.get("enum")
    if isinstance(values, list) and values:
        more = [f"… ({len(values):,} in all)"] if len(values) > _MOST_VALUES else []
        found.append(f"one of {', '.join([*map(_value, values[:_MOST_VALUES]), *more])}")
    if "const" in schema:
        found.append(f"always {_value(schema['const'])}")
    return [*found, *_ranges(schema), *_forms(schema)]


def one_line(text: str, width: int = _LONGEST_PROSE) -> str:
    """Prose on one line, cut where nobody reads on."""
    line = " ".join(text[: 4 * width].split())
    return cut(line, width)


def docstring(entry: Mapping[str, object]) -> str:
    """The registry's entry of a tool as the docstring of a node that a person had written.

    What a step must or may be given stands under Reads, what has a default under Params. Text of the server is
    shown escaped.
    """
    interface = interface_from_json(entry.get("interface"))
    source = tool_in(entry) or ToolConfig(server="", tool="")
    lines = [escape(interface.description), "", "Interface:"]
    lines += [f"- Reads: {_read(field)}" for field in interface.params if not _has_default(field)]
    lines += [f"- Writes: {_shared(field)}{_prose(field)}" for field in interface.outputs]
    lines += [f"- Params: {_param(field)}" for field in interface.params if _has_default(field)]
    lines += [f"- Actions: {', '.join(map(escape, interface.actions))}"]
    tool = f"{source.server}/{source.tool}" + (f" v{source.version}" if source.version else "")
    return "\n".join([*lines, "", f"MCP Source: {escape(tool)}"])


def _has_default(field: Field) -> bool:
    # Null as a default is how a schema says that the parameter may be left out.
    return field.default is not None and field.default != MISSING


def _read(field: Field) -> str:
    return f"{_shared(field)}{'' if field.required else ' (optional)'}{_prose(field)}"


def _param(field: Field) -> str:
    default = orjson.dumps(field.default).decode()
    return f"{escape(field.name)}: {_python(field)} (default {shorten(default, _LONGEST_VALUE)}){_prose(field)}"


def _shared(field: Field) -> str:
    return f'shared["{escape(field.name)}"]: {_python(field)}'


def _python(field: Field) -> str:
    return " | ".join(_PYTHON.get(kind, kind) for kind in field.type.split("|"))


def _prose(field: Field) -> str:
    return f"  # {escape(field.description)}" if field.description else ""


def _ranges(schema: Mapping[str, object]) -> list[str]:
    found = []
    for low_word, high_word, unit in _RANGES:
        low, high = _number(schema, low_word), _number(schema, high_word)
        if low is None and high is None:
            continue
        strict = low_word.startswith("exclusive")
        if low is not None and high is not None:
            text = f"between {low} and {high}" if strict else f"{low} to {high}"
        elif low is not None:
            text = f"more than {low}" if strict else f"at least {low}"
        else:
            text = f"less than {high}" if strict else f"at most {high}"
        last = high if high is not None else low
        found.append(f"{text} {unit}{'' if last == 1 else 's'}" if unit else text)
    return found


def _forms(schema: Mapping[str, object]) -> list[str]:
    said = [(word, schema.get(word)) for word in ("format", "pattern")]
    return [f"{word} {text}" for word, text in said if isinstance(text, str) and 0 < len(text) <= _LONGEST_PATTERN]


def _number(schema: Mapping[str, object], word: str) -> int | float | None:
    value = schema.get(word)
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def _value(value: object) -> str:
    return cut(value if isinstance(value, str) else orjson.dumps(value).decode(), _LONGEST_VALUE)
