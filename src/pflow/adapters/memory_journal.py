"""A journal that lasts as long as its store: the twin of the one on disk, for tests and throw-away runs."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from itertools import dropwhile, islice

from pflow.adapters.memory_state import MemoryStates
from pflow.core.errors import ConflictError, DamagedError, ExistsError, NotFoundError, StorageError
from pflow.core.file.file_name import show
from pflow.engine.codec import mentions
from pflow.engine.ports import (
    ALL_RUNS,
    Mail,
    Record,
    RunInfo,
    RunQuery,
    StateStore,
    StateVersion,
    Status,
    is_due,
)


class MemoryStore:
    """What several journals can share, as processes share a file."""

    def __init__(self) -> None:
        self.runs: dict[str, _Run] = {}
        self.state: tuple[StateVersion, ...] = ()
        self.changes = 0


class _Run:
    __slots__ = (
        *("cancel", "ended_at", "has_mail", "leased", "mail", "owner", "records", "started_at", "status", "ticket"),
        *("values", "wake_at", "workflow"),
    )

    def __init__(self, workflow: str, started_at: float, owner: MemoryJournal, ticket: int) -> None:
        self.workflow = workflow
        self.ticket = ticket
        self.leased = ticket > 0
        self.started_at = started_at
        self.ended_at: float | None = None
        self.status: Status = "running"
        self.owner: MemoryJournal | None = owner
        self.records: list[Record] = []
        self.values: dict[str, bytes] = {}
        self.cancel = False
        self.mail: dict[str, Mail] = {}
        self.has_mail = False
        self.wake_at: float | None = None

    def is_alive(self) -> bool:
        return self.owner is not None and (self.leased or not self.owner.closed)

    def admits(self, ticket: int) -> bool:
        if ticket:
            return ticket > self.ticket or (ticket == self.ticket and self.owner is None)
        return not self.is_alive()

    def add(self, records: Sequence[Record]) -> None:
        for record in records:
            for digest, data in record.values:
                self.values.setdefault(digest, data)
            self.records.append(Record(record.kind, record.data) if record.values else record)


class MemoryJournal:
    """See `pflow.engine.ports.Journal`."""

    def __init__(self, store: MemoryStore | None = None) -> None:
        self.store = store or MemoryStore()
        self.closed = False
        self.notices: list[str] = []

    @cached_property
    def states(self) -> StateStore:
        """What workflows keep, in the same store."""
        return MemoryStates(self)

    def create(
        self, run_id: str, workflow: str, started_at: float, records: Sequence[Record], *, ticket: int = 0
    ) -> None:
        """Begin a run, owned by this journal."""
        self._check_open()
        if run_id in self.store.runs:
            raise ExistsError(f"there is already a run `{run_id}`")
        run = _Run(workflow, started_at, self, ticket)
        run.add(records)
        self.store.runs[run_id] = run
        self.store.changes += 1

    def claim(self, run_id: str, ticket: int = 0) -> int:
        """Become the owner of an ended or orphaned run, or, with a higher ticket, of any."""
        run = self._find(run_id)
        if not run.admits(ticket):
            raise ConflictError(f"run `{run_id}` is already running")
        if run.status == "damaged":
            raise DamagedError(f"run `{run_id}` is damaged")
        run.cancel = run.cancel and (run.status == "waiting" or ticket > 0)
        run.owner, run.status, run.ended_at = self, "running", None
        run.wake_at, run.has_mail = None, False
        run.leased, run.ticket = ticket > 0, max(ticket, run.ticket)
        self.store.changes += 1
        return len(run.records)

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
        """Store records from `seq` on, all or none."""
        run = self._find(run_id)
        if run.owner is not self:
            raise ConflictError(f"run `{run_id}` does not belong to this process")
        if seq != len(run.records):
            raise ConflictError(f"run `{run_id}` goes on at event {len(run.records)}, not {seq}")
        run.add(records)
        self.store.changes += 1
        if status is not None and status != "running":
            run.status, run.owner, run.cancel = status, None, run.cancel and status == "waiting"
            run.ended_at = None if status == "waiting" else time.time()
            run.wake_at, run.has_mail = wake_at, len(run.mail) > seen_mail or run.cancel

    @contextmanager
    def together(self) -> Iterator[None]:
        """Memory needs no transactions, but state that was changed before something raised is as it was."""
        state = self.store.state
        try:
            yield
        except BaseException:  # undone, and raised again
            self.store.state = state
            raise

    def read(self, run_id: str, start: int = 0) -> Sequence[Record]:
        """The run's records from `start` on."""
        return self._find(run_id).records[max(start, 0) :]

    def read_sound(self, run_id: str, limit: int | None = None) -> Sequence[Record]:
        """The first records, or all: memory is not damaged."""
        return self.read(run_id)[:limit]

    def value(self, run_id: str, digest: str) -> bytes:
        """A large value of the run."""
        try:
            return self._find(run_id).values[digest]
        except KeyError:
            raise NotFoundError(f"run `{run_id}` has no value `{show(digest)}`") from None

    def info(self, run_id: str) -> RunInfo:
        """One run."""
        run = self._find(run_id)
        return RunInfo(
            run_id=run_id,
            workflow=run.workflow,
            status=run.status,
            started_at=run.started_at,
            ended_at=run.ended_at,
            events=len(run.records),
            alive=run.is_alive(),
            wake_at=run.wake_at,
            has_mail=run.has_mail,
            ticket=run.ticket,
        )

    def runs(self, query: RunQuery = ALL_RUNS) -> Sequence[RunInfo]:
        """The runs that `query` asks for, newest first."""
        self._check_open()
        newest = iter(reversed(self.store.runs))
        if query.before is not None:
            self._find(query.before)
            newest = dropwhile(lambda run_id: run_id != query.before, newest)
            next(newest)
        infos = (self.info(run_id) for run_id in newest)
        return list(islice((info for info in infos if self._is_wanted(info, query)), query.limit))

    def version(self) -> str:
        """A string that changes whenever something was stored."""
        self._check_open()
        return str(self.store.changes)

    def request_cancel(self, run_id: str) -> None:
        """Ask the owner, or whoever takes it up next, to cancel the run."""
        run = self._find(run_id)
        run.cancel = run.status in ("running", "waiting")
        run.has_mail = run.has_mail or run.status == "waiting"
        self.store.changes += 1

    def cancel_requests(self, run_ids: Collection[str]) -> frozenset[str]:
        """Those of these runs of ours that were asked to be cancelled."""
        self._check_open()
        runs = {run_id: run for run_id in run_ids if (run := self.store.runs.get(run_id))}
        asked = {run_id: run for run_id, run in runs.items() if run.cancel and run.owner is self}
        for run in asked.values():
            run.cancel = False
            self.store.changes += 1
        return frozenset(asked)

    def deliver(self, run_id: str, mail: Mail) -> bool:
        """Store something for a run, unless there is something under its key."""
        run = self._find(run_id)
        if run.status in ("completed", "cancelled") or mail.key in run.mail:
            return False
        run.mail[mail.key] = mail
        run.has_mail = True
        self.store.changes += 1
        return True

    def mail(self, run_id: str, start: int = 0) -> Sequence[Mail]:
        """What was delivered to a run."""
        return list(self._find(run_id).mail.values())[start:]

    def delete(self, run_ids: Iterable[str]) -> None:
        """Forget runs; none of them if one is running or waiting."""
        self._check_open()
        known = [run_id for run_id in run_ids if run_id in self.store.runs]
        for run_id in known:
            run = self.store.runs[run_id]
            if run.is_alive() or run.status == "waiting":
                what = "running" if run.is_alive() else "waiting"
                raise ConflictError(f"run `{run_id}` is {what} and cannot be deleted")
        for run_id in known:
            self.store.runs.pop(run_id, None)
        self.store.changes += 1

    def close(self) -> None:
        """Release everything; runs still owned become orphans."""
        self.closed = True

    def _is_wanted(self, info: RunInfo, query: RunQuery) -> bool:
        records = self.store.runs[info.run_id].records
        return (
            query.workflow in (None, info.workflow)
            and query.status in (None, info.status)
            and info.run_id.startswith(query.prefix)
            and (query.due is None or is_due(info, query.due))
            and (
                not query.text
                or mentions(query.text, info.workflow, info.run_id, last=lambda: records[-1] if records else None)
            )
        )

    def _find(self, run_id: str) -> _Run:
        self._check_open()
        try:
            return self.store.runs[run_id]
        except KeyError:
            raise NotFoundError(f"there is no run `{show(run_id)}`") from None

    def _check_open(self) -> None:
        if self.closed:
            raise StorageError("the journal is closed")
