"""JSON inside a result that is declared as text: the whole is that text, a path leads into the JSON."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Pflow, Said
from tests.mcp.step.conftest import Serve, tool

DECLARED = {"type": "object", "properties": {"result": {"type": "string"}}, "required": ["result"]}
ROWS = {"success": True, "rows": [[42, "x"], [43, "y"]], "at": {"by name": None}}


def gives(value: object) -> dict[str, Any]:
    """A reply of a server that declares text and puts JSON into it."""
    text = value if isinstance(value, str) else json.dumps(value, indent=1)
    return {"result": {"content": [{"type": "text", "text": text}], "structuredContent": {"result": text}}}


@pytest.fixture
def duck(serve: Serve) -> Any:
    def make(*values: object, declared: dict[str, Any] = DECLARED) -> None:
        serve("duck", tool("query", outputSchema=declared), replies={"query": [gives(value) for value in values]})

    return make


def run(pflow: Pflow, folder: Path, *nodes: dict[str, Any], **outputs: str) -> Said:
    document = {
        "nodes": [{"id": "q", "type": "mcp-duck-query"}, *nodes],
        "outputs": {name: {"source": source} for name, source in outputs.items()},
    }
    path = folder / "w.json"
    path.write_text(json.dumps(document))
    checked = pflow("validate", str(path))
    return pflow("run", str(path), "--json") if checked.code == 0 else checked


def test_a_path_leads_into_the_json_and_the_whole_stays_text(pflow: Pflow, duck: Any, tmp_path: Path) -> None:
    duck(ROWS)
    said = run(
        pflow,
        tmp_path,
        cell="${q.result.rows[0][0]}",
        part="${q.result.at}",
        odd='${q.result.at["by name"]}',
        inside="n = ${q.result.rows[1][0]}",
        whole="${q.result}",
    )
    assert said.json["data"]["outputs"] == {
        "cell": 42,
        "part": {"by name": None},
        "odd": None,
        "inside": "n = 43",
        "whole": json.dumps(ROWS, indent=1),
    }


def test_an_expression_leads_into_the_json_as_a_template_does(pflow: Pflow, duck: Any, tmp_path: Path) -> None:
    duck(ROWS, ROWS, ROWS)
    expressions = {
        "cell": "q.result.rows[0][0] + 1",
        "there": "has(q.result.at) && !has(q.result.nothing)",
        "size": "size(q.result)",
        "steps": 'steps["q"].result.success',
    }
    compute = {"id": "v", "type": "let", "params": expressions}
    said = run(pflow, tmp_path, compute, v="${v}")
    text = json.dumps(ROWS, indent=1)
    assert said.json["data"]["outputs"] == {"v": {"cell": 43, "there": True, "size": len(text), "steps": True}}
    calls = {"id": "each", "type": "mcp-duck-query", "batch": {"items": [1, 2]}}
    rows = {"id": "rows", "type": "let", "params": {"n": "each.results[1].result.rows[1][0]"}}
    whole = {"id": "whole", "type": "let", "params": {"text": "q.result"}}
    said = run(pflow, tmp_path, calls, rows, whole, n="${rows.n}", text="${whole.text}")
    assert said.json["data"]["outputs"] == {"n": 43, "text": text}


def test_what_was_seen_is_a_warning_in_an_expression(pflow: Pflow, duck: Any, tmp_path: Path) -> None:
    duck(ROWS)
    pflow("call", "duck", "query")
    wrong = {"id": "v", "type": "let", "params": {"x": "has(q.result.rows) ? q.result.row : 0"}}
    path = tmp_path / "v.json"
    path.write_text(json.dumps({"nodes": [{"id": "q", "type": "mcp-duck-query"}, wrong]}))
    said = pflow("validate", str(path))
    assert said.code == 0 and "has no field `row`" in said.err and "did you mean `q.result.rows`?" in said.err


def test_a_step_that_parses_the_text_itself_keeps_working(pflow: Pflow, duck: Any, tmp_path: Path) -> None:
    duck(ROWS)
    code = {"code": "import json\nresult = json.loads(text)['rows'][0][0]", "inputs": {"text": "${q.result}"}}
    said = run(pflow, tmp_path, {"id": "c", "type": "code", "params": code}, n="${c.result}")
    assert said.json["data"]["outputs"] == {"n": 42}


def test_what_was_seen_is_checked_and_shown(pflow: Pflow, duck: Any, tmp_path: Path) -> None:
    duck(ROWS)
    shape = pflow("call", "duck", "query", "--shape").out.splitlines()
    assert shape[:4] == [
        "result  string that holds JSON",
        "result.success  boolean",
        "result.rows  array of 2",
        "result.rows[0]  array of 2",
    ]
    described = pflow("registry", "describe", "mcp-duck-query").out
    assert "  result  string  seen in 1 call" in described
    assert "\npaths\n  result.success  boolean\n  result.rows  array\n  result.rows[0]  array\n" in described
    wrong = run(pflow, tmp_path, x="${q.result.row}")
    assert (wrong.code, "has no `row` (as seen in 1 call)" in wrong.err) == (2, True)
    assert "did you mean `rows`?" in wrong.err
    assert run(pflow, tmp_path, x="${q.result.row:-none}").json["data"]["outputs"] == {"x": "none"}


def test_before_the_first_call_any_path_may_be_there(pflow: Pflow, duck: Any, tmp_path: Path) -> None:
    duck([1, 2])
    assert run(pflow, tmp_path, x="${q.result[1]}").json["data"]["outputs"] == {"x": 2}


def test_text_that_holds_no_json_has_no_paths(pflow: Pflow, duck: Any, tmp_path: Path) -> None:
    duck("all is well")
    said = run(pflow, tmp_path, {"id": "use", "type": "echo", "params": {"x": "${q.result.rows}"}})
    assert said.json["error"]["message"].endswith("`q.result` is string, and has no `rows`")
    again = run(pflow, tmp_path, x="${q.result.rows}")
    assert (again.code, "is string and has no `rows` (as seen in 1 call)" in again.err) == (2, True)
    assert run(pflow, tmp_path, x="${q.result.rows:-none}").json["data"]["outputs"] == {"x": "none"}


def test_a_tool_that_gives_both_kinds_passes_the_check(pflow: Pflow, duck: Any, tmp_path: Path) -> None:
    duck("none yet", ROWS)
    for _ in range(2):
        pflow("call", "duck", "query")
    assert run(pflow, tmp_path, x="${q.result.rows[0][0]}").json["data"]["outputs"] == {"x": 42}


@pytest.mark.parametrize(
    "text", ["42", '"x"', "true", "null", "", "{broken", "[" * 500, '{"n": 123456789012345678901}']
)
def test_only_an_object_or_array_that_survives_is_json(pflow: Pflow, duck: Any, tmp_path: Path, text: str) -> None:
    duck(text)
    said = run(pflow, tmp_path, {"id": "use", "type": "echo", "params": {"x": "${q.result.n}"}})
    assert "has no `n`" in said.json["error"]["message"]


def test_json_in_json_is_opened_once(pflow: Pflow, duck: Any, tmp_path: Path) -> None:
    duck({"result": json.dumps({"n": 1}), "inner": '{"n": 2}'})
    assert run(pflow, tmp_path, x="${q.result.result}").json["data"]["outputs"] == {"x": '{"n": 1}'}
    assert run(pflow, tmp_path, x="${q.result.inner.n:-closed}").json["data"]["outputs"] == {"x": "closed"}


def test_items_of_a_batch_and_results_of_one_can_be_opened(pflow: Pflow, duck: Any, tmp_path: Path) -> None:
    duck(ROWS)
    each = {"id": "each", "type": "echo", "params": {"n": "${item[0]}"}, "batch": {"items": "${q.result.rows}"}}
    many = {"id": "many", "type": "mcp-duck-query", "batch": {"items": [1, 2]}}
    use = {
        "id": "use",
        "type": "echo",
        "params": {"n": "${item.result.rows[1][1]}"},
        "batch": {"items": "${many.results}"},
    }
    said = run(
        pflow,
        tmp_path,
        each,
        many,
        use,
        a="${each.results[1].n}",
        b="${many.results[0].result.rows[0][1]}",
        c="${use.results[1].n}",
    )
    assert said.json["data"]["outputs"] == {"a": 43, "b": "x", "c": "y"}


def test_a_resumed_run_opens_the_recorded_text(pflow: Pflow, duck: Any, tmp_path: Path) -> None:
    duck(ROWS)
    gate = {"id": "gate", "type": "read-file", "params": {"path": str(tmp_path / "gate")}}
    use = {"id": "use", "type": "echo", "params": {"n": "${q.result.rows[0][0]}", "t": "${gate.content}"}}
    failed = run(pflow, tmp_path, gate, use, n="${use.n}")
    (tmp_path / "gate").write_text("open")
    resumed = pflow("runs", "resume", failed.json["checkpoint"]["run_id"], "--json")
    assert resumed.json["data"]["outputs"] == {"n": 42}


def test_a_saved_workflow_survives_a_server_that_begins_to_declare_text(
    pflow: Pflow, serve: Serve, tmp_path: Path
) -> None:
    plain = {"text": json.dumps(ROWS)}
    server = serve("duck", tool("query"), replies={"query": [plain]})
    assert run(pflow, tmp_path, x="${q.result.rows[0][0]}").json["data"]["outputs"] == {"x": 42}
    server.write(tool("query", outputSchema=DECLARED), replies={"query": [gives(ROWS)]})
    server.sync()
    assert run(pflow, tmp_path, x="${q.result.rows[0][0]}").json["data"]["outputs"] == {"x": 42}


def test_what_an_earlier_version_saw_does_not_refuse_a_path(
    pflow: Pflow, duck: Any, tmp_path: Path, home: Path
) -> None:
    duck(ROWS)
    pflow("call", "duck", "query")
    path = home / "mcp-observed.json"
    seen = json.loads(path.read_text())
    seen["mcp-duck-query"]["schema"] = {"type": "string"}
    path.write_text(json.dumps(seen))
    assert run(pflow, tmp_path, x="${q.result.rows[0][0]}").json["data"]["outputs"] == {"x": 42}


@pytest.mark.parametrize("declared", [{"type": ["string", "null"]}, {"anyOf": [{"type": "string"}, {"type": "null"}]}])
def test_text_that_may_be_null_is_text(pflow: Pflow, duck: Any, tmp_path: Path, declared: dict[str, Any]) -> None:
    duck(ROWS, declared={**DECLARED, "properties": {"result": declared}})
    assert run(pflow, tmp_path, x="${q.result.rows[0][0]}").json["data"]["outputs"] == {"x": 42}


def test_text_within_a_declared_object_is_not_opened(pflow: Pflow, serve: Serve, tmp_path: Path) -> None:
    held = {"type": "string", "contentMediaType": "application/json", "contentSchema": {"type": "object"}}
    declared = {"type": "object", "properties": {"data": held, "n": {"type": "integer"}}}
    structured = {"data": '{"a": 1}', "n": 1}
    reply = {"result": {"content": [], "structuredContent": structured}}
    serve("duck", tool("query", outputSchema=declared), replies={"query": [reply]})
    assert run(pflow, tmp_path, x="${q.data}").json["data"]["outputs"] == {"x": '{"a": 1}'}
    said = run(pflow, tmp_path, x="${q.result.data.a}")
    assert (said.code, "is string and has no `a`" in said.err) == (2, True)
