"""Items that batches of a run went on without: which there are, and what has to run for some of them to run again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pflow.core.advice import Advice
from pflow.core.errors import DeclinedError, UsageError
from pflow.core.event import ItemFailed, StepStarted
from pflow.engine.again.name import outer_steps, split_item, top_of
from pflow.engine.history import History
from pflow.engine.value import Withheld, withheld_error

Items = Mapping[str, tuple[int, ...]]
"""Items by the step that they belong to."""

_MOST_SHOWN = 20


def lost_items(history: History) -> Items:
    """The items that failed in batches that completed, in the order in which the batches began."""
    begun = {top_of(event.step) for event in history.steps.get("", ()) if isinstance(event, StepStarted)}
    found = {}
    for step, past in history.past.items():
        failed = [index for index, item in history.items.get(step, {}).items() if isinstance(item, ItemFailed)]
        if failed and past.completed is not None and top_of(step) in begun:
            found[step] = tuple(sorted(failed))
    return found


def choose_items(run_id: str, history: History, words: Sequence[str] = ()) -> Items:
    """The lost items that words mean, `3` or `fetch[3]`, or all that nobody declined; raises `UsageError`."""
    lost = lost_items(history)
    wanted = _not_declined(history, lost)
    if not lost or not (words or wanted):
        raise UsageError(
            f"no batch of run `{run_id}` went on without an item: there are no failed items to run again",
            suggestions=_other_ways(run_id, history, lost),
        )
    if not words:
        return wanted
    chosen: dict[str, set[int]] = {}
    for word in words:
        step, item = _read_word(word, lost)
        if item not in lost[step]:
            raise UsageError(
                f"item {item} of `{step}` did not fail",
                details={"failed": [f"{step}[{index}]" for index in lost[step]]},
                suggestions=[f"items that failed: {_show(lost[step])}"],
            )
        chosen.setdefault(step, set()).add(item)
    return {step: tuple(sorted(chosen[step])) for step in lost if step in chosen}


def _not_declined(history: History, lost: Items) -> Items:
    """The items of which nobody said that they are not to be done."""
    found = {
        step: tuple(item for item in items if not _is_declined(history.items[step][item]))
        for step, items in lost.items()
    }
    return {step: items for step, items in found.items() if items}


def _is_declined(item: object) -> bool:
    return isinstance(item, ItemFailed) and item.error.get("type") == DeclinedError.code


def _other_ways(run_id: str, history: History, lost: Items) -> list[str]:
    if lost:
        step, items = next(iter(lost.items()))
        return [
            Advice(
                "{resume_item}   to ask once more about one that was declined", run=run_id, item=f"{step}[{items[0]}]"
            )
        ]
    return [] if history.finished else [Advice("{resume}   to run what failed or is missing", run=run_id)]


def with_outer(items: Items) -> Items:
    """The items with those that they are inside of: a step in a sub-workflow runs again only if its step does."""
    again = {step: set(chosen) for step, chosen in items.items()}
    for step in items:
        for outer, item in outer_steps(step):
            again.setdefault(outer, set()).update(() if item is None else (item,))
    return {step: tuple(sorted(chosen)) for step, chosen in again.items()}


def check_known(history: History, again: Items) -> None:
    """Raise `InputError` if what a kept step wrote holds a secret that is not known now: it could not be kept."""
    for step, past in history.past.items():
        for key, value in past.completed.writes.items() if past.completed is not None and step not in again else ():
            if isinstance(value, Withheld):
                raise withheld_error(f"`{step}.{key}`", value)


def _read_word(word: str, lost: Items) -> tuple[str, int]:
    """The step and the item that a word means."""
    step, item = split_item(word)
    if item is None and word.isascii() and word.isdigit() and len(word) < 10:
        if len(lost) > 1:
            steps = list(lost)
            raise UsageError(
                f"item {word} may be one of {', '.join(f'`{name}`' for name in steps)}",
                suggestions=[f"name its batch as well: `{steps[0]}[{word}]`"],
            )
        return next(iter(lost)), int(word)
    if item is None or step not in lost:
        shown = ", ".join(f"`{name}[{lost[name][0]}]`" for name in lost)
        raise UsageError(f"`{word}` is not an item that failed", suggestions=[f"there is, for example: {shown}"])
    return step, item


def _show(items: Sequence[int]) -> str:
    shown = ", ".join(map(str, items[:_MOST_SHOWN]))
    return f"{shown} and {len(items) - _MOST_SHOWN} more" if len(items) > _MOST_SHOWN else shown
