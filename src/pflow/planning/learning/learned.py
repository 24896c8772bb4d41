"""What was learnt from a session, as values."""

from __future__ import annotations

from collections.abc import Mapping

from pflow.core.frozen import Frozen
from pflow.core.json_type import Json
from pflow.planning.learning.act import Act
from pflow.planning.learning.bind import Confidence


class Bound(Frozen):
    """What an argument of a step is bound to, for people. `origin` is the step that gives it."""

    argument: str
    source: str
    confidence: Confidence
    origin: str = ""
    values: tuple[str, ...] = ()


class LearnedStep(Frozen):
    """A step with the calls that it stands for. `text` is what the agent wrote itself, where a gap asks for it."""

    id: str
    type: str
    acts: tuple[Act, ...] = ()
    bounds: tuple[Bound, ...] = ()
    text: str | None = None
    shows: tuple[str, ...] = ()


class Question(Frozen):
    """What a person should decide, and what settles it."""

    text: str
    settle: str = ""


class Learned(Frozen):
    """A document, the steps that do something in it, and what a person should look at; `idle` calls serve nothing."""

    document: Json
    steps: tuple[LearnedStep, ...]
    inputs: Mapping[str, object] = {}
    questions: tuple[Question, ...] = ()
    idle: frozenset[int] = frozenset()


class Wishes(Frozen):
    """What a person decided: how gaps are filled, arguments bound by hand, calls whose arguments stay as they were."""

    llm: bool = True
    bindings: Mapping[tuple[int, str], str] = {}
    literal: frozenset[int] = frozenset()
