"""A schema as models can be given it, and their answers read and checked against it. Asks nobody."""

from __future__ import annotations

import re
from collections.abc import Mapping

import orjson

from pflow.adapters.model.message import Level
from pflow.core.errors import ModelError, ServerError
from pflow.core.json_type import Json, JsonView, type_of, with_article
from pflow.core.printable import shorten
from pflow.mcp.call.argument import ArgumentCheck

_WRAPPER = "value"
_FENCE = re.compile(r"```[a-zA-Z]*\s*\n(.*?)```", re.DOTALL)
_DEFINITIONS = ("$defs", "definitions")
_INSIDE = ("properties", *_DEFINITIONS)
_BESIDE = ("items", "anyOf", "allOf", "oneOf")
_SHOWN_PROBLEMS = 10
_NOT_JSON = "the answer is not JSON"


class Unfit(Exception):
    """An answer that does not fit; `problems` say why, and `is_json` whether it was JSON at all."""

    def __init__(self, problems: list[str], *, is_json: bool) -> None:
        super().__init__("; ".join(problems))
        self.problems = problems
        self.is_json = is_json


class Shape:
    """What an answer must look like. Providers only take objects, so that anything else travels inside of one."""

    def __init__(self, schema: JsonView) -> None:
        kind = schema.get("type")
        self._is_wrapped = kind != "object" and not ("properties" in schema and kind is None)
        self._schema = schema
        self.sent = _wrap(schema) if self._is_wrapped else dict(schema)
        try:
            self._check = ArgumentCheck(self.sent, server="", tool="")
        except ServerError as error:
            cause = error.message.rpartition("cannot be used: ")[2]
            raise ModelError(
                f"the schema cannot be used: {cause}", suggestions=["correct the `schema` of the step"]
            ) from None

    def at(self, level: Level) -> JsonView | None:
        """The schema as it is sent at a level; None if it cannot be had at that level without changing its meaning."""
        return _strict(self.sent) if level == "strict" else self.sent

    @property
    def words(self) -> str:
        """The instruction that goes with a prompt where a protocol knows no schemas."""
        text = orjson.dumps(self.sent).decode()
        return f"Answer only with one JSON object, without any other text, that fits this JSON Schema:\n{text}"

    def read(self, text: str) -> object:
        """The value that an answer is. Raises `Unfit`."""
        value = _find_json(text)
        if not isinstance(value, dict):
            raise Unfit([f"the answer must be an object, not {with_article(type_of(value))}"], is_json=True)
        if problems := self._check.problems(value):
            raise Unfit(problems[:_SHOWN_PROBLEMS], is_json=True)
        return value[_WRAPPER] if self._is_wrapped else value


def repair_words(problems: list[str]) -> str:
    """What a model is told whose answer does not fit."""
    listed = "\n".join(f"- {shorten(problem, 300)}" for problem in problems)
    return f"That answer does not fit the schema:\n{listed}\nAnswer again, only with the corrected JSON."


def _find_json(text: str) -> object:
    """The JSON in an answer, which may stand in a code fence or between words."""
    candidates = [text, *(found[1] for found in _FENCE.finditer(text))]
    first, last = text.find("{"), text.rfind("}")
    if 0 <= first < last:
        candidates.append(text[first : last + 1])
    for candidate in candidates:
        try:
            found: object = orjson.loads(candidate.strip())
        except ValueError:
            continue
        return found
    raise Unfit([_NOT_JSON], is_json=False)


def _wrap(schema: JsonView) -> Json:
    inner = {key: value for key, value in schema.items() if key not in (*_DEFINITIONS, "$schema")}
    shared = {key: schema[key] for key in _DEFINITIONS if key in schema}
    return {
        "type": "object",
        "properties": {_WRAPPER: inner},
        "required": [_WRAPPER],
        "additionalProperties": False,
        **shared,
    }


def _strict(schema: object) -> Json | None:
    """The schema with every object closed, as strict modes want it; None where a field is optional or a name open."""
    if not isinstance(schema, Mapping):
        return None
    closed: Json = dict(schema)
    if schema.get("type") == "object" or "properties" in schema:
        names = schema.get("properties")
        required = schema.get("required")
        if not isinstance(names, Mapping) or not isinstance(required, list) or set(required) != set(names):
            return None
        if schema.get("additionalProperties") not in (None, False):
            return None
        closed["additionalProperties"] = False
    for place in _INSIDE:
        if isinstance(found := schema.get(place), Mapping):
            parts = {name: _strict(part) for name, part in found.items()}
            if None in parts.values():
                return None
            closed[place] = parts
    for place in _BESIDE:
        found = schema.get(place)
        if isinstance(found, list):
            several = [_strict(part) for part in found]
            if None in several:
                return None
            closed[place] = several
        elif isinstance(found, Mapping):
            one = _strict(found)
            if one is None:
                return None
            closed[place] = one
    return closed
