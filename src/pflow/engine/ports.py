"""What the engine asks of the world: small protocols, each with an in-memory twin that passes the same suite."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol, get_args

from pflow.core.event import Event, StepAsked
from pflow.core.frozen import Frozen

if TYPE_CHECKING:
    from pflow.core.schedule.policy import Outcome
    from pflow.engine.asking.form import Reply
    from pflow.engine.model.llm import LLM
    from pflow.engine.plan import Plan
    from pflow.process.workers import Workers

Status = Literal["running", "waiting", "completed", "failed", "stopped", "cancelled", "damaged"]
STATUSES: tuple[Status, ...] = get_args(Status)


class Record(NamedTuple):
    """One encoded event: its kind, its JSON, and the values too large to stand in it, by hash."""

    kind: str
    data: bytes
    values: tuple[tuple[str, bytes], ...] = ()


class Mail(Frozen):
    """Something for a run: an answer to the question with this `key`, or a message. `data` is JSON, sealed."""

    key: str
    data: bytes
    by: str
    via: str
    at: float


class RunInfo(Frozen):
    """A run as a list shows it. `alive` says whether its owner's process still runs.

    Of a run that waits, `wake_at` is when it can go on by itself, and `has_mail` whether it can go on now. `ticket` is
    the highest with which it was claimed.
    """

    run_id: str
    workflow: str
    status: Status
    started_at: float
    ended_at: float | None
    events: int
    alive: bool
    wake_at: float | None = None
    has_mail: bool = False
    ticket: int = 0

    @property
    def state(self) -> str:
        """The status, but `interrupted` for a run whose process is gone."""
        return self.status if self.alive or self.status != "running" else "interrupted"


class RunQuery(Frozen):
    """Which runs to list: those that match every field that is given.

    `text` occurs in the workflow's name, the run's id or the error it failed with, ignoring case; `prefix` begins the
    id. `due` is a moment: runs that wait and can go on then. `before` is the id of a run after which the list goes on,
    and `limit` None means all.
    """

    workflow: str | None = None
    status: Status | None = None
    text: str = ""
    prefix: str = ""
    due: float | None = None
    before: str | None = None
    limit: int | None = 50


def is_due(info: RunInfo, at: float) -> bool:
    """Whether a run waits and can go on at a moment."""
    return info.status == "waiting" and (info.has_mail or (info.wake_at is not None and info.wake_at <= at))


AT_ONCE = 0.0
"""When a run wakes that can go on now: a moment that is over, whichever way the clock is set meanwhile."""

ALL_RUNS = RunQuery()
"""The newest runs of all kinds."""


class StateVersion(Frozen):
    """One version of a value that a workflow keeps. `data` is JSON, or None where the value was unset.

    Versions count from 1. `run_id` is the run that made this one; "" stands for a person.
    """

    workflow: str
    key: str
    version: int
    data: bytes | None
    run_id: str
    at: float


Decide = Callable[[StateVersion | None], bytes | None]
"""Gives the JSON that a value has from now on, told its newest version if it has one; None unsets the value."""

STATE_VERSIONS = 20
"""Versions of a value that are kept."""


class StateStore(Protocol):
    """What workflows keep between runs, in versions. Calls are short and block.

    It belongs to a journal. What is changed inside the journal's `together` becomes durable with what is appended
    there; nothing of it does if something raises there.
    """

    def read(self, workflows: Collection[str]) -> Sequence[StateVersion]:
        """The newest version of every value of these workflows, all of one moment."""

    def change(
        self, changes: Mapping[tuple[str, str], Decide], *, run_id: str, at: float
    ) -> Mapping[tuple[str, str], StateVersion]:
        """Change values by workflow and key, all or none, with no other change in between.

        Nothing is changed if one of `changes` raises. A value that stays as it is gets no new version; the newest
        versions after that are returned, without those of values that were never set.
        """

    def history(self, workflow: str, key: str | None = None) -> Sequence[StateVersion]:
        """The versions that are kept of one value, or of all, newest first."""

    def workflows(self) -> Sequence[str]:
        """The workflows that keep something, sorted."""

    def rename(self, workflow: str, new_name: str) -> None:
        """Let everything be kept under another name. Raises `ExistsError` if something is kept there."""

    def forget(self, workflow: str) -> bool:
        """Delete all that a workflow keeps, earlier versions included; whether there was something."""


class Journal(Protocol):
    """Durable, ordered, fenced storage of events. Calls are short and block."""

    @property
    def states(self) -> StateStore:
        """What workflows keep between runs, stored beside their runs."""

    def create(
        self, run_id: str, workflow: str, started_at: float, records: Sequence[Record], *, ticket: int = 0
    ) -> None:
        """Begin a run, owned by this journal, with its first records (sequence numbers from 0)."""

    def claim(self, run_id: str, ticket: int = 0) -> int:
        """Become the owner of an ended or orphaned run; return its next sequence number.

        Raises `ConflictError` while another live owner (or this very journal) has it, `NotFoundError` if
        there is no such run.

        A `ticket` above 0 says that somebody hands out each run to one owner at a time, with higher numbers later on.
        A higher ticket than any before takes the run from whoever has it, alive or not; a lower one is refused, as is
        the same one while the run has an owner. Who has a run by ticket counts as alive until the run ends or is taken.

        A request to cancel is kept if the run waited, or is taken with a ticket; of one that ended, it is forgotten.
        """

    def append(
        self,
        run_id: str,
        seq: int,
        records: Sequence[Record],
        status: Status | None = None,
        *,
        wake_at: float | None = None,
        seen_mail: int = 0,
    ) -> None:
        """Store `records` from sequence number `seq` on, all or none, durable when this returns.

        Raises `ConflictError` when `seq` is not the next number or the run is no longer ours. A `status`
        other than `running` ends our ownership in the same transaction. `wake_at` is when a `waiting` run can go on;
        it can go on at once if more was delivered to it than the `seen_mail` that it has taken into account, or if it
        was asked to be cancelled.
        """

    def together(self) -> AbstractContextManager[None]:
        """Make what is appended inside durable only when it ends, all at once; an append that fails fails alone.

        Raises `StorageError` at the end when nothing of it could be stored.
        """

    def read(self, run_id: str, start: int = 0) -> Sequence[Record]:
        """The run's records from `start` on, without their large values. Raises `NotFoundError`, `DamagedError`."""

    def read_sound(self, run_id: str, limit: int | None = None) -> Sequence[Record]:
        """The records before the first that cannot be read, at most so many. Raises `NotFoundError`."""

    def value(self, run_id: str, digest: str) -> bytes:
        """A large value of the run, as JSON. Raises `NotFoundError`."""

    def info(self, run_id: str) -> RunInfo:
        """One run. Raises `NotFoundError`."""

    def runs(self, query: RunQuery = ALL_RUNS) -> Sequence[RunInfo]:
        """The runs that `query` asks for, newest first. Raises `NotFoundError` if `before` names no run."""

    def version(self) -> str:
        """A string that changes whenever any process has stored something."""

    def request_cancel(self, run_id: str) -> None:
        """Ask the owner, whichever process it is, to cancel the run; of one that waits, whoever takes it up next."""

    def cancel_requests(self, run_ids: Collection[str]) -> frozenset[str]:
        """Those of these runs of ours that were asked to be cancelled: each request is told once."""

    def deliver(self, run_id: str, mail: Mail) -> bool:
        """Store something for a run, whoever owns it, durable when this returns.

        False if there is something under this key already, or if the run is completed or cancelled. Raises
        `NotFoundError`.
        """

    def mail(self, run_id: str, start: int = 0) -> Sequence[Mail]:
        """What was delivered to a run, in that order, without the first `start`. Raises `NotFoundError`."""

    def delete(self, run_ids: Iterable[str]) -> None:
        """Forget ended runs and their values. Raises `ConflictError` if one of them is running or waiting."""

    def close(self) -> None:
        """Release everything; runs still owned become orphans that can be claimed."""


