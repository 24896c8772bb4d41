"""A plan as text and as Mermaid; `drawing.svg` draws it as a picture."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import orjson

from pflow.core.document.document import Input
from pflow.core.duration import show_duration
from pflow.core.printable import columns, escape, shorten
from pflow.drawing.layout import Link, links_of, order_rows, outgoing
from pflow.engine.plan import Plan, PlanNode

_MAX_LANES = 12
"""More lines side by side than this are harder to follow than names."""

_ASCII = str.maketrans(
    {"●": "*", "│": "|", "├": "|", "─": "-", "╮": "\\", "╯": "/", "┬": "+", "┴": "+", "┼": "+", "┤": "|"}
    | {"↺": "^", "→": ">", "·": "-", "…": "~", "×": "x"}
)


_MERMAID = str.maketrans({"&": "&amp;", '"': "&quot;", "<": "&lt;", ">": "&gt;", "#": "&num;", "`": "&#96;"})


def draw_text(plan: Plan, *, ascii_only: bool = False) -> str:
    """The graph from top to bottom with everything that decides how it runs."""
    plan = plan.drawn
    links = links_of(plan)
    graph = "\n".join(_graph(plan, links))
    blocks = [_head(plan), _inputs(plan), _state(plan), *_limit(plan), _asks(plan), graph, _outputs(plan)]
    text = "\n\n".join(block for block in blocks if block)
    return text.translate(_ASCII) if ascii_only else text


def draw_mermaid(plan: Plan) -> str:
    """The graph as a Mermaid flowchart."""
    plan = plan.drawn
    lines = ["flowchart TD"]
    for node in plan.nodes:
        about = about_node(plan, node)
        label = f"<b>{_mermaid(node.id)}</b>" + ("<br/>" + _mermaid(" · ".join(about)) if about else "")
        shape = ("[[", "]]") if node.batch or node.child else ("(", ")")
        lines.append(f'    n{node.number}{shape[0]}"{label}"{shape[1]}')
    for section in plan.sections:
        members = [f"n{node.number}" for node in plan.nodes if plan.section_of(node.number) == section]
        lines.append(f'    subgraph {section}_section ["{section}"]\n        {"; ".join(members)}\n    end')
    if plan.inputs:
        lines += [f"    inputs --> n{start}" for start in plan.starts]
        lines.append(f'    inputs>"{", ".join(map(_mermaid, plan.inputs))}"]')
    for link in links_of(plan):
        arrow = "-.->" if link.is_error else "-->"
        label = f'|"{_mermaid(link.label)}"|' if link.label else ""
        lines.append(f"    n{link.source} {arrow}{label} n{link.target}")
    return "\n".join(lines) + "\n"


def about_node(plan: Plan, node: PlanNode) -> list[str]:
    """A node's type, where its id does not say it already, and what is special about how it runs."""
    return ([node.type] if node.type != node.id else []) + marks_of(plan, node)


def marks_of(plan: Plan, node: PlanNode) -> list[str]:
    """What is special about how a node runs."""
    found = [f"missing: {escape(node.missing)}"] if node.missing else []
    found += [f"begins {section}" for section, first in plan.sections.items() if first == node.number]
    when = _written(plan, node).get("when")
    if isinstance(when, str | bool):
        found.append(f"when {shorten(when, 60)}" if isinstance(when, str) else f"when {str(when).lower()}")
    found += _waiting(plan, node)
    if node.batch is not None:
        found.append(f"for each {escape(node.batch.name)} in {_items(plan, node)}{_where(plan, node)}")
        if node.batch.concurrency > 1:
            found.append(f"{node.batch.concurrency} at a time")
        if node.batch.keep_going:
            found.append("goes on after failures")
    if node.retry is not None and node.retry.attempts > 1:
        until = f" until {shorten(node.retry.until, 60)}" if node.retry.until else ""
        found.append(f"up to {node.retry.attempts} attempts{until}")
    if node.timeout is not None:
        found.append(f"at most {node.timeout:g} s")
    if node.limit is not None:
        found.append(f"at most {node.limit.text}")
    repeatable = _written(plan, node).get("repeatable")
    if isinstance(repeatable, bool):
        found.append("repeatable" if repeatable else "not repeatable")
    if node.child is not None:
        count = len(node.child.nodes)
        inside = f"{count} node{'s' * (count != 1)}"
        found.append(f"{escape(node.child.name)}: {inside}" if node.child.name else inside)
    return found


