"""The journal of a place as use cases: bringing its tables up to date, and copying the runs of the home there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pflow.core.errors import ConflictError, DamagedError
from pflow.core.frozen import Frozen
from pflow.engine.ports import Decide, Journal, Record, RunInfo, RunQuery, StateStore, StateVersion
from pflow.execution.wiring import Wiring

_AT_ONCE = 500
_ENDED = ("completed", "failed", "stopped", "cancelled")


class Migrated(Frozen):
    """Which version the tables of a place had, and which they have now. 0 stands for none."""

    place: str
    address: str
    before: int
    version: int


class Copied(Frozen):
    """What became of the runs of a home: copied, there already, or `left`, each with the reason.

    `state` are workflows whose state was copied.
    """

    place: str
    copied: Sequence[str]
    known: Sequence[str]
    left: Mapping[str, str]
    state: Sequence[str]


class PlaceJournal:
    """The journal of the place that a workspace was opened `on`."""

    def __init__(self, wiring: Wiring) -> None:
        self._wiring = wiring

    def migrate(self) -> Migrated:
        """Bring its tables up to date; nothing that is in them is lost."""
        database = self._wiring.place_database
        before, version = database.migrate()
        return Migrated(place=database.place.name, address=str(database.address), before=before, version=version)

    def clean(self, seconds: float) -> int:
        """Delete runs that ended longer ago than that, by the clock of the database; how many. Others stay."""
        from pflow.adapters.postgres.journal import PostgresJournal  # lazy: the driver is an extra

        journal = PostgresJournal(self._wiring.place_database, shared=True)
        gone = 0
        while found := journal.ended_before(seconds, _AT_ONCE):
            try:
                journal.delete(found)
            except ConflictError:  # somebody goes on with one of them just now
                continue
            gone += len(found)
        return gone

    def copy(self) -> Copied:
        """Copy every run of the home that is over, and what workflows keep. Again, it copies what is new.

        A run that is not over stays: at both places it could go on twice.
        """
        from pflow.adapters.postgres.restore import restore  # lazy: the driver is an extra

        home, target, database = self._wiring.own_journal, self._wiring.journal, self._wiring.place_database
        copied: list[str] = []
        known: list[str] = []
        left: dict[str, str] = {}
        for info in reversed(home.runs(RunQuery(limit=None))):
            if _has(target, info):
                known.append(info.run_id)
            elif info.status not in _ENDED:
                left[info.run_id] = "it is damaged" if info.status == "damaged" else "it is not over"
            else:
                try:
                    records = _with_values(home.read(info.run_id), home.values(info.run_id))
                except DamagedError:
                    left[info.run_id] = "it is damaged"
                    continue
                done = restore(database, info, records, home.mail(info.run_id))
                (copied if done else known).append(info.run_id)
        state = _copy_state(home.states, target.states)
        return Copied(place=database.place.name, copied=copied, known=known, left=left, state=state)


def _with_values(records: Sequence[Record], values: Mapping[str, bytes]) -> list[Record]:
    """The records of a run, the first of them with all of its large values."""
    return [Record(one.kind, one.data, () if number else tuple(values.items())) for number, one in enumerate(records)]


def _has(journal: Journal, info: RunInfo) -> bool:
    found = journal.runs(RunQuery(prefix=info.run_id, limit=None))
    return any(one.run_id == info.run_id for one in found)


def _copy_state(home: StateStore, target: StateStore) -> list[str]:
    """Copy what workflows keep that keep nothing there; returns those."""
    there = set(target.workflows())
    copied = [name for name in home.workflows() if name not in there]
    for workflow in copied:
        for version in reversed(home.history(workflow)):
            name = (workflow, version.key)
            target.change({name: _to(version)}, run_id=version.run_id, at=version.at)
    return copied


def _to(version: StateVersion) -> Decide:
    return lambda _: version.data
