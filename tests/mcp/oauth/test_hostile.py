"""Servers and authorization servers that mean harm, or make no sense: nothing is sent where it should not go."""

import gzip
import json
import traceback
from collections.abc import Callable
from typing import Any

import httpx2
import pytest

from pflow.core.errors import StepError
from pflow.http.authorization import LIMIT
from pflow.mcp.oauth.limit import check_endpoint
from pflow.mcp.server.config import read_server
from tests.mcp.oauth.conftest import World
from tests.mcp.oauth.provider import Provider

MACHINE = {"type": "client_credentials", "client_id": "machine", "client_secret_env": "CLIENT_SECRET"}


def refuses(
    in_world: Callable[..., Any],
    prepare: Callable[..., Any],
    message: str,
    *,
    auth: dict[str, Any] | None = None,
    fields: Any = None,
) -> World:
    async def work(world: World) -> World:
        prepare(world.provider)
        with pytest.raises(StepError) as caught:
            await world.login(world.server(auth, **(fields or {})))
        assert caught.value.action == "auth_failed"
        assert message in caught.value.message
        assert not world.home.tokens.exists()
        return world

    world: World = in_world(work)
    return world


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("file:///etc/passwd", "the URL of a server has the form"),
        ("ftp://evil.example/x", "the URL of a server has the form"),
        ("http://evil.example/x", "`http://evil.example` is not encrypted"),
        ("http://169.254.169.254/latest", "`http://169.254.169.254` is not encrypted"),
        ("https://user:pass@evil.example/x", "a URL with a user name or password"),
        ("/relative", ""),
        ("http://[::1", ""),
    ],
)
def test_a_challenge_leads_to_no_address_that_is_refused(
    in_world: Callable[..., Any], address: str, message: str
) -> None:
    def prepare(provider: Provider) -> None:
        provider.challenge = f'Bearer resource_metadata="{address}"'

    world = refuses(in_world, prepare, message)
    assert world.provider.log == [("POST", "/mcp")]


@pytest.mark.parametrize("address", ["http://evil.example", "file:///etc", "javascript:alert(1)", 7])
def test_a_server_cannot_name_an_authorization_server_that_is_not_encrypted(
    in_world: Callable[..., Any], address: int | str
) -> None:
    def prepare(provider: Provider) -> None:
        provider.resource_extra = {"authorization_servers": [address]}
        provider.registers = False

    refuses(in_world, prepare, "")


@pytest.mark.parametrize("auth", [MACHINE, {"type": "oauth"}])
@pytest.mark.parametrize("address", ["http://evil.example/token", "https://a:b@evil.example/token"])
def test_no_code_and_no_secret_is_sent_to_a_token_endpoint_that_is_refused(
    in_world: Callable[..., Any], auth: dict[str, Any], address: str
) -> None:
    def prepare(provider: Provider) -> None:
        provider.metadata_extra = {"token_endpoint": address}

    world = refuses(in_world, prepare, "server `s` leads its login to an address that is refused", auth=auth)
    assert world.provider.token_requests == []


def test_no_browser_is_opened_at_an_address_that_is_refused(in_world: Callable[..., Any]) -> None:
    def prepare(provider: Provider) -> None:
        provider.metadata_extra = {"authorization_endpoint": "http://evil.example/login"}

    world = refuses(in_world, prepare, "`http://evil.example` is not encrypted")
    assert (world.opened, world.said) == ([], [])


@pytest.mark.parametrize("address", ["javascript:alert(1)", "file:///etc/passwd", "data:text/html,x"])
def test_metadata_with_other_schemes_is_not_metadata(in_world: Callable[..., Any], address: str) -> None:
    def prepare(provider: Provider) -> None:
        provider.metadata_extra = {"authorization_endpoint": address}

    world = refuses(in_world, prepare, "lets no client register by itself")
    assert world.opened == []


