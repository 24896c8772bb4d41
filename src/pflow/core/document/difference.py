"""How two documents differ in meaning: nodes, params, edges, inputs, whatever order and layout they have."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from pflow.core.document.document import Document, Edge
from pflow.core.document.order import follow_order
from pflow.core.document.position import Path, show_path
from pflow.core.frozen import Frozen


class Change(Frozen):
    """One difference. `path` begins with the section of the document, and names nodes by their ids.

    What was added has no `before`, what was removed no `after`.
    """

    path: Path
    before: object = None
    after: object = None
    kind: str = "changed"

    def as_dict(self) -> dict[str, object]:
        """The change as JSON."""
        values = {"before": self.before, "after": self.after}
        left_out = {"added": "before", "removed": "after"}.get(self.kind)
        shown = {name: value for name, value in values.items() if name != left_out}
        return {"change": self.kind, "path": show_path(self.path), **shown}


def compare_documents(before: Document, after: Document) -> list[Change]:
    """Everything that differs, section by section."""
    return list(_compare((), _by_name(before), _by_name(after)))


def _by_name(document: Document) -> dict[str, object]:
    """The document with its nodes by id and its edges by what they connect, so that order does not matter."""
    raw = dict(document.raw)
    nodes = raw.get("nodes")
    entries = [node for node in nodes if isinstance(node, Mapping)] if isinstance(nodes, Sequence) else []
    hidden = ("id",) if document.mode == "data" else ("id", "on")  # what `on` says is among the edges
    raw["nodes"] = {
        str(node["id"]): {"type": spec.type, **{name: value for name, value in node.items() if name not in hidden}}
        for node, spec in zip(entries, document.nodes, strict=False)
    }
    if document.mode != "data":
        ids = [spec.id for spec in document.nodes]
        added = follow_order(ids, document.edges, {}, sections=document.sections.values()).added
        edges = (*document.edges, *(added if document.mode == "order" else ()))
        raw["edges"] = {_show_edge(edge): None for edge in edges}
        raw["start_node"] = document.start_node
    return raw


def _show_edge(edge: Edge) -> str:
    arrow = "→" if edge.action == "default" else f"-{edge.action}→"
    condition = f" when {edge.when}" if edge.when else ""
    return f"{edge.source} {arrow} {edge.target or 'end'}{condition}"


def _compare(path: Path, before: object, after: object) -> Iterator[Change]:
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        for name in {**before, **after}:
            here = (*path, str(name))
            if name not in after:
                yield Change(path=here, before=before[name], kind="removed")
            elif name not in before:
                yield Change(path=here, after=after[name], kind="added")
            else:
                yield from _compare(here, before[name], after[name])
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for index, (old, new) in enumerate(zip(before, after, strict=True)):
            yield from _compare((*path, index), old, new)
    elif type(before) is not type(after) or before != after:
        yield Change(path=path, before=before, after=after)
