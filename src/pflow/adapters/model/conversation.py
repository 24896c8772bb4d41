"""Gets a usable answer out of a model: asks, checks against the schema, and has what does not fit repaired.

Whoever answers is a `Talker`. No provider is trusted to keep to a schema, whatever it promises.
"""

from __future__ import annotations

from collections.abc import Sequence

from pflow.adapters.model.message import Level, Question, Reply, SchemaRefused, Stop, Talker, Turn
from pflow.adapters.model.shape import Shape, Unfit, repair_words
from pflow.core.errors import ModelError
from pflow.core.printable import shorten
from pflow.engine.model.llm import NO_USAGE, Prompt, Report, Usage

MOST_REPAIRS = 2
_SHOWN_CHARACTERS = 500
_QUOTED_CHARACTERS = 20_000
"""Of an answer that a model gets to see again."""

_WAYS: dict[Level, str] = {
    "strict": "as a strict schema",
    "native": "as a schema",
    "tool": "as a tool call",
    "prompt": "in the prompt",
}


class Tally:
    """What the rounds of a conversation took, also of one that fails."""

    def __init__(self) -> None:
        self.usage: Usage = NO_USAGE
        self.cost: float | None = None
        self.model = ""

    def add(self, reply: Reply) -> None:
        """Count a reply."""
        self.usage = self.usage.plus(reply.usage)
        self.model = reply.model or self.model
        if reply.cost is not None:
            self.cost = (self.cost or 0.0) + reply.cost


class Answer:
    """A usable answer: its text, its value, and the level at which it came.

    `has_learned` says that the model does not keep to a schema at some level above.
    """

    def __init__(
        self,
        text: str,
        value: object,
        level: Level | None = None,
        notes: Sequence[str] = (),
        *,
        has_learned: bool = False,
    ) -> None:
        self.text = text
        self.value = value
        self.level = level
        self.notes = tuple(notes)
        self.has_learned = has_learned


class Conversation:
    """One prompt, and the rounds that it takes."""

    def __init__(self, talker: Talker, prompt: Prompt, model: str, report: Report) -> None:
        self.tally = Tally()
        self._talker = talker
        self._prompt = prompt
        self._model = model
        self._report = report
        self._turns = [Turn(role="user", text=prompt.text, images=prompt.images)]
        self._notes: list[str] = []

    def question(self, level: Level | None = None, shape: Shape | None = None) -> Question:
        """What is asked now."""
        prompt = self._prompt
        system = prompt.system
        if shape is not None and level == "prompt":
            system = f"{system}\n\n{shape.words}" if system else shape.words
        return Question(
            model=self._model,
            turns=tuple(self._turns),
            system=system,
            level=level,
            schema=None if shape is None or level is None else shape.at(level),
            temperature=prompt.temperature,
            max_tokens=prompt.max_tokens,
            options=prompt.options,
        )

    async def text(self) -> Answer:
        """The answer as text."""
        reply = await self._say(self.question())
        return Answer(reply.text, reply.text)

    async def value(self, shape: Shape, levels: Sequence[Level]) -> Answer:
        """The answer as a value that fits; `levels` are tried from the first on."""
        left = [level for level in levels if shape.at(level) is not None]
        first, repairs = left[0], 0
        while True:
            level = left[0]
            try:
                reply = await self._say(self.question(level, shape))
            except SchemaRefused as refusal:
                if len(left) == 1:
                    raise refusal.error from None
                self._step_down(left, f"refused the schema {_WAYS[level]}: {shorten(refusal.error.message, 200)}")
                continue
            try:
                value = shape.read(reply.text)
                return Answer(reply.text, value, level, self._notes, has_learned=level != first)
            except Unfit as unfit:
                if repairs == MOST_REPAIRS:
                    raise self._give_up(reply, unfit) from None
                if not unfit.is_json and len(left) > 1:
                    self._step_down(left, f"did not keep to the schema {_WAYS[level]}")
                repairs += 1
                self._report(f"the answer does not fit the schema; asks again ({repairs} of {MOST_REPAIRS})")
                self._notes.append(f"answer {repairs} did not fit: {shorten(unfit.problems[0], 200)}")
                said = reply.text[:_QUOTED_CHARACTERS] or "(nothing)"
                self._turns += [
                    Turn(role="assistant", text=said),
                    Turn(role="user", text=repair_words(unfit.problems)),
                ]

    def _step_down(self, left: list[Level], why: str) -> None:
        left.pop(0)
        self._notes.append(f"{self._talker.name} {why}; it was asked {_WAYS[left[0]]}")

    async def _say(self, question: Question) -> Reply:
        reply = await self._talker.say(question, self._report)
        self.tally.add(reply)
        if reply.stop != "done":
            raise self._stopped(reply.stop, reply.text)
        return reply

    def _stopped(self, stop: Stop, text: str) -> ModelError:
        details = {"answer": shorten(text, _SHOWN_CHARACTERS)} if text else {}
        if stop == "refused":
            return ModelError(f"{self._talker.name} refused to answer", action="refused", details=details)
        most = self._prompt.max_tokens
        return ModelError(
            f"the answer of {self._talker.name} was cut off after {self.tally.usage.output or len(text)} "
            f"{'tokens' if self.tally.usage.output else 'characters'}",
            action="cut",
            details=details,
            suggestions=[f"raise `max_tokens`, which is {most}" if most else "set a higher `max_tokens`"],
        )

    def _give_up(self, reply: Reply, unfit: Unfit) -> ModelError:
        return ModelError(
            f"{self._talker.name} did not answer in the form of the schema, {MOST_REPAIRS + 1} times: "
            f"{shorten(unfit.problems[0], 200)}",
            details={"problems": unfit.problems, "answer": shorten(reply.text, _SHOWN_CHARACTERS)},
            suggestions=["simplify the schema, or use a more capable model"],
        )
