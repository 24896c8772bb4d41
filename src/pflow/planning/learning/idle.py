"""Which calls of a document serve nothing: they only read, and no output and no effect depends on what they gave.

A call whose result was cut may have served something.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from pflow.core.json_type import Json, objects_in
from pflow.planning.learning.leaf import leaves
from pflow.planning.learning.learned import LearnedStep

_REFERENCE = re.compile(r"(?<!\$)\$\{([\w-]+)|steps\[\"([^\"]+)\"\]")


def idle_calls(document: Json, steps: Sequence[LearnedStep], related: Collection[str] = ()) -> frozenset[int]:
    """The numbers of these calls; `related` are steps that a person has to decide about."""
    taken = {str(node["id"]): _references(node) for node in objects_in(document.get("nodes"))}
    acting = {step.id.partition("/")[0] for step in steps if any(act.effects for act in step.acts)}
    live = acting | set(related) | (_references(document.get("outputs")) & taken.keys())
    waiting = list(live)
    while waiting:
        found = (taken[waiting.pop()] & taken.keys()) - live
        live |= found
        waiting += found
    idle = (act for step in steps if step.id.partition("/")[0] not in live for act in step.acts)
    return frozenset(act.number for act in idle if not act.is_cut)


def _references(value: object) -> set[str]:
    texts = [text for _, text in leaves(value) if isinstance(text, str)]
    return {found[1] or found[2] for text in texts for found in _REFERENCE.finditer(text)}
