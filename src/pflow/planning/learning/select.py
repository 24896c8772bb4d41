"""Which calls of a session are the work: the rest failed, was repeated, or only explored."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from itertools import groupby

from pflow.core.frozen import Frozen
from pflow.core.session.call import Session
from pflow.planning.learning.act import Act
from pflow.planning.learning.leaf import leaves, says_enough, telling_words

LONG_CHARACTERS = 120
"""From this length on, text that equals no result is taken to be written, not chosen."""


_SHORTEST_PART = 5
"""Characters of a result that may stand inside of an argument."""


class Chosen(Frozen):
    """The calls that become steps, those that do not, and what a person should look at: its kind, and a sentence."""

    kept: tuple[Act, ...] = ()
    explored: tuple[int, ...] = ()
    failed: int = 0
    questions: tuple[tuple[str, str], ...] = ()


def without(chosen: Chosen, idle: Collection[int]) -> Chosen:
    """The same without calls that turned out to serve nothing."""
    kept = tuple(act for act in chosen.kept if act.number not in idle)
    return chosen._replace(kept=kept, explored=tuple(sorted({*chosen.explored, *idle}))) if kept else chosen


def task_range(session: Session) -> tuple[int, int]:
    """The first and last call of the last task that took any."""
    last = max((call.number for call in session.calls), default=0)
    starts = [prompt.before for prompt in session.prompts if prompt.before <= last]
    return max(starts, default=1), last


def task_words(session: Session, first: int, last: int) -> str:
    """What the user wrote that led to these calls."""
    before = [prompt for prompt in session.prompts if prompt.before <= last]
    inside = [prompt.text for prompt in before if prompt.before >= first]
    return "\n".join(inside or [prompt.text for prompt in before[-1:]])


def choose(acts: Sequence[Act], answer: str, *, keep_all: bool = False) -> Chosen:
    """Keep what has effects and what those needed; `keep_all` keeps everything that succeeded."""
    lacking = {act.lacks: act for act in reversed(acts) if act.ok and act.lacks}
    questions = [("failed", text) for text in _failures(acts)]
    questions += [("lacks", f"call {act.number}: {act.lacks}") for act in reversed(lacking.values())]
    usable = [act for act in acts if act.ok and not act.looks and act.type]
    if not keep_all:
        usable = list(_without_repeats(usable))
    needed = {act.number for act in usable} if keep_all else _needed(usable, answer)
    kept = tuple(act for act in usable if act.number in needed)
    explored = tuple(act.number for act in acts if act.ok and act.number not in needed)
    failed = sum(not act.ok for act in acts)
    return Chosen(kept=kept, explored=explored, failed=failed, questions=tuple(questions))


def is_written(value: object) -> bool:
    """Whether a value is text that somebody wrote rather than chose."""
    return isinstance(value, str) and (len(value) >= LONG_CHARACTERS or value.count("\n") >= 2)


def shares(text: str, act: Act) -> bool:
    """Whether text holds words that hardly come from anywhere but the result of a call."""
    found = "\n".join(str(value) for _, value in leaves(act.outputs))
    return any(word in found for word in telling_words(text))


def _failures(acts: Sequence[Act]) -> Iterator[str]:
    for position, act in enumerate(acts):
        same = [other for other in acts[position + 1 :] if other.label == act.label]
        if not act.ok and not any(other.ok for other in same):
            yield f"call {act.number} (`{act.label}`) failed, and none like it succeeded later; what was it for?"


def _without_repeats(acts: Sequence[Act]) -> Iterator[Act]:
    seen: list[Act] = []
    for act in acts:
        twin = any(
            (act.type, act.params, act.outputs) == (other.type, other.params, other.outputs)
            for other in seen
            if other.shape == act.shape
        )
        if not (twin and not act.effects):
            yield act
        seen.append(act)


def _needed(acts: Sequence[Act], answer: str) -> set[int]:
    needed = {act.number for act in acts if act.effects} or _quoted(acts, answer)
    needed |= _told(acts, answer, max(needed, default=0))
    grew = True
    while grew:
        before = len(needed)
        for position, act in enumerate(acts):
            if act.number in needed:
                needed |= _sources(act, [one for one in acts[:position] if not one.effects], needed)
        needed |= _whole_runs(acts, needed)
        grew = len(needed) > before
    return needed


def _quoted(acts: Sequence[Act], answer: str) -> set[int]:
    """Calls whose results an answer quotes; the last ones if it quotes none, or what little these gave."""
    runs = _runs(acts)
    quoted = {act.number for act in acts if shares(answer, act)}
    found = {number for run in runs for number in run if quoted & run}
    last = set().union(*runs[-1:])
    is_told = all(_stands_in(answer, act) for act in acts if act.number in last)
    return found | last if is_told else found or last


def _stands_in(answer: str, act: Act) -> bool:
    """Whether a whole result stands in an answer."""
    text = str(act.outputs.get(act.main, "")).strip()
    return bool(text) and re.search(rf"(?<!\w){re.escape(text)}(?!\w)", answer) is not None


def _told(acts: Sequence[Act], answer: str, after: int) -> set[int]:
    """Calls after the last one with effects that gave what an answer quotes, and nothing before them."""
    before = [str(value) for act in acts for _, value in leaves(act.params)]
    before += [str(value) for act in acts if act.number <= after for _, value in leaves(act.outputs)]
    news = {word for word in telling_words(answer) if not any(word in text for text in before)}
    found: set[int] = set()
    for act in acts:
        given = "\n".join(str(value) for _, value in leaves(act.outputs)) if act.number > after else ""
        quoted = {word for word in news if word in given}
        found |= {act.number} if quoted else set()
        news -= quoted
    return found


def _sources(act: Act, reads: Sequence[Act], needed: Collection[int]) -> set[int]:
    found: set[int] = set()
    written = ""
    for path, value in leaves(act.params):
        text = str(value)
        if path == ("content",):
            found |= {one.number for one in reads if one.outputs.get(one.main) == text.rstrip("\n") != ""}
        is_number = text.isascii() and text.isdigit() and len(text) < 19
        if path[0] == "cwd" or not says_enough(int(text) if is_number and value is not True else value):
            continue
        found |= {one.number for one in reads if _gives(one, text)}
        if is_written(value) and path[0] != "command":
            written += text
    if written and not found:
        found = {one.number for one in reads if one.number not in needed}
    return found


def _gives(act: Act, text: str) -> bool:
    words = telling_words(text)
    for _, value in leaves(act.outputs):
        if isinstance(value, str) and (text in value or any(word in value for word in words)):
            return True
        if isinstance(value, str) and _SHORTEST_PART <= len(value) < len(text) and value in text:
            return True
        if value == text or (isinstance(value, int) and str(value) == text):
            return True
    return False


def _runs(acts: Sequence[Act]) -> list[set[int]]:
    """Calls of one shape that follow each other."""
    return [{act.number for act in run} for _, run in groupby(acts, lambda act: act.shape)]


def _whole_runs(acts: Sequence[Act], needed: Collection[int]) -> set[int]:
    """All turns of what looks like a loop, if several of them are needed."""
    return {number for turns in _runs(acts) if len(turns) >= 3 and len(turns & set(needed)) >= 2 for number in turns}
