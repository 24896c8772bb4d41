"""An agent that has nothing but a shell builds, keeps and mends a workflow: `python -m examples.agent.mend_in_shell`.

It is a script, so that it says the same on every run. All it can do is write files and run `pflow`, in a home that was
empty before.
"""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from examples.agent.revenue import DOCUMENT, NAME, RIGHT, TASK, mend, write_orders
from examples.agent.transcript import Tally

PFLOW = (sys.executable, "-m", "pflow")


class Agent:
    """Runs commands in a folder. What it reads is all that they print."""

    def __init__(self, folder: Path, env: Mapping[str, str]) -> None:
        self.tally = Tally(folder, "/tmp/orders")
        self._folder = folder
        self._env = {**os.environ, **env}

    def pflow(self, *words: str, write: str = "") -> str:
        """What a command prints; `write` is the text of the file `revenue.yaml`, written before."""
        if write:
            (self._folder / "revenue.yaml").write_text(write)
        done = subprocess.run(
            [*PFLOW, *words], cwd=self._folder, env=self._env, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        command = shlex.join(["pflow", *words])
        shown = f"{'(writes revenue.yaml) ' if write else ''}{command}"
        read = len(done.stdout.encode()) + len(done.stderr.encode())
        answer = done.stdout if words[-1] == "--json" else done.stdout.partition("\n")[0]
        self.tally.tell(words[0], shown, sent=len(command.encode()) + len(write.encode()), read=read, answer=answer)
        return done.stdout

    def ask(self, *words: str, write: str = "") -> Any:
        """The data that a command gives to programs."""
        envelope = json.loads(self.pflow(*words, "--json", write=write))
        assert envelope["success"], envelope
        return envelope["data"]


def build_and_mend(agent: Agent, folder: Path) -> None:
    """From nothing to a workflow that is right for every file."""
    write_orders(folder)
    agent.pflow("guide")
    assert agent.ask("workflow", "discover", TASK)["matches"] == []
    found = agent.ask("registry", "discover", TASK)
    [read] = [match for match in found["matches"] if match["name"] == "read-file"]
    assert read["takes"].startswith("path: string") and read["gives"].startswith("content: string")

    agent.ask("workflow", "save", "revenue.yaml", NAME, write=DOCUMENT)
    assert agent.ask("run", NAME, "file=orders.csv")["outputs"] == {"total": RIGHT}
    done = agent.ask("run", NAME, "file=quoted.csv")
    assert done["outputs"] != {"total": RIGHT}  # the same orders, and another total

    rows = agent.ask("trace", done["run_id"], "--step", "rows", "--field", "outputs.result")
    assert rows[0]["amount"] == ' Ada"'  # the comma inside a name has split it

    saved = agent.ask("workflow", "show", NAME)
    agent.ask("workflow", "save", "revenue.yaml", NAME, "--overwrite", write=mend(saved["text"]))
    changed = agent.ask("workflow", "diff", NAME, str(saved["version"]))
    assert [change["path"] for change in changed["changes"]] == ["nodes.rows.params.code"]
    for file in ("quoted.csv", "orders.csv"):
        assert agent.ask("run", NAME, f"file={file}")["outputs"] == {"total": RIGHT}


def work(folder: Path, env: Mapping[str, str]) -> Tally:
    """Do it all; what it cost."""
    agent = Agent(folder, env)
    build_and_mend(agent, folder)
    agent.tally.close()
    return agent.tally


def main() -> int:
    with tempfile.TemporaryDirectory(prefix="pflow-agent-") as folder:
        work(Path(folder), {"PFLOW_HOME": str(Path(folder) / ".pflow"), "HOME": folder})
    return 0


if __name__ == "__main__":
    sys.exit(main())
