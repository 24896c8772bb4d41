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

WaitKind = Literal["question", "timer", "message", "check"]
"""What a step waits for: an answer, a moment, a message, or a condition that is looked at from time to time."""

Settled = Literal["answered", "declined", "timed_out"]
"""How a wait can end. A timer that is over, a message that came and a condition that holds are `answered`."""

Settlement = Literal["done", "rerun"]
"""What can be said of a step in doubt: that it took effect, or that it is to run again."""

IN_DOUBT = "in_doubt"
"""Why a run stopped that nobody works on: steps of it are in doubt, or were."""


HANDED_OVER = "handed_over"
"""Why a run stops that others are to drive."""


def show_ending(status: Ended) -> str:
    """Why a section begins, in words."""
    return {"completed": "all is done", "failed": "the run has failed", "cancelled": "the run is cancelled"}[status]


class RunStarted(Frozen):
    """A run exists. `document` is the value that was checked; `inputs` are bound, secrets left out.

    `date` is the day in the time zone of the run, `directory` the one in which its process was: others go on there.
    `forked_from` is the run whose steps it begins with: see `RunForked`. `state` is what its workflow and those in it
    had kept, each under its scope, `state_versions` which versions of it, and `state_scope` the scope of the run's own.
    With `is_trial` the run keeps nothing. With `lends`, whoever started it answers prompts for which there is no model.

    `schedule` is the schedule of a place that started it, `parent` the item of a batch of another run whose work it is,
    such as `20261118-170000-0123456789abcdef/deploy[3]`. It is stopped once it was worked on for `time_limit` seconds.
    `queue` is the one of a place whose workers drive it.
    """

    workflow: str
    document: object
    inputs: JsonView
    at: float
    date: str = ""
    directory: str = ""
    forked_from: str = ""
    state: Mapping[str, JsonView] = {}
    state_versions: Mapping[str, Mapping[str, int]] = {}
    state_scope: str = ""
    is_trial: bool = False
    lends: bool = False
    schedule: str = ""
    parent: str = ""
    time_limit: float | None = None
    queue: str = ""


class Cause(Frozen):
    """Why a run exists that no caller has begun by itself, and who is to drive it.

    It is for a schedule of a place, or for an item of a batch in another run, such as `RUN/deploy[3]`.

    A run with a `time_limit` is stopped when it was worked on for so many seconds. With a `queue`, it is driven by the
    workers of that queue of its place, and by no others.
    """

    schedule: str = ""
    parent: str = ""
    time_limit: float | None = None
    queue: str = ""


class RunForked(Frozen):
    """What stands before this was copied from the run that this one is forked from.

    The run goes through its document from the start, keeps the copies as far as it can, and runs `step` and what comes
    after it. With `only`, the copies are what came before `step`, and nothing but `step` runs.
    """

    step: str
    at: float
    only: bool = False


class RunResumed(Frozen):
    """A process took the run up again. `document` is set when it was edited; `rerun` lists the steps that may rerun.

    `again` has the batches that ended without some of their items, each with the items that run again. With it, as with
    a document, the run goes through its document from the start and keeps what need not run again.

    `driven` says that it did so for others: if it is gone, whoever drives next takes the run over. `directory` is the
    one in which the process was.

    `state` is what was read of the state only now: all of it where it `is_renewed`, because another run had changed it.
    Steps that depend on it run again then. `state_scope` is where an edited document keeps it. With `lends`, whoever
    took it up answers prompts for which there is no model. `lost_files` are files of the run that earlier steps name
    and that are not there any more: they are on another machine.
    """

    at: float
    document: object = None
    inputs: Mapping[str, object] = {}
    rerun: tuple[str, ...] = ()
    again: Mapping[str, tuple[int, ...]] = {}
    driven: bool = False
    directory: str = ""
    state: Mapping[str, JsonView] = {}
    state_versions: Mapping[str, Mapping[str, int]] = {}
    state_scope: str = ""
    is_renewed: bool = False
    lends: bool = False
    lost_files: tuple[str, ...] = ()


