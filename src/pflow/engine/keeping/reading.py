"""Reads what workflows have kept, for a run that begins or goes on, and holds it to what their documents declare."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import orjson

from pflow.core.advice import Advice
from pflow.core.document.document import StateKey
from pflow.core.errors import DamagedError, InputError
from pflow.core.event import RunResumed, RunStarted
from pflow.core.json_type import JsonView, describe, fits, with_article
from pflow.engine.history import History
from pflow.engine.keeping.snapshot import Snapshot
from pflow.engine.plan import Plan
from pflow.engine.ports import StateStore, StateVersion


def begin_with_state(
    states: StateStore,
    plan: Plan,
    started: RunStarted,
    trial: Mapping[str, object] | None,
    before: Snapshot | None = None,
) -> tuple[Snapshot, RunStarted]:
    """What a run that begins finds, and the event that records it.

    A run that is forked from another one finds what that had found `before`.
    """
    found = take_snapshot(states, plan, trial) if before is None else before
    found = found.joined(_read_missing(states, plan, found))
    return found, started._replace(
        state=found.values,
        state_versions=found.versions,
        state_scope=plan.state_scope,
        is_trial=found.is_trial,
    )


def go_on_with_state(
    states: StateStore, plan: Plan, resumed: RunResumed, history: History
) -> tuple[Snapshot, RunResumed]:
    """What a run that goes on finds, and the event that records what of it is new.

    It is what the run found when it began, and what an edited document declares besides. After a lost race it is what
    is kept by now.
    """
    known = history.kept
    resumed = resumed._replace(state_scope=plan.state_scope) if resumed.document is not None else resumed
    new = read_keys(states, plan.keeps) if history.lost_race else _read_missing(states, plan, known)
    if not new.values:
        return known, resumed
    recorded = resumed._replace(state=new.values, state_versions=new.versions, is_renewed=history.lost_race)
    return known.joined(new), recorded


def take_snapshot(states: StateStore, plan: Plan, trial: Mapping[str, object] | None = None) -> Snapshot:
    """What a plan and those in it have kept so far, defaults filled in; raises `InputError` for values that do not fit.

    With a `trial`, the plan has these values instead, and those in it their defaults.
    """
    keys = plan.keeps
    if trial is not None:
        given = {scope: trial if scope == plan.state_scope else {} for scope in keys}
        values = {scope: _filled(declared, given[scope]) for scope, declared in keys.items()}
        return Snapshot(values=values, is_trial=True)
    return read_keys(states, keys)


def read_keys(states: StateStore, keys: Mapping[str, Mapping[str, StateKey]]) -> Snapshot:
    """What is kept of these keys by now."""
    found = {(version.workflow, version.key): version for version in states.read(keys)}
    values: dict[str, JsonView] = {}
    versions: dict[str, dict[str, int]] = {}
    for scope, declared in keys.items():
        mine = {name: found[scope, name] for name in declared if (scope, name) in found}
        known = {name: read_value(one) for name, one in mine.items() if one.data is not None}
        for name, value in known.items():
            _check_type(scope, name, declared[name], value)
        values[scope] = _filled(declared, known)
        versions[scope] = {name: mine[name].version if name in mine else 0 for name in declared}
    return Snapshot(values=values, versions=versions)


def _read_missing(states: StateStore, plan: Plan, known: Snapshot) -> Snapshot:
    """What a plan keeps that a snapshot does not have: an edited document may declare more."""
    missing: dict[str, Mapping[str, StateKey]] = {}
    for scope, declared in plan.keeps.items():
        have: Collection[str] = (known.values if known.is_trial else known.versions).get(scope, {})
        if new := {name: key for name, key in declared.items() if name not in have}:
            missing[scope] = new
    if known.is_trial:
        return Snapshot(values={scope: _filled(declared, {}) for scope, declared in missing.items()})
    return read_keys(states, missing) if missing else Snapshot()


def read_value(version: StateVersion) -> object:
    """The value that a version has; None for one that was unset."""
    try:
        return None if version.data is None else orjson.loads(version.data)
    except ValueError as error:
        raise DamagedError(f"what `{version.workflow}` keeps as `{version.key}` is not JSON") from error


def _filled(declared: Mapping[str, StateKey], known: Mapping[str, object]) -> dict[str, object]:
    return {name: known.get(name, key.default) for name, key in declared.items()}


def _check_type(scope: str, name: str, key: StateKey, value: object) -> None:
    if value is None or fits(value, key.type):
        return
    raise InputError(
        f"`{scope}` has kept {describe(value)} as `{name}`, and its document declares {with_article(key.type)}",
        suggestions=[
            Advice("set it again with `{set_state}`", workflow=scope, key=name),
            Advice("or go back to the default with `{unset_state}`", workflow=scope, key=name),
        ],
    )