class Unrecorded(Frozen):
    """What a run needs that the journal does not hold: inputs that are secret, and whether to use the cache."""

    inputs: Mapping[str, object] = {}
    cache: bool = True


ALL_RECORDED = Unrecorded()
"""The journal holds all that is needed."""


class Dispatch(Protocol):
    """Has runs driven by somebody other than the caller: the journal makes them safe, the dispatch makes them live.

    Claims and appends are fenced, so whatever a dispatch does twice happens once, and one that forgets loses no run: it
    still waits in the journal. Schedules are kept in a `Timetable`; on one machine a process looks at them, and at a
    place whoever dispatches runs fires them as well.
    """

    def submit(self, run_id: str, unrecorded: Unrecorded = ALL_RECORDED) -> None:
        """Have a run driven that waits in the journal. When this returns, somebody has taken it up or will do so.

        Raises `RunError` if nobody can.
        """

    def answer(self, run_id: str) -> None:
        """Have a run taken up to which something was delivered, if it is not running."""

    def cancel(self, run_id: str) -> None:
        """Tell whoever drives the run that the journal holds a request to cancel it."""

    def end(self, run_id: str) -> bool:
        """Have a run that waits cancelled by those who drive, with the steps that its document wants at its end.

        False if that is left to the caller.
        """

    def is_driven(self) -> bool:
        """Whether somebody takes up the runs of this journal that are due. Cheap enough to ask before each run."""

    def close(self) -> None:
        """Let go of what it needs to reach them."""


