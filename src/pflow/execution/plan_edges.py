"""From a document's edges, its order, or what its templates name, to the edges and starting nodes of a plan."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from pflow.core.document.document import END, Document, Edge
from pflow.core.document.order import Unclear, follow_order
from pflow.core.printable import shorten
from pflow.engine.graph import back_edges
from pflow.execution.node_check import CheckedNode, Report
from pflow.execution.section.membership import Links, keep_apart, section_roots


def plan_edges(document: Document, nodes: Sequence[CheckedNode], report: Report) -> list[int]:
    """Give each node its edges; where the plan begins."""
    ids = {spec.id: index for index, spec in enumerate(document.nodes)}
    for edge in document.edges:
        if edge.target in ("next", "end"):
            message = f"`{edge.target}` is the node of that id here, not the word for what follows"
            report("reserved-word", message, edge.path, hint="give the node another id", severity="warning")
    if document.mode == "data":
        if document.start_node is not None:
            report("start-node", "`start_node` does not apply where the templates give the order", ("start_node",))
        return _data_edges(document, ids, nodes, report)
    _lead(document.edges, ids, nodes)
    _check_conditions(document, report)
    start = ids.get(document.start_node or "", 0)
    if document.mode == "order":
        _add_order(document, ids, nodes, report)
        _check_reach(document, nodes, start, report)
    return [start]


def _lead(edges: Iterable[Edge], ids: Mapping[str, int], nodes: Sequence[CheckedNode]) -> None:
    led: dict[tuple[str, str], list[int]] = {}
    for edge in edges:
        target = None if edge.target == END else ids[edge.target]
        led.setdefault((edge.source, edge.action), []).extend(() if target is None else (target,))
        if edge.when:
            nodes[ids[edge.source]].choose(edge.action, edge.when, target, edge.path)
    for (source, action), targets in led.items():
        nodes[ids[source]].lead(action, targets)


def _check_conditions(document: Document, report: Report) -> None:
    """Of the edges for one action all have a condition, tried in order, with at most one `else`, or none has."""
    groups: dict[tuple[str, str], list[Edge]] = {}
    for edge in document.edges:
        groups.setdefault((edge.source, edge.action), []).append(edge)
    for (source, action), edges in groups.items():
        conditions = [edge.when for edge in edges]
        where = "" if action == "default" else f" for `{shorten(action)}`"
        if any(conditions) and not all(conditions):
            message = f"of the edges of `{source}`{where}, some have `when` and some have not"
            plain = next(edge for edge in edges if not edge.when)
            hint = f"write `when: else` here, or put `when` on the node `{plain.target or 'that they lead to'}`"
            report("mixed-edges", message, plain.path, hint=hint)
        elif "else" in conditions[:-1]:
            message = f"`else` of the edges of `{source}`{where} must be the last, and there can be only one"
            report("mixed-edges", message, edges[conditions.index("else")].path, hint="move it to the end")
        elif conditions == ["else"]:
            message = f"`else` of the edges of `{source}`{where} stands alone"
            report("mixed-edges", message, edges[0].path, hint="leave out `when`, or add the condition before it")


def _add_order(document: Document, ids: Mapping[str, int], nodes: Sequence[CheckedNode], report: Report) -> None:
    choices = {node.spec.id: node.choices for node in nodes if node.choices}
    closed = {node.spec.id for node in nodes if node.is_closed and not node.spec.when}
    order = follow_order(ids, document.edges, choices, closed, document.sections.values())
    _lead(order.added, ids, nodes)
    for edge in order.added:
        nodes[ids[edge.source]].implied.append(edge.action)
    for unclear in order.unclear:
        _report_unclear(unclear, ids[unclear.node], report)


def _report_unclear(unclear: Unclear, index: int, report: Report) -> None:
    name, following, edge = unclear.node, unclear.following, unclear.edge
    told = f"`{edge.source}` names `{following}`, and `{name}` stands before it"
    if edge.source == name:
        told = f"it names `{following}` for `{shorten(edge.action)}`, and stands before it"
    report(
        "unclear-order",
        f"does `{name}` lead on to `{following}`? {told}",
        ("nodes", index),
        hint=f"on `{name}` write `on: {{default: {following}}}`, or `default: end`, or where its way joins again",
    )


def _check_reach(document: Document, nodes: Sequence[CheckedNode], start: int, report: Report) -> None:
    """Report nodes that no way leads to."""
    reached = {start, *section_roots(document).values()}
    waiting = list(reached)
    while waiting:
        for target in nodes[waiting.pop()].targets():
            if target not in reached:
                reached.add(target)
                waiting.append(target)
    begin = nodes[start].spec.id
    for node in nodes:
        if node.index not in reached:
            message = f"nothing leads to the node `{node.spec.id}` from the start, `{begin}`"
            hint = "name it in `on` of a node before it, or remove it"
            if document.sections:
                hint = "put the nodes of `on_failure` and `finally` at the end of `nodes`, or name it in `on`"
            report("unreachable", message, ("nodes", node.index, "id"), hint=hint)


def _data_edges(document: Document, ids: Mapping[str, int], nodes: Sequence[CheckedNode], report: Report) -> list[int]:
    """Edges from each node to those whose templates name it, and those that are written beside."""
    named: Links = [(ids[root], node.index) for node in nodes for root in _roots(node) if root in ids]
    if document.sections:
        written = [(ids[edge.source], ids[edge.target]) for edge in document.edges if edge.target != END]
        named = keep_apart(document, named, written)
    readers: list[list[int]] = [[] for _ in nodes]
    for source, target in named:
        if source != target:
            readers[source].append(target)
    for node, targets in zip(nodes, readers, strict=True):
        if targets:
            node.lead("default", targets)
    for edge in document.edges:
        if edge.when:
            message = "with `edges: data`, an edge cannot have `when`"
            report("data-route", message, edge.path, hint=f"put it on the node `{edge.target or edge.source}`")
    kept = (edge for edge in document.edges if edge.path[0] == "edges" and edge.action == "default" and not edge.when)
    _lead(kept, ids, nodes)
    for edge in document.edges:
        _route(edge, nodes[ids[edge.source]], report)
    for node in nodes:
        for choice in node.choices:
            node.edges.setdefault(choice, node.edges.get("default", ()))
    has_source = {target for node in nodes for target in node.targets()} | set(section_roots(document).values())
    starts = [index for index in range(len(nodes)) if index not in has_source]
    successors = [node.edges.get("default", ()) for node in nodes]
    if nodes and (not starts or back_edges(successors, range(len(nodes)))):
        message = "the templates of these nodes need each other; no order satisfies them"
        report("data-cycle", message, ("edges",))
    return starts or [0]


def _roots(node: CheckedNode) -> dict[str, None]:
    """What the templates and conditions of a node name, each once."""
    compiled = [*node.params.values(), *node.conditions(), *([node.batch.items] if node.batch else [])]
    compiled += [node.approve.prompt] if node.approve and node.approve.prompt else []
    return dict.fromkeys(reference.root for one in compiled for reference in one.references)


def _route(edge: Edge, node: CheckedNode, report: Report) -> None:
    """What an action other than `default` leads to where templates give the order: what follows anyway, or nothing."""
    if edge.path[0] == "edges" and edge.action == "default":
        return
    if edge.target != END and not edge.is_next:
        report(
            "data-route",
            f"with `edges: data`, `on` can say `next` or `end`, not `{edge.target}`",
            edge.path,
            hint="write `edges` for a way of its own",
        )
    elif edge.is_next:
        node.edges[edge.action] = node.edges.get("default", ())
    elif node.fails_with(edge.action):
        node.edges.setdefault(edge.action, ())
    else:
        message = f"with `edges: data`, what names `{node.spec.id}` runs after it: its way cannot end there"
        report("data-route", message, edge.path, hint="`end` is for failures here: `on: {error: end}`")
