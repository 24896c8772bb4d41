"""Puts a server into the text of another program's configuration or takes it out, and leaves all else as it was."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import orjson

from pflow.core.frozen import Frozen

_SPACE = re.compile(r"(?:[\s\ufeff]+|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
_STRING = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)
_SCALAR = re.compile(r"[^\s,{}\[\]\"/]+")
_INSIDE = re.compile(r'"|//|/\*|[{}\[\]]')
_INDENT = re.compile(r"^([ \t]+)\S", re.MULTILINE)
_HEADER = re.compile(r"^[ \t]*\[.*", re.MULTILINE)
_BARE = re.compile(r"[A-Za-z0-9_-]+\Z")

Entry = Mapping[str, object]


class CannotEdit(Exception):
    """The text is put in a way that is not understood well enough to change it."""


class Member(Frozen):
    """A key of an object in a string, and where its value stands."""

    key: str
    start: int
    value: int
    end: int


class Span(Frozen):
    """An object in a string: its members, and where its brackets are."""

    members: list[Member]
    open: int
    close: int
    has_comma: bool


def put_json(text: str, path: Sequence[str], entry: object) -> str:
    """The text with `entry` under `path`, a name for each object on the way; raises `CannotEdit`."""
    if not text.strip("\ufeff \t\r\n"):
        return _dump(_nest(path, entry), "  ", "\n", "") + "\n"
    span = _whole(text)
    for depth, key in enumerate(path[:-1], 1):
        found = _only(span, key)
        if found is None:
            return _put(text, span, key, _nest(path[depth:], entry))
        span = _read_object(text, found.value)
    return _put(text, span, path[-1], entry)


def cut_json(text: str, path: Sequence[str]) -> str:
    """The text without what is under `path`, and without its comma; raises `CannotEdit`."""
    span = _whole(text)
    for key in path[:-1]:
        found = _only(span, key)
        if found is None:
            raise CannotEdit
        span = _read_object(text, found.value)
    member = _only(span, path[-1])
    if member is None:
        raise CannotEdit
    cuts = [(_line_begin(text, member.start), member.end)]
    comma = _skip(text, member.end)
    before = [other for other in span.members if other.end <= member.start]
    if text[comma] != "," and before:
        comma = _skip(text, before[-1].end)
    if text[comma] == ",":
        cuts.append((comma, comma + 1))
    for begin, end in sorted(cuts, reverse=True):
        text = text[:begin] + text[end:]
    return text


def _line_begin(text: str, at: int) -> int:
    """Where a line begins, its break before it included, if nothing but white space stands before `at`."""
    begin = len(text[:at].rstrip(" \t"))
    if text[:begin].endswith("\n"):
        return begin - (2 if text[:begin].endswith("\r\n") else 1)
    return at


def _nest(path: Sequence[str], entry: object) -> object:
    for key in reversed(path):
        entry = {key: entry}
    return entry


def _whole(text: str) -> Span:
    top = _read_object(text, _skip(text, 0))
    if _skip(text, top.close + 1) != len(text):
        raise CannotEdit
    return top


def _put(text: str, span: Span, key: str, value: object) -> str:
    """The text with a member replaced, or added after the last one."""
    line_end = "\r\n" if "\r\n" in text else "\n"
    unit = min(_INDENT.findall(text), key=len, default="  ")
    outer = _indent_of(text, span.open)
    inner = _indent_of(text, span.members[0].start) if span.members else outer + unit
    if inner == outer:
        inner = outer + unit  # all on one line
    present = _only(span, key)
    if present is not None:
        here = _indent_of(text, present.start)
        return text[: present.value] + _dump(value, unit, line_end, here) + text[present.end :]
    member = f"{inner}{_quote(key)}: {_dump(value, unit, line_end, inner)}"
    last = span.members[-1].end if span.members else span.open + 1
    comma = "," if span.members and not span.has_comma else ""
    between = text[last : span.close].rstrip()
    return f"{text[:last]}{comma}{between}{line_end}{member}{line_end}{outer}{text[span.close :]}"


def _read_object(text: str, at: int) -> Span:
    if text[at : at + 1] != "{":
        raise CannotEdit
    begin = at
    members: list[Member] = []
    has_comma = False
    at = _skip(text, at + 1)
    while text[at : at + 1] != "}":
        if members and not has_comma:
            raise CannotEdit
        string = _match(_STRING, text, at)
        colon = _skip(text, string.end())
        if text[colon : colon + 1] != ":":
            raise CannotEdit
        value = _skip(text, colon + 1)
        end = _end_of(text, value)
        try:
            key = orjson.loads(string[0])
        except ValueError:
            raise CannotEdit from None
        members.append(Member(key=key, start=at, value=value, end=end))
        at = _skip(text, end)
        has_comma = text[at : at + 1] == ","
        if has_comma:
            at = _skip(text, at + 1)
    return Span(members=members, open=begin, close=at, has_comma=has_comma)


def _end_of(text: str, at: int) -> int:
    """Where the value ends that begins at `at`."""
    if text[at : at + 1] not in ("{", "["):
        return _match(_STRING if text[at : at + 1] == '"' else _SCALAR, text, at).end()
    depth = 0
    while mark := _INSIDE.search(text, at):
        at = mark.end()
        if mark[0] == '"':
            at = _end_of(text, mark.start())
        elif mark[0] in ("//", "/*"):
            found = text.find("\n" if mark[0] == "//" else "*/", at)
            at = len(text) if found < 0 else found + 1
        else:
            depth += 1 if mark[0] in "{[" else -1
            if not depth:
                return at
    raise CannotEdit


def _match(pattern: re.Pattern[str], text: str, at: int) -> re.Match[str]:
    found = pattern.match(text, at)
    if found is None:
        raise CannotEdit
    return found


def _skip(text: str, at: int) -> int:
    """The next place that is neither white nor a comment."""
    return _match(_SPACE, text, at).end()


def _only(span: Span, key: str) -> Member | None:
    found = [member for member in span.members if member.key == key]
    if len(found) > 1:
        raise CannotEdit  # programs differ in which of them they take
    return found[0] if found else None


def _indent_of(text: str, at: int) -> str:
    """The white space that the line of a place begins with."""
    begin = text.rfind("\n", 0, at) + 1
    line = text[begin:at].lstrip("\ufeff")
    return line[: len(line) - len(line.lstrip(" \t"))]


def _dump(value: object, unit: str, line_end: str, indent: str) -> str:
    lines = orjson.dumps(value, option=orjson.OPT_INDENT_2).decode().split("\n")
    deep = [re.sub(r"^(?:  )+", lambda white: unit * (len(white[0]) // 2), line) for line in lines]
    return (line_end + indent).join(deep)


# ---- TOML


def put_toml(text: str, table: str, name: str, entry: Entry) -> str:
    """The text with `[table.name]` holding `entry`; raises `CannotEdit`."""
    line_end = "\r\n" if "\r\n" in text else "\n"
    header = f"[{table}.{toml_key(name)}]"
    lines = [header, *(f"{toml_key(key)} = {toml_value(value)}" for key, value in entry.items())]
    block = line_end.join(lines) + line_end
    sections = _sections(text, table, name)
    if not sections:
        before = text.rstrip()
        return f"{before}{line_end * 2}{block}" if before else block
    for begin, end in reversed(sections):
        text = text[:begin] + (block if begin == sections[0][0] else "") + text[end:]
    return text


def cut_toml(text: str, table: str, name: str) -> str:
    """The text without `[table.name]` and the tables in it; raises `CannotEdit`."""
    sections = _sections(text, table, name)
    if not sections:
        raise CannotEdit
    for begin, end in reversed(sections):
        after = text[end:]
        # The blank line that parts it from what stands before goes, too.
        before = text[:begin] if after.strip() else text[:begin].rstrip() + "\n"
        text = before.lstrip("\n") + (after.lstrip("\r\n") if after.strip() else "")
    return text


def _sections(text: str, table: str, name: str) -> list[tuple[int, int]]:
    """Where the lines of `[table.name]` and of the tables in it stand, without comments and blank lines after them."""
    headers = list(_HEADER.finditer(text))
    ends = [*(mark.start() for mark in headers[1:]), len(text)]
    found: list[tuple[int, int]] = []
    for mark, end in zip(headers, ends, strict=False):
        if _header_path(mark[0])[:2] != [table, name]:
            continue
        lines = text[mark.start() : end].splitlines(keepends=True)
        while len(lines) > 1 and (not lines[-1].strip() or lines[-1].lstrip().startswith("#")):
            lines.pop()
        if any("#" in line for line in lines):
            raise CannotEdit  # a comment that would be lost
        found.append((mark.start(), mark.start() + sum(len(line) for line in lines)))
    if found and ('"""' in text or "'''" in text):
        raise CannotEdit  # what looks like a header may be text
    return found


def _header_path(line: str) -> list[str]:
    """The names in the header of a table; nothing if the line only looks like one."""
    import tomllib  # lazy: one host alone writes TOML

    try:
        part: object = tomllib.loads(line)
    except ValueError:
        return []
    names: list[str] = []
    while isinstance(part, dict) and len(part) == 1:
        [(key, part)] = part.items()
        names.append(key)
    return names


def toml_key(name: str) -> str:
    """A name as TOML writes it before `=` and in headers."""
    return name if _BARE.match(name) else _quote(name)


def toml_value(value: object) -> str:
    """A value as TOML writes it."""
    if isinstance(value, str):
        return _quote(value)
    if isinstance(value, list):
        return f"[{', '.join(toml_value(item) for item in value)}]"
    if isinstance(value, Mapping):
        pairs = ", ".join(f"{toml_key(key)} = {toml_value(item)}" for key, item in value.items())
        return f"{{ {pairs} }}" if pairs else "{}"
    return orjson.dumps(value).decode()


def _quote(text: str) -> str:
    """A string as JSON writes it, which TOML reads as the same."""
    return orjson.dumps(text).decode().replace("\x7f", "\\u007f")
