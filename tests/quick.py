"""A run without the slow tests tries a quarter of the random examples: the others come with `.ci/run`."""

from __future__ import annotations

import pytest

_share = 1


def configure(config: pytest.Config) -> None:
    """Learn before tests are collected whether the slow ones are left out."""
    global _share  # noqa: PLW0603
    _share = 4 if config.option.markexpr == "not slow" else 1


def examples(number: int) -> int:
    """How many of so many examples this run tries."""
    return max(number // _share, 1)
