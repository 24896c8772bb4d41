"""Which addresses of remote servers may be configured: encrypted ones, and any on this machine. Resolves nothing."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pflow.core.advice import Advice
from pflow.core.errors import SecurityError, UsageError
from pflow.core.file.file_name import show
from pflow.core.printable import shorten

if TYPE_CHECKING:
    from ipaddress import IPv4Address, IPv6Address

REFERENCE = re.compile(r"\$\{(?:env:)?([A-Za-z_][A-Za-z0-9_]*)(?::-([^{}]*))?\}")
"""`${VAR}`, `${env:VAR}` or `${VAR:-default}`."""

_HEAD = re.compile(r"[^/?#]*//[^/?#]*")
_USER = re.compile(r"//.*@", re.DOTALL)
_WRONG = re.compile(r"[\x00-\x20\x7f\\]")


def has_reference(text: str) -> bool:
    """Whether a string holds a `${…}` that is filled in when the server is connected to."""
    return "${" in text


def check_address(url: str, *, insecure: bool) -> None:
    """Raises unless `url` may be talked to. What a `${…}` leaves open is checked again once it is filled in."""
    from urllib.parse import urlsplit  # lazy: most servers are programs, not addresses

    begin = _HEAD.match(url)
    head = begin[0] if begin else url
    if has_reference(head):
        return
    plain = not has_reference(url)
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname or "", parts.port
    except ValueError:
        host, parts = "", None
    if parts is None or not host or parts.scheme not in ("http", "https") or _WRONG.search(url if plain else head):
        raise UsageError(
            "the URL of a server has the form `https://host/path`",
            details={"url": shorten(_USER.sub("//…@", head))},
            suggestions=["check it for spaces, a missing `https://` or a wrong port"],
        )
    if parts.username is not None or parts.password is not None:
        raise UsageError(
            "a URL with a user name or password in it is not stored",
            suggestions=["give the credential as a header: `--header 'Authorization: Bearer ${TOKEN}'`"],
        )
    if parts.scheme == "https" or insecure:
        return
    if not is_loopback(host):
        raise SecurityError(
            f"`http://{show(host)}` is not encrypted: others could read and change what is sent",
            suggestions=["use `https://`", Advice("or allow it with `{add_insecure_server}`, for testing")],
        )


def is_loopback(host: str) -> bool:
    """Whether a host is this machine, by what it is called."""
    address = _ip_address(host)
    return address.is_loopback if address else host.rstrip(".") == "localhost"


def is_inside(host: str) -> bool:
    """Whether a host is written as one that is not public: this machine, or its own net. Resolves nothing."""
    address = _ip_address(host)
    return not address.is_global if address else f".{host.rstrip('.')}".endswith((".localhost", ".internal"))


def _ip_address(host: str) -> IPv4Address | IPv6Address | None:
    from ipaddress import ip_address  # lazy: most servers are programs, not addresses

    try:
        return ip_address(host.partition("%")[0])
    except ValueError:
        return None
