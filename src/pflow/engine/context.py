"""What a running step may ask of its surroundings, reachable from any node code without changing its signature."""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pflow.engine.ports import Services


@dataclass(slots=True, kw_only=True)
class StepContext:
    """One step's surroundings.

    `idempotency_key` is the same for every attempt at the step, also after a crash. `folder` makes and
    returns the run's own folder for files that are too big or too binary for the journal. `report` shows a
    line of progress to whoever watches the run.
    """

    run_id: str
    node: str
    idempotency_key: str
    services: Services
    folder: Callable[[], Path]
    report: Callable[[str], None]


_current: ContextVar[StepContext] = ContextVar("pflow_step")


def current_step() -> StepContext:
    """The step that the calling code runs in; raises `LookupError` outside of one."""
    return _current.get()


def enter_step(context: StepContext) -> None:
    """Make `context` the current step of this task or thread."""
    _current.set(context)
