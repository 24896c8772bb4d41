"""Runs of PocketFlow flows, which read and write a store of their caller."""

from __future__ import annotations

from collections.abc import Callable, MutableMapping

from pflow.engine.executor import Executor, RunResult
from pflow.engine.plan import Plan
from pflow.execution.outcome import Outcome
from pflow.execution.pocketflow_plan import plan_from_flow
from pflow.execution.workflow_execution import Work


def run_flow(
    block: Callable[[Work, Plan], Outcome], start: object, shared: MutableMapping[str, object] | None
) -> Outcome:
    """Run a flow, or the nodes after `start`, and leave what they wrote in `shared`; `block` sees a run through."""
    plan = plan_from_flow(start)
    store = {} if shared is None else shared
    after: dict[str, object] = {}

    async def work(executor: Executor) -> RunResult:
        result = await executor.run(plan, {}, seed=dict(store))
        after.update(result.store)
        return result

    outcome = block(work, plan)
    for key in [key for key in store if outcome.success and key not in after]:
        del store[key]
    store.update(after)
    return outcome
