"""What a server in a project's directory lets agents see: only what the person agreed to."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from pflow.core.file.home import Home
from pflow.workspace import Workspace
from tests.mcp_server.client import Client

HELLO = """\
description: Say hello
nodes:
  - {id: say, type: echo, params: {text: hello}}
outputs:
  text: {source: "${say.text}"}
"""


def test_agents_see_a_project_only_once_the_person_has_agreed_to_it(
    start: Callable[..., Client], tmp_path: Path
) -> None:
    home = tmp_path / ".pflow"
    root = tmp_path / "work"
    (root / ".pflow" / "workflows").mkdir(parents=True)
    (root / ".pflow" / "workflows" / "hello.yaml").write_text(HELLO)
    server = start(home=home, cwd=str(root))
    listed = server.call("workflow_list").data
    assert listed["workflows"] == []
    assert f"`pflow project agree {root}`" in listed["notices"][0]
    missing = server.call("workflow_execute", workflow="hello").error
    assert missing["type"] == "not_found"
    assert any(f"pflow project show {root}" in hint for hint in missing["suggestions"])

    with Workspace(Home(home), project=root) as workspace:
        assert [found.state for found in workspace.projects.agree(lambda _: True)] == ["agreed"]
    listed = server.call("workflow_list").data
    assert [(each["name"], each["origin"]) for each in listed["workflows"]] == [("hello", "project")]
    assert "notices" not in listed
    assert server.call("workflow_execute", workflow="hello").data["outputs"] == {"text": "hello"}
    found = server.call("workflow_discover", query="say hello").data["matches"]
    assert [each["name"] for each in found] == ["hello"]

    (root / ".pflow" / "workflows" / "hello.yaml").write_text(HELLO.replace("text: hello", "text: bye"))
    assert server.call("workflow_execute", workflow="hello").error["type"] == "not_found"
    assert "has changed since you agreed to it" in server.call("workflow_list").data["notices"][0]
