"""Asks models of a scripted provider, through the settings as a person would set them, without waiting for real."""

from __future__ import annotations

import asyncio
from pathlib import Path

from pflow.adapters.model.memory import LevelMemory
from pflow.adapters.model.models import Models, Told
from pflow.adapters.model.pace import Pace
from pflow.adapters.model.target import Choice
from pflow.core.file.home import Home
from pflow.core.setting.redactor import Redactor
from pflow.engine.attempt.turn import Limits
from pflow.engine.model.llm import Completion, Prompt

KEY = "sk-c4n4ry-0123456789abcdef"
FAR = 240.0
"""Seconds after which a test has hung, on however busy a machine."""


class Asking:
    """Models under test. Time passes only when they wait."""

    def __init__(self, home: Path, url: str, wire: str = "chat", **fields: str | int) -> None:
        self.waits: list[float] = []
        self.reports: list[str] = []
        self.redactor = Redactor({})
        self.memory = LevelMemory(Home(home))
        self.now = 0.0
        self.tick = 0.0
        """Seconds that pass whenever somebody looks at the clock."""
        mine = {"base_url": url, "wire": wire, "model": "some-model", "key": "MY_KEY", **fields}
        choice = Choice(models={"mine": mine}, default="mine", agents="", variables={"MY_KEY": KEY})
        self.models = Models(
            lambda: choice,
            self.memory,
            limits=Limits(),
            hide=self.redactor.text,
            learn=self.redactor.add,
            pace=Pace(sleep=self._sleep, clock=self._look, silence=FAR, answer=FAR),
        )

    def _look(self) -> float:
        self.now += self.tick
        return self.now

    async def _sleep(self, seconds: float) -> None:
        self.waits.append(round(seconds, 3))
        self.now += seconds

    def ask(self, text: str = "hi", **fields: object) -> Completion:
        return self.tell(text, **fields).completion

    def tell(self, text: str = "hi", **fields: object) -> Told:
        prompt = Prompt(text=text)._replace(**fields)
        return asyncio.run(self.models.tell(prompt, self.reports.append))
