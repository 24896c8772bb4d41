"""Addresses that a step may connect to, decided on addresses and never on how a URL spells them.

By default these are the public ones. Only settings allow more: `http.allow_private`
(`true` opens loopback and private networks) and `http.allow_hosts` (a comma list of host, host:port, address
or CIDR). Link-local and cloud metadata addresses open through `http.allow_hosts` alone.
"""

from __future__ import annotations

import asyncio
import re
import socket
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

from pflow.core.advice import Advice
from pflow.core.errors import SecurityError, StepError
from pflow.core.printable import shorten

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network
Resolve = Callable[[str, int], Awaitable[Sequence[str]]]

_METADATA_TEXT = """
    169.254.169.254 169.254.170.2 169.254.170.23 169.254.42.42 169.254.0.23 100.100.100.200 168.63.129.16 192.0.0.192
    fd00:ec2::254 fd00:ec2::23 fd20:ce::254
"""
_METADATA = frozenset(map(ip_address, _METADATA_TEXT.split()))

_SPECIAL_TEXT = {
    "an unspecified address": "0.0.0.0/8 ::/128",
    "a loopback address": "127.0.0.0/8 ::1/128",
    "a link-local address": "169.254.0.0/16 fe80::/10",
    "a private address": "10.0.0.0/8 100.64.0.0/10 172.16.0.0/12 192.168.0.0/16 fc00::/7 fec0::/10",
    "a multicast address": "224.0.0.0/4 ff00::/8",
    "a reserved address": "192.0.0.0/24 192.0.2.0/24 192.88.99.0/24 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24"
    " 240.0.0.0/4 2001::/23 2001:db8::/32 3fff::/20",
}
_SPECIAL = [(ip_network(text), kind) for kind, texts in _SPECIAL_TEXT.items() for text in texts.split()]

_HOST_NAME = re.compile(r"[A-Za-z0-9_-]{1,63}(\.[A-Za-z0-9_-]{1,63})*\.?")
_GLOBAL_UNICAST = IPv6Network("2000::/3")
_NAT64 = IPv6Network("64:ff9b::/96")
_ISATAP = (0x00005EFE, 0x02005EFE)
_OPENED_BY_ALLOW_PRIVATE = ("a loopback address", "a private address")


def unwrap(address: Address) -> Address:
    """The IPv4 address that a mapped, NAT64 or 6to4 address stands for, else the address itself."""
    if isinstance(address, IPv4Address):
        return address
    if address in _NAT64:
        return IPv4Address(int(address) & 0xFFFFFFFF)
    return address.ipv4_mapped or address.sixtofour or address


