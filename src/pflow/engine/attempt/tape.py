"""What answers steps in place of their code, where a run is played again: nothing runs, starts or is reached."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Protocol

from pflow.engine.failure import Halted

if TYPE_CHECKING:
    from pflow.engine.plan import PlanNode
    from pflow.engine.scope import Result, Scope


class Unanswered(Exception):
    """A call for which there is no answer. The run stops: no edge and no further attempt makes up for that."""


class Tape(Protocol):
    """Answers calls. One that is to run for real gets None."""

    started_at: float
    date: str

    def play(
        self, node: PlanNode, params: Mapping[str, Any], read: Callable[[str], object], step: str
    ) -> tuple[str, dict[str, object]] | None:
        """The action and the outputs of a step; raises the error that it failed with, and `Unanswered`.

        `read` gives what the node reads from the store under a natural key, or raises `KeyError`.
        """

    def approve(self, node: PlanNode, params: Mapping[str, Any], step: str) -> None:
        """Somebody is asked whether a step may take effect; raises the error if nobody agreed."""


def begin_at(tape: Tape | None) -> tuple[float, str]:
    """When a run begins, and the day that it is: now, or as it was recorded."""
    if tape is not None:
        return tape.started_at, tape.date
    now = time.time()
    return now, time.strftime("%Y-%m-%d", time.localtime(now))


def play_step(scope: Scope, node: PlanNode, params: dict[str, Any], step: str) -> Result | None:
    """What a step gives without being run; None if it is to run for real."""
    run = scope.run
    assert run.shared.tape is not None
    try:
        played = run.shared.tape.play(node, params, lambda name: scope.names.read(node.number, name), step)
    except Unanswered:
        run.stop()
        raise Halted from None
    if played is None:
        return None
    action, writes = played
    if node.outputs:
        from pflow.engine.declared_output import check_outputs  # lazy: few nodes declare their outputs

        check_outputs(node.id, node.outputs, writes)
    return action, writes, {}, {}
