"""How a run ended, or was left, as the engine tells it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from pflow.core.event import StepAsked, StepCompleted, StepFailed
from pflow.core.frozen import Frozen

if TYPE_CHECKING:
    from pflow.engine.model.spending import Spent
    from pflow.engine.run import Run
    from pflow.engine.scope import Scope


class RunResult(Frozen):
    """How a run ended, or was left. `status`: `completed`, `failed`, `stopped`, `waiting` or `cancelled`.

    `store` is what a flow leaves in its shared store, when it was given one. `steps` counts what this process
    executed, batch items one by one; `reused` and `reran` say what an edited document kept and what it ran
    again, with the reason. `failed_items` has, for each batch that went on without some of its items, the step, how
    many failed, and of how many; `declined_items` says by step how many of these somebody declined.
    `failed_in_sections` has the steps of `on_failure` and `finally` that failed, each with its section and its error.
    `waiting` is what a run waits for that has the status `waiting`. `spent` is what it took of language models, if it
    asked any.
    """

    run_id: str
    status: str
    outputs: Mapping[str, object] = {}
    error: Mapping[str, object] | None = None
    failed_node: str | None = None
    params: object = None
    completed: tuple[str, ...] = ()
    steps: int = 0
    duration_ms: float = 0.0
    store: Mapping[str, object] = {}
    reused: tuple[str, ...] = ()
    reran: tuple[tuple[str, str], ...] = ()
    failed_items: tuple[tuple[str, int, int], ...] = ()
    declined_items: Mapping[str, int] = {}
    failed_in_sections: tuple[tuple[str, str, Mapping[str, object]], ...] = ()
    waiting: tuple[StepAsked, ...] = ()
    spent: Spent | None = None


def result_of(
    scope: Scope,
    *,
    status: str,
    outputs: Mapping[str, object],
    error: Mapping[str, object] | None,
    failed: StepFailed | None,
    ms: float,
) -> RunResult:
    """What this process has to tell of a run, from the scope of its document."""
    run = scope.run
    lost = lost_items(run)
    return RunResult(
        run_id=run.run_id,
        status=status,
        outputs=outputs,
        error=error,
        failed_node=failed.step if failed is not None else None,
        params=failed.params if failed is not None else None,
        completed=tuple(scope.state.completed),
        steps=run.steps,
        duration_ms=ms,
        store=scope.names.store(),
        reused=tuple(run.reused),
        reran=tuple(run.reran),
        failed_items=tuple(map(count_items, lost)),
        declined_items={event.step: event.declined_items for event in lost if event.declined_items},
        failed_in_sections=tuple((section, one.step, one.error) for section, one in run.lost_in_sections),
        waiting=run.waits.left or () if run.waits is not None and status == "waiting" else (),
        spent=run.history.spending.total if run.history.spending is not None else None,
    )


def lost_items(run: Run) -> list[StepCompleted]:
    """The ends of batches that went on without some of their items, in this process or before."""
    scopes = run.history.steps.values() if not run.history.only else ()
    before = [event for events in scopes for event in events if isinstance(event, StepCompleted)]
    if run.reused:
        from pflow.engine.again.keep import inside_kept  # lazy: only for runs that start over

        before += inside_kept(run)
    return list({event.step: event for event in (*before, *run.lost) if event.failed_items}.values())


def count_items(event: StepCompleted) -> tuple[str, int, int]:
    """A batch that went on without some of its items: the step, how many failed, and of how many."""
    count = event.writes.get("count")
    return event.step, event.failed_items, count if isinstance(count, int) else event.failed_items
