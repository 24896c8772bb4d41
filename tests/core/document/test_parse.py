"""Text becomes a document, and everything that is wrong with its form is reported together."""

from pathlib import Path
from typing import Any

import orjson
import pytest

from pflow.core.document.document import Batch, Document, Edge, Input, KeyMapping, Output, Retry, StateKey
from pflow.core.document.issue import Issue
from pflow.core.document.parse import Parsed, parse_text, parse_value, read_file

CORPUS = Path(__file__).parent / "corpus"


def codes(parsed: Parsed) -> list[str]:
    return [issue.code for issue in parsed.issues]


def document(text: Any) -> Document:
    parsed = parse_text(text) if isinstance(text, str) else parse_value(text)
    assert parsed.issues == ()
    assert parsed.document is not None
    return parsed.document


def issue(text: Any) -> Issue:
    parsed = parse_text(text) if isinstance(text, str) else parse_value(text)
    assert len(parsed.issues) == 1, parsed.issues
    return parsed.issues[0]


# ---- what is read


def test_every_field_of_a_document_arrives() -> None:
    parsed = read_file(CORPUS / "valid/everything.json")
    assert parsed.issues == ()
    found = parsed.document
    assert found is not None
    assert (found.name, found.description, found.ir_version) == ("changelog", "What changed, in a file", "0.1.0")
    assert found.inputs == {
        "since": Input(type="string", required=True, description="A tag"),
        "limit": Input(type="integer", required=False, default=20, has_default=True),
    }
    assert found.outputs == {"path": Output(type="string", description="The file", source="${write.file_path}")}
    show = found.nodes[1]
    assert show.batch == Batch(items="${log.result.commits}", name="item", concurrency=8, on_error="stop")
    assert show.retry == Retry(attempts=3, wait=1.0, backoff=2.0)
    assert (show.timeout, show.max_visits, show.description) == (30.0, 5, "One commit")
    assert found.edges[1] == Edge(source="log", target="alert", action="error", path=("edges", 1))
    assert found.start_node == "log"
    assert found.mappings == {
        "show": KeyMapping(input_mappings={"revision": "sha"}, output_mappings={"result": "patches"})
    }


def test_what_a_document_keeps_arrives_with_how_it_is_kept() -> None:
    parsed = read_file(CORPUS / "valid/state.yaml")
    assert parsed.document is not None
    assert parsed.document.state_scope == "reports"
    assert parsed.document.state == {
        "cursor": StateKey(type="string", default="", description="The last id"),
        "count": StateKey(type="integer", default=0, merge="add"),
        "latest": StateKey(type="string", merge="max"),
        "seen": StateKey(type="array", default=[], merge="union", keep=50),
        "failures": StateKey(type="integer", default=0, merge="add", commit="step"),
        "anything": StateKey(),
    }


def test_a_hundred_values_are_kept_besides_the_scope() -> None:
    keys: dict[str, Any] = {f"x{number}": {} for number in range(100)}
    assert len(document({"nodes": [{"id": "a"}], "state": {"scope": "s", **keys}}).state) == 100
    assert issue({"nodes": [{"id": "a"}], "state": {"scope": "s", **keys, "y": {}}}).code == "too-many"


@pytest.mark.requirement("server13:builtin-5")
def test_a_missing_version_is_added_and_missing_edges_mean_document_order() -> None:
    found = document('{"nodes": [{"id": "a"}, {"id": "b"}, {"id": "c"}]}')
    assert found.raw == {"ir_version": "0.1.0", "nodes": [{"id": "a"}, {"id": "b"}, {"id": "c"}]}
    assert (found.mode, found.edges, found.start_node) == ("order", (), "a")


def test_an_empty_list_of_edges_means_document_order_too() -> None:
    found = document({"nodes": [{"id": "a"}, {"id": "b"}], "edges": []})
    assert (found.mode, found.edges) == ("order", ())


def test_data_edges_stay_as_written() -> None:
    found = document({"nodes": [{"id": "a"}, {"id": "b"}], "edges": "data"})
    assert (found.mode, found.edges, found.start_node) == ("data", (), None)
    assert found.raw["edges"] == "data"


@pytest.mark.requirement("security:8.1-3")
def test_a_node_without_type_has_its_id_as_type() -> None:
    assert document({"nodes": [{"id": "llm", "version": "1.0.0"}]}).nodes[0].type == "llm"


