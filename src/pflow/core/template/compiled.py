"""Values with parsed templates: what they name, and how they are filled in or refused."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, Protocol, runtime_checkable

import orjson

from pflow.core.conversion import convert
from pflow.core.errors import StepError, UnresolvedError
from pflow.core.interface import MISSING
from pflow.core.json_type import type_of
from pflow.core.printable import shorten
from pflow.core.suggest import did_you_mean

ValuePath = tuple[str | int, ...]
"""Where something stands inside a value."""


class Reference(NamedTuple):
    """One template: what it names, the path into it, and the default for when that is missing."""

    root: str
    path: ValuePath
    default: object
    text: str
    offset: int


OWN_NAMES = ("run", "visit", "steps", "error")
"""Names that every run has, unless its document gives them to something else."""

STATE = "state"
"""The name of what a workflow keeps between runs, where its document declares that it does."""

RUN_FIELDS = ("id", "name", "started_at", "date")
"""What every run tells of itself, as text. In `finally` there is `status` as well."""

MOST_BUILT = 64_000_000
"""Characters, or bytes of JSON, that several templates may build in one place. One that passes a value on is free."""


class Taken(NamedTuple):
    """What a place takes: types of JSON, and how to read the text of a default as one of them."""

    kinds: frozenset[str]
    read: Callable[[str], object]


KindsAt = Callable[[ValuePath], Taken | None]
"""What the place at a path inside a value takes; None if it takes anything."""

Lookup = Callable[[Reference], object]
"""Gives a reference's value; raises `UnresolvedError`."""


@runtime_checkable
class HasNames(Protocol):
    """A lookup that expressions can use, too."""

    @property
    def names(self) -> Mapping[str, object]:
        """Every name with its value."""


JsonIn = Callable[[str], object | None]
"""Gives the JSON object or array that a text holds, None if it holds none."""


class Problem(NamedTuple):
    """What is wrong with a template: where in the value, and what to write instead.

    `newer` is that of an `Issue`: the value must still render, for runs that were recorded before the check.
    """

    message: str
    hint: str = ""
    path: ValuePath = ()
    offset: int = 0
    newer: bool = False


class Given(NamedTuple):
    """What a command gets besides its text: variables and standard input, by the templates that they hold.

    `every` is the template that gives all variables, with names that only a run knows.
    """

    variables: Mapping[str, str] = {}
    every: str = ""
    stdin: str = ""


class Compiled:
    """A value with its templates parsed. This one has no templates, and renders to the same object."""

    __slots__ = ("references", "value")
    is_single = False
    """Whether it is one template and nothing else, and so keeps the type of its value."""
    is_computed = False
    """Whether expressions give it."""

    def __init__(self, value: object = None, references: Iterable[Reference] = ()) -> None:
        self.references = tuple(references)
        self.value = value

    def render(self, lookup: Lookup) -> object:
        """The value with every template filled in."""
        return self.value

    def named(self) -> Mapping[str, Compiled]:
        """The parts of it that have names, such as the parameters of a node."""
        return {}

    def places(self, path: ValuePath = ()) -> Iterator[tuple[ValuePath, Compiled]]:
        """The strings with templates in them, each with the path to it inside the value."""
        if self.references:
            yield path, self

    def converted(self, kinds: KindsAt, path: ValuePath = ()) -> Compiled:
        """The same, with the value of each string with templates in it turned into what its place takes."""
        taken = kinds(path) if self.references else None
        return self if taken is None else Converted(self, taken)


class Converted(Compiled):
    """A string with templates in it, and the types that its place takes.

    The default of a template is text of the document, and is read as a value of the place.
    """

    __slots__ = ("_default", "_kinds", "_written", "inner")

    def __init__(self, inner: Compiled, taken: Taken) -> None:
        super().__init__(references=inner.references)
        self.inner = inner
        self._kinds = taken.kinds
        self._written = inner.references[0].default if inner.is_single else MISSING
        self._default = self._written if self._written is MISSING else taken.read(str(self._written))

    def render(self, lookup: Lookup) -> object:
        value = self.inner.render(lookup)
        return self._default if value is self._written else self._fit(value)

    def _fit(self, value: object) -> object:
        return convert(value, self._kinds)


class WithDefault(Converted):
    """A template of which only the default is read as a value of its place: what it names stays as it is."""

    __slots__ = ()

    def _fit(self, value: object) -> object:
        return value


