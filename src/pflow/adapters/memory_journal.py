"""A journal that lasts as long as its store: the twin of the one on disk, for tests and throw-away runs."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext

from pflow.core.errors import ConflictError, DamagedError, ExistsError, NotFoundError, StorageError
from pflow.core.file.file_name import show
from pflow.engine.ports import Record, RunInfo, Status

CACHE_BYTES = 64 << 20


class MemoryStore:
    """What several journals can share, as processes share a file."""

    def __init__(self) -> None:
        self.runs: dict[str, _Run] = {}
        self.cache: dict[str, bytes] = {}
        self.cache_size = 0


class _Run:
    __slots__ = ("cancel", "ended_at", "owner", "records", "started_at", "status", "values", "workflow")

    def __init__(self, workflow: str, started_at: float, owner: MemoryJournal) -> None:
        self.workflow = workflow
        self.started_at = started_at
        self.ended_at: float | None = None
        self.status: Status = "running"
        self.owner: MemoryJournal | None = owner
        self.records: list[Record] = []
        self.values: dict[str, bytes] = {}
        self.cancel = False

    def is_alive(self) -> bool:
        return self.owner is not None and not self.owner.closed

    def add(self, records: Sequence[Record]) -> None:
        for record in records:
            for digest, data in record.values:
                self.values.setdefault(digest, data)
            self.records.append(Record(record.kind, record.data) if record.values else record)


class MemoryJournal:
    """See `pflow.engine.ports.Journal`."""

    def __init__(self, store: MemoryStore | None = None, *, cache_bytes: int = CACHE_BYTES) -> None:
        self.store = store or MemoryStore()
        self.closed = False
        self.notices: list[str] = []
        self._cache_bytes = cache_bytes

    def create(self, run_id: str, workflow: str, started_at: float, records: Sequence[Record]) -> None:
        """Begin a run, owned by this journal."""
        self._check_open()
        if run_id in self.store.runs:
            raise ExistsError(f"there is already a run `{run_id}`")
        run = _Run(workflow, started_at, self)
        run.add(records)
        self.store.runs[run_id] = run

    def claim(self, run_id: str) -> int:
        """Become the owner of an ended or orphaned run."""
        run = self._find(run_id)
        if run.is_alive():
            raise ConflictError(f"run `{run_id}` is already running")
        if run.status == "damaged":
            raise DamagedError(f"run `{run_id}` is damaged")
        run.owner, run.status, run.ended_at, run.cancel = self, "running", None, False
        return len(run.records)

    def append(self, run_id: str, seq: int, records: Sequence[Record], status: Status | None = None) -> None:
        """Store records from `seq` on, all or none."""
        run = self._find(run_id)
        if run.owner is not self:
            raise ConflictError(f"run `{run_id}` does not belong to this process any more")
        if seq != len(run.records):
            raise ConflictError(f"run `{run_id}` goes on at event {len(run.records)}, not {seq}")
        run.add(records)
        if status is not None and status != "running":
            run.status, run.owner, run.ended_at, run.cancel = status, None, time.time(), False

    def together(self) -> AbstractContextManager[None]:
        """Memory needs no transactions."""
        return nullcontext()

    def read(self, run_id: str, start: int = 0) -> Sequence[Record]:
        """The run's records from `start` on."""
        return self._find(run_id).records[max(start, 0) :]

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
        )

    def runs(self, limit: int = 50) -> Sequence[RunInfo]:
        """The newest runs first."""
        self._check_open()
        newest = list(reversed(self.store.runs))
        return [self.info(run_id) for run_id in newest[:limit]]

    def find(self, prefix: str) -> Sequence[str]:
        """Ids of runs that start with `prefix`."""
        self._check_open()
        return [run_id for run_id in reversed(self.store.runs) if run_id.startswith(prefix)]

    def request_cancel(self, run_id: str) -> None:
        """Ask the owner to cancel the run."""
        run = self._find(run_id)
        run.cancel = run.status == "running"

    def cancel_requests(self) -> frozenset[str]:
        """Runs of ours that someone asked to cancel."""
        self._check_open()
        return frozenset(run_id for run_id, run in self.store.runs.items() if run.cancel and run.owner is self)

    def delete(self, run_ids: Iterable[str]) -> None:
        """Forget runs; none of them if one is running."""
        self._check_open()
        known = [run_id for run_id in run_ids if run_id in self.store.runs]
        for run_id in known:
            if self.store.runs[run_id].is_alive():
                raise ConflictError(f"run `{run_id}` is running and cannot be deleted")
        for run_id in known:
            self.store.runs.pop(run_id, None)

    def cache_get(self, key: str) -> bytes | None:
        """What a pure step wrote for this key."""
        self._check_open()
        data = self.store.cache.pop(key, None)
        if data is not None:
            self.store.cache[key] = data
        return data

    def cache_put(self, key: str, data: bytes) -> None:
        """Remember what a pure step wrote; what was not used for longest makes room."""
        self._check_open()
        store = self.store
        store.cache_size += len(data) - len(store.cache.pop(key, b""))
        store.cache[key] = data
        while store.cache_size > self._cache_bytes:
            store.cache_size -= len(store.cache.pop(next(iter(store.cache))))

    def close(self) -> None:
        """Let go of everything; runs still owned become orphans."""
        self.closed = True

    def _find(self, run_id: str) -> _Run:
        self._check_open()
        try:
            return self.store.runs[run_id]
        except KeyError:
            raise NotFoundError(f"there is no run `{show(run_id)}`") from None

    def _check_open(self) -> None:
        if self.closed:
            raise StorageError("the journal is closed")
