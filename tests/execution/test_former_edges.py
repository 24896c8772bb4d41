"""Documents from before `on` and partial lists of edges lead where they led then.

`tests/data/former_edges.json` has the documents of docs, examples and tests of that time, without what does not matter
to their edges, and the edges that were derived from them.
"""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from pocketflow import Node

from pflow.core.document.parse import parse_value
from pflow.core.errors import NotFoundError
from pflow.execution.compiler import compile_plan
from tests.engine.building import Kind, Kinds

FORMER: list[dict[str, Any]] = json.loads((Path(__file__).parents[1] / "data" / "former_edges.json").read_text())


class AnyKind(Node):
    """Stands for every node type: it may end with whatever the edges are for."""


def no_child(wanted: object) -> Any:
    raise NotFoundError(str(wanted))


def derived(document: dict[str, Any]) -> tuple[list[str], dict[str, dict[str, list[str]]]]:
    """Where the plan of a document begins, and its edges."""
    kinds: Any = Kinds({node["type"]: Kind(AnyKind) for node in document["nodes"]})
    plan, issues = compile_plan(parse_value(document), kinds, no_child)
    assert plan is not None, [issue.as_dict() for issue in issues]
    names = [node.id for node in plan.nodes]
    edges = {node.id: {action: [names[to] for to in tos] for action, tos in node.edges.items()} for node in plan.nodes}
    return [names[start] for start in plan.starts], edges


@pytest.mark.parametrize("number", range(len(FORMER)))
def test_a_document_of_that_time_has_the_same_edges(number: int) -> None:
    document = FORMER[number]["document"]
    then = FORMER[number]["starts"], FORMER[number]["edges"]
    assert derived(document) == then
    chain = [{"from": a["id"], "to": b["id"]} for a, b in pairwise(document["nodes"])]
    if document["edges"] == chain:
        assert derived({key: value for key, value in document.items() if key != "edges"}) == then
