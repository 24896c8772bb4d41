"""What a drawing says about nodes that ask or wait, and which nodes of a plan ask people."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pflow.core.duration import read_duration, show_duration
from pflow.core.printable import shorten
from pflow.engine.plan import Plan, PlanNode

_WIDTH = 60
_WAITS = {
    "for": "waits {}",
    "until": "waits until {}",
    "file": "waits for file {}",
    "url": "waits for {}",
    "message": "waits for message {}",
}


def waiting_marks(node: PlanNode, params: Mapping[str, object]) -> list[str]:
    """What is asked before a node takes effect, what it asks itself, and what it waits for."""
    found = []
    if node.approve is not None:
        limit = f" within {show_duration(node.approve.timeout)}" if node.approve.timeout is not None else ""
        found.append(f"needs approval{limit}")
    if node.may_wait and node.child is None and node.type == "ask":
        found += _question(params)
    elif node.may_wait and node.child is None and node.type == "wait":
        found += [text.format(_shown(params[name])) for name, text in _WAITS.items() if params.get(name)]
        found += _timeout(params)
    return found


def asking_steps(plan: Plan, prefix: str = "") -> Iterator[str]:
    """The nodes of a plan, and of the workflows inside of it, that ask somebody."""
    for node in plan.nodes:
        name = f"{prefix}{node.id}"
        if node.approve is not None or (node.may_wait and node.child is None and node.type == "ask"):
            yield name
        if node.child is not None and node.may_wait:
            yield from asking_steps(node.child, f"{name}/")


def _question(params: Mapping[str, object]) -> list[str]:
    choices, fields, who = params.get("choices"), params.get("schema"), params.get("who")
    asked = "asks" if who in (None, "", "person") else f"asks {'an agent' if who == 'agent' else 'anyone'}"
    options = " or ".join(map(str, choices)) if isinstance(choices, list) else ""
    names = ", ".join(map(str, fields)) if isinstance(fields, Mapping) else ""
    with_names = f", with {names}" if names else ""
    said = f"{asked}: {options}{with_names}" if options else f"{asked} for {names}"
    return [shorten(said, _WIDTH), *_timeout(params)]


def _timeout(params: Mapping[str, object]) -> list[str]:
    timeout, default = params.get("timeout"), params.get("default")
    if timeout in (None, ""):
        return []
    then = f", then {shorten(str(default))}" if default else ""
    return [f"at most {_shown(timeout)}{then}"]


def _shown(value: object) -> str:
    seconds = read_duration(value)
    return shorten(str(value), _WIDTH) if seconds is None else show_duration(seconds)
