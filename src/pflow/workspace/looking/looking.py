"""The part of a workspace that looks at runs beyond listing them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pflow.workspace.asking.answering import Answering

if TYPE_CHECKING:
    from pflow.execution.compare.comparison import Comparison
    from pflow.workspace.viewing.viewing import Viewing


class Looking(Answering):
    """See `pflow.workspace.workspace.Workspace`."""

    @property
    def viewing(self) -> Viewing:
        """Runs as pages show them."""
        from pflow.workspace.viewing.viewing import Viewing  # lazy: only for pages

        return Viewing(self._wiring)

    def compare(self, a: str, b: str) -> Comparison:
        """How run B differs from run A: document, inputs, status, outputs, and each step. Times are told as well."""
        # lazy: runs compare nothing
        from pflow.execution.compare.comparison import compare_runs
        from pflow.execution.compare.told import read_told

        journal = self._wiring.journal
        return compare_runs(read_told(journal, self.find_run(a)), read_told(journal, self.find_run(b)))
