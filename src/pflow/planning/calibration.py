"""Turns how well things fit into scores that read as chances: of those with 0.9, nine in ten are right. Pure.

A score grows with how well something fits and with its lead over whatever else fits best. The weights are those of a
logistic regression on half of the labelled queries in `tests/discovery`, some of which nothing answers; on the other
half `python -m tests.discovery.recall` compares what scores say with how often they are right.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import accumulate

LEAST_SCORE = 0.02
"""What scores less is not listed."""

_MOST = 0.99
"""Only what is called exactly what was asked for is certain."""

_WORDS = (-2.61, 2.84, 7.01)
"""A constant, and the weights of a share and of its lead."""

_MEANING = (-3.45, 3.66, 10.1, 1.62)
"""A constant, and the weights of a value, of its lead, and of the share by words alone."""


def calibrate_words(shares: Sequence[float]) -> list[float]:
    """Scores for the shares of a perfect match that things got, the best first."""
    base, fit, lead = _WORDS
    return _falling([base + fit * share + lead * ahead for share, ahead in zip(shares, _leads(shares), strict=True)])


def calibrate_meaning(values: Sequence[float], shares: Sequence[float]) -> list[float]:
    """Scores for what meaning and words gave together, and the share by words alone; the best first."""
    base, fit, lead, words = _MEANING
    leads = _leads(values)
    found = zip(values, leads, shares, strict=True)
    return _falling([base + fit * value + lead * ahead + words * share for value, ahead, share in found])


def _leads(values: Sequence[float]) -> list[float]:
    """How far each is ahead of the best of the others, or behind it."""
    if not values:
        return []
    second = values[1] if len(values) > 1 else 0.0
    return [values[0] - second, *(value - values[0] for value in values[1:])]


def _falling(odds: Sequence[float]) -> list[float]:
    """Chances from their logarithmic odds, none above the one before."""
    chances = (round(min(1 / (1 + math.exp(-value)), _MOST), 2) for value in odds)
    return list(accumulate(chances, min))