class RunEnd(Frozen):
    """How a run has ended: with `outputs` if it is completed, else with an `error`."""

    status: str
    outputs: Mapping[str, object] = {}
    error: Mapping[str, object] = {}


class Spread(Protocol):
    """Has items of a batch driven as runs of their own, by whoever drives runs. Calls block, and can be repeated."""

    def begin(self, run_id: str, plan: Plan, inputs: Mapping[str, object], parent: str) -> None:
        """Begin a run for the item `parent` of another, unless it has begun. Raises `PflowError`."""

    def go_on(self, run_id: str) -> None:
        """Have a run go on that had failed or was stopped. Raises `PflowError` while it cannot."""

    def ended(self, run_id: str) -> RunEnd | None:
        """How a run has ended; None while it goes on or waits."""

    def cancel(self, run_id: str) -> None:
        """End a run for good, if it has not ended."""


class Cache(Protocol):
    """Keeps what pure steps wrote, for other runs and processes. May forget anything at any time."""

    def get(self, key: str) -> bytes | None:
        """What was put under this key."""

    def put(self, key: str, data: bytes) -> None:
        """Keep it; what was not used for the longest time makes room."""

    def close(self) -> None:
        """Release everything, before the journal does."""


class Tick(Frozen):
    """A due time of a schedule and what became of it, last changed `at` a moment.

    The run, if there is one or will be, is `run_id`; `tries` counts the claims of the due time, and `note` says in
    words why it has no good end. One that is `asked` for was started by a person, then. `owner` is the process that
    claimed it, which is `alive` or not; whoever stores a claim is its owner.
    """

    schedule: str
    due: float
    outcome: Outcome
    at: float
    run_id: str = ""
    tries: int = 1
    note: str = ""
    asked: bool = False
    owner: str = ""
    alive: bool = False


class Timetable(Protocol):
    """Durable storage of schedules by name. Calls are short and block."""

    def add(self, name: str, data: bytes) -> None:
        """Store a schedule under a new name. Raises `ExistsError`."""

    def all(self) -> Mapping[str, bytes]:
        """Every schedule, by name."""

    def change(self, name: str, change: Callable[[bytes], bytes]) -> None:
        """Replace a schedule by what `change` makes of it; nobody else changes it meanwhile. Raises `NotFoundError`."""

    def remove(self, name: str) -> None:
        """Forget a schedule and its due times. Raises `NotFoundError`."""


