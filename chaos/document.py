"""The documents whose runs are disturbed, and what each of their runs has to leave in the effects file."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import NamedTuple

from chaos.judge import Effect

Node = dict[str, object]

PAUSE = 0.06
"""Seconds that a step takes after its effect."""

LONG = 0.4
"""Seconds that some steps take which only look: so that some runs are amid one whenever something happens."""

VISITS = 4
ITEMS = 4
SERVER = "notes"

_CODE = """import os, time
line = f"{time.time():.3f} {token} {step}\\n".encode()
fd = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
os.write(fd, line)
os.close(fd)
time.sleep(pause)
result = 1
"""
_COMMAND = 'printf "%s %s %s\\n" "$(date +%s.%N)" ${token} ${step} >> ${file}; sleep 0.06'


class Sample(NamedTuple):
    """A document, and the effects of each of its runs."""

    name: str
    text: str
    effects: Mapping[str, Effect]


def samples() -> list[Sample]:
    """One of each kind."""
    return [_looping(), _branching(), _batching(), _asking(), _keeping(), _calling()]


def tell() -> str:
    """A document whose run leaves how many runs of `keeping` have kept that they were there."""
    return _document("keeping", [_effect("tell", "total=${state.total}")], state=_STATE)


def _looping() -> Sample:
    nodes: list[Node] = [
        _effect("start"),
        {"id": "count", "type": "let", "params": {"n": "visit"}},
        _effect("turn", "turn#${count.n}"),
        _effect("look", "look#${count.n}", pure=True, pause=LONG),
        _shell("done"),
    ]
    edges = [{"from": "look", "to": "count", "when": f"visit < {VISITS}"}]
    effects = {"start": Effect(0), "done": Effect(2 * VISITS + 1)}
    for visit in range(1, VISITS + 1):
        effects[f"turn#{visit}"] = Effect(2 * visit - 1)
        effects[f"look#{visit}"] = Effect(2 * visit, pure=True)
    return Sample("looping", _document("looping", nodes, edges=edges), effects)


def _branching() -> Sample:
    nodes: list[Node] = [
        _shell("start", on={"default": ["left", "right"]}),
        _effect("left", pure=True, pause=LONG, on={"default": "choose"}),
        _effect("right", on={"default": "choose"}),
        {
            "id": "choose",
            "type": "switch",
            "params": {"cases": {"taken": "left.result == 1"}},
            "on": {"taken": "taken", "else": "passed"},
        },
        _effect("passed", on={"default": "done"}),
        _effect("taken", pause=LONG, on={"default": "done"}),
        _effect("done"),
    ]
    effects = {
        "start": Effect(0),
        "left": Effect(1, pure=True),
        "right": Effect(1),
        "taken": Effect(2),
        "done": Effect(3),
    }
    return Sample("branching", _document("branching", nodes), effects)


def _batching() -> Sample:
    items = list(range(ITEMS))
    each = {"items": items, "as": "n", "concurrency": 2}
    nodes: list[Node] = [
        _effect("start"),
        _effect("each", "each[${n}]", batch=each, pause=3 * PAUSE),
        _effect("look", "look[${n}]", pure=True, batch=each, pause=LONG),
        _shell("done"),
    ]
    effects = {"start": Effect(0), "done": Effect(3)}
    effects |= {f"each[{n}]": Effect(1) for n in items}
    effects |= {f"look[{n}]": Effect(2, pure=True) for n in items}
    return Sample("batching", _document("batching", nodes), effects)


def _asking() -> Sample:
    nodes: list[Node] = [
        _effect("before"),
        {
            "id": "agree",
            "type": "ask",
            "params": {"prompt": "Go on?", "choices": ["yes", "no"]},
            "on": {"yes": "after", "no": "refused"},
        },
        _effect("refused", on={"default": "done"}),
        _effect("after"),
        {"id": "pause", "type": "wait", "params": {"for": 1}, "on": {"default": "done"}},
        _effect("done"),
    ]
    effects = {"before": Effect(0), "after": Effect(1), "done": Effect(2)}
    return Sample("asking", _document("asking", nodes), effects)


_STATE = {"total": {"type": "integer", "default": 0, "merge": "add"}}


def _keeping() -> Sample:
    nodes: list[Node] = [
        _effect("start"),
        _effect("look", pure=True, pause=LONG),
        {"id": "keep", "type": "state-set", "params": {"total": 1}},
        _effect("done"),
    ]
    effects = {"start": Effect(0), "look": Effect(1, pure=True), "done": Effect(2)}
    return Sample("keeping", _document("keeping", nodes, state=_STATE), effects)


def _calling() -> Sample:
    items = list(range(ITEMS))
    nodes: list[Node] = [
        _tool("first"),
        _tool("look", "look", tool="look"),
        _tool("each", "each[${n}]", batch={"items": items, "as": "n", "concurrency": 2}),
        _effect("done"),
    ]
    effects = {"first": Effect(0), "look": Effect(1, pure=True), "done": Effect(3)}
    effects |= {f"each[{n}]": Effect(2) for n in items}
    return Sample("calling", _document("calling", nodes), effects)


def _document(name: str, nodes: list[Node], **fields: object) -> str:
    inputs = {"token": {"type": "string"}, "file": {"type": "string"}}
    return json.dumps({"name": name, "inputs": inputs, **fields, "nodes": nodes})


def _effect(name: str, step: str = "", *, pure: bool = False, pause: float = PAUSE, **fields: object) -> Node:
    words = {"token": "${token}", "file": "${file}", "step": step or name, "pause": pause}
    node: Node = {"id": name, "type": "code", "params": {"code": _CODE, "inputs": words}, **fields}
    return {**node, "repeatable": True} if pure else node


def _shell(name: str, **fields: object) -> Node:
    return {"id": name, "type": "shell", "params": {"command": _COMMAND.replace("${step}", name)}, **fields}


def _tool(name: str, step: str = "", *, tool: str = "note", **fields: object) -> Node:
    words = {"token": "${token}", "file": "${file}", "step": step or name}
    node: Node = {"id": name, "type": f"mcp-{SERVER}-{tool}", "params": words, **fields}
    return {**node, "repeatable": True} if tool == "look" else node
