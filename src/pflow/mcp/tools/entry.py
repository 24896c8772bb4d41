"""A tool of an MCP server as the registry keeps it: an entry like that of any node type, made from its definition."""

from __future__ import annotations

import re
from collections.abc import Mapping
from hashlib import sha256

import orjson

from pflow.core.errors import ServerError
from pflow.core.file.file_name import show
from pflow.core.json_type import object_in
from pflow.core.printable import cut
from pflow.mcp.server.config import ServerConfig
from pflow.mcp.tools.schema import Parameters, SchemaReader

WRAPPER = "mcp_wrapper"
"""The `type` of an entry that stands for a tool, and of a node that names its tool in `mcp_metadata`."""

ACTIONS = ("default", "error", "rate_limited", "auth_failed", "resource_missing", "timeout")
MOST_BYTES = 256 << 10
"""Bytes of a definition; anything larger does not describe a tool."""

MOST_PARAMS = 1_000
_MOST_OUTPUTS = 1_000
_MOST_PROSE = 500
_ENOUGH_PROSE = 30
_LONGEST_VERSION = 64

# A definition is read out of an entry of the registry and into documents about runs; JSON ends at 254 levels.
_ROOM = 100
_DROPPED = frozenset(("_meta", "icons"))
_PARAGRAPHS = re.compile(r"\n[ \t\r]*\n")


def definition_of(tool: Mapping[str, object]) -> dict[str, object]:
    """The tool as its server lists it, without what says nothing about calling it."""
    return {name: value for name, value in tool.items() if name not in _DROPPED}


def manifest_hash(tool: Mapping[str, object]) -> str:
    """Changes with everything in the definition; not with the order in which a server writes it.

    Raises `ServerError` for a definition that cannot be kept.
    """
    return f"sha256:{sha256(_canonical(definition_of(tool), tool.get('name'))).hexdigest()}"


def make_entry(server: ServerConfig, tool: Mapping[str, object], peer_version: str) -> dict[str, object]:
    """The registry's entry for a tool; raises `ServerError` for one that cannot be used, saying why."""
    definition = definition_of(tool)
    name = definition.get("name")
    if not isinstance(name, str):
        raise ServerError(f"a tool of server `{server.name}` has no name")
    data = _canonical(definition, name)
    if len(data) > MOST_BYTES:
        raise _unusable(name, f"its definition has {len(data):,} bytes, and {MOST_BYTES:,} are the most")
    notes = object_in(definition, "annotations")
    interface: dict[str, object] = {
        "description": _description(definition),
        **_params(name, definition),
        "outputs": _outputs(definition),
        "actions": list(ACTIONS),
        "purity": "pure" if server.trust_readonly and notes.get("readOnlyHint") is True else "impure",
    }
    config: dict[str, object] = {
        "server_id": server.name,
        "tool_name": name,
        "transport": server.transport,
        "version": peer_version[:_LONGEST_VERSION],
        "manifest_hash": f"sha256:{sha256(data).hexdigest()}",
        "definition": definition,
    }
    if server.command:
        config["command"] = server.command
    return {
        "class_name": "MCPNode",
        "module": "pflow.nodes.mcp.node",
        "file_path": "virtual://mcp",
        "type": WRAPPER,
        "node_hash": _node_hash(server, str(config["manifest_hash"])),
        "interface": interface,
        "mcp_config": config,
    }


def _node_hash(server: ServerConfig, manifest: str) -> str:
    """What a result that is kept for later depends on, beside the arguments: the tool, and which server answers."""
    place = [server.fingerprint(), sorted(server.env.items()), sorted(server.headers.items())]
    return sha256(orjson.dumps([manifest, place])).hexdigest()


def _canonical(definition: Mapping[str, object], name: object) -> bytes:
    nested: object = definition
    for _ in range(_ROOM):
        nested = [nested]
    try:
        return orjson.dumps(nested, option=orjson.OPT_SORT_KEYS)[_ROOM:-_ROOM]
    except orjson.JSONEncodeError:
        raise _unusable(name, "its definition is nested too deeply, or is not JSON") from None


def _unusable(name: object, why: str) -> ServerError:
    return ServerError(f"tool `{show(str(name))}` cannot be used: {why}")