@pytest.mark.requirement("security:8.1-1", "security:8.1-4", "security:8.1-5")
def test_the_wrapper_form_of_mcp_nodes_is_read() -> None:
    parsed = read_file(CORPUS / "valid/wrapper.json")
    assert parsed.issues == ()
    assert parsed.document is not None
    first, llm, _ = parsed.document.nodes
    assert (first.type, first.mcp_server, first.mcp_tool) == ("mcp_wrapper", "github-server", "search_code")
    assert (llm.type, llm.mcp_server) == ("llm", None)
    assert parsed.document.metadata["planner_version"] == "1.0.0"
    assert parsed.document.edges[0] == Edge(source="mcp-github-search-code", target="llm", path=("edges", 0))
    mapping = parsed.document.mappings["mcp-slack-send-message"]
    assert mapping.input_mappings == {"message": "summary", "channel": "dev-team-alerts"}


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("string", "string"),
        ("str", "string"),
        ("integer", "integer"),
        ("int", "integer"),
        ("number", "number"),
        ("float", "number"),
        ("boolean", "boolean"),
        ("bool", "boolean"),
        ("array", "array"),
        ("list", "array"),
        ("object", "object"),
        ("dict", "object"),
        ("any", "any"),
        (None, "any"),
    ],
)
def test_types_and_their_aliases_mean_one_thing(written: str | None, meant: str) -> None:
    found = document({"nodes": [{"id": "a"}], "inputs": {"x": {"type": written}}, "outputs": {"y": {"type": written}}})
    assert (found.inputs["x"].type, found.outputs["y"].type) == (meant, meant)


@pytest.mark.parametrize(
    ("declared", "required", "has_default"),
    [
        ({}, True, False),
        ({"default": 1}, False, True),
        ({"default": None}, False, True),
        ({"default": None, "required": True}, True, False),
        ({"default": None, "required": False}, False, True),
        ({"default": 1, "required": True}, True, True),
        ({"required": False}, False, False),
    ],
)
def test_an_input_is_required_unless_it_has_a_default(
    declared: dict[str, Any], required: bool, has_default: bool
) -> None:
    found = document({"nodes": [{"id": "a"}], "inputs": {"x": declared}}).inputs["x"]
    assert (found.required, found.has_default) == (required, has_default)


def test_a_node_may_lead_to_itself_for_an_action() -> None:
    looped = {"nodes": [{"id": "a"}], "edges": [{"from": "a", "to": "a", "action": "again"}]}
    assert document(looped).edges == (Edge(source="a", target="a", action="again", path=("edges", 0)),)


def test_json_and_yaml_hold_the_same_model() -> None:
    text = "nodes:\n  - id: a\n    timeout: 1.5\n    params: {list: [1, true, null, x], 'quoted': '5'}\n"
    same = {"nodes": [{"id": "a", "timeout": 1.5, "params": {"list": [1, True, None, "x"], "quoted": "5"}}]}
    assert parse_text(text, suffix=".yaml").document == parse_text(orjson.dumps(same)).document


def test_the_first_character_tells_json_from_yaml_without_a_suffix() -> None:
    assert document('\n {"nodes": [{"id": "a"}]}').nodes[0].id == "a"
    assert document("nodes: [{id: a}]").nodes[0].id == "a"
    assert codes(parse_text("{nodes: [{id: a}]}")) == ["syntax"]
    assert parse_text("{nodes: [{id: a}]}", suffix=".YML").issues == ()
    assert codes(parse_text("nodes: [{id: a}]", suffix=".json")) == ["syntax"]


def test_an_inline_document_is_a_copy() -> None:
    value: dict[str, Any] = {"nodes": [{"id": "a", "params": {"x": [1]}}]}
    found = document(value)
    value["nodes"][0]["params"]["x"].append(2)
    assert found.nodes[0].params == {"x": [1]}
    assert found.raw["nodes"] == [{"id": "a", "params": {"x": [1]}}]


# ---- what is reported