def test_nobody_registers_at_an_address_that_is_refused(in_world: Callable[..., Any]) -> None:
    def prepare(provider: Provider) -> None:
        provider.metadata_extra = {"registration_endpoint": "http://evil.example/register"}

    refuses(in_world, prepare, "`http://evil.example` is not encrypted")


REMOTE = read_server("s", {"url": "https://api.example/mcp", "auth": {"type": "oauth"}})


@pytest.mark.parametrize(
    "address",
    [
        "http://127.0.0.1:8080/token",
        "https://localhost/token",
        "http://[::1]/token",
        "https://10.0.0.1/token",
        "https://169.254.169.254/token",
        "https://metadata.google.internal/token",
    ],
)
def test_a_server_elsewhere_cannot_lead_a_login_to_this_machine_or_its_net(address: str) -> None:
    with pytest.raises(StepError, match="which is not public"):
        check_endpoint(REMOTE, address)
    check_endpoint(REMOTE._replace(insecure=True), address)
    check_endpoint(REMOTE._replace(url="http://localhost:1/mcp"), address)


def test_an_encrypted_authorization_server_elsewhere_is_fine() -> None:
    check_endpoint(REMOTE, "https://login.example/token")
    with pytest.raises(StepError, match="not encrypted"):
        check_endpoint(REMOTE, "http://login.example/token")
    check_endpoint(REMOTE._replace(insecure=True), "http://login.example/token")


def test_metadata_of_another_server_is_refused(in_world: Callable[..., Any]) -> None:
    def prepare(provider: Provider) -> None:
        provider.resource_extra = {"resource": "https://bank.example/mcp"}

    refuses(in_world, prepare, "does not fit together: Protected resource https://bank.example/mcp does not match")


def test_metadata_of_another_issuer_is_refused(in_world: Callable[..., Any]) -> None:
    def prepare(provider: Provider) -> None:
        provider.metadata_extra = {"issuer": "https://bank.example"}

    refuses(in_world, prepare, "issuer mismatch")


def test_an_authorization_server_without_pkce_is_refused(in_world: Callable[..., Any]) -> None:
    def prepare(provider: Provider) -> None:
        provider.metadata_extra = {"code_challenge_methods_supported": ["plain"]}

    world = refuses(in_world, prepare, "offers no PKCE with `S256`")
    assert world.opened == []


def test_an_answer_that_does_not_end_is_given_up(in_world: Callable[..., Any]) -> None:
    def prepare(provider: Provider) -> None:
        provider.metadata_extra = {"x": "x" * LIMIT}

    refuses(in_world, prepare, f"a login was answered with more than {LIMIT} bytes")


def test_an_answer_that_could_grow_when_unpacked_is_not_read(in_world: Callable[..., Any]) -> None:
    def prepare(provider: Provider) -> None:
        answer = provider._answer

        def packed(method: str, target: str, headers: dict[str, Any], body: bytes) -> tuple[int, dict[str, Any], bytes]:
            status, extra, data = answer(method, target, headers, body)
            if "well-known" in target:
                assert headers["accept-encoding"] == "identity"
                return status, {**extra, "Content-Encoding": "gzip"}, gzip.compress(data)
            return status, extra, data

        setattr(provider, "_answer", packed)

    refuses(in_world, prepare, "compresses its answers")


def test_a_challenge_that_does_not_end_is_given_up(in_world: Callable[..., Any]) -> None:
    def prepare(provider: Provider) -> None:
        setattr(provider, "_resource", lambda headers: (401, {}, b"x" * (LIMIT + 1)))

    refuses(in_world, prepare, "more than")


