"""Small rules for how documents name and order what was learnt."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pflow.core.json_type import Json
from pflow.core.template.compiled import ValuePath
from pflow.planning.learning.act import Act
from pflow.planning.learning.bind import seen_outputs
from pflow.planning.learning.leaf import leaves, spell_path, telling_words
from pflow.planning.learning.source import Produced


def option_of(act: Act, path: ValuePath) -> str:
    """The option before a word of a command, as a name."""
    command = act.params.get("command")
    place = path[-1]
    if not isinstance(command, list) or not isinstance(place, int) or place == 0:
        return ""
    before = str(command[place - 1])
    return slug_of(before).replace("-", "_") if before.startswith("--") and "=" not in before else ""


def said_of(act: Act) -> Json:
    """What the agent said before a call, in a line."""
    return {"description": act.said.strip().splitlines()[0][:200]} if act.said.strip() else {}


def shown_output(produced: Produced) -> str:
    if produced.is_loop:
        return "results"
    outputs = seen_outputs(produced.outputs)
    return next(
        (name for name in ("result", "stdout", "content", "response") if name in outputs), next(iter(outputs), "")
    )


def find_wording(
    text: object, path: ValuePath, produced: Sequence[Produced], is_said: Callable[[str], bool]
) -> Produced | None:
    """The last result whose words stand in a text that people read, unless the user wrote them."""
    if not isinstance(text, str) or path == ("command",) or path[-1:] == (0,):
        return None
    if path == ("content",):
        return produced[-1] if produced else None
    words = {word for word in telling_words(text) if not is_said(word)} if " " in text.strip() else set()
    for one in reversed(produced):
        given = [str(value) for _, value in leaves(one.outputs)]
        if any(word in value for word in words for value in given):
            return one
    return None


def spell(path: ValuePath) -> str:
    """An argument as a person names it."""
    return spell_path(path).lstrip(".")


def span_of(acts: Sequence[Act]) -> str:
    return f"{acts[0].number}–{acts[-1].number}"


def slug_of(label: str) -> str:
    kept = "".join(char if char.isascii() and char.isalnum() else "-" for char in label.lower())
    return "-".join(part for part in kept.split("-") if part) or "step"
