"""What a document gives a tool is checked against its schema before the run, and what can be converted arrives so."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.cli.conftest import Pflow
from tests.mcp.step.conftest import Serve, tool

EDIT: dict[str, Any] = {
    "name": "edit",
    "description": "Edits files.",
    "inputSchema": {
        "type": "object",
        "properties": {
            "theme": {"type": "string", "enum": ["light", "dark"]},
            "size": {"type": "integer", "minimum": 1, "maximum": 9},
            "note": {"type": "string"},
            "flag": {"type": "boolean"},
            "files": {
                "type": "array",
                "items": {"$ref": "#/$defs/File"},
            },
            "target": {
                "anyOf": [
                    {"type": "object", "properties": {"kind": {"const": "page"}, "id": {"type": "integer"}},
                     "required": ["kind", "id"], "additionalProperties": False},
                    {"type": "object", "properties": {"kind": {"const": "user"}, "name": {"type": "string"}},
                     "required": ["kind", "name"], "additionalProperties": False},
                ]
            },
        },
        "$defs": {
            "File": {
                "type": "object",
                "properties": {
                    "path": {"type": "string"},
                    "mode": {"const": "append"},
                    "lines": {"type": "array", "items": {"type": "integer"}},
                },
                "required": ["path", "lines"],
                "additionalProperties": False,
            }
        },
    },
}  # fmt: skip


def document(*before: dict[str, Any], inputs: dict[str, Any] | None = None, **params: Any) -> str:
    nodes = [*before, {"id": "e", "type": "mcp-a-edit", "params": params}]
    return json.dumps({"inputs": inputs or {}, "nodes": nodes})


def found(pflow: Pflow, text: str) -> list[tuple[str, str]]:
    said = pflow("validate", "-", "--json", stdin=text)
    answer = said.json
    issues = answer["data"]["warnings"] if said.code == 0 else answer["error"]["details"]["issues"]
    return [(issue["path"], issue["message"]) for issue in issues]


PAGE = {"kind": "page", "id": 1}


@pytest.mark.parametrize(
    ("params", "path", "said"),
    [
        ({"theme": "neon"}, "theme", "`theme` must be `light` or `dark`"),
        ({"size": 12}, "size", "`size` must be at most `9`"),
        ({"note": None}, "note", "`note` must be string, not null"),
        ({"files": [{"path": "x"}]}, "files[0]", "`files[0].lines` is missing"),
        ({"files": [{"path": "${t}"}]}, "files[0]", "`files[0].lines` is missing"),
        ({"files": [{"path": "x", "lines": ["${n}", "one"]}]}, "files[0].lines[1]", "`files[0].lines[1]` must be"),
        ({"files": [{"path": "${t}", "lines": [], "pth": 1}]}, "files[0]", "`files[0].pth` is not known"),
        ({"files": [{"path": "x", "lines": [], "mode": "insert"}]}, "files[0].mode", "`files[0].mode` must be"),
        ({"files": {"path": "${t}"}}, "files", "`files` must be array, not object"),
        ({"target": {**PAGE, "id": "x"}}, "target", "`target` fits none of its alternatives"),
        ({"target": {"kind": "page", "name": "${t}"}}, "target", "`target` fits none of its alternatives"),
    ],
)  # fmt: skip
def test_a_constant_that_the_schema_refuses_is_an_issue_at_its_place(
    pflow: Pflow, serve: Serve, params: dict[str, Any], path: str, said: str
) -> None:
    server = serve("a", EDIT)
    inputs = {"t": {"type": "string"}, "n": {"type": "integer"}}
    [(place, message)] = found(pflow, document(inputs=inputs, **params))
    assert place == f"nodes[0].params.{path}"
    assert message.startswith(f"node `e` (mcp-a-edit): {said}")
    assert server.pids == []


@pytest.mark.parametrize(
    "params",
    [
        {"theme": "dark", "size": 9, "note": "", "files": [], "target": PAGE},
        {"theme": "${t}", "size": "${n}", "files": "${any}", "target": "${any}"},
        {"theme": "da${t}", "files": [{"path": "a ${t}", "lines": ["${n}", 1], "mode": "${t}"}]},
        {"target": {"kind": "${t}", "id": 1}},
        {"target": {"kind": "${t}", "name": "${t}"}},
        {"target": {"kind": "page", "id": "${any}"}},
        {"note": "$${not a template}"},
    ],
)
def test_templates_inside_of_a_constant_may_be_anything_that_their_type_can_be(
    pflow: Pflow, serve: Serve, params: dict[str, Any]
) -> None:
    serve("a", EDIT)
    inputs = {"t": {"type": "string"}, "n": {"type": "integer"}, "any": {}}
    assert found(pflow, document(inputs=inputs, **params)) == []


@pytest.mark.parametrize(
    ("params", "path"),
    [
        ({"size": "${t}"}, "size"),
        ({"flag": "${n}"}, "flag"),
        ({"note": "${list}"}, "note"),
        ({"files": "${t}"}, "files"),
        ({"files": [{"path": "${list}", "lines": []}]}, "files[0].path"),
        ({"files": [{"path": "x", "lines": "${t}"}]}, "files[0].lines"),
        ({"files": [{"path": "x", "lines": ["${t}"]}]}, "files[0].lines[0]"),
        ({"files": ["${n}"]}, "files[0]"),
        ({"target": "${n}"}, "target"),
        ({"size": "${t} px"}, "size"),
    ],
)
def test_a_template_of_another_type_is_an_issue_however_deep_it_stands(
    pflow: Pflow, serve: Serve, params: dict[str, Any], path: str
) -> None:
    serve("a", EDIT)
    inputs = {"t": {"type": "string"}, "n": {"type": "integer"}, "list": {"type": "array"}}
    [(place, message)] = found(pflow, document(inputs=inputs, **params))
    assert place == f"nodes[0].params.{path}" and " must be " in message


def test_what_converts_without_loss_arrives_converted(pflow: Pflow, serve: Serve) -> None:
    server = serve("a", EDIT)
    before = [
        {"id": "seven", "type": "shell", "params": {"command": "echo ' 7 '"}},
        {"id": "yes", "type": "shell", "params": {"command": "echo true"}},
        {"id": "half", "type": "code", "params": {"code": "result = {'n': 0.5, 'whole': 3.0, 'no': False}"}},
    ]
    params: dict[str, Any] = {
        "size": "${seven.stdout}",
        "flag": "${yes.stdout}",
        "note": "${half.result.n}",
        "files": [
            {"path": "${half.result.no}", "lines": ["${half.result.whole}", "${seven.exit_code}", "${seven.stdout}"]}
        ],
        "target": {"kind": "page", "id": "${half.absent:-12}"},
    }
    said = pflow("run", "-", stdin=document(*before, **params).replace("${half.absent", "${half.result.absent"))
    assert said.code == 0, said
    [arguments] = server.calls
    lines, target = [3, 0, 7], {"kind": "page", "id": 12}
    assert arguments == {
        "size": 7,
        "flag": True,
        "note": "0.5",
        "files": [{"path": "false", "lines": lines}],
        "target": target,
    }


def test_text_that_does_not_convert_fails_the_step_before_the_call(pflow: Pflow, serve: Serve) -> None:
    server = serve("a", EDIT)
    said = pflow("run", "-", stdin=document(shell("echo many"), size="${sh.stdout}"))
    assert said.code == 1 and "`size` must be integer, not string" in said.err
    assert server.calls == []


def shell(command: str) -> dict[str, Any]:
    return {"id": "sh", "type": "shell", "params": {"command": command}}


def test_declared_outputs_of_a_tool_are_compared_with_what_takes_them(pflow: Pflow, serve: Serve) -> None:
    schema = {
        "type": "object",
        "properties": {"rows": {"type": "array", "items": {"type": "object"}}, "text": {"type": "string"}},
        "required": ["rows", "text"],
    }
    serve("a", EDIT, {**tool("query"), "outputSchema": schema})
    nodes = [
        {"id": "q", "type": "mcp-a-query"},
        {"id": "b", "type": "echo", "params": {"x": "${item}"}, "batch": {"items": "${q.text}"}},
        {"id": "c", "type": "read-file", "params": {"path": "${row}"}, "batch": {"items": "${q.rows}", "as": "row"}},
        {"id": "d", "type": "mcp-a-edit", "params": {"note": "${q.result.rows}"}},
    ]
    said = pflow("validate", "-", "--json", stdin=json.dumps({"nodes": nodes}))
    issues = said.json["error"]["details"]["issues"]
    assert [issue["path"] for issue in issues] == [
        "nodes[1].batch.items",
        "nodes[2].params.path",
        "nodes[3].params.note",
    ]
    assert "read it in a `parse` step" in issues[0]["hint"]


def test_observed_types_only_warn(pflow: Pflow, serve: Serve) -> None:
    server = serve(
        "a", EDIT, tool("query"), replies={"query": [{"result": {"content": [{"type": "text", "text": '{"n": [1]}'}]}}]}
    )
    assert pflow("call", "a", "query").code == 0, server.asked("tools/call")
    nodes = [
        {"id": "q", "type": "mcp-a-query"},
        {"id": "e", "type": "mcp-a-edit", "params": {"size": "${q.result.n}"}},
    ]
    said = pflow("validate", "-", "--json", stdin=json.dumps({"nodes": nodes}))
    assert said.code == 0
    [warning] = said.json["data"]["warnings"]
    assert warning["path"] == "nodes[1].params.size"
    assert "is array (as seen in 1 call)" in warning["message"]


@pytest.mark.parametrize(
    "words",
    [
        ("call", "a", "edit", "theme=neon"),
        ("registry", "run", "mcp-a-edit", "theme=neon"),
        ("mcp-a-edit --theme=neon",),
    ],
)
def test_one_call_is_checked_by_the_same_rule(pflow: Pflow, serve: Serve, words: tuple[str, ...]) -> None:
    server = serve("a", EDIT)
    said = pflow(*words)
    assert said.code == 2, said
    assert "`theme` must be `light` or `dark`" in said.err
    assert server.pids == []
