"""Writes YAML in its canonical form by moving its lines: fields in order, two spaces, all else as its author has it.

A comment on lines of its own belongs to what follows it, or, if it is indented deeper than that, to what it closes.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from pflow.core.document.form.field_order import in_order
from pflow.core.document.form.yaml_tree import Block, CannotForm, Entry, Leaf, read_tree
from pflow.core.document.position import Path

_HEADER = re.compile(r"#!|#.*yaml-language-server:")


class _Lines(NamedTuple):
    """The lines of a value: comments that stand before its first entry, and the value, without indentation."""

    before: list[str]
    value: list[str]


def form_yaml(text: str, *, reorder: bool = True) -> str:
    """The canonical form of valid YAML; raises `CannotForm`."""
    text = text.replace("\r\n", "\n")
    if re.search("[\r\x85\u2028\u2029]", text):
        raise CannotForm("the text has line breaks that are not those of text files")
    root = read_tree(text)
    if isinstance(root, Leaf):
        return f"{text.strip()}\n"
    return _Form(text, reorder).document(root)


class _Form:
    def __init__(self, text: str, reorder: bool) -> None:
        self._text = text
        self._reorder = reorder

    def document(self, root: Block) -> str:
        first = self._line_start(root.entries[0].at)
        top = self._text[:first].split("\n")[:-1]
        if self._text[first : root.entries[0].at].strip():
            raise CannotForm("the document begins on the line of its `---`")
        header, lead = _split_header(top)
        rest = self._comments(self._after(root.end), len(self._text))
        lines, tail = self._block(root, (), lead, rest)
        body = [*_without_first_blanks(lines.before), *lines.value, *tail]
        keeps = _ends_in_kept_lines(self._text, root)
        whole = [*_without_first_blanks(header), *(body if keeps and not tail else _without_last_blanks(body))]
        return "\n".join(whole) + "\n"

    def _block(self, block: Block, path: Path, lead: list[str], rest: list[str]) -> tuple[_Lines, list[str]]:
        """The lines of a block, with the comments before its first entry, and what of `rest` is not inside of it."""
        rendered: list[tuple[Entry, list[str], _Lines]] = []
        waiting = lead
        for number, entry in enumerate(block.entries):
            following = block.entries[number + 1] if number + 1 < len(block.entries) else None
            start = self._after(entry.value.end)
            gap = rest if following is None else self._comments(start, self._line_start(following.at))
            inside, outside = _split_gap(gap, self._column(entry.at))
            part: str | int = number if entry.name is None else entry.name
            lines, left = self._entry(entry, (*path, part), inside)
            rendered.append((entry, [_flush(line) for line in waiting], lines))
            waiting = [*left, *outside]
        if self._reorder and block.entries[0].name is not None:
            rendered = in_order(rendered, path, lambda item: item[0].name or "")
        value: list[str] = []
        before: list[str] = []
        for number, (_, comments, lines) in enumerate(rendered):
            own = [*comments, *lines.before]
            if number:
                value += own
            else:
                before = own
            value += lines.value
        tail, left = _split_gap(waiting, -1) if path == () else ([], waiting)
        return _Lines(before, value), [*tail, *left]

    def _entry(self, entry: Entry, path: Path, inside: list[str]) -> tuple[_Lines, list[str]]:
        head = "-" if entry.name is None else f"{self._text[entry.at : entry.head_end]}:"
        opened = entry.head_end if entry.name is None else self._text.index(":", entry.head_end) + 1
        value = entry.value
        if isinstance(value, Leaf):
            return self._leaf(entry, value, head, opened, inside)
        first = value.entries[0].at
        same_line = "\n" not in self._text[opened:first]
        note = "" if same_line else self._text[opened : self._line_end(opened)].strip()
        if same_line and self._text[opened:first].strip():
            raise CannotForm("an anchor stands on the line of what it names")
        lead = [] if same_line else self._comments(self._after(opened), self._line_start(first))
        lines, left = self._block(value, path, lead, inside)
        tail = [_flush(line) for line in left]
        below = [*_without_first_blanks(lines.before), *lines.value, *tail]
        if entry.name is not None or note:
            return _Lines([], [f"{head} {note}".rstrip(), *_indent(below)]), []
        before = [line for line in lines.before if line]
        content = [*lines.value, *tail]
        return _Lines(before, [f"- {content[0]}", *_indent(content[1:])]), []

    def _leaf(self, entry: Entry, leaf: Leaf, head: str, opened: int, inside: list[str]) -> tuple[_Lines, list[str]]:
        note = self._text[leaf.end : self._line_end(leaf.end)].rstrip()
        written = self._text[leaf.start : leaf.end].split("\n")
        column = self._column(entry.at)
        more = _scalar_lines(written, column) if leaf.is_block else [_dedent(line, column) for line in written[1:]]
        below: list[str] = []
        if "\n" in self._text[opened : leaf.start]:
            stop = self._line_start(leaf.start)
            first = f"{head} {self._text[opened : self._line_end(opened)].strip()}".rstrip()
            below = _indent([*(_flush(line) for line in self._comments(self._after(opened), stop)), written[0]])
        else:
            first = f"{head} {written[0]}".rstrip() if not leaf.is_block else f"{head} {written[0]}"
        lines = [first, *below, *more]
        lines[-1] = f"{lines[-1]}{note}"
        if leaf.is_block:
            return _Lines([], lines), inside
        return _Lines([], [*lines, *_indent([_flush(line) for line in inside])]), []

    def _comments(self, start: int, stop: int) -> list[str]:
        """The lines between two offsets, which hold comments or nothing."""
        lines = self._text[start:stop].split("\n")[:-1] if stop > start else []
        if stop == len(self._text) and stop > start and not self._text.endswith("\n"):
            lines.append(self._text[self._text.rfind("\n") + 1 :])
        for line in lines:
            if line.strip() and not line.lstrip(" \t").startswith("#"):
                raise CannotForm(f"a line is neither a field nor a comment: `{line.strip()[:40]}`")
        return [line.rstrip() for line in lines]

    def _line_start(self, offset: int) -> int:
        return self._text.rfind("\n", 0, offset) + 1

    def _line_end(self, offset: int) -> int:
        end = self._text.find("\n", offset)
        return len(self._text) if end < 0 else end

    def _after(self, offset: int) -> int:
        return min(self._line_end(offset) + 1, len(self._text))

    def _column(self, offset: int) -> int:
        return offset - self._line_start(offset)


def _split_header(top: list[str]) -> tuple[list[str], list[str]]:
    """The lines that stay at the top of the file, and those that belong to the first field."""
    stays = 0
    for number, line in enumerate(top, 1):
        if not line.strip() or _HEADER.match(line) or line.startswith(("---", "%")):
            stays = number
    return [line.rstrip() for line in top[:stays]], [line.rstrip() for line in top[stays:]]


def _split_gap(gap: list[str], column: int) -> tuple[list[str], list[str]]:
    """The comments that are indented deeper than `column`, up to the first that is not, and the rest."""
    stop = 0
    for number, line in enumerate(gap, 1):
        if not line:
            continue
        if len(line) - len(line.lstrip(" ")) <= column:
            break
        stop = number
    return gap[:stop], gap[stop:]


def _scalar_lines(written: list[str], column: int) -> list[str]:
    """The content of a block scalar, two spaces deep; one that says its own depth keeps it."""
    content = written[1:]
    if re.match(r"(?:[&!]\S*[ \t]+)*[|>][+-]?[1-9]", written[0]):
        return [_dedent(line, column) for line in content]
    depth = next((len(line) - len(line.lstrip(" ")) for line in content if line.strip(" ")), 0)
    return _indent([line[depth:] for line in content])


def _dedent(line: str, column: int) -> str:
    return line[min(column, len(line) - len(line.lstrip(" "))) :]


def _indent(lines: list[str]) -> list[str]:
    return [f"  {line}" if line else "" for line in lines]


def _flush(line: str) -> str:
    return line.strip()


def _without_first_blanks(lines: list[str]) -> list[str]:
    start = next((number for number, line in enumerate(lines) if line), len(lines))
    return lines[start:]


def _without_last_blanks(lines: list[str]) -> list[str]:
    return _without_first_blanks(lines[::-1])[::-1]


def _ends_in_kept_lines(text: str, root: Block) -> bool:
    """Whether the last value is a block scalar whose last lines are empty and count."""
    value: Leaf | Block = root
    while isinstance(value, Block):
        value = value.entries[-1].value
    return value.is_block and text[value.start : value.end].endswith("\n")
