"""Answers the steps of a run from a cassette, by what they are asked."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from datetime import datetime
from typing import Any

from pflow.core.cassette.cassette import Cassette, Recorded, call_key
from pflow.core.errors import (
    BudgetError,
    DeclinedError,
    ModelError,
    NotYetError,
    PflowError,
    SecurityError,
    StepError,
    StepTimeout,
    UnresolvedError,
)
from pflow.core.frozen import Frozen
from pflow.core.json_type import JsonView
from pflow.core.setting.redactor import Redactor
from pflow.engine.attempt.tape import Unanswered
from pflow.engine.plan import PlanNode
from pflow.engine.value import untag
from pflow.execution.replay.rule import asked_params, asked_reads, is_answered, path_of

NOT_YET = "not_yet"
"""The type of the error that stands for an attempt whose outputs did not meet the step's condition."""


class Unrecorded(Frozen):
    """A call that a cassette has no answer for. `nearest` is the recording of its type that differs least."""

    step: str
    type: str
    params: JsonView
    nearest: Recorded | None = None
    recorded: int = 0


class Player:
    """A `Tape` over a cassette. `stubs` answer by the path of a node, and nodes in `real` run.

    With `asks_on`, calls that were not recorded run as well, and so do all of types that are `stale`.
    """

    def __init__(
        self,
        cassette: Cassette,
        redactor: Redactor,
        *,
        stubs: Mapping[str, JsonView] | None = None,
        real: Collection[str] = (),
        asks_on: bool = False,
        stale: Collection[str] = (),
    ) -> None:
        self.started_at = datetime.fromisoformat(cassette.at).timestamp() if cassette.at else 0.0
        self.date = cassette.date or cassette.at[:10]
        self._calls = cassette.calls
        self._redactor = redactor
        self._stubs = stubs or {}
        self._real = frozenset(real)
        self._left: dict[str, list[int]] = {}
        for number, call in enumerate(cassette.calls):
            self._left.setdefault(call.key, []).append(number)
        self.asked: list[int] = []
        self.unrecorded: list[Unrecorded] = []
        self.stubbed = 0
        self.live = 0
        self.kinds: dict[str, int] = {}
        self._asks_on = asks_on
        self._stale = frozenset(stale)

    @property
    def unused(self) -> tuple[Recorded, ...]:
        """The recordings that nobody asked for."""
        return tuple(self._calls[number] for number in sorted({n for left in self._left.values() for n in left}))

    def play(
        self, node: PlanNode, params: Mapping[str, Any], read: Callable[[str], object], step: str
    ) -> tuple[str, dict[str, object]] | None:
        """See `Tape`."""
        path = path_of(step)
        self.kinds[node.type] = self.kinds.get(node.type, 0) + 1
        if path in self._stubs:
            self.stubbed += 1
            return _give(self._stubs[path])
        if not is_answered(node):
            return None
        if path in self._real or node.type in self._stale:
            self.live += 1
            return None
        asked = asked_params(self._redactor, params)
        key = call_key(node.type, asked, asked_reads(self._redactor, node, read))
        call = self._take(key, step)
        if call is None and self._asks_on:
            self.live += 1
            return None
        if call is None:
            self.unrecorded.append(self._miss(key, node.type, asked, step))
            raise Unanswered
        if call.error is not None:
            raise recorded_error(call.error)
        outputs: Any = untag(dict(call.outputs or {}))
        return call.action, outputs

    def approve(self, node: PlanNode, params: Mapping[str, Any], step: str) -> None:
        """See `Tape`. What was recorded of a step that nobody agreed to is its error."""
        if path_of(step) in self._stubs or (is_answered(node) and node.batch is None):
            return
        key = call_key(node.type, asked_params(self._redactor, params), {})
        left = self._left.get(key, [])
        refused = [number for number in left if (self._calls[number].error or {}).get("type") == DeclinedError.code]
        if refused:
            left.remove(refused[0])
            self.asked.append(refused[0])
            raise recorded_error(self._calls[refused[0]].error or {})

    def _take(self, key: str, step: str) -> Recorded | None:
        """The next recording of a call: one of the same step, so that it does not matter which of two comes first."""
        left = self._left.get(key)
        if not left:
            return None
        number = next((number for number in left if self._calls[number].step == step), left[0])
        left.remove(number)
        self.asked.append(number)
        return self._calls[number]

    def _miss(self, key: str, node_type: str, asked: JsonView, step: str) -> Unrecorded:
        same = [call for call in self._calls if call.type == node_type]
        near = max(same, key=lambda call: (_likeness(call.params, asked), call.step == step), default=None)
        recorded = sum(call.key == key for call in same)
        return Unrecorded(step=step, type=node_type, params=asked, nearest=near, recorded=recorded)


def recorded_error(error: JsonView) -> PflowError:
    """The error that a recording stands for; it takes the same edge, and is tried again as the first one was."""
    kind, message = str(error.get("type", "execution")), str(error.get("message", "no message"))
    found, more = error.get("details"), error.get("suggestions")
    details = found if isinstance(found, Mapping) else None
    suggestions = [str(one) for one in more] if isinstance(more, list | tuple) else []
    action = str(error.get("action") or "error")
    if kind == NOT_YET:
        return NotYetError(message, reason=str(error.get("reason", message)))
    if kind == DeclinedError.code:
        return DeclinedError(message, details=details, suggestions=suggestions)
    if kind == StepTimeout.code or action == "timeout":
        return StepTimeout(message, details=details)
    if kind == SecurityError.code:
        return SecurityError(message, details=details, suggestions=suggestions)
    for known in (UnresolvedError, BudgetError, ModelError):
        if kind == known.code:
            return known(message, action=action, details=details, suggestions=suggestions)
    raised = StepError(message, action=action, details=details, suggestions=suggestions)
    raised.code = kind
    return raised


def _give(stub: JsonView) -> tuple[str, dict[str, object]]:
    error = stub.get("error")
    if isinstance(error, Mapping) and set(stub) == {"error"}:
        raise recorded_error(error)
    return "default", dict(stub)


def _likeness(params: JsonView, asked: JsonView) -> int:
    return sum(params.get(name) == value for name, value in asked.items())
