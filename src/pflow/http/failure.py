"""Failures below HTTP as values, which each policy turns into its own errors."""

from __future__ import annotations

import ssl
from dataclasses import dataclass
from typing import Literal

import httpcore2
import httpx2

FAILURES = (
    httpcore2.NetworkError,
    httpcore2.ProtocolError,
    httpcore2.TimeoutException,
    httpx2.DecodingError,
)
"""What the HTTP library raises while it sends a request or reads an answer."""

Exchange = Literal["certificate", "tls", "decoding", "refused", "connect", "timeout", "request", "protocol", "broken"]
Kind = Exchange | Literal["location", "redirects"]
"""What failed: an exchange, or a redirect without a valid address, or one redirect too many."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """One failed exchange. `reason` may be a message of the library, which may quote headers."""

    kind: Kind
    method: str
    place: str
    reason: str = ""


def read_failure(error: Exception, method: str, place: str) -> Failure:
    """The failure that one of `FAILURES` means."""
    kind, reason = _classify(error)
    return Failure(kind=kind, method=method, place=place, reason=reason)


def _classify(error: Exception) -> tuple[Exchange, str]:
    causes = _causes(error)
    for cause in causes:
        if isinstance(cause, ssl.SSLCertVerificationError):
            return "certificate", cause.verify_message
        if isinstance(cause, ssl.SSLError):
            return "tls", cause.reason or "no reason given"
    match error:
        case httpx2.DecodingError():
            return "decoding", ""
        case httpcore2.ConnectError():
            system = next((cause for cause in causes if isinstance(cause, OSError) and cause.strerror), None)
            kind: Exchange = "refused" if isinstance(system, ConnectionRefusedError) else "connect"
            return kind, (system and system.strerror) or "no connection"
        case httpcore2.TimeoutException():
            return "timeout", ""
    reason = str(error)[:200] or type(error.__cause__ or error).__name__
    match error:
        case httpcore2.LocalProtocolError():
            return "request", reason
        case httpcore2.RemoteProtocolError():
            return "protocol", reason
    return "broken", reason


def _causes(error: BaseException) -> list[BaseException]:
    """An error and what it came from, groups of attempts included."""
    found: list[BaseException] = []
    waiting: list[BaseException] = [error]
    while waiting and len(found) < 20:
        one = waiting.pop(0)
        found.append(one)
        waiting += [cause for cause in (one.__cause__, one.__context__) if cause is not None and cause not in found]
        if isinstance(one, BaseExceptionGroup):
            waiting += one.exceptions
    return found
