"""What a run sets: checked when it is set, collected, and made real in one transaction with the event that says so."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import orjson

from pflow.core.advice import Advice
from pflow.core.document.document import StateKey
from pflow.core.document.state_key import MOST_BYTES
from pflow.core.errors import RunError, SecurityError, StateConflict, StepError
from pflow.core.event import RunCompleted, StepCompleted
from pflow.core.json_type import describe, fits, with_article
from pflow.core.setting.redactor import Redactor
from pflow.engine.keeping.merge import Sets, join
from pflow.engine.keeping.reading import read_value
from pflow.engine.ports import Decide, StateVersion
from pflow.engine.value import EXACT, has_nan

if TYPE_CHECKING:
    from pflow.engine.plan import Plan
    from pflow.engine.run import Run
    from pflow.engine.scope import Scope

Name = tuple[str, str]
"""A scope and a key in it."""


def check_set(plan: Plan, values: Mapping[str, object], redactor: Redactor) -> Sets:
    """What a step sets, under the scope of its plan; raises `StepError` for values that cannot be kept."""
    for name, value in values.items():
        key = plan.state[name]
        if not fits(value, key.type):
            raise StepError(f"`{name}` must be {with_article(key.type)}, as `state` declares it, not {describe(value)}")
        encode(name, value, redactor)
    return {plan.state_scope: values} if values else {}


def encode(name: str, value: object, redactor: Redactor) -> bytes:
    """A value as it is kept: JSON of a bounded size, without secrets."""
    try:
        data = orjson.dumps(value, None, EXACT)
    except TypeError:
        raise StepError(f"`{name}` cannot be kept: it is {describe(value)} that JSON cannot hold") from None
    if not isinstance(value, str) and b"null" in data and has_nan(value):
        raise StepError(f"`{name}` cannot be kept: it holds a number that JSON does not have (NaN or Infinity)")
    if len(data) > MOST_BYTES:
        size, most = len(data) + 1023 >> 10, MOST_BYTES >> 10
        raise StepError(
            f"`{name}` would take {size:,} kB, and a value that is kept may take {most} kB",
            suggestions=["keep less, such as an id or a time instead of whole records", "keep it in a file"],
        )
    if redactor.value(value) is not value:
        raise SecurityError(
            f"`{name}` holds a secret, which is not kept between runs",
            suggestions=["secrets come from the settings or the environment: declare an input with `secret: true`"],
        )
    return data


def complete(run: Run, scope: Scope, outputs: Mapping[str, object], at: float) -> None:
    """Record that a run is complete; what it has set becomes real in the same transaction.

    Raises `StateConflict`, with nothing recorded, if another run was faster.
    """
    done = RunCompleted(outputs=outputs, at=at)
    changes = {} if run.kept.is_trial else _changes(run, scope.plan, scope.state.sets, "end")
    if not changes:
        run.emit(done, status="completed")
        return

    def make_real() -> RunCompleted:
        versions = run.shared.journal.states.change(changes, run_id=run.run_id, at=at)
        kept: dict[str, dict[str, object]] = {}
        for (workflow, key), version in versions.items():
            kept.setdefault(workflow, {})[key] = read_value(version)
        return done._replace(state=kept)

    run.emit_with(make_real, status="completed")


def complete_step(run: Run, plan: Plan, done: StepCompleted, at: float) -> bool:
    """Record that a step which sets values is complete, if some of them become real with it; whether that is so."""
    changes = {} if run.kept.is_trial else _changes(run, plan, done.state, "step")
    if not changes:
        return False

    def make_real() -> StepCompleted:
        run.shared.journal.states.change(changes, run_id=run.run_id, at=at)
        return done

    run.emit_with(make_real)
    return True


def find_conflict(run: Run, scope: Scope) -> StateConflict | None:
    """What would keep the values that a run has set from becoming real, as it stands now."""
    plan, sets = scope.plan, scope.state.sets
    if run.kept.is_trial or not sets:
        return None
    newest = {(one.workflow, one.key): one for one in run.shared.journal.states.read(sets)}
    for name in _changes(run, plan, sets, "end"):
        key = plan.keeps[name[0]][name[1]]
        if not key.merge and (found := _conflict(run, name, newest.get(name))):
            return found
    return None


def _changes(run: Run, plan: Plan, sets: Sets, commit: str) -> dict[Name, Decide]:
    """What is to be changed in the store, for the values that become real at this point."""
    return {
        (scope, name): _decide(run, (scope, name), key, value)
        for scope, values in sets.items()
        for name, value in values.items()
        if (key := plan.keeps[scope][name]).commit == commit
    }


def _decide(run: Run, name: Name, key: StateKey, value: object) -> Decide:
    def decide(newest: StateVersion | None) -> bytes:
        if not key.merge and (conflict := _conflict(run, name, newest)):
            raise conflict
        kept = read_value(newest) if newest is not None and newest.data is not None else key.default
        if key.merge and kept is not None and not fits(kept, key.type):
            raise RunError(f"what `{name[0]}` keeps as `{name[1]}` is now {describe(kept)}, and cannot be merged")
        return encode(name[1], join(key, kept, value), run.shared.redactor)

    return decide


def _conflict(run: Run, name: Name, newest: StateVersion | None) -> StateConflict | None:
    """The error for a value that was changed since the run read it, by anyone but the run itself.

    What the run has kept from which it is forked, it replaces as well.
    """
    scope, key = name
    read, now = run.kept.versions.get(scope, {}).get(key, 0), newest.version if newest is not None else 0
    if read == now or (newest is not None and newest.run_id in (run.run_id, run.history.forked_from or run.run_id)):
        return None
    by = f"run `{newest.run_id}`" if newest is not None and newest.run_id else "someone"
    return StateConflict(
        f"{by} has changed `{key}`, which `{scope}` keeps, since this run read it",
        details={"workflow": scope, "key": key, "versions": {"read": read, "now": now}},
        suggestions=[
            Advice("`{resume}` reads it again, and reruns what depends on it", run=run.run_id),
            "if the values of all runs count, declare how they `merge`",
        ],
    )
