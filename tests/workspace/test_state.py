"""What a workflow keeps between runs: read at the start, set on the way, real with the end."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pocketflow import AsyncNode

from pflow.core.errors import DocumentError, ExistsError, InputError, NotFoundError, SecurityError, UsageError
from pflow.core.event import RunCompleted, RunStarted, StepCompleted
from pflow.core.file.home import Home
from pflow.testing import MemoryJournal, RecordingObserver
from pflow.workspace import Outcome, Workspace

Document = dict[str, Any]


@pytest.fixture
def workspace(home: Path) -> Iterator[Workspace]:
    with Workspace(Home(home)) as opened:
        yield opened


def keeping(state: Document, *nodes: Document, **more: Any) -> Document:
    return {"name": "w", "state": state, "nodes": list(nodes), **more}


def setting(node: str = "keep", **params: Any) -> Document:
    return {"id": node, "type": "state-set", "params": params}


def shell(node: str, command: str, **more: Any) -> Document:
    return {"id": node, "type": "shell", "params": {"command": command}, **more}


def ran(workspace: Workspace, workflow: Any, params: Any = None, **options: Any) -> Outcome:
    outcome = workspace.run(workflow, params, **options)
    assert outcome.status == "completed", outcome.error
    return outcome


def kept(workspace: Workspace, workflow: str = "w") -> dict[str, object]:
    try:
        return {one.key: one.value for one in workspace.state.values(workflow) if one.is_set}
    except NotFoundError:
        return {}


def error_of(outcome: Outcome) -> dict[str, Any]:
    assert outcome.status == "failed"
    return dict(outcome.error or {})


COUNTER = keeping(
    {"n": {"type": "integer", "default": 0}},
    {"id": "bump", "type": "let", "params": {"n": "state.n + 1"}},
    setting(n="${bump.n}"),
    outputs={"before": "${state.n}", "all": "${state}"},
)


# ---- reading and setting


def test_a_run_finds_what_the_last_one_set(workspace: Workspace) -> None:
    assert [ran(workspace, COUNTER).outputs["before"] for _ in range(3)] == [0, 1, 2]
    assert kept(workspace) == {"n": 3}


def test_state_is_as_of_the_start_of_the_run(workspace: Workspace) -> None:
    document = keeping(
        {"n": {"type": "integer", "default": 1}},
        setting(n=2),
        {"id": "after", "type": "let", "params": {"seen": "state.n"}},
        outputs={"seen": "${after.seen}", "text": "n is ${state.n}"},
    )
    assert ran(workspace, document).outputs == {"seen": 1, "text": "n is 1"}
    assert ran(workspace, document).outputs == {"seen": 2, "text": "n is 2"}


def test_without_a_default_a_value_is_null_until_it_is_set(workspace: Workspace) -> None:
    document = keeping(
        {"at": {"type": "string"}},
        {"id": "first", "type": "let", "params": {"is": "state.at == null"}},
        setting(at="now"),
        outputs={"first": "${first.is}", "at": "${state.at}"},
    )
    assert ran(workspace, document).outputs == {"first": True, "at": None}
    assert ran(workspace, document).outputs == {"first": False, "at": "now"}


def test_a_step_that_sets_gives_nothing_and_what_ran_before_it_is_the_result(workspace: Workspace) -> None:
    document = keeping({"n": {"type": "integer"}}, {"id": "echo", "params": {"x": 1}}, setting(n=1))
    assert ran(workspace, document).outputs == {"x": 1}
    assert ran(workspace, keeping({"n": {"type": "integer"}}, setting(n=1))).outputs == {}
    chosen = {"id": "late", "type": "echo", "when": "state.n == 1", "params": {"y": 2}}
    document = keeping({"n": {"type": "integer"}}, {"id": "echo", "params": {"x": 1}}, setting(n=2), chosen)
    assert ran(workspace, document).outputs == {"y": 2}
    assert ran(workspace, document).outputs == {"x": 1}


def test_the_later_of_two_values_counts(workspace: Workspace) -> None:
    ran(workspace, keeping({"n": {"type": "integer"}}, setting(n=1), setting("again", n=2)))
    assert kept(workspace) == {"n": 2}
    assert [one.version for one in workspace.state.history("w", "n")] == [1]


def test_what_is_set_in_a_loop_is_set_in_its_order(workspace: Workspace) -> None:
    document = keeping(
        {"last": {"type": "integer"}, "sum": {"type": "integer", "default": 0, "merge": "add"}},
        {"id": "turn", "type": "let", "params": {"n": "visit"}},
        setting(last="${turn.n}", sum="${turn.n}"),
        edges=[
            {"from": "turn", "to": "keep"},
            {"from": "keep", "to": "turn", "when": "turn.n < 4"},
            {"from": "keep", "to": "end", "when": "else"},
        ],
    )
    ran(workspace, document)
    assert kept(workspace) == {"last": 4, "sum": 10}


def test_a_skipped_step_sets_nothing(workspace: Workspace) -> None:
    ran(workspace, keeping({"n": {"type": "integer"}}, {**setting(n=1), "when": "false"}))
    assert kept(workspace) == {}


@pytest.mark.parametrize("value", [0, "", False, [], {}, {"a": [1, None]}, "ä" * 1000, 1.5, 2**63])
def test_any_json_is_kept_as_it_is(workspace: Workspace, value: object) -> None:
    ran(workspace, keeping({"x": {"type": "any"}}, setting(x=value)))
    document = keeping({"x": {"type": "any"}}, {"id": "echo", "params": {"x": "${state.x}"}})
    assert ran(workspace, document).outputs["x"] == value


def test_a_text_that_names_a_number_is_kept_as_one(workspace: Workspace) -> None:
    document = keeping({"n": {"type": "integer"}}, shell("count", "echo 41"), setting(n="${count.stdout}"))
    ran(workspace, document)
    assert kept(workspace) == {"n": 41}


# ---- failing


def test_a_failed_or_cancelled_run_keeps_nothing(workspace: Workspace) -> None:
    document = keeping({"n": {"type": "integer"}}, setting(n=1), shell("break", "exit 1"))
    assert workspace.run(document).status == "failed"
    assert kept(workspace) == {}


def test_a_resumed_run_keeps_what_it_had_set_before_it_failed(workspace: Workspace, tmp_path: Path) -> None:
    document = keeping({"n": {"type": "integer"}}, setting(n=1), shell("wait", f"test -e {tmp_path}/go"))
    failed = workspace.run(document)
    assert failed.status == "failed"
    (tmp_path / "go").touch()
    assert workspace.resume(failed.run_id).success
    assert kept(workspace) == {"n": 1}


def test_a_resumed_run_finds_what_it_found_when_it_began(workspace: Workspace, tmp_path: Path) -> None:
    document = keeping(
        {"n": {"type": "integer", "default": 5}},
        shell("wait", f"test -e {tmp_path}/go"),
        outputs={"n": "${state.n}"},
    )
    workspace.save(document, "w")
    failed = workspace.run("w")
    workspace.state.set("w", "n", 6)
    (tmp_path / "go").touch()
    assert workspace.resume(failed.run_id).outputs == {"n": 5}


def test_commit_step_keeps_a_value_though_the_run_fails(workspace: Workspace) -> None:
    state = {"now": {"type": "integer", "commit": "step"}, "later": {"type": "integer"}}
    document = keeping(state, setting(now=1, later=1), shell("break", "exit 1"))
    failed = workspace.run(document)
    assert failed.status == "failed"
    assert kept(workspace) == {"now": 1}
    [version] = workspace.state.history("w")
    assert version.run_id == failed.run_id


def test_commit_step_sets_a_value_once_however_often_the_run_is_resumed(workspace: Workspace, tmp_path: Path) -> None:
    state = {"n": {"type": "integer", "default": 0, "merge": "add", "commit": "step"}}
    document = keeping(state, setting(n=1), shell("wait", f"test -e {tmp_path}/go"))
    failed = workspace.run(document)
    assert workspace.resume(failed.run_id).status == "failed"
    (tmp_path / "go").touch()
    assert workspace.resume(failed.run_id).success
    assert kept(workspace) == {"n": 1}


def test_a_run_may_set_a_value_again_that_it_has_kept_already(workspace: Workspace) -> None:
    state = {"n": {"type": "integer", "commit": "step"}}
    ran(workspace, keeping(state, setting(n=1), setting("again", n=2)))
    assert [one.value for one in workspace.state.history("w", "n")] == [2, 1]


def test_a_section_keeps_what_it_sets_only_if_the_run_completes(workspace: Workspace) -> None:
    state = {"n": {"type": "integer", "default": 0, "merge": "add"}}
    good = keeping(state, {"id": "echo"}, setting(n=1), **{"finally": "keep"})
    ran(workspace, good)
    assert kept(workspace) == {"n": 1}
    assert workspace.run({**good, "nodes": [shell("echo", "exit 1"), setting(n=1)]}).status == "failed"
    assert kept(workspace) == {"n": 1}


def test_what_finally_set_before_a_failure_does_not_count_twice(workspace: Workspace, tmp_path: Path) -> None:
    state = {"n": {"type": "integer", "default": 0, "merge": "add"}}
    document = keeping(state, shell("wait", f"test -e {tmp_path}/go"), setting(n=1), **{"finally": "keep"})
    failed = workspace.run(document)
    (tmp_path / "go").touch()
    assert workspace.resume(failed.run_id).success
    assert kept(workspace) == {"n": 1}


def test_on_failure_keeps_with_its_step(workspace: Workspace) -> None:
    state = {"failures": {"type": "integer", "default": 0, "merge": "add", "commit": "step"}}
    document = keeping(state, shell("break", "exit 1"), setting(failures=1), on_failure="keep")
    for _ in range(2):
        assert workspace.run(document).status == "failed"
    assert kept(workspace) == {"failures": 2}


# ---- merging


def test_numbers_add_up_and_the_largest_stays(workspace: Workspace) -> None:
    state = {
        "sum": {"type": "number", "default": 0.5, "merge": "add"},
        "most": {"type": "integer", "merge": "max"},
        "last": {"type": "string", "default": "2026-01-01", "merge": "max"},
    }
    for sum_, most, last in [(1, 3, "2026-03-01"), (2.5, 1, "2025-12-31"), (0, 2, "2026-02-01")]:
        ran(workspace, keeping(state, setting(sum=sum_, most=most, last=last)))
    assert kept(workspace) == {"sum": 4.0, "most": 3, "last": "2026-03-01"}


def test_lists_unite_without_doubles_and_keep_the_newest(workspace: Workspace) -> None:
    state = {"seen": {"type": "array", "default": [0], "merge": "union", "keep": 4}}
    for seen in ([1, 2, 1], [2, {"a": 1, "b": 2}], [{"b": 2, "a": 1}, 3], [True, 1.0]):
        ran(workspace, keeping(state, setting(seen=seen)))
    assert kept(workspace) == {"seen": [{"b": 2, "a": 1}, 3, True, 1.0]}


def test_objects_unite_key_by_key(workspace: Workspace) -> None:
    state = {"by": {"type": "object", "merge": "union", "keep": 3}}
    for by in ({"a": 1, "b": 1}, {"a": 2, "c": 1}, {"d": {"x": 1}}):
        ran(workspace, keeping(state, setting(by=by)))
    assert kept(workspace) == {"by": {"a": 2, "c": 1, "d": {"x": 1}}}


def test_a_union_drops_its_oldest_elements_when_there_is_no_room(workspace: Workspace) -> None:
    state = {"seen": {"type": "array", "merge": "union"}}
    for start in (0, 1000):
        ran(workspace, keeping(state, setting(seen=[f"{number:060}" for number in range(start, start + 1000)])))
    found: Any = kept(workspace)["seen"]
    assert 1000 < len(found) < 1100
    assert found[-1] == f"{1999:060}"


def test_merged_values_need_not_win_a_race(workspace: Workspace, tmp_path: Path) -> None:
    state = {"n": {"type": "integer", "default": 0, "merge": "add"}}
    document = keeping(state, shell("wait", f"test -e {tmp_path}/go"), setting(n=1))
    failed = workspace.run(document)
    (tmp_path / "go").touch()
    ran(workspace, document)
    assert workspace.resume(failed.run_id).success
    assert kept(workspace) == {"n": 2}


# ---- races


def lose_race(workspace: Workspace, document: Document, tmp_path: Path) -> Outcome:
    """A run that is resumed after another one has changed what it read; `document` waits for a file `go`."""
    slow = workspace.run(document)
    assert slow.status == "failed"
    (tmp_path / "go").touch()
    ran(workspace, document)
    return workspace.resume(slow.run_id)


def waiting_counter(tmp_path: Path, **key: Any) -> Document:
    return keeping(
        {"n": {"type": "integer", "default": 0, **key}},
        shell("note", f"echo x >> {tmp_path}/notes"),
        shell("wait", f"test -e {tmp_path}/go"),
        {"id": "bump", "type": "let", "params": {"n": "state.n + 1"}},
        setting(n="${bump.n}"),
        outputs={"n": "${bump.n}"},
    )


@pytest.mark.parametrize("commit", ["end", "step"])
def test_the_run_that_is_late_fails_and_a_resume_reads_anew(workspace: Workspace, tmp_path: Path, commit: str) -> None:
    late = lose_race(workspace, waiting_counter(tmp_path, commit=commit), tmp_path)
    error = error_of(late)
    assert error["type"] == "state_conflict"
    assert error["details"] == {"workflow": "w", "key": "n", "versions": {"read": 0, "now": 1}}
    assert any(f"pflow runs resume {late.run_id}" in hint for hint in error["suggestions"])
    assert kept(workspace) == {"n": 1}
    done = workspace.resume(late.run_id)
    assert (done.status, done.outputs) == ("completed", {"n": 2})
    assert kept(workspace) == {"n": 2}
    assert done.reused == ("note", "wait")
    assert [step for step, _ in done.reran] == ["bump", "keep"]
    assert (tmp_path / "notes").read_text() == "x\nx\n"  # once for each of the two runs


def test_a_value_that_a_person_changes_is_a_race_as_well(workspace: Workspace, tmp_path: Path) -> None:
    workspace.save(waiting_counter(tmp_path), "w")
    slow = workspace.run("w")
    workspace.state.set("w", "n", 10)
    (tmp_path / "go").touch()
    error = error_of(workspace.resume(slow.run_id))
    assert (error["type"], error["message"].partition(" ")[0]) == ("state_conflict", "someone")
    assert workspace.resume(slow.run_id).success
    assert kept(workspace) == {"n": 11}


def test_a_conflict_is_all_or_nothing(workspace: Workspace, tmp_path: Path) -> None:
    state = {"a": {"type": "integer", "merge": "add", "default": 0}, "b": {"type": "integer"}, "c": {"type": "integer"}}
    document = keeping(state, shell("wait", f"test -e {tmp_path}/go"), setting(a=1, b=1, c=1))
    workspace.save(document, "w")
    slow = workspace.run("w")
    workspace.state.set("w", "b", 7)
    (tmp_path / "go").touch()
    assert workspace.resume(slow.run_id).status == "failed"
    assert kept(workspace) == {"b": 7}


def test_a_lost_race_is_a_failure_that_on_failure_hears_of(workspace: Workspace, tmp_path: Path) -> None:
    document = waiting_counter(tmp_path)
    tell = shell("tell", f"echo ${{error.type}} >> {tmp_path}/told")
    document = {**document, "nodes": [*document["nodes"], tell], "on_failure": "tell", "outputs": {}}
    assert error_of(lose_race(workspace, document, tmp_path))["type"] == "state_conflict"
    assert (tmp_path / "told").read_text().split()[-1] == "state_conflict"


def test_a_step_that_loses_a_race_can_take_an_error_edge(workspace: Workspace, tmp_path: Path) -> None:
    document = waiting_counter(tmp_path, commit="step")
    *before, keep = document["nodes"]
    document = {**document, "nodes": [*before, {**keep, "on": {"error": "next"}}, shell("end", "echo went on")]}
    assert lose_race(workspace, document, tmp_path).status == "completed"
    assert kept(workspace) == {"n": 1}


def test_two_runs_in_one_process_race_as_any_two(home: Path) -> None:
    """Both begin before either ends: one is kept, the other one fails."""

    class Meet(AsyncNode):
        """Wait until both runs are here."""

        async def exec_async(self, _: object) -> None:
            await barrier.wait()

    async def both(workspace: Workspace) -> list[Outcome]:
        document = {**COUNTER, "nodes": [{"id": "meet"}, *COUNTER["nodes"]]}
        return list(await asyncio.gather(*(workspace.begin(document).finish() for _ in range(2))))

    barrier = asyncio.Barrier(2)
    with Workspace(Home(home), nodes=[Meet]) as workspace:
        outcomes = asyncio.run(both(workspace))
        assert sorted(outcome.status for outcome in outcomes) == ["completed", "failed"]
        assert kept(workspace) == {"n": 1}


# ---- edited documents and finished runs


def test_an_edited_run_reads_what_is_declared_anew(workspace: Workspace, tmp_path: Path) -> None:
    workspace.save(keeping({"a": {"type": "integer", "default": 1}}, shell("wait", "exit 1")), "w")
    failed = workspace.run("w")
    workspace.state.set("w", "a", 9)
    edited = keeping(
        {"a": {"type": "integer", "default": 1}, "b": {"type": "integer", "default": 2}},
        setting(a="${state.a}", b="${state.b}"),
        outputs={"a": "${state.a}", "b": "${state.b}"},
    )
    done = workspace.resume(failed.run_id, edited=edited)
    assert error_of(done)["type"] == "state_conflict"
    done = workspace.resume(failed.run_id)
    assert done.outputs == {"a": 9, "b": 2}


def test_a_run_keeps_its_state_where_it_began_to(workspace: Workspace) -> None:
    workspace.save(keeping({"n": {"type": "integer"}}, shell("wait", "exit 1")), "saved")
    failed = workspace.run("saved")
    edited = keeping({"n": {"type": "integer"}}, setting(n=3))
    assert workspace.resume(failed.run_id, edited={**edited, "name": "other"}).success
    assert kept(workspace, "saved") == {"n": 3}


def test_an_edited_run_sets_again_what_is_kept_elsewhere_or_otherwise_now(workspace: Workspace) -> None:
    document = keeping({"n": {"type": "integer"}}, setting(n=1), shell("wait", "exit 1"))
    failed = workspace.run(document)
    moved = {**document, "state": {"scope": "elsewhere", "n": {"type": "integer"}}}
    assert workspace.resume(failed.run_id, edited=moved).status == "failed"
    done = workspace.resume(failed.run_id, edited={**moved, "nodes": [setting(n=1)]})
    assert (done.status, done.reused) == ("completed", ("keep",))
    assert (kept(workspace, "w"), kept(workspace, "elsewhere")) == ({}, {"n": 1})
    failed = workspace.run(document)
    text = {**document, "state": {"n": {"type": "any", "commit": "step"}}}
    assert workspace.resume(failed.run_id, edited=text).reran[0] == ("keep", "its definition changed")
    assert kept(workspace, "w") == {"n": 1}


def test_an_edited_document_keeps_state_that_the_first_had_not_and_stays_there(
    workspace: Workspace, tmp_path: Path
) -> None:
    failed = workspace.run({"name": "w", "nodes": [shell("wait", "exit 1")]})
    nameless = {"state": {"n": {"type": "integer"}}, "nodes": [setting(n=1), shell("wait", f"test -e {tmp_path}/go")]}
    with pytest.raises(DocumentError) as caught:
        workspace.resume(failed.run_id, edited=nameless)
    assert [issue.code for issue in caught.value.issues] == ["no-scope"]
    workspace.save(nameless, "saved")
    assert workspace.resume(failed.run_id, edited="saved").status == "failed"
    (tmp_path / "go").touch()
    assert workspace.resume(failed.run_id).success
    assert kept(workspace, "saved") == {"n": 1}


def test_a_resume_that_cannot_read_the_state_leaves_the_run_to_others(workspace: Workspace) -> None:
    workspace.save(keeping({"n": {"type": "any"}}, setting(n="x")), "w")
    ran(workspace, "w")
    failed = workspace.run({"name": "w", "nodes": [shell("wait", "exit 1")]})
    edited = keeping({"n": {"type": "integer", "default": 0}}, {"id": "echo"})
    for _ in range(2):
        with pytest.raises(InputError):
            workspace.resume(failed.run_id, edited=edited)
        assert workspace.show_run(failed.run_id)["status"] == "stopped"
    workspace.state.unset("w", "n")
    assert workspace.resume(failed.run_id, edited=edited).success


def test_a_finished_run_that_goes_on_edited_does_not_add_again(workspace: Workspace) -> None:
    state = {"n": {"type": "integer", "default": 0, "merge": "add"}, "m": {"type": "integer", "default": 0}}
    document = keeping(state, setting(n=1), {"id": "echo", "params": {"x": 1}})
    done = ran(workspace, document)
    edited = {**document, "nodes": [setting(n=1), {"id": "echo", "params": {"x": 2}}]}
    assert workspace.resume(done.run_id, edited=edited).reused == ("keep",)
    assert kept(workspace) == {"n": 1}
    edited = {**document, "nodes": [setting(n=5), {"id": "echo", "params": {"x": 3}}]}
    assert workspace.resume(done.run_id, edited=edited).success
    assert kept(workspace) == {"n": 6}
    edited = {**document, "nodes": [setting(n=5), {"id": "echo", "params": {"x": 4}}]}
    assert workspace.resume(done.run_id, edited=edited).success
    assert kept(workspace) == {"n": 6}


# ---- workflows in workflows


def save_counter(workspace: Workspace, name: str = "inner", *, fails: bool = False, **key: Any) -> None:
    nodes = [
        {"id": "bump", "type": "let", "params": {"n": "state.n + 1"}},
        setting(n=1 if key.get("merge") else "${bump.n}"),
        *([shell("break", "exit 1")] if fails else []),
    ]
    state = {"n": {"type": "integer", "default": 0, **key}}
    workspace.save({"state": state, "nodes": nodes, "outputs": {"n": "${bump.n}"}}, name, overwrite=True)


def calling(*names: str, **more: Any) -> Document:
    nodes = [{"id": f"call{at}", "type": "workflow", "params": {"workflow": name}} for at, name in enumerate(names)]
    return {"name": "outer", "nodes": nodes, **more}


def test_a_workflow_inside_has_its_own_state_which_becomes_real_with_the_run(workspace: Workspace) -> None:
    save_counter(workspace)
    document = calling("inner")
    document["state"] = {"n": {"type": "string", "default": ""}}
    document["nodes"].append(setting(n="outer"))
    for _ in range(2):
        ran(workspace, document)
    assert (kept(workspace, "inner"), kept(workspace, "outer")) == ({"n": 2}, {"n": "outer"})
    document["nodes"].append(shell("break", "exit 1"))
    assert workspace.run(document).status == "failed"
    assert kept(workspace, "inner") == {"n": 2}


def test_a_workflow_that_runs_twice_finds_the_same_and_the_later_value_counts(workspace: Workspace) -> None:
    save_counter(workspace)
    document = calling("inner", "inner", outputs={"a": "${call0.n}", "b": "${call1.n}"})
    assert ran(workspace, document).outputs == {"a": 1, "b": 1}
    assert kept(workspace, "inner") == {"n": 1}
    save_counter(workspace, merge="add")
    ran(workspace, document)
    assert kept(workspace, "inner") == {"n": 3}


def test_a_workflow_inside_that_fails_keeps_nothing_though_the_run_goes_on(workspace: Workspace) -> None:
    save_counter(workspace, fails=True)
    save_counter(workspace, "other")
    document = calling("inner", "other")
    document["nodes"][0]["on"] = {"error": "next"}
    ran(workspace, document)
    assert workspace.state.values("inner")[0].is_set is False
    assert kept(workspace, "other") == {"n": 1}


def test_every_item_of_a_batch_adds_what_its_workflow_sets(workspace: Workspace, tmp_path: Path) -> None:
    state = {"sum": {"type": "integer", "default": 0, "merge": "add"}}
    inner = {
        "inputs": {"n": {"type": "integer"}},
        "state": state,
        "nodes": [setting(sum="${n}"), shell("check", f"test ${{n}} != 3 -o -e {tmp_path}/go")],
    }
    workspace.save(inner, "inner")
    call = {
        "id": "all",
        "type": "workflow",
        "params": {"workflow": "inner", "inputs": {"n": "${item}"}},
        "batch": {"items": [1, 2, 3, 4], "concurrency": 2},
    }
    failed = workspace.run({"name": "outer", "nodes": [call]})
    assert failed.status == "failed"
    assert kept(workspace, "inner") == {}
    (tmp_path / "go").touch()
    assert workspace.resume(failed.run_id).success
    assert kept(workspace, "inner") == {"sum": 10}
    lossy = {**call, "batch": {"items": [1, 3], "on_error": "continue"}}
    (tmp_path / "go").unlink()
    ran(workspace, {"name": "outer", "nodes": [lossy]})
    assert kept(workspace, "inner") == {"sum": 11}


def test_a_retry_counts_what_the_attempt_that_succeeds_sets(workspace: Workspace, tmp_path: Path) -> None:
    inner = {
        "state": {"n": {"type": "integer", "default": 0, "merge": "add"}},
        "nodes": [setting(n=1), shell("check", f"echo x >> {tmp_path}/tries; test $(wc -l < {tmp_path}/tries) -ge 3")],
    }
    workspace.save(inner, "inner")
    document = calling("inner")
    document["nodes"][0]["retry"] = {"attempts": 3}
    ran(workspace, document)
    assert kept(workspace, "inner") == {"n": 1}


def test_a_race_lost_inside_is_read_anew_inside(workspace: Workspace, tmp_path: Path) -> None:
    inner = waiting_counter(tmp_path)
    workspace.save(inner, "inner")
    document = calling("inner", outputs={"n": "${call0.n}"})
    slow = workspace.run(document)
    (tmp_path / "go").touch()
    ran(workspace, "inner")
    assert error_of(workspace.resume(slow.run_id))["type"] == "state_conflict"
    done = workspace.resume(slow.run_id)
    assert (done.status, done.outputs) == ("completed", {"n": 2})
    assert kept(workspace, "inner") == {"n": 2}
    assert (tmp_path / "notes").read_text() == "x\nx\n"


def test_a_step_inside_that_loses_a_race_with_its_step_is_read_anew(workspace: Workspace, tmp_path: Path) -> None:
    workspace.save(waiting_counter(tmp_path, commit="step"), "inner")
    slow = workspace.run(calling("inner"))
    (tmp_path / "go").touch()
    ran(workspace, "inner")
    assert workspace.resume(slow.run_id).status == "failed"
    assert workspace.resume(slow.run_id).success
    assert kept(workspace, "inner") == {"n": 2}


def test_workflows_share_what_they_keep_under_one_scope(workspace: Workspace) -> None:
    state = {"scope": "shared", "n": {"type": "integer", "default": 0, "merge": "add"}}
    for name in ("one", "two"):
        workspace.save({"state": state, "nodes": [setting(n=1)], "outputs": {"n": "${state.n}"}}, name)
        ran(workspace, name)
    assert ran(workspace, "one").outputs == {"n": 2}
    assert kept(workspace, "shared") == kept(workspace, "two") == {"n": 3}
    assert [one.workflow for one in workspace.state.scopes()] == ["shared"]


# ---- under which name


def test_a_file_keeps_under_the_name_in_it_and_saved_under_that_name_goes_on(
    workspace: Workspace, tmp_path: Path
) -> None:
    path = tmp_path / "some.yaml"
    path.write_text(
        "name: mine\nstate: {n: {type: integer, default: 0, merge: add}}\n"
        "nodes: [{id: keep, type: state-set, params: {n: 1}}]\n"
    )
    ran(workspace, str(path))
    assert kept(workspace, str(path)) == kept(workspace, "mine") == {"n": 1}
    workspace.save(str(path), "mine")
    ran(workspace, "mine")
    workspace.save(str(path), "other")
    ran(workspace, "other")
    assert (kept(workspace, "mine"), kept(workspace, "other")) == ({"n": 2}, {"n": 1})


def test_a_draft_keeps_under_its_name(workspace: Workspace) -> None:
    workspace.drafts.save(keeping({"n": {"type": "integer"}}, setting(n=1)), "draft")
    ran(workspace, "draft")
    assert kept(workspace, "draft") == {"n": 1}


def test_a_document_without_a_name_keeps_nothing_and_says_so(workspace: Workspace) -> None:
    document = keeping({"n": {"type": "integer"}}, setting(n=1))
    del document["name"]
    [issue] = workspace.check(document).missing
    assert (issue.code, issue.path) == ("no-scope", "state")
    assert "`name`" in issue.hint
    with pytest.raises(DocumentError) as caught:
        workspace.run(document)
    assert caught.value.message == "the document keeps state, and nothing says under which name"
    workspace.save(document, "saved")
    ran(workspace, "saved")
    assert kept(workspace, "saved") == {"n": 1}
    document["state"]["scope"] = "named"
    ran(workspace, document)
    assert kept(workspace, "named") == {"n": 1}


# ---- trials


def test_a_trial_finds_what_it_is_given_and_keeps_nothing(workspace: Workspace) -> None:
    workspace.state  # noqa: B018 - looking makes no file
    assert ran(workspace, COUNTER, state={"n": 41}).outputs["before"] == 41
    assert ran(workspace, COUNTER, state={}).outputs["before"] == 0
    assert workspace.state.scopes() == []


def test_a_trial_stays_one_when_it_is_resumed(workspace: Workspace, tmp_path: Path) -> None:
    document = waiting_counter(tmp_path, commit="step")
    failed = workspace.run(document, state={"n": 5})
    (tmp_path / "go").touch()
    assert workspace.resume(failed.run_id).outputs == {"n": 6}
    assert workspace.state.scopes() == []


def test_workflows_inside_a_trial_have_their_defaults_and_keep_nothing(workspace: Workspace) -> None:
    save_counter(workspace)
    ran(workspace, "inner")
    document = calling("inner", outputs={"n": "${call0.n}"})
    assert ran(workspace, document, state={}).outputs == {"n": 1}
    assert kept(workspace, "inner") == {"n": 1}


@pytest.mark.parametrize(
    ("state", "error", "said"),
    [
        ({"n": "x"}, InputError, "`n` must be an integer, not a string"),
        ({"m": 1}, InputError, "the workflow keeps no `m`"),
        ({"m": 1, "n": None}, InputError, "2 problems with the state"),
    ],
)
def test_a_trial_with_wrong_values_does_not_begin(
    workspace: Workspace, state: Document, error: type[InputError], said: str
) -> None:
    with pytest.raises(error) as caught:
        workspace.begin(COUNTER, state=state)
    assert caught.value.message.startswith(said)
    with pytest.raises(UsageError):
        workspace.begin({"nodes": [{"id": "echo"}]}, state={})
    assert workspace.runs() == []


# ---- what cannot be kept


@pytest.mark.parametrize("kind", ["integer", "array"])
@pytest.mark.parametrize(
    ("node", "value"),
    [
        (shell("make", "echo many"), "${make.stdout:-}"),
        ({"id": "make", "type": "parse", "params": {"text": '{"x": null}', "as": "json"}}, "${make.value.x}"),
    ],
)
def test_a_value_of_another_type_fails_the_step(workspace: Workspace, kind: str, node: Document, value: str) -> None:
    outcome = workspace.run(keeping({"x": {"type": kind}}, node, setting(x=value)))
    assert outcome.failed_node == "keep"
    assert f"`x` must be an {kind}, as `state` declares it, not " in error_of(outcome)["message"]
    assert kept(workspace) == {}


def test_a_value_that_is_too_large_fails_the_step(workspace: Workspace) -> None:
    document = keeping({"x": {"type": "string"}}, shell("make", "seq 100000"), setting(x="${make.stdout}"))
    error = error_of(workspace.run(document))
    assert (error["type"], error["node"]) == ("execution", "keep")
    assert "`x` would take 673 kB, and a value that is kept may take 64 kB" in error["message"]


def test_a_sum_that_json_cannot_hold_fails_the_run_with_nothing_kept(workspace: Workspace) -> None:
    state = {"n": {"type": "integer", "default": 2**63, "merge": "add"}, "m": {"type": "integer"}}
    outcome = workspace.run(keeping(state, setting(m=1, n=2**63)))
    assert "JSON cannot hold" in error_of(outcome)["message"]
    assert kept(workspace) == {}


def test_a_secret_is_not_kept(workspace: Workspace) -> None:
    workspace.set_setting("MY_TOKEN", "a-very-long-secret")
    document = keeping({"x": {"type": "any"}}, shell("make", "echo a-very-long-secret"), setting(x=["${make.stdout}"]))
    error = error_of(workspace.run(document))
    assert (error["type"], error["node"]) == ("security", "keep")
    assert "a-very-long-secret" not in str(error)
    with pytest.raises(SecurityError):
        workspace.save(document, "w")
        workspace.state.set("w", "x", "a-very-long-secret")
    assert workspace.state.scopes() == []


def test_what_is_kept_must_fit_what_is_declared(workspace: Workspace) -> None:
    ran(workspace, keeping({"n": {"type": "string"}}, setting(n="x")))
    document = keeping({"n": {"type": "integer", "default": 0}}, {"id": "echo"})
    with pytest.raises(InputError) as caught:
        workspace.run(document)
    assert caught.value.message == "`w` has kept a string as `n`, and its document declares an integer"
    assert "pflow state unset w n" in caught.value.suggestions[1]
    workspace.state.unset("w", "n")
    ran(workspace, document)


# ---- what is recorded


def test_a_run_records_what_it_found_and_what_became_of_what_it_set(home: Path) -> None:
    observer = RecordingObserver()
    with Workspace(Home(home), observer=observer) as workspace:
        state = {"n": {"type": "integer", "default": 0, "merge": "add"}}
        ran(workspace, keeping(state, setting(n=2)))
        observer.events.clear()
        done = ran(workspace, keeping(state, setting(n=3)))
        events = [event for _, event in observer.events]
        [started] = [event for event in events if isinstance(event, RunStarted)]
        [step] = [event for event in events if isinstance(event, StepCompleted)]
        [ended] = [event for event in events if isinstance(event, RunCompleted)]
        assert (started.state, started.state_versions, started.state_scope) == ({"w": {"n": 2}}, {"w": {"n": 1}}, "w")
        assert (step.state, step.writes) == ({"w": {"n": 3}}, {})
        assert ended.state == {"w": {"n": 5}}
        trace: Any = workspace.show_run(done.run_id)
        assert trace["state"] == {"found": {"w": {"n": 2}}, "kept": {"w": {"n": 5}}}
        assert trace["steps"][0]["state"] == {"w": {"n": 3}}


def test_a_workflow_without_state_records_nothing_of_it(workspace: Workspace) -> None:
    done = ran(workspace, {"nodes": [{"id": "echo"}]})
    records = workspace._wiring.journal.read(done.run_id)
    assert b'"state":' not in b"".join(record.data for record in records)
    assert "state" not in workspace.show_run(done.run_id)


def test_large_values_are_recorded_and_found_again(workspace: Workspace, tmp_path: Path) -> None:
    many = [f"item {number}" for number in range(1000)]
    ran(workspace, keeping({"x": {"type": "array"}}, setting(x=many)))
    document = keeping({"x": {"type": "array"}}, shell("wait", f"test -e {tmp_path}/go"), outputs={"x": "${state.x}"})
    failed = workspace.run(document)
    workspace.state.unset("w", "x")
    (tmp_path / "go").touch()
    assert workspace.resume(failed.run_id).outputs == {"x": many}


def test_a_journal_in_memory_keeps_state_as_well(home: Path) -> None:
    with Workspace(Home(home), journal=MemoryJournal()) as workspace:
        assert [ran(workspace, COUNTER).outputs["before"] for _ in range(2)] == [0, 1]
        assert kept(workspace) == {"n": 2}


# ---- by hand


def test_a_person_reads_and_changes_what_is_kept(workspace: Workspace) -> None:
    workspace.save(COUNTER, "w")
    [value] = workspace.state.values("w")
    assert (value.value, value.is_set, value.type, value.version) == (0, False, "integer", 0)
    done = ran(workspace, "w")
    value = workspace.state.get("w", "n")
    assert (value.value, value.is_set, value.version, value.run_id) == (1, True, 1, done.run_id)
    assert workspace.state.set("w", "n", "41", text=True).value == 41
    assert ran(workspace, "w").outputs["before"] == 41
    workspace.state.unset("w", "n")
    assert ran(workspace, "w").outputs["before"] == 0
    assert [(one.value, bool(one.run_id)) for one in workspace.state.history("w", "n")] == [
        (1, True),
        (None, False),
        (42, True),
        (41, False),
        (1, True),
    ]
    assert workspace.state.forget("w")
    assert workspace.state.history("w") == []


def test_what_does_not_exist_is_not_found(workspace: Workspace) -> None:
    workspace.save(COUNTER, "w")
    for call in (
        lambda: workspace.state.values("v"),
        lambda: workspace.state.get("w", "m"),
        lambda: workspace.state.set("w", "m", 1),
        lambda: workspace.state.unset("w", "m"),
        lambda: workspace.state.history("w", "m"),
    ):
        with pytest.raises(NotFoundError):
            call()
    with pytest.raises(UsageError):
        workspace.state.set("w", "n", "x")
    with pytest.raises(InputError):
        workspace.state.set("w", "n", "x", text=True)
    with pytest.raises(UsageError):
        workspace.state.set("w", "n", 2**70)


def test_looking_at_state_makes_no_file(workspace: Workspace, home: Path) -> None:
    assert workspace.state.scopes() == []
    assert not (home / "runs.db").exists()


def test_a_renamed_workflow_goes_on_where_it_was(workspace: Workspace) -> None:
    workspace.save(COUNTER, "old")
    ran(workspace, "old")
    workspace.library.rename("old", "new")
    assert ran(workspace, "new").outputs["before"] == 1
    assert [one.workflow for one in workspace.state.scopes()] == ["new"]


def test_a_name_under_which_something_is_kept_is_not_taken_over(workspace: Workspace) -> None:
    for name in ("old", "new"):
        workspace.save(COUNTER, name)
        ran(workspace, name)
    workspace.delete("new")
    assert kept(workspace, "new") == {"n": 1}
    with pytest.raises(ExistsError) as caught:
        workspace.library.rename("old", "new")
    assert "pflow state unset new --all" in caught.value.suggestions[0]
    assert ran(workspace, "old").outputs["before"] == 1
    workspace.state.forget("new")
    workspace.library.rename("old", "new")
    assert ran(workspace, "new").outputs["before"] == 2


def test_a_name_that_is_refused_leaves_the_state_where_it_was(workspace: Workspace) -> None:
    workspace.save(COUNTER, "old")
    workspace.save(COUNTER, "taken")
    ran(workspace, "old")
    for name in ("taken", "../x"):
        with pytest.raises((ExistsError, SecurityError)):
            workspace.library.rename("old", name)
    assert ran(workspace, "old").outputs["before"] == 1


def test_what_a_scope_names_stays_there_when_a_workflow_is_renamed(workspace: Workspace) -> None:
    document = {**COUNTER, "state": {"scope": "old", "n": {"type": "integer", "default": 0}}}
    workspace.save(document, "old")
    ran(workspace, "old")
    workspace.library.rename("old", "new")
    assert ran(workspace, "new").outputs["before"] == 1
    assert [one.workflow for one in workspace.state.scopes()] == ["old"]
