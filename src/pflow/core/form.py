"""Builds a document from a plain value and reports what is wrong with its form, not with its meaning."""

from __future__ import annotations

from collections.abc import Mapping

from pflow.core.document import IR_VERSION, Batch, Document, Input, NodeSpec, Output, Retry
from pflow.core.fields import Fields, check_name, describe, is_name, wrong_type
from pflow.core.flow import read_flow, read_mappings
from pflow.core.place import Issues, Path
from pflow.core.render import shorten
from pflow.core.suggest import nearest

MAX_NODES = 10_000
"""Nodes of a document."""

TYPES: Mapping[str, str] = {
    "string": "string",
    "str": "string",
    "integer": "integer",
    "int": "integer",
    "number": "number",
    "float": "number",
    "boolean": "boolean",
    "bool": "boolean",
    "array": "array",
    "list": "array",
    "object": "object",
    "dict": "object",
    "any": "any",
}
"""Every way to write a type, and the one that the document's values use."""

_DOCUMENT = dict.fromkeys(
    (
        "ir_version",
        "name",
        "description",
        "metadata",
        "inputs",
        "outputs",
        "nodes",
        "edges",
        "start_node",
        "mappings",
    )
)
_NODE = dict.fromkeys(
    (
        "id",
        "type",
        "params",
        "batch",
        "retry",
        "timeout",
        "max_visits",
        "description",
        "version",
        "mcp_metadata",
    )
)
_INPUT = dict.fromkeys(("type", "required", "default", "description", "secret"))
_OUTPUT = dict.fromkeys(("type", "description", "source"))
_BATCH = dict.fromkeys(("items", "as", "concurrency", "on_error"))
_RETRY = dict.fromkeys(("attempts", "wait", "backoff"))
_MCP = dict.fromkeys(("server_id", "tool_name", "version"))

_YEAR = 31_536_000


def build_document(value: object, issues: Issues) -> Document | None:
    """The document in `value`, as far as it can be built; None without a single node."""
    if not isinstance(value, dict):
        hint = "put the nodes under `nodes`" if isinstance(value, list) else 'write {"nodes": [{"id": "…"}]}'
        wrong_type(issues, (), "an object", value, hint)
        return None
    top = Fields(issues, value, (), _DOCUMENT, what="the document", required=("nodes",))
    _check_version(top)
    nodes, ids = _read_nodes(top)
    inputs = _read_inputs(top)
    outputs = _read_outputs(top)
    _check_clashes(issues, nodes, ids, inputs)
    data_edges, edges, start = read_flow(top, ids)
    mappings = read_mappings(top, ids)
    name, description, metadata = top.text("name"), top.text("description"), top.mapping("metadata")
    if not nodes:
        return None
    raw: dict[str, object] = value
    if raw.get("ir_version") is None:
        raw = {"ir_version": IR_VERSION} | {key: item for key, item in raw.items() if key != "ir_version"}
    if not data_edges and not raw.get("edges"):
        raw = raw | {"edges": [{"from": edge.source, "to": edge.target} for edge in edges]}
    return Document(
        nodes=tuple(nodes),
        edges=edges,
        data_edges=data_edges,
        has_edges=not data_edges,
        name=name,
        description=description,
        metadata=metadata,
        inputs=inputs,
        outputs=outputs,
        start_node=start,
        mappings=mappings,
        raw=raw,
    )


def _check_version(top: Fields) -> None:
    version = top.text("ir_version", IR_VERSION)
    if version == IR_VERSION:
        return
    parts, ours = version.split("."), [int(part) for part in IR_VERSION.split(".")]
    if all(part.isascii() and part.isdigit() and len(part) < 10 for part in parts):
        newer = [int(part) for part in parts] > ours
        message = f"ir_version `{shorten(version)}` is {'newer' if newer else 'older'} than this pflow reads"
        hint = "update pflow" if newer else f"see whether the document holds as `{IR_VERSION}`"
    else:
        message = f"ir_version `{shorten(version)}` is not a version that exists"
        hint = f'write "{IR_VERSION}", or leave the field out'
    top.issues.add("unsupported-version", message, ("ir_version",), known=(IR_VERSION,), hint=hint)


def _read_nodes(top: Fields) -> tuple[list[NodeSpec], dict[str, int]]:
    """The nodes that have an id, and the index of each id where it stands first."""
    issues = top.issues
    nodes: list[NodeSpec] = []
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
            if node is None:
                continue
            if node.id in ids:
                issues.add(
                    "duplicate-id",
                    f"two nodes have the id `{shorten(node.id)}`",
                    ("nodes", index, "id"),
                    hint=f"nodes[{ids[node.id]}] has it as well; give each node an id of its own",
                )
                continue
            ids[node.id] = index
            nodes.append(node)
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
    kind = node.word("type", name)
    node.text("version")
    server, tool = _read_mcp(node, kind)
    spec = NodeSpec(
        id=name,
        type=kind,
        params=node.mapping("params"),
        batch=_read_batch(node),
        retry=_read_retry(node),
        timeout=node.number("timeout", None, 0, _YEAR, above=True),
        max_visits=node.integer("max_visits", None, 1, 1_000_000),
        description=node.text("description"),
        mcp_server=server,
        mcp_tool=tool,
    )
    return spec if named else None


