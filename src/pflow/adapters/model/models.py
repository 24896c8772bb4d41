"""Answers prompts: finds who is meant, asks them, and says what it took. The `LLM` of the engine; see its port."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from pflow.adapters.model.context import check_context
from pflow.adapters.model.memory import LevelMemory
from pflow.adapters.model.pace import Crowd, Pace
from pflow.adapters.model.target import Choice, Target
from pflow.core.errors import ModelError, PflowError
from pflow.core.frozen import Frozen
from pflow.core.setting.secret_search import MIN_SECRET
from pflow.engine.attempt.turn import Limits
from pflow.engine.model.llm import Completion, Prompt, Report

if TYPE_CHECKING:
    from pflow.adapters.model.conversation import Tally
    from pflow.adapters.model.message import Level, Talker


class Told(Frozen):
    """An answer with how it came: from whom, and at which level it was made to fit a schema."""

    completion: Completion
    target: Target
    level: Level | None


class Models:
    """Whoever can answer. `choice` gives what is configured now; `hide` takes secrets out of text, `learn` gets to
    know them."""

    def __init__(
        self,
        choice: Callable[[], Choice],
        memory: LevelMemory,
        *,
        limits: Limits,
        hide: Callable[[str], str],
        learn: Callable[[str, str], None],
        pace: Pace | None = None,
    ) -> None:
        self._choice = choice
        self._memory = memory
        self._limits = limits
        self._hide = hide
        self._learn = learn
        self._pace = pace or Pace()
        self._crowds: dict[tuple[str, str], Crowd] = {}

    def is_available(self, model: str = "") -> bool:
        """Whether somebody is configured who could answer."""
        try:
            target = self._choice().find(model)
        except PflowError:
            return False
        if target.kind == "agent":
            from pflow.adapters.model.agent import is_installed  # lazy: few answer as models

            return is_installed(target.provider)
        if target.kind == "package":
            from importlib.util import find_spec  # lazy: few use it

            return find_spec("llm") is not None
        return True

    async def ask(self, prompt: Prompt, report: Report = lambda message: None) -> Completion:
        """What the model answers; see `LLM.ask`."""
        return (await self.tell(prompt, report)).completion

    async def tell(self, prompt: Prompt, report: Report = lambda message: None, *, anew: bool = False) -> Told:
        """The same, with how the answer came; `anew` forgets what was learned about the model."""
        # lazy: only what asks a model needs these
        from pflow.adapters.model.conversation import Conversation
        from pflow.adapters.model.shape import Shape

        target = self._choice().find(prompt.model)
        shape = None if prompt.schema is None else Shape(prompt.schema)
        talker = self._talker(target)
        talk = Conversation(talker, prompt, target.model, report)
        check_context(target.shown, talk.question(), target.context)
        if anew:
            self._memory.keep(talker.place, target.model, None)
        try:
            if shape is None:
                answer = await talk.text()
            else:
                answer = await talk.value(shape, self._levels(target, talker))
        except ModelError as error:
            error.tokens = talk.tally.usage.input + talk.tally.usage.output
            error.cost = await _cost(target, talk.tally)
            raise
        if answer.has_learned:
            self._memory.keep(talker.place, target.model, answer.level)
        completion = Completion(
            text=answer.text,
            value=answer.value,
            model=talk.tally.model or target.model or target.name,
            usage=talk.tally.usage,
            cost=await _cost(target, talk.tally),
            notes=answer.notes,
        )
        return Told(completion=completion, target=target, level=answer.level)

    def _levels(self, target: Target, talker: Talker) -> Sequence[Level]:
        """The levels that are tried, best first: what the settings say, from what is known to work on."""
        if target.strict == "prompt":
            return ("prompt",)
        levels = talker.levels
        if target.strict == "on":
            return [level for level in levels if level in ("strict", "native")] or levels
        if target.strict == "off":
            levels = tuple(level for level in levels if level != "strict")
        known = self._memory.find(talker.place, target.model)
        return levels[levels.index(known) :] if known in levels else levels

    def _talker(self, target: Target) -> Talker:
        if target.kind == "agent":
            from pflow.adapters.model.agent import Agent  # lazy: few answer as models

            return Agent(target, self._choice().variables)
        if target.kind == "package":
            from pflow.adapters.model.package import Package  # lazy: few use it

            return Package(target)
        # lazy: HTTP costs 120 ms
        from pflow.adapters.model.exchange import Exchange
        from pflow.adapters.model.wires import WIRES

        key = self._choice().variables.get(target.key, "") if target.key else ""
        if len(key) >= MIN_SECRET:
            self._learn(target.key, key)
        crowd = self._crowds.setdefault((target.base_url, target.model), Crowd(self._pace))
        limits = self._limits
        return Exchange(
            target,
            WIRES[target.wire],
            key,
            crowd=crowd,
            limiter=limits.find(target.limit, "model", target.base_url, target.model) if target.limit else None,
            pace=self._pace,
            hide=self._hide,
        )


async def _cost(target: Target, tally: Tally) -> float | None:
    if tally.cost is not None or target.kind != "wire":
        return tally.cost
    from pflow.adapters.model.price import price_of  # lazy: only after an answer

    ids = tuple(dict.fromkeys(filter(None, (tally.model, target.model))))
    # in a thread: reading the table takes 250 ms, once
    return await asyncio.to_thread(price_of, target.base_url, ids, tally.usage)
