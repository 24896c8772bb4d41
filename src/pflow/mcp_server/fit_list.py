"""Long lists within what an agent gets to see at once."""

from __future__ import annotations

from collections.abc import Sequence

import orjson

from pflow.core.json_type import Json
from pflow.core.printable import cut


def fit(entries: Sequence[Json], limit: int) -> tuple[list[Json], int]:
    """As many entries as fit into `limit` bytes, descriptions shortened before entries are left out; how many were."""
    for width in (None, 80, 0):
        shown = [_cut(entry, width) for entry in entries]
        sizes = [len(orjson.dumps(entry)) + 1 for entry in shown]
        if sum(sizes) <= limit:
            return shown, 0
    room = limit
    for count, size in enumerate(sizes):
        room -= size
        if room < 0:
            return shown[:count], len(shown) - count
    return shown, 0


def within(entries: Sequence[Json], limit: int, brief: Sequence[str]) -> list[Json]:
    """The entries; once there is no room for more, of the later ones only the fields that name them."""
    room = limit
    shown: list[Json] = []
    for entry in entries:
        room -= len(orjson.dumps(entry))
        shown.append(entry if room >= 0 or not shown else {name: entry[name] for name in brief if name in entry})
    return shown


def _cut(entry: Json, width: int | None) -> Json:
    description = entry.get("description")
    if width is None or not isinstance(description, str) or len(description) <= width:
        return dict(entry)
    if not width:
        return {name: value for name, value in entry.items() if name != "description"}
    return {**entry, "description": cut(description, width)}