def kind_of(address: Address) -> str | None:
    """What makes an address one that steps may not call by default, or None for a public address."""
    reached = unwrap(address)
    if reached in _METADATA:
        return "a cloud metadata address"
    for network, kind in _SPECIAL:
        if reached in network:
            return kind
    if isinstance(reached, IPv4Address):
        return None
    if reached not in _GLOBAL_UNICAST:
        return "a reserved address"
    if int(reached) >> 32 & 0xFFFFFFFF in _ISATAP:
        return kind_of(IPv4Address(int(reached) & 0xFFFFFFFF))
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkPolicy:
    """What may be called besides public addresses.

    `places` pairs a host name or a network with a port, or with None for every port; `listed` is how the settings
    write them.
    """

    allow_private: bool = False
    places: tuple[tuple[str | Network, int | None], ...] = ()
    listed: str = ""

    @classmethod
    def from_settings(cls, settings: Mapping[str, str]) -> NetworkPolicy:
        """The policy that the settings ask for. A value that cannot be read is an error; it never allows more."""
        switch = settings.get("http.allow_private", "").strip().lower()
        if switch not in ("", "true", "false"):
            raise SecurityError(
                f"setting `http.allow_private` is `{shorten(switch)}`, which is neither `true` nor `false`",
                suggestions=[Advice("{set_option}", name="http.allow_private", value="false")],
            )
        entries = [part.strip() for part in settings.get("http.allow_hosts", "").split(",") if part.strip()]
        places = tuple(map(_parse_entry, entries))
        return cls(allow_private=switch == "true", places=places, listed=",".join(entries))

    def trusting(self, host: str, port: int) -> NetworkPolicy:
        """This policy, and one more place that the user configured."""
        return replace(self, places=(*self.places, (_plain(host), port)))

    def check(self, host: str, port: int, addresses: Sequence[str]) -> None:
        """Raise `SecurityError` unless every address may be called as `host:port`."""
        allowed = [place for place, only in self.places if only in (None, port)]
        if _plain(host) in allowed:
            return
        networks = [place for place in allowed if not isinstance(place, str)]
        for text in addresses:
            address = _parse_address(text)
            kind = kind_of(address)
            if kind is None or (self.allow_private and kind in _OPENED_BY_ALLOW_PRIVATE):
                continue
            if not any(address in network or unwrap(address) in network for network in networks):
                raise self._refusal(host, port, address, kind)

    def _refusal(self, host: str, port: int, address: Address, kind: str) -> SecurityError:
        shown = f"[{host}]" if ":" in host else host
        suggestions = [
            Advice("{set_option}", name="http.allow_hosts", value=",".join(filter(None, (self.listed, shown))))
        ]
        if kind in _OPENED_BY_ALLOW_PRIVATE:
            suggestions.append(Advice("{set_option}", name="http.allow_private", value="true"))
        leads = f"is {kind}" if shown.strip("[]") == str(address) else f"leads to `{address}`, {kind}"
        return SecurityError(
            f"`{shown}:{port}` {leads}, which steps may not call unless settings allow it",
            details={"host": host, "port": port, "address": str(address), "kind": kind},
            suggestions=suggestions,
        )


async def resolve_host(host: str, port: int) -> Sequence[str]:
    """The addresses that the system knows for a host, in its order of preference."""
    loop = asyncio.get_running_loop()
    answers = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(answer[4][0]) for answer in answers))


async def checked_addresses(
    policy: NetworkPolicy, host: str, port: int, resolve: Resolve = resolve_host
) -> Sequence[str]:
    """Addresses of `host` that may be connected to. Resolved once: connect to these and to nothing else."""
    try:
        addresses = await resolve(host, port)
    except (OSError, UnicodeError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else "not a valid host name"
        raise StepError(
            f"the host `{host}` has no address: {reason}",
            details={"host": host},
            suggestions=["check the spelling of the host and the network connection"],
        ) from error
    if not addresses:
        raise StepError(f"the host `{host}` has no address", details={"host": host})
    policy.check(host, port, addresses)
    return addresses


def _plain(host: str) -> str:
    return host.lower().rstrip(".").strip("[]")


def _parse_address(text: str) -> Address:
    try:
        return ip_address(text)
    except ValueError as error:
        raise SecurityError(f"the resolver answered `{shorten(text)}`, which is not an address") from error


def _parse_entry(entry: str) -> tuple[str | Network, int | None]:
    place, port = entry, None
    head, colon, tail = entry.rpartition(":")
    # an IPv6 address has colons of its own and carries a port only in brackets
    if colon and (head.endswith("]") or ":" not in head):
        if not (tail.isascii() and tail.isdigit() and 0 < int(tail) < 65536):
            raise _bad_entry(entry)
        place, port = head, int(tail)
    place = _plain(place)
    try:
        return ip_network(place, strict=False), port
    except ValueError:
        if not is_host_name(place):
            raise _bad_entry(entry) from None
        return place, port


def _bad_entry(entry: str) -> SecurityError:
    return SecurityError(
        f"setting `http.allow_hosts` contains `{shorten(entry)}`, which is not a host, host:port, address or CIDR",
        suggestions=[Advice("{set_option}", name="http.allow_hosts", value="intranet.example:8080,10.0.0.0/8")],
    )


def is_host_name(host: str) -> bool:
    """Whether `host` is made of the characters and lengths that DNS names have."""
    return len(host) <= 254 and _HOST_NAME.fullmatch(host) is not None
