"""What pages show of runs and workflows, as use cases; all of it is folded here, and pages only render it."""

from __future__ import annotations

import orjson

from pflow.core.errors import NotFoundError, UsageError
from pflow.core.json_type import JsonView
from pflow.core.suggest import nearest
from pflow.engine.ending.look import look_of
from pflow.engine.ports import STATUSES, RunInfo, RunQuery
from pflow.execution.past.about import find_entry, trace_about
from pflow.execution.past.item import read_items
from pflow.execution.past.sound import read_sound
from pflow.execution.past.whole import read_value
from pflow.execution.run_lookup import find_run
from pflow.execution.view.extent import count_nodes
from pflow.execution.view.items import bars_of
from pflow.execution.view.run_view import RunView
from pflow.execution.wiring import Wiring

MOST_PAGE = 200_000
"""Characters of a value that are given at once."""

_MOST_ITEMS = 500


class Following:
    """One run that somebody looks at: all of it, then what is new."""

    def __init__(self, wiring: Wiring, run_id: str) -> None:
        self._journal = wiring.journal
        self.view = RunView(run_id)

    def read(self, until: int | None = None) -> RunInfo:
        """Take up what was recorded since; with `until`, only the records before that number."""
        records, is_damaged = read_sound(self._journal, self.view.run_id, self.view.seq)
        self.view.note(records if until is None else records[: max(until - self.view.seq, 0)])
        self.view.is_damaged |= is_damaged
        return self._journal.info(self.view.run_id)

    def whole(self) -> dict[str, object]:
        """Everything."""
        info = self.read()
        return {**self.view.head(info), "steps": self.view.rows(info)}

    def skip(self, until: int) -> None:
        """Take the first records as known; but not what is under way, whose process may be gone since."""
        self.read(until)
        self.view.forget_changes()

    def news(self) -> dict[str, object] | None:
        """The facts of the run and the steps that changed, if anything did. Raises `NotFoundError` if it is gone."""
        before = self.view.seq
        info = self.read()
        rows = self.view.changed(info)
        head = self.view.head(info)
        if before == self.view.seq and not rows:
            return None
        return {**head, "steps": rows}

    def told(self) -> dict[str, object]:
        """The status of the run and of its steps, as far as it was read."""
        return self.view.told()


class Viewing:
    """The runs of a home, for those who look at them."""

    def __init__(self, wiring: Wiring) -> None:
        self._wiring = wiring

    def version(self) -> str:
        """Changes whenever any process has stored something about a run."""
        return self._wiring.journal.version()

    def runs(
        self, *, text: str = "", state: str = "", workflow: str = "", before: str = "", limit: int = 100
    ) -> list[RunInfo]:
        """A page of the newest runs first: those that match, after the run `before`."""
        stored = next((status for status in STATUSES if status == state.replace("interrupted", "running")), None)
        if state and stored is None:
            raise UsageError(
                f"there is no status `{state}`", suggestions=[f"there are: {', '.join(STATUSES)}, interrupted"]
            )
        most = None if stored == "running" else limit  # whether a process is still there is not stored
        query = RunQuery(text=text, status=stored, workflow=workflow or None, before=before or None, limit=most)
        return [info for info in self._wiring.journal.runs(query) if not state or info.state == state][:limit]

    def near(self, reference: str) -> list[str]:
        """Ids of runs that a wrong one may have meant."""
        known = [info.run_id for info in self._wiring.journal.runs(RunQuery(limit=500))]
        return nearest(reference, known, limit=5)

    def follow(self, reference: str) -> Following:
        """A run to look at. Raises `NotFoundError`."""
        return Following(self._wiring, find_run(self._wiring.journal, reference))

    def node_count(self, reference: str) -> int:
        """How many nodes the graph of a run would have, told without planning its document."""
        return count_nodes(self._wiring.journal, find_run(self._wiring.journal, reference))

    def step(self, reference: str, step: str) -> JsonView:
        """All that is recorded of one step or one item (`fetch[17]`). Only the records about it are read."""
        run_id = find_run(self._wiring.journal, reference)
        trace, records = trace_about(self._wiring.journal, run_id, step)
        return find_entry(trace, step, lambda: records)

    def items(self, reference: str, step: str, offset: int, limit: int) -> list[JsonView]:
        """What became of some items of a batch: their outputs, or their errors."""
        run_id = find_run(self._wiring.journal, reference)
        trace, records = trace_about(self._wiring.journal, run_id, step)
        entry = find_entry(trace, step, lambda: records)
        begun = read_items(records, entry)
        announced = entry.get("items")
        count = max(announced if isinstance(announced, int) else 0, max(begun, default=-1) + 1)
        if not count:
            raise NotFoundError(f"the step `{step}` of run `{run_id}` has no items")
        wanted = range(offset, min(offset + min(limit, _MOST_ITEMS), count))
        found = (begun.get(item, {"step": f"{step}[{item}]", "item": item, "status": "pending"}) for item in wanted)
        return [{**one, "look": look_of(one["status"], ""), "bars": bars_of(one)} for one in found]

    def value(self, reference: str, digest: str, offset: int, limit: int) -> dict[str, object]:
        """A part of a large value, as text or as JSON that can be read."""
        run_id = find_run(self._wiring.journal, reference)
        value = read_value(self._wiring.journal, run_id, digest)
        text = value if isinstance(value, str) else orjson.dumps(value, option=orjson.OPT_INDENT_2).decode()
        end = min(offset + min(limit, MOST_PAGE), len(text))
        return {
            "text": text[offset:end],
            "is_text": isinstance(value, str),
            "offset": offset,
            "next": end if end < len(text) else None,
            "size": len(text),
        }
