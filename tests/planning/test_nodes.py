"""Planning as PocketFlow nodes: a flow in Python finds, writes and mends documents."""

from __future__ import annotations

import asyncio
from typing import Any

from pocketflow import AsyncFlow

from pflow.core.document.parse import parse_text
from pflow.planning.nodes import PlanRepairNode, PlanWriterNode
from tests.planning.conftest import recorded


def test_a_flow_writes_a_document_and_mends_it() -> None:
    llm = recorded("not_a_document")
    asyncio.run(llm.ask(_anything()))  # a flow that brings its own node types needs no choice
    shared: dict[str, Any] = {
        "user_input": "count the lines of notes.txt",
        "llm": llm,
        "node_types": {"read-file": "Read a file", "let": "Compute"},
        "check": lambda text: parse_text(text).issues,
    }
    asyncio.run(AsyncFlow(start=PlanWriterNode()).run_async(shared))
    assert shared["plan_issues"] == []
    assert shared["plan_rounds"] == 2
    assert shared["planned_document"].startswith("name: count-lines\n")


def test_a_document_that_stays_wrong_ends_with_an_action_of_its_own() -> None:
    llm = recorded("never_valid")
    asyncio.run(llm.ask(_anything()))
    shared: dict[str, Any] = {"user_input": "x y", "llm": llm, "check": lambda text: parse_text("[]").issues}
    assert asyncio.run(PlanWriterNode().run_async(shared)) == "invalid"
    assert shared["plan_issues"]
    assert shared["plan_rounds"] == 3


def test_a_flow_mends_a_document_that_failed() -> None:
    llm = recorded("repair_good")
    shared: dict[str, Any] = {
        "llm": llm,
        "document": '{"nodes": []}',
        "failed_node": "say",
        "error": "no such key",
        "shapes": "{}",
        "check": lambda text: parse_text(text).issues,
    }
    asyncio.run(AsyncFlow(start=PlanRepairNode()).run_async(shared))
    assert shared["plan_issues"] == []
    assert shared["plan_reason"] == "The key is `name`."
    assert "step: say\nno such key" in llm.prompts[0].text


def _anything() -> Any:
    from pflow.engine.model.llm import Prompt

    return Prompt(text="?")
