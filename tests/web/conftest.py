"""The page over the home of a test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.web.serving import Served, serve


@pytest.fixture
def page(home: Path) -> Iterator[Served]:
    with serve(home) as served:
        yield served
