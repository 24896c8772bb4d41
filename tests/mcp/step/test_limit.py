"""How often the tools of a server may be called, and tools that are asked until they give what is waited for."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from pflow.core.file.home import Home
from pflow.core.rate import Rate
from pflow.engine.attempt.limiter import Limiter
from pflow.engine.attempt.turn import Limits
from pflow.workspace import Workspace
from tests.cli.conftest import Pflow
from tests.mcp.step.conftest import Serve, tool


class Counted(Limits):
    """Limits that note who asks for them; their time passes as soon as somebody looks at it."""

    def __init__(self) -> None:
        self.now = 0.0
        self.found: list[tuple[str, ...]] = []
        super().__init__(self.tick)

    def tick(self) -> float:
        self.now += 0.25
        return self.now

    def find(self, rate: Rate, *key: str) -> Limiter:
        self.found.append((rate.text, *key))
        return super().find(rate, *key)


DOCUMENT = """
nodes:
  - {id: one, type: mcp-a-say, params: {text: "1"}, timeout: 60}
  - {id: many, type: mcp-a-tell, params: {text: "${item}"}, batch: {items: ["2", "3", "4"], concurrency: 3}}
"""


def test_all_tools_of_a_server_share_its_limit(pflow: Pflow, serve: Serve, home: Path) -> None:
    needs = {"text": "string"}
    server = serve("a", tool("say", needs=needs), tool("tell", needs=needs), add=("--limit", "1/s"))
    limits = Counted()
    with Workspace(Home(home), limits=limits) as workspace:
        assert workspace.run(DOCUMENT, {}).status == "completed"
    assert set(limits.found) == {("1/s", "server", "a")}
    assert limits.now >= 3  # four calls, a second apart
    assert sorted(call["text"] for call in server.calls) == ["1", "2", "3", "4"]


def test_another_limit_needs_neither_a_sync_nor_a_question(pflow: Pflow, serve: Serve, home: Path) -> None:
    needs = {"text": "string"}
    server = serve("a", tool("say", needs=needs), tool("tell", needs=needs))
    limits = Counted()
    with Workspace(Home(home), limits=limits) as workspace:
        assert workspace.run(DOCUMENT, {}).status == "completed"
        assert limits.found == []
        server.add("--overwrite", "--limit", "100/m")
        assert workspace.run(DOCUMENT, {}).status == "completed"
    assert set(limits.found) == {("100/m", "server", "a")}


def test_a_tool_that_its_document_calls_repeatable_is_asked_until_it_is_done(
    pflow: Pflow, serve: Serve, write: Callable[..., str]
) -> None:
    server = serve("a", tool("say", needs={"text": "string"}))
    write(
        "x.json",
        {
            "id": "job",
            "type": "mcp-a-say",
            "params": {"text": "pending"},
            "repeatable": True,
            "retry": {"attempts": 3, "until": "job.result.text == 'done'"},
        },
    )
    said = pflow("run", "x.json", "--json")
    error = said.json["error"]
    assert (said.code, error["type"], len(server.calls)) == (1, "timeout", 3)
    assert error["message"].endswith('after 3 attempts; at the last, `job.result.text` was "pending"')
