"""What a step need not do again: what it gave before, in this run, in another one, or under an earlier release."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import orjson

from pflow.core.event import StepCompleted, StepFailed, StepStarted
from pflow.core.setting.redactor import has_marker
from pflow.engine.batch import count_lost
from pflow.engine.launch import Launch
from pflow.engine.value import Withheld, digest_all

if TYPE_CHECKING:
    from pflow.engine.run import Run
    from pflow.engine.scope import Scope


def find_known(scope: Scope, launch: Launch) -> StepCompleted | StepFailed | None:
    """How a step ends that need not run; else it is prepared to be tried as often as it may be."""
    run = scope.run
    _recognise(run, launch)
    if run.history.again:
        from pflow.engine.again.keep import keep_inputs  # lazy: only where items run again

        keep_inputs(scope, launch)
    launch.attempt = _next_attempt(run, launch)
    return _known_result(scope, launch)


def _recognise(run: Run, launch: Launch) -> None:
    """Go on under the definition that an earlier release recorded for the same work, if there is one."""
    past = run.history.past.get(launch.step)
    if past is None or past.started.definition == launch.definition or launch.node.former is None:
        return
    if past.started.definition in launch.node.former():
        launch.identify(past.started.definition)


def _next_attempt(run: Run, launch: Launch) -> int:
    """Attempts are counted across crashes, but a resume always gets at least one."""
    past = run.history.past.get(launch.step)
    retry = launch.node.retry
    if past is None or past.completed or retry is None or past.attempts >= retry.attempts:
        return 1
    return past.attempts + 1


def _known_result(scope: Scope, launch: Launch) -> StepCompleted | StepFailed | None:
    node, step, run = launch.node, launch.step, scope.run
    past = run.history.past.get(step)
    reason = "it is new" if past is None else "it had not completed"
    if past is not None and past.completed is not None and past.completed.source == "skipped":
        reason = "it was skipped"
    if past is not None and past.completed is not None and past.completed.source != "skipped":
        reason = _why_rerun(scope, launch, past.started, past.completed)
        if not reason:
            run.reused.append(step)
            return count_lost(run, node, past.completed._replace(ms=0.0, source="reuse"))
    if run.edited or run.history.keeps_failures:
        from pflow.engine.again.keep import kept_failure, note_rerun  # lazy: only for runs that start over

        if kept := kept_failure(run, launch):
            return kept
        note_rerun(run, step, reason)
    may_cache = node.purity == "pure" and node.batch is None and node.child is None and node.approve is None
    if may_cache and run.shared.cache is not None:
        launch.cache_key = digest_all([node.node_hash.encode(), launch.inputs.encode()])
        cached = run.shared.cache.get(launch.cache_key)
        if cached is not None:
            action, writes = orjson.loads(cached)
            known = run.values.unseal(writes) if has_marker(cached) else writes
            if isinstance(known, dict):
                return StepCompleted(step=step, action=action, writes=known, ms=0.0, source="cache")
    return None


def _why_rerun(scope: Scope, launch: Launch, started: StepStarted, completed: StepCompleted) -> str:
    if started.definition != launch.definition:
        return "its definition changed"
    if started.inputs != launch.inputs:
        return "its inputs changed"
    if any(isinstance(value, Withheld) for value in completed.writes.values()):
        return "a secret in what it wrote changed"
    for key, recorded in completed.reads.items():
        try:
            now = digest_all([scope.run.values.key(scope.names.read(launch.node.number, key))])
        except KeyError:
            now = ""
        if now != recorded:
            return f"`{key}` changed"
    return ""


def remember(run: Run, launch: Launch, action: str, writes: Mapping[str, object]) -> None:
    """Keep what a pure step gave for other runs."""
    if run.shared.cache is None:
        return
    try:
        data = orjson.dumps([action, writes], option=orjson.OPT_PASSTHROUGH_DATACLASS)
    except TypeError:
        return  # a value that lives only in this process cannot be remembered
    run.shared.cache.put(launch.cache_key, run.values.seal(data))