def _read_mcp(node: Fields, kind: str) -> tuple[str | None, str | None]:
    value = node.mapping("mcp_metadata")
    if not value:
        if kind == "mcp_wrapper" and node.values.get("mcp_metadata") in (None, {}):
            node.issues.add(
                "missing-field",
                "a node of type `mcp_wrapper` has no `mcp_metadata`",
                node.path,
                hint='add "mcp_metadata": {"server_id": "…", "tool_name": "…"}',
            )
        return None, None
    path: Path = (*node.path, "mcp_metadata")
    if kind != "mcp_wrapper":
        node.issues.add(
            "unexpected-field",
            f"`mcp_metadata` belongs to nodes of type `mcp_wrapper`, not `{shorten(kind)}`",
            path,
            key=True,
            hint='set "type": "mcp_wrapper"',
        )
    required = ("server_id", "tool_name")
    fields = Fields(node.issues, value, path, _MCP, what="`mcp_metadata`", required=required)
    fields.text("version")
    return fields.word("server_id") or None, fields.word("tool_name") or None


def _read_batch(node: Fields) -> Batch | None:
    value = node.mapping("batch") if node.values.get("batch") is not None else None
    if value is None or not isinstance(node.values["batch"], dict):
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
        concurrency=batch.integer("concurrency", 1, 1, 1000),
        on_error=batch.choice("on_error", ("stop", "continue"), "stop"),
    )


def _read_retry(node: Fields) -> Retry | None:
    value = node.values.get("retry")
    if value is None:
        return None
    if not isinstance(value, dict):
        hint = f'write {{"attempts": {value}}}' if isinstance(value, int) else ""
        wrong_type(node.issues, (*node.path, "retry"), "an object", value, hint)
        return None
    retry = Fields(node.issues, value, (*node.path, "retry"), _RETRY, what="`retry`")
    return Retry(
        attempts=retry.integer("attempts", 1, 1, 100),
        wait=retry.number("wait", 0.0, 0, 86_400),
        backoff=retry.number("backoff", 1.0, 1, 100),
    )


def _read_type(fields: Fields) -> str:
    written = fields.text("type", "any")
    kind = TYPES.get(written)
    if kind is not None:
        return kind
    names = tuple(dict.fromkeys(TYPES.values()))
    meant = nearest(written, TYPES, limit=1)
    fields.issues.add(
        "unknown-type",
        f"there is no type `{shorten(written)}`",
        (*fields.path, "type"),
        known=names,
        hint=f"did you mean `{TYPES[meant[0]]}`?" if meant else "",
    )
    return "any"


def _read_inputs(top: Fields) -> dict[str, Input]:
    inputs: dict[str, Input] = {}
    for name, value in top.mapping("inputs").items():
        path: Path = ("inputs", name)
        check_name(top.issues, name, path, "the name of an input", key=True)
        if not isinstance(value, dict):
            known = isinstance(value, str) and value in TYPES
            wrong_type(top.issues, path, "an object", value, f'write {{"type": "{value}"}}' if known else "")
            inputs[name] = Input()
            continue
        fields = Fields(top.issues, value, path, _INPUT, what="an input")
        kind = _read_type(fields)
        default = value.get("default")
        # Null beside `required: true` says that there is no default; null alone makes the input optional.
        has_default = default is not None or ("default" in value and value.get("required") is not True)
        if default is not None and not fits(default, kind):
            top.issues.add(
                "bad-default",
                f"the default of `{shorten(name)}` must be {_ARTICLES[kind]}, not {describe(default)}",
                (*path, "default"),
                hint="change the default or the type",
            )
        inputs[name] = Input(
            type=kind,
            required=fields.flag("required", not has_default),
            default=default,
            has_default=has_default,
            description=fields.text("description"),
            secret=fields.flag("secret", False),
        )
    return inputs


def _read_outputs(top: Fields) -> dict[str, Output]:
    outputs: dict[str, Output] = {}
    for name, value in top.mapping("outputs").items():
        path: Path = ("outputs", name)
        if not name or name.startswith("__"):
            message = f"`{shorten(name)}` is reserved: names that begin with `__` belong to pflow"
            top.issues.add("reserved-name", message if name else "an output has no name", path, key=True)
        if not isinstance(value, dict):
            template = isinstance(value, str) and "${" in value
            hint = f'write {{"source": "{shorten(str(value))}"}}' if template else ""
            wrong_type(top.issues, path, "an object", value, hint)
            outputs[name] = Output()
            continue
        fields = Fields(top.issues, value, path, _OUTPUT, what="an output")
        outputs[name] = Output(
            type=_read_type(fields), description=fields.text("description"), source=value.get("source")
        )
    return outputs


def fits(value: object, kind: str) -> bool:
    """Whether a JSON value is of one of the document's types."""
    if kind in ("integer", "number"):
        return not isinstance(value, bool) and isinstance(value, int if kind == "integer" else int | float)
    wanted = {"string": str, "boolean": bool, "array": list, "object": dict}.get(kind, object)
    return isinstance(value, wanted)


def _check_clashes(
    issues: Issues, nodes: list[NodeSpec], ids: Mapping[str, int], inputs: Mapping[str, Input]
) -> None:
    """One name, one thing: `${name}` must not have two meanings."""
    for name in inputs:
        if name in ids:
            issues.add(
                "name-clash",
                f"`{shorten(name)}` is the name of an input and the id of a node",
                ("inputs", name),
                key=True,
                hint="rename one of them",
            )
    for node in nodes:
        taken = node.batch is not None and (node.batch.name in ids or node.batch.name in inputs)
        if node.batch is not None and taken:
            what = "the id of a node" if node.batch.name in ids else "the name of an input"
            issues.add(
                "name-clash",
                f"the batch item `{shorten(node.batch.name)}` of node `{shorten(node.id)}` is also {what}",
                ("nodes", ids[node.id], "batch", "as"),
                hint="give the item another name with `as`",
            )


_ARTICLES: Mapping[str, str] = {
    "string": "a string",
    "integer": "an integer",
    "number": "a number",
    "boolean": "true or false",
    "array": "an array",
    "object": "an object",
}
