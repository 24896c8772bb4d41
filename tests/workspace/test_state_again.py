"""What is kept when runs are forked, run for a single step, or once more for the items that failed: nothing twice."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from pflow.core.file.home import Home
from pflow.workspace import Workspace
from tests.workspace.test_state import Document, keeping, kept, ran, setting, shell


@pytest.fixture
def workspace(home: Path) -> Iterator[Workspace]:
    with Workspace(Home(home)) as opened:
        yield opened


def counting(tmp_path: Path, *, ends: str = "true") -> Document:
    """Adds two in steps of one, and names the time of the run before."""
    return keeping(
        {
            "n": {"type": "integer", "default": 0, "merge": "add"},
            "last": {"type": "string", "default": ""},
        },
        {"id": "seen", "type": "let", "params": {"last": "state.last"}},
        setting("first", n=1, last="one"),
        shell("note", f"echo {'x' * 3} >> {tmp_path}/notes"),
        setting("second", n=1, last="two"),
        shell("end", ends),
        outputs={"last": "${seen.last}"},
    )


def test_a_fork_finds_what_the_first_run_found_and_keeps_only_what_it_sets_itself(
    workspace: Workspace, tmp_path: Path
) -> None:
    first = ran(workspace, counting(tmp_path))
    assert kept(workspace) == {"n": 2, "last": "two"}
    fork = workspace.again.fork(first.run_id, "note")
    assert (fork.status, fork.outputs, fork.reused) == ("completed", {"last": ""}, ("seen", "first"))
    assert kept(workspace) == {"n": 3, "last": "two"}
    fork = workspace.again.fork(first.run_id, "end")
    assert fork.reused == ("seen", "first", "note", "second")
    assert kept(workspace) == {"n": 3, "last": "two"}


def test_a_fork_of_a_run_that_failed_keeps_what_that_had_set(workspace: Workspace, tmp_path: Path) -> None:
    failed = workspace.run(counting(tmp_path, ends=f"test -e {tmp_path}/go"))
    assert (failed.status, kept(workspace)) == ("failed", {})
    (tmp_path / "go").touch()
    assert workspace.again.fork(failed.run_id, "end").success
    assert kept(workspace) == {"n": 2, "last": "two"}


def test_a_fork_that_is_late_fails_and_a_resume_reads_anew(workspace: Workspace, tmp_path: Path) -> None:
    first = ran(workspace, counting(tmp_path))
    ran(workspace, {**counting(tmp_path), "nodes": [setting(last="other")], "outputs": {}})
    fork = workspace.again.fork(first.run_id, "second")
    assert (fork.error or {})["type"] == "state_conflict"
    assert kept(workspace) == {"n": 2, "last": "other"}
    assert workspace.resume(fork.run_id).outputs == {"last": "other"}
    assert kept(workspace) == {"n": 3, "last": "two"}


def test_a_fork_of_a_trial_is_one(workspace: Workspace, tmp_path: Path) -> None:
    first = ran(workspace, counting(tmp_path), state={"last": "given"})
    fork = workspace.again.fork(first.run_id, "second")
    assert fork.outputs == {"last": "given"}
    assert workspace.state.scopes() == []


def test_a_run_of_one_step_keeps_what_that_sets_and_nothing_else(workspace: Workspace, tmp_path: Path) -> None:
    failed = workspace.run(counting(tmp_path, ends="exit 1"))
    document = counting(tmp_path)
    assert workspace.again.run_only(document, "note", failed.run_id).success
    assert kept(workspace) == {}
    assert workspace.again.run_only(document, "second", failed.run_id).success
    assert kept(workspace) == {"n": 1, "last": "two"}


@pytest.mark.parametrize("nested", [False, True])
def test_items_that_run_again_add_only_what_they_set(workspace: Workspace, tmp_path: Path, nested: bool) -> None:
    inner = {
        "inputs": {"n": {"type": "integer"}},
        "state": {"sum": {"type": "integer", "default": 0, "merge": "add"}},
        "nodes": [setting(sum="${n}"), shell("check", f"test ${{n}} != 3 -o -e {tmp_path}/go")],
    }
    workspace.save(inner, "inner")
    call = {
        "id": "all",
        "type": "workflow",
        "params": {"workflow": "inner", "inputs": {"n": "${item}"}},
        "batch": {"items": [1, 2, 3, 4], "on_error": "continue"},
    }
    workspace.save({"nodes": [call]}, "outer")
    document = {"nodes": [{"id": "call", "type": "workflow", "params": {"workflow": "outer"}}]} if nested else "outer"
    done = ran(workspace, document)
    assert kept(workspace, "inner") == {"sum": 7}
    (tmp_path / "go").touch()
    assert workspace.resume(done.run_id, failed_items=()).success
    assert kept(workspace, "inner") == {"sum": 10}


ASK: Document = {"id": "ask", "type": "ask", "params": {"prompt": "Go on?", "choices": ["go", "halt"]}}


def test_a_run_that_waits_keeps_what_it_set_once_it_is_complete(workspace: Workspace) -> None:
    state = {"n": {"type": "integer", "default": 0}, "chosen": {"type": "string"}}
    document = keeping(
        state,
        setting(n=1),
        ASK,
        setting("after", chosen="${ask.choice}"),
        outputs={"n": "${state.n}", "chosen": "${ask.choice}"},
    )
    waiting = workspace.run(document)
    assert (waiting.status, kept(workspace)) == ("waiting", {})
    workspace.answer(waiting.run_id, choice="go")
    assert workspace.resume(waiting.run_id).outputs == {"n": 0, "chosen": "go"}
    assert kept(workspace) == {"n": 1, "chosen": "go"}


def test_a_run_that_waited_too_long_reads_anew_and_asks_only_if_the_question_is_another(workspace: Workspace) -> None:
    bump = {"id": "bump", "type": "let", "params": {"n": "state.n + 1"}}
    document = keeping({"n": {"type": "integer", "default": 0}}, ASK, bump, setting(n="${bump.n}"))
    late, early = workspace.run(document), workspace.run(document)
    for run in (early, late):
        workspace.answer(run.run_id, choice="go")
    assert workspace.resume(early.run_id).success
    assert (workspace.resume(late.run_id).error or {})["type"] == "state_conflict"
    done = workspace.resume(late.run_id)
    assert (done.status, done.reused) == ("completed", ("ask",))
    assert kept(workspace) == {"n": 2}
