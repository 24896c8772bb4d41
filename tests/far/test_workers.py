"""Workers may stop, die or stand still at any moment; others go on, and nothing that was done is done again.

What was done is read from what the steps left behind, and from nothing that pflow says.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from tests.far.conftest import Far
from tests.robust.world import until

pytestmark = pytest.mark.needs("postgres", "temporal")


@pytest.fixture
def lease() -> int:
    """These tests wait until it is over."""
    return 3


def test_a_worker_that_is_told_to_stop_finishes_its_steps_and_another_goes_on(far: Far) -> None:
    first = far.worker()
    run_id = far.detach(far.scene.write(far.scene.mark("a"), far.scene.hold("b"), far.scene.mark("c")))
    far.scene.until_began("b")
    second = far.worker()
    first.send(signal.SIGTERM)
    until(lambda: "stopping" in first.said, "the worker stops")
    far.scene.release("b")
    until(lambda: not first.is_alive(), "the end of the worker")
    far.until_state(run_id, "completed")
    assert far.scene.did() == ["a", "b", "c"]
    assert run_id in second.said
    assert "cannot be driven here" not in first.said  # it no longer asks for runs when it gives its own back


def test_what_a_killed_worker_did_is_asked_about_and_settled(far: Far) -> None:
    first = far.worker()
    document = far.scene.write(far.scene.mark("a"), far.scene.hold("b"), far.scene.mark("c"))
    settled = far.detach(document)
    far.scene.until_began("b")
    first.end(signal.SIGKILL)
    far.worker()
    far.until_state(settled, "in_doubt", "interrupted", "stopped")
    far.scene.release("b")
    refused = far.pflow("runs", "resume", settled, "--on", "dev")
    assert refused.code == 4, refused
    assert f"pflow runs settle {settled} --on dev" in refused.err
    assert far.scene.did().count("c") == 0
    said = far.pflow("runs", "settle", settled, "b", "--done", "stdout=", "stderr=", "exit_code=0", "--on", "dev")
    assert said.code == 0, said
    done = far.pflow("runs", "resume", settled, "--on", "dev")
    assert done.code == 0, done
    assert far.scene.did().count("a") == far.scene.did().count("c") == 1
    assert len(far.scene.until_began("b")) == 1


@pytest.mark.slow
def test_a_request_that_is_sent_again_by_another_worker_carries_the_same_idempotency_key(far: Far) -> None:
    with slow_service() as service:
        assert far.pflow("settings", "set", "http.allow_hosts", "127.0.0.1").code == 0
        first = far.worker()
        post = {"id": "post", "type": "http", "params": {"url": service.url, "method": "POST", "body": "order"}}
        run_id = far.detach(far.scene.write(post))
        until(lambda: service.keys, "the request")
        first.end(signal.SIGKILL)
        far.worker()
        far.until_state(run_id, "in_doubt", "interrupted", "stopped")
        service.may_answer.set()
        assert far.pflow("runs", "settle", run_id, "post", "--rerun", "--on", "dev").code == 0
        done = far.pflow("runs", "resume", run_id, "--on", "dev")
        assert done.code == 0, done
    assert len(service.keys) == 2
    assert service.keys[0] == service.keys[1] != ""


@pytest.mark.slow
def test_clocks_that_differ_by_hours_decide_nothing_about_who_has_a_run(far: Far) -> None:
    clocks = [far.scene.folder / name for name in ("ahead", "behind")]
    for clock, hours in zip(clocks, (5, -5), strict=True):
        clock.write_text(str(far.scene.began_at + hours * 3600))
    ahead = far.worker(PFLOW_NOW=str(clocks[0]))
    document = far.scene.write(far.scene.mark("a"), far.scene.hold("pause", repeatable=True), far.scene.mark("b"))
    run_id = far.detach(document)
    far.scene.until_began("pause")
    behind = far.worker(PFLOW_NOW=str(clocks[1]))
    ahead.end(signal.SIGKILL)
    far.scene.until_began("pause", times=2)
    far.scene.release("pause")
    far.until_state(run_id, "completed")
    assert steps_of(far) == ["a", "b"]
    assert f"{run_id}: taken up" in behind.said


def test_a_worker_that_stood_still_past_its_lease_does_nothing_more(far: Far) -> None:
    frozen = far.worker()
    document = far.scene.write(
        far.scene.mark("a"), far.scene.hold("pause", repeatable=True), far.scene.mark("b"), far.scene.mark("c")
    )
    run_id = far.detach(document)
    far.scene.until_began("pause")
    frozen.send(signal.SIGSTOP)
    other = far.worker()
    far.scene.until_began("pause", times=2)
    far.scene.release("pause")
    far.until_state(run_id, "completed")
    frozen.send(signal.SIGCONT)
    assert far.detach(document) != run_id
    until(lambda: len(steps_of(far)) == 6, "another run")
    assert steps_of(far) == ["a", "b", "c"] * 2
    assert f"{run_id}: taken up" in other.said
    until(lambda: f"{run_id}: let go: " in frozen.said, "what the one that stood still says")
    assert "Traceback" not in frozen.said


@pytest.mark.slow
def test_a_run_survives_a_frozen_worker_and_the_death_of_the_one_that_took_over(far: Far) -> None:
    frozen = far.worker()
    pauses = [far.scene.hold(f"pause{number}", repeatable=True) for number in (1, 2)]
    document = far.scene.write(
        far.scene.mark("a"), pauses[0], far.scene.mark("b"), pauses[1], far.scene.mark("c"), far.scene.mark("d")
    )
    run_id = far.detach(document)
    far.scene.until_began("pause1")
    frozen.send(signal.SIGSTOP)
    second = far.worker()
    far.scene.until_began("pause1", times=2)
    far.scene.release("pause1")
    far.scene.until_began("pause2")
    frozen.send(signal.SIGCONT)
    second.end(signal.SIGKILL)
    far.scene.until_began("pause2", times=2)
    far.scene.release("pause2")
    far.until_state(run_id, "completed")
    assert steps_of(far) == ["a", "b", "c", "d"]


class Service(ThreadingHTTPServer):
    """Takes requests, keeps their idempotency keys, and answers none before it may."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Taking)
        self.url = f"http://127.0.0.1:{self.server_port}/"
        self.keys: list[str] = []
        self.may_answer = threading.Event()


class Taking(BaseHTTPRequestHandler):
    server: Service

    def do_POST(self) -> None:
        self.server.keys.append(self.headers.get("idempotency-key", ""))
        self.server.may_answer.wait()
        self.send_response(204)
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@contextmanager
def slow_service() -> Iterator[Service]:
    """A service of this process."""
    service = Service()
    threading.Thread(target=service.serve_forever, daemon=True).start()
    try:
        yield service
    finally:
        service.may_answer.set()
        service.shutdown()
        service.server_close()


def steps_of(far: Far) -> list[str]:
    """What the steps did that must not be repeated, in order."""
    return [name for name in far.scene.did() if not name.startswith("pause")]
