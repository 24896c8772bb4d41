"""Surroundings that tests of files and databases share."""

from tests.cluster import a_place, crashing, postgres
from tests.core.conftest import unwritable

__all__ = ["a_place", "crashing", "postgres", "unwritable"]
