"""What the engine asks of the world: small protocols, each with an in-memory twin that passes the same suite."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol

from pflow.core.event import Event
from pflow.core.frozen import Frozen

if TYPE_CHECKING:
    from pflow.process.workers import Workers

Status = Literal["running", "completed", "failed", "stopped", "cancelled", "damaged"]
STATUSES: tuple[Status, ...] = ("running", "completed", "failed", "stopped", "cancelled", "damaged")


class Record(NamedTuple):
    """One encoded event: its kind, its JSON, and the values too large to stand in it, by hash."""

    kind: str
    data: bytes
    values: tuple[tuple[str, bytes], ...] = ()


class RunInfo(Frozen):
    """A run as a list shows it. `alive` says whether its owner's process still runs."""

    run_id: str
    workflow: str
    status: Status
    started_at: float
    ended_at: float | None
    events: int
    alive: bool

    @property
    def state(self) -> str:
        """The status, but `interrupted` for a run whose process is gone."""
        return self.status if self.alive or self.status != "running" else "interrupted"


class RunQuery(Frozen):
    """Which runs to list: those that match every field that is given.

    `text` occurs in the workflow's name, the run's id or the error it failed with, ignoring case; `prefix` begins the
    id. `before` is the id of a run after which the list goes on, and `limit` None means all.
    """

    workflow: str | None = None
    status: Status | None = None
    text: str = ""
    prefix: str = ""
    before: str | None = None
    limit: int | None = 50


ALL_RUNS = RunQuery()
"""The newest runs of all kinds."""


class Journal(Protocol):
    """Durable, ordered, fenced storage of events. Calls are short and block."""

    def create(self, run_id: str, workflow: str, started_at: float, records: Sequence[Record]) -> None:
        """Begin a run, owned by this journal, with its first records (sequence numbers from 0)."""

    def claim(self, run_id: str) -> int:
        """Become the owner of an ended or orphaned run; return its next sequence number.

        Raises `ConflictError` while another live owner (or this very journal) has it, `NotFoundError` if
        there is no such run.
        """

    def append(self, run_id: str, seq: int, records: Sequence[Record], status: Status | None = None) -> None:
        """Store `records` from sequence number `seq` on, all or none, durable when this returns.

        Raises `ConflictError` when `seq` is not the next number or the run is no longer ours. A `status`
        other than `running` ends our ownership in the same transaction.
        """

    def together(self) -> AbstractContextManager[None]:
        """Make what is appended inside durable only when it ends, all at once; an append that fails fails alone.

        Raises `StorageError` at the end when nothing of it could be stored.
        """

    def read(self, run_id: str, start: int = 0) -> Sequence[Record]:
        """The run's records from `start` on, without their large values. Raises `NotFoundError`, `DamagedError`."""

    def value(self, run_id: str, digest: str) -> bytes:
        """A large value of the run, as JSON. Raises `NotFoundError`."""

    def info(self, run_id: str) -> RunInfo:
        """One run. Raises `NotFoundError`."""

    def runs(self, query: RunQuery = ALL_RUNS) -> Sequence[RunInfo]:
        """The runs that `query` asks for, newest first. Raises `NotFoundError` if `before` names no run."""

    def version(self) -> str:
        """A string that changes whenever any process has stored something."""

    def request_cancel(self, run_id: str) -> None:
        """Ask the owner, whichever process it is, to cancel the run."""

    def cancel_requests(self) -> frozenset[str]:
        """Runs of ours that were asked to be cancelled since the last call: each request is told once."""

    def delete(self, run_ids: Iterable[str]) -> None:
        """Forget ended runs and their values."""

    def close(self) -> None:
        """Release everything; runs still owned become orphans that can be claimed."""


class Cache(Protocol):
    """Keeps what pure steps wrote, for other runs and processes. May forget anything at any time."""

    def get(self, key: str) -> bytes | None:
        """What was put under this key."""

    def put(self, key: str, data: bytes) -> None:
        """Keep it; what was not used for the longest time makes room."""

    def close(self) -> None:
        """Release everything, before the journal does."""


class Observer(Protocol):
    """Told of every event after it is durable and applied. Must not block or raise.

    Errors and reports, which are there to be shown, come without secrets; values come as they are.
    """

    def notify(self, run_id: str, event: Event) -> None:
        """An event took effect."""

    def report(self, run_id: str, step: str, message: str) -> None:
        """A step says what it is doing; not durable."""


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


class Services(Frozen):
    """What steps may use. `workers` gives child processes that are at hand, where there are any."""

    home: Path
    settings: Mapping[str, str]
    tools: ToolSessions | None = None
    workers: Callable[[], Workers | None] = lambda: None