def _waiting(plan: Plan, node: PlanNode) -> list[str]:
    if not node.may_wait and node.approve is None:
        return []
    from pflow.drawing.waiting import waiting_marks  # lazy: many workflows never wait

    params = _written(plan, node).get("params")
    return waiting_marks(node, params if isinstance(params, Mapping) else {})


def describe_input(declared: Input) -> str:
    """An input's type and whether it must be given."""
    if declared.has_default and declared.default is not None:
        default = "…" if declared.secret else shorten(orjson.dumps(declared.default, default=str).decode(), 40)
        about = f"{declared.type} = {default}"
    else:
        needed = declared.required and not declared.has_default
        about = f"{declared.type}, required" if needed else f"{declared.type}, optional"
    return f"{about}, secret" if declared.secret else about


def raw_document(plan: Plan) -> Mapping[str, object]:
    """The document that a plan was made from."""
    inner = plan.raw.get("document")
    return inner if isinstance(inner, Mapping) else plan.raw


def _written(plan: Plan, node: PlanNode) -> Mapping[str, object]:
    """The node as its document has it."""
    nodes = raw_document(plan).get("nodes")
    written = nodes[node.number] if isinstance(nodes, list) and node.number < len(nodes) else None
    return written if isinstance(written, Mapping) else {}


def _items(plan: Plan, node: PlanNode) -> str:
    batch = _written(plan, node).get("batch")
    items = batch.get("items") if isinstance(batch, Mapping) else None
    return shorten(items, 40) if isinstance(items, str) else "a list"


def _where(plan: Plan, node: PlanNode) -> str:
    batch = _written(plan, node).get("batch")
    where = batch.get("where") if isinstance(batch, Mapping) else None
    return f" where {shorten(where, 60)}" if isinstance(where, str) and where else ""


def _head(plan: Plan) -> str:
    description = escape(str(raw_document(plan).get("description") or ""))
    return ": ".join(part for part in (escape(plan.name), description) if part)


def _inputs(plan: Plan) -> str:
    rows = [
        (escape(name), describe_input(declared), escape(declared.description)) for name, declared in plan.inputs.items()
    ]
    return "\n".join(["inputs", *columns(rows, widest=40)]) if rows else ""


def _state(plan: Plan) -> str:
    """What it keeps between runs, and how values are merged."""
    rows = []
    for name, key in plan.state.items():
        default = "" if key.default is None else f" = {shorten(orjson.dumps(key.default).decode(), 40)}"
        merged = ", ".join(part for part in (key.merge, "with its step" if key.commit == "step" else "") if part)
        rows.append((escape(name), f"{key.type}{default}", merged, escape(key.description)))
    return "\n".join([f"state, kept as {escape(plan.state_scope)}", *columns(rows, widest=40)]) if rows else ""


def _limit(plan: Plan) -> list[str]:
    found = [f"timeout {show_duration(plan.timeout)}"] if plan.timeout is not None else []
    if plan.budget is not None:
        usd, tokens = plan.budget.usd, plan.budget.tokens
        parts = [f"${usd:g}"] if usd is not None else []
        parts += [f"{tokens:,} tokens"] if tokens is not None else []
        found.append(f"budget {' and '.join(parts)}")
    return found


def _asks(plan: Plan) -> str:
    """That the workflow asks somebody, and where."""
    if not plan.may_wait:
        return ""
    from pflow.drawing.waiting import asking_steps  # lazy: many workflows ask nobody

    steps = list(asking_steps(plan))
    return f"asks people: {shorten(', '.join(steps), 200)}" if steps else ""


def _outputs(plan: Plan) -> str:
    declared = raw_document(plan).get("outputs")
    rows = []
    for name in plan.outputs:
        facts = declared.get(name) if isinstance(declared, Mapping) else None
        facts = facts if isinstance(facts, Mapping) else {"source": facts or f"${{{name}}}"}
        source = facts.get("source") or f"${{{name}}}"
        shown = source if isinstance(source, str) else orjson.dumps(source, default=str).decode()
        about = escape(str(facts.get("description") or ""))
        rows.append((escape(name), str(facts.get("type") or ""), shorten(shown), about))
    return "\n".join(["outputs", *columns(rows, widest=40)]) if rows else ""


def _graph(plan: Plan, links: Sequence[Link]) -> list[str]:
    lanes = _Lanes(plan, links)
    if lanes.width > _MAX_LANES:
        return _as_list(plan, links)
    labels = _labels(plan)
    width = lanes.width * 2 + 1
    return [
        (f"{drawn.ljust(width)} {labels[label] if isinstance(label, int) else label}").rstrip()
        for drawn, label in lanes.rows
    ]


