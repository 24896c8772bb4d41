"""What a worker still does after its database was away for a while."""

from __future__ import annotations

import pytest
from pg8000.native import Connection

import dev_cluster
from tests.far.conftest import Far
from tests.robust.world import until

pytestmark = pytest.mark.needs("postgres", "temporal")


@pytest.fixture
def lease() -> int:
    """Short, because workers tell of themselves twice in each."""
    return 3


def test_a_run_can_be_cancelled_after_the_database_was_away_during_a_step(far: Far) -> None:
    worker = far.worker()
    run_id = far.detach(far.scene.write(far.scene.hold("long"), far.scene.mark("never")))
    far.scene.until_began("long")
    postgres = far.cluster.postgres
    connection = Connection(
        *(dev_cluster.USER, "127.0.0.1", "postgres", postgres.port, postgres.password), ssl_context=False
    )
    connection.run("CHECKPOINT")  # this server does not wait for the disk
    connection.close()
    postgres.stop_at_once()
    until(lambda: "does not hear of this worker" in worker.said, "the worker misses its database")
    postgres.start()
    assert far.pflow("runs", "cancel", run_id, "--on", "dev").code == 0
    far.until_state(run_id, "cancelled")
    assert far.scene.did() == []
