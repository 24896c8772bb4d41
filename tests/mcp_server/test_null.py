"""Clients that make arguments from a class fill what they leave out with null."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from pflow.mcp_server.tools import TOOLSETS
from tests.mcp_server.client import Client

DOCUMENT = {"nodes": [{"id": "echo"}]}
REQUIRED: dict[str, dict[str, Any]] = {
    "browse_components": {},
    "describe_workflow": {"name": "saved"},
    "execute": {"name": "saved"},
    "list_library": {},
    "registry_describe": {"nodes": ["echo"]},
    "registry_discover": {"task": "say something"},
    "registry_list": {},
    "registry_run": {"node_type": "echo"},
    "registry_search": {"pattern": "echo"},
    "save_to_library": {"draft_name": "draft", "final_name": "final", "description": "Says nothing"},
    "settings_get": {"key": "output.limit_kb"},
    "settings_set": {"key": "output.limit_kb", "value": "20"},
    "trace_read": {},
    "workflow_discover": {"query": "say something"},
    "workflow_execute": {"workflow": DOCUMENT},
    "workflow_list": {},
    "workflow_save": {"workflow": DOCUMENT, "name": "other", "description": "Says nothing"},
    "workflow_validate": {"workflow": DOCUMENT},
}
"""What each tool needs to succeed."""


@pytest.mark.parametrize("toolset", ["full", "core"])
def test_null_for_every_optional_argument_means_that_it_is_not_given(
    start: Callable[..., Client], toolset: str
) -> None:
    maker = start()
    maker.call("workflow_save", workflow=DOCUMENT, name="saved", description="Says nothing")
    maker.call("workflow_save", workflow=DOCUMENT, name="draft", is_temp=True)
    maker.call("workflow_execute", workflow="saved")
    client = start("--toolset", toolset, home=maker.home)
    for spec in TOOLSETS[toolset]():
        nothing = dict.fromkeys(spec.input_schema["properties"])
        answer = client.call(spec.name, **{**nothing, **REQUIRED[spec.name]})
        assert not answer.is_error, answer.text


def test_null_for_a_required_argument_means_that_it_is_missing(client: Client) -> None:
    error = client.call("workflow_validate", workflow=None).error
    assert error["details"]["problems"] == ["`workflow` is missing"]


def test_null_for_an_argument_that_does_not_exist_is_a_mistake(client: Client) -> None:
    error = client.call("workflow_list", flter=None).error
    assert error["details"]["problems"] == ["`flter` is not known; did you mean `filter`?"]


def test_null_for_an_input_of_a_workflow_is_a_value(client: Client) -> None:
    document = {
        "inputs": {"said": {"type": "any"}},
        "nodes": [{"id": "echo", "params": {"heard": "${said}"}}],
        "outputs": {"heard": {"source": "${echo.heard}"}},
    }
    answer = client.call("workflow_execute", workflow=document, parameters={"said": None})
    assert answer.data["outputs"] == {"heard": None}
