"""A tool becomes an entry that says what it takes and gives; whatever a server lists, nothing else happens."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pflow.core.errors import ServerError
from pflow.core.schema_path import follow
from pflow.mcp.server.config import ServerConfig
from pflow.mcp.tools.entry import definition_of, make_entry, manifest_hash
from pflow.mcp.tools.text import docstring
from pflow.pipeline.flag import find_field, read_flag
from pflow.registry.docstring_interface import declared
from pflow.registry.entry import interface_from_json

SERVER = ServerConfig(name="github", transport="stdio", command="mcp-github")

SEARCH = {
    "name": "search_code",
    "title": "Search",
    "description": "Search code in\nGitHub repositories.\n\nSupports qualifiers.",
    "inputSchema": {
        "type": "object",
        "properties": {
            "query": {"type": "string", "description": "what to find"},
            "language": {"$ref": "#/$defs/Language"},
            "max_results": {"type": "integer", "default": 10, "minimum": 1, "maximum": 100},
        },
        "required": ["query"],
        "$defs": {"Language": {"enum": ["python", "rust"], "description": "only this one"}},
    },
    "outputSchema": {
        "type": "object",
        "properties": {
            "hits": {"type": "array", "items": {"$ref": "#/$defs/Hit"}},
            "total": {"type": "integer", "description": "all that there are"},
        },
        "$defs": {"Hit": {"type": "object", "properties": {"path": {"type": "string"}}}, "Other": {}},
    },
    "annotations": {"readOnlyHint": True},
    "_meta": {"trace": 1},
    "icons": [{"src": "data:image/png;base64,AA"}],
}

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner, max_size=4),
    max_leaves=12,
)
WORDS = st.sampled_from(
    ["type", "properties", "required", "items", "anyOf", "oneOf", "allOf", "enum", "const", "$ref", "$defs", "default"]
    + ["additionalProperties", "patternProperties", "description", "nullable", "minimum", "minLength", "format", "a"]
)
LEAVES = st.sampled_from(["object", "string", "null", "#", "#/$defs/a", "#/properties/a", "https://x.test/s", True, 1])
SCHEMA = st.recursive(
    LEAVES | JSON,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=5),
    max_leaves=30,
)


def entry_of(tool: Mapping[str, object], **server: object) -> dict[str, Any]:
    return make_entry(SERVER._replace(**server), tool, "1.2.0")


def params_of(schema: object) -> dict[str, dict[str, Any]]:
    interface = entry_of({"name": "t", "inputSchema": schema})["interface"]
    return {param["name"]: param for param in interface["params"]}


def param_of(schema: object, **more: object) -> dict[str, Any]:
    return params_of({"type": "object", "properties": {"p": schema}, **more})["p"]


def interface_of(tool: Mapping[str, object]) -> dict[str, Any]:
    interface: dict[str, Any] = entry_of({"name": "t", **tool})["interface"]
    return interface


def outputs_of(schema: object) -> dict[str, dict[str, Any]]:
    return {output["name"]: output for output in interface_of({"outputSchema": schema})["outputs"]}


@pytest.mark.parametrize(
    "other",
    [
        {"args": ("--repository", "/other")},
        {"env": {"PLACE": "/other"}},
        {"cwd": "/other"},
    ],
)
def test_a_result_of_one_server_is_not_kept_for_another(other: dict[str, Any]) -> None:
    assert entry_of(SEARCH)["node_hash"] == entry_of(SEARCH)["node_hash"]
    assert entry_of(SEARCH)["node_hash"] != entry_of(SEARCH, **other)["node_hash"]
    assert entry_of(SEARCH)["node_hash"] != entry_of({**SEARCH, "description": "other"})["node_hash"]


@pytest.mark.requirement("client:format-2", "client:rule-12", "security:4.1-2", "security:4.1-3", "security:5.1-6")
@pytest.mark.requirement("security:6.1-1", "security:6.1-2", "security:12.3-1")
def test_an_entry_holds_everything_known_of_a_tool() -> None:
    hit = {"Hit": {"type": "object", "properties": {"path": {"type": "string"}}}}
    definition = {name: value for name, value in SEARCH.items() if name not in ("_meta", "icons")}
    entry = entry_of(SEARCH)
    assert len(entry.pop("node_hash")) == 64
    assert entry == {
        "class_name": "MCPNode",
        "module": "pflow.nodes.mcp.node",
        "file_path": "virtual://mcp",
        "type": "mcp_wrapper",
        "interface": {
            "description": "Search code in GitHub repositories.",
            "params": [
                {"name": "query", "type": "string", "description": "what to find", "required": True},
                {
                    "name": "language",
                    "type": "string",
                    "description": "only this one; one of python, rust",
                    "required": False,
                },
                {
                    "name": "max_results",
                    "type": "integer",
                    "description": "1 to 100",
                    "required": False,
                    "default": 10,
                },
            ],
            "outputs": [
                {"name": "result", "type": "object", "schema": SEARCH["outputSchema"]},
                {
                    "name": "hits",
                    "type": "array",
                    "schema": {"type": "array", "items": {"$ref": "#/$defs/Hit"}, "$defs": hit},
                },
                {"name": "total", "type": "integer", "description": "all that there are"},
                {"name": "files", "type": "array", "description": "what the tool gave as files"},
            ],
            "actions": ["default", "error", "rate_limited", "auth_failed", "resource_missing", "timeout"],
            "purity": "impure",
        },
        "mcp_config": {
            "server_id": "github",
            "tool_name": "search_code",
            "transport": "stdio",
            "command": "mcp-github",
            "version": "1.2.0",
            "manifest_hash": "sha256:b0b03062b577e9858d34f5f5234e7c9f223d0c963b6a1a9a9db81ae334fe6974",
            "definition": definition,
        },
    }


@pytest.mark.requirement("security:4.2-3", "security:5.2-1", "security:5.2-3")
def test_an_entry_reads_like_the_docstring_of_a_node() -> None:
    assert docstring(entry_of(SEARCH)) == (
        "Search code in GitHub repositories.\n"
        "\n"
        "Interface:\n"
        '- Reads: shared["query"]: str  # what to find\n'
        '- Reads: shared["language"]: str (optional)  # only this one; one of python, rust\n'
        '- Writes: shared["result"]: dict\n'
        '- Writes: shared["hits"]: list\n'
        '- Writes: shared["total"]: int  # all that there are\n'
        '- Writes: shared["files"]: list  # what the tool gave as files\n'
        "- Params: max_results: int (default 10)  # 1 to 100\n"
        "- Actions: default, error, rate_limited, auth_failed, resource_missing, timeout\n"
        "\n"
        "MCP Source: github/search_code v1.2.0"
    )


@pytest.mark.requirement("security:4.2-3", "security:12.3-2")
def test_the_docstring_is_understood_like_one_that_a_person_wrote() -> None:
    found = declared(docstring(entry_of(SEARCH)))
    assert found == {
        "reads": [
            {"name": "query", "required": True, "type": "string", "description": "what to find"},
            {"name": "language", "type": "string", "description": "only this one; one of python, rust"},
        ],
        "outputs": [
            {"name": "result", "type": "object"},
            {"name": "hits", "type": "array"},
            {"name": "total", "type": "integer", "description": "all that there are"},
            {"name": "files", "type": "array", "description": "what the tool gave as files"},
        ],
        "params": [{"name": "max_results", "type": "integer", "default": 10, "description": "1 to 100"}],
        "actions": ["default", "error", "rate_limited", "auth_failed", "resource_missing", "timeout"],
    }


@pytest.mark.requirement("security:12.3-3")
def test_flags_of_a_tool_are_read_by_its_types() -> None:
    properties = {"max_results": {"type": "integer"}, "ids": {"type": "array", "items": {"type": "string"}}}
    interface = interface_from_json(interface_of({"inputSchema": {"type": "object", "properties": properties}}))
    number = find_field(interface, "max-results")
    assert number is not None
    assert read_flag(number[0], ["20"]) == 20
    ids = find_field(interface, "ids")
    assert ids is not None
    assert read_flag(ids[0], ["1", "2"]) == ["1", "2"]
    assert find_field(interface, "other") is None


@pytest.mark.parametrize(
    ("schema", "kind"),
    [
        *[({"type": name}, name) for name in ("string", "integer", "number", "boolean", "array", "object")],
        ({"type": ["string", "integer"]}, "string|integer"),
        ({"type": ["integer", "number"]}, "number"),
        ({"type": ["string", "null"]}, "string"),
        ({"anyOf": [{"type": "object"}, {"type": "string"}]}, "string|object"),
        ({"oneOf": [{"type": "integer"}, {"type": "null"}]}, "integer"),
        ({"type": "string", "nullable": True}, "string"),
        ({"allOf": [{"$ref": "#/$defs/Name"}]}, "string"),
        ({"enum": ["a", 1, None]}, "string|integer"),
        ({"const": True}, "boolean"),
        ({"$ref": "#/$defs/Name"}, "string"),
        ({"$ref": "#/$defs/a~1b"}, "array"),
        ({"$ref": "#/properties/q"}, "number"),
        ({"properties": {}}, "object"),
        ({"items": {}}, "array"),
        ({}, "any"),
        (True, "any"),
        (None, "any"),
        ("string", "any"),
        ({"type": "date"}, "any"),
        ({"type": "null"}, "any"),
        ({"type": 7}, "any"),
        ({"type": []}, "any"),
        ({"enum": []}, "any"),
        ({"enum": [*["x"] * 1_000, 1]}, "any"),
        ({"anyOf": [{"type": "string"}, {}]}, "any"),
        ({"type": ["string", "number", "boolean", "array", "object"]}, "any"),
        ({"type": "string", "const": 1}, "any"),
        ({"$ref": "https://example.test/schema"}, "any"),
        ({"$ref": "#/$defs/Nowhere"}, "any"),
        ({"$ref": "#/$defs/Loop"}, "any"),
        ({"$ref": "#/properties/p"}, "any"),
    ],
)
def test_a_parameter_has_the_type_that_its_schema_means(schema: object, kind: str) -> None:
    definitions = {"Name": {"type": "string"}, "a/b": {"type": "array"}, "Loop": {"anyOf": [{"$ref": "#/$defs/Loop"}]}}
    given = {"type": "object", "properties": {"p": schema, "q": {"type": "number"}}, "$defs": definitions}
    assert params_of(given)["p"]["type"] == kind


@pytest.mark.parametrize(
    ("schema", "text"),
    [
        ({"description": " many\n words; "}, "many words"),
        ({"description": 5}, ""),
        ({"enum": list(range(30))}, f"one of {', '.join(map(str, range(20)))}, … (30 in all)"),
        ({"const": {"a": 1}}, 'always {"a":1}'),
        ({"minimum": 1}, "at least 1"),
        ({"exclusiveMinimum": 0, "maximum": 5}, "at most 5; more than 0"),
        ({"exclusiveMinimum": 0, "exclusiveMaximum": 1}, "between 0 and 1"),
        ({"exclusiveMaximum": 1}, "less than 1"),
        ({"minLength": 1}, "at least 1 character"),
        ({"minItems": 2, "maxItems": 5}, "2 to 5 items"),
        ({"minimum": True, "maximum": "x"}, ""),
        ({"format": "date-time", "pattern": "^2"}, "format date-time; pattern ^2"),
        ({"pattern": "x" * 500}, ""),
        ({"description": "x" * 5000}, "x" * 999 + "…"),
    ],
)
def test_a_parameter_tells_which_values_it_takes(schema: dict[str, Any], text: str) -> None:
    assert param_of(schema)["description"] == text


@pytest.mark.requirement("security:6.1-3")
def test_defaults_are_kept_also_when_they_are_null() -> None:
    assert param_of({"default": None})["default"] is None
    assert param_of({"type": "integer", "default": 0})["default"] == 0
    assert "default" not in param_of({"type": "integer"})


def test_a_required_parameter_that_may_be_null_says_so() -> None:
    given = param_of({"type": ["string", "null"]}, required=["p"])
    assert (given["required"], given["schema"]) == (True, {"type": ["string", "null"]})


def test_what_is_required_is_listed_even_where_nobody_describes_it() -> None:
    assert params_of({"type": "object", "required": ["p", 3]})["p"]["required"]


def test_parameters_are_gathered_from_every_part_of_a_schema() -> None:
    schema = {
        "type": "object",
        "properties": {"a": {"type": "string"}},
        "allOf": [{"$ref": "#/$defs/Page"}],
        "oneOf": [
            {"properties": {"id": {"type": "integer"}}, "required": ["id", "kind"]},
            {"properties": {"name": {"type": "string"}}, "required": ["name", "kind"]},
        ],
        "$defs": {"Page": {"properties": {"page": {"type": "integer"}}, "required": ["page"]}},
    }
    found = {name: param["required"] for name, param in params_of(schema).items()}
    assert found == {"a": False, "page": True, "id": False, "name": False, "kind": True}


@pytest.mark.parametrize(
    ("schema", "is_open"),
    [
        ({"type": "object"}, True),
        (None, True),
        ({"type": "object", "properties": {}}, False),
        ({"type": "object", "additionalProperties": False}, False),
        ({"type": "object", "properties": {"a": {}}}, False),
        ({"type": "object", "properties": {"a": {}}, "additionalProperties": True}, True),
        ({"type": "object", "properties": {"a": {}}, "additionalProperties": {"type": "string"}}, True),
        ({"type": "object", "properties": {"a": {}}, "patternProperties": {"^x-": {}}}, True),
        ({"type": "object", "allOf": [{"properties": {"a": {}}}]}, False),
    ],
)
def test_other_parameters_are_admitted_only_where_the_schema_says_so(
    schema: dict[str, Any] | None, is_open: bool
) -> None:
    assert interface_from_json(interface_of({"inputSchema": schema})).open_params is is_open


def test_a_lone_result_is_described_as_it_arrives_unwrapped() -> None:
    wrapped = {
        "type": "object",
        "properties": {"result": {"type": "array", "items": {"$ref": "#/$defs/Row"}}},
        "$defs": {"Row": {"type": "object", "properties": {"id": {"type": "integer"}}}},
    }
    found = outputs_of(wrapped)
    assert list(found) == ["result", "files"]
    assert found["result"]["type"] == "array"
    assert found["result"]["schema"]["$defs"] == wrapped["$defs"]


@pytest.mark.parametrize("more", [{"error": {"type": "string"}}, {}])
def test_a_result_that_may_come_alone_or_not_is_anything(more: dict[str, Any]) -> None:
    schema = {"type": "object", "properties": {"result": {"type": "string"}, **more}, "additionalProperties": True}
    assert outputs_of(schema)["result"] == {"name": "result", "type": "any"}


def test_names_that_mean_something_else_are_no_outputs_of_their_own() -> None:
    properties = {"result": {"type": "string"}, "files": {"type": "string"}, "__x": {}, "more": {"type": "string"}}
    found = outputs_of({"type": "object", "properties": properties, "required": ["more"]})
    assert {name: output["type"] for name, output in found.items()} == {
        "result": "object",
        "more": "string",
        "files": "array",
    }


@pytest.mark.parametrize("schema", [None, "text", [], 5])
def test_without_a_schema_the_result_may_be_anything(schema: object) -> None:
    found = outputs_of(schema)
    assert {name: output["type"] for name, output in found.items()} == {"result": "any", "files": "array"}


def test_paths_into_an_output_are_checked_with_the_definitions_it_needs() -> None:
    interface = interface_from_json(entry_of(SEARCH)["interface"])
    hits, result = interface.output("hits"), interface.output("result")
    assert hits is not None and result is not None
    assert follow(hits, (0, "path")) is None
    assert follow(hits, (0, "nowhere")) is not None
    assert follow(result, ("hits", 0, "path")) is None


def test_an_output_that_refers_elsewhere_in_its_schema_has_no_schema_of_its_own() -> None:
    properties = {"a": {"type": "array", "items": {"$ref": "#/properties/b"}}, "b": {"type": "string"}}
    found = outputs_of({"type": "object", "properties": properties})
    assert "schema" not in found["a"]
    assert found["a"]["type"] == "array"


@pytest.mark.requirement("security:4.1-4", "security:9.1-3")
@pytest.mark.parametrize(
    ("annotations", "trusted", "purity"),
    [
        ({"readOnlyHint": True}, False, "impure"),
        ({"readOnlyHint": True}, True, "pure"),
        ({"readOnlyHint": False}, True, "impure"),
        ({"readOnlyHint": "true"}, True, "impure"),
        ({"idempotentHint": True}, True, "impure"),
        (["readOnlyHint"], True, "impure"),
        (None, True, "impure"),
    ],
)
def test_a_tool_is_pure_only_if_it_says_so_and_is_believed(annotations: object, trusted: bool, purity: str) -> None:
    entry = entry_of({"name": "t", "annotations": annotations}, trust_readonly=trusted)
    assert entry["interface"]["purity"] == purity


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"description": "One.\n \nTwo."}, "One. Two."),
        ({"description": "This is what the tool does, in full.\n\nTwo."}, "This is what the tool does, in full."),
        ({"description": "# Heading\n\nReads a file from the disk."}, "Heading Reads a file from the disk."),
        ({"description": "x" * 5000}, "x" * 499 + "…"),
        ({"description": "  ", "title": "Title"}, "Title"),
        ({"description": 7, "annotations": {"title": "Hint"}}, "Hint"),
        ({"title": ["x"]}, "t"),
        (
            {"description": "\x1b[31mred\u202e and more than thirty letters"},
            "\x1b[31mred\u202e and more than thirty letters",
        ),
    ],
)
def test_the_description_is_what_a_person_reads_first(fields: dict[str, Any], text: str) -> None:
    assert interface_of(fields)["description"] == text


def test_the_docstring_shows_hostile_text_escaped() -> None:
    tool = {
        "name": "x\x1b]0;t\x07",
        "description": "\x1b[2J\u202eevil, and long enough for a paragraph",
        "inputSchema": {"type": "object", "properties": {"\u200bp\n": {"description": "\x1b[0m"}}},
    }
    text = docstring(entry_of(tool))
    assert text.replace("\n", "").isprintable()
    assert "\\x1b[2J\\u202eevil" in text
    assert '- Reads: shared["\\u200bp\\n"]: any (optional)  # \\x1b[0m' in text


def test_what_is_no_part_of_a_definition_does_not_count() -> None:
    bare = {name: value for name, value in SEARCH.items() if name not in ("_meta", "icons")}
    assert definition_of(SEARCH) == bare
    assert manifest_hash(SEARCH) == manifest_hash(bare)
    assert manifest_hash({**SEARCH, "execution": {}}) != manifest_hash(bare)


@given(tool=st.dictionaries(st.text(max_size=5), JSON, max_size=4), data=st.data())
def test_the_order_of_a_definition_does_not_change_its_hash(tool: dict[str, Any], data: st.DataObject) -> None:
    names = data.draw(st.permutations(list(tool)))
    assert manifest_hash({name: tool[name] for name in names}) == manifest_hash(tool)


@given(one=st.dictionaries(st.text(max_size=3), JSON, max_size=3), other=JSON)
def test_every_change_of_a_definition_changes_its_hash(one: dict[str, Any], other: object) -> None:
    changed = {**one, "inputSchema": {"default": other}}
    same = orjson.dumps(changed, option=orjson.OPT_SORT_KEYS) == orjson.dumps(one, option=orjson.OPT_SORT_KEYS)
    assert (manifest_hash(changed) == manifest_hash(one)) == same


@given(name=st.text(max_size=10), description=JSON, given=SCHEMA, gives=SCHEMA, annotations=JSON)
def test_any_definition_becomes_an_entry_or_says_why_not(
    name: str, description: object, given: object, gives: object, annotations: object
) -> None:
    tool = {"name": name, "description": description, "inputSchema": given, "outputSchema": gives}
    try:
        entry = entry_of({**tool, "annotations": annotations})
    except ServerError as error:
        assert "cannot be used" in error.message
        return
    assert orjson.loads(orjson.dumps(entry)) == entry
    interface = interface_from_json(entry["interface"])
    listed = entry["interface"]["params"]
    assert [field.name for field in interface.params] == [param["name"] for param in listed]
    for field, param in zip(interface.params, listed, strict=True):
        assert field.type == param["type"]
    assert interface.outputs[0].name == "result"
    assert interface.outputs[-1].name == "files"
    assert len({field.name for field in interface.outputs}) == len(interface.outputs)
    assert docstring(entry).replace("\n", "").isprintable()


def nested(depth: int) -> object:
    value: object = {}
    for _ in range(depth):
        value = {"a": value}
    return value


def bomb() -> dict[str, Any]:
    """Each definition refers to the next one twice: 2 ** 30 ways through it."""
    definitions = {str(n): {"anyOf": [{"$ref": f"#/$defs/{n + 1}"}] * 2} for n in range(30)}
    return {"type": "object", "properties": {"p": {"$ref": "#/$defs/0"}}, "$defs": definitions}


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"inputSchema": "text"}, "its `inputSchema` is not an object"),
        ({"inputSchema": []}, "its `inputSchema` is not an object"),
        ({"inputSchema": {"type": "string"}}, "its `inputSchema` does not describe an object"),
        ({"inputSchema": {"type": ["string", "array"]}}, "its `inputSchema` does not describe an object"),
        ({"inputSchema": {"properties": ["a"]}}, "the `properties` of its `inputSchema` are not an object"),
        (
            {"inputSchema": {"properties": {"__mcp_tool__": {}}}},
            "its parameter `__mcp_tool__` starts with `__`, which is reserved",
        ),
        ({"inputSchema": {"required": ["__x"]}}, "its parameter `__x` starts with `__`, which is reserved"),
        (
            {"inputSchema": {"properties": {f"p{n}": {} for n in range(10_000)}}},
            "it has 10,000 parameters, and 1,000 are the most",
        ),
        (
            {"inputSchema": {"properties": {f"p{n}": {} for n in range(20_001)}}},
            "its `inputSchema` has too many parts to read",
        ),
        ({"description": "x" * (1 << 20)}, "its definition has 1,048,611 bytes, and 262,144 are the most"),
        ({"inputSchema": nested(300)}, "its definition is nested too deeply, or is not JSON"),
        ({"inputSchema": {"default": object()}}, "its definition is nested too deeply, or is not JSON"),
        ({"description": "\ud800"}, "its definition is nested too deeply, or is not JSON"),
    ],
)
def test_a_tool_that_cannot_be_used_says_why(fields: dict[str, Any], why: str) -> None:
    with pytest.raises(ServerError) as caught:
        entry_of({"name": "t\x1b", **fields})
    assert caught.value.message == f"tool `t\\x1b` cannot be used: {why}"


@pytest.mark.parametrize("name", [None, 5, ["x"]])
def test_a_tool_needs_a_name(name: object) -> None:
    with pytest.raises(ServerError, match="a tool of server `github` has no name"):
        entry_of({"name": name})


def test_a_schema_that_unfolds_without_end_is_any() -> None:
    assert param_of({"$ref": "#/properties/p"})["type"] == "any"
    assert params_of(bomb())["p"]["type"] == "any"


def test_definitions_that_many_outputs_share_do_not_fill_the_registry() -> None:
    shared = {"Big": {"type": "object", "description": "x" * 30_000}}
    properties = {f"o{n}": {"$ref": "#/$defs/Big"} for n in range(900)}
    entry = entry_of({"name": "t", "outputSchema": {"type": "object", "properties": properties, "$defs": shared}})
    assert len(entry["interface"]["outputs"]) == 902
    assert len(orjson.dumps(entry)) < 2 << 20
    assert {output["type"] for output in entry["interface"]["outputs"][1:-1]} == {"object"}
