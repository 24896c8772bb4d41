"""The part of a workspace that looks at runs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from pflow.core.errors import PflowError
from pflow.core.file.home import Home
from pflow.core.json_type import Json, JsonView
from pflow.engine.plan import Plan
from pflow.engine.ports import STATUSES, RunInfo, RunQuery
from pflow.execution.trace import read_trace
from pflow.workspace.asking.answering import Answering

if TYPE_CHECKING:
    from pflow.core.session.call import Session
    from pflow.execution.compare.comparison import Comparison
    from pflow.execution.past.follow import Ending, Heard
    from pflow.workspace.learning.learning import Learning
    from pflow.workspace.viewing.viewing import Viewing


class Looking(Answering):
    """See `pflow.workspace.workspace.Workspace`."""

    home: Home

    def runs(
        self,
        limit: int = 50,
        *,
        text: str = "",
        state: str = "",
        workflow: str | None = None,
        since: float | None = None,
    ) -> list[RunInfo]:
        """The newest runs first: those with `text` in the workflow's name, the id or the error, and in that state.

        `workflow` is the name of one, `since` the moment after which they have begun.
        """
        stored = next((status for status in STATUSES if status == state.replace("interrupted", "running")), None)
        # Whether the process of a run is still there is not stored, nor can the journal look for moments.
        most = None if stored == "running" or since is not None else limit
        found = self._wiring.journal.runs(RunQuery(text=text, status=stored, workflow=workflow, limit=most))
        chosen = (info for info in found if since is None or info.started_at >= since)
        return [info for info in chosen if not state or info.state == state][:limit]

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

    def params(self, run: str, steps: Iterable[str]) -> dict[str, JsonView]:
        """What steps and items of a run were given, without secrets, as far as it can be told afterwards.

        Large values stand in it as in a trace, by reference, or as `{"$preview": …}` if they were made for the step.
        """
        # lazy: only to look at runs
        from pflow.execution.past.brief import brief
        from pflow.execution.past.given import GivenParams

        run_id, journal = self.find_run(run), self._wiring.journal
        try:
            found = GivenParams(self._wiring, run_id).of(steps)
        except PflowError:
            return {}  # its document cannot be read here: a program's own nodes, or a secret that is not known
        return {
            step: {name: brief(journal, run_id, value) for name, value in params.items()}
            for step, params in found.items()
        }

    @property
    def learning(self) -> Learning:
        """Sessions of agents, and workflows that are made of them."""
        from pflow.workspace.learning.learning import Learning  # lazy: most workflows are written

        return Learning(self._wiring)

    def session_of(self, runs: Sequence[str]) -> Session:
        """What steps of runs did, as the calls of a session. Raises `PflowError` if a document cannot be read."""
        from pflow.execution.past.run_session import session_of_runs  # lazy: only to learn from runs

        return session_of_runs(self._wiring, [self.find_run(run) for run in runs])

    def follow(self, run: str) -> Iterator[Heard]:
        """The events of a run from its first, and what its steps say, until it ends; whichever process drives it."""
        from pflow.execution.past.follow import follow  # lazy: only to look at runs

        return follow(self._wiring.journal, self.home.live, self.find_run(run))

    def ending(self, run: str) -> Ending:
        """How a run stands: its trace, and the exit code that it had or would have."""
        from pflow.execution.past.follow import end_of  # lazy: only to look at runs

        return end_of(self._wiring.journal, self.find_run(run))

    def items(self, run: str, entry: JsonView) -> dict[int, Json]:
        """The items of a batch that have begun, by number; `entry` is what the trace of the run tells of its step."""
        from pflow.execution.past.item import read_items  # lazy: only to look at runs

        return read_items(self._wiring.journal.read(self.find_run(run)), entry) if entry.get("items") else {}

    def worked(self, runs: Iterable[RunInfo]) -> dict[str, float]:
        """How many seconds processes worked on each of these runs, if it has ended."""
        from pflow.execution.past.time import time_worked  # lazy: only to look at runs

        found = ((info.run_id, time_worked(self._wiring.journal, info)) for info in runs)
        return {run_id: seconds for run_id, seconds in found if seconds is not None}

    def graph(self, run: str) -> tuple[Plan, JsonView]:
        """The plan of a run's document, to be looked at, and the run's trace. Raises `PflowError`."""
        run_id = self.find_run(run)
        return self.plan_of(run_id), read_trace(self._wiring.journal, run_id)

    def plan_of(self, run: str) -> Plan:
        """The plan of a run's document, to be looked at. Raises `PflowError`."""
        # lazy: only to look at runs
        from pflow.execution.begin import check_again, read_history

        run_id = self.find_run(run)
        return check_again(self._wiring, run_id, read_history(self._wiring, run_id, {})).shown_plan()
