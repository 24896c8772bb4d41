"""Surroundings that tests of files share."""

from tests.cluster import cluster
from tests.core.conftest import unwritable

__all__ = ["cluster", "unwritable"]
