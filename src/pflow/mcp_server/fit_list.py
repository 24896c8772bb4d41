"""Lists within the number of bytes that an agent gets to see at once."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate

import orjson

from pflow.core.json_type import Json, JsonView
from pflow.core.printable import cut, shorten
from pflow.mcp_server.envelope import ToolReply, succeed


def fit(entries: Sequence[Json], limit: int) -> tuple[list[Json], int]:
    """As many entries as fit into `limit` bytes, descriptions shortened before entries are left out; how many were."""
    for width in (None, 80, 0):
        shown = [_cut(entry, width) for entry in entries]
        sizes = [len(orjson.dumps(entry)) + 1 for entry in shown]
        if sum(sizes) <= limit:
            return shown, 0
    count = bisect_right([*accumulate(sizes)], limit)
    return shown[:count], len(shown) - count


def within(entries: Sequence[Json], limit: int, brief: Sequence[str]) -> list[Json]:
    """The entries; once there is no room for more, of the later ones only the fields that name them."""
    room = limit
    shown: list[Json] = []
    for entry in entries:
        room -= len(orjson.dumps(entry))
        shown.append(entry if room >= 0 or not shown else pick(entry, brief))
    return shown


def list_reply(
    name: str, entries: Sequence[Json], limit: int, *, none: str, advice: str, notices: Sequence[str] = ()
) -> ToolReply:
    """The answer of a tool that lists things: as many as fit, under `name`, how many there are, and `notices`."""
    shown, more = fit(entries, limit)
    data: Json = {name: shown, "count": len(entries)}
    lines = [entry_line(entry) for entry in shown] or [none]
    if more:
        data["more"] = more
        lines.append(f"… {more} more; {advice}")
    if notices:
        data["notices"] = [*notices]
        lines.extend(notices)
    return succeed(data, "\n".join(lines))


def entry_line(entry: JsonView) -> str:
    """A node type or a workflow on one line: its name, and what it is for."""
    kind = "  (draft)" if entry.get("is_temp") else ""
    return f"{entry['name']}{kind}  {shorten(str(entry.get('description') or ''), 100)}".rstrip()


def pick(entry: JsonView, names: Sequence[str]) -> Json:
    """The fields of an entry with these names, as far as it has them."""
    return {name: entry[name] for name in names if name in entry}


def _cut(entry: Json, width: int | None) -> Json:
    description = entry.get("description")
    if width is None or not isinstance(description, str) or len(description) <= width:
        return dict(entry)
    if not width:
        return {name: value for name, value in entry.items() if name != "description"}
    return {**entry, "description": cut(description, width)}
