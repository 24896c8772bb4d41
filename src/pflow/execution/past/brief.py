"""Rendered values as a trace shows them: large ones by reference, or with their beginning."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import orjson

from pflow.core.errors import NotFoundError
from pflow.engine.ports import Journal
from pflow.engine.value import digest

_MOST_BYTES = 20_000
"""Of JSON, for a value that stands there in full."""

_MOST_PARTS = 200
"""Of an object or a list whose parts are looked at one by one."""


def brief(journal: Journal, run_id: str, value: object, room: int = 10 * _MOST_BYTES) -> object:
    """The value as it is, or, if it is large, what stands for it; all of it together in about `room` bytes."""
    data = orjson.dumps(value, default=str, option=orjson.OPT_NON_STR_KEYS)
    if len(data) <= min(_MOST_BYTES, room):
        return value
    sha = digest(data)
    try:
        journal.value(run_id, sha)
    except NotFoundError:
        pass
    else:
        return {"$value": sha, "size": len(data)}
    if isinstance(value, Mapping) and len(value) <= _MOST_PARTS:
        return {key: brief(journal, run_id, part, room // len(value)) for key, part in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str) and len(value) <= _MOST_PARTS:
        return [brief(journal, run_id, part, room // len(value)) for part in value]
    text = value if isinstance(value, str) else data[: 4 * room].decode(errors="ignore")
    return {"$preview": text[: min(_MOST_BYTES, room)], "size": len(data)}
