"""`spread` stands where it means something, and changes nothing on one machine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pflow.core.file.home import Home
from pflow.workspace import Workspace

INNER = {"inputs": {"n": {"type": "integer"}}, "nodes": [{"id": "say", "type": "echo", "params": {"n": "${n}"}}]}


def over(node: dict[str, Any], **batch: Any) -> dict[str, Any]:
    return {"nodes": [{"id": "each", **node, "batch": {"items": [1, 2], **batch}}]}


def workflow(**fields: Any) -> dict[str, Any]:
    return {"type": "workflow", "params": {"workflow": INNER, "inputs": {"n": "${item}"}}, **fields}


@pytest.mark.parametrize(
    ("node", "path"),
    [
        ({"type": "echo", "params": {"n": "${item}"}}, "nodes[0].batch.spread"),
        (workflow(approve={"prompt": "Do it?"}), "nodes[0].approve"),
    ],
)
def test_what_cannot_be_spread_is_an_issue_with_a_hint(home: Path, node: dict[str, Any], path: str) -> None:
    with Workspace(Home(home)) as workspace:
        [issue] = workspace.check(over(node, spread=True)).errors
    assert (issue.code, issue.path, bool(issue.hint)) == ("unexpected-field", path, True)


def test_on_one_machine_items_run_in_the_process_of_the_batch(home: Path) -> None:
    with Workspace(Home(home)) as workspace:
        plain = workspace.run(over(workflow()))
        spread = workspace.run(over(workflow(), spread=True, concurrency=2))
        assert spread.outputs == plain.outputs
        assert len(workspace.runs()) == 2


def test_spreading_is_no_other_work(home: Path) -> None:
    with Workspace(Home(home)) as workspace:
        definitions = [
            workspace.check(over(workflow(), **batch)).runnable().nodes[0].definition
            for batch in ({}, {"spread": True})
        ]
    assert definitions[0] == definitions[1]
