"""No spelling of an address reaches a place that the policy does not open."""

import asyncio
import socket
from collections.abc import Sequence
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pflow.core.errors import SecurityError, StepError
from pflow.nodes.http.message import Request
from pflow.nodes.http.network_policy import NetworkPolicy, checked_addresses, kind_of, unwrap
from pflow.nodes.http.step_client import StepClient

NAMES = {
    "localhost": ["::1", "127.0.0.1"],
    "localhost.": ["127.0.0.1"],
    "LOCALHOST": ["127.0.0.1"],
    "foo.localhost": ["127.0.0.1"],
    "localhost.localdomain": ["127.0.0.1"],
    "ip6-localhost": ["::1"],
    "localtest.example": ["127.0.0.1"],
    "127.0.0.1.nip.example": ["127.0.0.1"],
    "metadata": ["169.254.169.254"],
    "metadata.google.internal": ["169.254.169.254"],
    "metadata.google.internal.": ["169.254.169.254"],
    "instance-data": ["169.254.169.254"],
    "metadata.azure.example": ["168.63.129.16"],
    "metadata.aliyun.example": ["100.100.100.200"],
    "metadata.oracle.example": ["192.0.0.192"],
    "kubernetes.default.svc": ["10.96.0.1"],
    "host.docker.internal": ["172.17.0.1"],
    "router.lan": ["192.168.1.1"],
    "mixed.example": ["93.184.216.34", "10.0.0.1"],
    "mixed6.example": ["2606:2800:220:1::1", "::1"],
    "mixed-last.example": ["93.184.216.34", "93.184.216.35", "2606:2800:220:1::1", "169.254.169.254"],
    "mapped.example": ["::ffff:10.0.0.1"],
    "nat64.example": ["64:ff9b::a9fe:a9fe"],
    "scoped.example": ["fe80::1%2"],
    "nonsense.example": ["not an address"],
    "xn--e1afmkfd.example": ["127.0.0.1"],
    "exa.mple.com": ["127.0.0.1"],
    "public.example": ["93.184.216.34", "2606:2800:220:1::1"],
    "files.internal.corp": ["10.1.2.3"],
}


async def resolve(host: str, port: int) -> list[str]:
    """Names from the table; numeric spellings as the system reads them. It never asks the network."""
    if host in NAMES:
        return NAMES[host]
    answers = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_NUMERICHOST)
    return [str(answer[4][0]) for answer in answers]


PRIVATE_TEXT = """
127.0.0.1  127.0.0.1:8080  127.1  127.0.1  127.255.255.254  0x7f.0.0.1  0x7f.1  0x7f000001  0x7F000001
2130706433  017700000001  0  0.0.0.0  0.1.2.3  00  0x0  0x00000000  000  127.0.0.1.nip.example
localhost  localhost.  LOCALHOST  foo.localhost  localhost.localdomain  localtest.example  ip6-localhost
localhost:22  LocalHost:1  10.0.0.1  10.255.255.255  0xa.0.0.1  167772161  0xa000001  10.1  172.16.0.1
172.31.255.255  0xac.16.0.1  172.17.0.1  192.168.0.1  192.168.1  0xc0.0xa8.0.1  3232235521  192.168.257
100.64.0.1  100.127.255.255  100.100.100.200  169.254.169.254  169.254.43518  0xa9.0xfe.0xa9.0xfe
0xa9fea9fe  2852039166  169.254.0.1  169.254.170.2  169.254.42.42  168.63.129.16  0xa83f8110
192.0.0.192  192.0.0.170  metadata  metadata.google.internal  metadata.google.internal.  instance-data
metadata.azure.example  metadata.aliyun.example  metadata.oracle.example  kubernetes.default.svc
host.docker.internal  router.lan  mixed.example  mixed6.example  mixed-last.example  mapped.example
nat64.example  scoped.example  nonsense.example  files.internal.corp  xn--e1afmkfd.example  192.0.2.1
198.51.100.7  203.0.113.9  198.18.0.1  198.19.255.255  192.88.99.1  224.0.0.1  239.255.255.250
240.0.0.1  255.255.255.255  0xffffffff  4294967295  [::1]  [::1]:8080  [::]  [0:0:0:0:0:0:0:1]
[0000:0000:0000:0000:0000:0000:0000:0001]  [::0.0.0.1]  [::127.0.0.1]  [::7f00:1]  [::10.0.0.1]
[::169.254.169.254]  [::ffff:127.0.0.1]  [::ffff:7f00:1]  [::FFFF:127.0.0.1]  [0:0:0:0:0:ffff:7f00:1]
[::ffff:10.0.0.1]  [::ffff:169.254.169.254]  [::ffff:a9fe:a9fe]  [::ffff:192.168.1.1]  [::ffff:0.0.0.0]
[::ffff:0:127.0.0.1]  [::ffff:0:7f00:1]  [::ffff:168.63.129.16]  [64:ff9b::127.0.0.1]  [64:ff9b::7f00:1]
[64:ff9b::a9fe:a9fe]  [64:ff9b::10.0.0.1]  [64:ff9b:1::a00:1]  [64:ff9b:1:ffff::1]  [2002:7f00:1::]
[2002:7f00:0001::1]  [2002:a9fe:a9fe::]  [2002:a00:1::]  [2002:c0a8:101::1]  [2001::1]
[2001:0:7f00:1::]  [2001:0:4136:e378:8000:63bf:3fff:fdd2]  [2001:2::1]  [2001:10::1]  [2001:20::1]
[2001:db8::1]  [3fff::1]  [fc00::1]  [fd00::1]  [fd00:ec2::254]  [fd20:ce::254]  [fdff:ffff::1]
[fe80::1]  [fe80::5efe:8.8.8.8]  [febf::1]  [fec0::1]  [feff::1]  [ff00::1]  [ff02::1]  [ff05::1:3]
[2606:2800:220:1:0:5efe:127.0.0.1]  [2606:2800:220:1:200:5efe:10.0.0.1]  [fd00::5efe:8.8.8.8]  [100::1]
[5f00::1]  [4000::1]  [8000::1]  [a000::1]  [::2]  [1::1]  [200::1]  [64:ff9b::0:0]
"""
PRIVATE = PRIVATE_TEXT.split()


