"""Whoever sees only the text of an answer still sees what is taken and given."""

from __future__ import annotations

import pytest

from pflow.mcp_server.signature import signature
from tests.mcp_server.client import Client

DOCUMENT = {
    "inputs": {"who": {"type": "string"}, "times": {"type": "integer", "default": 2}, "note": {"required": False}},
    "nodes": [{"id": "echo", "params": {"text": "${who}"}}],
    "outputs": {"said": {"type": "string", "source": "${echo.text}"}},
}


@pytest.mark.parametrize(
    ("about", "shown"),
    [
        ({}, "()"),
        ({"interface": None}, ""),
        ({"inputs": {"a": {"type": "string", "required": True}}, "outputs": {"b": {}}}, "(a: string) → b: any"),
        ({"interface": {"params": [{"name": "a\n", "type": "number", "default": 1.5}]}}, "(a\\n: number = 1.5)"),
        ({"interface": {"params": [{"name": "x" * 1000}]}}, f"({'x' * 398}…"),
        ({"inputs": ["a", 1], "outputs": "b"}, "()"),
    ],
)
def test_a_signature_is_one_line_that_can_be_read(about: dict[str, object], shown: str) -> None:
    assert signature(about) == shown


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [("registry_discover", {"task": "write file"}), ("registry_describe", {"nodes": ["write-file"]})],
)
def test_the_text_about_a_node_has_its_signature(client: Client, tool: str, arguments: dict[str, object]) -> None:
    shown = '  (path: string, content: any, append: boolean = false, encoding: string = "utf-8") → path: string, size: '
    assert client.call(tool, **arguments).text.splitlines()[1] == f"{shown}integer"


def test_the_text_about_a_workflow_has_its_signature(client: Client) -> None:
    client.call("workflow_save", workflow=DOCUMENT, name="salute", description="Salute somebody")
    text = client.call("workflow_discover", query="salute").text
    assert text.splitlines()[1] == "  (who: string, times: integer = 2, note?: any) → said: string"
