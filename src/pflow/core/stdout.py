"""Keeps the stdout of a process for its data: what code of others writes there goes to stderr instead."""

from __future__ import annotations

import os
import sys


def take_stdout() -> int:
    """Give stdout to the caller alone, as a descriptor that no child inherits.

    From here on whatever writes to descriptor 1 (a print, a C library, a child process) writes to stderr.
    """
    while (nothing := os.open(os.devnull, os.O_RDWR)) <= 2:
        pass  # a standard stream that was closed is nothing from here on: the copy must not take its place
    kept = os.dup(1)
    os.dup2(nothing if sys.stderr is None else 2, 1)  # without a stderr, 2 may be any file of ours
    os.close(nothing)
    return kept
