"""Templates: `${name}` in a document's values, parsed once, looked up and nothing more.

`${name}`, `${node.output}`, `${node.result.items[0]["odd key"]}`, `${name:-default}`; `$${` is a literal `${`.
There are no expressions, and a value that holds `${…}` is data. `$$${a}` is a `$` and a literal `${a}`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import orjson

from pflow.core.interface import MISSING, Slot
from pflow.core.printable import cut
from pflow.core.template.compiled import Compiled, Lookup, Parts, Problem, Reference, bounded

_OPEN = re.compile(r"\$\$\{|\$\{")
_BODY = re.compile(
    r'([A-Za-z_][A-Za-z0-9_-]*)((?:\.[\w-]+|\[[0-9]{1,9}\]|\["(?:[^"\\]|\\.)*"\])*)(?::-([^{}]*))?\}',
    re.DOTALL,
)
_PART = re.compile(r'\.([\w-]+)|\[([0-9]+)\]|\[("(?:[^"\\]|\\.)*")\]', re.DOTALL)
_SHOWN_CHARACTERS = 60
_LITERAL = "write `$${` for a literal `${`"


class _Single(Compiled):
    __slots__ = ()

    def render(self, lookup: Lookup) -> object:
        return lookup(self.references[0])


class _Text(Parts):
    __slots__ = ()

    def render(self, lookup: Lookup) -> object:
        return "".join(bounded(self._parts, lookup))


class _Object(Compiled):
    __slots__ = ("_changing", "_fixed")

    def __init__(self, fixed: Mapping[str, object], changing: Mapping[str, Compiled]) -> None:
        super().__init__(references=(reference for part in changing.values() for reference in part.references))
        self._fixed = fixed
        self._changing = changing

    def render(self, lookup: Lookup) -> object:
        return {**self._fixed, **{key: part.render(lookup) for key, part in self._changing.items()}}


class _Array(Compiled):
    __slots__ = ("_parts",)

    def __init__(self, parts: Sequence[Compiled]) -> None:
        super().__init__(references=(reference for part in parts for reference in part.references))
        self._parts = parts

    def render(self, lookup: Lookup) -> object:
        return [part.render(lookup) for part in self._parts]


def compile_value(value: object, slot: Slot = "value") -> tuple[Compiled, list[Problem]]:
    """Parse the templates in a value, for the kind of place it stands in."""
    problems: list[Problem] = []
    if slot == "raw" or not isinstance(value, str) or slot == "value":
        return (Compiled(value) if slot == "raw" else _compile(value, (), problems)), problems
    if slot == "url" and "${" not in value:
        return Compiled(value), problems
    parts, problems = split_text(value)
    if slot == "shell":
        from pflow.core.template.shell_text import compile_shell  # lazy: only documents with shell steps need it

        compiled, found = compile_shell(parts)
    else:
        from pflow.core.template.url_text import compile_url  # lazy: only documents with http steps need it

        compiled, found = compile_url(parts)
    return compiled, [*problems, *found]


def _compile(value: object, path: tuple[str | int, ...], problems: list[Problem]) -> Compiled:
    if isinstance(value, str):
        return _compile_text(value, path, problems)
    if isinstance(value, Mapping):
        fixed: dict[str, object] = {}
        changing: dict[str, Compiled] = {}
        for key, item in value.items():
            if isinstance(key, str) and "${" in key:
                problems.append(Problem(f"templates do not apply in keys: `{cut(key)}`", _LITERAL, path))
            part = _compile(item, (*path, key), problems)
            fixed[key] = item
            if part.references or part.value is not item:
                changing[key] = part
        return _Object(fixed, changing) if changing else Compiled(value)
    if isinstance(value, list | tuple):
        parts = [_compile(item, (*path, index), problems) for index, item in enumerate(value)]
        same = all(not part.references and part.value is item for part, item in zip(parts, value, strict=True))
        return Compiled(value) if same else _Array(parts)
    return Compiled(value)


def _compile_text(text: str, path: tuple[str | int, ...], problems: list[Problem]) -> Compiled:
    if "${" not in text:
        return Compiled(text)
    parts, found = split_text(text)
    problems.extend(p._replace(path=path) for p in found)
    if len(parts) == 1 and isinstance(parts[0], Reference):
        return _Single(references=(parts[0],))
    if all(isinstance(part, str) for part in parts):
        return Compiled("".join(part for part in parts if isinstance(part, str)))
    return _Text(parts)


def split_text(text: str) -> tuple[list[str | Reference], list[Problem]]:
    """The text as literal parts and references, in order; a malformed template stays literal and is a problem."""
    parts: list[str | Reference] = []
    problems: list[Problem] = []
    position = close = 0
    while (found := _OPEN.search(text, position)) is not None:
        start = found.start()
        if start > position:
            parts.append(text[position:start])
        if found[0] == "$${":
            parts.append("${")
            position = found.end()
            continue
        body = _BODY.match(text, found.end())
        if body is None or body[1].startswith("__"):
            # Only ever forward, and only a little shown, so that a string of nothing but `${` takes linear time.
            if 0 <= close < found.end():
                close = text.find("}", found.end())
            end = close + 1 if close >= 0 else len(text)
            problems.append(_problem(text[start : min(end, start + _SHOWN_CHARACTERS + 1)], start, closed=close >= 0))
            parts.append("${")
            position = found.end()
            continue
        default: object = MISSING if body[3] is None else body[3]
        parts.append(Reference(body[1], _read_path(body[2]), default, text[start : body.end()], start))
        position = body.end()
    if position < len(text):
        parts.append(text[position:])
    return parts, problems


def references_of(text: str) -> list[Reference]:
    """The templates in a string."""
    return [part for part in split_text(text)[0] if isinstance(part, Reference)]


def _read_path(text: str) -> tuple[str | int, ...]:
    path: list[str | int] = []
    for part in _PART.finditer(text):
        if part[1] is not None:
            path.append(part[1])
        elif part[2] is not None:
            path.append(int(part[2]))
        else:
            path.append(_unquote(part[3]))
    return tuple(path)


def _unquote(text: str) -> str:
    try:
        return str(orjson.loads(text))
    except ValueError:
        return text[1:-1]


def _problem(shown: str, offset: int, *, closed: bool) -> Problem:
    if not closed:
        return Problem(f"`{cut(shown)}` opens a template that never ends", _LITERAL, (), offset)
    inner = shown[2:].removesuffix("}")
    if inner.startswith("__"):
        return Problem(f"`{cut(shown)}`: names that start with `__` are reserved", _LITERAL, (), offset)
    if "${" in inner:
        return Problem(f"`{cut(shown)}`: templates do not nest", "give each value a name of its own", (), offset)
    return Problem(
        f"`{cut(shown)}` is not a template: only names, `.key`, `[0]` and `:-default` are",
        f"compute it in a `code` step, or {_LITERAL}",
        (),
        offset,
    )
