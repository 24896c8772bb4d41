"""Refuses bindings that somebody asked for, and that name a call, an argument or a step that there is not."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from pflow.core.errors import UsageError
from pflow.core.json_type import objects_in
from pflow.core.suggest import did_you_mean
from pflow.planning.learning.act import Act
from pflow.planning.learning.leaf import leaves
from pflow.planning.learning.learned import Learned, Wishes
from pflow.planning.learning.wording import spell


def check_wishes(wishes: Wishes, acts: Sequence[Act], learned: Learned) -> None:
    """Raise `UsageError` for the first binding that cannot be meant."""
    by_number = {act.number: act for act in acts}
    inputs = learned.document.get("inputs")
    names = [str(node["id"]) for node in objects_in(learned.document["nodes"])]
    names += list(inputs) if isinstance(inputs, dict) else []
    for (number, argument), source in wishes.bindings.items():
        act = by_number.get(number)
        if act is None:
            raise _unknown(f"call {number} is not a step", str(number), [str(one) for one in by_number], "calls")
        arguments = [spell(path) for path, _ in leaves(act.params)]
        if argument not in arguments:
            raise _unknown(f"call {number} has no argument `{argument}`", argument, arguments, "arguments")
        root = re.split(r"[.\[]", source)[0]
        if source and root not in names:
            raise _unknown(f"there is no step or input `{root}` to bind to", root, names, "steps and inputs")


def _unknown(message: str, name: str, known: Collection[str], what: str) -> UsageError:
    near = did_you_mean(name, known)
    return UsageError(message, suggestions=[*([near] if near else []), f"{what}: {', '.join(known)}"])
