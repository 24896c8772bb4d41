"""The part of a workspace that plans tasks in words, and has failed runs repaired."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pflow.execution.wiring import Wiring

if TYPE_CHECKING:
    from pflow.engine.model.llm import Report
    from pflow.workspace.finder import Finder
    from pflow.workspace.planning.planned import Planned, Repair


def _silent(message: str) -> None:
    """Nobody looks."""


class Planning:
    """See `pflow.workspace.workspace.Workspace`."""

    _wiring: Wiring

    if TYPE_CHECKING:

        @property
        def discovery(self) -> Finder:
            """Finds node types and workflows by a description of a task."""

    def plan(self, task: str, *, model: str = "", report: Report = _silent) -> Planned:
        """A workflow for a task in words: a saved one, or one that a model writes, kept as a draft. Runs nothing.

        `report` is told what is going on. Raises `NoModelError`, and `ModelError` if the model gives no usable answer.
        """
        from pflow.workspace.planning.planner import Planner  # lazy: runs plan nothing

        return Planner(self._wiring, self.discovery).plan(task, model=model, report=report)

    def propose_repair(self, run_id: str, *, model: str = "", report: Report = _silent) -> Repair:
        """The document of a failed run, mended by a model: `resume(run_id, edited=repair.text)` goes on with it.

        The model sees the document, the error and the shapes of what the steps gave, never the values.
        """
        from pflow.execution.run_lookup import find_run  # lazy: most runs need no repair
        from pflow.workspace.planning.repairer import Repairer  # lazy: most runs need none

        return Repairer(self._wiring).propose(find_run(self._wiring.journal, run_id), model=model, report=report)

    def can_ask_model(self) -> bool:
        """Whether a model is configured that could plan and repair. Asks nothing."""
        llm = self._wiring.services.llm()
        return llm is not None and llm.is_available()
