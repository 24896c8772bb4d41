"""Values of a trace in full: large ones from the journal, the results of batches from their items."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import orjson

from pflow.core.json_type import JsonView
from pflow.core.setting.redactor import has_marker, show_markers
from pflow.engine.ports import Journal, Record
from pflow.engine.value import check_value
from pflow.execution.past.item import item_results, read_items


def read_value(journal: Journal, run_id: str, sha: str) -> object:
    """A large value as it is shown."""
    data = check_value(journal.value(run_id, sha), sha)
    value: object = orjson.loads(data)
    return show_markers(value) if has_marker(data) else value


class WholeValues:
    """Reads what stands in one run's trace by reference."""

    def __init__(self, journal: Journal, run_id: str) -> None:
        self._journal = journal
        self._run_id = run_id
        self._records: Sequence[Record] | None = None

    @property
    def records(self) -> Sequence[Record]:
        """The records of the run, read once."""
        if self._records is None:
            self._records = self._journal.read(self._run_id)
        return self._records

    def whole(self, value: object, entry: JsonView | None = None) -> object:
        """The value that a trace shows as `value`, of the step that `entry` tells of."""
        if not isinstance(value, Mapping):
            return value
        if isinstance(value.get("$value"), str):
            return read_value(self._journal, self._run_id, str(value["$value"]))
        if set(value) == {"$items"} and entry is not None:
            outputs = entry.get("outputs")
            count = outputs.get("count") if isinstance(outputs, Mapping) else None
            return item_results(read_items(self.records, entry), count)
        return value


Whole = Callable[[object, JsonView | None], object]
"""Gives the value that a trace shows by reference; see `WholeValues.whole`."""
