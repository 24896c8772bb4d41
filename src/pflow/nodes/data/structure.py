"""JSON, JSON Lines and YAML as values, read as strictly as documents are."""

from __future__ import annotations

import orjson

from pflow.core.document.json_text import load_json, scan_json
from pflow.core.document.plain_copy import copy_within, is_plain
from pflow.core.document.position import Issues, Places
from pflow.core.document.yaml_text import load_yaml
from pflow.core.errors import StepError
from pflow.nodes.data.fault import fault
from pflow.nodes.data.table import read_lines

MOST_YAML = 16 << 20
"""Characters of YAML: it takes a hundred times as long to read as JSON."""

_EXPANSION = 10
"""What the aliases of a YAML text may make of it, times its size."""

_LEAST_EXPANDED = 1 << 20


def read_json(text: str, first_line: int = 1) -> object:
    """The value of JSON text. Duplicate keys, NaN and what does not fit into 64 bits are refused."""
    places = Places(text, scan_json)
    issues = Issues(places, what="text")
    value = load_json(text, issues)
    if not issues.found() and not is_plain(value):
        copy_within(value, issues, len(text) * 8 + _LEAST_EXPANDED)
    _check(issues, text, first_line)
    return value


def read_json_lines(text: str) -> list[object]:
    """The values of text with one JSON value on each line; blank lines are left out."""
    return [read_json(line, number) for number, line in enumerate(read_lines(text), 1) if line.strip()]


def read_yaml(text: str) -> object:
    """The value of YAML text, with the types that documents have: `2026-01-01` and `yes` stay text."""
    if len(text) > MOST_YAML:
        raise StepError(
            f"`text` has {len(text):,} characters; at most {MOST_YAML:,} can be read as YAML",
            suggestions=["have what writes it write JSON"],
        )
    issues = Issues(Places(text), what="text")
    value = load_yaml(text, issues)
    if not issues.found():
        value = copy_within(value, issues, len(text.encode(errors="replace")) * _EXPANSION + _LEAST_EXPANDED)
    _check(issues, text, 1)
    return value


def write_json(value: object, indent: bool) -> str:
    """The value as JSON, on one line or with two spaces for each level."""
    try:
        return orjson.dumps(value, option=orjson.OPT_INDENT_2 if indent else 0).decode()
    except TypeError as error:
        raise StepError(f"`value` cannot be written as JSON: {error}") from None


def _check(issues: Issues, text: str, first_line: int) -> None:
    for issue in issues.found():
        if issue.line:
            offset = sum(len(line) + 1 for line in text.split("\n")[: issue.line - 1]) + issue.column - 1
            raise fault(text, offset, issue.message, hint=issue.hint, first_line=first_line)
        at = f" (at `{issue.path}`)" if issue.path else ""
        raise StepError(f"{issue.message}{at}", suggestions=[issue.hint] if issue.hint else [])
