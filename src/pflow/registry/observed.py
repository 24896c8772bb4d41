"""The observed shapes of tools' results, kept beside the registry: names and types, no values."""

from __future__ import annotations

from collections.abc import Mapping
from threading import Lock
from typing import cast

import orjson

from pflow.core.errors import SecurityError, StorageError
from pflow.core.file.atomic import JSON_LIMIT
from pflow.core.file.home import Home
from pflow.core.file.state_file import Damage, StateFile
from pflow.core.json_type import Json
from pflow.core.schema_path import Schema
from pflow.registry.schema_inference import MAX_DEPTH, infer, infer_text, is_inferred, merge, trim

MOST_CALLS = 1_000
"""Calls are counted up to here; from then on only results of another shape are saved."""

_MOST_TOOLS = 5_000
_MOST_BYTES = 32_000
"""Bytes of one schema."""

_MOST_BYTES_IN_ALL = JSON_LIMIT // 4

Seen = tuple[Schema, int]
"""A schema, and in how many calls it was seen."""


class Observed:
    """The shapes of results by node type and definition; the file is read on first use.

    What other processes observe is seen from the next `flush` on. `notices` says what went wrong with the file;
    no problem here fails a run.
    """

    def __init__(self, home: Home, notices: list[str] | None = None) -> None:
        self._file = StateFile(home.observed, on_damage=self._begin_anew)
        self._stored: Json | None = None
        """What the file holds by node type, the least recently changed first."""

        self._new: dict[str, tuple[str, Seen]] = {}
        self._answers: dict[tuple[str, str], Seen | None] = {}
        self._lock = Lock()
        self.notices: list[str] = [] if notices is None else notices

    def record(self, node_type: str, manifest_hash: str, value: object) -> None:
        """Learn from the result of one successful call; writes no file."""
        self._learn(node_type, manifest_hash, infer(value))

    def record_text(self, node_type: str, manifest_hash: str, held: object | None) -> None:
        """Learn from a result that is declared as text: what the JSON in it looks like, None if there is none."""
        self._learn(node_type, manifest_hash, infer_text(held))

    def _learn(self, node_type: str, manifest_hash: str, schema: Schema) -> None:
        with self._lock:
            known_hash, known = self._new.get(node_type, ("", None))
            seen = _join(known if known_hash == manifest_hash else None, (schema, 1))
            self._new[node_type] = (manifest_hash, seen)
            self._answers.pop((node_type, manifest_hash), None)

    def schema(self, node_type: str, manifest_hash: str) -> Seen | None:
        """What was seen of a tool's results under this definition; the same object until that changes."""
        key = (node_type, manifest_hash)
        with self._lock:
            if key not in self._answers:
                if self._stored is None:
                    self._stored = self._read()
                stored = _decode(self._stored.get(node_type), manifest_hash)
                new_hash, new = self._new.get(node_type, ("", None))
                self._answers[key] = stored if new is None or new_hash != manifest_hash else _join(stored, new)
            return self._answers[key]

    def flush(self) -> None:
        """Write what is new, together with what other processes wrote in the meantime."""
        with self._lock:
            new, self._new = self._new, {}
            if self._stored is not None and not _add(dict(self._stored), new):
                return
            if not new:
                return
            self._answers.clear()
            try:
                with self._file.lock():
                    stored = self._file.read_locked() or {}
                    if _add(stored, new):
                        self._file.write(_encode(stored), durable=False)
            except (StorageError, SecurityError) as error:
                self._note(f"{error.message}; the observed shapes of tools' results were not saved")
                stored = dict(self._stored or {})
                _add(stored, new)  # still true for this process
            self._stored = stored

    def _read(self) -> Json:
        try:
            return self._file.read() or {}
        except (StorageError, SecurityError) as error:
            self._note(f"{error.message}; the observed shapes of tools' results are not known")
            return {}

    def _begin_anew(self, damage: Damage) -> Json:
        name = damage.path.name
        self._note(f"`{name}` was damaged; {damage.kept}. The shapes of tools' results are learned again")
        return {}

    def _note(self, notice: str) -> None:
        if notice not in self.notices:
            self.notices.append(notice)


def _add(stored: Json, new: Mapping[str, tuple[str, Seen]]) -> bool:
    """Put what is new at the end; whether there was any: past `MOST_CALLS`, one more call of a known shape is not."""
    changed = False
    for name, (manifest_hash, seen) in new.items():
        before = _decode(stored.get(name), manifest_hash)
        schema, calls = _join(before, seen)
        if before is None or (schema, calls) != before:
            stored.pop(name, None)
            stored[name] = {"manifest_hash": manifest_hash, "calls": calls, "schema": _small(schema)}
            changed = True
    return changed


def _join(known: Seen | None, new: Seen) -> Seen:
    if known is None:
        return new
    return merge(known[0], new[0]), min(known[1] + new[1], MOST_CALLS)


def _small(schema: Schema) -> Schema:
    """The schema, without its deepest parts if it takes too many bytes."""
    depth = MAX_DEPTH
    while len(orjson.dumps(schema)) > _MOST_BYTES:
        depth -= 1
        schema = trim(schema, depth)
    return schema


def _encode(stored: Json) -> bytes:
    """The file's bytes. Of too many tools, the least recently changed are dropped, also from `stored`."""
    excess = len(stored) - _MOST_TOOLS
    while True:
        for name in list(stored)[: max(0, excess)]:
            del stored[name]
        data = orjson.dumps(stored)
        if len(data) <= _MOST_BYTES_IN_ALL:
            return data
        excess = len(stored) // 2


def _decode(item: object, manifest_hash: str) -> Seen | None:
    """What an entry of the file says about a definition; None if it is about another one or is malformed."""
    if not isinstance(item, dict) or item.get("manifest_hash") != manifest_hash:
        return None
    calls, schema = item.get("calls"), item.get("schema")
    if type(calls) is not int or not 0 < calls <= MOST_CALLS or not is_inferred(schema):
        return None
    return cast("Schema", schema), calls
