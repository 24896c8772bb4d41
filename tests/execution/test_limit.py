"""How often a node may start: what documents say, and what a run does."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import pflow
from pflow import Home, Workspace
from pflow.core.event import ItemStarted, StepStarted
from pflow.core.rate import Rate
from pflow.drawing.text import draw_text
from pflow.engine.attempt.limiter import Limiter
from pflow.engine.attempt.turn import Limits
from pflow.testing import RecordingObserver


class Gate(Limits):
    """Limits whose time passes as soon as somebody has to wait: nothing is slow, and everything is in order."""

    def __init__(self) -> None:
        self.now = 0.0
        self.found: list[tuple[str, ...]] = []
        super().__init__(self.tick)

    def tick(self) -> float:
        self.now += 0.25
        return self.now

    def find(self, rate: Rate, *key: str) -> Limiter:
        self.found.append(key)
        return super().find(rate, *key)


@pytest.fixture
def gate() -> Gate:
    return Gate()


@pytest.fixture
def open_workspace(home: Path, gate: Gate) -> Iterator[Callable[..., Workspace]]:
    opened: list[Workspace] = []

    def opening(**parts: Any) -> Workspace:
        opened.append(Workspace(Home(home), **{"limits": gate, **parts}))
        return opened[-1]

    yield opening
    for workspace in opened:
        workspace.close()


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ("10", "`limit` must be a rate, not the number 10"),
        ("'10'", "`limit` is a number per second, minute or hour, not `10`"),
        ("10/x", "`limit` is a number per second, minute or hour, not `10/x`"),
        ("0/s", "`limit` must be at least 1 per second, minute or hour, not `0/s`"),
        ("-1/s", "`limit` must be at least 1 per second, minute or hour, not `-1/s`"),
        ("1e9/s", "`limit` is a number per second, minute or hour, not `1e9/s`"),
        ("1000000000/s", "`limit` can be at most 1000/s, not `1000000000/s`"),
        ("1/10s", "`limit` is a number per second, minute or hour, not `1/10s`"),
    ],
)
def test_what_is_not_a_rate_is_an_issue_that_shows_one(
    open_workspace: Callable[..., Workspace], written: str, message: str
) -> None:
    [issue] = open_workspace().check(f"nodes:\n- {{id: a, type: echo, limit: {written}}}").issues
    assert (issue.message, issue.hint) == (message, "write `10/s`, `100/m` or `5/h`")
    assert issue.path == "nodes[0].limit"


def test_a_limit_changes_neither_what_a_step_is_nor_what_is_reused(open_workspace: Callable[..., Workspace]) -> None:
    workspace = open_workspace()
    text = "nodes:\n- {id: a, type: shell, params: {command: echo x}%s}"
    first = workspace.run(text % "", {})
    again = workspace.resume(first.run_id, edited=text % ", limit: 5/h, repeatable: true, retry: {attempts: 2}")
    assert again.reused == ("a",)


def test_every_attempt_and_every_item_takes_its_turn(open_workspace: Callable[..., Workspace], gate: Gate) -> None:
    tries: list[str] = []

    @pflow.node
    def work(name: str) -> str:
        """Fails at first."""
        tries.append(name)
        if tries.count(name) < 2:
            raise pflow.StepError("not now")
        return name

    observer = RecordingObserver()
    workspace = open_workspace(nodes=[work], observer=observer)
    outcome = workspace.run(
        """
nodes:
  - id: each
    type: work
    params: {name: "${item}"}
    batch: {items: [a, b, c], concurrency: 3}
    retry: {attempts: 2}
    limit: 1/s
