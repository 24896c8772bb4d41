"""What was learned about models: at which level each one keeps to a schema. It is kept in the home, and can be lost."""

from __future__ import annotations

from collections.abc import Sequence
from typing import get_args

from pflow.adapters.model.message import Level
from pflow.core.errors import StorageError
from pflow.core.file.home import Home
from pflow.core.file.state_file import StateFile
from pflow.core.json_type import Json, object_in

_VERSION = 1
_MOST_MODELS = 500


class LevelMemory:
    """The level of each model, by address and id."""

    def __init__(self, home: Home) -> None:
        self._file = StateFile(home.models, version=_VERSION, on_damage=lambda damage: {})

    def find(self, place: str, model: str) -> Level | None:
        """The level at which a model last kept to a schema."""
        try:
            known = object_in(self._file.read() or {}, "levels").get(_key(place, model))
        except StorageError:
            return None
        found: Sequence[Level] = [level for level in get_args(Level) if level == known]
        return found[0] if found else None

    def keep(self, place: str, model: str, level: Level | None) -> None:
        """Remember a level; with None, forget it. A home that cannot be written to costs only the memory."""
        if self.find(place, model) == level:
            return

        def change(content: Json) -> Json:
            levels = dict(object_in(content, "levels"))
            levels.pop(_key(place, model), None)
            if level is not None:
                levels[_key(place, model)] = level
            newest = dict(list(levels.items())[-_MOST_MODELS:])
            return {"version": _VERSION, "levels": newest}

        try:
            self._file.update(change)
        except StorageError:
            pass


def _key(place: str, model: str) -> str:
    return f"{place} {model}"