HUSH = "hush-0123456789abcdef"


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"\xff",
        b"access_token=" + HUSH.encode(),
        json.dumps({"access_token": [HUSH]}).encode(),
        json.dumps({"access_token": HUSH, "token_type": "mac"}).encode(),
        json.dumps({"access_token": HUSH + "\r\nX-Evil: 1"}).encode(),
        json.dumps({"access_token": HUSH + "é"}).encode(),
        b'{"access_token": "%s", "expires_in": 1%s}' % (HUSH.encode(), b"0" * 400),
        json.dumps({"error": HUSH}).encode(),
    ],
)
def test_a_token_that_makes_no_sense_is_refused_and_not_shown(
    in_world: Callable[..., Any], capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture, answer: bytes
) -> None:
    async def work(world: World) -> None:
        world.provider.token_answer = answer
        with pytest.raises(StepError, match="the authorization server of `s` gave no token") as caught:
            await world.login(world.server(MACHINE))
        assert caught.value.action == "auth_failed"
        shown = "".join(traceback.format_exception(caught.value)) + str(caught.value.details)
        assert HUSH not in shown
        assert not world.home.tokens.exists()

    in_world(work)
    captured = capfd.readouterr()
    assert HUSH not in captured.out + captured.err + caplog.text


def test_what_an_authorization_server_says_about_a_secret_is_not_repeated(
    in_world: Callable[..., Any], capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    async def work(world: World) -> None:
        world.variables["CLIENT_SECRET"] = HUSH
        with pytest.raises(StepError) as caught:
            await world.login(world.server(MACHINE))
        assert HUSH not in "".join(traceback.format_exception(caught.value)) + str(caught.value.details)

    in_world(work)
    captured = capfd.readouterr()
    assert HUSH not in captured.out + captured.err + caplog.text


def test_no_request_of_a_login_waits_for_ever(in_world: Callable[..., Any]) -> None:
    async def work(world: World) -> None:
        seen = []

        async def look(request: httpx2.Request) -> None:
            seen.append((request.url.path, request.extensions["timeout"]["read"]))

        auth = world.auth(world.server(MACHINE))
        async with httpx2.AsyncClient(
            trust_env=False, verify=False, auth=auth, timeout=None, event_hooks={"request": [look]}
        ) as client:
            await client.post(world.provider.url)
        assert seen == [
            ("/mcp", None),
            ("/.well-known/oauth-protected-resource/mcp", 30.0),
            ("/.well-known/oauth-authorization-server", 30.0),
            ("/oauth/token", 30.0),
            ("/mcp", None),
        ]

    in_world(work)


def test_a_redirect_to_another_place_is_not_followed(in_world: Callable[..., Any]) -> None:
    def prepare(provider: Provider) -> None:
        answer = provider._answer

        def elsewhere(
            method: str, target: str, headers: dict[str, Any], body: bytes
        ) -> tuple[int, dict[str, Any], bytes]:
            if target == "/oauth/token":
                return 307, {"Location": "http://127.0.0.1:9/steal"}, b""
            return answer(method, target, headers, body)

        setattr(provider, "_answer", elsewhere)

    refuses(in_world, prepare, "gave no token", auth=MACHINE)


def test_a_server_that_refuses_every_token_is_not_asked_for_ever(in_world: Callable[..., Any]) -> None:
    async def work(world: World) -> None:
        server = world.server(MACHINE)
        auth = world.auth(server)
        resource = world.provider._resource
        setattr(world.provider, "_resource", lambda headers: resource({}))
        [answer] = await world.ask(auth)
        assert answer.status_code == 401
        assert world.provider.log.count(("POST", "/mcp")) == 2
        assert len(world.provider.token_requests) == 1

    in_world(work)


def test_no_connection_is_left_when_the_authorization_server_goes_away(in_world: Callable[..., Any]) -> None:
    async def work(world: World) -> None:
        world.provider.metadata_extra = {"token_endpoint": "http://127.0.0.1:9/token"}
        auth = world.auth(world.server(MACHINE))
        for _ in range(2):  # the second would hang if the first had kept its turn
            with pytest.raises(httpx2.ConnectError):
                await world.ask(auth)

    in_world(work)
