"""A node whose effects can be counted, and which fails as long as a test wants it to."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

from pflow.core.errors import InDoubtError
from pflow.core.file.home import Home
from pflow.workspace import Outcome, Workspace

SOURCE = '''
"""A node with a side effect that can be counted."""
import asyncio, os, signal
from pocketflow import AsyncNode

class Try(AsyncNode):
    """Write down what it is given, then fail or be cut off as long as a file beside it says so.

    Interface:
    - Params: file - where
    - Params: text - what
    - Params: more - anything
    - Writes: shared["text"]: string - what was written
    """
    async def exec_async(self, _):
        text = str(self.params["text"])
        fd = os.open(self.params["file"], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.write(fd, (text + "\\n").encode())
        os.close(fd)
        if os.path.exists(f'{self.params["file"]}-bad-{text}'):
            raise RuntimeError(f"{text} is bad")
        prefix = os.path.basename(self.params["file"]) + "-cut-"
        beside = os.listdir(os.path.dirname(self.params["file"]))
        cut = {name.removeprefix(prefix) for name in beside if name.startswith(prefix)}
        if text in cut:
            if cut <= set(open(self.params["file"]).read().split()):
                os.kill(os.getpid(), signal.SIGKILL)
            await asyncio.Event().wait()

    async def post_async(self, shared, _, __):
        shared["text"] = str(self.params["text"])
'''


class Effects:
    """The file that the steps of a test write to."""

    def __init__(self, file: Path) -> None:
        self.file = file

    def bad(self, *texts: str) -> None:
        """Let steps fail that are given these."""
        for text in texts:
            Path(f"{self.file}-bad-{text}").touch()

    def mend(self, *texts: str) -> None:
        """Let them succeed from now on; all of them if none is named."""
        wanted = [Path(f"{self.file}-bad-{text}") for text in texts]
        for path in wanted or self.file.parent.glob(f"{self.file.name}-*-*"):
            path.unlink()

    def cut(self, *texts: str) -> None:
        """Let the process die as soon as steps that are given these have all taken effect, and none has ended."""
        for text in texts:
            Path(f"{self.file}-cut-{text}").touch()

    def counts(self) -> Counter[str]:
        """How often each was written."""
        return Counter(self.file.read_text().split() if self.file.exists() else ())

    def take(self) -> Counter[str]:
        """How often each was written since the last time."""
        counts = self.counts()
        self.file.unlink(missing_ok=True)
        return counts

    def node(self, name: str, text: str = "", **more: Any) -> dict[str, Any]:
        """A node that writes down its own name, or another text."""
        params = {"file": str(self.file), "text": text or name, **more.pop("params", {})}
        return {"id": name, "type": "try", "params": params, **more}

    def batch(self, name: str, items: object, text: str = "${item}", **more: Any) -> dict[str, Any]:
        """A batch of them that goes on without items that fail."""
        return self.node(name, text, batch={"items": items, "on_error": "continue", **more.pop("batch", {})}, **more)


def go_on(workspace: Workspace, run_id: str) -> tuple[Outcome, set[str]]:
    """Take a run up that was cut off, to its end; and the steps and items that were in doubt."""
    try:
        return workspace.resume(run_id), set()
    except InDoubtError as error:
        doubts: Any = error.details["steps"]
        return workspace.resume(run_id, rerun_in_doubt=True), set(doubts)


def add_node(home: Home) -> None:
    """Let a home have the node type `try`."""
    home.nodes.mkdir(parents=True, exist_ok=True)
    (home.nodes / "try.py").write_text(SOURCE)
