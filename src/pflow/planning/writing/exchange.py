"""Questions to a model for one purpose: who answers them, what they have cost, and asking again until one is usable."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Generic, TypeVar

from pflow.core.document.issue import Issue
from pflow.core.error_text import render_issues
from pflow.core.errors import ModelError
from pflow.core.frozen import Frozen
from pflow.engine.model.llm import LLM, NO_USAGE, Completion, Prompt, Report, Usage
from pflow.planning.writing.answer import Unusable
from pflow.planning.writing.fence import fence
from pflow.planning.writing.prompt_file import PromptFile, load_prompt

MOST_MENDS = 3
"""How often a model may mend what it wrote."""

UNUSABLE = "unusable-answer"
"""The code of an issue about an answer that holds no document at all."""

_ANSWER_CHARACTERS = 30_000
_ISSUES_CHARACTERS = 12_000
_MOST_ISSUES = 20

T = TypeVar("T")


class Spent(Frozen):
    """What answers have taken. `cost` is in US dollars, None as soon as the price of one is not known."""

    calls: int = 0
    usage: Usage = NO_USAGE
    cost: float | None = 0.0

    def plus(self, completion: Completion) -> Spent:
        """With one more answer."""
        cost = None if self.cost is None or completion.cost is None else self.cost + completion.cost
        return Spent(calls=self.calls + 1, usage=self.usage.plus(completion.usage), cost=cost)


class Settled(Frozen, Generic[T]):
    """What asking came to: the last answer that could be read, what is wrong with it, and how often it was mended.

    `failure` says why a model that was to mend it gave no answer at all.
    """

    answer: T | None
    issues: tuple[Issue, ...]
    mends: int
    failure: str = ""


class Exchange:
    """Prompts that go to one model, with the same rules for all; `hide` takes out of them what must not leave."""

    def __init__(self, llm: LLM, *, report: Report, model: str = "", hide: Callable[[str], str] = str) -> None:
        self._llm = llm
        self._hide = hide
        self._wanted = model
        self._report = report
        self._system = load_prompt("system")
        self._mend = load_prompt("mend")
        self.model = model
        self.spent = Spent()
        self.used: list[PromptFile] = [self._system]

    async def settle(
        self,
        prompt: PromptFile,
        values: Mapping[str, str],
        schema: Mapping[str, object],
        read: Callable[[Completion], T | Unusable],
        judge: Callable[[T], tuple[Issue, ...]],
        *,
        most: int = MOST_MENDS,
    ) -> Settled[T]:
        """Ask until an answer can be read and nothing is wrong with it, mending it at most `most` times.

        Raises `ModelError` if there is not even a first answer.
        """
        self._note(prompt)
        text = asked = prompt.fill(**values)
        last: T | None = None
        issues: tuple[Issue, ...] = ()
        for mends in range(most + 1):
            try:
                completion = await self._ask(asked, schema)
            except ModelError as error:
                if last is None:
                    raise
                return Settled(answer=last, issues=issues, mends=mends - 1, failure=error.message)
            answer = read(completion)
            if isinstance(answer, Unusable):
                issues = (_unusable(answer),)
            else:
                last, issues = answer, judge(answer)
                if not issues:
                    return Settled(answer=last, issues=(), mends=mends)
            self._note(self._mend)
            asked = f"{text}\n\n{self._mended(completion, issues)}"
            self._report(f"mending the answer: {issues[0].message}")
        return Settled(answer=last, issues=issues, mends=most)

    async def _ask(self, text: str, schema: Mapping[str, object]) -> Completion:
        asked = Prompt(text=self._hide(text), system=self._system.text, model=self._wanted, schema=schema)
        completion = await self._llm.ask(asked, self._report)
        self.spent = self.spent.plus(completion)
        self.model = completion.model
        return completion

    def _mended(self, completion: Completion, issues: tuple[Issue, ...]) -> str:
        return self._mend.fill(
            answer=fence("answer", completion.text, _ANSWER_CHARACTERS),
            issues=fence("issues", render_issues(issues[:_MOST_ISSUES]), _ISSUES_CHARACTERS),
        )

    def _note(self, prompt: PromptFile) -> None:
        if prompt not in self.used:
            self.used.append(prompt)


def _unusable(answer: Unusable) -> Issue:
    head = f": it begins with `{answer.head}`" if answer.head else ""
    return Issue(code=UNUSABLE, message=f"the model's answer cannot be used, because {answer.reason}{head}")
