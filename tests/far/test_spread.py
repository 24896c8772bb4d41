"""Batches whose items are runs of their own: begun once, gathered as any batch, whatever becomes of workers."""

from __future__ import annotations

from typing import Any

import pytest

from tests.far.conftest import Far

pytestmark = pytest.mark.needs("postgres", "temporal")


def spread(far: Far, child: list[dict[str, Any]], items: list[Any], **batch: Any) -> str:
    """A document that runs a document for each item; its path."""
    inner = {"inputs": {"n": {"type": "any"}}, "nodes": child, "outputs": {"n": {"source": "${n}"}}}
    node = {
        "id": "each",
        "type": "workflow",
        "params": {"workflow": inner, "inputs": {"n": "${item}"}},
        "batch": {"items": items, "spread": True, **batch},
    }
    outputs = {name: {"source": f"${{each.{name}}}"} for name in ("results", "errors", "count", "done")}
    return far.scene.write(node, outputs=outputs)


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
