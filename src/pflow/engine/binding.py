"""Inputs for a plan: coerced by their declared type, defaults filled in, everything missing reported at once."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping

import orjson

from pflow.core.advice import Advice
from pflow.core.document.document import Input
from pflow.core.errors import InputError
from pflow.core.json_type import describe, fits, with_article
from pflow.core.printable import is_text, shorten
from pflow.core.suggest import did_you_mean
from pflow.engine.plan import Plan

_BOOLEANS = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}
_MOST_DIGITS = 4300
"""Python refuses to read longer integers, which takes too long."""

_STRICTEST = ["boolean", "integer", "number", "array", "object", "any", "string"]


def bind_inputs(
    plan: Plan,
    params: Mapping[str, object],
    *,
    text: bool = False,
    secrets: Mapping[str, str] | None = None,
    left: Collection[str] = (),
) -> dict[str, object]:
    """The plan's inputs from what a caller gave.

    With `text` the values are words of a command line, turned into the declared type; without, they must
    already fit. A secret input that is not given is looked up in `secrets` by its name, also in upper case. Those that
    are `left` are bound by whoever drives the run. Raises `InputError` with every problem.
    """
    problems: list[str] = []
    missing: list[str] = []
    hints: list[str] = []
    bound: dict[str, object] = {}
    for name in params:
        if name not in plan.inputs:
            problems.append(
                f"unknown input `{shorten(name)}`" + (f", it has: {', '.join(plan.inputs)}" if plan.inputs else "")
            )
            hints.append(did_you_mean(name, plan.inputs))
    for name, declared in plan.inputs.items():
        if name in left:
            continue
        found = _looked_up(name, secrets or {}) if declared.secret else None
        if name in params or found is not None:
            given = params.get(name, found)
            try:
                as_text = text or name not in params
                bound[name] = _coerce(given, declared.type) if as_text else _fit(given, declared.type)
            except ValueError as error:
                problem = f"must be {with_article(declared.type)}" if declared.secret else error
                where = "" if name in params else ", and what the settings or the environment hold for it is not"
                problems.append(f"input `{name}` {problem}{where}")
        elif declared.has_default:
            bound[name] = declared.default
        elif declared.required:
            missing.append(name)
        else:
            bound[name] = None
        if name in bound and not _is_unicode(bound[name]):
            problems.append(f"input `{name}` holds text that is not Unicode")
    wrong = tuple(problems)
    problems.extend(f"missing input `{name}` ({_describe(plan.inputs[name])})" for name in missing)
    if problems:
        raise InputError(
            problems[0] if len(problems) == 1 else f"{len(problems)} problems with the inputs: " + "; ".join(problems),
            details={
                "missing": missing,
                "problems": problems,
                "inputs": {n: _describe(i) for n, i in plan.inputs.items()},
            },
            suggestions=[*(hint for hint in hints if hint), *_store_secrets(plan, missing)],
            missing=missing,
            wrong=wrong,
        )
    return bound


def _store_secrets(plan: Plan, missing: list[str]) -> list[str]:
    """How to give secrets without a command line or a conversation that others may read."""
    return [
        Advice("store the secret `{input}` with `{store_secret}`, which asks for it", input=name, name=name.upper())
        for name in missing
        if plan.inputs[name].secret
    ]


def unstored_secrets(plan: Plan, inputs: Mapping[str, object], stored: Mapping[str, str]) -> dict[str, object]:
    """The secret inputs that another process would not find by itself, with nothing but what is `stored`."""
    found: dict[str, object] = {}
    for name, declared in plan.inputs.items():
        if declared.secret and inputs.get(name) is not None:
            text = _looked_up(name, stored)
            try:
                elsewhere = declared.default if text is None else _coerce(text, declared.type)
            except ValueError:
                elsewhere = None
            if elsewhere != inputs[name]:
                found[name] = inputs[name]
    return found


def _looked_up(name: str, secrets: Mapping[str, str]) -> str | None:
    return secrets.get(name, secrets.get(name.upper()))


def coerce_text(value: str, kind: str, name: str) -> object:
    """A word of a command line as one of the types in `kind` (`integer`, `object|string`); raises `InputError`."""
    kinds = kind.split("|")
    for choice in [known for known in _STRICTEST if known in kinds] or ["any"]:
        try:
            return _coerce(value, choice)
        except ValueError as error:
            problem = str(error)
    raise InputError(f"`{name}` {problem}")


def _describe(declared: Input) -> str:
    return declared.type + (f", {declared.description}" if declared.description else "")


def misfit(value: object, kind: str) -> str:
    """Why a value that is no text of a command line cannot be an input of a type; "" if it can."""
    try:
        _fit(value, kind)
    except ValueError as error:
        return str(error)
    return ""


def _fit(value: object, kind: str) -> object:
    if kind == "integer" and isinstance(value, float) and value.is_integer():
        return int(value)
    if not fits(value, kind):
        raise ValueError(f"must be {with_article(kind)}, not {describe(value)}")
    return value


def _coerce(value: object, kind: str) -> object:
    if not isinstance(value, str):
        return _fit(value, kind)
    if kind == "string":
        return value
    try:
        if kind in ("integer", "number"):
            return _number(value, whole=kind == "integer")
        if kind == "boolean":
            return _BOOLEANS[value.lower()]
        if kind in ("array", "object"):
            return _fit(orjson.loads(value), kind)
    except (ValueError, KeyError) as error:
        raise ValueError(f"must be {with_article(kind)}, not `{shorten(value)}`") from error
    return value


def _is_unicode(value: object) -> bool:
    """Whether all text in a value is; what is not JSON at all is for others to judge."""
    if isinstance(value, str):
        return is_text(value)
    if isinstance(value, Mapping):
        return all(map(_is_unicode, (*value, *value.values())))
    return not isinstance(value, list | tuple) or all(map(_is_unicode, value))


def _number(value: str, *, whole: bool) -> float:
    digits = value[1:] if value[:1] in "+-" else value
    if digits.isascii() and digits.isdigit() and len(digits) < _MOST_DIGITS:
        return int(value)
    number = float(value)
    if whole or not math.isfinite(number):
        raise ValueError(value)
    return number


def recordable(plan: Plan, inputs: Mapping[str, object]) -> dict[str, object]:
    """The inputs without those that are secret, which no journal holds."""
    return {name: value for name, value in inputs.items() if not (name in plan.inputs and plan.inputs[name].secret)}
