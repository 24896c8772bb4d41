"""The use cases of runs that are made from others, and of doubts about their steps."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from pflow.core.event import Settlement
from pflow.engine.ports import Observer
from pflow.execution.again.fork import begin_fork, begin_only
from pflow.execution.again.settle import Claim, SettledDoubts, settle
from pflow.execution.check import Checked
from pflow.execution.live_run import LiveRun
from pflow.execution.outcome import Outcome
from pflow.execution.run_lookup import find_run
from pflow.execution.wiring import Wiring
from pflow.execution.workflow_source import Workflow

__all__ = ["Again", "Claim", "Params", "SettledDoubts"]

Params = Mapping[str, object]


class Again:
    """What can be done with a run besides taking it up: fork it, try a step with its values, settle its doubts."""

    def __init__(
        self,
        wiring: Wiring,
        check: Callable[[Workflow], Checked],
        wait: Callable[[LiveRun], Outcome],
        observer: Observer | None,
    ) -> None:
        self._wiring = wiring
        self._check = check
        self._wait = wait
        self._observer = observer

    def begin_fork(
        self,
        run_id: str,
        step: str,
        *,
        edited: Workflow | None = None,
        params: Params | None = None,
        text: bool = False,
        rerun_in_doubt: bool = False,
        cache: bool = True,
    ) -> LiveRun:
        """A new run that keeps what another one did before `step`, and goes on from there; the other is untouched.

        Steps before run again where their definition, in an `edited` workflow, or their inputs are others.
        """
        return begin_fork(
            self._wiring,
            self._find(run_id),
            step,
            params or {},
            edited=edited,
            rerun_in_doubt=rerun_in_doubt,
            text=text,
            observer=self._observer,
            cache=cache,
        )

    def fork(
        self,
        run_id: str,
        step: str,
        *,
        edited: Workflow | None = None,
        params: Params | None = None,
        rerun_in_doubt: bool = False,
    ) -> Outcome:
        """Like `begin_fork`, to its end."""
        return self._wait(self.begin_fork(run_id, step, edited=edited, params=params, rerun_in_doubt=rerun_in_doubt))

    def begin_only(
        self,
        workflow: Workflow | Checked,
        step: str,
        from_run: str,
        params: Params | None = None,
        *,
        text: bool = False,
        cache: bool = True,
        queue: str = "",
    ) -> LiveRun:
        """A run of a single step of a workflow, with what another run did before it."""
        checked = workflow if isinstance(workflow, Checked) else self._check(workflow)
        return begin_only(
            self._wiring,
            checked,
            step,
            self._find(from_run),
            params or {},
            text=text,
            observer=self._observer,
            cache=cache,
            queue=queue,
        )

    def run_only(self, workflow: Workflow | Checked, step: str, from_run: str, params: Params | None = None) -> Outcome:
        """Like `begin_only`, to its end."""
        return self._wait(self.begin_only(workflow, step, from_run, params))

    def settle(
        self,
        run_id: str,
        steps: Sequence[str],
        outcome: Settlement,
        *,
        outputs: Mapping[str, object] | None = None,
        action: str = "default",
        text: bool = False,
        by: str = "",
    ) -> SettledDoubts:
        """Say what became of steps in doubt of a run that nobody runs: they are `done`, with these outputs, or `rerun`.

        With `text` the outputs are words of a command line. `by` is who says so.
        """
        claim = Claim(steps=tuple(steps), outcome=outcome, outputs=outputs or {}, action=action)
        return settle(self._wiring, self._find(run_id), [claim], text=text, by=by)

    def settle_all(self, run_id: str, claims: Sequence[Claim], *, by: str = "") -> SettledDoubts:
        """The same for several claims at once: all of them hold, or none is recorded."""
        return settle(self._wiring, self._find(run_id), claims, by=by)

    def _find(self, reference: str) -> str:
        return find_run(self._wiring.journal, reference)
