"""Templates: `${name}` in a document's values, parsed once, looked up and nothing more.

`${name}`, `${node.output}`, `${node.result.items[0]["odd key"]}`, `${name:-default}`; `$${` is a literal `${`.
There are no expressions, and a value that holds `${…}` is data. `$$${a}` is a `$` and a literal `${a}`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

import orjson

from pflow.core.interface import MISSING, Slot
from pflow.core.json_type import describe
from pflow.core.printable import cut
from pflow.core.template.compiled import (
    Compiled,
    Given,
    KindsAt,
    Lookup,
    Parts,
    Problem,
    Reference,
    ValuePath,
    as_text,
    bounded,
)

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
    is_single = True

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

    def places(self, path: ValuePath = ()) -> Iterator[tuple[ValuePath, Compiled]]:
        for key, part in self._changing.items():
            yield from part.places((*path, key))

    def converted(self, kinds: KindsAt, path: ValuePath = ()) -> Compiled:
        return _Object(self._fixed, {key: part.converted(kinds, (*path, key)) for key, part in self._changing.items()})


class _Array(Compiled):
    __slots__ = ("_parts",)

    def __init__(self, parts: Sequence[Compiled]) -> None:
        super().__init__(references=(reference for part in parts for reference in part.references))
        self._parts = parts

    def render(self, lookup: Lookup) -> object:
        return [part.render(lookup) for part in self._parts]

    def places(self, path: ValuePath = ()) -> Iterator[tuple[ValuePath, Compiled]]:
        for index, part in enumerate(self._parts):
            yield from part.places((*path, index))

    def converted(self, kinds: KindsAt, path: ValuePath = ()) -> Compiled:
        return _Array([part.converted(kinds, (*path, index)) for index, part in enumerate(self._parts)])


def compile_value(
    value: object, slot: Slot = "value", *, beside: Mapping[str, object] | None = None
) -> tuple[Compiled, list[Problem]]:
    """Parse the templates in a value, for the kind of place it stands in.

    A command is checked with the params `beside` it: its variables and its standard input.
    """
    problems: list[Problem] = []
    if slot == "raw":
        return Compiled(value), problems
    if slot == "shell" and isinstance(value, str | list):
        return _compile_command(value, given_beside(beside or {}))
    if slot == "env":
        return _compile_env(value)
    if slot != "url" or not isinstance(value, str):
        return _compile(value, (), problems), problems
    if "${" not in value:
        return Compiled(value), problems
    from pflow.core.template.url_text import compile_url  # lazy: only documents with http steps need it

    parts, problems = split_text(value)
    compiled, found = compile_url(parts)
    return compiled, [*problems, *found]


def _compile_command(value: str | list[object], given: Given) -> tuple[Compiled, list[Problem]]:
    if isinstance(value, str):
        from pflow.core.template.shell_text import compile_shell  # lazy: only documents with shell steps need it

        parts, problems = split_text(value)
        compiled, found = compile_shell(parts, given)
        return compiled, [*problems, *found]
    from pflow.core.template.argument_list import compile_arguments  # lazy: only documents with shell steps need it

    items: list[list[str | Reference]] = []
    problems = []
    for index, item in enumerate(value):
        if not isinstance(item, str | int | float):
            message = f"an argument is a string, a number or a boolean, not {describe(item)}"
            return Compiled(value), [Problem(message, "write each argument as an item of its own", (index,))]
        parts, found = split_text(as_text(item))
        items.append(parts)
        problems.extend(p._replace(path=(index,)) for p in found)
    compiled, found = compile_arguments(items, value, given)
    return compiled, [*problems, *found]


def given_beside(beside: Mapping[str, object]) -> Given:
    """Which variables of a command, and whether its standard input, hold values of templates."""
    env = beside.get("env")
    variables = {}
    for name, item in env.items() if isinstance(env, Mapping) else ():
        if found := _first_template(item):
            variables[str(name)] = found
    return Given(variables, _first_template(env) if isinstance(env, str) else "", _first_template(beside.get("stdin")))


def _first_template(value: object) -> str:
    references = _compile(value, (), []).references
    return references[0].text if references else ""


def _compile_env(value: object) -> tuple[Compiled, list[Problem]]:
    problems: list[Problem] = []
    compiled = _compile(value, (), problems)
    if not compiled.references:
        return compiled, problems
    from pflow.core.template.env_text import check_env, check_later  # lazy: few commands have variables with templates

    problems += check_env(given_beside({"env": value}))
    return (compiled if isinstance(value, Mapping) else check_later(compiled)), problems


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
        f"compute it in a `let` step, and name what that gives, or {_LITERAL}",
        (),
        offset,
    )
