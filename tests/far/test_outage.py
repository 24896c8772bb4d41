"""What a worker still does after its database was away for a while."""

from __future__ import annotations

import json

import pytest
from pg8000.native import Connection

import dev_cluster
from dev_install import SetupError
from pflow.core.errors import ExistsError
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


@pytest.mark.slow
def test_a_worker_says_once_that_temporal_is_away_and_once_that_it_is_back(far: Far) -> None:
    worker = far.worker()
    temporal = far.cluster.temporal
    temporal.kill()
    try:
        until(lambda: "cannot be reached" in worker.said, "the worker misses Temporal")
    finally:
        temporal.start()
    until(lambda: f"Temporal at `{temporal.address}` is back" in worker.said, "the worker has Temporal again")
    assert far.pflow("run", far.scene.write(far.scene.mark("a")), "--on", "dev").code == 0
    assert worker.said.count("cannot be reached") == 1
    assert "\x1b" not in worker.said and "gRPC" not in worker.said, "the words of the client are not ours"


def test_a_temporal_that_is_away_is_named_and_nothing_is_begun(far: Far) -> None:
    far.worker()
    assert far.pflow("settings", "set", "on.dev.temporal", "127.0.0.1:1/default").code == 0
    document = far.scene.write(far.scene.mark("a"), name="never-begun")
    for words in (("run", document), ("run", document, "--detach")):
        said = far.pflow(*words, "--on", "dev")
        assert said.code == 1, said
        assert "Temporal at `127.0.0.1:1/default` cannot be reached: Connection refused; nothing was begun" in said.err
    assert far.pflow("workflow", "save", document, "note").code == 0
    added = far.pflow("schedule", "add", "note", "every 1h", "--on", "dev")
    assert (added.code, "cannot be reached" in added.err) == (1, True), added
    assert not [info for info in far.runs() if info.workflow == "never-begun"]
    with far.workspace() as workspace:
        assert not workspace.place_schedules._timetable.all()


def test_a_namespace_that_temporal_does_not_have_is_named_to_all(far: Far) -> None:
    address = far.cluster.temporal.address.replace("/default", "/nosuch")
    assert far.pflow("settings", "set", "on.dev.temporal", address).code == 0
    with pytest.raises(SetupError) as ended:
        far.worker()
    refusal = f"error: Temporal at `{address}` refuses that: Namespace nosuch is not found"
    assert refusal in str(ended.value)
    assert "`pflow settings get on.dev.temporal`" in str(ended.value)
    said = far.pflow("run", far.scene.write(far.scene.mark("a")), "--on", "dev")
    assert (said.code, f"{refusal}; nothing was begun" in said.err) == (1, True), said
    with far.workspace() as workspace:
        queue = workspace.setting("on.dev.queue").value
        assert queue not in {worker.queue for worker in workspace.place_workers.list()}


def test_a_database_that_is_away_is_named_without_its_password(far: Far) -> None:
    assert far.pflow("settings", "set", "on.dev.journal", "postgresql://me@127.0.0.1:1/pflow").code == 0
    document = far.scene.write(far.scene.mark("a"))
    for words in (("run", document), ("schedule", "list"), ("runs", "list")):
        said = far.pflow(*words, "--on", "dev")
        assert said.code == 1, said
        assert "the journal of place `dev` at `postgresql://me@127.0.0.1:1/pflow` cannot be reached" in said.err
        assert far.cluster.postgres.password not in said.err


def test_a_value_over_the_limit_of_temporal_goes_through_the_journal(far: Far) -> None:
    far.worker()
    far.scene.folder.joinpath("big.json").write_text(json.dumps({"t": "x" * 3_000_000}))
    sized = {"id": "a", "type": "let", "params": {"n": "size(t)"}}
    document = far.scene.write(sized, inputs={"t": {"type": "string"}}, outputs={"n": {"source": "${a.n}"}})
    said = far.pflow("run", document, "--inputs", str(far.scene.folder / "big.json"), "--on", "dev")
    assert (said.code, said.out.strip()) == (0, "3000000"), said


def test_two_submits_of_one_run_are_one_run(far: Far) -> None:
    far.worker()
    chosen = "20261118-170000-0123456789abcdef"
    document = far.scene.write(far.scene.hold("a"))
    with far.workspace() as workspace:
        workspace.detach(workspace.begin(document, run_id=chosen))
        with pytest.raises(ExistsError):
            workspace.detach(workspace.begin(document, run_id=chosen))
    far.scene.release("a")
    far.until_state(chosen, "completed")
    assert far.scene.did() == ["a"]
