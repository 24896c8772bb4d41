"""What steps depend on: the order that follows from it, and the calls that nothing depends on."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence

from pflow.core.json_type import Json, objects_in
from pflow.planning.learning.leaf import leaves
from pflow.planning.learning.learned import LearnedStep

_REFERENCE = re.compile(r"(?<!\$)\$\{([\w-]+)|steps\[\"([^\"]+)\"\]")


def is_ordered_by_data(document: Json, steps: Sequence[LearnedStep]) -> bool:
    """Whether the order follows from what steps take: one at most has an effect, and all others lead to it."""
    acting = _acting(steps)
    nodes = {str(node["id"]) for node in objects_in(document.get("nodes"))}
    return len(nodes) > 1 and (not acting or (len(acting) == 1 and _leading_to(acting, document) == nodes))


def idle_calls(document: Json, steps: Sequence[LearnedStep], related: Collection[str] = ()) -> frozenset[int]:
    """The numbers of calls that only read, while no output and no effect depends on what they gave.

    `related` are steps that a person has to decide about. A call whose result was cut may have served something.
    """
    roots = {*_acting(steps), *related, *_references(document.get("outputs"))}
    live = _leading_to(roots, document)
    idle = (act for step in steps if _node_of(step) not in live for act in step.acts)
    return frozenset(act.number for act in idle if not act.is_cut)


def _acting(steps: Sequence[LearnedStep]) -> set[str]:
    """The nodes that have effects."""
    return {_node_of(step) for step in steps if any(act.effects for act in step.acts)}


def _leading_to(roots: Iterable[str], document: Json) -> set[str]:
    """Nodes, and all from which they take something."""
    taken = {str(node["id"]): _references(node) for node in objects_in(document.get("nodes"))}
    found = set(roots) & taken.keys()
    waiting = list(found)
    while waiting:
        more = (taken[waiting.pop()] & taken.keys()) - found
        found |= more
        waiting += more
    return found


def _node_of(step: LearnedStep) -> str:
    return step.id.partition("/")[0]


def _references(value: object) -> set[str]:
    texts = [text for _, text in leaves(value) if isinstance(text, str)]
    return {found[1] or found[2] for text in texts for found in _REFERENCE.finditer(text)}
