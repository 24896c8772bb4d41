"""A run stays in the queue that it was begun in, whatever happens to it; the place's own workers never touch it."""

from __future__ import annotations

import signal
from typing import Any

import pytest

from dev_place import Worker
from tests.far.conftest import Far
from tests.far.test_spread import children, spread

pytestmark = pytest.mark.needs("postgres", "temporal")

ASK = {"id": "ok", "type": "ask", "params": {"prompt": "go on?", "choices": ["yes", "no"]}}


@pytest.fixture
def other(far: Far) -> str:
    """Another queue of the place, of this test alone."""
    return far.pflow("settings", "get", "on.dev.queue").out.strip() + "-other"


def begin(far: Far, queue: str, document: str, *words: str) -> str:
    """Have a document run in a queue; the id of the run."""
    return far.detach(document, "--queue", queue, *words)


def taken_up(worker: Worker, run_id: str) -> int:
    """How many turns of a run a worker has had."""
    return worker.said.count(f"{run_id}: taken up")


def test_a_run_stays_in_the_queue_that_was_named_for_it(far: Far, other: str) -> None:
    own, chosen = far.worker(), far.worker("--queue", other)
    document = far.scene.write(far.scene.mark("a"), ASK, far.scene.mark("b"), file="asks.json")
    asked = begin(far, other, document)
    far.until_asks(asked)
    assert far.pflow("answer", asked, "yes", "--on", "dev").code == 0
    far.until_state(asked, "completed")
    assert taken_up(chosen, asked) == 2

    flag = far.scene.folder / "mended"
    test = {"id": "try", "type": "shell", "params": {"command": f"test -e {flag}"}}
    failing = far.pflow(
        "run", far.scene.write(test, far.scene.mark("c"), file="fails.json"), "--on", "dev", "--queue", other, "--json"
    )
    assert failing.code == 1, failing
    failed = failing.json["checkpoint"]["run_id"]
    flag.touch()
    assert far.pflow("runs", "resume", failed, "--on", "dev").code == 0
    assert taken_up(chosen, failed) == 2
    forked = far.pflow("runs", "fork", failed, "--from", "c", "--on", "dev", "--json").json["data"]["run_id"]
    assert taken_up(chosen, forked) == 1

    ends = far.scene.write(ASK, far.scene.mark("last"), file="ends.json", **{"finally": "last"})
    cancelled = begin(far, other, ends)
    far.until_asks(cancelled)
    assert far.pflow("runs", "cancel", cancelled, "--on", "dev").code == 0
    far.until_state(cancelled, "cancelled")
    assert far.scene.did() == ["a", "b", "c", "c", "last"]

    document = spread(far, [{"id": "say", "type": "echo", "params": {"n": "${n}"}}], [1, 2], concurrency=2)
    said = far.pflow("run", document, "--on", "dev", "--queue", other, "--json")
    assert said.code == 0, said
    items = children(far, said.json["data"]["run_id"])
    assert [taken_up(chosen, item) for item in items] == [1, 1]
    with far.workspace() as workspace:
        assert {cause.queue for cause in workspace.causes(items).values()} == {other}
    assert "taken up" not in own.said

    shown: list[dict[str, Any]] = far.pflow("workers", "--on", "dev", "--json").json["data"]["workers"]
    assert {other, other.removesuffix("-other")} <= {one["queue"] for one in shown}
    chosen.end(signal.SIGTERM)
    for words in (["run", document, "--queue", other], ["runs", "fork", failed, "--from", "c"]):
        refused = far.pflow(*words, "--on", "dev", "--json")
        assert (refused.code, refused.json["error"]["type"]) == (1, "no_worker"), refused
        assert refused.json["error"]["details"]["queue"] == other
        assert f"pflow worker --on dev --queue {other}" in refused.json["error"]["suggestions"][0]


def test_a_queue_is_of_a_place_and_has_a_name(far: Far) -> None:
    document = far.scene.write(far.scene.mark("a"))
    for words in (["--queue", "gpu"], ["--queue", "gpu", "--dry-run"], ["--queue", " ", "--on", "dev"]):
        said = far.pflow("run", document, *words)
        assert (said.code, "queue" in said.err) == (2, True), said
    assert far.pflow("worker", "--on", "dev", "--queue", "").code == 2
    takes = far.scene.write({"id": "a", "type": "echo", "params": {"n": "${queue}"}}, inputs={"queue": {}})
    assert far.pflow("run", takes, "--queue", "mine").out == "mine\n", "an input of that name was there before"
    assert far.scene.did() == []


@pytest.mark.slow
@pytest.mark.parametrize("lease", [3])  # it waits until two of them are over
def test_a_run_that_nobody_started_is_found_and_left_to_the_workers_of_its_queue(far: Far, other: str) -> None:
    own, chosen = far.worker(), far.worker("--queue", other)
    with far.workspace() as workspace:
        run = workspace.begin(far.scene.write(far.scene.mark("a")), queue=other)
        run.record()  # whoever began it is gone before it is submitted
    far.until_state(run.run_id, "completed")
    assert (taken_up(chosen, run.run_id), taken_up(own, run.run_id)) == (1, 0)
