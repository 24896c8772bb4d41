"""The arguments of a tool against its input schema, before the server sees them: everything that is wrong, by name.

The check is a courtesy to authors. What would take too long to check here is left to the server.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from itertools import islice
from typing import TYPE_CHECKING

import orjson

from pflow.core.errors import ServerError
from pflow.core.printable import shorten
from pflow.mcp.call.schema_cost import SchemaCost

if TYPE_CHECKING:
    from jsonschema_rs import Validator

SCHEMA_LIMIT = 1 << 20
"""Bytes of an input schema."""

_REGEX_LIMIT = 1 << 16
"""Bytes of a compiled pattern: with ten times as many, a letter may take 100 µs to match instead of one."""

# What a check may cost, in subschemas tried: to be made without asking, at all, and to have every error explained.
_EASY = 10_000_000
_HARD = 5_000_000
_DETAILED = 2_000
_DETAILED_BYTES = 1 << 15
_MOST_PROBLEMS = 50
_GENERAL = "the arguments do not fit the tool's input schema"
_DIALECTS = frozenset(("draft-04", "draft-06", "draft-07", "draft/2019-09", "draft/2020-12"))


Place = tuple[str | int, ...]


class SchemaCheck:
    """A JSON Schema, compiled. One that cannot be used raises `ValueError`."""

    def __init__(self, schema: object) -> None:
        self._schema = _copy(schema)
        self._cost = SchemaCost(self._schema)
        self._validator = _compile(self._schema, self._cost.patterns)

    def problems(self, arguments: object) -> list[str]:
        """Everything that is wrong with a value, at most 50 things; empty if it fits."""
        try:
            size = len(orjson.dumps(arguments))
            fixed = self._cost.fixed
            if (fixed is None or fixed * size > _EASY) and self._cost.of(arguments) > _HARD:
                return []
            if self._validator.is_valid(arguments):
                return []
        except (TypeError, ValueError) as error:
            return [f"the arguments cannot be sent as JSON: {shorten(str(error), 200)}"]
        return self._explain(arguments, size)

    def _explain(self, arguments: object, size: int) -> list[str]:
        # lazy: only wrong arguments need words, and they need the whole of jsonschema_rs
        from pflow.mcp.call.argument_problem import describe

        if size <= _DETAILED_BYTES and self._cost.of(arguments) <= _DETAILED:
            errors: list[ValueError] = list(self._validator.iter_errors(arguments))
        elif (self._cost.fixed or _DETAILED) < _DETAILED:
            errors = []
            try:
                self._validator.validate(arguments)
            except ValueError as error:
                errors = [error]  # a list of every error would hold the arguments once for each
        else:
            return [_GENERAL]
        errors.sort(key=lambda error: len(getattr(error, "instance_path", ())))
        told = (text for error in errors for text in describe(error, self._schema, arguments))
        found = dict.fromkeys(shorten(text, 300) for text in told)
        shown = list(islice(found, _MOST_PROBLEMS))
        if len(found) > _MOST_PROBLEMS:
            shown.append(f"… and {len(found) - _MOST_PROBLEMS:,} more")
        return shown or [_GENERAL]


class ArgumentCheck(SchemaCheck):
    """An input schema, compiled. A schema that cannot be used raises `ServerError` and leaves other tools alone."""

    def __init__(self, schema: object, *, server: str, tool: str) -> None:
        try:
            _check_object(schema)
            super().__init__(schema)
        except ValueError as error:
            raise ServerError(
                f"tool `{tool}` of server `{server}` has an input schema that cannot be used: {why_unusable(error)}",
                details={"server": server, "tool": tool},
                suggestions=[f"report it to the maintainers of `{server}`; its other tools can be used"],
            ) from None

    def problems_of_literals(
        self, arguments: Mapping[str, object], unknown: Collection[Place]
    ) -> list[tuple[Place, str]]:
        """What is wrong with arguments whatever the values at the `unknown` places will be, each with its place.

        What is missing at the top is not a problem: it may still come from elsewhere.
        """
        # lazy: only wrong arguments need words, and they need the whole of jsonschema_rs
        from pflow.mcp.call.argument_problem import describe
        from pflow.mcp.call.literal_problem import is_certain

        try:
            size = len(orjson.dumps(arguments))
            if size > _DETAILED_BYTES or self._cost.of(arguments) > _DETAILED or self._validator.is_valid(arguments):
                return []
        except (TypeError, ValueError):
            return []
        errors = islice(self._validator.iter_errors(arguments), _MOST_PROBLEMS)
        found = {
            (tuple(error.instance_path), shorten(text, 300)): None
            for error in errors
            if is_certain(error, unknown)
            for text in describe(error, self._schema, arguments)
        }
        return list(found)


def why_unusable(error: ValueError) -> str:
    """What is wrong with a schema that cannot be used."""
    return shorten(str(getattr(error, "message", error)), 300)


def _check_object(schema: object) -> None:
    kind = schema.get("type", "object") if isinstance(schema, Mapping) else "object"
    if kind != "object" and not (isinstance(kind, list) and "object" in kind):
        raise ValueError("it describes something other than an object")


def _copy(schema: object) -> dict[str, object]:
    """The schema as a value of our own, in a dialect that is known."""
    if not isinstance(schema, Mapping):
        raise ValueError("it is not an object")
    try:
        data = orjson.dumps(schema)
    except TypeError as error:
        raise ValueError(f"it is not JSON: {error}") from None
    if len(data) > SCHEMA_LIMIT:
        raise ValueError(f"it has {len(data):,} bytes, and may have {SCHEMA_LIMIT:,}")
    copy: dict[str, object] = orjson.loads(data)
    said = copy.pop("$schema", None)
    if isinstance(said, str) and said.partition("json-schema.org/")[2].rstrip("#").removesuffix("/schema") in _DIALECTS:
        copy["$schema"] = said
    return copy


def _compile(schema: dict[str, object], patterns: list[dict[str, object]]) -> Validator:
    try:
        return _make(schema)
    except ValueError:
        hard = [holder for holder in patterns if not _is_usable(holder["pattern"])]
        if not hard:
            raise
    for holder in hard:
        del holder["pattern"]  # it needs backtracking and could be made to hang us; the server checks it as well
    return _make(schema)


def _is_usable(pattern: object) -> bool:
    try:
        _make({"$schema": "https://json-schema.org/draft/2020-12/schema", "pattern": pattern})
    except ValueError:
        return False
    return True


def _make(schema: dict[str, object]) -> Validator:
    # lazy: 17 ms, and only steps that call MCP servers need it
    from jsonschema_rs import Draft4Validator, Draft7Validator, RegexOptions, validator_for

    limits = RegexOptions(size_limit=_REGEX_LIMIT, dfa_size_limit=_REGEX_LIMIT)
    try:
        return validator_for(schema, validate_formats=False, retriever=_refuse, pattern_options=limits)
    except ValueError:
        if "$schema" in schema:
            raise
        # Many servers use the keywords of older dialects and do not say which.
        for older in (Draft7Validator, Draft4Validator):
            try:
                return older(schema, validate_formats=False, retriever=_refuse, pattern_options=limits)
            except ValueError:
                continue
        raise


def _refuse(uri: str) -> dict[str, object]:
    raise ValueError(f"`{shorten(uri)}` is not part of the schema")
