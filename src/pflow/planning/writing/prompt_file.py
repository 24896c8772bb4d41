"""The prompts of the planner: text files with a version, into which values are put once. Knows no model."""

from __future__ import annotations

import re
from importlib.resources import files

from pflow.core.frozen import Frozen

_PLACE = re.compile(r"<<([a-z]+)>>")


class PromptFile(Frozen):
    """One prompt. `version` changes whenever its text does."""

    name: str
    version: int
    text: str

    @property
    def label(self) -> str:
        """Its name and version, as documents keep it."""
        return f"{self.name}-{self.version}"

    def fill(self, **values: str) -> str:
        """The text with a value in each of its places; places that stand inside values stay text."""
        return _PLACE.sub(lambda place: values[place[1]], self.text)


def load_prompt(name: str) -> PromptFile:
    """The prompt of that name."""
    data = files("pflow.planning").joinpath("prompts", f"{name}.md").read_text(encoding="utf-8")
    first, _, text = data.partition("\n")
    return PromptFile(name=name, version=int(first.removeprefix("version: ")), text=text)
