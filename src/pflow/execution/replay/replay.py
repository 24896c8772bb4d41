"""Plays a workflow again from a cassette: in memory, without servers, connections or writes to the home."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Collection, Mapping
from typing import Any

from pflow.adapters.memory_journal import MemoryJournal
from pflow.core.advice import Advice
from pflow.core.cassette.cassette import Cassette, Recorded
from pflow.core.errors import UsageError
from pflow.core.event import Event
from pflow.core.frozen import Frozen
from pflow.core.json_type import JsonView
from pflow.core.setting.redactor import Redactor
from pflow.engine.attempt.tape import begin_at
from pflow.engine.binding import bind_inputs
from pflow.engine.codec import decode_event
from pflow.engine.executor import Executor, new_run_id
from pflow.engine.plan import Plan
from pflow.engine.ports import Journal, Services, Still
from pflow.engine.result import RunResult
from pflow.engine.value import ValueTable
from pflow.execution.begin import bind
from pflow.execution.check import Checked
from pflow.execution.live_run import in_event_loop
from pflow.execution.replay.player import Player, Unrecorded
from pflow.execution.wiring import Wiring

UNRECORDED = "unrecorded"
"""The status of a run that asked for something that was not recorded."""


class Replayed(Frozen):
    """How a workflow went with a cassette. `status` is that of the run, or `unrecorded`.

    `asked` are the recordings that were used, in the order in which they were; `unused` the others. `stubbed` and
    `live` count the calls that stubs answered and that ran for real, `kinds` all calls by the type of their node.
    """

    status: str
    outputs: JsonView
    error: JsonView | None
    asked: tuple[Recorded, ...]
    unused: tuple[Recorded, ...]
    unrecorded: tuple[Unrecorded, ...]
    stubbed: int
    live: int
    kinds: Mapping[str, int]
    inputs: JsonView
    events: tuple[Event, ...]
    ms: float


def replay_checked(
    wiring: Wiring,
    checked: Checked,
    cassette: Cassette,
    inputs: Mapping[str, object],
    *,
    stubs: Mapping[str, JsonView] | None = None,
    real: Collection[str] = (),
    make: Callable[[Cassette, Redactor], Player] | None = None,
    journal: MemoryJournal | None = None,
) -> Replayed:
    """Run a checked workflow with the answers of a cassette, or of the player that `make` makes of it.

    Raises `DocumentError` and `InputError`.
    """
    plan = checked.ready()
    redactor = Redactor(wiring.settings.secrets(), key=_throw_away())
    player = make(cassette, redactor) if make else Player(cassette, redactor, stubs=stubs, real=real)
    journal = journal or MemoryJournal()
    run_id = cassette.run_id or new_run_id()
    still = Still(at=player.started_at, seed=run_id)
    services = Services(home=wiring.home.root, settings={}, workers=wiring.services.workers, still=still)
    if real:
        services = wiring.services._replace(still=still)
    bound = _bind(plan, given_inputs(plan, cassette, inputs))
    executor = Executor(journal, services, redactor=redactor, tape=player)
    state: Any = cassette.state.get(plan.state_scope) if plan.keeps else None
    trial = None if not plan.keeps else state if isinstance(state, Mapping) else {}
    result = _drive(executor, services, plan, bound, run_id, trial)
    return _told(cassette, player, result, journal, redactor, bound)


def run_for_real(
    wiring: Wiring,
    checked: Checked,
    cassette: Cassette,
    inputs: Mapping[str, object],
    *,
    stubs: Mapping[str, JsonView] | None = None,
    stale: Collection[str] = (),
) -> tuple[str, Replayed]:
    """Run a checked workflow, with effects, in the journal of the home; gives the id of the run, and how it went.

    What a cassette has is answered from it, unless it is of a type that is `stale`.
    """
    plan = checked.runnable()
    player = Player(cassette, wiring.redactor, stubs=stubs, asks_on=True, stale=stale)
    player.started_at, player.date = begin_at(None)
    bound = bind(wiring, plan, given_inputs(plan, cassette, inputs))
    executor = wiring.executor(None, use_cache=False)
    executor.play_from(player)
    run_id = new_run_id()
    result = _drive(executor, wiring.services, plan, bound, run_id, None)
    if result.status not in ("completed", "failed"):
        raise UsageError(
            f"the run `{run_id}` is {result.status}, and a test needs one that is over",
            suggestions=["answer the step with `stub`", Advice("see it through, then `{make_test}`", run=run_id)],
        )
    return run_id, _told(cassette, player, result, wiring.journal, wiring.redactor, bound)


def given_inputs(plan: Plan, cassette: Cassette, inputs: Mapping[str, object]) -> dict[str, object]:
    """The inputs of a cassette, as far as a workflow has them, and what is given instead."""
    return {**{name: value for name, value in cassette.inputs.items() if name in plan.inputs}, **inputs}


def _drive(
    executor: Executor,
    services: Services,
    plan: Plan,
    bound: Mapping[str, object],
    run_id: str,
    trial: Mapping[str, object] | None,
) -> RunResult:
    if in_event_loop():
        raise UsageError("a cassette cannot be played inside a running event loop")

    async def play() -> RunResult:
        try:
            return await executor.run(plan, bound, run_id=run_id, trial=trial)
        finally:
            if services.tools is not None:
                await services.tools.close()

    try:
        with asyncio.Runner() as runner:
            return runner.run(play())
    finally:
        executor.close()


def _told(
    cassette: Cassette,
    player: Player,
    result: RunResult,
    journal: Journal,
    redactor: Redactor,
    bound: Mapping[str, object],
) -> Replayed:
    run_id = result.run_id
    values = ValueTable(redactor, lambda sha: journal.value(run_id, sha))
    return Replayed(
        status=UNRECORDED if player.unrecorded else result.status,
        outputs=_shown(redactor, result.outputs),
        error=None if result.error is None else _shown(redactor, result.error),
        asked=tuple(cassette.calls[number] for number in player.asked),
        unused=player.unused,
        unrecorded=tuple(player.unrecorded),
        stubbed=player.stubbed,
        live=player.live,
        kinds=player.kinds,
        inputs=_shown(redactor, bound),
        events=tuple(decode_event(record, values) for record in journal.read(run_id)),
        ms=result.duration_ms,
    )


def _bind(plan: Plan, given: Mapping[str, object]) -> dict[str, object]:
    """The inputs; secret ones are what stands for them in the cassette."""
    marks = {name: f"«secret:{name}»" for name, declared in plan.inputs.items() if declared.secret}
    return bind_inputs(plan, {**marks, **given})


def _shown(redactor: Redactor, value: object) -> Any:
    return redactor.value(dict(value) if isinstance(value, Mapping) else value)


def _throw_away() -> Any:
    key = os.urandom(32)
    return lambda: key
