"""What a running step knows of its surroundings, within reach of any node code without changing its signature."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from typing import TYPE_CHECKING

from pflow.core.file.atomic import make_folder

if TYPE_CHECKING:
    from pathlib import Path

    from pflow.core.event import StepAnswered
    from pflow.engine.model.desk import Desk
    from pflow.engine.ports import Services

Report = Callable[[str, str], None]
"""Shows what a step says it is doing: its name, the message."""


Ask = Callable[..., Awaitable["StepAnswered"]]
"""Asks or waits on behalf of a step; see `pflow.engine.asking.waits.Waits.wait`."""


class StepContext:
    """One step's surroundings. `idempotency_key` is the same for every attempt at the step, also after a crash.

    `ask` is there for steps of types that wait, `desk` for those that ask language models.
    """

    __slots__ = ("_report", "ask", "desk", "node", "run_id", "services", "step")

    def __init__(
        self,
        run_id: str,
        node: str,
        step: str,
        services: Services,
        report: Report,
        ask: Ask | None = None,
        desk: Desk | None = None,
    ) -> None:
        self.run_id = run_id
        self.node = node
        self.step = step
        self.services = services
        self.ask = ask
        self.desk = desk
        self._report = report

    @property
    def idempotency_key(self) -> str:
        """A name for what this step does once, however often it is tried."""
        return f"{self.run_id}/{self.step}"

    def folder(self) -> Path:
        """The run's own directory, made on first use, for files too big or too binary for the journal."""
        folder = (self.services.files or self.services.home / "runs") / self.run_id
        make_folder(folder)
        return folder

    def report(self, message: str) -> None:
        """Show a line of progress to the run's observer."""
        self._report(self.step, message)


_current: ContextVar[StepContext] = ContextVar("pflow_step")


def current_step() -> StepContext:
    """The step that the calling code runs in; raises `LookupError` outside of one."""
    return _current.get()


def find_step() -> StepContext | None:
    """The step that the calling code runs in, if it runs in one."""
    return _current.get(None)


def enter_step(context: StepContext) -> None:
    """Make `context` the current step of this task or thread."""
    _current.set(context)
