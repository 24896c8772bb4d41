"""Advice of a failed step, after its journal was written: a sentence for people, data for other edges."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest

from pflow.core.advice import Advice
from pflow.core.file.home import Home
from pflow.mcp_server.envelope import in_tools
from pflow.workspace import Workspace

NODE = '''
from pocketflow import Node

from pflow.core.advice import Advice
from pflow.core.errors import StepError


class Advising(Node):
    """Fail with advice."""

    def exec(self, prep):
        raise StepError("no", suggestions=[Advice("see `{describe_node}`", node="x"), "or wait"])
'''
SHELL = ["see `pflow registry describe x`", "or wait"]


@pytest.fixture
def workspace(home: Path) -> Iterator[Workspace]:
    (home / "nodes").mkdir(parents=True)
    (home / "nodes" / "advising.py").write_text(NODE)
    with Workspace(Home(home)) as opened:
        yield opened


def test_recorded_advice_can_be_said_in_the_words_of_tools(workspace: Workspace, home: Path) -> None:
    outcome = workspace.run({"nodes": [{"id": "a", "type": "advising"}]})
    assert outcome.error is not None
    assert outcome.error["suggestions"] == SHELL
    with Workspace(Home(home)) as later:
        error: Any = later.show_run(outcome.run_id)["error"]
    assert error["suggestions"] == SHELL
    assert isinstance(error["suggestions"][0], Advice)
    assert in_tools(error["suggestions"][0]) == "see `registry_describe(nodes=['x'])`"


def test_a_trace_file_holds_the_commands_of_a_shell(workspace: Workspace) -> None:
    outcome = workspace.run({"nodes": [{"id": "a", "type": "advising"}]})
    assert outcome.trace_path is not None
    assert orjson.loads(Path(outcome.trace_path).read_bytes())["error"]["suggestions"] == SHELL


def test_steps_that_look_at_an_error_see_plain_text(workspace: Workspace) -> None:
    nodes = [
        {"id": "a", "type": "advising"},
        {"id": "b", "type": "advising", "batch": {"items": [1], "on_error": "continue", "max_failed": "100%"}},
        {"id": "c", "type": "echo", "params": {"one": "${a.error.suggestions}", "all": "${b.errors}"}},
    ]
    edges = [{"from": "a", "to": "b", "action": "error"}, {"from": "b", "to": "c"}]
    outputs = {"one": {"source": "${c.one}"}, "all": {"source": "${c.all[0].error.suggestions}"}}
    outcome = workspace.run({"nodes": nodes, "edges": edges, "outputs": outputs})
    assert outcome.success, outcome.error
    assert outcome.outputs == {"one": SHELL, "all": SHELL}
