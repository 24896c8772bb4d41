"""Pages through a trace: the whole, one step, or one value by its path, large ones fetched from the journal."""

from __future__ import annotations

from collections.abc import Mapping

import orjson

from pflow.core.document.position import show_path
from pflow.core.errors import NotFoundError, UsageError
from pflow.core.json_type import JsonView
from pflow.core.suggest import did_you_mean
from pflow.core.template.template import references_of
from pflow.engine.ports import Journal
from pflow.execution.past.about import find_entry
from pflow.execution.past.whole import WholeValues

PAGE_CHARACTERS = 20_000


def select(
    trace: Mapping[str, object],
    journal: Journal,
    *,
    step: str | None,
    field: str | None,
    offset: int,
    limit: int | None,
) -> object:
    """The chosen part of a trace."""
    run_id = str(trace.get("run_id", ""))
    values = WholeValues(journal, run_id)
    entry: JsonView | None = None if step is None else find_entry(trace, step, lambda: values.records)
    value: object = trace if entry is None else entry
    if field is None:
        return value
    found = references_of(f"${{root.{field}}}")
    if len(found) != 1:
        raise UsageError(f"`{field}` is not a path", suggestions=["write `outputs.report` or `outputs.items[0].title`"])
    for depth, key in enumerate(found[0].path):
        place = f"`{show_path(found[0].path[:depth])}`" if depth else "the trace" if step is None else f"step `{step}`"
        if isinstance(value, Mapping) and "step" in value:
            entry = value
        value = _enter(values.whole(value, entry), key, place)
    return _page(values.whole(value, entry), offset, limit)


def _enter(value: object, key: str | int, place: str) -> object:
    """What stands under one key of a value that itself stands at `place`."""
    if isinstance(value, Mapping) and str(key) in value:
        return value[str(key)]
    if isinstance(value, list) and isinstance(key, int) and key < len(value):
        return value[key]
    if isinstance(value, Mapping):
        names = [str(name) for name in value]
        hint = did_you_mean(str(key), names)
        raise NotFoundError(f"{place} has no `{key}`", details={"it has": names}, suggestions=[hint] if hint else [])
    kind = f"an array of {len(value)}" if isinstance(value, list) else "a single value"
    raise NotFoundError(f"{place} is {kind} and has no `{key}`")


def _page(value: object, offset: int, limit: int | None) -> object:
    text = value if isinstance(value, str) else orjson.dumps(value, option=orjson.OPT_INDENT_2).decode()
    size = limit if limit is not None else PAGE_CHARACTERS
    if offset == 0 and len(text) <= size:
        return value
    end = min(offset + size, len(text))
    return {
        "text": text[offset:end],
        "offset": offset,
        "next": end if end < len(text) else None,
        "size": len(text),
    }
