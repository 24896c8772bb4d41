"""Plays a workflow again from a cassette: in memory, without servers, connections or writes to the home."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Collection, Mapping
from typing import Any

from pflow.adapters.memory_journal import MemoryJournal
from pflow.core.cassette.cassette import Cassette, Recorded
from pflow.core.errors import UsageError
from pflow.core.event import Event
from pflow.core.frozen import Frozen
from pflow.core.json_type import JsonView
from pflow.core.setting.redactor import Redactor
from pflow.engine.binding import bind_inputs
from pflow.engine.codec import decode_event
from pflow.engine.executor import Executor, new_run_id
from pflow.engine.plan import Plan
from pflow.engine.ports import Services
from pflow.engine.result import RunResult
from pflow.engine.value import ValueTable
from pflow.execution.check import Checked
from pflow.execution.live_run import in_event_loop
from pflow.execution.replay.player import Player, Unrecorded
from pflow.execution.wiring import Wiring

UNRECORDED = "unrecorded"
"""The status of a run that asked for something that was not recorded."""


class Replayed(Frozen):
    """How a workflow went with a cassette. `status` is that of the run, or `unrecorded`.

    `asked` are the recordings that were used, in the order in which they were; `unused` the others.
    """

    status: str
    outputs: JsonView
    error: JsonView | None
    asked: tuple[Recorded, ...]
    unused: tuple[Recorded, ...]
    unrecorded: tuple[Unrecorded, ...]
    stubbed: int
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
) -> Replayed:
    """Run a checked workflow with the answers of a cassette, or of the player that `make` makes of it.

    Raises `DocumentError` and `InputError`.
    """
    if in_event_loop():
        raise UsageError("a cassette cannot be played inside a running event loop")
    plan = checked.ready()
    redactor = Redactor(wiring.settings.secrets(), key=_throw_away())
    player = make(cassette, redactor) if make else Player(cassette, redactor, stubs=stubs, real=real)
    bound = _bind(plan, {**{name: value for name, value in cassette.inputs.items() if name in plan.inputs}, **inputs})
    journal = MemoryJournal()
    run_id = cassette.run_id or new_run_id()
    services = Services(home=wiring.home.root, settings={}, workers=wiring.services.workers)
    executor = Executor(journal, services, redactor=redactor, tape=player)
    state: Any = cassette.state.get(plan.state_scope) if plan.keeps else None
    trial = None if not plan.keeps else state if isinstance(state, Mapping) else {}

    async def play() -> RunResult:
        return await executor.run(plan, bound, run_id=run_id, trial=trial)

    try:
        with asyncio.Runner() as runner:
            result = runner.run(play())
    finally:
        executor.close()
    values = ValueTable(redactor, lambda sha: journal.value(run_id, sha))
    return Replayed(
        status=UNRECORDED if player.unrecorded else result.status,
        outputs=_shown(redactor, result.outputs),
        error=None if result.error is None else _shown(redactor, result.error),
        asked=tuple(cassette.calls[number] for number in player.asked),
        unused=player.unused,
        unrecorded=tuple(player.unrecorded),
        stubbed=player.stubbed,
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
