"""Steps that are tried again until what they give meets a condition."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import pflow
from pflow import Home, Workspace
from pflow.core.document.issue import Issue
from pflow.core.event import Event, ItemNotYet, StepFailed, StepNotYet, StepStarted
from pflow.execution.outcome import Outcome
from pflow.testing import RecordingObserver


class World:
    """What the steps of a test look at: each look moves it on."""

    def __init__(self) -> None:
        self.looks: dict[str, int] = {}

    def look(self, name: str) -> int:
        self.looks[name] = self.looks.get(name, 0) + 1
        return self.looks[name]


@pytest.fixture
def world() -> World:
    return World()


@pytest.fixture
def observer() -> RecordingObserver:
    return RecordingObserver()


@pytest.fixture
def workspace(home: Path, world: World, observer: RecordingObserver) -> Iterator[Workspace]:
    @pflow.node(repeatable=True)
    def look(name: str, ready: int, fails: int = 0) -> dict[str, Any]:
        """Look how far something is."""
        count = world.look(name)
        if count <= fails:
            raise pflow.StepError("no answer", action="error")
        return {"state": "done" if count >= ready else "pending", "count": count}

    @pflow.node
    def push(name: str) -> dict[str, Any]:
        """Move something on."""
        return {"state": "done" if world.look(name) > 2 else "pending"}

    with Workspace(Home(home), observer=observer, nodes=[look, push]) as opened:
        yield opened


def events(observer: RecordingObserver, *kinds: type[Event]) -> list[Any]:
    return [event for _, event in observer.events if isinstance(event, kinds)]


def issues(workspace: Workspace, text: str) -> list[Issue]:
    return list(workspace.check(text).issues)


def poll(until: str, *, attempts: int = 5, ready: int = 3, more: str = "", fails: int = 0) -> str:
    return f"""
nodes:
  - id: job
    type: look
    params: {{name: job, ready: {ready}, fails: {fails}}}
    retry: {{attempts: {attempts}, until: "{until}"}}
    {more}
  - {{id: say, type: echo, params: {{text: "${{job.result.count}}"}}}}
"""


def steps(workspace: Workspace, outcome: Outcome) -> dict[str, Any]:
    found: Any = workspace.show_run(outcome.run_id)["steps"]
    return {step["step"]: step for step in found}


def test_a_step_is_tried_again_until_what_it_gave_meets_the_condition(
    workspace: Workspace, observer: RecordingObserver
) -> None:
    outcome = workspace.run(poll("job.result.state == 'done'"), {})
    assert outcome.outputs == {"text": 3}
    waits = events(observer, StepNotYet)
    assert [(event.attempt, event.reason) for event in waits] == [
        (1, '`job.result.state` was "pending"'),
        (2, '`job.result.state` was "pending"'),
    ]
    assert events(observer, StepFailed) == []
    assert [event.attempt for event in events(observer, StepStarted) if event.step == "job"] == [1, 2, 3]
    assert steps(workspace, outcome)["job"]["attempt"] == 3


def test_a_step_that_never_meets_its_condition_ends_as_a_timeout_with_what_was_read_last(workspace: Workspace) -> None:
    outcome = workspace.run(poll("job.result.count > 10 || job.result.state == 'done'", ready=9), {})
    error: Any = outcome.error
    assert error["type"] == error["action"] == "timeout"
    assert error["message"] == (
        "`job.result.count > 10 || job.result.state == 'done'` does not hold after 5 attempts; "
        'at the last, `job.result.count` was 5, `job.result.state` was "pending"'
    )
    assert error["suggestions"] == ["raise `attempts` or `wait` of its `retry`, or give it an edge for `timeout`"]


def test_the_timeout_takes_its_edge(workspace: Workspace) -> None:
    outcome = workspace.run(poll("job.result.state == 'done'", ready=9, more="on: {timeout: end}"), {})
    assert outcome.status == "completed"


def test_an_attempt_that_fails_counts_and_is_followed_by_another(
    workspace: Workspace, observer: RecordingObserver
) -> None:
    assert workspace.run(poll("job.result.state == 'done'", fails=1), {}).outputs == {"text": 3}
    assert [type(event).__name__ for event in events(observer, StepNotYet, StepFailed)] == ["StepFailed", "StepNotYet"]


def test_a_condition_that_cannot_be_evaluated_yet_is_a_failed_attempt(workspace: Workspace) -> None:
    outcome = workspace.run(poll("job.result.other == 'done'"), {})
    error: Any = outcome.error
    assert error["type"] == "expression"
    assert "job.result.other" in error["message"]


def test_a_condition_sees_inputs_other_steps_and_an_id_with_a_dash(workspace: Workspace) -> None:
    document = """
