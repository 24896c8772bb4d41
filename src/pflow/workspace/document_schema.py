"""The JSON Schema of documents, with the node types that are known here: for editors and for models.

Checking does not use it: it finds more, and says it better.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from pflow.core.interface import MISSING, Field, Interface
from pflow.core.json_type import Json
from pflow.registry.entry import Entry

_NAME: Json = {"type": "string", "pattern": "^[A-Za-z_][A-Za-z0-9_-]{0,63}$"}
_TEXT: Json = {"type": "string"}
_TYPES: Json = {"enum": ["string", "integer", "number", "boolean", "array", "object", "any"], "default": "any"}
_ANY: Json = {}
_CONDITION: Json = {"type": ["string", "boolean"]}
_TEMPLATE: Json = {"type": "string", "pattern": r"\$\{", "description": "A template, such as ${node.output}"}


def document_schema(entries: Iterable[Entry]) -> Json:
    """The schema of a document whose nodes have one of these types."""
    types = [_node(entry.name, entry.interface) for entry in entries]
    untyped = _object({"id": {**_NAME, "description": "A node type, too, since there is no `type`"}, **_node_fields()})
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Workflow document",
        **_object(_document_fields({"anyOf": [*types, {**untyped, "required": ["id"]}]})),
        "required": ["nodes"],
    }


def _document_fields(node: Json) -> Json:
    edge = _object({"from": _NAME, "to": _targets(), "action": {**_TEXT, "default": "default"}, "when": _CONDITION})
    mapping = _object({"input_mappings": _by_name(_TEXT), "output_mappings": _by_name(_TEXT)})
    return {
        "nodes": _said({"type": "array", "minItems": 1, "items": node}, "The steps; without `edges` they run in order"),
        "edges": _said(
            {"anyOf": [{"const": "data"}, {"type": "array", "items": _edge(edge)}]},
            "Ways that the order of the nodes does not give; `data` derives them from templates",
        ),
        "start_node": _said(_NAME, "Where a run begins, if not at the first node"),
        "on_failure": _said(_NAME, "The node that runs, with what follows from it, when the run has failed"),
        "finally": _said(_NAME, "The node that runs, with what follows from it, however the run has ended"),
        "timeout": _said(
            _duration(),
            "How long the run may work: seconds, or such as 90s, 15m, 2h, 3d",
        ),
        "budget": _said(_budget(), "What the run may spend on language models; it then stops, and can be resumed"),
        "inputs": _said(_by_name(_input()), "What the workflow takes"),
        "outputs": _said(_by_name({"anyOf": [_output(), _TEMPLATE]}), "What the workflow gives"),
        "state": _said(_state(), "What the workflow keeps between runs, read as ${state.name}, set with `state-set`"),
        "mappings": _said(_by_name(mapping), "Other names for natural keys, by node"),
        "name": _said(_TEXT, "What runs and lists call it"),
        "description": _said(_TEXT, "What it is for, in a sentence"),
        "requires": _said(_requires(), "What must be there before it runs"),
        "metadata": _said({"type": "object"}, "Anything; pflow does not read it"),
        "ir_version": {"const": "0.1.0"},
    }


def _duration(least: str = "exclusiveMinimum") -> Json:
    return {"anyOf": [{"type": "number", least: 0}, {"type": "string", "pattern": "^[0-9.]+ ?[smhd]$"}]}


def _budget() -> Json:
    return _object(
        {
            "usd": _said({"type": "number", "exclusiveMinimum": 0}, "US dollars, where prices are known"),
            "tokens": _said({"type": "integer", "minimum": 1}, "Tokens, read and written"),
        }
    )


def _requires() -> Json:
    words: Json = {"type": "array", "items": _TEXT}
    server = _object(
        {
            "command": _said({"anyOf": [_TEXT, words]}, "What starts it"),
            "args": words,
            "env": {"anyOf": [_by_name(_TEXT), words]},
            "url": _TEXT,
            "headers": _by_name(_TEXT),
            "transport": _TEXT,
        }
    )
    return _object(
        {
            "pflow": _said(_TEXT, "Versions, such as >=0.2,<1"),
            "servers": _said(_by_name(server), "MCP servers by name"),
            "settings": _said(words, "Names of settings or environment variables"),
            "programs": _said(words, "Names of programs"),
        }
    )


def _edge(edge: Json) -> Json:
    return {"anyOf": [{**edge, "required": ["from", "to"]}, {"const": "data"}]}


def _targets() -> Json:
    """What an edge leads to: a node, several, or the words `next` and `end`."""
    return {"anyOf": [_NAME, {"type": "array", "items": _NAME}]}


def _input() -> Json:
    return _object(
        {
            "type": _TYPES,
            "description": _TEXT,
            "default": _said(_ANY, "The value when none is given; null makes the input optional"),
            "required": {"type": "boolean"},
            "secret": _said({"type": "boolean"}, "Keeps the value out of everything recorded and shown"),
        }
    )


def _state() -> Json:
    key = _object(
        {
            "type": _TYPES,
            "default": _said(_ANY, "What it is before it was ever set"),
            "description": _TEXT,
            "merge": _said(
                {"enum": ["add", "max", "union"]}, "How a value that is set joins what is kept; without, it replaces it"
            ),
            "keep": _said({"type": "integer", "minimum": 1}, "Of a union: how many of the newest elements"),
            "commit": _said(
                {"enum": ["end", "step"], "default": "end"}, "When it becomes real: with the run or the step"
            ),
        }
    )
    return {**_by_name(key), "properties": {"scope": _said(_TEXT, "The name it is kept under, if not the workflow's")}}


def _output() -> Json:
    return _object({"source": _said(_ANY, "A template, such as ${node.output}"), "type": _TYPES, "description": _TEXT})


def _node_fields() -> Json:
    batch = _object(
        {
            "items": {"anyOf": [_TEMPLATE, {"type": "array"}]},
            "as": _said(_NAME, "The name of the item in templates; `item` by default"),
            "where": _said(_CONDITION, "Only items for which this condition holds"),
            "concurrency": {"type": "integer", "minimum": 1},
            "on_error": {"enum": ["stop", "continue"], "default": "stop"},
            "max_failed": _said(
                {"anyOf": [{"type": "integer", "minimum": 0}, {"type": "string", "pattern": "^[0-9.]+ ?%$"}]},
                "With `continue`: how many items may fail, such as 5 or 10%",
            ),
            "spread": _said(
                {"type": "boolean", "default": False}, "Over a `workflow` node: items are runs of their own at a place"
            ),
        }
    )
    retry = _object(
        {
            "attempts": _said({"type": "integer", "minimum": 1}, "How often it is tried in all"),
            "wait": _said(_duration("minimum"), "How long before the second attempt: seconds, or such as 90s, 15m"),
            "backoff": _said({"type": "number", "minimum": 1}, "A factor for each further wait"),
            "until": _said(_CONDITION, "Tries it again also when it succeeds, until this condition holds"),
        }
    )
    return {
        "params": {"type": "object"},
        "when": _said(_CONDITION, "Where this condition is false, the node is skipped"),
        "on": _said(_by_name(_targets()), "Where an action leads, such as error: a node, `next` or `end`"),
        "batch": _said({**batch, "required": ["items"]}, "Runs the node once per item"),
        "retry": _said(retry, "Tries it again when it fails"),
        "timeout": _said(_duration(), "How long one attempt may take: seconds, or such as 90s, 15m, 2h, 3d"),
        "limit": _said({"type": "string", "pattern": "^ *[0-9]+ */ *[smh] *$"}, "How often it starts, such as 10/s"),
        "repeatable": _said({"type": "boolean"}, "Whether it only reads, and may run again unasked"),
        "approve": _said(
            {"anyOf": [{"type": "boolean"}, _object({"prompt": _TEXT, "timeout": _duration()})]},
            "Asks a person before it takes effect",
        ),
        "max_visits": _said({"type": "integer", "minimum": 1}, "How often a loop may come to it"),
        "description": _TEXT,
    }


def _node(name: str, interface: Interface) -> Json:
    """The schema of a node of one type. Natural keys may fill a required param, so none is required here."""
    fields: Json = {field.name: _param(field) for field in (*interface.reads, *interface.params)}
    params = {**_object(fields), "additionalProperties": interface.open_params}
    kind: Json = {"const": name}
    return {
        **_object({"id": _NAME, "type": kind, **_node_fields(), "params": params}),
        "required": ["id", "type"],
        "description": interface.description,
    }


def _param(field: Field) -> Json:
    own = dict(field.schema) if field.schema and _is_closed(field.schema) else _typed(field.type)
    if field.slot == "duration":
        length = {"type": "string", "pattern": "^ *[0-9.]+ ?[smhd]? *$"}
        nothing = [{"type": "null"}] if "null" in field.type.split("|") or field.default is None else []
        own = {"anyOf": [{"type": "number", "exclusiveMinimum": 0}, length, _TEMPLATE, *nothing]}
    schema: Json = {"anyOf": [own, _TEMPLATE]} if own and "string" not in field.type.split("|") else own
    if field.default is not MISSING:
        schema = {**schema, "default": field.default}
    return _said(schema, field.description) if field.description else schema


def _is_closed(schema: object) -> bool:
    """Whether a schema means the same in another place: it refers to nothing around it."""
    if isinstance(schema, Mapping):
        return "$ref" not in schema and all(_is_closed(part) for part in schema.values())
    return all(_is_closed(part) for part in schema) if isinstance(schema, list) else True


def _typed(types: str) -> Json:
    names = types.split("|")
    if "any" in names:
        return {}
    return {"type": names[0]} if len(names) == 1 else {"type": names}


def _object(properties: Json) -> Json:
    return {"type": "object", "properties": properties, "additionalProperties": False}


def _by_name(schema: Json) -> Json:
    return {"type": "object", "additionalProperties": schema}


def _said(schema: Json, description: str) -> Json:
    return {**schema, "description": description}