""",
        {},
    )
    assert outcome.status == "completed", outcome.error
    assert sorted(tries) == ["a", "a", "b", "b", "c", "c"]
    assert [event.item for _, event in observer.events if isinstance(event, ItemStarted)][:3] == [0, 1, 2]
    assert any(message == "waits for its turn, at most 1/s" for _, _, message in observer.reports)
    assert gate.now >= 5  # six starts, a second apart


def test_all_runs_share_the_limit_of_the_same_work(open_workspace: Callable[..., Workspace], gate: Gate) -> None:
    workspace = open_workspace()
    text = "nodes:\n- {id: a, type: echo, params: {x: %s}, limit: 1/s}"
    for x in (1, 1, 2):
        assert workspace.run(text % x, {}).status == "completed"
    one, two = list(dict.fromkeys(gate.found))
    assert gate.found.count(one) == 2 * gate.found.count(two)


class Frozen(Limits):
    """Limits under which the second start never comes."""

    def __init__(self) -> None:
        super().__init__(lambda: 0.0)


LATER = """
nodes:
  - {id: one, type: echo, params: {x: 1}}
  - {id: two, type: work, limit: 5/h}
"""


@pytest.mark.parametrize("graceful", [True, False])
def test_a_step_that_waits_for_its_turn_has_not_begun_and_is_not_in_doubt(
    open_workspace: Callable[..., Workspace], graceful: bool
) -> None:
    did: list[int] = []

    @pflow.node
    def work() -> int:
        """Has effects."""
        did.append(1)
        return len(did)

    class Stopper(RecordingObserver):
        def report(self, run_id: str, step: str, message: str) -> None:
            super().report(run_id, step, message)
            asyncio.get_running_loop().call_soon(lambda: live.stop(graceful=graceful))

    observer = Stopper()
    frozen = Frozen()
    workspace = open_workspace(nodes=[work], observer=observer, limits=frozen)
    assert workspace.run(LATER, {}).status == "completed"
    live = workspace.begin(LATER, {})
    stopped = workspace.wait(live)
    assert stopped.status == "stopped"
    assert [step for _, step, _ in observer.reports] == ["two"]
    begun = [event.step for run, event in observer.events if run == live.run_id and isinstance(event, StepStarted)]
    assert begun == ["one"]
    resumed = open_workspace(nodes=[work]).resume(live.run_id)
    assert (resumed.status, len(did)) == ("completed", 2)


def test_a_batch_that_has_failed_does_not_wait_for_the_turns_that_are_left(
    open_workspace: Callable[..., Workspace],
) -> None:
    @pflow.node
    def work() -> int:
        """Always fails."""
        raise pflow.StepError("no")

    workspace = open_workspace(nodes=[work], limits=Frozen())
    outcome = workspace.run(
        """
nodes:
  - {id: each, type: work, batch: {items: [1, 2, 3, 4], concurrency: 4}, limit: 1/h}
""",
        {},
    )
    error: Any = outcome.error
    assert error["message"] == "item 0 of `each` failed: no"


def test_the_wait_for_a_turn_is_not_part_of_the_timeout(open_workspace: Callable[..., Workspace]) -> None:
    """The second item waits for a time that the first one's start leaves, far longer than its timeout."""
    workspace = open_workspace(limits=Limits())
    outcome = workspace.run(
        """
nodes:
  - {id: each, type: echo, params: {x: "${item}"}, batch: {items: [1, 2], concurrency: 2}, limit: 50/m, timeout: 1}
""",
        {},
    )
    assert outcome.status == "completed", outcome.error


def test_a_limit_and_the_rest_are_described_and_drawn(open_workspace: Callable[..., Workspace]) -> None:
    workspace = open_workspace()
    text = """
nodes:
  - id: poll
    type: shell
    params: {command: echo x}
    limit: 10/s
    repeatable: true
    retry: {attempts: 3, until: "poll.stdout == 'x'"}
"""
    [node] = workspace.describe(text).nodes
    expected = {"id": "poll", "type": "shell", "purity": "read", "limit": "10/s", "until": "poll.stdout == 'x'"}
    assert node == expected
    plan = workspace.check(text).plan
    assert plan is not None
    drawn = draw_text(plan)
    for mark in ("up to 3 attempts until poll.stdout == 'x'", "at most 10/s", "repeatable"):
        assert mark in drawn
