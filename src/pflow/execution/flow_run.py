"""Runs of PocketFlow flows, which read and write a store of their caller."""

from __future__ import annotations

from collections.abc import MutableMapping

from pflow.engine.executor import Executor, new_run_id
from pflow.engine.ports import Observer
from pflow.engine.result import RunResult
from pflow.execution.live_run import LiveRun
from pflow.execution.outcome import Outcome
from pflow.execution.pocketflow_plan import plan_from_flow
from pflow.execution.wiring import Wiring


def run_flow(
    wiring: Wiring,
    start: object,
    shared: MutableMapping[str, object] | None,
    *,
    observer: Observer | None = None,
    cache: bool = True,
) -> Outcome:
    """Run a flow, or the nodes after `start`, and leave what they wrote in `shared`."""
    plan = plan_from_flow(start)
    store = {} if shared is None else shared
    after: dict[str, object] = {}
    run_id = new_run_id()

    async def work(executor: Executor) -> RunResult:
        result = await executor.run(plan, {}, run_id=run_id, seed=dict(store))
        after.update(result.store)
        return result

    outcome = LiveRun(wiring, plan, run_id, work, observer=observer, cache=cache).wait()
    for key in [key for key in store if outcome.success and key not in after]:
        del store[key]
    store.update(after)
    return outcome
