"""Taking a run up again: what is missing runs, what changed runs, and everything else is kept."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest

from pflow.core.errors import ConflictError, NotFoundError, RunError, UsageError
from pflow.core.file.home import Home
from pflow.workspace import Workspace
from tests.workspace.test_durability import in_child, place

__all__ = ["place"]

GATE_NODE = '''
"""A node that fails as long as a file exists."""
import os
from pocketflow import Node

class Gate(Node):
    """Fail while `closed` exists.

    Interface:
    - Params: closed - the file
    - Params: value - what to hand on
    - Writes: shared["value"] - what it was given
    """
    def exec(self, _):
        if os.path.exists(self.params["closed"]):
            raise RuntimeError("the gate is closed")

    def post(self, shared, _, __):
        shared["value"] = self.params.get("value")
'''


@pytest.fixture
def workspace(place: Home) -> Iterator[Workspace]:
    (place.nodes / "gate.py").write_text(GATE_NODE)
    with Workspace(place) as opened:
        yield opened


def mark(name: str, effects: Path, **more: Any) -> dict[str, Any]:
    return {"id": name, "type": "mark", "params": {"file": str(effects), "text": name, **more}}


def effects_of(file: Path) -> Counter[str]:
    return Counter(file.read_text().split())


def test_a_failed_run_goes_on_at_the_failed_step(workspace: Workspace, tmp_path: Path) -> None:
    effects, closed = tmp_path / "effects", tmp_path / "closed"
    closed.touch()
    document = {
        "nodes": [
            mark("first", effects),
            {"id": "gate", "type": "gate", "params": {"closed": str(closed)}},
            mark("last", effects),
        ]
    }
    failed = workspace.run(document)
    assert (failed.status, failed.failed_node, failed.completed) == ("failed", "gate", ("first",))
    assert failed.envelope()["checkpoint"] == {
        "run_id": failed.run_id,
        "completed_nodes": ["first"],
        "failed_node": "gate",
    }
    assert workspace.resume(failed.run_id).status == "failed"
    closed.unlink()
    resumed = workspace.resume(failed.run_id)
    assert resumed.success and resumed.run_id == failed.run_id
    assert effects_of(effects) == {"first": 1, "last": 1}
    with pytest.raises(RunError, match="complete"):
        workspace.resume(failed.run_id)


def test_a_batch_goes_on_with_the_items_that_are_missing(workspace: Workspace, tmp_path: Path) -> None:
    effects, closed = tmp_path / "effects", tmp_path / "closed"
    closed.touch()
    child = {
        "inputs": {"name": {"type": "string"}, "closed": {"type": "string"}},
        "nodes": [
            {"id": "gate", "type": "gate", "params": {"closed": "${closed}", "value": "${name}"}},
            {"id": "do", "type": "mark", "params": {"file": str(effects), "text": "${name}"}},
        ],
        "outputs": {"did": {"source": "${do.text}"}},
    }
    items = [
        {"name": "a", "closed": "/nonexistent"},
        {"name": "b", "closed": str(closed)},
        {"name": "c", "closed": "/none"},
    ]
    document = {
        "nodes": [
            {
                "id": "each",
                "type": "workflow",
                "params": {"workflow": child, "inputs": {"name": "${item.name}", "closed": "${item.closed}"}},
                "batch": {"items": items},
            }
        ]
    }
    failed = workspace.run(document)
    assert failed.status == "failed" and effects_of(effects) == {"a": 1}
    closed.unlink()
    done = workspace.resume(failed.run_id)
    assert done.outputs["results"] == [{"did": "a"}, {"did": "b"}, {"did": "c"}]
    assert effects_of(effects) == {"a": 1, "b": 1, "c": 1}


def test_what_took_the_results_of_a_batch_has_them_after_a_resume(workspace: Workspace, tmp_path: Path) -> None:
    inner = {
        "nodes": [{"id": "each", "type": "echo", "params": {"v": "${item}"}, "batch": {"items": [1, 2]}}],
        "outputs": {"results": {"source": "${each.results}"}},
    }
    document = {
        "nodes": [
            {"id": "inner", "type": "workflow", "params": {"workflow": inner}},
            {"id": "each", "type": "echo", "params": {"v": "${item}"}, "batch": {"items": [1, 2]}},
            {"id": "keep", "type": "echo", "params": {"all": "${each.results}", "more": ["${each.results}"]}},
            {"id": "gate", "type": "shell", "params": {"command": f"test -e {tmp_path}/go"}},
        ],
        "outputs": {
            "all": {"source": "${keep.all}"},
            "more": {"source": "${keep.more}"},
            "inner": {"source": "${inner.results}"},
        },
    }
    failed = workspace.run(document)
    assert failed.failed_node == "gate"
    (tmp_path / "go").touch()
    resumed = workspace.resume(failed.run_id)
    results = [{"v": 1}, {"v": 2}]
    assert resumed.outputs == {"all": results, "more": [results], "inner": results}
    assert workspace.show_run(failed.run_id)["outputs"] == resumed.outputs


def test_a_step_that_took_the_results_of_a_batch_does_not_run_again_after_an_edit_elsewhere(
    workspace: Workspace, tmp_path: Path
) -> None:
    text = f"""