inputs: {least: {type: integer, default: 2}}
nodes:
  - {id: first, type: echo, params: {extra: 1}}
  - id: my-job
    type: look
    params: {name: job, ready: 1}
    retry: {attempts: 9, until: 'steps["my-job"].result.count == least + first.extra && visit == 1'}
"""
    outcome = workspace.run(document, {})
    assert outcome.outputs["result"] == {"state": "done", "count": 3}


def test_each_item_of_a_batch_is_tried_until_its_own_condition_holds(
    workspace: Workspace, world: World, observer: RecordingObserver
) -> None:
    document = """
nodes:
  - id: jobs
    type: look
    params: {name: "${item.name}", ready: "${item.ready}"}
    batch: {items: [{name: a, ready: 1}, {name: b, ready: 3}, {name: c, ready: 9}], on_error: continue}
    retry: {attempts: 4, until: "jobs.result.state == 'done' && item.name != '' && item_index >= 0"}
"""
    outcome = workspace.run(document, {})
    assert outcome.status == "completed", outcome.error
    assert world.looks == {"a": 1, "b": 3, "c": 4}
    failed: Any = outcome.outputs["errors"]
    assert [(error["index"], error["error"]["type"]) for error in failed] == [(2, "timeout")]
    assert {event.item for event in events(observer, ItemNotYet)} == {1, 2}


def test_a_sub_workflow_runs_as_a_whole_until_the_condition_holds(workspace: Workspace, world: World) -> None:
    document = """
nodes:
  - id: both
    type: workflow
    params:
      workflow:
        nodes:
          - {id: a, type: look, params: {name: a, ready: 3}}
          - {id: b, type: look, params: {name: b, ready: 1}}
        outputs: {state: "${a.result.state}", b: "${b.result.count}"}
    retry: {attempts: 5, until: "both.state == 'done'"}
"""
    assert workspace.run(document, {}).outputs == {"state": "done", "b": 3}
    assert world.looks == {"a": 3, "b": 3}


def test_a_sub_workflow_that_was_not_there_yet_runs_again_after_a_stop(home: Path, world: World) -> None:
    document = """
nodes:
  - id: both
    type: workflow
    params:
      workflow:
        nodes:
          - {id: a, type: look, params: {}}
          - {id: b, type: echo, params: {count: "${a.result}"}}
    retry: {attempts: 5, wait: 3600, until: "both.count >= 2"}
"""

    @pflow.node(repeatable=True)
    def look() -> int:
        """Look."""
        return world.look("it")

    class Stopper(RecordingObserver):
        def notify(self, run_id: str, event: Event) -> None:
            super().notify(run_id, event)
            if isinstance(event, StepNotYet):
                live.stop(graceful=True)

    with Workspace(Home(home), observer=Stopper(), nodes=[look]) as first:
        live = first.begin(document, {})
        stopped = first.wait(live)
    assert stopped.status == "stopped"
    with Workspace(Home(home), nodes=[look]) as second:
        resumed = second.resume(stopped.run_id)
    assert resumed.outputs == {"count": 2}
    assert world.looks == {"it": 2}


@pytest.mark.parametrize("graceful", [True, False])
def test_a_stop_ends_the_wait_for_the_next_attempt_and_a_resume_goes_on_counting(
    home: Path, world: World, graceful: bool
) -> None:
    document = """
nodes:
  - {id: job, type: look, retry: {attempts: 3, wait: 3600, until: "job.result > 1"}}