def test_everything_wrong_is_reported_at_once_in_the_order_of_the_text() -> None:
    text = """{
  "title": "x",
  "nodes": [
    {"id": "fetch", "tipe": "http"},
    {"id": "fetch", "timeout": "30"},
    {"id": "lost"},
    {"id": "b c"}
  ],
  "edges": [
    {"from": "fetch", "to": "b c"},
    {"from": "fetch", "to": "fetch"},
    {"from": "fetch", "to": "sav"}
  ],
  "inputs": {"fetch": {"type": "strng"}},
  "start_node": "fetsh"
}"""
    found = [(i.code, i.path, i.line, i.column) for i in parse_text(text).issues]
    assert found == [
        ("unknown-field", "title", 2, 3),
        ("unknown-field", "nodes[0].tipe", 4, 21),
        ("duplicate-id", "nodes[1].id", 5, 12),
        ("wrong-type", "nodes[1].timeout", 5, 32),
        ("bad-name", "nodes[3].id", 7, 12),
        ("self-edge", "edges[1]", 11, 5),
        ("unknown-node", "edges[2].to", 12, 29),
        ("name-clash", "inputs.fetch", 14, 14),
        ("unknown-type", "inputs.fetch.type", 14, 32),
        ("unknown-node", "start_node", 15, 17),
    ]


def test_an_unknown_field_lists_the_known_ones_and_the_one_that_was_meant() -> None:
    found = issue({"nodes": [{"id": "a", "parms": {}}]})
    assert found.message == "a node has no field `parms`"
    assert found.known[:3] == ("id", "type", "params")
    assert found.hint == "did you mean `params`?"


@pytest.mark.parametrize(
    ("value", "hint"),
    [
        ({"nodes": [{"id": "a"}], "title": "x"}, "did you mean `name`?"),
        ({"steps": [{"id": "a"}]}, "did you mean `nodes`?"),
        ({"nodes": [{"id": "a", "arguments": {}}]}, "did you mean `params`?"),
        ({"nodes": [{"name": "a"}]}, "did you mean `id`?"),
        ({"nodes": [{"id": "a", "name": "A"}]}, ""),
        ({"nodes": [{"id": "a"}], "parameters": {}}, "did you mean `inputs`?"),
        ({"nodes": [{"id": "a", "timeout": "30"}]}, "write seconds, or a string such as `90s`, `15m`, `2h` or `3d`"),
        ({"nodes": [{"id": "a", "retry": {"attempts": "3"}}]}, "write 3 without quotes"),
        ({"nodes": [{"id": "a", "description": 5}]}, 'put it in quotes: "5"'),
        ({"nodes": [{"id": "a", "retry": 3}]}, 'write {"attempts": 3}'),
        ({"nodes": [{"id": "a"}], "inputs": {"x": "int"}}, 'write {"type": "int"}'),
        ({"nodes": [{"id": "a"}], "outputs": {"x": "a.y"}}, 'write {"source": "${node.output}"}'),
        ({"nodes": [{"id": "fetch"}], "start_node": "fetsh"}, "did you mean `fetch`?"),
        (
            {"nodes": [{"id": "b"}, {"id": "a"}], "edges": [{"from": "a", "to": "b"}]},
            'should the document start there? Set "start_node": "a"',
        ),
    ],
)
def test_an_issue_says_what_to_do(value: dict[str, Any], hint: str) -> None:
    assert issue(value).hint == hint


def test_a_mistyped_field_causes_one_issue_and_not_many() -> None:
    parsed = parse_text('{"nodes": [{"Id": "a"}, {"id": "b"}], "edges": [{"form": "a", "to": "b"}]}')
    assert [(i.code, i.path) for i in parsed.issues] == [
        ("unknown-field", "nodes[0].Id"),
        ("unknown-field", "edges[0].form"),
    ]


def test_a_mistyped_node_in_an_edge_does_not_make_others_unreachable() -> None:
    parsed = parse_text('{"nodes": [{"id": "fetch"}, {"id": "save"}], "edges": [{"from": "fetsh", "to": "save"}]}')
    assert codes(parsed) == ["unknown-node"]


def test_unreadable_nodes_do_not_accuse_the_edges() -> None:
    assert codes(parse_value({"nodes": "all", "edges": [{"from": "a", "to": "b"}]})) == ["wrong-type"]