def send(url: str, policy: NetworkPolicy = NetworkPolicy()) -> Any:
    async def call() -> Any:
        client = StepClient(policy, resolve=resolve)
        try:
            return await client.send(Request(method="GET", url=url, timeout=5))
        finally:
            await client.aclose()

    return asyncio.run(call())


def addresses_of(host: str, policy: NetworkPolicy = NetworkPolicy(), port: int = 443) -> Sequence[str]:
    return asyncio.run(checked_addresses(policy, host, port, resolve))


def test_the_table_is_long_enough_to_mean_something() -> None:
    assert len(set(PRIVATE)) == len(PRIVATE) >= 150


@pytest.mark.parametrize("host", PRIVATE)
def test_a_spelling_of_a_private_place_is_refused(host: str) -> None:
    with pytest.raises(SecurityError) as caught:
        send(f"http://{host}/latest/meta-data?key=hunter2")
    assert caught.value.exit_code == 3
    assert "hunter2" not in str(caught.value.message) + str(caught.value.details)


@pytest.mark.parametrize(
    "url",
    [
        "http://a@127.0.0.1/",
        "http://public.example@127.0.0.1/",
        "http://public.example:80@127.0.0.1/",
        "http://127.0.0.1\\@public.example/",
        "http://public.example\\@127.0.0.1/",
        "http://public.example\\127.0.0.1/",
        "http:\\\\127.0.0.1\\",
        "https://token:x@public.example/",
        "file:///etc/passwd",
        "file://localhost/etc/passwd",
        "ftp://public.example/",
        "gopher://public.example/_x",
        "data:text/plain,hello",
        "javascript:alert(1)",
        "unix:///var/run/docker.sock",
        "ws://public.example/",
        "jar:http://public.example!/",
        "dict://public.example:11211/",
        "HTTP+UNIX://x/",
        "//public.example/",
        "public.example/path",
        "/etc/passwd",
        "http://exa。mple.com/",
    ],
)
def test_other_schemes_and_user_names_are_refused(url: str) -> None:
    with pytest.raises(SecurityError):
        send(url)


