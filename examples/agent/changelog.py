"""An agent that has nothing but MCP builds, keeps and reuses a workflow: `python -m examples.agent.changelog FOLDER`.

FOLDER is what `examples/tasks/fixtures.py` made. The agent here is a script, so that it says the same on every run:
what it counts is what a model would have to write and read. All it can do is call the tools of `pflow serve mcp`.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from textwrap import dedent
from typing import Any

from examples.agent.transcript import Tally, say, size
from pflow.mcp.protocol.session import Session
from pflow.mcp.transport.stdio import connect_stdio

PFLOW = (sys.executable, "-m", "pflow")
TIMEOUT = 60.0

COMMITS = dedent("""\
    result = []
    for entry in log.split("Commit: ")[1:]:
        commit, _, rest = entry.partition("\\n")
        date = rest.split("Date: ")[1][:10]
        subject = rest.split("Message: ")[1].splitlines()[0]
        result.append({"id": commit, "date": date, "subject": subject})
    """)
TEXT = dedent("""\
    lines = ["# Changes", ""]
    for commit, patch in zip(commits, patches):
        patch = patch["result"].splitlines()
        files = sum(line.startswith("+++ ") for line in patch)
        added = sum(line.startswith("+") for line in patch) - files
        what = f"{commit['subject']} ({files} files, {added} lines added)"
        lines.append(f"- {commit['date']} `{commit['id'][:7]}` {what}")
    result = "\\n".join([*lines, ""])
    """)


class Agent:
    """Calls tools, and tells what that costs."""

    def __init__(self, folder: Path) -> None:
        self.tally = Tally(folder, "/tmp/tasks")
        self.session: Session

    async def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """The data of a tool's answer."""
        result: Any = await self.session.call_tool(tool, arguments, timeout=TIMEOUT)
        return self.tally.tell_call(tool, arguments, result)


# ---- what the agent does


async def build(agent: Agent, folder: Path) -> None:
    """From nothing to a saved workflow."""
    tools = await agent.session.list_tools()
    guide = await agent.session.request("resources/read", {"uri": "pflow://guide"})
    say(f"{len(tools)} tools in {size(tools):,} bytes, a guide in {size(guide['contents']):,}")

    found = await agent.call("workflow_discover", query="write a change log of the last commits of a repository")
    assert found["matches"] == []

    found = await agent.call("registry_discover", task="read the git log, show a git commit, write a file")
    params = {match["name"]: parameters(match) for match in found["matches"]}
    assert params["mcp-git-git-log"][:2] == ["repo_path", "max_count"]
    assert params["mcp-git-git-show"] == ["repo_path", "revision"]
    assert params["mcp-filesystem-write-file"] == ["path", "content"]

    repository = str(folder / "repository")
    tried = await agent.call(
        "registry_run", node_type="mcp-git-git-log", parameters={"repo_path": repository, "max_count": 1}
    )
    assert tried["structure"] == {"${mcp-git-git-log.result}": "string"}

    document = write(log="${log.results}")
    checked = await agent.call("workflow_validate", workflow=document)
    [issue] = checked["errors"]
    assert issue["path"] == "nodes[1].params.inputs"
    document = write(log=corrected(issue))

    done = await agent.call(
        "workflow_execute",
        workflow=document,
        parameters={"repository": repository, "file": str(folder / "CHANGELOG.md")},
    )
    assert done["outputs"] == {"answer": f"Successfully wrote to {folder / 'CHANGELOG.md'}"}
    await agent.call("workflow_save", workflow=document, name="changelog")


async def reuse(agent: Agent, folder: Path) -> None:
    """Another day, another session: the workflow is found and run."""
    found = await agent.call("workflow_discover", query="changelog")
    best = found["matches"][0]
    assert best["score"] >= 0.95
    assert list(best["inputs"]) == ["repository", "file", "count"]

    done = await agent.call(
        "workflow_execute",
        workflow=best["name"],
        parameters={"repository": str(folder / "repository"), "file": str(folder / "RECENT.md"), "count": 5},
    )
    assert done["outputs"] == {"answer": f"Successfully wrote to {folder / 'RECENT.md'}"}


def write(log: str) -> dict[str, Any]:
    """The document, as the agent writes it once it knows the tools; `log` is what it takes for the log's text."""
    return {
        "description": "Write a change log of a repository's last commits",
        "inputs": {
            "repository": {"type": "string"},
            "file": {"type": "string", "description": "Where to write it"},
            "count": {"type": "integer", "default": 20},
        },
        "nodes": [
            {
                "id": "log",
                "type": "mcp-git-git-log",
                "params": {"repo_path": "${repository}", "max_count": "${count}"},
            },
            {"id": "commits", "type": "code", "params": {"inputs": {"log": log}, "code": COMMITS}},
            {
                "id": "show",
                "type": "mcp-git-git-show",
                "params": {"repo_path": "${repository}", "revision": "${commit.id}"},
                "batch": {"items": "${commits.result}", "as": "commit", "concurrency": 8},
            },
            {
                "id": "text",
                "type": "code",
                "params": {"inputs": {"commits": "${commits.result}", "patches": "${show.results}"}, "code": TEXT},
            },
            {
                "id": "write",
                "type": "mcp-filesystem-write-file",
                "params": {"path": "${file}", "content": "${text.result}"},
            },
        ],
        "outputs": {"answer": {"type": "string", "source": "${write.content}"}},
    }


def parameters(match: Mapping[str, Any]) -> list[str]:
    """What a node type takes."""
    return [param.partition(":")[0].removesuffix("?") for param in match["takes"].split(", ")]


def corrected(issue: Mapping[str, Any]) -> str:
    """What an issue says should have been written."""
    return str(issue["hint"].split("`")[1])


# ---- running it


def prepare(folder: Path, home: Path) -> dict[str, str]:
    """What a person does before: the servers are configured, agreed to and read. The environment of pflow."""
    env = {"PFLOW_HOME": str(home), "HOME": str(home.parent)}
    for words in (("import", str(folder / "mcp.json")), ("sync", "--all", "--yes")):
        subprocess.run([*PFLOW, "mcp", *words], env={**os.environ, **env}, stdout=subprocess.DEVNULL, check=True)
    return env


async def work(folder: Path, env: Mapping[str, str]) -> Agent:
    """Both sessions, each with a server of its own."""
    agent = Agent(folder)
    for do in (build, reuse):
        agent.session = await connect_stdio([*PFLOW, "serve", "mcp"], env=env, timeout=TIMEOUT)
        try:
            await do(agent, folder)
        finally:
            await agent.session.close()
    agent.tally.close()
    return agent


def run(folder: Path) -> Agent:
    """Do it all; what it cost."""
    with tempfile.TemporaryDirectory(prefix="pflow-agent-") as home:
        return asyncio.run(work(folder, prepare(folder, Path(home) / ".pflow")))


def main(argv: list[str]) -> int:
    if len(argv) != 1:
        sys.stderr.write("usage: python -m examples.agent.changelog FOLDER\n")
        return 2
    run(Path(argv[0]).resolve())
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
