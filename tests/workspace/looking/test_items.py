"""Items of batches, read from a trace."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pflow.core.errors import NotFoundError
from pflow.core.file.home import Home
from pflow.workspace import Workspace

DOCUMENT = """
inputs: {good: {type: boolean, default: false}}
nodes:
  - id: each
    type: code
    retry: {attempts: 2, wait: 0}
    batch: {items: [1, 2, 3], on_error: continue}
    params:
      inputs: {n: "${item}", good: "${good}"}
      code: |
        if n == 2 and not good:
            raise ValueError("two is odd here")
        result = {"square": n * n}
"""


@pytest.fixture
def workspace(home: Path) -> Iterator[Workspace]:
    with Workspace(Home(home)) as opened:
        yield opened


def test_what_a_batch_gave_can_be_read_item_by_item(workspace: Workspace) -> None:
    run = workspace.run(DOCUMENT).run_id
    results = workspace.trace(run, step="each", field="outputs.results")
    assert results == [{"result": {"square": 1}, "stdout": ""}, None, {"result": {"square": 9}, "stdout": ""}]
    assert workspace.trace(run, step="each", field="outputs.results[2].result.square") == 9
    assert workspace.trace(run, field="steps[0].outputs.results[0].result.square") == 1
    item: Any = workspace.trace(run, step="each[2]")
    assert item.pop("ms") > 0 and item.pop("started_at") <= time.time()
    assert item == {
        "step": "each[2]",
        "item": 2,
        "status": "completed",
        "attempt": 1,
        "outputs": {"result": {"square": 9}, "stdout": ""},
    }
    assert workspace.trace(run, step="each[2]", field="outputs.result") == {"square": 9}


def test_an_item_that_failed_tells_each_attempt(workspace: Workspace) -> None:
    run = workspace.run(DOCUMENT).run_id
    failed: Any = workspace.trace(run, step="each[1]")
    assert (failed["status"], failed["attempt"]) == ("failed", 2)
    assert [one["attempt"] for one in failed["attempts"]] == [1, 2]
    assert "two is odd here" in failed["attempts"][0]["error"]["message"]


@pytest.mark.parametrize(
    ("step", "said"),
    [
        ("each[3]", "step `each` has no item 3; its items are 0 to 2"),
        ("other[0]", "the run has no step `other[0]`"),
        ("each[x]", "the run has no step `each[x]`"),
    ],
)
def test_an_item_that_is_not_there_is_said(workspace: Workspace, step: str, said: str) -> None:
    run = workspace.run(DOCUMENT).run_id
    with pytest.raises(NotFoundError) as caught:
        workspace.trace(run, step=step)
    assert caught.value.message == said


def test_items_count_once_after_an_edit(workspace: Workspace) -> None:
    run = workspace.run(DOCUMENT).run_id
    workspace.resume(run, edited=DOCUMENT.replace("n * n", "n * n * n"), params={"good": True})
    shown: Any = workspace.show_run(run)
    (step,) = shown["steps"]
    assert (step["items_completed"], step["items"]) == (3, 3)
    assert workspace.trace(run, step="each", field="outputs.results[1].result.square") == 8
