"""Strict YAML: the part of the language that means the same as JSON, as a value and the places of its values.

Plain scalars are `null` (`~`, nothing), `true`, `false` and JSON numbers. All others are strings, so that
`yes`, `on`, `2024-01-01`, `12:30`, `007` and `0x1f` stay what the author wrote. There are no tags, no merge
keys, no duplicate keys, no keys other than strings, no second documents. Aliases stand for what they name;
how much they may expand to is limited with the value, like every other size.
"""

from __future__ import annotations

import re
from math import inf

from pflow.core.document.plain_copy import MAX_DEPTH
from pflow.core.document.position import Issues, Spot

_NUMBER = r"-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?"
_FORBIDDEN = "[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]"
_UNQUOTED = re.compile(r":\s+(?:'[^']*'|\"[^\"]*\")\s*[^\s,}\]#]|:\s[^'\"{]*(?:\s\?\s|: )")
"""A value that begins with a string and goes on, or a choice, as expressions do: YAML needs quotes around all of it."""
_CONSTANTS: dict[str, object] = {"": None, "~": None, "null": None, "true": True, "false": False}


def load_yaml(text: str, issues: Issues) -> object:
    """The value of `text`, with its places; what cannot be read stops the issues, the rest is added to them."""
    builder = _Builder(text, issues)
    builder.build()
    if builder.root is None or issues.stopped:
        return None
    value, issues.places.root = builder.root
    return value


class _Frame:
    """An array or object under construction, with its place in its parent and the key that awaits a value."""

    __slots__ = ("anchor", "key", "key_offset", "keyed", "part", "spot", "value")

    def __init__(self, value: dict[str, object] | list[object], spot: Spot, anchor: str | None) -> None:
        self.value = value
        self.spot = spot
        self.anchor = anchor
        self.part: str | int = ""
        self.keyed = False
        self.key: str | None = None
        self.key_offset = 0


