"""Pages through a trace: the whole, one step, or one value by its path, large ones fetched from the journal."""

from __future__ import annotations

from collections.abc import Mapping

import orjson

from pflow.core.errors import NotFoundError, UsageError
from pflow.core.interface import MISSING
from pflow.core.suggest import nearest
from pflow.core.template import Reference, descend, references_of
from pflow.engine.ports import Journal

PAGE = 20_000


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
    value: object = trace if step is None else _step(trace, step)
    if field is None:
        return value
    found = references_of(f"${{root.{field}}}")
    if len(found) != 1:
        raise UsageError(f"`{field}` is not a path", suggestions=["write `outputs.report` or `outputs.items[0].title`"])
    run_id = str(trace.get("run_id", ""))
    for key in found[0].path:
        value = descend(_whole(value, journal, run_id), Reference("trace", (key,), MISSING, f"${{{field}}}", 0))
    return _page(_whole(value, journal, run_id), offset, limit)


def _step(trace: Mapping[str, object], name: str) -> Mapping[str, object]:
    steps = trace.get("steps")
    entries = [entry for entry in steps if isinstance(entry, dict)] if isinstance(steps, list) else []
    for entry in entries:
        if entry.get("step") == name:
            return entry
    names = [str(entry.get("step")) for entry in entries]
    near = nearest(name, names, limit=1)
    raise NotFoundError(
        f"the run has no step `{name}`",
        details={"steps": names},
        suggestions=[f"did you mean `{near[0]}`?"] if near else [],
    )


def _whole(value: object, journal: Journal, run_id: str) -> object:
    if isinstance(value, Mapping) and isinstance(value.get("$value"), str):
        return orjson.loads(journal.value(run_id, str(value["$value"])))
    return value


def _page(value: object, offset: int, limit: int | None) -> object:
    text = value if isinstance(value, str) else orjson.dumps(value, option=orjson.OPT_INDENT_2).decode()
    size = limit if limit is not None else PAGE
    if offset == 0 and len(text) <= size:
        return value
    end = min(offset + size, len(text))
    return {
        "text": text[offset:end],
        "offset": offset,
        "next": end if end < len(text) else None,
        "size": len(text),
    }
