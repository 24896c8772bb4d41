"""Does the three tasks the way an agent does them, one tool call after another: `python examples/tasks/raw.py FOLDER`.

Every result passes through the agent, which here is a script: what it counts is what a model would have to read and
write. The workflows beside it make the same calls and write the same files.
"""

from __future__ import annotations

import ast
import csv
import io
import json
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

VERSION = "2025-11-25"


@dataclass(slots=True)
class Tally:
    """What a task cost the agent."""

    calls: int = 0
    argument_bytes: int = 0
    result_bytes: int = 0
    biggest: int = 0
    definitions: int = 0
    seconds: float = 0.0


class Server:
    """A server over its pipes, asked one thing at a time."""

    def __init__(self, argv: list[str]) -> None:
        self._process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self._number = 0
        client = {"name": "raw", "version": "1"}
        self.ask("initialize", {"protocolVersion": VERSION, "capabilities": {}, "clientInfo": client})
        self._send({"method": "notifications/initialized"})
        self.definitions = len(json.dumps(self.ask("tools/list", {})["tools"]))

    def ask(self, method: str, params: Mapping[str, object]) -> dict[str, Any]:
        """The result of a request; what else the server says is left unread."""
        self._number += 1
        self._send({"id": self._number, "method": method, "params": params})
        assert self._process.stdout is not None
        for line in self._process.stdout:
            message = json.loads(line)
            if message.get("id") == self._number and "method" not in message:
                result: dict[str, Any] = message["result"]
                return result
        raise ConnectionError(f"the server ended during `{method}`")

    def _send(self, message: Mapping[str, object]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        self._process.stdin.flush()

    def close(self) -> None:
        self._process.kill()
        self._process.communicate()


class Agent:
    """Calls tools and counts."""

    def __init__(self, servers: Mapping[str, Server]) -> None:
        self._servers = servers
        self.tally = Tally()

    def call(self, server: str, tool: str, arguments: Mapping[str, object]) -> str:
        """The text that a tool gives."""
        began = time.perf_counter()
        result = self._servers[server].ask("tools/call", {"name": tool, "arguments": arguments})
        self.tally.seconds += time.perf_counter() - began
        text: str = "".join(block["text"] for block in result["content"])
        if result.get("isError"):
            raise RuntimeError(text)
        size = len(text.encode())
        self.tally.calls += 1
        self.tally.argument_bytes += len(json.dumps(arguments))
        self.tally.result_bytes += size
        self.tally.biggest = max(self.tally.biggest, size)
        return text


# ---- the tasks


def changelog(agent: Agent, folder: Path) -> str:
    """What the last twenty commits changed."""
    repository = str(folder / "repository")
    log = agent.call("git", "git_log", {"repo_path": repository, "max_count": 20})
    lines = ["# Changes", ""]
    for entry in log.split("Commit: ")[1:]:
        commit, _, rest = entry.partition("\n")
        date = rest.split("Date: ")[1][:10]
        subject = rest.split("Message: ")[1].splitlines()[0]
        patch = agent.call("git", "git_show", {"repo_path": repository, "revision": commit}).splitlines()
        files = sum(line.startswith("+++ ") for line in patch)
        added = sum(line.startswith("+") for line in patch) - files
        lines.append(f"- {date} `{commit[:7]}` {subject} ({files} files, {added} lines added)")
    return write(agent, folder / "CHANGELOG.md", "\n".join([*lines, ""]))


def revenue(agent: Agent, folder: Path) -> str:
    """What the customers of each tier spent."""
    agent.call("sqlite", "list_tables", {})
    agent.call("sqlite", "describe_table", {"table_name": "orders"})
    tiers = json.loads(agent.call("filesystem", "read_text_file", {"path": str(folder / "tiers.json")}))
    rows = ast.literal_eval(agent.call("sqlite", "read_query", {"query": "SELECT * FROM orders"}))
    orders: Counter[str] = Counter()
    cents: Counter[str] = Counter()
    for row in rows:
        tier = tiers[row["customer"]]
        orders[tier] += 1
        cents[tier] += row["qty"] * row["cents"]
    lines = ["| tier | orders | revenue |", "|---|---|---|"]
    lines += [f"| {tier} | {orders[tier]:,} | {cents[tier] / 100:,.2f} |" for tier in ("gold", "silver", "bronze")]
    return write(agent, folder / "revenue.md", "\n".join([*lines, ""]))


def triage(agent: Agent, folder: Path) -> str:
    """Which tickets are of the highest severity."""
    listing = agent.call("filesystem", "list_directory", {"path": str(folder / "tickets")})
    names = sorted(line.removeprefix("[FILE] ") for line in listing.splitlines())
    tickets = [
        json.loads(agent.call("filesystem", "read_text_file", {"path": str(folder / "tickets" / name)}))
        for name in names
    ]
    table = io.StringIO()
    writer = csv.writer(table, lineterminator="\n")
    writer.writerow(["id", "title"])
    writer.writerows([ticket["id"], ticket["title"]] for ticket in tickets if ticket["sev"] == 1)
    return write(agent, folder / "severe.csv", table.getvalue())


def write(agent: Agent, path: Path, content: str) -> str:
    """The last call of every task; what the file holds then."""
    agent.call("filesystem", "write_file", {"path": str(path), "content": content})
    return path.read_text()


TASKS: dict[str, tuple[Callable[[Agent, Path], str], tuple[str, ...], str]] = {
    "changelog": (changelog, ("git", "filesystem"), "CHANGELOG.md"),
    "revenue": (revenue, ("sqlite", "filesystem"), "revenue.md"),
    "triage": (triage, ("filesystem",), "severe.csv"),
}
"""Each task, the servers whose tools the agent holds for it, and the file that it writes."""


# ---- running them


@contextmanager
def servers(config: Path) -> Iterator[dict[str, Server]]:
    """The servers of a configuration, running."""
    entries = json.loads(config.read_text())["mcpServers"]
    with ExitStack() as stack:
        running = {}
        for name, entry in entries.items():
            running[name] = Server([entry["command"], *entry["args"]])
            stack.callback(running[name].close)
        yield running


def run(task: str, running: Mapping[str, Server], folder: Path) -> tuple[str, Tally]:
    """What a task writes, and what it cost."""
    do, names, _ = TASKS[task]
    agent = Agent(running)
    text = do(agent, folder)
    agent.tally.definitions = sum(running[name].definitions for name in names)
    return text, agent.tally


def main(argv: list[str]) -> int:
    if len(argv) != 1:
        sys.stderr.write("usage: python examples/tasks/raw.py FOLDER\n")
        return 2
    folder = Path(argv[0]).resolve()
    out = sys.stdout.write
    out(f"{'task':<10}{'turns':>6}{'arguments':>11}{'results':>10}{'biggest':>10}{'definitions':>13}{'seconds':>9}\n")
    with servers(folder / "mcp.json") as running:
        for task in TASKS:
            _, tally = run(task, running, folder)
            out(f"{task:<10}{tally.calls + 1:>6}{tally.argument_bytes:>11,}{tally.result_bytes:>10,}")
            out(f"{tally.biggest:>10,}{tally.definitions:>13,}{tally.seconds:>9.3f}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