nodes:
  - {{id: each, type: echo, params: {{v: "${{item}}"}}, batch: {{items: [1, 2]}}}}
  - {{id: post, type: shell, params: {{command: "cat >> {tmp_path}/posted", stdin: "${{each.results}}"}}}}
  - {{id: last, type: echo, params: {{said: before}}}}
"""
    first = workspace.run(text)
    edited = workspace.resume(first.run_id, edited=text.replace("before", "after"))
    assert (edited.status, edited.outputs) == ("completed", {"said": "after"})
    assert (tmp_path / "posted").read_text().strip() == '[{"v": 1}, {"v": 2}]'.replace(" ", "")


def test_a_sub_workflow_goes_on_inside(workspace: Workspace, tmp_path: Path) -> None:
    effects, closed = tmp_path / "effects", tmp_path / "closed"
    closed.touch()
    child = {"nodes": [mark("in1", effects), {"id": "gate", "type": "gate", "params": {"closed": str(closed)}}]}
    document = {"nodes": [{"id": "sub", "type": "workflow", "params": {"workflow": child}}, mark("after", effects)]}
    failed = workspace.run(document)
    assert failed.error is not None and "sub/gate" in str(failed.error["message"])
    closed.unlink()
    assert workspace.resume(failed.run_id).success
    assert effects_of(effects) == {"in1": 1, "after": 1}


def test_a_saved_child_that_changes_meanwhile_does_not_change_the_run(workspace: Workspace, tmp_path: Path) -> None:
    effects, closed = tmp_path / "effects", tmp_path / "closed"
    closed.touch()
    gate = {"id": "gate", "type": "gate", "params": {"closed": str(closed)}}
    workspace.save({"nodes": [gate, mark("old", effects)]}, "child")
    failed = workspace.run({"nodes": [{"id": "sub", "type": "workflow", "params": {"workflow": "child"}}]})
    workspace.save({"nodes": [gate, mark("new", effects)]}, "child", overwrite=True)
    closed.unlink()
    assert workspace.resume(failed.run_id).success
    assert effects_of(effects) == {"old": 1}


def test_the_paths_in_a_child_start_from_where_the_child_lies(workspace: Workspace, tmp_path: Path) -> None:
    effects, closed = tmp_path / "effects", tmp_path / "closed"
    closed.touch()
    gate = {"id": "gate", "type": "gate", "params": {"closed": str(closed)}}
    deep = tmp_path / "lib" / "deep"
    deep.mkdir(parents=True)
    (deep / "leaf.json").write_bytes(orjson.dumps({"nodes": [gate, mark("leaf", effects)]}))
    middle = {"nodes": [{"id": "leaf", "type": "workflow", "params": {"workflow": "deep/leaf.json"}}]}
    (tmp_path / "lib" / "middle.json").write_bytes(orjson.dumps(middle))
    top = {"nodes": [{"id": "middle", "type": "workflow", "params": {"workflow": "./lib/middle.json"}}]}
    (tmp_path / "top.json").write_bytes(orjson.dumps(top))
    failed = workspace.run(str(tmp_path / "top.json"))
    assert failed.failed_node == "middle"
    (deep / "leaf.json").unlink()
    closed.unlink()
    assert workspace.resume(failed.run_id).success
    assert effects_of(effects) == {"leaf": 1}


class TestEditAndContinue:
    def _document(self, effects: Path, **texts: str) -> dict[str, Any]:
        return {
            "nodes": [
                {"id": name, "type": "mark", "params": {"file": str(effects), "text": texts.get(name, template)}}
                for name, template in [("a", "a"), ("b", "b-${a.text}"), ("c", "c"), ("d", "d-${b.text}-${c.text}")]
            ]
        }

    def test_only_what_changed_and_what_follows_from_it_runs_again(self, workspace: Workspace, tmp_path: Path) -> None:
        effects = tmp_path / "effects"
        first = workspace.run(self._document(effects))
        assert first.outputs == {"text": "d-b-a-c"}
        effects.unlink()
        again = workspace.resume(first.run_id, edited=self._document(effects, c="C"))
        assert again.outputs == {"text": "d-b-a-C"}
        assert effects_of(effects) == {"C": 1, "d-b-a-C": 1}
        assert again.reused == ("a", "b")
        assert again.reran == (("c", "its definition changed"), ("d", "its inputs changed"))

    def test_a_changed_step_with_the_same_result_stops_the_change(self, workspace: Workspace, tmp_path: Path) -> None:
        effects = tmp_path / "effects"
        first = workspace.run(self._document(effects))
        effects.unlink()
        again = workspace.resume(first.run_id, edited=self._document(effects, b="b-a"))
        assert effects_of(effects) == {"b-a": 1}
        assert again.reran == (("b", "its definition changed"),)

    def test_items_of_an_unchanged_batch_are_kept(self, workspace: Workspace, tmp_path: Path) -> None:
        effects, closed = tmp_path / "effects", tmp_path / "closed"
        closed.touch()
        each = mark("each", effects, text="${item}")
        each["batch"] = {"items": ["x", "y"]}
        gate = {"id": "gate", "type": "gate", "params": {"closed": str(closed)}}
        child = {"nodes": [each, gate]}
        document = {"nodes": [mark("a", effects), {"id": "sub", "type": "workflow", "params": {"workflow": child}}]}
        failed = workspace.run(document)
        assert failed.status == "failed"
        document["nodes"][0]["params"]["text"] = "A"
        closed.unlink()
        assert workspace.resume(failed.run_id, edited=document).success
        assert effects_of(effects) == {"a": 1, "A": 1, "x": 1, "y": 1}

    def test_an_edit_can_be_resumed_like_any_run(self, workspace: Workspace, tmp_path: Path) -> None:
        effects, closed = tmp_path / "effects", tmp_path / "closed"
        closed.touch()
        gate = {"id": "gate", "type": "gate", "params": {"closed": str(closed)}}
        first = workspace.run({"nodes": [mark("a", effects), mark("b", effects)]})
        edited = {"nodes": [mark("a", effects), mark("new", effects), gate, mark("b", effects)]}
        failed = workspace.resume(first.run_id, edited=edited)
        assert failed.status == "failed"
        closed.unlink()
        assert workspace.resume(first.run_id).success
        assert effects_of(effects) == {"a": 1, "b": 1, "new": 1}


def test_eight_processes_that_resume_one_run_do_its_work_once(
    workspace: Workspace, place: Home, tmp_path: Path
) -> None:
    effects, closed = tmp_path / "effects", tmp_path / "closed"
    closed.touch()
    gate = {"id": "gate", "type": "gate", "params": {"closed": str(closed)}}
    run_id = workspace.run({"nodes": [gate, *(mark(f"s{n}", effects) for n in range(30))]}).run_id
    closed.unlink()
    workspace.close()
    children = []
    for _ in range(8):
        child = os.fork()
        if child == 0:
            try:
                os._exit(0 if Workspace(place).resume(run_id).success else 3)
            except ConflictError:
                os._exit(1)
            except RunError:
                os._exit(2)
            except BaseException:
                os._exit(4)
        children.append(child)
    codes = Counter(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children)
    assert codes[0] == 1 and codes[0] + codes[1] + codes[2] == 8
    assert effects_of(effects) == {f"s{n}": 1 for n in range(30)}


def test_a_run_without_an_owner_can_be_cancelled_for_good(workspace: Workspace, place: Home, tmp_path: Path) -> None:
    effects = tmp_path / "effects"
    document = {"nodes": [mark("a", effects), {"id": "end", "type": "shell", "params": {"command": "kill -9 $PPID"}}]}

    def work() -> None:
        Workspace(place).run(document, run_id="orphan")

    assert in_child(work) == -9
    assert workspace.show_run("orphan")["status"] == "interrupted"
    assert workspace.cancel("orphan") == "cancelled"
    with pytest.raises(UsageError, match="cancelled already"):
        workspace.cancel("orphan")
    with pytest.raises(RunError, match="was cancelled, for good"):
        workspace.resume("orphan", rerun_in_doubt=True)
    assert workspace.show_run("orphan")["status"] == "cancelled"


def test_asking_to_resume_a_completed_run_leaves_it_completed(workspace: Workspace) -> None:
    document = {"nodes": [{"id": "a", "type": "echo", "params": {"v": 1}}]}
    run_id = workspace.run(document).run_id
    with pytest.raises(RunError, match="nothing to resume"):
        workspace.resume(run_id)
    assert [run.status for run in workspace.runs()] == ["completed"]
    assert workspace.show_run(run_id)["status"] == "completed"


def test_a_failed_command_shows_its_text_and_values_without_secrets(workspace: Workspace) -> None:
    document = {
        "inputs": {"token": {"type": "string", "secret": True}, "who": {"type": "string"}},
        "nodes": [{"id": "call", "type": "shell", "params": {"command": "echo ${who} ${token}; exit 3"}}],
    }
    outcome = workspace.run(document, {"token": "s3cret-and-long", "who": "Ada"})
    shown = {"command": "echo ${who} ${token}; exit 3", "values": {"${who}": "Ada", "${token}": "«secret:token»"}}
    assert outcome.params == shown
    assert workspace.trace(outcome.run_id, step="call", field="params") == shown


def test_an_unknown_run_is_not_found(workspace: Workspace) -> None:
    with pytest.raises(NotFoundError):
        workspace.resume("nothing-here")
