"""Judges runs from the effects file alone: which were lost, which steps ran again, and whether somebody had said so."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple


class Effect(NamedTuple):
    """What a step leaves: one line. Those of a higher `stage` begin only after it ended; `pure` ones may run again."""

    stage: int
    pure: bool = False


class Line(NamedTuple):
    """A line of the file: when, in which run, by which step."""

    at: float
    token: str
    step: str


class Verdict(NamedTuple):
    """What became of runs. A run whose submitting failed has to be whole or not there, and counts if it is there."""

    runs: int = 0
    lost: tuple[str, ...] = ()
    """Runs of which something is missing."""

    repeated: tuple[str, ...] = ()
    """Steps that began again after a later one had begun."""

    unasked: tuple[str, ...] = ()
    """Steps with an effect that ran more often than somebody had said yes to."""

    wrong: tuple[str, ...] = ()
    """Steps that should never have run."""

    pure: int = 0
    """How often steps ran again that may."""

    effects: int = 0

    @property
    def is_clean(self) -> bool:
        """Whether nothing happened that must not."""
        return not (self.lost or self.repeated or self.unasked or self.wrong)


class Expected(NamedTuple):
    """A run: what it leaves, and whether its submitting succeeded."""

    effects: Mapping[str, Effect]
    accepted: bool = True


def read(text: str) -> list[Line]:
    """The lines of the file, in order; one that is not as it should be is a step of no run."""
    return [_line(text) for text in text.splitlines()]


def _line(text: str) -> Line:
    match text.split():
        case [at, token, step] if at.replace(".", "", 1).isdecimal():
            return Line(float(at), token, step)
    return Line(0.0, "", text)


def strays(lines: Iterable[Line], tokens: Collection[str]) -> list[str]:
    """Lines of runs that nobody began."""
    return [f"{line.token or 'nobody'}: {line.step}" for line in lines if line.token not in tokens]


def judge(lines: Iterable[Line], runs: Mapping[str, Expected], yeses: Mapping[tuple[str, str], int]) -> Verdict:
    """What became of `runs`, by token. `yeses` counts how often somebody said that a step may run again."""
    by_run: dict[str, list[str]] = {token: [] for token in runs}
    for line in lines:
        if line.token in by_run:
            by_run[line.token].append(line.step)
    lost: list[str] = []
    repeated: list[str] = []
    unasked: list[str] = []
    wrong: list[str] = []
    count_runs = pure = effects = 0
    for token, steps in by_run.items():
        expected = runs[token].effects
        counts = Counter(steps)
        effects += len(steps)
        count_runs += runs[token].accepted or bool(steps)
        missing = [step for step in expected if step not in counts]
        if missing and (runs[token].accepted or counts):
            lost.append(f"{token}: {', '.join(missing)}")
        wrong += [f"{token}: {step}" for step in counts if step not in expected]
        repeated += [f"{token}: {step}" for step in _begun_late(steps, expected)]
        for step, count in counts.items():
            if step in expected and expected[step].pure:
                pure += count - 1
            elif step in expected and count - 1 > yeses.get((token, step), 0):
                unasked.append(f"{token}: {step} ran {count} times, {yeses.get((token, step), 0)} repeats agreed to")
    return Verdict(count_runs, tuple(lost), tuple(repeated), tuple(unasked), tuple(wrong), pure, effects)


def _begun_late(steps: Iterable[str], expected: Mapping[str, Effect]) -> list[str]:
    """The steps that began again after one of a later stage had."""
    found: list[str] = []
    seen: set[str] = set()
    highest = -1
    for step in steps:
        if step not in expected:
            continue
        if step in seen and expected[step].stage < highest:
            found.append(step)
        seen.add(step)
        highest = max(highest, expected[step].stage)
    return found