class Parts(Compiled):
    """Text around templates, in its order; subclasses say how it is put together."""

    __slots__ = ("_parts",)

    def __init__(self, parts: Sequence[str | Reference]) -> None:
        super().__init__(references=(part for part in parts if isinstance(part, Reference)))
        self._parts = tuple(parts)

    @property
    def literal(self) -> str:
        """The text around the templates."""
        return "".join(part for part in self._parts if isinstance(part, str))

    def converted(self, kinds: KindsAt, path: ValuePath = ()) -> Compiled:
        taken = kinds(path)
        return self if taken is None or "string" in taken.kinds else Converted(self, taken)


class Refused(Compiled):
    """A value with problems: what it names can still be checked, but it never becomes a value."""

    __slots__ = ("_problem",)

    def __init__(self, references: Sequence[Reference], problem: Problem) -> None:
        super().__init__(references=references)
        self._problem = problem

    def render(self, lookup: Lookup) -> object:
        raise StepError(self._problem.message, suggestions=[self._problem.hint])


def refuse(references: Sequence[Reference], problems: list[Problem]) -> tuple[Compiled, list[Problem]]:
    """A value that never is one, with its problems."""
    return Refused(references, problems[0]), problems


def as_text(value: object) -> str:
    """A value inside longer text: strings as they are, everything else as JSON."""
    if isinstance(value, str):
        return value
    try:
        return orjson.dumps(value).decode()
    except TypeError as error:
        raise StepError(f"a value of type `{type(value).__name__}` cannot become text") from error


def bounded(parts: Sequence[str | Reference], lookup: Lookup) -> Iterator[str]:
    """Each part as text; raises `UnresolvedError` before there is more than templates may build."""
    built = 0
    for part in parts:
        text = part if isinstance(part, str) else as_text(lookup(part))
        built += len(text)
        if built > MOST_BUILT:
            written = "".join(part if isinstance(part, str) else part.text for part in parts)
            raise too_large(f"the text `{shorten(written)}`")
        yield text


def too_large(what: str) -> UnresolvedError:
    """What several templates build would be too large."""
    return UnresolvedError(
        f"{what} would be larger than {MOST_BUILT // 1_000_000} MB, the most that templates may build",
        suggestions=["pass large values on by themselves, or through files"],
    )


def descend(value: object, reference: Reference, opened: Mapping[int, JsonIn] = {}) -> object:
    """What stands at the reference's path inside its root's value; raises `UnresolvedError`.

    `opened` says at which depth text is read as the JSON that it holds, and how.
    """
    for depth, key in enumerate(reference.path):
        if isinstance(value, str) and depth in opened:
            held = opened[depth](value)
            value = value if held is None else held
        if isinstance(value, Mapping):
            name = key if isinstance(key, str) else str(key)
            if name in value:
                value = value[name]
                continue
        elif isinstance(value, list | tuple) and isinstance(key, int) and key < len(value):
            value = value[key]
            continue
        if reference.default is not MISSING:
            return reference.default
        raise _unresolved(value, reference, depth)
    return value


def spell(reference: Reference, depth: int) -> str:
    """What a reference names up to a depth of its path, as it is written inside of a template."""
    return reference.root + "".join(f"[{p}]" if isinstance(p, int) else f".{p}" for p in reference.path[:depth])


def _unresolved(value: object, reference: Reference, depth: int) -> UnresolvedError:
    at = spell(reference, depth)
    key = reference.path[depth]
    hint = ""
    if isinstance(value, Mapping):
        names = [str(name) for name in value]
        there = f"`{at}` is an object with " + (
            ", ".join(f"{n} ({type_of(value[n])})" for n in names[:20]) or "no keys"
        )
        hint = did_you_mean(str(key), names)
    elif isinstance(value, list | tuple):
        there = f"`{at}` is an array of {len(value)}"
    else:
        there = f"`{at}` is {type_of(value)}"
        if isinstance(value, str):
            from pflow.core.text_hint import parse_hint  # lazy: only for this error

            hint = parse_hint(f"${{{at}}}")
    return UnresolvedError(
        f"template `{reference.text}` not resolved: {there}, and has no `{key}`",
        details={"missing": [reference.text[2:-1]]},
        suggestions=[hint] if hint else [],
    )
