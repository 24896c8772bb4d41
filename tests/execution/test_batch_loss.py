"""Batches that lose items say so, fail when they lose too many, and give what got done with its items."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pflow.core.file.home import Home
from pflow.workspace import Workspace
from tests.cli.conftest import Pflow, pflow, registry_file, write

__all__ = ["pflow", "registry_file", "write"]


@pytest.fixture
def workspace(home: Path) -> Iterator[Workspace]:
    with Workspace(Home(home)) as opened:
        yield opened


def divide(items: object, **batch: Any) -> dict[str, Any]:
    return {
        "id": "each",
        "type": "code",
        "params": {"code": "result = 20 // n", "inputs": {"n": "${item}"}},
        "batch": {"items": items, "on_error": "continue", **batch},
    }


AFTER = {"id": "after", "type": "echo", "params": {"count": "${each.count}"}}


def test_a_batch_whose_items_all_failed_fails_its_step(workspace: Workspace) -> None:
    outcome = workspace.run({"nodes": [divide([0, 0, 0]), AFTER]})
    assert outcome.error is not None and outcome.failed_node == "each"
    assert str(outcome.error["message"]).startswith("3 of 3 items of `each` failed; item 0: ")
    assert "ZeroDivisionError" in str(outcome.error["message"])
    assert outcome.error["suggestions"] == ['give the batch `max_failed: "100%"` if it may complete with nothing done']


def test_its_error_edge_takes_over(workspace: Workspace) -> None:
    document = {
        "nodes": [divide([0]), AFTER, {"id": "alert", "type": "echo", "params": {"why": "${each.error.message}"}}],
        "edges": [{"from": "each", "to": "after"}, {"from": "each", "to": "alert", "action": "error"}],
    }
    assert "1 of 1 items of `each` failed" in str(workspace.run(document).outputs["why"])


@pytest.mark.parametrize(
    ("items", "most", "is_complete"),
    [
        ([1, 0, 0], 2, True),
        ([1, 0, 0], 1, False),
        ([1, 0], 0, False),
        ([1, 2], 0, True),
        ([1, 0], "50%", True),
        ([1, 1, 0, 0], "49.9%", False),
        ([0, 0], "100%", True),
        ([0, 0], 2, False),
        ([], 0, True),
        ([], "0%", True),
    ],
)
def test_more_failures_than_max_failed_fail_the_step(
    workspace: Workspace, items: list[int], most: object, is_complete: bool
) -> None:
    outcome = workspace.run({"nodes": [divide(items, max_failed=most), AFTER]})
    assert outcome.success is is_complete
    if is_complete:
        assert outcome.outputs == {"count": len(items)}


def test_no_item_starts_after_too_many_have_failed(workspace: Workspace) -> None:
    outcome = workspace.run({"nodes": [divide([0, 0, 1, 2, 3], max_failed=1)]})
    assert outcome.error is not None and outcome.steps == 0
    assert str(outcome.error["message"]).startswith("2 of 5 items of `each` failed, and at most 1 may; item 0: ")


def test_no_items_are_no_failure(workspace: Workspace) -> None:
    outcome = workspace.run({"nodes": [divide([])]})
    assert outcome.outputs == {"results": [], "errors": [], "count": 0}
    assert not outcome.failed_items


@pytest.mark.parametrize("value", ["5", "101%", "-1%", -1, 1.5, True, [], "x%"])
def test_what_max_failed_cannot_be_is_an_issue(workspace: Workspace, value: object) -> None:
    [issue] = workspace.check({"nodes": [divide([1], max_failed=value)]}).issues
    assert (issue.code, issue.path) == ("wrong-type", "nodes[0].batch.max_failed")


def test_max_failed_without_continue_is_an_issue(workspace: Workspace) -> None:
    [issue] = workspace.check({"nodes": [divide([1], max_failed=1, on_error="stop")]}).issues
    assert issue.code == "unexpected-field" and issue.hint == 'add "on_error": "continue"'


def test_a_completed_batch_is_kept_when_max_failed_changes(workspace: Workspace) -> None:
    fails = {"id": "end", "type": "code", "params": {"code": "raise ValueError"}}
    before = workspace.run({"nodes": [divide([0, 0], max_failed="100%"), fails]})
    assert before.failed_items == (("each", 2, 2),)
    resumed = workspace.resume(before.run_id, edited={"nodes": [divide([0, 0]), AFTER]})
    assert resumed.success and resumed.reused == ("each",)
    assert resumed.failed_items == (("each", 2, 2),)


def test_a_resumed_run_still_tells_what_was_lost_before(workspace: Workspace, tmp_path: Path) -> None:
    flag = tmp_path / "flag"
    wait = {"id": "wait", "type": "read-file", "params": {"path": str(flag)}}
    use = {"id": "use", "type": "echo", "params": {"done": "${each.done}", "first": "${each.done[0].item}"}}
    numbers = {"id": "numbers", "type": "echo", "params": {"list": [4, 0, 5]}}
    failed = workspace.run({"nodes": [numbers, divide("${numbers.list}"), wait, use]})
    assert not failed.success
    flag.write_text("x")
    resumed = workspace.resume(failed.run_id)
    assert resumed.failed_items == (("each", 1, 3),)
    results = [{"result": 5, "stdout": ""}, {"result": 4, "stdout": ""}]
    done = [{"index": 0, "item": 4, "result": results[0]}, {"index": 2, "item": 5, "result": results[1]}]
    assert resumed.outputs == {"done": done, "first": 4}


def test_done_is_what_succeeded_with_its_items(workspace: Workspace) -> None:
    each = {**divide("${o}"), "params": {"code": "result = n", "inputs": {"n": "${item.value}"}}}
    document = {"inputs": {"o": {}}, "nodes": [each, AFTER], "outputs": {"done": {"source": "${each.done}"}}}
    outcome = workspace.run(document, {"o": {"a": 1, "b": 2}})
    assert outcome.outputs["done"] == [
        {"index": 0, "item": {"key": "a", "value": 1}, "result": {"result": 1, "stdout": ""}},
        {"index": 1, "item": {"key": "b", "value": 2}, "result": {"result": 2, "stdout": ""}},
    ]


def test_checking_knows_done_and_only_under_the_id_of_its_node(workspace: Workspace) -> None:
    def messages(template: str) -> list[str]:
        use = {"id": "use", "type": "echo", "params": {"x": template}}
        return [issue.message for issue in workspace.check({"nodes": [divide([1]), use]}).issues]

    assert not messages("${each.done[0].result.result}")
    assert "has no `outcome`" in messages("${each.done[0].outcome}")[0]
    assert "has no `output`" in messages("${each.done[0].result.output}")[0]
    assert "neither an input nor a node" in messages("${done}")[0]


def test_a_loop_gives_the_items_of_the_visit_that_completed(workspace: Workspace) -> None:
    document = {
        "nodes": [
            {"id": "seed", "type": "echo", "params": {"list": [1, 2]}},
            {**divide("${seed.list}"), "params": {"code": "result = n", "inputs": {"n": "${item}"}}},
            {
                "id": "again",
                "type": "echo",
                "params": {"items": "${each.done}"},
                "batch": {"items": "${each.done}", "as": "one"},
            },
        ],
        "outputs": {"seen": {"source": "${again.results[1].items[1].item}"}},
    }
    assert workspace.run(document).outputs == {"seen": 2}


def test_a_person_sees_what_was_lost(pflow: Pflow, write: Any) -> None:
    path = write("lossy.json", divide([4, 0, 5]), AFTER)
    ran = pflow("run", path)
    assert ran.code == 0
    assert "warning: 1 of 3 items of `each` failed; `pflow trace " in ran.err
    assert "1 of 3 items failed; 2 of 3 items done" in pflow("runs", "show", "latest").out
    data = json.loads(pflow("run", path, "--json").out)["data"]
    assert data["failed_items"] == [{"step": "each", "failed": 1, "items": 3}]
    whole = write("whole.json", divide([4]), AFTER)
    assert "failed" not in pflow("run", whole).err
