"""Which workflows a sync breaks, and at which node: read from the documents as they are written, before they run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from pflow.core.frozen import Frozen
from pflow.core.json_type import object_in
from pflow.core.printable import shorten
from pflow.core.template.compiled import Reference
from pflow.core.template.template import compile_value
from pflow.mcp.tools.change import ToolChange
from pflow.mcp.tools.entry import WRAPPER
from pflow.mcp.tools.sync_plan import SyncPlan

Data = Mapping[str, object]

_DEEPEST = 8


class Touched(Frozen):
    """A node of a saved workflow that a change of its tool breaks."""

    workflow: str
    node: str
    problem: str


def touched(plan: SyncPlan, workflows: Iterable[tuple[str, Data]]) -> tuple[Touched, ...]:
    """What changed or removed tools mean for these workflows, one for each problem."""
    if not plan.changes and not plan.by_tool:
        return ()
    by_type = {change.name: change for change in plan.changes}
    return tuple(
        Touched(workflow=name, node=node, problem=problem)
        for name, document in workflows
        for node, problem in _problems(plan, by_type, document, 0)
    )


def _problems(
    plan: SyncPlan, by_type: Mapping[str, ToolChange], document: object, depth: int
) -> Iterator[tuple[str, str]]:
    nodes = document.get("nodes") if isinstance(document, dict) else None
    if not isinstance(document, dict) or not isinstance(nodes, list) or depth > _DEEPEST:
        return
    references: list[Reference] | None = None
    for node in nodes:
        if not isinstance(node, dict):
            continue
        name = str(node.get("id", ""))
        inner = object_in(node, "params").get("workflow")
        for place, problem in _problems(plan, by_type, inner, depth + 1):
            yield f"{name}/{place}", problem
        change = _change(plan, by_type, node, name)
        if change is not None:
            if references is None:
                found = compile_value(document)[0].references
                references = list({reference.text: reference for reference in found}.values())
            for problem in _broken(change, node, name, document, references):
                yield name, problem


def _change(plan: SyncPlan, by_type: Mapping[str, ToolChange], node: Data, name: str) -> ToolChange | None:
    kind = node.get("type") or name
    if kind != WRAPPER:
        return by_type.get(kind) if isinstance(kind, str) else None
    metadata = object_in(node, "mcp_metadata")
    return plan.by_tool.get(str(metadata.get("tool_name"))) if metadata.get("server_id") == plan.server else None


def _broken(change: ToolChange, node: Data, name: str, document: Data, references: list[Reference]) -> Iterator[str]:
    tool = shorten(change.tool)
    if change.is_gone:
        yield f"`{change.name}` is `{change.moved_to}` now" if change.moved_to else f"the tool `{tool}` is gone"
        return
    mapped = object_in(object_in(object_in(document, "mappings"), name), "input_mappings")
    given = {*object_in(node, "params"), *mapped}
    for param in sorted(change.lost_params & given):
        yield f"gives `{shorten(param)}`, which the tool `{tool}` no longer takes"
    for param in change.new_required:
        if param not in given:
            yield f"does not give `{shorten(param)}`, which the tool `{tool}` needs now"
    for reference in references:
        lost = _output(reference, is_batch=node.get("batch") is not None)
        if reference.root == name and lost in change.lost_outputs:
            yield f"`{shorten(reference.text)}` uses the output `{shorten(str(lost))}`, which is gone"


def _output(reference: Reference, *, is_batch: bool) -> str | int | None:
    """The output that a reference names, itself or within the whole result."""
    path = reference.path
    if is_batch:
        path = path[2:] if path[:1] == ("results",) else ()
    if path[:1] == ("result",) and len(path) > 1:
        path = path[1:]
    return path[0] if path else None
