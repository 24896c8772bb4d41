"""Strict JSON: text into a value with nothing lost or guessed, and the places of its values."""

from __future__ import annotations

import json
import re

import orjson

from pflow.core.document.plain_copy import NUMBER_HINT
from pflow.core.document.position import Issues, Spot
from pflow.core.printable import cut

_TOKEN = r"""[ \t\r\n]*(?:([{}\[\],:])|("[^"\\]*(?:\\.[^"\\]*)*")|([^ \t\r\n{}\[\],:"]+))"""
_NUMBER = r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?(?![0-9.eE+-])|-?(?:Infinity|NaN)\b"


def load_json(text: str, issues: Issues) -> object:
    """The value of `text`; a syntax error stops the issues, duplicate keys are added to them.

    orjson is the judge of syntax, because the standard library lets NaN and lone surrogates pass. The value
    comes from the standard library, because orjson rounds large integers and drops duplicate keys silently.
    """
    try:
        orjson.loads(text)
    except orjson.JSONDecodeError as error:
        _explain(text, error.pos, error.msg, issues)
        return None
    repeated = False

    def pairs_to_dict(pairs: list[tuple[str, object]]) -> dict[str, object]:
        nonlocal repeated
        value = dict(pairs)
        repeated = repeated or len(value) != len(pairs)
        return value

    try:
        value: object = json.loads(text, object_pairs_hook=pairs_to_dict)
    except RecursionError:
        issues.stop("too-deep", f"the {issues.what} is nested far too deeply")
        return None
    if repeated:
        _scan(text, issues)
    return value


def scan_json(text: str) -> Spot:
    """The places of every value of `text`, which is valid JSON."""
    return _scan(text, None)


def _scan(text: str, issues: Issues | None) -> Spot:
    """One pass over the tokens of valid JSON, with an explicit stack; adds duplicate keys to `issues`."""
    root = Spot(0, 0)
    stack: list[tuple[Spot, bool]] = []
    path: list[str | int] = []
    key: str | int = 0
    key_offset = -1
    for match in re.compile(_TOKEN, re.DOTALL).finditer(text):
        mark = match[1]
        start = match.start(match.lastindex or 0)
        if mark in ("}", "]"):
            stack.pop()
            key = path.pop() if path else 0
            continue
        if mark == ",":
            key_offset = -1
            if stack and not stack[-1][1]:
                key = len(stack[-1][0].children)
            continue
        if mark == ":":
            continue
        if stack and stack[-1][1] and key_offset < 0:
            key = _decode(match[2] or '""')
            key_offset = start
            if issues is not None and key in stack[-1][0].children:
                issues.add_duplicate(key, tuple(path), start)
            continue
        spot = Spot(start if key_offset < 0 else key_offset, start)
        if stack:
            stack[-1][0].children[key] = spot
        else:
            root = spot
        key_offset = -1
        if mark is not None:
            if stack:
                path.append(key)
            stack.append((spot, mark == "{"))
            key = 0
    return root


def _decode(token: str) -> str:
    return str(json.loads(token)) if "\\" in token else token[1:-1]


def _explain(text: str, offset: int, problem: str, issues: Issues) -> None:
    number = re.compile(_NUMBER).match(text, offset)
    if number:
        message = f"a {issues.what} cannot hold the number `{cut(number[0], 41)}`"
        issues.stop("bad-number", message, offset, hint=NUMBER_HINT)
        return
    if "depth" in problem:
        issues.stop("too-deep", f"the {issues.what} is nested far too deeply", offset)
        return
    issues.stop(
        "syntax", f"this is not valid JSON: {problem}", offset, hint=_advise(text, offset, problem, issues.what)
    )


def _advise(text: str, offset: int, problem: str, what: str) -> str:
    here = text[offset : offset + 1]
    if offset >= len(text.rstrip()):
        return "the text ends too early: is a quote or bracket left open?"
    if "trailing comma" in problem or (here in ("}", "]") and text[:offset].rstrip()[-1:] == ","):
        return "remove the comma before the closing bracket"
    if here in ("'", "“", "”", "‘", "’"):
        return 'JSON strings stand in plain double quotes: "…"'
    if here in ("/", "#"):
        if what == "document":
            return "JSON has no comments; put the note into `description`, or write the document as YAML"
        return "JSON has no comments; YAML has those that begin with `#`"
    if text.startswith(("True", "False", "None"), offset):
        return "JSON writes `true`, `false` and `null`"
    if "control character" in problem:
        return "write a line break inside a string as \\n"
    return ""
