"""What may start is what no other live node can still reach, however a graph's nodes are started and ended."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given, settings
from hypothesis import strategies as st

from pflow.core.template.template import compile_value
from pflow.engine.frontier import Frontier
from pflow.engine.graph import back_edges, reach_through_loops, reached_from
from pflow.engine.plan import Plan, PlanNode
from tests.quick import examples

Graph = list[list[int]]


@st.composite
def graphs(draw: st.DrawFn) -> Graph:
    """Any graph: loops, loops in loops, edges to oneself, parts that nothing leads to."""
    count = draw(st.integers(1, 10))
    node = st.integers(0, count - 1)
    return [draw(st.lists(node, max_size=3, unique=True)) for _ in range(count)]


def plan_of(graph: Graph, starts: Sequence[int] = (0,)) -> Plan:
    """A plan whose nodes end with the number of the way that they take; `all` takes each of them."""
    params, _ = compile_value({})
    nodes = [
        PlanNode(
            id=f"n{number}",
            number=number,
            type="echo",
            params=params,
            definition="",
            node_hash="",
            edges={"all": tuple(targets)} | {str(way): (target,) for way, target in enumerate(targets)},
        )
        for number, targets in enumerate(graph)
    ]
    return Plan(nodes=tuple(nodes), starts=tuple(starts))


def reaches(graph: Graph, source: int, target: int, left_out: set[tuple[int, int]]) -> bool:
    """Whether one node leads to another over edges that close no loop."""
    return any(
        (source, step) not in left_out and (step == target or reaches(graph, step, target, left_out))
        for step in graph[source]
    )


def plainly_ready(graph: Graph, waiting: set[int], running: set[int]) -> list[int]:
    """The rule as it is written down."""
    back = back_edges(graph, [0])
    return sorted(
        node for node in waiting - running if not any(reaches(graph, live, node, back) for live in waiting | running)
    )


@settings(max_examples=examples(500), deadline=None)
@given(graphs(), st.data())
def test_the_counted_rule_is_the_written_one(graph: Graph, data: st.DataObject) -> None:
    plan = plan_of(graph)
    frontier = Frontier(plan, plan.starts)
    waiting, running = {0}, set[int]()
    for _ in range(data.draw(st.integers(1, 30))):
        if data.draw(st.booleans()):
            assert frontier.ready() == plainly_ready(graph, waiting, running)
        startable = plainly_ready(graph, waiting, running)
        choices = [("start", node) for node in startable] + [("end", node) for node in sorted(running)]
        if not choices:
            break
        what, node = data.draw(st.sampled_from(choices))
        if what == "start":
            frontier.start(node, f"n{node}")
            waiting.discard(node)
            running.add(node)
        else:
            action = data.draw(st.sampled_from(["nowhere", *plan.nodes[node].edges]))
            targets = plan.nodes[node].edges.get(action, ())
            frontier.end(node)
            frontier.reach(targets)
            running.discard(node)
            waiting |= set(targets)
    assert frontier.ready() == plainly_ready(graph, waiting, running)
    assert (set(frontier.waiting), set(frontier.running)) == (waiting, running)


@settings(max_examples=examples(300), deadline=None)
@given(graphs())
def test_what_can_run_after_each_node_is_found_through_loops(graph: Graph) -> None:
    masks = reach_through_loops(graph)
    for node, targets in enumerate(graph):
        assert {other for other in range(len(graph)) if masks[node] >> other & 1} == reached_from(graph, targets)