class DoubtSettled(Frozen):
    """Someone said what became of a step in doubt, or of an item, such as `deploy[3]`.

    If it was `done`, the event that completes it follows; else it runs again when the run is resumed.
    """

    step: str
    outcome: Settlement
    at: float
    by: str = ""


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
    document was edited, or the run that it is forked from), `settled` (a person who knows that it took effect) or
    `skipped` (there are none: its condition was false). `reads` maps natural keys to hashes of what was read under
    them. `failed_items` counts the items of a batch that failed, `declined_items` those of them that somebody declined.
    `state` is what it and the steps in it have set, by scope.
    """

    step: str
    action: str
    writes: Mapping[str, object]
    ms: float
    source: str = "run"
    reads: Mapping[str, str] = {}
    failed_items: int = 0
    declined_items: int = 0
    state: Mapping[str, JsonView] = {}


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
    """A batch item is about to take effect. Of items, `at` is 0 where a version that did not note it recorded them."""

    step: str
    item: int
    attempt: int = 1
    at: float = 0.0


class ItemCompleted(Frozen):
    """A batch item's outputs, and the state that the steps in it have set."""

    step: str
    item: int
    writes: Mapping[str, object]
    state: Mapping[str, JsonView] = {}
    at: float = 0.0


class ItemFailed(Frozen):
    """A batch item failed; `final` when no further attempt follows."""

    step: str
    item: int
    error: JsonView
    final: bool = True
    at: float = 0.0


class ItemNotYet(Frozen):
    """What a batch item gave does not meet the step's condition; another attempt follows."""

    step: str
    item: int
    reason: str
    attempt: int
    retry_in: float
    at: float = 0.0


class StepAsked(Frozen):
    """A step waits. A step that has asked and has no answer is neither running nor in doubt.

    `key` names this question and no other, and whoever has it may answer. `item` is that of a batch. `form` says which
    answers there are: see `pflow.engine.asking.question`. `deadline` is when the wait ends by itself.
    """

    step: str
    key: str
    kind: WaitKind
    at: float
    item: int | None = None
    prompt: str = ""
    show: Mapping[str, object] = {}
    form: Mapping[str, object] = {}
    who: str = "person"
    deadline: float | None = None


class StepAnswered(Frozen):
    """A wait is over, after the seconds `waited`.

    `by` is who answered, `via` the door through which; `mail` is the message that was taken.
    """

    step: str
    key: str
    kind: WaitKind
    at: float
    item: int | None = None
    outcome: Settled = "answered"
    answer: Mapping[str, object] = {}
    by: str = ""
    via: str = ""
    mail: str = ""
    waited: float = 0.0


class ModelUsed(Frozen):
    """A language model worked for a step: it read and wrote `tokens`, for `cost` US dollars if the price is known.

    It did so whatever became of the attempt.
    """

    step: str
    at: float
    item: int | None = None
    model: str = ""
    tokens: int = 0
    cost: float | None = None


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
    """The run reached its end. `state` is what became of what it had set, by scope, kept from now on."""

    outputs: JsonView
    at: float
    state: Mapping[str, JsonView] = {}


class RunFailed(Frozen):
    """The run stopped at a failure. It can be resumed."""

    error: JsonView
    at: float


class RunStopped(Frozen):
    """The run was interrupted (`reason`: `interrupted`, `disconnected`, `in_doubt`). It can be resumed.

    With the reason `waiting`, nothing is left to do until an answer, a message or a moment comes; with `handed_over`,
    the run goes on as soon as somebody takes it up who drives runs for others.
    """

    reason: str
    at: float


class RunCancelled(Frozen):
    """The run was cancelled for good; it was `orphaned` if no process ran it any more, or none had taken it up."""

    at: float
    orphaned: bool = False


Event = (
    RunStarted
    | RunForked
    | RunResumed
    | DoubtSettled
    | StepStarted
    | StepCompleted
    | StepFailed
    | StepNotYet
    | ItemStarted
    | ItemCompleted
    | ItemFailed
    | ItemNotYet
    | StepAsked
    | StepAnswered
    | ModelUsed
    | RunEnding
    | RunCompleted
    | RunFailed
    | RunStopped
    | RunCancelled
)

EVENTS: Mapping[str, type[Event]] = {event.__name__: event for event in get_args(Event)}
"""Event types by the name under which the journal keeps them."""
