"""The block structure of YAML text with its offsets: what a form can move about without writing it anew."""

from __future__ import annotations

import re
from collections.abc import Iterator

_KEEPS = re.compile(r"[|>][1-9]?\+")


class CannotForm(ValueError):
    """Text whose structure cannot be moved about; says why."""


class Leaf:
    """A value that is kept as it is written: a scalar, an alias, or a flow collection."""

    __slots__ = ("end", "is_block", "start")

    def __init__(self, start: int, end: int, *, is_block: bool = False) -> None:
        self.start = start
        self.end = end
        self.is_block = is_block


class Entry:
    """A key of a block mapping, or a dash of a block sequence, with its value. `name` is None for a dash."""

    __slots__ = ("at", "head_end", "name", "value")

    def __init__(self, at: int, head_end: int, name: str | None) -> None:
        self.at = at
        self.head_end = head_end
        self.name = name
        self.value: Leaf | Block = Leaf(head_end, head_end)


class Block:
    """A block mapping or sequence."""

    __slots__ = ("entries", "start")

    def __init__(self, start: int) -> None:
        self.start = start
        self.entries: list[Entry] = []

    @property
    def end(self) -> int:
        """Where the last value ends; comments behind it are not part of it."""
        return self.entries[-1].value.end


def read_tree(text: str) -> Leaf | Block:
    """The structure of valid YAML; raises `CannotForm`."""
    import yaml  # lazy: most documents are JSON

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    tokens = list(yaml.scan(text, Loader=loader))
    dashes = iter([token.start_mark.index for token in tokens if isinstance(token, yaml.BlockEntryToken)])
    return _Reader(text, dashes).read(yaml.parse(text, Loader=loader))


class _Reader:
    def __init__(self, text: str, dashes: Iterator[int]) -> None:
        self._text = text
        self._dashes = dashes
        self._open: list[tuple[Block, bool]] = []
        self._key: Entry | None = None
        self._root: Leaf | Block | None = None

    def read(self, events: Iterator[object]) -> Leaf | Block:
        import yaml  # lazy: most documents are JSON

        flow_start, depth = 0, 0
        for event in events:
            if not isinstance(event, yaml.Event) or event.start_mark is None or event.end_mark is None:
                continue
            if isinstance(event, yaml.MappingStartEvent | yaml.SequenceStartEvent):
                if depth or event.flow_style:
                    flow_start = flow_start if depth else event.start_mark.index
                    depth += 1
                    continue
                self._enter(event.start_mark.index, is_sequence=isinstance(event, yaml.SequenceStartEvent))
            elif isinstance(event, yaml.MappingEndEvent | yaml.SequenceEndEvent):
                if depth:
                    depth -= 1
                    if not depth:
                        self._put(Leaf(flow_start, event.end_mark.index))
                else:
                    self._open.pop()
            elif isinstance(event, yaml.ScalarEvent | yaml.AliasEvent) and not depth:
                self._scalar(event.start_mark.index, event.end_mark.index, getattr(event, "value", None))
        if self._root is None:
            raise CannotForm("the text is empty")
        return self._root

    def _enter(self, start: int, *, is_sequence: bool) -> None:
        block = Block(start)
        self._put(block)
        self._open.append((block, is_sequence))

    def _scalar(self, start: int, end: int, value: str | None) -> None:
        if self._open and not self._open[-1][1] and self._key is None:
            self._begin_key(start, end, value)
            return
        words = re.compile(r"(?:[&!][^\s]*[ \t]+)*").match(self._text, start)
        style = self._text[words.end() : words.end() + 1] if words and end > start else ""
        if style in ("|", ">"):
            written = self._text[start:end]
            keeps = _KEEPS.match(self._text, words.end() if words else start)
            trimmed = re.sub(r"\n\Z" if keeps else r"(?:\n[ \t]*)+\Z", "", written)
            self._put(Leaf(start, start + len(trimmed), is_block=True))
        else:
            self._put(Leaf(start, end))

    def _begin_key(self, start: int, end: int, value: str | None) -> None:
        colon = re.compile(r"[ \t]*:").match(self._text, end)
        before = self._text[self._text.rfind("\n", 0, start) + 1 : start]
        if value is None or colon is None or "\n" in self._text[start:end] or before.strip(" -"):
            raise CannotForm(f"a key is written in a way that cannot be moved: `{self._text[start:end][:40]}`")
        entry = Entry(start, end, value)
        self._open[-1][0].entries.append(entry)
        self._key = entry

    def _put(self, value: Leaf | Block) -> None:
        if not self._open:
            self._root = value
            return
        block, is_sequence = self._open[-1]
        if is_sequence:
            at = next(self._dashes)
            entry = Entry(at, at + 1, None)
            entry.value = value
            block.entries.append(entry)
        elif self._key is not None:
            self._key.value, self._key = value, None
