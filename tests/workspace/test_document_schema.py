"""The schema that editors and models get says what documents are."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import jsonschema_rs
import pytest

from pflow.core.document.parse import parse_text, parse_value
from pflow.core.file.home import Home
from pflow.workspace import Workspace
from pflow.workspace.guide import TOPICS
from tests.workspace.test_guide import documents_of


@pytest.fixture
def workspace(home: Path) -> Iterator[Workspace]:
    with Workspace(Home(home)) as opened:
        yield opened


@pytest.mark.parametrize("topic", ["", *(topic for topic in TOPICS if topic != "mcp")])
def test_every_document_of_the_guide_fits_the_schema(workspace: Workspace, topic: str) -> None:
    validator = jsonschema_rs.validator_for(workspace.schema())
    for text in documents_of(topic):
        errors = [str(error) for error in validator.iter_errors(parse_text(text).places.value)]
        assert errors == [], text


@pytest.mark.parametrize(
    "document",
    [
        {"nodes": []},
        {"steps": [{"id": "a", "type": "echo"}]},
        {"nodes": [{"id": "a", "type": "bash", "params": {"command": "ls"}}]},
        {"nodes": [{"id": "a", "type": "shell", "params": {"cmd": "ls"}}]},
        {"nodes": [{"id": "a", "type": "shell", "params": {"timeout": "soon"}}]},
        {"nodes": [{"id": "a", "type": "echo"}], "inputs": {"x": {"type": "text"}}},
        {"nodes": [{"id": "a", "type": "echo", "batch": {"items": "one"}}]},
        {"nodes": [{"id": "a b", "type": "echo"}]},
        {"nodes": [{"id": "a", "type": "echo", "limit": "fast"}]},
        {"nodes": [{"id": "a", "type": "echo", "repeatable": "yes"}]},
        {"nodes": [{"id": "a", "type": "echo", "retry": {"attempts": 2, "until": 5}}]},
    ],
)
def test_what_checking_refuses_the_schema_refuses(workspace: Workspace, document: dict[str, object]) -> None:
    assert not jsonschema_rs.validator_for(workspace.schema()).is_valid(document)
    assert not workspace.check(document).ok


def test_the_fields_are_those_that_documents_have(workspace: Workspace) -> None:
    schema = json.loads(json.dumps(workspace.schema(["echo"])))
    [issue] = parse_value({"nodes": [{"id": "a", "type": "echo"}], "?": 1}).issues
    assert sorted(schema["properties"]) == sorted(issue.known)
    [issue] = parse_value({"nodes": [{"id": "a", "type": "echo", "?": 1}]}).issues
    left_out = {"version", "mcp_metadata"}  # read, but not for anybody to write
    assert sorted(schema["properties"]["nodes"]["items"]["anyOf"][0]["properties"]) == sorted(
        set(issue.known) - left_out
    )


def test_every_object_says_what_a_model_must_know(workspace: Workspace) -> None:
    """Structured output needs plain schemas: no references, no conditions."""
    text = json.dumps(workspace.schema())
    for word in ('"$ref"', '"if"', '"not"', '"allOf"'):
        assert word not in text
