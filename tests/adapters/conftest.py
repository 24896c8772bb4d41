"""Surroundings that tests of files share."""

from tests.core.conftest import unwritable

__all__ = ["unwritable"]
