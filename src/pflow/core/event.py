"""The durable facts of a run. State, trace, progress, page and result are all folds of these.

A `step` names one execution of a node: `fetch`, on its second visit `fetch#2`, inside a sub-workflow
`deploy/fetch`, inside a batch item that is a sub-workflow `deploy[3]/fetch`. `Value` stands for a recorded
value, see `pflow.engine.value`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, get_args

from pflow.core.frozen import Frozen
from pflow.core.json_type import JsonView

Section = Literal["on_failure", "finally"]
"""A part of a document that runs when the main part is over: after a failure, and in any case."""

SECTIONS: tuple[Section, ...] = get_args(Section)
"""In the order in which they run."""

Ended = Literal["completed", "failed", "cancelled"]
"""How a run can end."""


def show_ending(status: Ended) -> str:
    """Why a section begins, in words."""
    return {"completed": "all is done", "failed": "the run has failed", "cancelled": "the run is cancelled"}[status]


class RunStarted(Frozen):
    """A run exists. `document` is the value that was checked; `inputs` are bound, secrets left out.

    `date` is the day in the time zone of the run.
    """

    workflow: str
    document: object
    inputs: JsonView
    at: float
    date: str = ""


class RunResumed(Frozen):
    """A process took the run up again. `document` is set when it was edited; `rerun` lists the steps that may rerun."""

    at: float
    document: object = None
    inputs: Mapping[str, object] = {}
    rerun: tuple[str, ...] = ()


class StepStarted(Frozen):
    """A step is about to take effect; `items` is how many a batch has.

    Without an end event it is in doubt, unless it is `repeatable`: then it only reads, and may run again.
    """

    step: str
    node: str
    definition: str
    inputs: str
    at: float
    attempt: int = 1
    items: int = 0
    repeatable: bool = False


class StepCompleted(Frozen):
    """A step's writes, all of them, and the action that picks what comes next.

    `source` says where the writes came from: `run`, `cache` (another run's pure step), `reuse` (this run, before its
    document was edited) or `skipped` (there are none: its condition was false). `reads` maps natural keys to hashes of
    what was read under them. `failed_items` counts the items of a batch that failed.
    """

    step: str
    action: str
    writes: Mapping[str, object]
    ms: float
    source: str = "run"
    reads: Mapping[str, str] = {}
    failed_items: int = 0


class StepFailed(Frozen):
    """A step failed. `retry_in` is set when another attempt follows; `action` when an error edge takes over."""

    step: str
    error: JsonView
    ms: float
    attempt: int = 1
    retry_in: float | None = None
    action: str | None = None
    params: Mapping[str, object] = {}


class StepNotYet(Frozen):
    """An attempt succeeded, but what it gave does not meet the step's condition, for this `reason`; another follows."""

    step: str
    reason: str
    ms: float
    attempt: int
    retry_in: float


class ItemStarted(Frozen):
    """A batch item is about to take effect."""

    step: str
    item: int
    attempt: int = 1


class ItemCompleted(Frozen):
    """A batch item's outputs."""

    step: str
    item: int
    writes: Mapping[str, object]


class ItemFailed(Frozen):
    """A batch item failed; `final` when no further attempt follows."""

    step: str
    item: int
    error: JsonView
    final: bool = True


class ItemNotYet(Frozen):
    """What a batch item gave does not meet the step's condition; another attempt follows."""

    step: str
    item: int
    reason: str
    attempt: int
    retry_in: float


class RunEnding(Frozen):
    """The main part of a run is over, and a section begins: `on_failure` or `finally`.

    `status` is how the run ends once its sections have: `completed`, `failed` or `cancelled`. `error` is why, if
    there is a reason. `scope` is that of a sub-workflow with sections of its own: `deploy/`.
    """

    status: Ended
    section: Section
    at: float
    error: Mapping[str, object] = {}
    scope: str = ""


class RunCompleted(Frozen):
    """The run reached its end."""

    outputs: JsonView
    at: float


class RunFailed(Frozen):
    """The run stopped at a failure. It can be resumed."""

    error: JsonView
    at: float


class RunStopped(Frozen):
    """The run was interrupted (`reason`: `interrupted`, `disconnected`, `in_doubt`). It can be resumed."""

    reason: str
    at: float


class RunCancelled(Frozen):
    """The run was cancelled for good."""

    at: float


Event = (
    RunStarted
    | RunResumed
    | StepStarted
    | StepCompleted
    | StepFailed
    | StepNotYet
    | ItemStarted
    | ItemCompleted
    | ItemFailed
    | ItemNotYet
    | RunEnding
    | RunCompleted
    | RunFailed
    | RunStopped
    | RunCancelled
)

EVENTS: Mapping[str, type[Event]] = {event.__name__: event for event in get_args(Event)}
"""Event types by the name under which the journal keeps them."""