def _as_list(plan: Plan, links: Sequence[Link]) -> list[str]:
    labels = _labels(plan)
    after = outgoing(plan, links)
    lines = []
    for node in order_rows(plan, links):
        lines.append(f"● {labels[node]}")
        plain = [link for link in after[node] if not link.label and not link.back]
        if plain:
            lines[-1] += "  → " + ", ".join(escape(plan.nodes[link.target].id) for link in plain)
        lines += [f"    {_towards(plan, link)}" for link in after[node] if link.label or link.back]
    return lines


def _labels(plan: Plan) -> list[str]:
    rows = [
        (escape(node.id), escape(node.type) if node.type != node.id else "", " · ".join(marks_of(plan, node)))
        for node in plan.nodes
    ]
    return columns(rows, indent="", widest=32) if rows else []


def _towards(plan: Plan, link: Link) -> str:
    target = escape(plan.nodes[link.target].id)
    if link.back:
        return f"↺ {escape(link.label)}: back to {target}" if link.label else f"↺ back to {target}"
    return f"{escape(link.label) or 'then'} → {target}"


class _Lanes:
    """Rows of lines, as in the graph of a version history: each lane leads to the next node in it."""

    def __init__(self, plan: Plan, links: Sequence[Link]) -> None:
        self._plan = plan
        self._lanes: list[int | None] = []
        self.rows: list[tuple[str, int | str]] = []
        self.width = 0
        after = outgoing(plan, links)
        for node in order_rows(plan, links):
            self._node(node, after[node])
            if self.width > _MAX_LANES:
                return

    def _node(self, node: int, links: Sequence[Link]) -> None:
        columns = [index for index, target in enumerate(self._lanes) if target == node]
        column = columns[0] if columns else self._free(0, node)
        if not columns and self.rows and self.rows[-1][0][column * 2 :].startswith("●"):
            self._row({column: " "}, "")  # a node that starts by itself must not look like the next in line
        if len(columns) > 1:
            self._connect(column, columns[1:], "╯", "┴", "")
            for index in columns[1:]:
                self._lanes[index] = None
        self._row({column: "●"}, node)
        forward = [link for link in links if not link.back]
        self._lanes[column] = forward[0].target if forward else None
        if forward and forward[0].label:
            self._row({}, _towards(self._plan, forward[0]))
        self._fork(column, forward[1:])
        for link in links:
            if link.back:
                self._row({}, _towards(self._plan, link))
        while self._lanes and self._lanes[-1] is None:
            self._lanes.pop()

    def _fork(self, column: int, links: Sequence[Link]) -> None:
        opened = []
        for link in links:
            if self.width > _MAX_LANES:
                return
            shared = [lane for lane, target in enumerate(self._lanes) if target == link.target and lane != column]
            label = _towards(self._plan, link) if link.label else ""
            if shared:
                first, last = sorted((column, shared[0]))
                self._connect(first, [last], "┤", "┬", label)
            elif label:
                self._connect(column, [self._free(column + 1, link.target)], "╮", "┬", label)
            else:
                opened.append(link.target)
                self.width = max(self.width, len(opened))
        if opened:
            self._connect(column, [self._free(column + 1, target) for target in opened], "╮", "┬", "")

    def _free(self, start: int, target: int) -> int:
        for index in range(start, len(self._lanes)):
            if self._lanes[index] is None:
                self._lanes[index] = target
                return index
        self._lanes.append(target)
        self.width = max(self.width, len(self._lanes))
        return len(self._lanes) - 1

    def _row(self, marks: Mapping[int, str], label: int | str) -> None:
        cells = [marks.get(index) or (" " if target is None else "│") for index, target in enumerate(self._lanes)]
        self.rows.append((" ".join(cells), label))

    def _connect(self, column: int, others: Sequence[int], corner: str, middle: str, label: str) -> None:
        """A line from one lane to lanes on its right, across those in between."""
        cells: list[str] = []
        end = max(others)
        for index, target in enumerate(self._lanes):
            if index == column:
                mark = "├"
            elif index == end:
                mark = corner
            elif index in others:
                mark = middle
            elif column < index < end:
                mark = "─" if target is None else "┼"
            else:
                mark = " " if target is None else "│"
            cells += [mark, "─" if column <= index < end else " "]
        self.rows.append(("".join(cells).rstrip(), label))


def _mermaid(text: str) -> str:
    return shorten(text, 80).translate(_MERMAID)
