"""Records a home as a version of pflow leaves it: `python record.py PFLOW FOLDER`.

`PFLOW` is that version's program, `FOLDER` becomes the home. Its server is `server.py`, found on the path as
`recorded-server`. What steps do is appended to the file `effects`, and they fail while there is a file `closed`.
`runs.json` in the home names each recorded run. Install the program and make the home where their paths tell nothing
about the machine: the home keeps them.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

OWN_NODE = '''"""A node of a person's own."""

from pocketflow import Node


class Shout(Node):
    """Make a text loud.

    Interface:
    - Params: text: str - what to say
    - Writes: shared["loud"]: str - the same in capitals
    """

    def exec(self, _):
        return self.params["text"].upper()

    def post(self, shared, _, loud):
        shared["loud"] = loud
'''

GATE = "test ! -e closed"
WAIT = "touch reached; while [ ! -e opened ]; do sleep 0.02; done; echo waited >> effects"


def shell(node_id: str, command: str, **more: Any) -> dict[str, Any]:
    return {"id": node_id, "type": "shell", "params": {"command": command}, **more}


def note(word: str) -> dict[str, Any]:
    return shell(word, f"echo {word} >> effects")


GREET: dict[str, Any] = {
    "name": "greet",
    "description": "Greets someone.",
    "inputs": {"name": {"type": "string", "default": "Ada"}},
    "outputs": {"text": {"type": "string", "source": "${say.text}"}, "loud": {"source": "${shout.loud}"}},
    "nodes": [
        {"id": "say", "type": "echo", "params": {"text": "Hello ${name}"}},
        {"id": "shout", "params": {"text": "${say.text}"}},
    ],
}
BATCH: dict[str, Any] = {
    "name": "batch",
    "outputs": {"count": {"source": "${each.count}"}, "results": {"source": "${each.results}"}},
    "nodes": [
        {"id": "words", "type": "echo", "params": {"list": ["zero", "one", "two", "three", "four"]}},
        {
            "id": "each",
            "type": "shell",
            "params": {
                "command": "test ${word} != two || test ! -e closed || exit 1; printf '%s\\n' ${word} >> effects"
            },
            "batch": {"items": "${words.list}", "as": "word", "concurrency": 1},
        },
        note("after-batch"),
    ],
}
BATCH_YAML = """\
# Kept by hand.
name: batch-yaml
inputs:
  words: {type: array, default: [a, b]}
nodes:
  - id: each
    type: echo
    params: {text: "${item}"}
    batch: {items: "${words}"}
"""
DOCUMENTS: dict[str, dict[str, Any]] = {
    "failed": {"nodes": [note("first"), shell("gate", GATE), note("last")]},
    "waits": {"nodes": [note("before"), shell("wait", WAIT), note("behind")]},
    "batch": BATCH,
    "batch-waits": {
        "nodes": [
            shell(
                "each",
                "test ${item} != two || (touch reached; while [ ! -e opened ]; do sleep 0.02; done);"
                " printf '%s\\n' ${item} >> effects",
                batch={"items": ["zero", "one", "two", "three"], "concurrency": 1},
            )
        ]
    },
    "parent": {
        "outputs": {"text": {"source": "${greeted.text}"}},
        "nodes": [
            {"id": "greeted", "type": "workflow", "params": {"workflow": "greet", "inputs": {"name": "Bob"}}},
            {
                "id": "inner",
                "type": "workflow",
                "params": {"workflow": {"nodes": [note("inside"), shell("gate", GATE)]}},
            },
        ],
    },
    "tools": {
        "outputs": {"value": {"source": "${twice.value}"}},
        "nodes": [
            {"id": "twice", "type": "mcp-recorded-double", "params": {"number": 21}},
            {"id": "noted", "type": "mcp-recorded-note", "params": {"word": "noted"}},
        ],
    },
    "secret": {
        "inputs": {"token": {"type": "string", "secret": True}},
        "nodes": [
            shell("use", "printf '%s' ${token} | wc -c >> effects"),
            shell("gate", GATE),
            shell("again", "printf '%s' ${token}", timeout=10),
        ],
    },
    "big": {
        "outputs": {"size": {"source": "${count.stdout}"}},
        "nodes": [
            {"id": "make", "type": "code", "params": {"code": "result = 'x' * 100_000"}},
            {"id": "count", "type": "shell", "params": {"command": "wc -c", "stdin": "${make.result}"}},
        ],
    },
    "routed": {
        "nodes": [shell("gate", "exit 3"), note("handled"), note("skipped")],
        "edges": [
            {"from": "gate", "to": "skipped"},
            {"from": "gate", "to": "handled", "action": "error"},
        ],
    },
}


class Recorder:
    """One home in the making."""

    def __init__(self, program: str, home: Path, folder: Path) -> None:
        self.program = program
        self.folder = folder
        path = f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}"
        self.environ = {"PATH": path, "HOME": str(folder), "PFLOW_HOME": str(home), "LANG": "C.UTF-8"}
        self.runs: dict[str, str] = {}

    def __call__(self, *words: str, code: int = 0, stdin: str = "") -> str:
        done = subprocess.run(
            [self.program, *words], cwd=self.folder, env=self.environ, input=stdin, capture_output=True, text=True
        )
        assert done.returncode == code, (words, done)
        return done.stdout

    def run(self, name: str, document: str, *words: str, code: int = 0) -> str:
        """Run a document and keep the run's id under `name`."""
        answer = json.loads(self("run", document, *words, "--json", code=code))
        self.runs[name] = str(answer.get("data", answer.get("checkpoint"))["run_id"])
        return self.runs[name]

    def cut(self, name: str, document: str, how: signal.Signals) -> None:
        """Run a document and end its process where it waits."""
        child = subprocess.Popen([self.program, "run", document], cwd=self.folder, env=self.environ)
        reached = self.folder / "reached"
        while not reached.exists():
            time.sleep(0.01)
        reached.unlink()
        child.send_signal(how)
        child.wait()
        self.runs[name] = json.loads(self("runs", "list", "--json"))["data"]["runs"][0]["run_id"]


def record(program: str, home: Path) -> None:
    """Fill `home` with what the program makes of everything above."""
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        (folder / "bin").mkdir()
        shutil.copy(Path(__file__).with_name("server.py"), folder / "bin" / "recorded-server")
        pflow = Recorder(program, home, folder)
        for option in ("runs.keep_days", "trace.keep_days", "drafts.keep_days"):
            pflow("settings", "set", option, "100000")
        pflow("settings", "set", "SERVICE_TOKEN", stdin="recorded-service-token")
        (home / "nodes").mkdir(mode=0o700, exist_ok=True)
        (home / "nodes" / "shout.py").write_text(OWN_NODE)
        for name, document in {"greet": GREET, **DOCUMENTS}.items():
            (folder / f"{name}.json").write_text(json.dumps(document))
        (folder / "batch.yaml").write_text(BATCH_YAML)
        pflow("workflow", "save", "greet.json", "--name", "greet")
        pflow("workflow", "save", "batch.yaml", "--name", "batch-yaml", "--description", "Says each word.")
        pflow("workflow", "save", "batch.json", "--name", "draft-batch", "--draft")
        pflow("mcp", "add", "recorded", "--", "recorded-server")
        pflow("mcp", "sync", "recorded")

        pflow.run("completed", "greet", "name=Grace")
        pflow.run("big", "big.json")
        pflow.run("routed", "routed.json")
        (folder / "closed").touch()
        for name in ("failed", "batch", "parent", "tools"):
            pflow.run(name, f"{name}.json", code=1)
        pflow.run("secret", "secret.json", "token=recorded-input-token", code=1)
        pflow.run("edited", "failed.json", code=1)
        pflow.run("cancelled", "failed.json", code=1)
        pflow("runs", "cancel", pflow.runs["cancelled"])
        pflow.cut("stopped", "waits.json", signal.SIGINT)
        pflow.cut("killed", "waits.json", signal.SIGKILL)
        pflow.cut("killed-batch", "batch-waits.json", signal.SIGKILL)
        (home / "runs.json").write_text(json.dumps(pflow.runs, indent=2) + "\n")
        (home / "effects.txt").write_text((folder / "effects").read_text())


if __name__ == "__main__":
    record(sys.argv[1], Path(sys.argv[2]).resolve())