class _Builder:
    """Builds from parser events with an explicit stack, so that no text can exhaust Python's own."""

    def __init__(self, text: str, issues: Issues) -> None:
        self._text = text
        self._issues = issues
        self._number = re.compile(_NUMBER).fullmatch
        self._stack: list[_Frame] = []
        self._anchors: dict[str, tuple[object, Spot]] = {}
        self.root: tuple[object, Spot] | None = None

    def build(self) -> None:
        """Fill `root` with the value and its places, or stop the issues."""
        import yaml  # lazy: 12 ms, and most documents are JSON

        bad = re.search(_FORBIDDEN, self._text)
        if bad:
            shown = f"U+{ord(bad[0]):04X}"
            self._issues.stop("syntax", f"the character {shown} cannot stand in YAML", bad.start())
            return
        try:
            for event in yaml.parse(self._text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
                offset = event.start_mark.index if event.start_mark else 0
                if isinstance(event, yaml.ScalarEvent):
                    self._tag(event.tag, offset)
                    plain = event.implicit[0] and not event.style
                    self._scalar(event.value, plain, event.anchor, offset)
                elif isinstance(event, yaml.MappingStartEvent | yaml.SequenceStartEvent):
                    self._tag(event.tag, offset)
                    self._start({} if isinstance(event, yaml.MappingStartEvent) else [], event.anchor, offset)
                elif isinstance(event, yaml.MappingEndEvent | yaml.SequenceEndEvent):
                    self._end()
                elif isinstance(event, yaml.AliasEvent):
                    self._alias(event.anchor, offset)
                elif isinstance(event, yaml.DocumentStartEvent) and self.root is not None:
                    self._issues.stop("yaml-feature", "the text holds a second YAML document", offset)
                if self._issues.stopped:
                    return
        except yaml.MarkedYAMLError as error:
            mark = error.problem_mark or error.context_mark
            self._explain(mark.index if mark else 0, error.problem or "", error.context or "")
        except yaml.YAMLError as error:
            self._explain(0, str(error).partition("\n")[0], "")
        if self.root is None and not self._issues.stopped:
            self._issues.stop("syntax", "the document is empty", 0, hint="a document needs at least `nodes:`")

    def _scalar(self, text: str, plain: bool, anchor: str | None, offset: int) -> None:
        value = self._resolve(text) if plain else text
        spot = Spot(offset, offset)
        if anchor:
            self._anchors[anchor] = value, spot
        if frame := self._object_before_key():
            if plain and text == "<<":
                hint = "write the fields out, or use an alias for a whole value"
                message = "merge keys (`<<`) are not supported"
                self._issues.add("yaml-feature", message, self._path(), offset=offset, hint=hint)
                frame.keyed, frame.key = True, None
                return
            if not isinstance(value, str):
                hint = f'put it in quotes: "{text[:80]}"'
                message = f"the keys of an object are strings, `{text[:80]}` is not"
                self._issues.add("bad-key", message, (*self._path(), text), offset=offset, hint=hint)
            self._key(frame, text, offset)
            return
        self._put(value, spot)

    def _start(self, value: dict[str, object] | list[object], anchor: str | None, offset: int) -> None:
        if self._object_before_key():
            self._issues.stop("bad-key", "the keys of an object are strings, not arrays or objects", offset)
            return
        if len(self._stack) >= MAX_DEPTH:
            self._issues.stop(
                "too-deep", f"the {self._issues.what} is nested more than {MAX_DEPTH} levels deep", offset
            )
            return
        frame = _Frame(value, Spot(offset, offset), anchor)
        frame.part = self._put(value, frame.spot)
        self._stack.append(frame)
        if anchor:
            self._anchors.pop(anchor, None)

    def _end(self) -> None:
        frame = self._stack.pop()
        if frame.anchor:
            self._anchors[frame.anchor] = frame.value, frame.spot

    def _alias(self, anchor: str | None, offset: int) -> None:
        if anchor is None or anchor not in self._anchors:
            inside = any(frame.anchor == anchor for frame in self._stack)
            problem = "stands inside what it names" if inside else "names nothing that stands before it"
            self._issues.stop("yaml-feature", f"the alias `*{(anchor or '')[:80]}` {problem}", offset)
            return
        value, target = self._anchors[anchor]
        if frame := self._object_before_key():
            if isinstance(value, str):
                self._key(frame, value, offset)
            else:
                self._issues.stop(
                    "bad-key", f"the alias `*{anchor[:80]}` is not a string, so it cannot be a key", offset
                )
            return
        self._put(value, Spot(offset, offset, target.children))

    def _object_before_key(self) -> _Frame | None:
        """The open object, if what comes next is a key of it."""
        frame = self._stack[-1] if self._stack else None
        return frame if frame is not None and isinstance(frame.value, dict) and not frame.keyed else None

    def _key(self, frame: _Frame, key: str, offset: int) -> None:
        if key in frame.spot.children:
            self._issues.add_duplicate(key, self._path(), offset)
        frame.keyed, frame.key, frame.key_offset = True, key, offset

    def _put(self, value: object, spot: Spot) -> str | int:
        """Give the value to the open array or object; say under which key or index."""
        if not self._stack:
            self.root = value, spot
            return ""
        frame = self._stack[-1]
        if isinstance(frame.value, list):
            index = len(frame.value)
            frame.value.append(value)
            frame.spot.children[index] = spot
            return index
        key = frame.key
        frame.keyed = False
        if key is None:
            return "<<"
        spot.key = frame.key_offset
        frame.value[key] = value
        frame.spot.children[key] = spot
        return key

    def _path(self) -> tuple[str | int, ...]:
        return tuple(frame.part for frame in self._stack[1:])

    def _resolve(self, text: str) -> object:
        if text in _CONSTANTS:
            return _CONSTANTS[text]
        number = self._number(text)
        if number:
            if number[1] or number[2]:
                return float(text)
            # Converting very long digits is slow and forbidden; they are refused as infinity is.
            return int(text) if len(text) <= 40 else inf
        return inf if text.lstrip("+-").lower() in (".inf", ".nan") else text

    def _tag(self, tag: str | None, offset: int) -> None:
        if tag is not None:
            shown = tag.replace("tag:yaml.org,2002:", "!!")[:80]
            hint = "remove the tag; quote a value to make it a string"
            if not tag.startswith("tag:"):
                hint = f'put the whole value in quotes: `"{shown}…"`'
            message = f"the tag `{shown}` is not supported"
            self._issues.add("yaml-feature", message, self._path(), offset=offset, hint=hint)

    def _explain(self, offset: int, problem: str, context: str) -> None:
        hint = ""
        line_start = self._text.rfind("\n", 0, offset) + 1
        if "\t" in self._text[line_start : offset + 1]:
            hint = "YAML is indented with spaces, never with tabs"
        elif self._text[offset : offset + 1] in ("@", "`", "%", "*", "&", "!", "{", "["):
            hint = "put the value in quotes"
        elif "mapping values" in problem:
            hint = "put a value that contains `: ` in quotes"
        elif _UNQUOTED.search(self._text[line_start:].partition("\n")[0]):
            hint = "put the whole value in quotes: `when: \"x == 'a'\"`"
        reason = f"{context}, {problem}" if context else problem
        self._issues.stop("syntax", f"this is not valid YAML: {reason}", offset, hint=hint)
