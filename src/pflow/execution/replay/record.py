"""A run as a cassette: a fold of its events, with the params of steps rendered again."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

from pflow import __version__
from pflow.core.cassette.cassette import Cassette, Recorded
from pflow.core.errors import DeclinedError, PflowError, UsageError
from pflow.core.event import (
    Event,
    ItemCompleted,
    ItemFailed,
    ItemNotYet,
    ItemStarted,
    RunEnding,
    RunFailed,
    RunForked,
    RunResumed,
    RunStarted,
    StepCompleted,
    StepFailed,
    StepNotYet,
    StepStarted,
)
from pflow.core.json_type import JsonView
from pflow.engine.batch import batch_items
from pflow.engine.binding import bind_inputs
from pflow.engine.codec import decode_event
from pflow.engine.history import History, scope_of
from pflow.engine.name_lookup import Names, StepLookup
from pflow.engine.plan import Plan, PlanNode
from pflow.engine.state import ScopeState
from pflow.engine.value import ITEMS, MarkedValues, Withheld
from pflow.execution.begin import check_again, read_history
from pflow.execution.check import check_source
from pflow.execution.replay.player import NOT_YET
from pflow.execution.replay.rule import asked_params, asked_reads, is_answered, plain
from pflow.execution.replay.step import Played
from pflow.execution.wiring import Wiring
from pflow.execution.workflow_source import recorded_source


def record_run(wiring: Wiring, run_id: str) -> Cassette:
    """The cassette of a run that is over. Raises `UsageError` for one that is not."""
    info = wiring.journal.info(run_id)
    if info.state not in ("completed", "failed"):
        raise UsageError(
            f"run `{run_id}` is {info.state}: a cassette is made of runs that are over",
            suggestions=["record it when it has completed or failed"],
        )
    history = read_history(wiring, run_id, {})
    plan = check_again(wiring, run_id, history).shown_plan()
    fold = _Fold(wiring, run_id, history)
    calls = sorted(fold.calls(), key=lambda call: _in_order(call.step))
    gave = Played(fold.events).digests(wiring.redactor)
    types = {call.type for call in calls if call.type in wiring.registry}
    entries = [wiring.registry.get(name) for name in sorted(types)]
    tools = {entry.name: entry.manifest_hash for entry in entries if entry.manifest_hash}
    secret = {name for name, declared in plan.inputs.items() if declared.secret}
    inputs: Any = plain(
        wiring.redactor.value(
            {name: value for name, value in history.inputs.items() if name not in secret and not _is_held(value)}
        )
    )
    return Cassette(
        workflow=history.workflow,
        inputs=inputs,
        at=datetime.fromtimestamp(history.started_at, UTC).isoformat(),
        date=history.date,
        pflow=__version__,
        run_id=run_id,
        tools=tools,
        definitions={name: plain(dict(wiring.registry.get(name).data)) for name in tools},
        state=plain(wiring.redactor.value({scope: dict(kept) for scope, kept in history.kept.values.items()})),
        calls=tuple(calls),
        gave={step: gave[step] for step in sorted(gave, key=_in_order)},
    )


class _Scope:
    def __init__(self, plan: Plan, prefix: str, inputs: Mapping[str, object], history: History, run_id: str) -> None:
        self.plan = plan
        self.inputs = inputs
        self.state = ScopeState(plan, prefix, history.real)
        started = datetime.fromtimestamp(history.started_at, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
        about = {"id": run_id, "name": history.workflow, "started_at": started, "date": history.date or started[:10]}
        self.names = Names(self.state, inputs, None, about, history.kept.seen_by(plan))


class _Open:
    """A step or item that has begun."""

    def __init__(self, node: PlanNode, params: Mapping[str, Any], reads: JsonView, attempt: int) -> None:
        self.node = node
        self.params = params
        self.reads = reads
        self.attempt = attempt


class _Fold:
    def __init__(self, wiring: Wiring, run_id: str, history: History) -> None:
        self._wiring = wiring
        self._redactor = wiring.redactor
        self._run_id = run_id
        self._history = history
        self._scopes: dict[str, _Scope] = {}
        self._open: dict[str, _Open] = {}
        self._batches: dict[str, list[object]] = {}
        self._results: dict[str, dict[int, Mapping[str, object]]] = {}
        self._turn: dict[str, int] = {}
        self._found: dict[tuple[str, int], list[Recorded]] = {}
        self.events: list[Event] = []

    def calls(self) -> Iterator[Recorded]:
        """Every call that was answered or failed, each step's attempts in their order."""
        values = MarkedValues(self._redactor, lambda sha: self._wiring.journal.value(self._run_id, sha))
        for record in self._wiring.journal.read(self._run_id):
            event = decode_event(record, values)
            self.events.append(event)
            self._note(event)
        for calls in self._found.values():
            yield from calls

    def _note(self, event: Event) -> None:
        if isinstance(event, RunStarted):
            self._begin(event.document, event.inputs)
        elif isinstance(event, RunResumed):
            if event.document is not None:
                self._begin(event.document, event.inputs)
            elif event.again or event.is_renewed:
                self._scopes = {"": self._fresh(self._scopes[""])}
        elif isinstance(event, RunForked) and not event.only:
            self._scopes = {"": self._fresh(self._scopes[""])}
        elif isinstance(event, RunEnding):
            if event.scope in self._scopes:
                self._scopes[event.scope].state.apply(event)
        elif isinstance(event, RunFailed):
            self._scopes[""].state.apply(event)
        elif isinstance(event, StepStarted):
            self._start(event)
        elif isinstance(event, StepCompleted):
            self._complete(event)
        elif isinstance(event, StepFailed):
            self._end(event.step, error=event.error, ms=event.ms)
            self._apply(event)
            if event.retry_in is not None:
                self._forget_inside(event.step)
        elif isinstance(event, StepNotYet):
            self._end(event.step, error=_not_yet(event.reason), ms=event.ms)
            self._forget_inside(event.step)
        elif isinstance(event, ItemStarted):
            self._start_item(event)
        elif isinstance(event, ItemCompleted):
            self._results.setdefault(event.step, {})[event.item] = event.writes
            self._end(f"{event.step}[{event.item}]", outputs=event.writes)
        elif isinstance(event, ItemFailed):
            self._end(f"{event.step}[{event.item}]", error=event.error)
            if not event.final:
                self._forget_inside(f"{event.step}[{event.item}]")
        elif isinstance(event, ItemNotYet):
            self._end(f"{event.step}[{event.item}]", error=_not_yet(event.reason))
            self._forget_inside(f"{event.step}[{event.item}]")

    def _begin(self, document: object, inputs: JsonView) -> None:
        wiring, history = self._wiring, self._history
        if not document or isinstance(document, Withheld):
            raise UsageError(f"the document of run `{self._run_id}` cannot be read, so that it cannot be recorded")
        source = recorded_source(document, history.workflow, wiring.home, wiring.projects)
        plan = check_source(wiring, source._replace(state_scope=history.state_scope), recorded=True).shown_plan()
        marks = {name: f"«secret:{name}»" for name, declared in plan.inputs.items() if declared.secret}
        known = {name: marks.get(name, name) if _is_held(value) else value for name, value in inputs.items()}
        self._scopes = {"": _Scope(plan, "", {**marks, **known}, history, self._run_id)}

    def _fresh(self, scope: _Scope) -> _Scope:
        return _Scope(scope.plan, "", scope.inputs, self._history, self._run_id)

    def _scope(self, prefix: str) -> _Scope | None:
        """The scope of a step; that of a sub-workflow is made when its first step begins."""
        found = self._scopes.get(prefix)
        outer = self._open.get(prefix[:-1])
        if found is None and outer is not None and outer.node.child is not None:
            child = outer.node.child
            with suppress(PflowError):
                given = outer.params.get("inputs") or {}
                inputs = bind_inputs(child, given)
                found = self._scopes[prefix] = _Scope(child, prefix, inputs, self._history, self._run_id)
        return found

    def _start(self, event: StepStarted) -> None:
        scope = self._scope(scope_of(event.step))
        node = scope.plan.by_id.get(event.node) if scope is not None else None
        if scope is None or node is None:
            return
        if node.choice is None:
            lookup = StepLookup(scope.names, node.number, _visit(event.step))
            with suppress(PflowError):
                if node.batch is not None:
                    items = self._batches[event.step] = list(batch_items(node, lookup))
                    scope.state.begun[node.number] = items
                    self._open[event.step] = _Open(node, {}, {}, event.attempt)
                else:
                    self._open[event.step] = self._opened(scope, node, lookup, event.attempt)
        self._apply(event)

    def _start_item(self, event: ItemStarted) -> None:
        scope, outer = self._scope(scope_of(event.step)), self._open.get(event.step)
        items = self._batches.get(event.step, [])
        if scope is None or outer is None or outer.node.batch is None or event.item >= len(items):
            return
        name = outer.node.batch.name
        own = {name: items[event.item], f"{name}_index": event.item}
        lookup = StepLookup(scope.names, outer.node.number, _visit(event.step), own)
        with suppress(PflowError):
            opened = self._opened(scope, outer.node, lookup, event.attempt)
            self._open[f"{event.step}[{event.item}]"] = opened

    def _opened(self, scope: _Scope, node: PlanNode, lookup: StepLookup, attempt: int) -> _Open:
        rendered: Any = node.params.render(lookup)
        reads = asked_reads(self._redactor, node, lambda name: scope.names.read(node.number, name))
        return _Open(node, rendered, reads, attempt)

    def _complete(self, event: StepCompleted) -> None:
        if event.writes.get("results") is ITEMS:
            count, results = event.writes.get("count"), self._results.get(event.step, {})
            whole = [results.get(index) for index in range(count if isinstance(count, int) else 0)]
            event = event._replace(writes={**event.writes, "results": whole})
        if event.source in ("run", "settled", "cache") or not self._has(event.step):
            self._end(event.step, outputs=event.writes, action=event.action, ms=event.ms)
        self._apply(event)

    def _apply(self, event: StepStarted | StepCompleted | StepFailed) -> None:
        scope = self._scopes.get(scope_of(event.step))
        if scope is not None:
            with suppress(KeyError):
                scope.state.apply(event)

    def _forget_inside(self, step: str) -> None:
        """Another attempt at a sub-workflow follows, with steps of the same names."""
        for prefix in [one for one in self._scopes if one.startswith((f"{step}/", f"{step}["))]:
            del self._scopes[prefix]
            self._turn[prefix] = self._turn.get(prefix, 0) + 1

    def _place(self, name: str) -> tuple[str, int]:
        return name, self._turn.get(scope_of(name), 0)

    def _has(self, name: str) -> bool:
        return self._place(name) in self._found

    def _end(
        self,
        name: str,
        *,
        outputs: Mapping[str, object] | None = None,
        error: JsonView | None = None,
        action: str = "default",
        ms: float = 0.0,
    ) -> None:
        opened = self._open.get(name)
        if opened is None or (opened.node.batch is not None and not name.endswith("]")):
            return
        node = opened.node
        refused = error is not None and error.get("type") == DeclinedError.code
        if not is_answered(node) and not refused:
            return
        given = None if outputs is None else plain(self._redactor.value(dict(outputs)))
        failed = None if error is None else plain(self._redactor.value(dict(error)))
        params = asked_params(self._redactor, opened.params)
        call = Recorded(
            step=name,
            type=node.type,
            params=params,
            reads=opened.reads,
            outputs=given,
            action=action,
            error=failed,
            ms=ms,
        )
        place = self._place(name)
        if opened.attempt == 1:
            self._found[place] = []  # what came before a resume does not count
        self._found.setdefault(place, []).append(call)


def _not_yet(reason: str) -> dict[str, object]:
    return {"type": NOT_YET, "message": "the outputs did not meet the step's condition", "reason": reason}


def _is_held(value: object) -> bool:
    return isinstance(value, Withheld)


def _visit(step: str) -> int:
    return int(step.rpartition("/")[2].partition("#")[2] or 1)


def _in_order(step: str) -> list[tuple[int, str]]:
    """Item 10 comes after item 2."""
    return [(int(part), "") if part.isdigit() else (0, part) for part in re.split(r"([0-9]+)", step)]
