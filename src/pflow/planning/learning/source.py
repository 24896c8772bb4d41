"""Where values can come from: the outputs of earlier steps, and the arrays that texts among them hold."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence

import orjson

from pflow.core.frozen import Frozen
from pflow.core.template.compiled import ValuePath
from pflow.planning.learning.leaf import at, leaves

_MOST_TEXT = 1_000_000
_DEEPEST_COLUMN = 4


class Produced(Frozen):
    """A step and what it gave. `parse` are the params of a step that would give this from another one's text."""

    id: str
    outputs: Mapping[str, object]
    type: str = ""
    parse: Mapping[str, object] | None = None
    is_loop: bool = False
    origin: str = ""
    """The step whose text `parse` takes apart."""


class Column(Frozen):
    """One field of every element of an array: the array's place in the outputs, the field's in each element."""

    source: Produced
    array: ValuePath
    field: ValuePath
    values: Sequence[object]


def readings(produced: Produced) -> Iterator[Produced]:
    """What the texts of a step's outputs hold when they are parsed, each as the step that would do so."""
    for path, text in leaves(produced.outputs):
        if not isinstance(text, str) or len(path) > 2 or len(text) > _MOST_TEXT or produced.is_loop:
            continue
        reference = f"${{{produced.id}{''.join(f'.{key}' for key in path)}}}"
        for form, value in _parsed(text):
            parse = {"text": reference, "as": form}
            yield Produced(
                id=f"{produced.id}-{form}", outputs={"value": value}, type="parse", parse=parse, origin=produced.id
            )


def columns(produced: Produced) -> Iterator[Column]:
    """Every column of every array in a step's outputs."""
    for path, array in _arrays(produced.outputs, ()):
        fields = {field for element in array[:3] for field, _ in leaves(element) if len(field) <= _DEEPEST_COLUMN}
        for field in sorted(fields, key=str):
            yield Column(source=produced, array=path, field=field, values=[at(element, field) for element in array])


def found_by_pattern(produced: Produced, wanted: Sequence[str], name: str) -> Iterator[Column]:
    """Columns that a pattern finds in a text: what stands between the same words as all that is wanted."""
    for path, text in leaves(produced.outputs):
        if not isinstance(text, str) or not (0 < len(text) <= _MOST_TEXT) or produced.is_loop:
            continue
        pattern = _pattern(text, wanted, name)
        if pattern is None:
            continue
        found = [{name: match[1]} for match in re.finditer(pattern, text, re.MULTILINE)]
        reference = f"${{{produced.id}{''.join(f'.{key}' for key in path)}}}"
        source = Produced(
            id=f"{produced.id}-{name}",
            outputs={"value": found},
            type="parse",
            parse={"text": reference, "as": "regex", "pattern": pattern},
            origin=produced.id,
        )
        yield Column(source=source, array=("value",), field=(name,), values=[each[name] for each in found])


def _pattern(text: str, wanted: Sequence[str], name: str) -> str | None:
    around: list[tuple[str, str]] = []
    for core in wanted:
        place = text.find(core)
        if place < 0:
            return None
        start, end = text.rfind("\n", 0, place) + 1, text.find("\n", place)
        line = text[start : len(text) if end < 0 else end]
        left, _, right = line.partition(core)
        around.append((left, right))
    lefts, rights = {left for left, _ in around}, {right for _, right in around}
    inner = r"\S+" if not any(re.search(r"\s", core) for core in wanted) else ".+"
    if len(lefts) == 1 and len(rights) == 1:
        return f"^{_escaped(lefts.pop())}(?P<{name}>{inner}){_escaped(rights.pop())}$"
    if inner != r"\S+":
        return None
    if len(lefts) == 1 and all(right[:1].isspace() for right in rights):
        return rf"^{_escaped(lefts.pop())}(?P<{name}>\S+)\s"
    if len(rights) == 1 and all(left[-1:].isspace() for left in lefts):
        return rf"\s(?P<{name}>\S+){_escaped(rights.pop())}$"
    return rf"(?P<{name}>\S+)"


def _escaped(text: str) -> str:
    """Text in a pattern, with spaces as people write them."""
    return re.escape(text).replace("\\ ", " ")


def _arrays(value: object, path: ValuePath) -> Iterator[tuple[ValuePath, Sequence[object]]]:
    if isinstance(value, list | tuple):
        if len(value) >= 2:
            yield path, value
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from _arrays(item, (*path, key))


def _parsed(text: str) -> Iterator[tuple[str, object]]:
    if text.lstrip()[:1] in ("{", "["):
        try:
            yield "json", orjson.loads(text)
        except ValueError:
            try:
                yield "literal", ast.literal_eval(text.strip())
            except (ValueError, SyntaxError, MemoryError, RecursionError):
                pass
    elif "\n" in text:
        yield "lines", text.removesuffix("\n").split("\n")