class Schedules(Timetable, Protocol):
    """Schedules, and what became of their due times, where a process of ours looks for what is due."""

    def together(self) -> AbstractContextManager[None]:
        """Store what is stored inside all at once, or nothing of it; nobody else stores anything meanwhile."""

    def put(self, tick: Tick, seen: Tick | None = None) -> bool:
        """Store what became of a due time; False if by now there is something else stored for it than what was `seen`.

        Without `seen` nothing may be stored yet: of all who try, one succeeds.
        """

    def ticks(
        self,
        schedule: str | None = None,
        *,
        since: float | None = None,
        outcomes: Iterable[Outcome] = (),
        limit: int | None = None,
    ) -> Sequence[Tick]:
        """Due times, the last first: of one schedule, later than `since`, with one of these outcomes."""

    def started(self, run_ids: Iterable[str]) -> Mapping[str, Tick]:
        """Which of these runs a schedule started, or was about to, each with its due time."""

    def forget(self, before: float) -> None:
        """Drop due times before a moment, except those that have a run which may still go on, or wait for one."""

    def close(self) -> None:
        """Release everything, before the journal does; claims of this process are lost."""


OPEN: tuple[Outcome, ...] = ("claimed", "queued", "waiting", "untold")
"""Outcomes that are not the last."""


class Observer(Protocol):
    """Told of every event after it is durable and applied. Must not block or raise.

    Errors and reports, which are there to be shown, come without secrets; values come as they are.
    """

    def notify(self, run_id: str, event: Event) -> None:
        """An event took effect."""

    def report(self, run_id: str, step: str, message: str) -> None:
        """A step says what it is doing; not durable."""


class Given(Frozen):
    """What somebody replied to a question, who that was, and through which door."""

    reply: Reply
    by: str
    via: str


class Asker(Protocol):
    """Somebody at hand who can be asked while a run goes on: at the terminal, behind a client, in the program."""

    async def ask(self, run_id: str, asked: StepAsked) -> Given | None:
        """What they say; None if nobody decides, which leaves the run waiting. Cancelled if others answer before."""


Staying = Callable[[str, Sequence[StepAsked]], None]
"""Told what a run waits for when nothing else is left to do, and its process stays for that; more than once."""


class ToolSessions(Protocol):
    """Calls tools on MCP servers over connections that outlive a step."""

    def prepare(self, servers: Iterable[str]) -> None:
        """Have servers started ahead of their first call."""

    def needs(self, server: str, tool: str) -> Sequence[str]:
        """The parameters that a tool cannot do without. Raises `NotFoundError` for a tool that is not known."""

    async def call(self, server: str, tool: str, arguments: Mapping[str, object]) -> Mapping[str, object]:
        """What the tool gives, as outputs of a step by name. Raises `StepError` and others of `PflowError`."""

    async def close(self) -> None:
        """End all connections that were made on the running event loop."""


Live = Callable[[str, str, str, str], None]
"""Takes a line that a step says while it runs: the run, the step, the stream (`stdout`, `stderr`, `report`), the text.

Not durable. Must not block or raise, and leaves secrets out itself.
"""


class Still(Frozen):
    """What code finds where a run is played again: the time `at` which it began, and what chance begins with."""

    at: float
    seed: str


class Services(Frozen):
    """What steps may use. `workers` gives child processes that are at hand, `llm` whoever asks models, if there are.

    `live` takes what they say for those who follow the run. `files` is where each run has its directory. Where a run is
    played again, code `still` has the time and the chance of then, and no network.
    """

    home: Path
    settings: Mapping[str, str]
    tools: ToolSessions | None = None
    workers: Callable[[], Workers | None] = staticmethod(lambda: None)
    llm: Callable[[], LLM | None] = staticmethod(lambda: None)
    live: Live | None = None
    files: Path | None = None
    still: Still | None = None
