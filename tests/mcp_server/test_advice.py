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


def test_hints_name_tools_and_no_commands(client: Client) -> None:
    document = {"nodes": [{"id": "a", "type": "no-such-thing-at-all"}]}
    for answer in (
        client.call("workflow_validate", workflow=document),
        client.call("workflow_execute", workflow=document),
        client.call("workflow_save", workflow=document, name="advice", is_temp=True),
    ):
        assert "registry_" in answer.text
        assert "`pflow " not in f"{answer.text}{answer.envelope}"