def _description(definition: Mapping[str, object]) -> str:
    """The first paragraph, or more where that is but a heading."""
    given = definition.get("description")
    text = ""
    for paragraph in _PARAGRAPHS.split(given[: 8 * _MOST_PROSE]) if isinstance(given, str) else ():
        text = f"{text} {' '.join(paragraph.split()).lstrip('#').lstrip()}".strip()
        if len(text) >= _ENOUGH_PROSE:
            break
    if text:
        return cut(text, _MOST_PROSE)
    title = definition.get("title") or object_in(definition, "annotations").get("title")
    return str(title if isinstance(title, str) and title.strip() else definition["name"])[:_MOST_PROSE].strip()


def _params(name: str, definition: Mapping[str, object]) -> dict[str, object]:
    schema = definition.get("inputSchema")
    if schema is None:
        return {"params": [], "open_params": True}
    if not isinstance(schema, dict):
        raise _unusable(name, "its `inputSchema` is not an object")
    if not isinstance(schema.get("properties", {}), dict):
        raise _unusable(name, "the `properties` of its `inputSchema` are not an object")
    reader = SchemaReader(schema)
    if {"object", "any"}.isdisjoint(reader.type_of(schema).split("|")):
        raise _unusable(name, "its `inputSchema` does not describe an object")
    found = reader.parameters()
    if reader.is_exhausted:
        raise _unusable(name, "its `inputSchema` has too many parts to read")
    names = [*found.schemas, *sorted(found.required - found.schemas.keys())]
    if len(names) > MOST_PARAMS:
        raise _unusable(name, f"it has {len(names):,} parameters, and {MOST_PARAMS:,} are the most")
    reserved = [param for param in names if param.startswith("__")]
    if reserved:
        raise _unusable(name, f"its parameter `{show(reserved[0])}` starts with `__`, which is reserved")
    params = [_param(reader, param, found.schemas.get(param, {}), param in found.required) for param in names]
    return {"params": params, "open_params": True} if found.is_open else {"params": params}


def _param(reader: SchemaReader, name: str, schema: object, required: bool) -> dict[str, object]:
    kind = reader.type_of(schema)
    param: dict[str, object] = {
        "name": name,
        "type": kind,
        "description": reader.prose_of(schema),
        "required": required,
    }
    given = schema if isinstance(schema, dict) else {}
    if "default" in given:
        param["default"] = given["default"]
    if kind == "array" and (items := reader.type_of(given.get("items"))) != "any" and "|" not in items:
        param["schema"] = {"type": "array", "items": {"type": items}}
    elif required and kind != "any" and reader.is_nullable(schema):
        param["schema"] = {"type": [*kind.split("|"), "null"]}
    return param


def _outputs(definition: Mapping[str, object]) -> list[dict[str, object]]:
    """`result`, the whole value, then the fields of a structured one, then `files`."""
    files: dict[str, object] = {"name": "files", "type": "array", "description": "what the tool gave as files"}
    schema = definition.get("outputSchema")
    if not isinstance(schema, dict):
        return [{"name": "result", "type": "any", "description": "what the tool gave"}, files]
    reader = SchemaReader(schema)
    found = reader.parameters()
    fields = found.schemas
    named = [name for name in fields if name not in ("result", "files") and not name.startswith("__")]
    return [_result(reader, found), *(_output(reader, name, fields[name]) for name in named[:_MOST_OUTPUTS]), files]


def _result(reader: SchemaReader, found: Parameters) -> dict[str, object]:
    """A value in a lone `result`, as servers wrap what is not an object, is unwrapped when it arrives."""
    if "result" in found.schemas and not found.required - {"result"}:
        if len(found.schemas) == 1 and not found.is_open:
            return _output(reader, "result", found.schemas["result"])
        return {"name": "result", "type": "any"}  # it may or may not come alone
    return {"name": "result", "type": reader.type_of(reader.root), "schema": reader.root}


def _output(reader: SchemaReader, name: str, schema: object) -> dict[str, object]:
    kind = reader.type_of(schema)
    output: dict[str, object] = {"name": name, "type": kind}
    if prose := reader.prose_of(schema):
        output["description"] = prose
    if ("object" in kind or "array" in kind or kind == "any") and (part := reader.cut_out(schema)):
        output["schema"] = part
    return output
