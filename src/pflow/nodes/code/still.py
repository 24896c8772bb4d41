"""What a worker runs before an author's code where a run is played again: the time and chance of then, no network.

A worker gets this as text, with `GIVEN`, so that other workers need not know of it. It needs nothing but a bare Python.
"""

from __future__ import annotations

import datetime
import hashlib
import os
import random
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

GIVEN: dict[str, Any] = globals().get("GIVEN", {})

_NEW_USER, _NEW_NETWORK = 0x10000000, 0x40000000
_NETWORK = ("socket.connect", "socket.bind", "socket.sendto", "socket.sendmsg", "socket.getaddrinfo", "socket.gethost")
_WHEN = ("localtime", "gmtime")


def hold_still(at: float, seed: str) -> None:
    """Make this process find the time `at`, and chance that begins with `seed`; take the network away."""
    leave_network()
    sys.addaudithook(refuse_network)
    stop_clock(at)
    random.seed(seed)
    draw = bytes_of(seed)
    os.urandom = draw
    random._urandom = draw  # type: ignore[attr-defined]


def leave_network() -> None:
    """Go where there is no network, if this system lets us: then programs that the code starts have none either."""
    user, group = os.getuid(), os.getgid()
    if unshare(_NEW_NETWORK) or not unshare(_NEW_USER | _NEW_NETWORK):
        return
    for name, text in (("setgroups", "deny"), ("uid_map", f"{user} {user} 1"), ("gid_map", f"{group} {group} 1")):
        try:
            with open(f"/proc/self/{name}", "w", encoding="ascii") as file:  # noqa: PTH123 pathlib costs a start
                file.write(text)
        except OSError:
            return


def unshare(flags: int) -> bool:
    """Whether this process now has namespaces of its own."""
    try:
        import ctypes  # lazy: not everywhere

        return bool(ctypes.CDLL(None).unshare(flags) == 0)
    except (ImportError, OSError, AttributeError):
        return False


def refuse_network(event: str, arguments: object) -> None:
    """Refuse what would use the network, with a reason."""
    if event.startswith(_NETWORK):
        raise PermissionError(f"code has no network where a cassette is played (`{event}`)")


def stop_clock(at: float) -> None:
    """Let every way to ask for the time say `at`."""
    fixed: dict[str, Callable[..., Any]] = {"time": lambda: at, "time_ns": lambda: round(at * 1e9)}
    fixed |= {name: at_that_time(getattr(time, name), at) for name in _WHEN}
    form = time.strftime
    fixed["strftime"] = lambda text, moment=None: form(text, time.localtime() if moment is None else moment)
    fixed["ctime"] = lambda seconds=None: time.asctime(time.localtime(seconds))
    for name, call in fixed.items():
        setattr(time, name, call)
    real: Any = datetime.datetime

    class Instances(type(real)):  # type: ignore[misc]
        def __instancecheck__(cls, value: object) -> bool:
            return isinstance(value, real)

    class Moment(real, metaclass=Instances):  # type: ignore[misc]
        @classmethod
        def now(cls, tz: Any = None) -> Any:
            return cls.fromtimestamp(at, tz)

        @classmethod
        def utcnow(cls) -> Any:
            return cls.fromtimestamp(at, datetime.UTC).replace(tzinfo=None)

        @classmethod
        def today(cls) -> Any:
            return cls.now()

    day: Any = datetime.date

    class Days(type(day)):  # type: ignore[misc]
        def __instancecheck__(cls, value: object) -> bool:
            return isinstance(value, day)

    class Day(day, metaclass=Days):  # type: ignore[misc]
        @classmethod
        def today(cls) -> Any:
            return cls.fromtimestamp(at)

    Moment.__name__ = Moment.__qualname__ = "datetime"
    Day.__name__ = Day.__qualname__ = "date"
    datetime.datetime, datetime.date = Moment, Day  # type: ignore[misc]


def at_that_time(call: Callable[..., Any], at: float) -> Callable[..., Any]:
    return lambda seconds=None: call(at if seconds is None else seconds)


def bytes_of(seed: str) -> Callable[[int], bytes]:
    """Bytes that look random, the same for the same seed."""
    counter = 0

    def draw(size: int) -> bytes:
        nonlocal counter
        found = b""
        while len(found) < size:
            counter += 1
            found += hashlib.sha256(f"{seed}/{counter}".encode()).digest()
        return found[:size]

    return draw


if GIVEN:
    hold_still(**GIVEN)
