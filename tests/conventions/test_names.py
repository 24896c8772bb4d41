"""Names that the founding documents fix can be imported from where they say."""

import importlib

import pytest

NOW = [
    pytest.param(
        "pflow.core.workflow_manager:WorkflowManager",
        marks=pytest.mark.requirement("server13:implementation-5"),
    ),
    "pflow.core.workflow_manager:WorkflowManager.search",
    "pflow.core.workflow_manager:WorkflowManager.for_drafts",
    pytest.param(
        "pflow.execution.workflow_execution:execute_workflow",
        marks=pytest.mark.requirement("server13:implementation-4"),
    ),
    pytest.param(
        "pflow.execution.null_output:NullOutput",
        marks=pytest.mark.requirement("server13:implementation-4"),
    ),
    "pflow.engine.store:NodeAwareSharedStore",
    "pflow.planning.nodes:WorkflowDiscoveryNode",
    "pflow.nodes.mcp.node:MCPNode",
    "pflow.mcp_server.server:run_server",
    "pflow.cli.commands.serve:serve",
    pytest.param("pflow.core.flow_safe:flow_safe", marks=pytest.mark.requirement("security:3-5")),
]


@pytest.mark.parametrize("name", NOW)
def test_a_fixed_name_is_where_the_documents_say(name: str) -> None:
    module, _, attributes = name.partition(":")
    found = importlib.import_module(module)
    for attribute in attributes.split("."):
        found = getattr(found, attribute)
    assert callable(found)
