"""What pages show of runs and workflows, as use cases; all of it is folded here, and pages only render it."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import orjson

from pflow.core.errors import NotFoundError, UsageError
from pflow.core.json_type import JsonView, objects_in
from pflow.core.setting.redactor import show_markers
from pflow.core.suggest import nearest
from pflow.engine.codec import decode_event, item_of
from pflow.engine.plan import Plan
from pflow.engine.ports import STATUSES, RunInfo, RunQuery
from pflow.engine.value import ShownValues, check_value
from pflow.execution.begin import check_again, read_history
from pflow.execution.run_lookup import find_run
from pflow.execution.trace import read_trace
from pflow.execution.view.run_view import RunView
from pflow.execution.view.step_params import fill_in, params_of
from pflow.execution.wiring import Wiring

MOST_PAGE = 200_000
"""Characters of a value that are given at once."""

_MOST_ITEMS = 500
_SHOWN = ShownValues()


class Following:
    """One run that somebody looks at: all of it, then what is new."""

    def __init__(self, wiring: Wiring, run_id: str) -> None:
        self._journal = wiring.journal
        self.view = RunView(run_id)

    def read(self, until: int | None = None) -> RunInfo:
        """Take up what was recorded since; with `until`, only the records before that number."""
        records = self._journal.read(self.view.run_id, self.view.seq)
        self.view.note(records if until is None else records[: max(until - self.view.seq, 0)])
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

    def plan(self, reference: str) -> Plan:
        """The plan of a run, to be drawn. Raises `PflowError` where its document does not make one here and now."""
        run_id = find_run(self._wiring.journal, reference)
        return check_again(self._wiring, run_id, read_history(self._wiring, run_id, {})).shown_plan()

    def step(self, reference: str, step: str) -> dict[str, object]:
        """All that is recorded of one step or one item (`fetch[17]`), with its parameters as its node got them."""
        run_id = find_run(self._wiring.journal, reference)
        return self.steps(run_id, lambda name: name == step, item=step).get(step) or self._no_step(run_id, step)

    def steps(self, run_id: str, is_wanted: Callable[[str], bool], *, item: str = "") -> dict[str, dict[str, object]]:
        """The same of several steps, by name."""
        trace = read_trace(self._wiring.journal, run_id)
        document = self._document(run_id)
        found = {}
        for entry in objects_in(trace.get("steps")):
            name = str(entry.get("step"))
            if is_wanted(name):
                found[name] = self._in_full(trace, entry, document)
        if not found and item.endswith("]"):
            step, _, number = item[:-1].rpartition("[")
            if number.isdecimal():
                found = dict(zip([item], self.items(run_id, step, int(number), 1), strict=False))
        return found

    def items(self, reference: str, step: str, offset: int, limit: int) -> list[dict[str, object]]:
        """What became of some items of a batch: their outputs, or their errors."""
        run_id = find_run(self._wiring.journal, reference)
        following = self.follow(run_id)
        following.read()
        items = following.view.items_of(step)
        if items is None:
            raise NotFoundError(f"the step `{step}` of run `{run_id}` has no items")
        wanted = range(offset, min(offset + min(limit, _MOST_ITEMS), len(items)))
        found: dict[int, dict[str, object]] = {
            item: {"step": f"{step}[{item}]", "item": item, "status": items.word(item)} for item in wanted
        }
        for record in self._wiring.journal.read(run_id):
            if record.kind not in ("ItemCompleted", "ItemFailed"):
                continue
            name, item = item_of(record)
            if name == step and item in found:
                event = decode_event(record, _SHOWN)._asdict()
                facts = {"outputs": event["writes"]} if "writes" in event else {"error": event.get("error")}
                found[item] = {
                    name: part for name, part in found[item].items() if name not in ("outputs", "error")
                } | facts
        return list(found.values())

    def value(self, reference: str, digest: str, offset: int, limit: int) -> dict[str, object]:
        """A part of a large value, as text or as JSON that can be read."""
        run_id = find_run(self._wiring.journal, reference)
        value = show_markers(orjson.loads(check_value(self._wiring.journal.value(run_id, digest), digest)))
        text = value if isinstance(value, str) else orjson.dumps(value, option=orjson.OPT_INDENT_2).decode()
        end = min(offset + min(limit, MOST_PAGE), len(text))
        return {
            "text": text[offset:end],
            "is_text": isinstance(value, str),
            "offset": offset,
            "next": end if end < len(text) else None,
            "size": len(text),
        }

    def documents(self, reference: str) -> object:
        """The document that a run began with, or the one that it was edited to, without secrets."""
        return self._document(find_run(self._wiring.journal, reference))

    def _in_full(self, trace: JsonView, entry: JsonView, document: object) -> dict[str, object]:
        full = dict(entry)
        written = params_of(document, str(entry.get("node"))) if "/" not in str(entry.get("step")) else {}
        if written:
            full["written"] = written
            if "params" not in full:
                full["params"] = fill_in(written, trace, entry)
                full["filled_in"] = True
        return full

    def _document(self, run_id: str) -> object:
        """What is recorded of the document itself; that of its children is beside it."""
        found: object = None
        for record in self._wiring.journal.read(run_id):
            if record.kind in ("RunStarted", "RunResumed"):
                event = decode_event(record, _SHOWN)._asdict()
                found = event.get("document") or found
        while isinstance(found, Mapping) and "$value" in found:
            digest = str(found["$value"])
            found = show_markers(orjson.loads(check_value(self._wiring.journal.value(run_id, digest), digest)))
        return found.get("document", found) if isinstance(found, Mapping) else found

    def _no_step(self, run_id: str, step: str) -> dict[str, object]:
        raise NotFoundError(f"run `{run_id}` has no step `{step}`")
