"""What the dispatch of many machines says when Temporal goes away between the record of a run and its submit."""

from __future__ import annotations

import pytest

import dev_cluster
from pflow.adapters.temporal.connection import Connection, Queue
from pflow.adapters.temporal.dispatch import TemporalDispatch
from pflow.core.errors import StorageError
from pflow.core.setting.place import read_place
from pflow.testing import MemoryJournal


def test_a_run_that_was_recorded_and_not_submitted_is_named_with_what_becomes_of_it() -> None:
    port = dev_cluster.free_port()
    place = read_place("far", {"far": {"temporal": f"127.0.0.1:{port}/default"}})
    assert place.temporal is not None
    journal = MemoryJournal()
    journal.create("r1", "report", 1.0, [])
    connection = Connection(Queue(place=place.name, address=place.temporal, name="pflow", lease_seconds=15.0))
    try:
        with pytest.raises(StorageError) as raised:
            TemporalDispatch(connection, journal).submit("r1")
    finally:
        connection.close()
    assert f"`127.0.0.1:{port}" in raised.value.message
    assert raised.value.details["run_id"] == "r1"
    assert "run `r1` is recorded" in raised.value.suggestions[0]
    assert "`pflow runs cancel r1`" in raised.value.suggestions[0]
