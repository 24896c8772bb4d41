"""Tests of workflows as use cases: found, run, made from runs, and runs played against edited documents."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pflow.adapters.memory_journal import MemoryJournal
from pflow.core.frozen import Frozen
from pflow.execution.check import check_workflow
from pflow.execution.compare.comparison import Comparison, compare_runs
from pflow.execution.compare.told import read_told
from pflow.execution.replay.record import record_run
from pflow.execution.replay.replay import Replayed, replay_checked
from pflow.execution.run_lookup import find_run
from pflow.execution.wiring import Wiring
from pflow.execution.workflow_source import Workflow
from pflow.workspace.testing.as_test import MadeTest, make_test
from pflow.workspace.testing.find import find_suites
from pflow.workspace.testing.result import SuiteResult
from pflow.workspace.testing.suite_run import Choice, SuiteRun


class Against(Frozen):
    """How an edited workflow would have gone in place of a run: the comparison of both, and what was played."""

    run_id: str
    comparison: Comparison
    replayed: Replayed

    @property
    def is_same(self) -> bool:
        """Whether every step and the outputs would be as they were."""
        compared = self.comparison
        steps = all(step.outcome in ("same", "reused") for step in compared.steps)
        same = compared.a.get("status") == self.replayed.status and not compared.outputs and not compared.error
        return steps and same and not self.replayed.unrecorded


class Tests:
    """See `pflow.workspace.workspace.Workspace.tests`."""

    def __init__(self, wiring: Wiring, here: Path) -> None:
        self._wiring = wiring
        self._here = here

    def find(self, paths: Sequence[str] = ()) -> list[Path]:
        """The test files that paths, directories and workflows mean; without any, all of here and of the home."""
        return find_suites(paths, self._wiring.home, self._here)

    def run(self, file: Path, choice: Choice | None = None) -> SuiteResult:
        """Run the tests of a file. What is wrong with it is a part of the result."""
        return SuiteRun(self._wiring, file, choice or Choice()).run()

    def add(self, run_id: str, name: str, *, file: Path | None = None, folder: Path | None = None) -> MadeTest:
        """Make a run that is over a test of its workflow, in `file` or where that workflow's tests belong.

        Of a run whose document is in no file, the document is written as well, to `folder`, else to the home.
        """
        found = find_run(self._wiring.journal, run_id)
        return make_test(self._wiring, found, name, file=file, folder=folder or self._wiring.home.tests)

    def against(self, workflow: Workflow, run_id: str) -> Against:
        """Play a run of the journal with another document, and compare: what would differ. Nothing runs for real."""
        wiring = self._wiring
        run_id = find_run(wiring.journal, run_id)
        cassette = record_run(wiring, run_id)
        checked = check_workflow(wiring, workflow)
        journal = MemoryJournal()
        replayed = replay_checked(wiring, checked, cassette, {}, journal=journal)
        comparison = compare_runs(read_told(wiring.journal, run_id), read_told(journal, cassette.run_id))
        return Against(run_id=run_id, comparison=comparison, replayed=replayed)
