"""Garbage collection, put off while much is made that all stays."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def without_collecting() -> Iterator[None]:
    """Read a large value without looking for garbage in it again and again, which takes up to nine tenths of the time.

    Threads may overlap: the first to end lets collecting go on for all of them, and nothing but time is lost.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
