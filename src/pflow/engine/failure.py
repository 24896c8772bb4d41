"""Errors of steps as data: what is recorded of them, and which edge they take."""

from __future__ import annotations

import asyncio
import traceback
from collections.abc import Awaitable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from pflow.core.document.document import Retry
from pflow.core.errors import (
    BudgetError,
    DeclinedError,
    ModelError,
    PflowError,
    SecurityError,
    StepError,
    StepTimeout,
    UnresolvedError,
)
from pflow.core.interface import ERROR_ACTIONS
from pflow.core.setting.credential import without_short_credentials

if TYPE_CHECKING:
    from pflow.engine.asking.parking import Countdown

T = TypeVar("T")

LONGEST_WAIT = 3600.0
"""Seconds between two attempts, at most."""


_FINAL = (SecurityError, UnresolvedError, DeclinedError, BudgetError, SystemExit)
"""What would fail again, or what somebody decided."""


class Halted(Exception):
    """A sub-workflow or batch stopped because the run is stopping; its step stays open, for a resume."""


async def within(seconds: float | None, work: Awaitable[T], what: str) -> T:
    """The result of `work`; raises `StepTimeout` when it takes longer than it may."""
    if seconds is None:
        return await work
    try:
        async with asyncio.timeout(seconds) as limit:
            return await work
    except TimeoutError as error:
        if not limit.expired():
            raise
        raise StepTimeout(f"{what} took longer than {seconds:g} s") from error


async def within_countdown(countdown: Countdown, work: Awaitable[T], what: str, seconds: float) -> T:
    """The same for a time that can be paused."""
    try:
        async with countdown:
            return await work
    except TimeoutError as error:
        if not countdown.expired():
            raise
        raise StepTimeout(f"{what} took longer than {seconds:g} s") from error


def retry_wait(retry: Retry | None, attempt: int, error: BaseException) -> float | None:
    """Seconds until the next attempt, or None when this failure is final.

    A server that says how long to wait is believed. What policy refused or a template cannot resolve would fail again.
    """
    if retry is None or attempt >= retry.attempts or isinstance(error, _FINAL):
        return None
    wait = retry.wait * retry.backoff ** (attempt - 1)
    asked = error.details.get("retry_after") if isinstance(error, StepError) else None
    if isinstance(asked, int | float):
        wait = max(wait, asked)
    return min(wait, max(LONGEST_WAIT, retry.wait))


def describe_failure(error: BaseException, node: str) -> dict[str, object]:
    """What an error event, a result and a trace say about a failure."""
    if isinstance(error, PflowError):
        action = error.action if isinstance(error, StepError) else "error"
        return {key: part for key, part in {**error.as_dict(), "node": node, "action": action}.items() if part}
    frames = traceback.extract_tb(error.__traceback__)
    own = next((frame for frame in reversed(frames) if "/pocketflow/" not in frame.filename), None)
    message = str(error) or "no message"
    return {
        "type": "execution",
        "message": f"{type(error).__name__}: {message}",
        "node": node,
        "action": "error",
        "details": {"at": f"{own.filename}:{own.lineno} in {own.name}"} if own else {},
    }


def shown_params(params: Mapping[str, Any]) -> dict[str, object]:
    """Parameters as a failure records them: a rendered command as its author wrote it, with its values beside it."""
    shown: dict[str, object] = {}
    for name, value in params.items():
        if name.startswith("__"):
            continue  # added by checking, not written by the author
        if hasattr(value, "written"):
            shown.update({name: value.written, "values": value.values})
        else:
            shown[name] = value
    return without_short_credentials(shown)


def pick_edge(edges: Mapping[str, object], error: BaseException) -> str | None:
    """The most specific error edge there is for a failure."""
    if isinstance(error, BudgetError):
        return None  # the run stops
    action = error.action if isinstance(error, StepError) else "error"
    if action in edges and (action in ERROR_ACTIONS or isinstance(error, ModelError)):
        return action
    return "error" if "error" in edges else None
