"""Where a step has a prompt answered: by a model, within the budgets of its run, or by whoever started the run."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from pflow.core.advice import Advice
from pflow.core.errors import ModelError, NoModelError
from pflow.core.event import ModelUsed
from pflow.engine.again.name import split_item
from pflow.engine.asking.question import Question
from pflow.engine.model.spending import check_budget

if TYPE_CHECKING:
    from pflow.engine.model.llm import LLM, Completion, Prompt
    from pflow.engine.run import Run


class Desk:
    """Has the prompts of one step answered."""

    def __init__(self, run: Run, step: str, *, can_wait: bool) -> None:
        self._run = run
        self._step = step
        self._can_wait = can_wait

    def is_lent(self, question: Question, model: str) -> bool:
        """Whether the caller answers in place of a model: there is none, or it was asked before.

        Raises `NoModelError` if there is neither a model nor a caller.
        """
        if self._can_wait and self._run.expect_waits().knows(self._step, question):
            return True
        llm = self._run.shared.services.llm()
        if llm is not None and llm.is_available(model):
            return False
        if self._can_wait and self._run.lends:
            return True
        raise no_model(model)

    async def complete(self, prompt: Prompt) -> Completion:
        """What a model answers. What it takes is recorded before anything else happens, also of a failure.

        Raises `BudgetError` if nothing more may be spent, and what `LLM.ask` raises.
        """
        self._check_budgets()
        llm: LLM | None = self._run.shared.services.llm()
        if llm is None:
            raise no_model(prompt.model)
        try:
            completion = await llm.ask(prompt, lambda text: self._run.report(self._step, text))
        except ModelError as error:
            if error.tokens or error.cost:
                await self._record(prompt.model, error.tokens, error.cost)
            raise
        usage = completion.usage
        await self._record(completion.model, usage.input + usage.output, completion.cost)
        if completion.cost is None and any(budget.usd is not None for budget in self._run.budgets.values()):
            self._run.report(
                self._step, f"the price of `{completion.model}` is not known; `budget.usd` cannot limit it"
            )
        return completion

    def _check_budgets(self) -> None:
        spending = self._run.history.spending
        for prefix, budget in self._run.budgets.items():
            if spending is not None and self._step.startswith(prefix):
                check_budget(budget, spending.inside(prefix), self._run.run_id)

    async def _record(self, model: str, tokens: int, cost: float | None) -> None:
        step, item = split_item(self._step)
        used = ModelUsed(step=step, item=item, at=time.time(), model=model, tokens=tokens, cost=cost)
        self._run.history.note_use(used)
        await self._run.emit_grouped(used)


def no_model(model: str, node: str = "") -> NoModelError:
    """Nobody can answer, and for which node that is known before the run: what to do about it."""
    needed = f", and node `{node}` (llm) needs one" if node else ""
    return NoModelError(
        (f"no language model is configured as `{model}`" if model else "no language model is configured") + needed,
        suggestions=[
            Advice("configure one with `{add_model}`", name="NAME"),
            "or put the key of a provider into the environment, and write `model: PROVIDER/MODEL`",
            "or run the workflow from an agent, over MCP: without a model, the agent is asked",
        ],
    )
