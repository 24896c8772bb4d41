"""What comes after a run: its outcome without secrets, its trace, what was learnt from it, and cleaning up."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from pflow.core.errors import PflowError
from pflow.core.file.home_clock import note_day, sure_now
from pflow.core.library.workflow_manager import WorkflowManager
from pflow.engine.plan import Plan
from pflow.engine.result import RunResult
from pflow.execution.outcome import Outcome
from pflow.execution.retention import clean_home, is_due
from pflow.execution.trace import write_trace
from pflow.execution.wiring import Wiring
from pflow.execution.workflow_source import Source

if TYPE_CHECKING:
    from pflow.execution.asking.answer import Waiting

WAITING_CODE = 4
"""The exit code for a run that waits for an answer."""

_EXIT_CODES = {"security": 3, "in_doubt": 4}


def conclude(
    wiring: Wiring, result: RunResult, plan: Plan, source: Source | None = None, *, signalled: int = 0
) -> Outcome:
    """The outcome of a run, without secrets; its trace is written and the run counted.

    `signalled` is the exit code of the signal that stopped it, if one did.
    """
    redactor = wiring.redactor
    notices: list[str] = []
    error: Any = redactor.value(result.error) if result.error is not None else None
    code = signalled or _EXIT_CODES.get(str((error or {}).get("type")), 1)
    outputs: Any = redactor.value(dict(result.outputs))
    trace_path: str | None = None
    with _noted("the day was not noted", notices):
        notices += filter(None, [note_day(wiring.home)])
    with _noted("the trace was not written", notices):
        trace_path = _write_trace(wiring, result.run_id)
    if "registry" in wiring.__dict__:
        with _noted("results of tools were not remembered", notices):
            wiring.registry.keep_observed()
    with _noted("old runs were not deleted", notices):
        clean_if_due(wiring, keep=result.run_id)
    if source is not None:
        with _noted("the run was not counted", notices):
            _count(wiring, source, result)
    is_complete = result.status == "completed"
    return Outcome(
        **{
            **result._asdict(),
            "outputs": outputs,
            "error": error,
            "params": redactor.value(result.params),
            "failed_in_sections": tuple(
                (section, step, redactor.value(failure)) for section, step, failure in result.failed_in_sections
            ),
            "store": {},
        },
        exit_code=0 if is_complete else code if signalled or result.status != "waiting" else WAITING_CODE,
        open_waits=_open_waits(wiring, result),
        primary=_primary(wiring, plan, outputs) if is_complete else None,
        trace_path=trace_path,
        notices=tuple(notices),
        limit=wiring.settings.number("output.limit_kb") << 10,
    )


def _open_waits(wiring: Wiring, result: RunResult) -> tuple[Waiting, ...]:
    if not result.waiting:
        return ()
    from pflow.execution.asking.answer import show_waiting  # lazy: many documents never wait

    return tuple(show_waiting(result.run_id, asked, wiring.redactor.value) for asked in result.waiting)


def _write_trace(wiring: Wiring, run_id: str) -> str:
    settings = wiring.settings
    keep_days, max_mb = settings.number("trace.keep_days"), settings.number("trace.max_mb")
    records = wiring.journal.read(run_id)
    return str(
        write_trace(
            wiring.home.debug, run_id, records, keep_days=keep_days, max_mb=max_mb, now=lambda: sure_now(wiring.home)
        )
    )


def keep_house(wiring: Wiring) -> list[str]:
    """Note that the home is used today and delete what is old, where no run has just done so; what to say about it."""
    notices = [note] if (note := note_day(wiring.home)) else []
    gone = clean_if_due(wiring)
    return [*notices, *([f"deleted {len(gone)} old run{'s' * (len(gone) != 1)}"] if gone else [])]


def clean_if_due(wiring: Wiring, *, keep: str = "") -> list[str]:
    """Once a day, delete old runs and drafts, but not the run `keep`; the runs that are gone. Raises `StorageError`."""
    if wiring.has_workers or not is_due(wiring.home):  # what a place keeps is for its workers to decide
        return []
    runs_days = wiring.settings.number("runs.keep_days")
    drafts_days = wiring.settings.number("drafts.keep_days")
    return clean_home(wiring.home, wiring.journal, runs_days=runs_days, drafts_days=drafts_days, keep=keep)


def _count(wiring: Wiring, source: Source, result: RunResult) -> None:
    """Count the run of a saved workflow or draft."""
    name = source.library or source.draft
    if name:
        manager = WorkflowManager(wiring.home, kind="library" if source.library else "draft")
        manager.record_run(name, result.status == "completed", result.duration_ms)


@contextmanager
def _noted(problem: str, notices: list[str]) -> Iterator[None]:
    """Make an error a notice: whatever is wrong with the home by now, the run did what it did."""
    try:
        yield
    except PflowError as error:
        notices.append(f"{problem}: {error.message}")


def _primary(wiring: Wiring, plan: Plan, outputs: Mapping[str, object]) -> str | None:
    """The main output of the last node of the main part, when the document does not say what its outputs are.

    A step that is tried out on its own shows all that it gives.
    """
    main = [node for node in plan.nodes if plan.section_of(node.number) is None and not node.sets_state]
    if plan.outputs or plan.only or not main or main[-1].type not in wiring.registry:
        return None
    declared = wiring.registry.get(main[-1].type).interface.outputs
    return declared[0].name if declared and declared[0].name in outputs else None
