"""Plays a workflow with answers that are found by comparing, and makes a cassette of what it asked."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from pflow.core.cassette.cassette import Cassette, Recorded
from pflow.core.json_type import JsonView
from pflow.core.setting.redactor import Redactor
from pflow.engine.attempt.tape import Unanswered
from pflow.engine.plan import PlanNode
from pflow.execution.past.run_session import command_of
from pflow.execution.replay.player import Player, Unrecorded
from pflow.execution.replay.rule import asked_params, asked_reads, is_answered, path_of

Answer = Callable[[str, str, int, JsonView], JsonView | None]
"""Gives the outputs of a node by its path, its type, the item's index and its params; None if it has no answer."""


class Matching(Player):
    """A `Player` whose answers somebody finds; `made` is what was asked and given."""

    def __init__(self, answer: Answer, cassette: Cassette, redactor: Redactor) -> None:
        super().__init__(cassette, redactor)
        self._answer = answer
        self.made: list[Recorded] = []

    def play(
        self, node: PlanNode, params: Mapping[str, Any], read: Callable[[str], object], step: str
    ) -> tuple[str, dict[str, object]] | None:
        """See `Tape`."""
        if not is_answered(node):
            return None
        asked = asked_params(self._redactor, params)
        outputs = self._answer(path_of(step), node.type, _index(step), _typed(asked))
        if outputs is None:
            self.unrecorded.append(Unrecorded(step=step, type=node.type, params=asked))
            raise Unanswered
        reads = asked_reads(self._redactor, node, read)
        self.made.append(Recorded(step=step, type=node.type, params=asked, reads=reads, outputs=outputs))
        return "default", dict(outputs)


def _typed(asked: JsonView) -> JsonView:
    """Params with the values of a command in their places, as somebody would have typed it."""
    if "values" not in asked or "command" not in asked:
        return asked
    command = asked["command"]
    rest = {name: value for name, value in asked.items() if name not in ("values", "command")}
    return {**rest, "command": command_of(asked) if isinstance(command, str) else _words(asked)}


def _words(asked: JsonView) -> list[str]:
    command, values = asked["command"], asked["values"]
    assert isinstance(command, list) and isinstance(values, Mapping)
    return [_filled(str(word), values) for word in command]


def _filled(text: str, values: JsonView) -> str:
    for template, value in values.items():
        text = text.replace(template, str(value))
    return text


def _index(step: str) -> int:
    """The item that a step is for; 0 for one that is in no batch."""
    _, _, rest = step.rpartition("[")
    number = rest.partition("]")[0]
    return int(number) if number.isdigit() else 0
