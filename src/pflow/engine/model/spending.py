"""What a run has spent on language models: a fold of its events. Whether a budget allows more is decided from it."""

from __future__ import annotations

from pflow.core.advice import Advice
from pflow.core.document.document import Budget
from pflow.core.errors import BudgetError
from pflow.core.event import ModelUsed
from pflow.core.frozen import Frozen


class Spent(Frozen):
    """Tokens, and US dollars as far as prices are known; `unpriced` counts the calls whose price is not."""

    tokens: int = 0
    usd: float = 0.0
    unpriced: int = 0

    @property
    def cost(self) -> float | None:
        """US dollars; None if the price of a call is not known."""
        return None if self.unpriced else round(self.usd, 9)

    def plus(self, used: ModelUsed) -> Spent:
        """With one call more."""
        return Spent(
            tokens=self.tokens + used.tokens,
            usd=self.usd + (used.cost or 0.0),
            unpriced=self.unpriced + (used.cost is None),
        )


NOTHING = Spent()


class Spending:
    """What the steps of a run have spent, all together and each."""

    def __init__(self) -> None:
        self.total = NOTHING
        self.by_step: dict[str, Spent] = {}
        """By the names of steps, the items of a batch under that of their step."""

        self._by_place: dict[str, Spent] = {}

    def note(self, used: ModelUsed) -> None:
        """Take one call into account."""
        place = used.step if used.item is None else f"{used.step}[{used.item}]"
        self.total = self.total.plus(used)
        self.by_step[used.step] = self.by_step.get(used.step, NOTHING).plus(used)
        self._by_place[place] = self._by_place.get(place, NOTHING).plus(used)

    def inside(self, prefix: str) -> Spent:
        """What one execution of a sub-workflow has spent; of the run, all."""
        if not prefix:
            return self.total
        inner = [spent for place, spent in self._by_place.items() if place.startswith(prefix)]
        return Spent(
            tokens=sum(one.tokens for one in inner),
            usd=sum(one.usd for one in inner),
            unpriced=sum(one.unpriced for one in inner),
        )


def check_budget(budget: Budget, spent: Spent, run_id: str) -> None:
    """Raise `BudgetError` once what a run may spend is spent."""
    if budget.usd is not None and spent.usd >= budget.usd:
        over = f"${spent.usd:.6g} of ${budget.usd:g}"
    elif budget.tokens is not None and spent.tokens >= budget.tokens:
        over = f"{spent.tokens:,} of {budget.tokens:,} tokens"
    else:
        return
    raise BudgetError(
        f"the `budget` for language models is spent: {over}",
        details={
            "budget": {name: value for name, value in budget._asdict().items() if value is not None},
            "spent": {"usd": round(spent.usd, 9), "tokens": spent.tokens},
        },
        suggestions=[Advice("raise `budget` in the document, and go on with `{resume_edited}`", run=run_id)],
    )
