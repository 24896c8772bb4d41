"""How a run ended, told from its events, is what the process that drove it tells."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pflow.core.event import Event
from pflow.core.file.home import Home
from pflow.engine.result import RunResult
from pflow.execution.far.ended import Ending
from pflow.workspace import Workspace

NOT_TOLD = {"run_id", "duration_ms", "store", "reused", "reran"}
"""What differs from run to run, and what only whoever edits a document is told."""


class Taken:
    """An observer that keeps the events of all runs, in order."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    def notify(self, run_id: str, event: Event) -> None:
        self.events.append(event)

    def report(self, run_id: str, step: str, message: str) -> None:
        """What steps say on their way is no event."""


def echo(name: str, said: object = "x", **fields: Any) -> dict[str, Any]:
    return {"id": name, "type": "echo", "params": {"said": said}, **fields}


def shell(name: str, command: str, **fields: Any) -> dict[str, Any]:
    return {"id": name, "type": "shell", "params": {"command": command}, **fields}


def ask(name: str, **fields: Any) -> dict[str, Any]:
    return {"id": name, "type": "ask", "params": {"prompt": "go on?", "choices": ["yes", "no"]}, **fields}


def each(on_error: str) -> dict[str, Any]:
    return {
        "id": "each",
        "type": "code",
        "batch": {"items": [2, 0, 4], "as": "n", "on_error": on_error, "concurrency": 2},
        "params": {"code": "result = 8 / n", "inputs": {"n": "${n}"}},
    }


def inner(*nodes: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {"id": "inner", "type": "workflow", "params": {"workflow": {"nodes": list(nodes), **fields}}}


DOCUMENTS: dict[str, dict[str, Any]] = {
    "one step": {"nodes": [echo("a")]},
    "outputs": {"nodes": [echo("a"), echo("b", "${a.said}")], "outputs": {"o": {"source": "${b.said}"}}},
    "outputs that are not there": {"nodes": [echo("a")], "outputs": {"o": {"source": "${a.said.nothing}"}}},
    "a failure": {"nodes": [echo("a"), shell("b", "exit 3"), echo("c")]},
    "a failure with an edge": {"nodes": [shell("a", "exit 3", on={"error": "next"}), echo("b")]},
    "a step that is skipped": {"nodes": [echo("a", when="1 > 2"), echo("b")]},
    "a retry": {"nodes": [shell("a", "test -e there || { touch there; exit 1; }", retry={"attempts": 2})]},
    "a loop": {
        "nodes": [shell("a", "echo x >> lines; test $(wc -l < lines) -ge 3", on={"error": "b"}), echo("b"), echo("c")],
        "edges": [
            {"from": "a", "to": "c"},
            {"from": "a", "to": "b", "action": "error"},
            {"from": "b", "to": "a"},
        ],
    },
    "a batch": {"nodes": [echo("each", "${item}", batch={"items": [1, 2, 3]}), echo("b")]},
    "an empty batch": {"nodes": [echo("each", "${item}", batch={"items": []}), echo("b")]},
    "a batch without some items": {"nodes": [each("continue"), echo("b")]},
    "a batch whose items succeed in the end": {
        "nodes": [
            shell(
                "each",
                "test -e ${item} || { touch ${item}; exit 1; }",
                batch={"items": [".", "q"], "on_error": "continue"},
            )
        ]
    },
    "a batch that stops": {"nodes": [each("stop"), echo("b")]},
    "a sub-workflow": {"nodes": [inner(echo("x"), echo("y")), echo("b")]},
    "a sub-workflow that fails": {"nodes": [inner(echo("x"), shell("y", "exit 2")), echo("b")]},
    "a batch that loses items in a sub-workflow": {"nodes": [inner(each("continue")), echo("b")]},
    "on_failure": {"nodes": [shell("a", "exit 3"), echo("sorry")], "on_failure": "sorry"},
    "on_failure that fails": {"nodes": [shell("a", "exit 3"), shell("sorry", "exit 4")], "on_failure": "sorry"},
    "finally": {"nodes": [echo("a"), echo("last")], "finally": "last"},
    "finally that fails": {"nodes": [echo("a"), shell("last", "exit 4")], "finally": "last"},
    "all sections": {
        "nodes": [shell("a", "exit 3"), echo("sorry"), shell("last", "exit 4")],
        "on_failure": "sorry",
        "finally": "last",
    },
    "a question": {"nodes": [echo("a"), ask("ok"), echo("b")]},
    "a question in a sub-workflow": {"nodes": [inner(echo("x"), ask("ok")), echo("b")]},
    "an approval of items": {"nodes": [echo("each", "${item}", batch={"items": [1, 2, 3]}, approve=True), echo("b")]},
    "an approval": {"nodes": [shell("a", "true", approve=True), echo("b")]},
}


def told(result: RunResult) -> dict[str, Any]:
    """What can be compared, as JSON has it."""
    fields = {name: value for name, value in result._asdict().items() if name in RunResult._fields}
    plain = json.dumps({name: fields[name] for name in fields.keys() - NOT_TOLD}, default=_plain)
    return dict(json.loads(plain))


def _plain(value: Any) -> Any:
    return value._asdict() if hasattr(value, "_asdict") else dict(value)


@pytest.mark.parametrize("name", DOCUMENTS)
def test_an_ending_is_told_from_events_as_the_driver_tells_it(
    name: str, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    taken = Taken()
    with Workspace(Home(home), observer=taken) as workspace:
        outcome = workspace.run(DOCUMENTS[name])
        compare(outcome, taken.events, 0)
        before = len(taken.events)
        if outcome.status == "waiting":
            for place, choice in zip([one.place for one in outcome.open_waits], ("yes", "no", "yes"), strict=False):
                workspace.answer(outcome.run_id, place, choice)
            compare(workspace.resume(outcome.run_id), taken.events, before)
        elif outcome.failed_items:
            compare(workspace.resume(outcome.run_id, failed_items=[]), taken.events, before)
        elif outcome.status == "failed" and "finally" not in name:
            compare(workspace.resume(outcome.run_id), taken.events, before)


def compare(outcome: RunResult, events: list[Event], before: int) -> None:
    ending = Ending(outcome.run_id, before)
    for event in events:
        ending.take(event)
    assert ending.result is not None
    assert told(ending.result) == told(outcome)
