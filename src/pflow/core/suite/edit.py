"""Changes the text of a test file where it must, and leaves all else, comments too, as it is."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from pflow.core.errors import ExistsError, UsageError
from pflow.core.json_type import JsonView

Path = tuple[str | int, ...]
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*(?: [A-Za-z0-9_-]+)*")
_WORDS = frozenset(("null", "true", "false", "yes", "no", "on", "off", "y", "n"))


def replace_values(text: str, changes: Mapping[Path, object]) -> str:
    """The text with other values at some paths; each is written as JSON, which YAML reads as well."""
    root = _composed(text)
    spans = []
    for path, value in changes.items():
        node = _at(root, path)
        if node is not None:
            start, end = node.start_mark.index, _end(text, node)
            spans.append((start, end, _json(value)))
    for start, end, new in sorted(spans, reverse=True):
        text = text[:start] + new + text[end:]
    return text


def add_case(text: str, workflow: str, name: str, body: JsonView) -> str:
    """The text of a test file with one more test at its end; an empty text becomes a file.

    Raises `ExistsError` for a name that is taken, and `UsageError` for a file that is not written line by line.
    """
    if not text.strip():
        return f"workflow: {_key(workflow)}\ntests:\n" + _lines({name: body}, 2)
    root = _composed(text)
    tests = _at(root, ("tests",))
    if tests is None:
        return text.rstrip("\n") + "\ntests:\n" + _lines({name: body}, 2)
    if not hasattr(tests, "value") or not isinstance(tests.value, list):
        raise UsageError("the file has no object of tests", suggestions=["write `tests:` and a name for each test"])
    if any(key.value == name for key, _ in tests.value):
        raise ExistsError(
            f"there is a test `{name}` already",
            suggestions=["choose another name", "`pflow test --record all` records the cassette of a test again"],
        )
    if tests.flow_style and tests.value:
        raise UsageError(
            "the tests of this file are written on one line", suggestions=["write each test on lines of its own"]
        )
    if not tests.value:
        start, end = tests.start_mark.index, _end(text, tests)
        return text[:start].rstrip(" ") + "\n" + _lines({name: body}, 2) + text[end:].lstrip("\n")
    indent = tests.value[0][0].start_mark.column
    end = _end(text, tests.value[-1][1])
    line, _, after = text[end:].partition("\n")
    return text[:end] + line + "\n" + _lines({name: body}, indent) + after


def _composed(text: str) -> Any:
    import yaml  # lazy: only where a test file is changed

    return yaml.compose(text, Loader=yaml.SafeLoader)  # its marks count characters


def _at(node: Any, path: Sequence[str | int]) -> Any:
    for part in path:
        found = None
        if isinstance(getattr(node, "value", None), list):
            if isinstance(part, int):
                found = node.value[part] if part < len(node.value) else None
            else:
                pairs = [one for one in node.value if isinstance(one, tuple)]
                found = next((value for key, value in pairs if key.value == part), None)
        if found is None:
            return None
        node = found
    return node


def _end(text: str, node: Any) -> int:
    """Where a value ends: blank lines and comments after it belong to what follows."""
    start, end = int(node.start_mark.index), int(node.end_mark.index)
    lines = text[start:end].split("\n")
    while len(lines) > 1 and (not lines[-1].strip() or lines[-1].lstrip().startswith("#")):
        lines.pop()
    return start + len("\n".join(lines).rstrip())


def _lines(value: JsonView, indent: int) -> str:
    """An object line by line, the innermost values as JSON."""
    text = ""
    for name, part in value.items():
        text += f"{' ' * indent}{_key(name)}:"
        if isinstance(part, dict) and part and not _is_short(part):
            text += "\n" + _lines(part, indent + 2)
        else:
            text += f" {_key(part) if isinstance(part, str) else _json(part)}\n"
    return text


def _is_short(part: dict[str, object]) -> bool:
    return len(_json(part)) <= 60 and not any(isinstance(one, dict | list) for one in part.values())


def _key(text: str) -> str:
    """A string as YAML: in quotes unless it can do without."""
    is_file = re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_./-]*", text) and not re.match(r"[0-9.]+$", text)
    plain = (_PLAIN.fullmatch(text) or is_file) and text.lower() not in _WORDS
    return text if plain and len(text) <= 200 else _json(text)


def _json(value: object) -> str:
    """JSON as YAML has it on one line, with spaces where people put them."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_json(name)}: {_json(part)}" for name, part in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_json, value)) + "]"
    return orjson.dumps(value).decode()
