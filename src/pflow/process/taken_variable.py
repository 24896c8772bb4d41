"""Takes a variable out of this process's environment, and out of what the kernel shows of it to other programs."""

from __future__ import annotations

import os
import sys


def take_variable(name: str) -> None:
    """Forget a variable: children do not inherit it, and `/proc/PID/environ` and `ps e` show it as empty."""
    if name in os.environ and sys.platform != "win32":
        _overwrite(name, os.environb[name.encode()])
    os.environ.pop(name, None)


def _overwrite(name: str, value: bytes) -> None:
    """Fill the value with zeros where it stands: taking it out of the environment leaves its bytes in place."""
    import ctypes  # lazy: few programs have such a variable

    find = ctypes.CDLL(None).getenv
    find.argtypes, find.restype = [ctypes.c_char_p], ctypes.c_void_p
    place = find(name.encode())
    # Only what is there is overwritten, and only as far as it is the value.
    if place and ctypes.string_at(place) == value:
        ctypes.memset(place, 0, len(value))
