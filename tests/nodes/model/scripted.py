"""A language model that says what a test has written down, and documents that ask it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from pflow import Workspace
from pflow.core.file.home import Home
from pflow.engine.model.llm import Completion, Prompt, Usage
from pflow.engine.ports import Observer

Json = dict[str, Any]
Says = Callable[[Prompt], object]
"""What is answered to a prompt; what it raises is raised."""


class ScriptedModel:
    """Answers every prompt as it is told to, for 10 tokens read, 5 written, and a price; and remembers them."""

    def __init__(self, says: Says | object = "an answer", *, cost: float | None = 0.25, available: bool = True) -> None:
        self._says = says
        self._cost = cost
        self.available = available
        self.prompts: list[Prompt] = []

    def is_available(self, model: str = "") -> bool:
        return self.available

    async def ask(self, prompt: Prompt, report: Callable[[str], None] = lambda _: None) -> Completion:
        self.prompts.append(prompt)
        report("thinking")
        value = self._says(prompt) if callable(self._says) else self._says
        usage = Usage(input=10, output=5)
        return Completion(text=str(value), value=value, model="scripted-1", usage=usage, cost=self._cost)


def workspace_of(home: Path, model: ScriptedModel | None = None, observer: Observer | None = None) -> Workspace:
    """A workspace in which that model answers, if there is one."""
    if model is None:
        return Workspace(Home(home), observer=observer)
    return Workspace(Home(home), observer=observer, llm=model)


def asks(prompt: str = "Why?", *, id: str = "ask", more: Mapping[str, object] | None = None, **params: Any) -> Json:
    """A node that asks a model."""
    return {"id": id, "type": "llm", "params": {"prompt": prompt, **params}, **(more or {})}


def document(*nodes: Json, **more: Any) -> Json:
    """A document of nodes."""
    return {"nodes": list(nodes), **more}
