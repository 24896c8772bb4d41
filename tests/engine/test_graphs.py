"""Any graph runs each reachable node once, after everything that could still lead to it, with one result."""

from __future__ import annotations

import asyncio
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from pocketflow import AsyncNode, Node

from tests.engine.building import plan_of, run_plan
from tests.quick import examples


class Say(AsyncNode):
    """Waits a few turns, then writes what it was given and picks the action it was told."""

    async def exec_async(self, _: object) -> None:
        for _turn in range(self.params["turns"]):
            await asyncio.sleep(0)

    async def post_async(self, shared: Any, _: object, __: object) -> str:
        shared["said"] = self.params["text"]
        return str(self.params["action"])


class SayInThread(Node):
    def post(self, shared: Any, _: object, __: object) -> str:
        shared["said"] = self.params["text"]
        return str(self.params["action"])


ACTIONS = ["default", "left", "right"]


@st.composite
def graphs(draw: st.DrawFn) -> dict[str, Any]:
    """A document whose edges lead forward, with an action that each node will pick."""
    count = draw(st.integers(1, 12))
    pairs = [(a, b) for b in range(1, count) for a in range(b)]
    chosen = draw(st.lists(st.sampled_from(pairs), unique=True, max_size=3 * count)) if pairs else []
    for target in range(1, count):
        if not any(b == target for _, b in chosen):
            chosen.append((draw(st.integers(0, target - 1)), target))
    edges = [{"from": f"n{a}", "to": f"n{b}", "action": draw(st.sampled_from(ACTIONS))} for a, b in chosen]
    nodes = []
    for index in range(count):
        offered = sorted({e["action"] for e in edges if e["from"] == f"n{index}"} | {"default"})
        before = [e["from"] for e in edges if e["to"] == f"n{index}"]
        text = f"n{index}(" + ",".join(f"${{{name}.said:-none}}" for name in before) + ")"
        params = {"text": text, "action": draw(st.sampled_from(offered)), "turns": draw(st.integers(0, 3))}
        kind = draw(st.sampled_from(["say", "say", "say", "say-in-thread"]))
        nodes.append({"id": f"n{index}", "type": kind, "params": params})
    return {"nodes": nodes, "edges": edges}


def reference(document: dict[str, Any]) -> dict[str, str]:
    """What each node says, by going through the nodes one after the other in an order that the edges allow."""
    said: dict[str, str] = {}
    reached = {"n0"}
    for node in document["nodes"]:
        name = node["id"]
        if name not in reached:
            continue
        before = [e["from"] for e in document["edges"] if e["to"] == name]
        said[name] = f"{name}(" + ",".join(said.get(b, "none") for b in before) + ")"
        reached |= {e["to"] for e in document["edges"] if e["from"] == name and e["action"] == node["params"]["action"]}
    return said


@settings(max_examples=examples(400), deadline=None)
@given(graphs())
def test_every_reachable_node_runs_once_after_its_live_predecessors(document: dict[str, Any]) -> None:
    expected = reference(document)
    outputs = {name: {"source": f"${{{name}.said:-none}}"} for name in (n["id"] for n in document["nodes"])}
    plan = plan_of({**document, "outputs": outputs}, say=Say, say_in_thread=SayInThread)
    result = run_plan(plan)
    assert result.status == "completed", result.error
    assert sorted(result.completed) == sorted(expected)
    assert result.outputs == {name: expected.get(name, "none") for name in outputs}


def test_a_join_inside_a_loop_waits_for_both_branches_every_time() -> None:
    class Count(AsyncNode):
        async def post_async(self, shared: Any, _: object, __: object) -> str:
            shared["count"] = shared.get("count", 0) + 1
            return "again" if shared["count"] < 3 else "default"

    names = ["a", "b", "c"]
    document = {
        "nodes": [
            *(
                {"id": n, "type": "say", "params": {"text": n, "action": "default", "turns": t}}
                for n, t in zip(names, (0, 3, 0))
            ),
            {"id": "join", "type": "count"},
        ],
        "edges": [
            {"from": "a", "to": "b"},
            {"from": "a", "to": "c"},
            {"from": "b", "to": "join"},
            {"from": "c", "to": "join"},
            {"from": "join", "to": "a", "action": "again"},
        ],
    }
    result = run_plan(plan_of(document, say=Say, count=Count))
    assert result.status == "completed", result.error
    assert result.outputs["count"] == 3
    for visit in ("", "#2", "#3"):
        ran = [step for step in result.completed if "".join(step.partition("#")[1:]) == visit]
        assert ran[0] == f"a{visit}" and ran[-1] == f"join{visit}" and len(ran) == 4


def test_independent_nodes_of_a_data_ordered_document_are_all_started_at_once() -> None:
    started: list[str] = []
    everyone = asyncio.Event()

    class Meet(AsyncNode):
        async def exec_async(self, _: object) -> None:
            started.append(self.params["me"])
            if len(started) == 3:
                everyone.set()
            await everyone.wait()

        async def post_async(self, shared: Any, _: object, __: object) -> None:
            shared["me"] = self.params["me"]

    document = {
        "edges": "data",
        "nodes": [
            {"id": "last", "type": "say", "params": {"text": "${x.me}${y.me}${z.me}", "action": "default", "turns": 0}},
            *({"id": n, "type": "meet", "params": {"me": n}} for n in ("x", "y", "z")),
        ],
    }
    result = run_plan(plan_of(document, meet=Meet, say=Say))
    assert result.outputs == {"said": "xyz"}
    assert result.completed[-1] == "last"
