"""A person logs in to a protected server; the browser is an HTTP client that opens the address it was told."""

import asyncio
import contextlib
import json
from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx2
import pytest

from pflow.core.error_text import render_error
from pflow.core.errors import ServerError, StepError, UsageError
from pflow.mcp.oauth.login import oauth_for
from pflow.mcp.server.config import read_server
from pflow.mcp.server.token_store import forget
from tests.mcp.oauth.conftest import World


def test_a_person_logs_in_once_and_later_requests_are_signed(in_world: Callable[..., Any]) -> None:
    async def work(world: World) -> None:
        server = world.server({"type": "oauth", "scopes": ["read"]})
        await world.login(server)
        [page] = world.pages
        assert (page.status_code, "You can close this window" in page.text) == (200, True)
        assert page.headers["Cache-Control"] == "no-store"
        assert world.opened == world.addresses
        world.provider.log.clear()
        [answer] = await world.ask(world.auth(server))
        assert answer.json() == {"seen": "access-1-0123456789abcdef"}
        assert world.provider.log == [("POST", "/mcp")]

    in_world(work)


def test_a_login_uses_no_proxy_of_the_environment(
    in_world: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:1")

    async def work(world: World) -> None:
        await world.login(world.server())
        assert len(world.provider.authorized) == 1

    in_world(work)


def test_a_login_uses_pkce_a_state_the_resource_and_a_loopback_address(in_world: Callable[..., Any]) -> None:
    async def work(world: World) -> None:
        await world.login(world.server({"type": "oauth", "scopes": ["read"]}))
        [asked] = world.provider.authorized
        assert asked["code_challenge_method"] == "S256"
        assert (asked["scope"], asked["resource"]) == ("read", world.provider.url)
        assert len(asked["state"]) >= 32
        assert urlsplit(asked["redirect_uri"]).hostname == "127.0.0.1"
        [registered] = world.provider.registrations
        assert (registered["redirect_uris"], registered["scope"]) == ([asked["redirect_uri"]], "read")

    in_world(work)


def test_nothing_listens_any_more_after_a_login(in_world: Callable[..., Any]) -> None:
    async def work(world: World) -> None:
        await world.login(world.server())
        [asked] = world.provider.authorized
        with pytest.raises(httpx2.ConnectError):
            await world.browse(asked["redirect_uri"])

    in_world(work)


def test_only_the_scopes_of_the_configuration_are_asked_for(in_world: Callable[..., Any]) -> None:
    async def work(world: World) -> None:
        world.provider.resource_extra = {"scopes_supported": ["read", "write", "admin"]}
        world.provider.metadata_extra = {"scopes_supported": ["read", "write", "admin", "offline_access"]}
        await world.login(world.server({"type": "oauth", "scopes": ["read"]}))
        await world.login(world.server())
        assert [asked["scope"] for asked in world.provider.authorized] == [
            "read offline_access",
            "read write admin offline_access",
        ]

    in_world(work)


def test_a_client_of_its_own_is_used_and_none_is_registered(in_world: Callable[..., Any]) -> None:
    async def work(world: World) -> None:
        world.provider.clients["mine"] = ""
        server = world.server({"type": "oauth", "client_id": "mine"})
        await world.login(server)
        assert world.provider.registrations == []
        assert world.provider.authorized[0]["client_id"] == "mine"
        assert (await world.ask(world.auth(server)))[0].status_code == 200

    in_world(work)


@pytest.mark.parametrize("post_only", [False, True])
def test_the_secret_of_a_client_is_told_as_the_authorization_server_wants_it_and_not_stored(
    in_world: Callable[..., Any], post_only: bool
) -> None:
    async def work(world: World) -> None:
        world.provider.post_only = post_only
        server = world.server({"type": "oauth", "client_id": "machine", "client_secret_env": "CLIENT_SECRET"})
        world.provider.expires_in = -1
        await world.login(server)
        world.provider.expires_in = 3600
        assert (await world.ask(world.auth(server)))[0].status_code == 200
        code, refresh = world.provider.token_requests
        assert (code["grant_type"], refresh["grant_type"]) == ("authorization_code", "refresh_token")
        assert ("client_secret" in code, "client_secret" in refresh) == (post_only, post_only)
        assert "machine-secret-1" not in world.home.tokens.read_text()

    in_world(work)


def test_a_server_where_nobody_can_register_needs_a_client_id(in_world: Callable[..., Any]) -> None:
    async def work(world: World) -> None:
        world.provider.registers = False
        with pytest.raises(StepError) as caught:
            await world.login(world.server())
        assert caught.value.action == "auth_failed"
        assert render_error(caught.value) == (
            "error: the authorization server of `s` lets no client register by itself\n\n"
            "hint: register pflow there, and put the client id it gets into `auth.client_id`"
        )
        assert ("POST", "/register") not in world.provider.log

    in_world(work)


def test_an_older_server_that_tells_nothing_of_itself_is_asked_at_the_usual_addresses(
    in_world: Callable[..., Any],
) -> None:
    async def work(world: World) -> None:
        world.provider.tells_nothing = True
        server = world.server()
        await world.login(server)
        [answer] = await world.ask(world.auth(server))
        assert answer.status_code == 200
        posts = [path for method, path in world.provider.log if method == "POST"]
        assert [path for path in posts if path != "/mcp"] == ["/register", "/token"]

    in_world(work)


@pytest.mark.parametrize("state", ["", "another"])
def test_an_answer_with_another_state_is_not_used(in_world: Callable[..., Any], state: str) -> None:
    async def work(world: World) -> None:
        world.provider.answer_extra = {"state": state}
        world.timeout = 1.0
        with pytest.raises(StepError) as caught:
            await world.login(world.server())
        assert caught.value.action == "auth_failed"
        assert caught.value.message == "nobody has logged in to server `s` within 1 seconds"
        assert caught.value.details == {"ignored": "1 without the state of this login"}
        assert world.pages[0].status_code == 400
        assert ("POST", "/oauth/token") not in world.provider.log
        assert not world.home.tokens.exists()

    in_world(work)


def test_an_answer_from_another_issuer_is_not_used(in_world: Callable[..., Any]) -> None:
    async def work(world: World) -> None:
        world.provider.answer_extra = {"iss": "https://evil.example"}
        with pytest.raises(StepError, match="does not fit together: Authorization response iss mismatch") as caught:
            await world.login(world.server())
        assert caught.value.action == "auth_failed"
        assert ("POST", "/oauth/token") not in world.provider.log

    in_world(work)


def test_a_person_who_says_no_is_understood(in_world: Callable[..., Any]) -> None:
    async def work(world: World) -> None:
        world.provider.deny = "access_denied"
        with pytest.raises(StepError) as caught:
            await world.login(world.server())
        assert caught.value.action == "auth_failed"
        assert render_error(caught.value) == (
            "error: the login to server `s` was refused: `access_denied`\n"
            '  description: "no, thanks"\n\n'
            "hint: try again with `pflow mcp login s`"
        )
        assert world.pages[0].status_code == 400

    in_world(work)


def test_nobody_is_waited_for_longer_than_said(in_world: Callable[..., Any]) -> None:
    async def work(world: World) -> None:
        world.browses, world.timeout = False, 0.05
        with pytest.raises(StepError) as caught:
            await world.login(world.server())
        assert caught.value.action == "auth_failed"
        assert caught.value.message == "nobody has logged in to server `s` within 0.05 seconds"

    in_world(work)


def test_other_visitors_of_the_listener_do_not_end_the_wait(in_world: Callable[..., Any]) -> None:
    async def work(world: World) -> None:
        world.browses = False
        going = asyncio.create_task(world.login(world.server()))
        while not world.opened:
            await asyncio.sleep(0)
        back = urlsplit(parse_qs(urlsplit(world.opened[0]).query)["redirect_uri"][0])
        _, silent = await asyncio.open_connection(back.hostname, back.port)
        async with httpx2.AsyncClient(trust_env=False, verify=False) as other:
            assert (await other.get(f"http://{back.netloc}/favicon.ico")).status_code == 404
            assert (await other.post(f"http://{back.netloc}/callback?code=x")).status_code == 404
        await world.browse(world.opened[0])
        await going
        assert not [task for task in asyncio.all_tasks() if "Redirect.serve" in repr(task)]
        assert (await world.ask(world.auth(world.server())))[0].status_code == 200
        silent.close()

    in_world(work)


VISITS = [
    *("/callback", "/callback?", "/callback?code=x", "/callback?state=guess&code=x", "/callback?state=&code=x"),
    *("/callback?error=access_denied", "/callback?error=access_denied&state=guess", "/callback?state=x" + "&a=b" * 60),
]


async def begin(world: World) -> tuple[asyncio.Task[None], str]:
    """A login that waits for its answer, and where that is to go."""
    world.browses = False
    going = asyncio.create_task(world.login(world.server()))
    while not world.opened:
        await asyncio.sleep(0)
    back = urlsplit(parse_qs(urlsplit(world.opened[0]).query)["redirect_uri"][0])
    return going, f"http://{back.netloc}"


def test_answers_without_the_state_of_the_login_are_ignored_and_the_right_one_counts(
    in_world: Callable[..., Any],
) -> None:
    async def work(world: World) -> None:
        going, place = await begin(world)
        async with httpx2.AsyncClient(trust_env=False, verify=False) as other:
            for visit in [*VISITS, *VISITS]:
                page = await other.get(f"{place}{visit}")
                assert page.status_code == 400
                assert "This is not the answer to a login." in page.text
            for visit in ("/", "/favicon.ico", "/callback/", "/Callback?code=x"):
                assert (await other.get(f"{place}{visit}")).status_code == 404
            for method in ("HEAD", "POST", "OPTIONS", "PUT"):
                assert (await other.request(method, f"{place}/callback?code=x")).status_code == 404
        assert not going.done()
        await world.browse(world.opened[0])
        await going
        assert world.pages[0].status_code == 200
        assert (await world.ask(world.auth(world.server())))[0].status_code == 200

    in_world(work)


def test_connections_that_say_nothing_do_not_keep_the_answer_out(in_world: Callable[..., Any]) -> None:
    async def work(world: World) -> None:
        going, place = await begin(world)
        where = urlsplit(place)
        silent = [(await asyncio.open_connection(where.hostname, where.port))[1] for _ in range(100)]
        await world.browse(world.opened[0])
        await going
        for writer in silent:
            writer.close()
            with contextlib.suppress(OSError):
                await writer.wait_closed()

    in_world(work)


def test_a_login_is_given_up_after_countless_wrong_answers(
    in_world: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pflow.mcp.oauth.callback_listener._MOST_IGNORED", 5)

    async def work(world: World) -> None:
        going, place = await begin(world)
        async with httpx2.AsyncClient(trust_env=False, verify=False) as other:
            for _ in range(5):
                assert (await other.get(f"{place}/callback?state=guess")).status_code == 400
        with pytest.raises(StepError, match="was given up: 5 requests came that do not belong to it"):
            await going

    in_world(work)


def test_a_login_that_is_cancelled_leaves_nothing_open(in_world: Callable[..., Any]) -> None:
    async def work(world: World) -> None:
        world.browses = False
        going = asyncio.create_task(world.login(world.server()))
        while not world.opened:
            await asyncio.sleep(0)
        going.cancel()
        with pytest.raises(asyncio.CancelledError):
            await going
        with pytest.raises(httpx2.ConnectError):
            await world.browse(parse_qs(urlsplit(world.opened[0]).query)["redirect_uri"][0])

    in_world(work)


def test_where_nobody_can_log_in_a_step_says_so_before_anything_is_sent(in_world: Callable[..., Any]) -> None:
    async def work(world: World) -> None:
        with pytest.raises(StepError) as caught:
            world.auth(world.server())
        assert caught.value.action == "auth_failed"
        assert render_error(caught.value) == "error: server `s` wants you to log in\n\nhint: run `pflow mcp login s`"
        assert (world.provider.log, world.said) == ([], [])

    in_world(work)


def test_where_a_person_is_there_a_request_has_them_log_in(in_world: Callable[..., Any]) -> None:
    async def work(world: World) -> None:
        answers = await world.ask(world.auth(world.server(), interactive=True), times=3)
        assert [answer.status_code for answer in answers] == [200, 200, 200]
        assert len(world.opened) == 1

    in_world(work)


def test_a_request_waits_for_the_login_that_another_has_begun(in_world: Callable[..., Any]) -> None:
    async def work(world: World) -> None:
        auth = world.auth(world.server(), interactive=True)
        async with httpx2.AsyncClient(trust_env=False, verify=False) as client:
            flow = auth.async_auth_flow(client.build_request("POST", world.provider.url))
            request = await flow.__anext__()
            request = await flow.asend(await client.send(request))
            assert "well-known" in str(request.url)
            other = auth.async_auth_flow(client.build_request("POST", world.provider.url))
            waiting = asyncio.create_task(anext(other))
            while request.url != world.provider.url:
                request = await flow.asend(await client.send(request))
            # By now there is a token; a request that had not waited would have gone without.
            assert (await waiting).headers["Authorization"] == request.headers["Authorization"]
            await flow.aclose()
            await other.aclose()

    in_world(work)


def test_logging_in_again_replaces_what_was_there(in_world: Callable[..., Any]) -> None:
    async def work(world: World) -> None:
        server = world.server()
        await world.login(server)
        await world.login(server)
        assert (await world.ask(world.auth(server)))[0].json() == {"seen": "access-2-0123456789abcdef"}

    in_world(work)


def test_logging_out_forgets_the_tokens(in_world: Callable[..., Any]) -> None:
    async def work(world: World) -> None:
        server = world.server()
        assert forget(world.home, "s") is False
        await world.login(server)
        assert forget(world.home, "s") is True
        assert "access-" not in world.home.tokens.read_text()
        with pytest.raises(StepError, match="wants you to log in"):
            world.auth(server)

    in_world(work)


def test_a_server_that_asks_for_nothing_needs_no_login(in_world: Callable[..., Any]) -> None:
    async def work(world: World) -> None:
        world.provider.tokens[""] = ""
        server = read_server("s", {"url": f"{world.provider.origin}/open", "auth": {"type": "oauth"}})
        with pytest.raises(StepError) as caught:
            await world.login(server)
        assert caught.value.message == "server `s` did not ask for a login (HTTP 404)"

    in_world(work)


def test_a_server_that_is_not_there_is_no_riddle(in_world: Callable[..., Any]) -> None:
    async def work(world: World) -> None:
        server = read_server("s", {"url": "http://127.0.0.1:9/mcp", "auth": {"type": "oauth"}})
        with pytest.raises(ServerError, match="server `s` or its authorization server cannot be reached: ConnectError"):
            await world.login(server)

    in_world(work)


def test_a_server_without_oauth_cannot_be_logged_in_to(in_world: Callable[..., Any]) -> None:
    async def work(world: World) -> None:
        server = read_server("s", {"url": world.provider.url, "auth": {"token_env": "T"}})
        with pytest.raises(UsageError, match="server `s` has no OAuth in its configuration"):
            await world.login(server)
        with pytest.raises(UsageError):
            oauth_for(server, home=world.home, variables={}, interactive=False, say=print)

    in_world(work)


def test_a_token_that_is_refused_at_once_is_said(in_world: Callable[..., Any]) -> None:
    async def work(world: World) -> None:
        world.provider.token_answer = json.dumps({"access_token": "unheard-of", "token_type": "bearer"}).encode()
        with pytest.raises(StepError, match="server `s` refuses the token that was just made for it"):
            await world.login(world.server())

    in_world(work)