@pytest.mark.parametrize(
    "url",
    [
        "http://１２７.0.0.1/",
        "http://①②⑦.⓪.⓪.①/",
        "http://127。0。0。1.１/",
        "http://pub\x00lic.example/",
        "http://127.000.000.001/",
        "http://0177.0.0.1/",
        "http://0177.0.0.01/",
        "http://127.0.0.1./",
        "http://012.0.0.1/",
        "http://0300.0250.0.1/",
        "http://0251.0376.0251.0376/",
        "http://public.example\r\nHost: x/",
        "http://public.example/\r\nX: y",
        "http://public.example/ \n",
        "http://127.0.0.1%00.public.example/",
        "http://127.0.0.1%2f@public/".replace("@public", ".public.example"),
        "http://pub lic.example/",
        "http://[::1",
        "http://[::1]]/",
        "http://[fe80::1%25eth0]/",
        "http://[::1%lo]/",
        "http://[public.example]/",
        "http://256.256.256.256.256/",
        "http://127.0.0.1:99999/",
        "http://127.0.0.1:0/",
        "http://127.0.0.1:-1/",
        "http://127.0.0.1:80:80/",
        "http://",
        "http:///path",
        "http:path",
        "http://.",
        "http://..",
        "http://a..b/",
        "http://" + "a" * 64 + ".example/",
        "http://" + "a." * 200 + "example/",
        "http://$(id)/",
        "http://`id`/",
        "http://public.example;evil/",
        "http://*/",
        "http://\udcff/",
        "https://",
        " ",
        "",
    ],
)
def test_what_is_no_address_fails_before_any_connection(url: str) -> None:
    with pytest.raises((StepError, SecurityError)) as caught:
        send(url)
    assert "cannot be reached" not in caught.value.message
    assert "\n" not in caught.value.message and "\x00" not in caught.value.message


@pytest.mark.parametrize(
    "host",
    [
        "8.8.8.8",
        "1.1.1.1",
        "93.184.216.34",
        "134744072",
        "172.15.255.255",
        "172.32.0.1",
        "100.63.255.255",
        "100.128.0.1",
        "169.253.0.1",
        "192.0.1.1",
        "198.17.0.1",
        "198.20.0.1",
        "223.255.255.255",
        "168.63.129.17",
        "2606:4700:4700::1111",
        "2a00:1450:4001::1",
        "::ffff:8.8.8.8",
        "64:ff9b::8.8.8.8",
        "2002:808:808::1",
        "2606:2800:220:1:0:5efe:8.8.8.8",
        "public.example",
    ],
)
def test_public_places_are_open(host: str) -> None:
    assert addresses_of(host)


@pytest.mark.parametrize(
    ("settings", "host", "port", "open_"),
    [
        ({"http.allow_private": "true"}, "127.0.0.1", 80, True),
        ({"http.allow_private": "TRUE"}, "::1", 80, True),
        ({"http.allow_private": "true"}, "10.0.0.1", 80, True),
        ({"http.allow_private": "true"}, "fd00::1", 80, True),
        ({"http.allow_private": "true"}, "::ffff:192.168.1.1", 80, True),
        ({"http.allow_private": "true"}, "169.254.169.254", 80, False),
        ({"http.allow_private": "true"}, "169.254.7.7", 80, False),
        ({"http.allow_private": "true"}, "metadata.google.internal", 80, False),
        ({"http.allow_private": "true"}, "fd00:ec2::254", 80, False),
        ({"http.allow_private": "true"}, "100.100.100.200", 80, False),
        ({"http.allow_private": "true"}, "0.0.0.0", 80, False),
        ({"http.allow_private": "true"}, "224.0.0.1", 80, False),
        ({"http.allow_private": "true"}, "nat64.example", 80, False),
        ({"http.allow_private": "false"}, "127.0.0.1", 80, False),
        ({"http.allow_private": ""}, "127.0.0.1", 80, False),
        ({"http.allow_hosts": "files.internal.corp"}, "files.internal.corp", 80, True),
        ({"http.allow_hosts": "Files.Internal.Corp."}, "files.internal.corp", 80, True),
        ({"http.allow_hosts": "files.internal.corp"}, "10.1.2.3", 80, False),
        ({"http.allow_hosts": "internal.corp"}, "files.internal.corp", 80, False),
        ({"http.allow_hosts": "corp"}, "files.internal.corp", 80, False),
        ({"http.allow_hosts": "files.internal.corp:8080"}, "files.internal.corp", 8080, True),
        ({"http.allow_hosts": "files.internal.corp:8080"}, "files.internal.corp", 80, False),
        ({"http.allow_hosts": "10.0.0.0/8"}, "files.internal.corp", 80, True),
        ({"http.allow_hosts": "10.0.0.0/8"}, "mapped.example", 80, True),
        ({"http.allow_hosts": "10.0.0.0/8"}, "192.168.0.1", 80, False),
        ({"http.allow_hosts": "127.0.0.1"}, "127.0.0.1", 80, True),
        ({"http.allow_hosts": "127.0.0.1"}, "127.0.0.2", 80, False),
        ({"http.allow_hosts": "127.0.0.1"}, "localhost", 80, False),
        ({"http.allow_hosts": "127.0.0.1:8080"}, "127.0.0.1", 8080, True),
        ({"http.allow_hosts": "127.0.0.1:8080"}, "127.0.0.1", 8081, False),
        ({"http.allow_hosts": "::1"}, "::1", 80, True),
        ({"http.allow_hosts": "[::1]:8080"}, "::1", 8080, True),
        ({"http.allow_hosts": "[::1]:8080"}, "::1", 80, False),
        ({"http.allow_hosts": "fd00::/8"}, "fd00::7", 80, True),
        ({"http.allow_hosts": " 10.0.0.0/8 , ::1,, router.lan "}, "router.lan", 80, True),
        ({"http.allow_hosts": "169.254.169.254"}, "169.254.169.254", 80, True),
        ({"http.allow_hosts": "mixed.example"}, "mixed.example", 80, True),
        ({"http.allow_hosts": "93.184.216.34"}, "mixed.example", 80, False),
    ],
)
def test_settings_open_what_they_name_and_no_more(settings: dict[str, Any], host: str, port: int, open_: bool) -> None:
    policy = NetworkPolicy.from_settings(settings)
    if open_:
        assert addresses_of(host, policy, port)
    else:
        with pytest.raises(SecurityError):
            addresses_of(host, policy, port)


