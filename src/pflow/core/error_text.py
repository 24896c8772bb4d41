"""Issues and errors as text for people: what happened, what is known, where, and what to do next."""

from __future__ import annotations

from collections.abc import Iterable

import orjson

from pflow.core.document.issue import CREDENTIAL, Issue
from pflow.core.document.position import Places, read_path
from pflow.core.errors import DocumentError, PflowError
from pflow.core.printable import escape, shorten

_EXCERPT_CHARACTERS = 100
_MOST_KNOWN = 24
"""Names that are listed; a hundred would hide the message."""

_PARTS = frozenset(
    ("unknown-field", "unknown-flag", "unknown-input", "unknown-output", "unknown-param", "unknown-path")
)
"""Codes of issues about a part that something does not have; `known` are the parts that it has."""


def render_issues(issues: Iterable[Issue], places: Places | None = None, *, source: str = "") -> str:
    """Every issue, with blank lines between; `places` adds the line and a caret, `source` names the file."""
    return "\n\n".join(_render_issue(issue, places, source) for issue in issues)


def render_error(error: PflowError, places: Places | None = None, *, source: str = "") -> str:
    """The error with the details that help; a document's error as its issues."""
    if isinstance(error, DocumentError) and error.issues:
        text = render_issues(error.issues, places, source=source)
    else:
        lines = [f"error: {escape(error.message)}"]
        lines += [f"  {escape(name)}: {_show(value)}" for name, value in error.details.items() if name != "issues"]
        text = "\n".join(lines)
    hints = [f"hint: {escape(suggestion)}" for suggestion in error.suggestions]
    return "\n\n".join([text, "\n".join(hints)] if hints else [text])


def _render_issue(issue: Issue, places: Places | None, source: str) -> str:
    lines = [f"{issue.severity}: {escape(issue.message)}"]
    if issue.known:
        label = "it has" if issue.code in _PARTS else "known"
        names = [escape(name) for name in issue.known[:_MOST_KNOWN]]
        if len(issue.known) > _MOST_KNOWN:
            names.append(f"… and {len(issue.known) - _MOST_KNOWN:,} more")
        lines.append(f"  {label}: {', '.join(names)}")
    where = _where(issue, places, source)
    if where:
        lines.append(f"  at: {where}")
    lines += _excerpt(issue, places)
    text = "\n".join(lines)
    return f"{text}\n\nhint: {escape(issue.hint)}" if issue.hint else text


def _where(issue: Issue, places: Places | None, source: str) -> str:
    spot = f"{issue.line}:{issue.column}" if issue.line else ""
    file = ":".join(part for part in (escape(source), spot) if part)
    if spot and not source:
        file = f"line {issue.line}, column {issue.column}"
    if not issue.path:
        return file
    if issue.code == CREDENTIAL:
        places = None
    path = escape(issue.path)
    value = places.at(read_path(issue.path) or ()) if places is not None else None
    if value is not None and not isinstance(value, dict | list):
        path = f"{path} = {_show(value)}"
    return f"{path} ({file})" if file else path


def _excerpt(issue: Issue, places: Places | None) -> list[str]:
    if places is None or not issue.line or issue.code == CREDENTIAL:
        return []
    line = places.line(issue.line)
    column = issue.column - 1
    start = max(0, column - _EXCERPT_CHARACTERS * 2 // 3) if len(line) > _EXCERPT_CHARACTERS else 0
    end = start + _EXCERPT_CHARACTERS
    before = ("…" if start else "") + escape(line[start:column].replace("\t", " "))
    after = escape(line[column:end].replace("\t", " "))
    if not (before + after).strip():
        return []
    more = "…" if len(line) > end else ""
    number = str(issue.line)
    return [f"  {number} | {before}{after}{more}", f"  {' ' * len(number)} | {' ' * len(before)}^"]


def _show(value: object) -> str:
    """A value on one line; strings stand in quotes, so that they are not read as prose."""
    if isinstance(value, str):
        return f'"{shorten(value)}"'
    if isinstance(value, list | tuple) and all(isinstance(item, str) for item in value):
        shown = ", ".join(shorten(str(item)) for item in value[:_MOST_KNOWN])
        return f"{shown}, …" if len(value) > _MOST_KNOWN else shown
    try:
        return shorten(orjson.dumps(value, default=str, option=orjson.OPT_NON_STR_KEYS).decode())
    except orjson.JSONEncodeError:
        return shorten(str(value))


def render_loss(failed: int, declined: int, items: object, step: str = "") -> str:
    """What a batch went on without: `2 of 3 items failed, 1 of them declined`; with a step, ``items of `send` ``."""
    among = f"{failed:,} of {f'{items:,}' if isinstance(items, int) else '?'} items" + (f" of `{step}`" if step else "")
    if declined == failed:
        return f"{among} {'was' if failed == 1 else 'were'} declined"
    return f"{among} failed" + (f", {declined:,} of them declined" if declined else "")
