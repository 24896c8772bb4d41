"""`trace_read`: first in short, then one step, then one value in pages; nothing outside of the trace folder."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.mcp_server.client import Client

DOCUMENT: dict[str, Any] = {
    "name": "traced",
    "nodes": [
        {"id": "first", "type": "echo", "params": {"rows": [{"title": "one"}, {"title": "two"}]}},
        {"id": "second", "type": "echo", "params": {"text": "x" * 100_000}},
    ],
    "outputs": {"title": {"source": "${first.rows[1].title}"}},
}


@pytest.fixture(scope="module")
def run(client: Client) -> dict[str, Any]:
    answer = client.call("workflow_execute", workflow=DOCUMENT)
    return {"id": answer.data["run_id"], "path": answer.envelope["trace_path"]}


@pytest.mark.requirement("server13:trace_read-1", "server13:trace_read-2")
def test_a_trace_is_found_as_the_latest_by_id_and_by_path(client: Client, run: dict[str, Any]) -> None:
    for reference in ("latest", run["id"], run["id"][:20], run["path"], Path(run["path"]).name):
        data = client.call("trace_read", trace_file=reference).data
        assert (data["run_id"], data["status"], data["workflow"]) == (run["id"], "completed", "traced")
    assert client.call("trace_read").data["run_id"] == run["id"]


def test_the_summary_is_short_and_names_what_there_is(client: Client, run: dict[str, Any]) -> None:
    answer = client.call("trace_read", trace_file=run["id"])
    assert [(step["step"], step["status"], step["outputs"]) for step in answer.data["steps"]] == [
        ("first", "completed", ["rows"]),
        ("second", "completed", ["text"]),
    ]
    assert answer.data["outputs"] == {"title": "two"}
    assert len(str(answer.raw)) < 3000


def test_one_step_is_shown_with_its_values_and_large_ones_in_short(client: Client, run: dict[str, Any]) -> None:
    first = client.call("trace_read", trace_file=run["id"], step="first").data
    assert first["outputs"]["rows"][0] == {"title": "one"}
    second = client.call("trace_read", trace_file=run["id"], step="second")
    assert len(str(second.raw)) < 3000


def test_one_value_is_read_by_its_path_and_in_pages(client: Client, run: dict[str, Any]) -> None:
    asked = {"trace_file": run["id"], "step": "first"}
    assert client.call("trace_read", **asked, field="outputs.rows[1].title").data["value"] == "two"
    page = client.call("trace_read", trace_file=run["id"], step="second", field="outputs.text").data
    assert (len(page["text"]), page["next"], page["size"]) == (20480, 20480, 100_000)
    last = client.call("trace_read", trace_file=run["id"], step="second", field="outputs.text", offset=99_990).data
    assert (last["text"], last["next"]) == ("x" * 10, None)


def test_what_is_not_in_a_trace_is_reported_with_what_is(client: Client, run: dict[str, Any]) -> None:
    error = client.call("trace_read", trace_file=run["id"], step="frist").error
    assert (error["type"], error["suggestions"]) == ("not_found", ["did you mean `first`?"])
    error = client.call("trace_read", trace_file=run["id"], step="first", field="outputs.row").error
    assert (error["type"], error["details"]["it has"]) == ("not_found", ["rows"])


@pytest.mark.parametrize(
    "reference",
    [
        "/etc/passwd",
        "../settings.json",
        "~/.ssh/id_rsa",
        "debug/../settings.json",
        "workflow-trace-/../../settings.json",
        "{home}/settings.json",
        "{home}/debug/../settings.json",
        "{home}/debug-evil/workflow-trace-x.json",
    ],
)
def test_no_other_file_is_read(client: Client, run: dict[str, Any], reference: str) -> None:
    answer = client.call("trace_read", trace_file=reference.format(home=client.home))
    assert answer.error["type"] == "security"
    assert reference not in str(answer.raw)


@pytest.mark.parametrize("reference", ["nonsense", "20200101", "workflow-trace-absent.json", "", "\x00", "a" * 5000])
def test_a_trace_that_does_not_exist_is_reported(client: Client, run: dict[str, Any], reference: str) -> None:
    answer = client.call("trace_read", trace_file=reference)
    if reference:
        assert answer.error["type"] in ("not_found", "security")
    else:
        assert answer.data["run_id"]


def test_a_link_in_the_trace_folder_is_not_followed(client: Client, run: dict[str, Any]) -> None:
    link = client.home / "debug" / "workflow-trace-link.json"
    link.symlink_to("/etc/passwd")
    assert client.call("trace_read", trace_file=link.name).is_error
    link.unlink()


def test_there_is_no_trace_before_the_first_run(start: Callable[..., Client]) -> None:
    error = start().call("trace_read").error
    assert (error["type"], error["suggestions"]) == ("not_found", ["workflow_execute"])


def test_items_of_a_batch_are_read_by_their_number(client: Client, run: dict[str, Any]) -> None:
    each = {"id": "each", "type": "code", "batch": {"items": [1, 0, 4], "on_error": "continue"}}
    document = {"name": "items", "nodes": [{**each, "params": {"inputs": {"n": "${item}"}, "code": "result = 8 / n"}}]}
    run_id = client.call("workflow_execute", workflow=document).data["run_id"]
    for reference in (run_id, "items", "latest", "items~0"):
        item = client.call("trace_read", trace_file=reference, step="each[2]").data
        assert (item["step"], item["status"], item["outputs"]["result"]) == ("each[2]", "completed", 2.0)
    assert ", 1 of 3 items failed" in client.call("trace_read", trace_file=run_id).text
    failed = client.call("trace_read", trace_file=run_id, step="each[1]").data
    assert (failed["status"], "division by zero" in failed["error"]["message"]) == ("failed", True)
    results = client.call("trace_read", trace_file=run_id, step="each", field="outputs.results").data["value"]
    assert [None if one is None else one["result"] for one in results] == [8.0, None, 2.0]
    assert client.call("trace_read", trace_file="traced").data["run_id"] == run["id"], "a workflow's newest run"
