"""What was looked at to find out whether something works, and what was found."""

from __future__ import annotations

from collections.abc import Mapping

from pflow.core.frozen import Frozen


class Check(Frozen):
    """One thing on the way to what should work; `ok` is None for a remark."""

    check: str
    ok: bool | None
    found: str
    hints: tuple[str, ...] = ()
    ms: float | None = None
    details: Mapping[str, object] = {}