def test_a_document_with_issues_keeps_each_node_at_its_index() -> None:
    parsed = parse_value({"nodes": [{"id": "a"}, {"id": "a", "type": "x"}, {"type": "y"}, {"id": "b"}]})
    assert codes(parsed) == ["duplicate-id", "missing-field"]
    assert parsed.document is not None
    assert [node.type for node in parsed.document.nodes] == ["a", "x", "y", "b"]


def test_a_document_with_something_that_is_no_node_is_not_built() -> None:
    assert parse_value({"nodes": [{"id": "a"}, 5]}).document is None


@pytest.mark.parametrize(("count", "code"), [(10_000, []), (10_001, ["too-many"])])
def test_ten_thousand_nodes_are_the_limit(count: int, code: list[Any]) -> None:
    parsed = parse_value({"nodes": [{"id": f"n{index}"} for index in range(count)]})
    assert codes(parsed) == code
    assert all("10,000" in found.message for found in parsed.issues)


def test_fifty_thousand_edges_are_the_limit() -> None:
    edge = {"from": "a", "to": "a", "action": "x"}
    assert codes(parse_value({"nodes": [{"id": "a"}], "edges": [edge] * 50_000})) == []
    too_many = issue({"nodes": [{"id": "a"}], "edges": [edge] * 50_001})
    assert too_many.code == "too-many"
    assert "50,000" in too_many.message


def test_after_a_thousand_issues_the_rest_is_counted() -> None:
    parsed = parse_value({"nodes": [{"id": "a"}], **{f"k{index}": 1 for index in range(1500)}})
    assert len(parsed.issues) == 1001
    assert parsed.issues[-1].message == "500 further issues are not listed"


@pytest.mark.parametrize(
    ("version", "word"), [("0.0.9", "older"), ("0.2.0", "newer"), ("1", "newer"), ("x.y", "not a valid version")]
)
def test_another_version_is_refused_with_the_one_that_is_read(version: str, word: str) -> None:
    found = issue({"ir_version": version, "nodes": [{"id": "a"}]})
    assert found.code == "unsupported-version"
    assert word in found.message
    assert found.known == ("0.1.0",)


def test_issues_of_inline_documents_have_no_line() -> None:
    found = issue({"nodes": [{"id": "a", "x y": 1}]})
    assert (found.path, found.line, found.column) == ('nodes[0]["x y"]', 0, 0)


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [
        ('{"nodes": [{"id": "a"},]}', 1, 23),
        ('{\n  "nodes": [\n    {"id": "a" "type": "b"}\n  ]\n}', 3, 16),
        ('{\n "größe": nein}', 2, 11),
        ('{"nodes": [', 1, 12),
    ],
)
def test_a_syntax_error_has_its_place(text: str, line: int, column: int) -> None:
    found = issue(text)
    assert (found.code, found.line, found.column) == ("syntax", line, column)


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ('{"nodes": [{"id": "a"},]}', "remove the comma before the closing bracket"),
        ("{'nodes': []}", 'JSON strings stand in plain double quotes: "…"'),
        (
            '{"nodes": [] // x\n}',
            "JSON has no comments; put the note into `description`, or write the document as YAML",
        ),
        ('{"nodes": None}', "JSON writes `true`, `false` and `null`"),
        ('{"nodes": [', "the text ends too early: is a quote or bracket left open?"),
        ('{"nodes": "a\nb"}', "write a line break inside a string as \\n"),
    ],
)
def test_common_mistakes_in_json_are_named(text: str, hint: str) -> None:
    assert issue(text).hint == hint


@pytest.mark.parametrize(("written", "seconds"), [(0, 0.0), (1.5, 1.5), ("90s", 90.0), ("15m", 900.0), ("0s", 0.0)])
def test_the_wait_before_another_attempt_is_a_duration(written: object, seconds: float) -> None:
    found = document({"nodes": [{"id": "a", "retry": {"attempts": 2, "wait": written}}]})
    assert found.nodes[0].retry == Retry(attempts=2, wait=seconds)


@pytest.mark.parametrize(
    ("written", "code"), [("soon", "wrong-type"), (-1, "out-of-range"), ("2d", "out-of-range"), (True, "wrong-type")]
)
def test_a_wait_that_is_no_duration_of_at_most_a_day_is_refused(written: object, code: str) -> None:
    assert issue({"nodes": [{"id": "a", "retry": {"attempts": 2, "wait": written}}]}).code == code
