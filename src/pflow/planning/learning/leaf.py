"""Values taken apart into their scalars, and which of these say enough to be recognised elsewhere."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from pflow.core.template.compiled import ValuePath

MOST_LEAVES = 20_000
"""Scalars of one result that are looked at."""

_SHORTEST = 4
_SMALLEST = 100
_STOP = frozenset(
    [
        "true",
        "false",
        "null",
        "none",
        "main",
        "master",
        "default",
        "name",
        "text",
        "json",
        "list",
        "file",
        "path",
        "open",
        "closed",
        "done",
        "error",
    ]
)
_TOKEN = re.compile(r"[\w.@-]+")
_PLAIN_KEY = re.compile(r"[A-Za-z_][\w-]*")


def leaves(value: object, path: ValuePath = ()) -> Iterator[tuple[ValuePath, object]]:
    """Every scalar of a value with where it stands."""
    if isinstance(value, Mapping):
        for key, item in value.items():
            if isinstance(key, str) and _PLAIN_KEY.fullmatch(key):
                yield from leaves(item, (*path, key))
    elif isinstance(value, list | tuple):
        for index, item in enumerate(value):
            yield from leaves(item, (*path, index))
    else:
        yield path, value


def at(value: object, path: ValuePath) -> object:
    """What stands at a path; None if nothing does."""
    for key in path:
        if isinstance(value, Mapping):
            value = value.get(key)
        elif isinstance(value, list | tuple) and isinstance(key, int) and key < len(value):
            value = value[key]
        else:
            return None
    return value


def replaced(value: object, changes: Mapping[ValuePath, object], path: ValuePath = ()) -> object:
    """A copy of a value with other scalars at some paths."""
    if path in changes:
        return changes[path]
    if isinstance(value, Mapping):
        return {key: replaced(item, changes, (*path, key)) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [replaced(item, changes, (*path, index)) for index, item in enumerate(value)]
    return value


def says_enough(value: object, own: ValuePath = (), other: ValuePath = ()) -> bool:
    """Whether an equal value elsewhere is hardly chance; for short ones, the names of both places must agree."""
    if value is None or isinstance(value, bool) or value == "":
        return False
    if named(own) and named(own) == named(other):
        return True
    if isinstance(value, int | float):
        return abs(value) >= _SMALLEST
    return isinstance(value, str) and len(value) >= _SHORTEST and value.lower() not in _STOP


def named(path: ValuePath) -> str:
    """The last name in a path, as others may spell it, too."""
    names = [key for key in path if isinstance(key, str)]
    return names[-1].lower().replace("_", "").replace("-", "") if names else ""


def telling_words(text: str) -> set[str]:
    """The words of a text that would hardly stand in another one by chance."""
    found = (token.strip(".-") for token in _TOKEN.findall(text))
    return {token for token in found if len(token) >= 8 or (len(token) >= 4 and _has_sign(token))}


def _has_sign(token: str) -> bool:
    return any(char.isdigit() or char in "._@-" for char in token)


def spell_path(path: Sequence[str | int]) -> str:
    """A path as templates write it, after a name."""
    return "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in path)


def escaped(text: str) -> str:
    """Text in which nothing is a template."""
    return text.replace("${", "$${")
