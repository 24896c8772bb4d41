"""What is wrong with a document is told with what to write instead, in words that an agent can follow."""

from __future__ import annotations

import pytest

from tests.mcp_server.client import Client


def echo(text: str) -> dict[str, object]:
    """A document whose second node says a text."""
    nodes = [
        {"id": "find", "type": "list-files", "params": {"path": "."}},
        {"id": "say", "type": "echo", "params": {"text": text}},
    ]
    return {"nodes": nodes}


@pytest.mark.parametrize(
    ("text", "advice"),
    [
        ("${find.fils}", "did you mean `${find.files}`?"),
        ("${fnd.files}", "did you mean `${find.files}`?"),
        ("${find.names}", "there is files (array), skipped (integer)"),
    ],
)
def test_the_text_of_an_issue_has_the_correction_or_what_there_is(client: Client, text: str, advice: str) -> None:
    [_, line] = client.call("workflow_validate", workflow=echo(text)).text.splitlines()
    assert line.startswith("- nodes[1].params.text: ")
    assert line.endswith(f"; {advice}")


def test_an_agent_is_told_of_wrong_types_and_how_to_mend_them(client: Client) -> None:
    nodes = [
        {"id": "sh", "type": "shell", "params": {"command": "echo [1]"}},
        {"id": "each", "type": "echo", "params": {"x": "${item}"}, "batch": {"items": "${sh.stdout}"}},
    ]
    found = client.call("workflow_validate", workflow={"nodes": nodes})
    assert found.data["valid"] is False
    [issue] = found.data["errors"]
    assert issue["path"] == "nodes[1].batch.items" and "`parse` step" in issue["hint"]


def test_hints_name_tools_and_no_commands(client: Client) -> None:
    document = {"nodes": [{"id": "a", "type": "no-such-thing-at-all"}]}
    for answer in (
        client.call("workflow_validate", workflow=document),
        client.call("workflow_execute", workflow=document),
        client.call("workflow_save", workflow=document, name="advice", is_temp=True),
    ):
        assert "registry_" in answer.text
        assert "`pflow " not in f"{answer.text}{answer.envelope}"


def test_a_failed_run_says_how_it_goes_on_after_an_edit(client: Client) -> None:
    nodes = [
        {"id": "first", "type": "echo", "params": {"text": "once"}},
        {"id": "second", "type": "code", "params": {"code": "result = text['x']", "inputs": {"text": "${first.text}"}}},
    ]
    failed = client.call("workflow_execute", workflow={"nodes": nodes})
    run = failed.envelope["checkpoint"]["run_id"]
    assert failed.text.splitlines()[-2:] == [
        "completed: `first`",
        f"after a fix, workflow_execute(resume='{run}') goes on from there; "
        "give `workflow` as well if the document was edited",
    ]
    nodes[1]["params"] = {"code": "result = text.upper()", "inputs": {"text": "${first.text}"}}
    edited = {"nodes": nodes, "outputs": {"said": {"source": "${second.result}"}}}
    assert client.call("workflow_execute", workflow=edited, resume=run).data["outputs"] == {"said": "ONCE"}