"""

    @pflow.node(repeatable=True)
    def look() -> int:
        """Look."""
        return world.look("job")

    class Stopper(RecordingObserver):
        def notify(self, run_id: str, event: Event) -> None:
            super().notify(run_id, event)
            if isinstance(event, StepNotYet):
                live.stop(graceful=graceful)

    with Workspace(Home(home), observer=Stopper(), nodes=[look]) as first:
        live = first.begin(document, {})
        stopped = first.wait(live)
        assert steps(first, stopped)["job"]["status"] == "not_yet"
    assert stopped.status == "stopped"
    seen = RecordingObserver()
    with Workspace(Home(home), observer=seen, nodes=[look]) as second:
        assert second.resume(stopped.run_id).outputs == {"result": 2}
    assert [event.attempt for event in events(seen, StepStarted)] == [2]


def test_a_cancel_ends_the_wait(home: Path) -> None:
    document = 'nodes:\n- {id: job, type: look, retry: {attempts: 3, wait: 3600, until: "job.result > 1"}}'
    waiting = threading.Event()

    @pflow.node(repeatable=True)
    def look() -> int:
        """Look."""
        return 1

    class Watcher(RecordingObserver):
        def notify(self, run_id: str, event: Event) -> None:
            if isinstance(event, StepNotYet):
                waiting.set()

    with Workspace(Home(home), observer=Watcher(), nodes=[look]) as workspace:
        live = workspace.begin(document, {})
        ended: list[Outcome] = []
        thread = threading.Thread(target=lambda: ended.append(live.wait()))
        thread.start()
        assert waiting.wait(60)
        workspace.cancel(live.run_id)
        thread.join(60)
    assert [outcome.status for outcome in ended] == ["cancelled"]


def test_the_condition_is_checked_before_the_run(workspace: Workspace) -> None:
    [unknown] = issues(workspace, poll("jbo.result.state == 'done'"))
    assert (unknown.code, unknown.path) == ("unknown-name", "nodes[0].retry.until")
    [number] = issues(workspace, poll("1 + 1"))
    assert number.code == "expression-type"
    [syntax] = issues(workspace, poll("job.result.state =="))
    assert syntax.code == "expression"


def test_a_step_that_may_have_effects_is_not_repeated_unless_its_author_says_so(workspace: Workspace) -> None:
    document = """
nodes:
  - {id: job, type: push, params: {name: x}, retry: {attempts: 4, until: "job.result.state == 'done'"}%s}
"""
    [issue] = issues(workspace, document % "")
    assert issue.code == "not-repeatable"
    assert issue.message == "`until` would run `job` (push) again after it has succeeded, and it may have effects"
    assert issue.hint == "write `repeatable: true` on the node if running it several times does no harm"
    assert workspace.run(document % ", repeatable: true", {}).outputs["result"] == {"state": "done"}


def test_until_needs_more_than_one_attempt(workspace: Workspace) -> None:
    [issue] = issues(workspace, poll("true", attempts=1))
    assert issue.message == "`until` needs more than one attempt"
    assert "attempts" in issue.hint


def test_a_poll_may_go_on_for_long_but_a_plain_retry_may_not(workspace: Workspace) -> None:
    assert issues(workspace, poll("job.result.state == 'done'", attempts=9000)) == []
    [issue] = issues(workspace, "nodes:\n- {id: a, type: echo, retry: {attempts: 101}}")
    assert issue.code == "out-of-range"


def test_edges_from_data_do_not_lead_a_step_to_itself(workspace: Workspace) -> None:
    document = """
edges: data
nodes:
  - {id: least, type: echo, params: {count: 2}}
  - {id: job, type: look, params: {name: j, ready: 1}, retry: {attempts: 3, until: "job.result.count >= least.count"}}
"""
    assert workspace.run(document, {}).outputs["result"] == {"state": "done", "count": 2}


def test_what_a_condition_read_is_told_without_secrets(home: Path) -> None:
    document = """
inputs: {key: {type: string, secret: true}}
nodes:
  - {id: job, type: look, params: {name: j, ready: 1}, retry: {attempts: 2, until: "job.result.state == key"}}
"""
    secret = "hunter2-and-then-some"
    observer = RecordingObserver()
    with Workspace(Home(home), observer=observer, nodes=[look_once]) as watched:
        outcome = watched.run(document, {"key": secret})
        shown = watched.show_run(outcome.run_id)
    assert outcome.status == "failed"
    [event] = events(observer, StepNotYet)
    assert "`key` was" in event.reason
    assert secret not in f"{event.reason} {outcome.error} {shown}"
    assert secret.encode() not in b"".join(file.read_bytes() for file in home.glob("runs.db*"))


@pflow.node(name="look", repeatable=True)
def look_once(name: str, ready: int) -> dict[str, Any]:
    """Look once."""
    return {"state": "pending"}


def test_a_failed_item_that_was_not_there_yet_is_named(workspace: Workspace) -> None:
    document = """
nodes:
  - id: jobs
    type: look
    params: {name: "${item}", ready: 9}
    batch: {items: [a]}
    retry: {attempts: 2, until: "jobs.result.state == 'done'"}
"""
    error: Any = workspace.run(document, {}).error
    assert error["message"].startswith("item 0 of `jobs` failed: `jobs.result.state == 'done'` does not hold after 2")
    assert error["action"] == error["type"] == "timeout"
