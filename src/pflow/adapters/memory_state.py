"""What workflows keep between runs, as long as the store of a journal in memory lasts."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING

from pflow.core.errors import ExistsError, StorageError
from pflow.core.file.file_name import show
from pflow.engine.ports import STATE_VERSIONS, Decide, StateVersion

if TYPE_CHECKING:
    from pflow.adapters.memory_journal import MemoryJournal, MemoryStore

Name = tuple[str, str]
"""A workflow and a key."""


class MemoryStates:
    """See `pflow.engine.ports.StateStore`. All versions of all values are one tuple, the newest last."""

    def __init__(self, journal: MemoryJournal) -> None:
        self._journal = journal

    def read(self, workflows: Collection[str]) -> Sequence[StateVersion]:
        """The newest version of every value of these workflows."""
        newest = _newest(self._store.state)
        return [newest[name] for name in sorted(newest) if name[0] in workflows]

    def change(self, changes: Mapping[Name, Decide], *, run_id: str, at: float) -> Mapping[Name, StateVersion]:
        """Change values, all or none."""
        store = self._store
        newest = _newest(store.state)
        made: list[StateVersion] = []
        for name, decide in changes.items():
            before = newest.get(name)
            data = decide(before)
            if data != (before.data if before else None):
                number = before.version + 1 if before else 1
                made.append(
                    StateVersion(workflow=name[0], key=name[1], version=number, data=data, run_id=run_id, at=at)
                )
        newest |= _newest(made)
        old = {name: newest[name].version - STATE_VERSIONS for name in newest}
        store.state = tuple(one for one in (*store.state, *made) if one.version > old[one.workflow, one.key])
        store.changes += bool(made)
        return {name: newest[name] for name in changes if name in newest}

    def history(self, workflow: str, key: str | None = None) -> Sequence[StateVersion]:
        """The versions that are kept, newest first."""
        state = self._store.state
        return [one for one in reversed(state) if one.workflow == workflow and key in (None, one.key)]

    def workflows(self) -> Sequence[str]:
        """The workflows that keep something."""
        return sorted({one.workflow for one in self._store.state})

    def rename(self, workflow: str, new_name: str) -> None:
        """Let everything be kept under another name."""
        known = self.workflows()
        if workflow in known and new_name in known:
            raise ExistsError(f"there is state of `{show(new_name)}` already")
        self._store.state = tuple(
            one._replace(workflow=new_name) if one.workflow == workflow else one for one in self._store.state
        )

    def forget(self, workflow: str) -> bool:
        """Delete all that a workflow keeps."""
        store = self._store
        before, store.state = store.state, tuple(one for one in store.state if one.workflow != workflow)
        return len(before) > len(store.state)

    @property
    def _store(self) -> MemoryStore:
        if self._journal.closed:
            raise StorageError("the journal is closed")
        return self._journal.store


def _newest(versions: Sequence[StateVersion]) -> dict[Name, StateVersion]:
    return {(one.workflow, one.key): one for one in versions}