@pytest.mark.parametrize(
    "settings",
    [
        {"http.allow_private": "yes"},
        {"http.allow_private": "1"},
        {"http.allow_hosts": "http://x/"},
        {"http.allow_hosts": "*"},
        {"http.allow_hosts": "a b"},
        {"http.allow_hosts": "10.0.0.0/99"},
        {"http.allow_hosts": "host:port"},
        {"http.allow_hosts": "host:0"},
        {"http.allow_hosts": "host:65536"},
        {"http.allow_hosts": "ok.example,müller.example"},
    ],
)
def test_a_setting_that_cannot_be_read_refuses(settings: dict[str, Any]) -> None:
    with pytest.raises(SecurityError) as caught:
        NetworkPolicy.from_settings(settings)
    assert next(iter(settings)) in caught.value.message


def test_the_refusal_says_how_to_allow_the_place() -> None:
    policy = NetworkPolicy.from_settings({"http.allow_hosts": "other.corp"})
    with pytest.raises(SecurityError) as caught:
        addresses_of("files.internal.corp", policy, 8080)
    assert caught.value.message == (
        "`files.internal.corp:8080` leads to `10.1.2.3`, a private address, which steps may not call unless "
        "settings allow it"
    )
    assert caught.value.suggestions == (
        "pflow settings set http.allow_hosts other.corp,files.internal.corp",
        "pflow settings set http.allow_private true",
    )


def test_a_metadata_address_is_not_advertised_as_private() -> None:
    with pytest.raises(SecurityError) as caught:
        addresses_of("metadata")
    assert caught.value.details["kind"] == "a cloud metadata address"
    assert caught.value.suggestions == ("pflow settings set http.allow_hosts metadata",)


def test_a_host_without_addresses_is_a_failed_step() -> None:
    with pytest.raises(StepError, match=r"the host `nowhere\.example` has no address"):
        addresses_of("nowhere.example")


def test_trusting_one_place_opens_only_its_port() -> None:
    policy = NetworkPolicy().trusting("Files.internal.corp", 3000)
    assert addresses_of("files.internal.corp", policy, 3000)
    with pytest.raises(SecurityError):
        addresses_of("files.internal.corp", policy, 3001)


V4 = st.integers(0, 2**32 - 1).map(IPv4Address)


@given(V4)
@example(IPv4Address("127.0.0.1"))
@example(IPv4Address("8.8.8.8"))
@example(IPv4Address("169.254.169.254"))
def test_an_embedded_address_is_judged_like_itself(address: IPv4Address) -> None:
    number = int(address)
    wrapped = [
        IPv6Address(0xFFFF << 32 | number),
        IPv6Address(0x0064FF9B << 96 | number),
        IPv6Address(0x2002 << 112 | number << 80 | 1),
        IPv6Address(0x2606_2800_0220_0001_0000_5EFE << 32 | number),
    ]
    assert {kind_of(each) for each in wrapped} == {kind_of(address)}
    assert {unwrap(each) for each in wrapped[:3]} == {address}


@given(st.one_of(V4, st.integers(0, 2**128 - 1).map(IPv6Address)))
@example(ip_address("fec0::1"))
def test_nothing_is_public_that_the_standard_library_calls_special(address: IPv4Address | IPv6Address) -> None:
    special = (
        address.is_private
        or address.is_loopback
        or address.is_link_local
        or address.is_multicast
        or address.is_reserved
        or address.is_unspecified
    )
    if special and unwrap(address) is address:
        assert kind_of(address) is not None
