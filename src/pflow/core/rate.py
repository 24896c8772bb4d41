"""How often something may start: `10/s`, `100/m` or `5/h`, as documents and servers say it."""

from __future__ import annotations

import re

from pflow.core.frozen import Frozen

FORM = "`10/s`, `100/m` or `5/h`"
"""What a rate looks like, for hints."""

MOST_PER_SECOND = 1000

_SECONDS = {"s": 1, "m": 60, "h": 3600}
_RATE = r"(-?[0-9]{1,12})\s*/\s*([smh])"


class Rate(Frozen):
    """So many starts per second, minute or hour."""

    count: int
    unit: str

    @property
    def text(self) -> str:
        """The rate as it is written."""
        return f"{self.count}/{self.unit}"

    @property
    def interval(self) -> float:
        """Seconds from one start to the next."""
        return _SECONDS[self.unit] / self.count


def read_rate(text: str) -> Rate | str:
    """The rate that a string says, or how a sentence that begins with its name goes on: what is wrong with it."""
    found = re.fullmatch(_RATE, text.strip())
    if found is None:
        return "is a number per second, minute or hour"
    count, unit = int(found[1]), found[2]
    if count < 1:
        return "must be at least 1 per second, minute or hour"
    if count > MOST_PER_SECOND * _SECONDS[unit]:
        return f"can be at most {MOST_PER_SECOND * _SECONDS[unit]}/{unit}"
    return Rate(count=count, unit=unit)
