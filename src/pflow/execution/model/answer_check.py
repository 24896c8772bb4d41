"""Whether a value fits the schema of an answer: for agents that answer prompts in place of a model."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

import orjson

from pflow.core.errors import InputError
from pflow.core.json_type import JSON_TYPES
from pflow.mcp.call.argument import SchemaCheck, why_unusable
from pflow.mcp.call.argument_problem import WHOLE

_MOST_TOLD = 5


def check_answer(schema: Mapping[str, object], value: object) -> None:
    """Raise `InputError` that says everything which is wrong with an answer."""
    found = _check_of(orjson.dumps(schema)).problems(value)
    if not found:
        return
    problems = [one.replace(WHOLE, "the answer", 1) for one in found]
    told = "; ".join(problems[:_MOST_TOLD])
    more = f"; and {len(problems) - _MOST_TOLD} more" if len(problems) > _MOST_TOLD else ""
    raise InputError(
        f"the answer does not fit its schema: {told}{more}",
        details={"problems": problems, "schema": dict(schema)},
        suggestions=["correct it, and answer again; the question stays open"],
    )


def schema_problem(schema: Mapping[str, object]) -> tuple[str, tuple[str | int, ...]]:
    """Why a schema cannot be used, and where in it that is seen; nothing if it can."""
    try:
        SchemaCheck(schema)
    except ValueError as error:
        place = tuple(getattr(error, "instance_path", None) or ())
        if place[-1:] == ("type",):
            return f"its types are {', '.join(sorted(JSON_TYPES))}", place
        return why_unusable(error), place
    return "", ()


@lru_cache(maxsize=16)
def _check_of(schema: bytes) -> SchemaCheck:
    return SchemaCheck(orjson.loads(schema))
