"""Where a server listens, and the names under which it may be asked for."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterable
from ipaddress import ip_address

from pflow.core.errors import SecurityError, StorageError, UsageError
from pflow.core.frozen import Frozen
from pflow.core.printable import shorten

_MOST_WAITING = 100
"""Connections that the system holds until the server takes them."""


class Address(Frozen):
    """An address of this machine. Port 0 is any that is free."""

    host: str
    port: int

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine can reach it."""
        return ip_address(self.host).is_loopback

    def shown(self) -> str:
        """The address as URLs and Host headers have it."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def read_address(text: str) -> Address:
    """The address that `HOST:PORT` means; without a host, only this machine can reach it."""
    host, _, port = text.strip().rpartition(":")
    if not (port.isascii() and port.isdecimal() and len(port) <= 5 and int(port) < 1 << 16):
        raise _invalid(text, ": it has no port")
    if host.startswith("[") and host.endswith("]"):
        host = host[1:-1]
    elif ":" in host:
        raise _invalid(text)
    if host in ("", "localhost"):
        host = "127.0.0.1"
    try:
        return Address(host=str(ip_address(host)), port=int(port))
    except ValueError:
        raise _invalid(host, ": names are not looked up") from None


def _invalid(text: str, reason: str = "") -> UsageError:
    return UsageError(
        f"`{shorten(text, 80)}` is not a valid address to listen on{reason}",
        suggestions=["write `127.0.0.1:8321`, `[::1]:8321` or just `8321`"],
    )


def listen(address: Address, *, remote: bool) -> socket.socket:
    """A socket that waits for clients. Addresses that others can reach need `remote`."""
    if not address.is_loopback and not remote:
        raise SecurityError(
            f"`{address.host}` can be reached from other machines",
            suggestions=[
                "listen on `127.0.0.1`",
                "or add `--allow-remote`, behind a proxy that encrypts: anyone with the token can run commands here",
            ],
        )
    is_v6 = ":" in address.host
    family = socket.AF_INET6 if is_v6 else socket.AF_INET
    both = is_v6 and socket.has_dualstack_ipv6()
    try:
        found = socket.create_server(
            (address.host, address.port), family=family, backlog=_MOST_WAITING, dualstack_ipv6=both
        )
    except OSError as error:
        raise StorageError(
            f"cannot listen on `{address.shown()}`: {os.strerror(error.errno or 0).lower()}",
            suggestions=["choose another port; `0` takes any that is free"],
        ) from None
    found.setblocking(False)
    return found


def names_of(address: Address, more: Iterable[str] = ()) -> frozenset[str]:
    """Every Host by which the server may be asked for: its own address, this machine's names, and `more`."""
    hosts = {"localhost"}
    if ip_address(address.host).is_unspecified:
        hosts |= {"127.0.0.1", "[::1]"} if ":" in address.host else {"127.0.0.1"}
    else:
        hosts.add(f"[{address.host}]" if ":" in address.host else address.host)
    names = {f"{host}:{address.port}" for host in hosts}
    if address.port == 80:
        names |= hosts  # what clients leave out
    for name in more:
        has_port = name.rpartition(":")[2].isdecimal() and not name.endswith("]")
        names |= {name} if has_port else {name, f"{name}:{address.port}"}
    return frozenset(name.lower() for name in names)
