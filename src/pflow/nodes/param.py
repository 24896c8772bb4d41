"""Reads a node's parameters in the types that it needs. A wrong one is a `StepError` that names it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, TypeVar

import orjson

from pflow.core.duration import read_seconds, show_duration
from pflow.core.errors import StepError
from pflow.core.json_type import describe, fits
from pflow.core.printable import shorten

Params = Mapping[str, Any]
D = TypeVar("D")

LONGEST_SECONDS = 86_400.0
"""A day; a step that may take longer has no time limit."""


def text(params: Params, name: str, default: str = "", *, such_as: str = "") -> str:
    """A string; null counts as an empty one if that is the default."""
    value = params.get(name, default)
    if value is None and not default:
        return ""
    if not isinstance(value, str):
        raise wrong(name, f"a string such as `{such_as}`" if such_as else "a string", value)
    return value


def required_text(params: Params, name: str, *suggestions: str) -> str:
    """A string that is more than blanks."""
    value = text(params, name)
    if not value.strip():
        raise StepError(f"`{name}` is empty", suggestions=suggestions)
    return value


def path(params: Params, name: str, default: str | None = None) -> str:
    """A path, `~` expanded, otherwise as the author wrote it."""
    value = params.get(name, default)
    if not isinstance(value, str) or not value:
        raise wrong(name, "a path", value)
    if "\0" in value:
        raise StepError(f"`{name}` contains a NUL character, so it is not a path")
    return os.path.expanduser(value) if value.startswith("~") else value  # noqa: PTH111 keeps unknown users


def strings(params: Params, name: str, of: str = "strings") -> list[str] | None:
    """An array of strings; `of` says of what."""
    value = params.get(name)
    if value is None or (isinstance(value, list) and all(isinstance(one, str) for one in value)):
        return value
    raise wrong(name, f"an array of {of}", value)


def mapping(params: Params, name: str, of: str = "") -> Mapping[str, Any]:
    """An object; `of` says of what."""
    value = params.get(name) or {}
    if not isinstance(value, Mapping):
        raise wrong(name, f"an object of {of}" if of else "an object", value)
    return value


def flag(params: Params, name: str) -> bool:
    """True or false; false if it is left out."""
    value = params.get(name, False)
    if not isinstance(value, bool):
        raise wrong(name, "true or false", value)
    return value


def seconds(params: Params, name: str, default: D, *, most: float = LONGEST_SECONDS) -> float | D:
    """A time above 0."""
    value = params.get(name)
    if value is None:
        return default
    found = read_seconds(value)
    if found is None:
        wanted = "a duration such as `90s` or `15m`"
        raise (
            StepError(f"`{name}` must be {wanted}, not `{shorten(value)}`")
            if isinstance(value, str)
            else wrong(name, wanted, value)
        )
    if not 0 < found <= most:
        raise StepError(f"`{name}` must be above 0 and at most {show_duration(most)}, not {value}")
    return found


def number(params: Params, name: str, default: D, *, most: float, least: float = 0) -> float | D:
    """A number from `least` to `most`; without `least`, any above 0."""
    value = params.get(name)
    if value is None:
        return default
    if not fits(value, "number") or not least <= value <= most or not value:
        limits = f"from {least:g} to {most:,.0f}" if least else f"above 0 and at most {most:,.0f}"
        raise _wrong_number(name, f"a number {limits}", value)
    return float(value)


def integer(params: Params, name: str, default: D, *, least: int = 0, most: int) -> int | D:
    """A whole number from `least` to `most`."""
    value = params.get(name)
    if value is None:
        return default
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        raise _wrong_number(name, f"a whole number from {least} to {most:,}", value)
    return value


def choice(params: Params, name: str, known: tuple[str, ...]) -> str:
    """One of the known words; the first if it is left out."""
    value = text(params, name) or known[0]
    if value not in known:
        raise StepError(f"`{name}` is `{shorten(value)}`", suggestions=[f"use {', '.join(known)}"])
    return value


def utf8(name: str, value: str) -> bytes:
    """A string as bytes. Raises `StepError` for half a surrogate pair, which has none."""
    try:
        return value.encode()
    except UnicodeEncodeError:
        raise StepError(f"`{name}` contains text that is not valid Unicode") from None


def json_bytes(name: str, value: object, option: int = 0) -> bytes:
    """A value as JSON, with options of `orjson`. Raises `StepError` for one that JSON does not have."""
    try:
        return orjson.dumps(value, option=option)
    except TypeError as error:
        raise StepError(f"`{name}` cannot be written as JSON: {error}") from None


def wrong(name: str, wanted: str, value: object) -> StepError:
    """What to raise about a parameter that does not fit."""
    return StepError(f"`{name}` must be {wanted}, not {describe(value)}")


def _wrong_number(name: str, wanted: str, value: object) -> StepError:
    return StepError(f"`{name}` must be {wanted}, not {value}") if fits(value, "number") else wrong(name, wanted, value)
