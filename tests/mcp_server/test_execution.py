"""`workflow_execute` and `workflow_validate` through a real session."""

from __future__ import annotations

import pytest

HELLO = {
    "inputs": {"name": {"type": "string", "required": True}},
    "nodes": [{"id": "greet", "type": "echo", "params": {"text": "hello ${name}"}}],
    "outputs": {"greeting": {"source": "${greet.text}"}},
}


@pytest.mark.requirement("server13:workflow_execute-1", "server13:workflow_execute-5", "server13:response-1")
def test_a_document_runs_and_gives_its_outputs_and_its_trace(either):
    answer = either.call("workflow_execute", workflow=HELLO, parameters={"name": "Ada"})
    assert answer.data["outputs"] == {"greeting": "hello Ada"}
    assert answer.data["steps"] == 1
    assert answer.envelope["trace_path"] == str(either.home / "debug" / f"workflow-trace-{answer.data['run_id']}.json")
    assert "greeting: hello Ada" in answer.text


@pytest.mark.requirement("server13:workflow_validate-2")
def test_validating_tells_every_mistake_with_its_place_and_a_fix(either):
    answer = either.call("workflow_validate", workflow={"nodes": [{"id": "a", "type": "ecko"}, {"id": "a"}]})
    assert answer.data["valid"] is False
    assert {issue["code"] for issue in answer.data["errors"]} >= {"duplicate-id"}
    assert all("message" in issue and "path" in issue for issue in answer.data["errors"])
