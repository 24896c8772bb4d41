"""`pflow registry describe` of a tool: everything that its server says of it, down to the fields inside objects."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Pflow
from tests.mcp.step.conftest import Serve, tool

EDIT = {
    "$defs": {
        "Range": {
            "type": "object",
            "properties": {
                "start": {"type": "integer", "minimum": 1, "description": "first line"},
                "end": {"anyOf": [{"type": "integer"}, {"type": "null"}], "default": 9},
                "mode": {"anyOf": [{"enum": ["keep", "drop"], "type": "string"}, {"type": "null"}]},
            },
            "required": ["start"],
        }
    },
    "type": "object",
    "properties": {
        "files": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "path": {"type": "string"},
                    "ranges": {"type": "array", "items": {"$ref": "#/$defs/Range"}},
                },
                "required": ["path", "ranges"],
            },
        },
        "parent": {
            "oneOf": [
                {"type": "object", "title": "A page", "properties": {"page": {"const": "p"}}, "required": ["page"]},
                {"type": "object", "properties": {"database": {"type": "string", "format": "uuid"}}},
            ]
        },
        "labels": {"type": "object", "additionalProperties": {"type": "string", "maxLength": 5}},
        "tags": {"type": "array", "items": {"type": "string"}},
    },
    "required": ["files"],
}
PROSE = """
    Edit text files.

    The second paragraph says - with a list:
    - one
    - two

    Args:
        query: What to look for,
            on two lines
        limit (int, optional): At most that many. Defaults to 5.
        other: Is not a parameter

    Returns:
        The number of edits.
    """


def rows(said: str, title: str = "params") -> list[list[str]]:
    """The rows of one block, each as its cells."""
    block = said.split(f"\n{title}\n", 1)[1].split("\n\n", 1)[0]
    return [[cell.strip() for cell in line.split("  ") if cell.strip()] for line in block.splitlines()]


def test_fields_inside_objects_and_arrays_are_shown_in_depth(pflow: Pflow, serve: Serve) -> None:
    serve("ed", {"name": "edit", "description": "Edits.", "inputSchema": EDIT})
    assert rows(pflow("registry", "describe", "mcp-ed-edit").out) == [
        ["files", "array of object", "required"],
        ["files[].path", "string", "required"],
        ["files[].ranges", "array of object", "required"],
        ["files[].ranges[].start", "integer", "required", "first line; at least 1"],
        ["files[].ranges[].end", "integer", "= 9"],
        ["files[].ranges[].mode", "string", "one of keep, drop"],
        ["parent", "object"],
        ["parent", "object", "form 1 of 2", "A page"],
        ["parent.page", "string", "required", "always p"],
        ["parent", "object", "form 2 of 2"],
        ["parent.database", "string", "format uuid"],
        ["labels", "object"],
        ["labels.*", "string", "at most 5 characters"],
        ["tags", "array of string"],
    ]


def test_programs_get_the_same_fields_and_the_whole_schema(pflow: Pflow, serve: Serve) -> None:
    serve("ed", {"name": "edit", "description": "Edits.", "inputSchema": EDIT})
    data = pflow("registry", "describe", "mcp-ed-edit", "--json").json["data"]
    assert data["input_schema"] == EDIT
    fields = {row["name"]: row for param in data["interface"]["params"] for row in param.get("fields", [])}
    assert fields["files[].ranges[].mode"]["enum"] == ["keep", "drop"]
    assert fields["files[].ranges[].end"]["default"] == 9
    assert fields["files[].ranges[].start"]["required"] is True


def test_one_place_inside_a_parameter_can_be_looked_at(pflow: Pflow, serve: Serve) -> None:
    serve("ed", {"name": "edit", "description": "Edits.", "inputSchema": EDIT})
    said = pflow("registry", "describe", "mcp-ed-edit", "files[].ranges").out
    assert [line.split()[0] for line in said.splitlines()] == [
        "mcp-ed-edit",
        "files[].ranges",
        "files[].ranges[].start",
        "files[].ranges[].end",
        "files[].ranges[].mode",
    ]
    unknown = pflow("registry", "describe", "mcp-ed-edit", "files[].range")
    assert (unknown.code, "did you mean `files[].ranges`?" in unknown.err) == (2, True)


def nest(levels: int, width: int) -> dict[str, Any]:
    """A schema that has `width` objects in each of `levels` levels."""
    inner: dict[str, Any] = {"type": "string"}
    for _ in range(levels):
        inner = {"type": "object", "properties": {f"f{number}": inner for number in range(width)}}
    return inner


def test_what_is_too_much_is_cut_at_one_depth_and_says_how_to_see_it(pflow: Pflow, serve: Serve) -> None:
    schema = {"type": "object", "properties": {"body": nest(4, 8), "last": nest(1, 2)}}
    serve("ed", {"name": "edit", "description": "Edits.", "inputSchema": schema})
    said = pflow("registry", "describe", "mcp-ed-edit").out
    assert ["body.f0.f0", "object", "8 fields inside"] in rows(said)
    assert ["last.f1", "string"] in rows(said)
    assert "`pflow registry describe mcp-ed-edit PATH` shows one place, `--json` the whole schema" in said
    inside = pflow("registry", "describe", "mcp-ed-edit", "body.f0.f0").out
    assert "body.f0.f0.f7.f7" in inside


@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "#"},
        {"$ref": "#/$defs/a"},
        {"allOf": [{"$ref": "#/properties/body"}]},
        {"type": "array", "items": {"$ref": "#/properties/body"}},
        {"type": "object", "additionalProperties": {"$ref": "#/properties/body"}},
        {"anyOf": [{"$ref": "#/properties/body"}, {"properties": {"x": {"$ref": "#"}}}]},
        {"properties": {"x": True, "y": 5, "z": {"items": [5, {}], "enum": 7, "required": "x", "anyOf": {}}}},
        {"properties": [], "items": "x", "$ref": 5, "allOf": 3, "oneOf": [None, 1]},
    ],
)
def test_schemas_that_lead_in_circles_or_make_no_sense_end(pflow: Pflow, serve: Serve, schema: dict[str, Any]) -> None:
    tree = {"type": "object", "properties": {"next": {"$ref": "#/$defs/a"}, "value": {"type": "string"}}}
    root = {"type": "object", "$defs": {"a": tree}, "properties": {"body": schema}}
    serve("ed", {"name": "edit", "description": "Edits.", "inputSchema": root})
    said = pflow("registry", "describe", "mcp-ed-edit")
    assert said.code == 0, said
    assert len(said.out) < 60_000


def test_a_field_of_its_own_kind_is_named_and_not_followed(pflow: Pflow, serve: Serve) -> None:
    node = {"type": "object", "properties": {"children": {"type": "array", "items": {"$ref": "#/$defs/Node"}}}}
    root = {"type": "object", "$defs": {"Node": node}, "properties": {"tree": {"$ref": "#/$defs/Node"}}}
    serve("ed", {"name": "edit", "description": "Edits.", "inputSchema": root})
    assert ["tree.children[]", "object", "made like `tree`"] in rows(pflow("registry", "describe", "mcp-ed-edit").out)


def test_the_whole_description_is_shown_and_its_args_describe_parameters(pflow: Pflow, serve: Serve) -> None:
    properties = {"query": {"type": "string"}, "limit": {"type": "integer", "maximum": 50}}
    schema = {"type": "object", "properties": properties}
    serve("ed", {"name": "edit", "description": PROSE, "inputSchema": schema})
    said = pflow("registry", "describe", "mcp-ed-edit").out
    assert said.startswith("mcp-ed-edit: Edit text files.\n\nThe second paragraph says - with a list:\n- one\n- two\n")
    assert "Args:\n    query: What to look for,\n        on two lines\n" in said
    assert "Returns:\n    The number of edits.\n" in said
    assert rows(said) == [
        ["query", "string", "What to look for, on two lines"],
        ["limit", "integer", "At most that many. Defaults to 5.; at most 50"],
    ]
    data = pflow("registry", "describe", "mcp-ed-edit", "--json").json["data"]
    assert data["interface"]["description"].endswith("Returns:\n    The number of edits.")
    assert data["interface"]["params"][0]["description"] == "What to look for, on two lines"


@pytest.mark.parametrize(
    "prose",
    [
        "Do it.\n\nParameters\n----------\nquery : str\n    What to look for\nlimit : int, optional\n    How many\n\n"
        "Returns\n-------\nint\n    limit",
        "Do it.\n\n:param str query: What to look for\n:param limit: How many\n:returns: a number",
        "Do it.\n@param {string} query What to look for\n@param {number} [limit=5] - How many\n@returns x",
        "Do it.\n\nArgs:\n- `query` (str): What to look for\n- limit - How many\n\nquery: not this",
        "Do it.\n\n**Parameters:**\n- **query**: What to look for\n- **limit**: How many",
        "Do it.\n\n## Parameters\n\n* query: What to look for\n* limit: How many\n\n## Notes\n\n* query: no",
    ],
)
def test_parameters_are_described_in_the_styles_that_people_use(pflow: Pflow, serve: Serve, prose: str) -> None:
    serve("ed", tool("edit", needs={"query": "string", "limit": "integer"}) | {"description": prose})
    said = rows(pflow("registry", "describe", "mcp-ed-edit").out)
    assert [row[3:] for row in said] == [["What to look for"], ["How many"]]


def test_a_parameter_that_says_what_it_is_keeps_its_own_words(pflow: Pflow, serve: Serve) -> None:
    schema = {"type": "object", "properties": {"query": {"type": "string", "description": "in its own words"}}}
    serve("ed", {"name": "edit", "description": "Args:\n    query: otherwise", "inputSchema": schema})
    assert rows(pflow("registry", "describe", "mcp-ed-edit").out) == [["query", "string", "in its own words"]]


def test_lists_show_a_summary_and_search_looks_into_the_whole_text(pflow: Pflow, serve: Serve) -> None:
    prose = "Edit files.\n\n" + "Much more about penguins. " * 50
    serve("ed", {"name": "edit", "description": prose, "inputSchema": EDIT})
    [found] = pflow("registry", "search", "penguins", "--json").json["data"]["node_types"]
    assert found == {
        "name": "mcp-ed-edit",
        "description": "Edit files. Much more about penguins." + found["description"][37:],
    }
    assert len(found["description"]) <= 500
    assert pflow("registry", "discover", "penguins").out.startswith("mcp-ed-edit ")
    [match, *_] = pflow("registry", "discover", "uuid", "--json").json["data"]["matches"]
    assert match["name"] == "mcp-ed-edit"


@pytest.mark.parametrize("era", ["legacy", "modern"])
def test_what_a_server_says_about_its_tools_is_kept_and_shown(pflow: Pflow, serve: Serve, era: str) -> None:
    said = "Call `begin` first.\n\x1b[2JThen the others.\n" + "More. " * 200
    serve("ed", tool("edit"), instructions=said, era=era)
    shown = pflow("registry", "describe", "mcp-ed-edit").out
    assert "server `ed` says\n  Call `begin` first.\n  \\x1b[2JThen the others.\n  More. More." in shown
    assert "more characters: `pflow mcp show ed`" in shown
    whole = pflow("mcp", "show", "ed").out
    assert "\ntools: edit\n\nit says\n  Call `begin` first.\n" in whole
    assert whole.count("More.") == 200
    assert pflow("mcp", "show", "ed", "--json").json["data"]["instructions"].count("More.") == 200
    assert pflow("registry", "describe", "mcp-ed-edit", "--json").json["data"]["instructions"].startswith("Call")


def test_instructions_that_repeat_a_secret_are_shown_without_it(pflow: Pflow, serve: Serve) -> None:
    add = ("--env", "HUB_TOKEN=tok-0123456789abcdef")
    serve("ed", tool("edit"), instructions="The token is tok-0123456789abcdef.", add=add)
    for words in (("mcp", "show", "ed"), ("mcp", "show", "ed", "--json"), ("registry", "describe", "mcp-ed-edit")):
        said = pflow(*words).out
        assert ("tok-0123" in said, "The token is «secret:" in said) == (False, True)


def test_values_under_any_name_are_looked_into_as_deep_as_others(pflow: Pflow, serve: Serve) -> None:
    inner: dict[str, Any] = {"type": "object", "additionalProperties": {"type": "array", "items": {"enum": [1, 2]}}}
    schema = {
        "type": "object",
        "properties": {"a": {"type": "object", "properties": {"b": {"type": "object", "properties": {"c": inner}}}}},
    }
    serve("ed", {"name": "edit", "description": "Edits.", "inputSchema": schema})
    assert ["a.b.c.*[]", "integer", "one of 1, 2"] in rows(pflow("registry", "describe", "mcp-ed-edit").out)


def test_a_hostile_description_is_shown_escaped_and_cut(pflow: Pflow, serve: Serve) -> None:
    prose = "Harmless.\n\n\x1b]0;owned\x07\u202edetrevni\r\n" + "x" * 20_000
    serve("ed", tool("edit") | {"description": prose})
    said = pflow("registry", "describe", "mcp-ed-edit").out
    assert "\\x1b]0;owned\\x07\\u202edetrevni" in said
    assert "more characters: `pflow registry describe mcp-ed-edit --json`" in said
    assert len(said) < 10_000


def test_tools_that_an_earlier_version_synced_are_shown_in_full(pflow: Pflow, serve: Serve, home: Path) -> None:
    serve("ed", {"name": "edit", "description": PROSE, "inputSchema": EDIT})
    path = home / "registry.json"
    stored = json.loads(path.read_text())
    # Before, an entry had no more than this of a parameter and of the description, beside the definition.
    stored["mcp-ed-edit"]["interface"]["description"] = "Edit text files."
    stored["mcp-ed-edit"]["interface"]["params"][0] = {
        "name": "files",
        "type": "array",
        "description": "",
        "required": True,
        "schema": {"type": "array", "items": {"type": "object"}},
    }
    path.write_text(json.dumps(stored))
    said = pflow("registry", "describe", "mcp-ed-edit").out
    assert "files[].ranges[].start" in said
    assert "The number of edits." in said
    assert "ed has 1 tool (" in pflow("mcp", "sync", "ed").out
