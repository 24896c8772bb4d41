"""What pflow knows about saved workflows besides their texts: descriptions, times, and statistics of their runs."""

from __future__ import annotations

import os
from collections.abc import Collection
from pathlib import Path

from pflow.core.errors import PflowError
from pflow.core.file.atomic import JSON_LIMIT, parse_object, read_private
from pflow.core.file.os_call import Calls
from pflow.core.file.state_file import StateFile
from pflow.core.json_type import Json, object_in
from pflow.core.library.workflow_text import now_text

_ABOUT = ".about.json"
_STATS = ".stats.json"


class About:
    """The files beside the workflows of one directory. Damage to them never stops a workflow from being used."""

    def __init__(self, folder: Path, *, calls: Calls = os) -> None:
        self._folder = folder
        self._calls = calls

    def all(self) -> dict[str, Json]:
        """What is known of every workflow, by name, without statistics."""
        return {name: object_in(found, name) for found in [self._read(_ABOUT)] for name in found}

    def statistics(self) -> Json:
        """The statistics of runs, by name."""
        return self._read(_STATS)

    def note(self, name: str, known: Json) -> None:
        """Replace what is known of a workflow, apart from its statistics."""
        self._file(_ABOUT).update(lambda found: {**found, name: known})

    def count_run(self, name: str, success: bool, duration_ms: float) -> None:
        """Add a run to the statistics of a workflow."""

        def count(stats: Json) -> Json:
            before = object_in(stats, name).get("execution_count", 0)
            entry = {
                "execution_count": before + 1 if isinstance(before, int) else 1,
                "last_execution_at": now_text(),
                "last_execution_success": success,
                "last_execution_ms": round(duration_ms, 3),
            }
            return {**stats, name: entry}

        self._file(_STATS).update(count)

    def rename(self, name: str, new_name: str) -> None:
        """Let another name have what is known of this one."""
        for file in (_ABOUT, _STATS):
            if name in self._read(file):
                self._file(file).update(
                    lambda found: {new_name if key == name else key: value for key, value in found.items()}
                )

    def forget(self, names: Collection[str]) -> None:
        """Delete what is known of workflows that are gone."""
        for file in (_ABOUT, _STATS):
            if any(name in names for name in self._read(file)):
                self._file(file).update(lambda found: {key: value for key, value in found.items() if key not in names})

    def _file(self, name: str) -> StateFile:
        return StateFile(self._folder / name, on_damage=lambda _: {}, calls=self._calls)

    def _read(self, name: str) -> Json:
        try:
            return parse_object(read_private(self._folder / name, JSON_LIMIT)) or {}
        except PflowError:
            return {}


def without_cache(known: Json) -> Json:
    """What is known of a workflow apart from what was read from its text."""
    return {key: value for key, value in known.items() if key not in ("summary", "stamp")}
