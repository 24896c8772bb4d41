"""Builds a document from a plain value and reports what is wrong with its form, not with its meaning."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

from pflow.core.document.document import (
    IR_VERSION,
    Approval,
    Batch,
    Budget,
    Document,
    Input,
    MaxFailed,
    NodeSpec,
    Requirements,
    Retry,
    StateKey,
)
from pflow.core.document.edges import read_condition, read_flow, read_mappings, read_sections
from pflow.core.document.fields import Fields, check_name, is_name, wrong_type
from pflow.core.document.inputs_outputs import read_inputs, read_outputs
from pflow.core.document.position import Issues, Path, show_path
from pflow.core.printable import shorten
from pflow.core.rate import FORM, Rate, read_rate

MAX_NODES = 10_000
"""Nodes of a document."""

_DOCUMENT = dict.fromkeys(
    (
        *("ir_version", "name", "description", "metadata", "requires", "inputs", "outputs", "nodes", "edges"),
        *("state", "start_node", "on_failure", "finally", "timeout", "budget", "mappings"),
    )
)
_NODE = dict.fromkeys(
    (
        "id",
        "type",
        "params",
        "when",
        "on",
        "batch",
        "retry",
        "timeout",
        "limit",
        "repeatable",
        "approve",
        "max_visits",
        "description",
        "version",
        "mcp_metadata",
    )
)
_BATCH = dict.fromkeys(("items", "as", "where", "concurrency", "on_error", "max_failed", "spread"))
_RETRY = dict.fromkeys(("attempts", "wait", "backoff", "until"))
_YES = ("yes", "true", "on", "required")
"""What is often written for `approve: true`."""
_APPROVE = dict.fromkeys(("prompt", "timeout"))
_BUDGET = dict.fromkeys(("usd", "tokens"))
_MCP = dict.fromkeys(("server_id", "tool_name", "version"))

_YEAR_SECONDS = 31_536_000
_MOST_USD = 1_000_000
_MOST_TOKENS = 1_000_000_000_000
_MOST_POLLS = 10_000
"""Attempts until a condition holds: a look every ten seconds for a day."""


def build_document(value: object, issues: Issues) -> Document | None:
    """The document in `value`, also with issues where possible, so that its meaning can be checked as well.

    It is None when `nodes` is empty or holds something that cannot be a node.
    """
    if not isinstance(value, dict):
        hint = "put the nodes under `nodes`" if isinstance(value, list) else 'write {"nodes": [{"id": "…"}]}'
        wrong_type(issues, (), "an object", value, hint)
        return None
    top = Fields(issues, value, (), _DOCUMENT, what="the document", required=("nodes",))
    _check_version(top)
    nodes, ids = _read_nodes(top)
    inputs = read_inputs(top)
    outputs = read_outputs(top)
    _check_clashes(issues, nodes, ids, inputs)
    state, scope = _read_state(top, (*ids, *inputs))
    name, description, metadata = top.text("name"), top.text("description"), top.mapping("metadata")
    requires = _read_requires(top)
    if not nodes:
        return None
    sections = read_sections(top, ids)
    mode, edges, start = read_flow(top, ids, sections)
    mappings = read_mappings(top, ids)
    if None in nodes:
        return None
    raw: dict[str, object] = value
    if raw.get("ir_version") is None:
        raw = {"ir_version": IR_VERSION} | {key: item for key, item in raw.items() if key != "ir_version"}
    return Document(
        nodes=tuple(node for node in nodes if node is not None),
        edges=edges,
        mode=mode,
        name=name,
        description=description,
        metadata=metadata,
        inputs=inputs,
        outputs=outputs,
        state=state,
        state_scope=scope,
        start_node=start,
        sections=sections,
        timeout=top.duration("timeout", _YEAR_SECONDS),
        budget=_read_budget(top),
        mappings=mappings,
        requires=requires,
        raw=raw,
    )


def _read_budget(top: Fields) -> Budget | None:
    value = top.values.get("budget")
    if value is None:
        return None
    if not isinstance(value, dict):
        hint = f"write budget: {{usd: {value}}}" if isinstance(value, int | float) else ""
        wrong_type(top.issues, ("budget",), "an object", value, hint)
        return None
    budget = Fields(top.issues, value, ("budget",), _BUDGET, what="`budget`")
    read = Budget(
        usd=budget.number("usd", None, 0, _MOST_USD, above=True), tokens=budget.integer("tokens", None, 1, _MOST_TOKENS)
    )
    if not any(value.get(name) is not None for name in _BUDGET):
        hint = "write budget: {usd: 0.5}, or {tokens: 200000}, or both"
        top.issues.add("missing-field", "`budget` says neither `usd` nor `tokens`", ("budget",), hint=hint)
    return read


def _read_requires(top: Fields) -> Requirements | None:
    if top.values.get("requires") is None:
        return None
    from pflow.core.document.requirement import read_requires  # lazy: few documents require anything

    return read_requires(top)


def _read_state(top: Fields, names: Collection[str]) -> tuple[Mapping[str, StateKey], str]:
    if top.values.get("state") is None:
        return {}, ""
    from pflow.core.document.state_key import read_state  # lazy: few documents keep anything

    return read_state(top, names)


def _check_version(top: Fields) -> None:
    version = top.text("ir_version", IR_VERSION)
    if version == IR_VERSION:
        return
    parts, ours = version.split("."), [int(part) for part in IR_VERSION.split(".")]
    if all(part.isascii() and part.isdigit() and len(part) < 10 for part in parts):
        newer = [int(part) for part in parts] > ours
        message = f"ir_version `{shorten(version)}` is {'newer' if newer else 'older'} than this pflow reads"
        hint = "update pflow" if newer else f"check whether the document is valid as `{IR_VERSION}`"
    else:
        message = f"ir_version `{shorten(version)}` is not a valid version"
        hint = f'write "{IR_VERSION}", or leave the field out'
    top.issues.add("unsupported-version", message, ("ir_version",), known=(IR_VERSION,), hint=hint)


def _read_nodes(top: Fields) -> tuple[list[NodeSpec | None], dict[str, int]]:
    """The nodes, each at the index where it stands, and the first index of each id."""
    issues = top.issues
    nodes: list[NodeSpec | None] = []
    ids: dict[str, int] = {}
    items = top.values.get("nodes")
    if items is None:
        return nodes, ids
    if not isinstance(items, list):
        hint = "write `nodes` as an array of objects, each with an `id`" if isinstance(items, dict) else ""
        wrong_type(issues, ("nodes",), "an array", items, hint)
    elif not items:
        issues.add("no-nodes", "the document has no nodes", ("nodes",), hint='add at least {"id": "…"}')
    elif len(items) > MAX_NODES:
        message = f"the document has {len(items):,} nodes; at most {MAX_NODES:,} are allowed"
        issues.add("too-many", message, ("nodes",), hint="use `batch` for many items of one kind")
    else:
        for index, item in enumerate(items):
            node = _read_node(issues, item, ("nodes", index))
            nodes.append(node)
            if node is None or node.id == f"nodes[{index}]":
                continue
            if node.id in ids:
                hint = f"nodes[{ids[node.id]}] has it as well; give each node an id of its own"
                message = f"two nodes have the id `{shorten(node.id)}`"
                issues.add("duplicate-id", message, ("nodes", index, "id"), hint=hint)
            else:
                ids[node.id] = index
    return nodes, ids


def _read_node(issues: Issues, value: object, path: Path) -> NodeSpec | None:
    if not isinstance(value, dict):
        hint = f'write {{"id": "{value}"}}' if isinstance(value, str) and is_name(value) else ""
        wrong_type(issues, path, "an object", value, hint)
        return None
    node = Fields(issues, value, path, _NODE, what="a node", required=("id",))
    name = node.text("id")
    named = isinstance(node.values.get("id"), str)
    if named:
        check_name(issues, name, (*path, "id"), "the id of a node")
    else:
        name = show_path(path)
    kind = node.word("type", name)
    node.text("version")
    server, tool = _read_mcp(node, kind)
    spec = NodeSpec(
        id=name,
        type=kind,
        params=node.mapping("params"),
        when=_read_when(node),
        batch=_read_batch(node),
        retry=_read_retry(node),
        timeout=node.duration("timeout", _YEAR_SECONDS),
        limit=_read_limit(node),
        repeatable=node.flag("repeatable", None),
        approve=_read_approve(node),
        max_visits=node.integer("max_visits", None, 1, 1_000_000),
        description=node.text("description"),
        mcp_server=server,
        mcp_tool=tool,
    )
    return spec if named or kind != name else None


def _read_when(node: Fields) -> str:
    """The condition of a node."""
    if node.values.get("when") == "else":
        hint = "`else` is for edges; a node runs unless its `when` is false"
        node.issues.add("bad-choice", "`when` of a node is a condition, not `else`", (*node.path, "when"), hint=hint)
        return ""
    return read_condition(node)


def _read_mcp(node: Fields, kind: str) -> tuple[str | None, str | None]:
    value = node.mapping("mcp_metadata")
    if not value:
        if kind == "mcp_wrapper" and node.values.get("mcp_metadata") in (None, {}):
            hint = 'add "mcp_metadata": {"server_id": "…", "tool_name": "…"}'
            message = "a node of type `mcp_wrapper` has no `mcp_metadata`"
            node.issues.add("missing-field", message, node.path, hint=hint)
        return None, None
    path: Path = (*node.path, "mcp_metadata")
    if kind != "mcp_wrapper":
        message = f"`mcp_metadata` belongs to nodes of type `mcp_wrapper`, not `{shorten(kind)}`"
        node.issues.add("unexpected-field", message, path, key=True, hint='set "type": "mcp_wrapper"')
    required = ("server_id", "tool_name")
    fields = Fields(node.issues, value, path, _MCP, what="`mcp_metadata`", required=required)
    fields.text("version")
    return fields.word("server_id") or None, fields.word("tool_name") or None


def _read_batch(node: Fields) -> Batch | None:
    value = node.mapping("batch")
    if not isinstance(node.values.get("batch"), dict):
        return None
    path: Path = (*node.path, "batch")
    batch = Fields(node.issues, value, path, _BATCH, what="`batch`", required=("items",))
    items = batch.values.get("items")
    if items is not None and not isinstance(items, list) and not (isinstance(items, str) and "${" in items):
        wrong_type(node.issues, (*path, "items"), "a template or an array", items, 'write "${node.output}"')
    name = batch.text("as", "item")
    check_name(node.issues, name, (*path, "as"), "the name of a batch item")
    return Batch(
        items=items,
        name=name,
        where=batch.text("where").strip(),
        concurrency=batch.integer("concurrency", 1, 1, 1000),
        on_error=batch.choice("on_error", ("stop", "continue"), "stop"),
        max_failed=_read_max_failed(batch),
        spread=batch.flag("spread", False),
    )


def _read_max_failed(batch: Fields) -> MaxFailed | None:
    value = batch.values.get("max_failed")
    if value is None:
        return None
    path: Path = (*batch.path, "max_failed")
    if batch.values.get("on_error") != "continue":
        message = "`max_failed` counts only with `on_error: continue`; with `stop`, the first failure ends the batch"
        batch.issues.add("unexpected-field", message, path, key=True, hint='add "on_error": "continue"')
    percent = re.fullmatch(r"([0-9]{1,3}(?:\.[0-9]{1,6})?) ?%", value) if isinstance(value, str) else None
    if percent and float(percent[1]) <= 100:
        return MaxFailed(number=float(percent[1]), is_percent=True)
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return MaxFailed(number=value)
    hint = 'write 5 for five items, or "10%" for a tenth of them'
    wrong_type(batch.issues, path, "a number of items or a percentage up to 100%", value, hint)
    return None


def _read_retry(node: Fields) -> Retry | None:
    value = node.values.get("retry")
    if value is None:
        return None
    if not isinstance(value, dict):
        hint = f'write {{"attempts": {value}}}' if isinstance(value, int) else ""
        wrong_type(node.issues, (*node.path, "retry"), "an object", value, hint)
        return None
    retry = Fields(node.issues, value, (*node.path, "retry"), _RETRY, what="`retry`")
    until = read_condition(retry, "until")
    read = Retry(
        attempts=retry.integer("attempts", 1, 1, _MOST_POLLS if until else 100),
        wait=retry.duration("wait", 86_400, or_zero=True) or 0.0,
        backoff=retry.number("backoff", 1.0, 1, 100),
        until=until,
    )
    if until and read.attempts == 1:
        hint = 'add "attempts", the number of times to look, and "wait", the time in between'
        node.issues.add("missing-field", "`until` needs more than one attempt", retry.path, hint=hint)
    return read


def _read_approve(node: Fields) -> Approval | None:
    value = node.values.get("approve")
    if value is None or value is False:
        return None
    if value is True:
        return Approval()
    if not isinstance(value, dict):
        hint = f"write approve: {{prompt: {value!r}}}" if isinstance(value, str) else ""
        if isinstance(value, str) and value.lower() in _YES:
            hint = "write `approve: true`"
        wrong_type(node.issues, (*node.path, "approve"), "true or an object", value, hint)
        return None
    approve = Fields(node.issues, value, (*node.path, "approve"), _APPROVE, what="`approve`")
    return Approval(prompt=approve.text("prompt"), timeout=approve.duration("timeout", _YEAR_SECONDS))


def _read_limit(node: Fields) -> Rate | None:
    value = node.values.get("limit")
    if value is None:
        return None
    path: Path = (*node.path, "limit")
    if not isinstance(value, str):
        wrong_type(node.issues, path, "a rate", value, f"write {FORM}")
        return None
    rate = read_rate(value)
    if isinstance(rate, Rate):
        return rate
    node.issues.add("bad-limit", f"`limit` {rate}, not `{shorten(value, 40)}`", path, hint=f"write {FORM}")
    return None


def _check_clashes(
    issues: Issues, nodes: list[NodeSpec | None], ids: Mapping[str, int], inputs: Mapping[str, Input]
) -> None:
    """Report names that stand for two things: `${name}` must have one meaning."""
    for name in inputs:
        if name in ids:
            message = f"`{shorten(name)}` is the name of an input and the id of a node"
            issues.add("name-clash", message, ("inputs", name), key=True, hint="rename one of them")
    for index, node in enumerate(nodes):
        if node is None or node.batch is None:
            continue
        name = node.batch.name
        if name in ids or name in inputs:
            what = "the id of a node" if name in ids else "the name of an input"
            message = f"the batch item `{shorten(name)}` of node `{shorten(node.id)}` is also {what}"
            where: Path = ("nodes", index, "batch", "as")
            issues.add("name-clash", message, where, hint="give the item another name with `as`")
