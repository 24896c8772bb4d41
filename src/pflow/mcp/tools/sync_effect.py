"""Which workflows a sync breaks, and at which node: read from the documents as they are written, before they run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from pflow.core.frozen import Frozen
from pflow.core.printable import shorten
from pflow.core.template.compiled import Reference
from pflow.core.template.template import references_of
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
        inner = _mapping(node.get("params")).get("workflow")
        for place, problem in _problems(plan, by_type, inner, depth + 1):
            yield f"{name}/{place}", problem
        change = _change(plan, by_type, node, name)
        if change is not None:
            if references is None:
                references = list(_references(document))
            for problem in _broken(change, node, name, document, references):
                yield name, problem


def _change(plan: SyncPlan, by_type: Mapping[str, ToolChange], node: Data, name: str) -> ToolChange | None:
    kind = node.get("type") or name
    if kind != WRAPPER:
        return by_type.get(kind) if isinstance(kind, str) else None
    metadata = _mapping(node.get("mcp_metadata"))
    return plan.by_tool.get(str(metadata.get("tool_name"))) if metadata.get("server_id") == plan.server else None


def _broken(change: ToolChange, node: Data, name: str, document: Data, references: list[Reference]) -> Iterator[str]:
    tool = shorten(change.tool)
    if change.is_gone:
        yield f"`{change.name}` is `{change.moved_to}` now" if change.moved_to else f"the tool `{tool}` is gone"
        return
    mapped = _mapping(_mapping(_mapping(document.get("mappings")).get(name)).get("input_mappings"))
    given = {*_mapping(node.get("params")), *mapped}
    for param in sorted(change.lost_params & given):
        yield f"gives `{shorten(param)}`, which the tool `{tool}` does not take any more"
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


def _references(document: Data) -> Iterator[Reference]:
    seen: set[str] = set()
    waiting: list[object] = [document]
    while waiting:
        value = waiting.pop()
        if isinstance(value, str):
            for reference in references_of(value) if "${" in value else ():
                if reference.text not in seen:
                    seen.add(reference.text)
                    yield reference
        elif isinstance(value, dict):
            waiting.extend(reversed(value.values()))
        elif isinstance(value, list):
            waiting.extend(reversed(value))


def _mapping(value: object) -> Data:
    return value if isinstance(value, dict) else {}
