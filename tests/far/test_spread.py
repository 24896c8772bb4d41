"""Batches whose items are runs of their own: begun once, gathered as any batch, whatever becomes of workers."""

from __future__ import annotations

import signal
from typing import Any

import pytest

from tests.far.conftest import Far

pytestmark = pytest.mark.needs("postgres", "temporal")


def spread(far: Far, child: list[dict[str, Any]], items: list[Any], *last: dict[str, Any], **batch: Any) -> str:
    """A document that runs a document for each item, and then does what is to be done `last`; its path."""
    inner = {"inputs": {"n": {"type": "any"}}, "nodes": child, "outputs": {"n": {"source": "${n}"}}}
    node = {
        "id": "each",
        "type": "workflow",
        "params": {"workflow": inner, "inputs": {"n": "${item}"}},
        "batch": {"items": items, "spread": True, **batch},
    }
    outputs = {name: {"source": f"${{each.{name}}}"} for name in ("results", "errors", "count", "done")}
    ends = {"finally": last[0]["id"]} if last else {}
    return far.scene.write(node, *last, outputs=outputs, **ends)


def children(far: Far, parent: str) -> list[str]:
    """The runs of the items of a run."""
    with far.workspace() as workspace:
        found = workspace.parents(info.run_id for info in workspace.runs(1000))
        return sorted((run_id for run_id, of in found.items() if of.startswith(parent)), key=found.__getitem__)


def test_items_are_runs_of_their_own_and_their_results_are_gathered_in_order(far: Far) -> None:
    far.worker()
    document = spread(far, [{"id": "say", "type": "echo", "params": {"n": "${n}"}}], [3, 1, 2], concurrency=3)
    said = far.pflow("run", document, "--on", "dev", "--json")
    assert said.code == 0, said
    outputs = said.json["data"]["outputs"]
    assert outputs["results"] == [{"n": 3}, {"n": 1}, {"n": 2}]
    assert outputs["count"] == 3
    assert len(children(far, said.json["data"]["run_id"])) == 3
    at_home = far.pflow("run", document, "--json").json["data"]["outputs"]
    assert at_home == outputs


def test_items_that_fail_are_gathered_and_run_again_as_the_same_runs(far: Far) -> None:
    far.worker()
    code = "import pathlib\nif n == 2 and not pathlib.Path(flag).exists():\n    raise ValueError('two')\nresult = n"
    params = {"code": code, "inputs": {"n": "${n}", "flag": str(far.scene.folder / "mended")}}
    step = {"id": "work", "type": "code", "params": params}
    document = spread(far, [step], [1, 2, 3], on_error="continue", concurrency=2)
    said = far.pflow("run", document, "--on", "dev", "--json")
    assert said.code == 0, said
    run_id, outputs = said.json["data"]["run_id"], said.json["data"]["outputs"]
    assert [one and one["n"] for one in outputs["results"]] == [1, None, 3]
    [lost] = outputs["errors"]
    assert lost["index"] == 1
    assert "sub-workflow failed in run" in lost["error"]["message"]
    assert [one["index"] for one in outputs["done"]] == [0, 2]
    before = children(far, run_id)
    far.scene.folder.joinpath("mended").touch()
    again = far.pflow("runs", "resume", run_id, "--failed-items", "--on", "dev", "--json")
    assert again.code == 0, again
    assert [one["n"] for one in again.json["data"]["outputs"]["results"]] == [1, 2, 3]
    assert children(far, run_id) == before


def test_the_first_failure_ends_a_batch_that_stops_on_errors(far: Far) -> None:
    far.worker()
    document = spread(far, [{"id": "stop", "type": "fail", "params": {"message": "no ${n}"}}], [1, 2, 3])
    said = far.pflow("run", document, "--on", "dev", "--json")
    assert said.code == 1, said
    assert "no 1" in said.json["error"]["message"]
    assert len(children(far, said.json["checkpoint"]["run_id"])) == 1


@pytest.mark.slow
@pytest.mark.parametrize("lease", [3])  # it waits until that is over
def test_no_item_is_begun_twice_when_the_worker_of_the_batch_is_killed(far: Far) -> None:
    first = far.worker()
    held = far.scene.hold("a", repeatable=True)
    run_id = far.detach(spread(far, [held, far.scene.mark("b")], [1, 2, 3], concurrency=2))
    far.scene.until_began("a", 2)
    assert len(children(far, run_id)) == 2
    first.end(signal.SIGKILL)
    far.worker()
    far.scene.release("a")
    far.until_state(run_id, "completed")
    assert far.scene.did().count("b") == 3
    assert len(children(far, run_id)) == 3
    shown = far.pflow("runs", "show", run_id, "--on", "dev", "--json").json["data"]
    assert [one["n"] for one in shown["outputs"]["results"]] == [1, 2, 3]


def test_an_item_that_asks_makes_the_batch_wait_and_goes_on_with_its_answer(far: Far) -> None:
    far.worker()
    asks = {"id": "ok", "type": "ask", "params": {"prompt": "Item ${n}?", "choices": ["yes", "no"]}}
    said = far.pflow("run", spread(far, [asks], [1, 2], concurrency=2), "--on", "dev", "--json")
    assert said.code == 4, said
    run_id = said.json["data"]["run_id"]
    items = children(far, run_id)
    listed = far.pflow("runs", "list", "--on", "dev", "--json").json["data"]["runs"]
    assert {one["run_id"]: one.get("parent") for one in listed if one["run_id"] in items} == {
        items[0]: f"{run_id}/each[0]",
        items[1]: f"{run_id}/each[1]",
    }
    for item in items:
        far.until_state(item, "waiting")
        assert far.pflow("answer", item, "yes", "--on", "dev").code == 0
    far.until_state(run_id, "completed")


def test_cancelling_a_batch_cancels_the_runs_of_its_items(far: Far) -> None:
    far.worker()
    run_id = far.detach(spread(far, [far.scene.hold("a")], [1, 2], concurrency=2))
    far.scene.until_began("a", 2)
    far.until_state(run_id, "waiting")
    items = children(far, run_id)
    assert far.pflow("runs", "cancel", run_id, "--on", "dev").code == 0
    for item in items:
        assert far.until_state(item, "cancelled") == "cancelled"
    assert far.until_state(run_id, "cancelled") == "cancelled"
    assert far.scene.did() == []


def test_cancelling_a_batch_runs_none_of_its_items_on_the_way_to_finally(far: Far) -> None:
    far.worker()
    run_id = far.detach(spread(far, [far.scene.hold("a")], [1, 2, 3], far.scene.mark("last"), concurrency=2))
    far.scene.until_began("a", 2)
    far.until_state(run_id, "waiting")
    items = children(far, run_id)
    assert far.pflow("runs", "cancel", run_id, "--on", "dev").code == 0
    for item in (run_id, *items):
        assert far.until_state(item, "cancelled", "stopped") == "cancelled"
    assert far.scene.did() == ["last"]
    assert children(far, run_id) == items
    assert len(far.scene.until_began("a")) == 2
