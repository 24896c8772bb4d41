"""An agent that has nothing but MCP builds, keeps and mends a workflow: `python -m examples.agent.mend_over_mcp`.

It is a script, so that it says the same on every run. All it can do is call the tools of `pflow serve mcp`, in a home
that was empty before.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from examples.agent.revenue import DOCUMENT, NAME, RIGHT, TASK, mend, write_orders
from examples.agent.transcript import Tally
from pflow.mcp.protocol.session import Session
from pflow.mcp.transport.stdio import connect_stdio

PFLOW = (sys.executable, "-m", "pflow")
TIMEOUT = 60.0


class Agent:
    """Calls tools over one session."""

    def __init__(self, session: Session, folder: Path) -> None:
        self.tally = Tally(folder, "/tmp/orders")
        self._session = session

    async def read_guide(self) -> None:
        """The guide, which the instructions of the server name."""
        found: Any = await self._session.request("resources/read", {"uri": "pflow://guide"})
        text = found["contents"][0]["text"]
        self.tally.tell("guide", "read pflow://guide", sent=0, read=len(text.encode()), answer=text.partition("\n")[0])

    async def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """The data of a tool's answer."""
        result: Any = await self._session.call_tool(tool, arguments, timeout=TIMEOUT)
        return self.tally.tell_call(tool, arguments, result)


async def build_and_mend(agent: Agent, folder: Path) -> None:
    """From nothing to a workflow that is right for every file."""
    plain, quoted = write_orders(folder)
    await agent.read_guide()
    found = await agent.call("workflow_discover", query=TASK)
    assert found["matches"] == []
    found = await agent.call("registry_discover", task=TASK)
    [read] = [match for match in found["matches"] if match["name"] == "read-file"]
    assert read["takes"].startswith("path: string") and read["gives"].startswith("content: string")

    await agent.call("workflow_save", workflow=DOCUMENT, name=NAME)
    done = await agent.call("workflow_execute", workflow=NAME, parameters={"file": str(plain)})
    assert done["outputs"] == {"total": RIGHT}
    done = await agent.call("workflow_execute", workflow=NAME, parameters={"file": str(quoted)})
    assert done["outputs"] != {"total": RIGHT}  # the same orders, and another total

    step = await agent.call("trace_read", trace_file=done["run_id"], step="rows")
    assert step["outputs"]["result"][0]["amount"] == ' Ada"'  # the comma inside a name has split it

    saved = await agent.call("workflow_list", name=NAME)
    await agent.call("workflow_save", workflow=mend(saved["text"]), name=NAME, replaces=saved["version"])
    changed = await agent.call("workflow_list", name=NAME, diff=saved["version"])
    assert [change["path"] for change in changed["changes"]] == ["nodes.rows.params.code"]
    for file in (quoted, plain):
        done = await agent.call("workflow_execute", workflow=NAME, parameters={"file": str(file)})
        assert done["outputs"] == {"total": RIGHT}


async def work(folder: Path, env: Mapping[str, str]) -> Tally:
    """One session with a server of its own; what it cost."""
    session = await connect_stdio([*PFLOW, "serve", "mcp"], env=env, timeout=TIMEOUT)
    try:
        agent = Agent(session, folder)
        await build_and_mend(agent, folder)
    finally:
        await session.close()
    agent.tally.close()
    return agent.tally


def main() -> int:
    with tempfile.TemporaryDirectory(prefix="pflow-agent-") as folder:
        env = {"PFLOW_HOME": str(Path(folder) / ".pflow"), "HOME": folder}
        asyncio.run(work(Path(folder), env))
    return 0


if __name__ == "__main__":
    sys.exit(main())
