"""Documents that ask, and what stands in the journal afterwards."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pflow import Workspace
from pflow.core.file.home import Home
from pflow.workspace.asking.question import Waiting

Json = dict[str, Any]

OUTPUTS: Json = {name: {"source": f"${{ask.{name}}}"} for name in ("choice", "answer", "by", "via")}


def asks(**params: Any) -> Json:
    """A document that asks one question, and gives what was answered."""
    question = {"prompt": "Post it?", "choices": ["post", "stop"], **params}
    return {"nodes": [{"id": "ask", "type": "ask", "params": question}], "outputs": OUTPUTS}


def asks_each(*items: str, **params: Any) -> Json:
    """A document that asks about each item."""
    [node] = asks(prompt="Send ${item}?", **params)["nodes"]
    told = "ask.results.map(r, r.choice)"
    return {
        "nodes": [{**node, "batch": {"items": list(items)}}, {"id": "end", "type": "let", "params": {"chosen": told}}],
    }


def asks_twice() -> Json:
    """A document that asks a second question after the first is answered."""
    first, second = asks()["nodes"][0], asks(prompt="Where?", choices=["here", "there"])["nodes"][0]
    return {
        "nodes": [{**first, "id": "one"}, {**second, "id": "two"}],
        "edges": [{"from": "one", "to": "two", "action": choice} for choice in ("post", "stop")],
        "outputs": {"chosen": {"source": "${one.choice} ${two.choice}"}},
    }


def open_questions(home: Path, run_id: str) -> list[Waiting]:
    """What a run waits for."""
    with Workspace(Home(home)) as workspace:
        return workspace.waiting(run_id)


def status_of(home: Path, run_id: str) -> str:
    """How a run stands."""
    with Workspace(Home(home)) as workspace:
        return next(info.status for info in workspace.runs() if info.run_id == run_id)
