"""A program gets a token as itself, with a client id and a secret."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from pflow.core.error_text import render_error
from pflow.core.errors import StepError
from pflow.mcp.server.config import read_server
from tests.mcp.oauth.conftest import World

MACHINE = {"type": "client_credentials", "client_id": "machine", "client_secret_env": "CLIENT_SECRET"}


def test_a_program_gets_a_token_and_keeps_it(in_world: Callable[..., Any]) -> None:
    async def work(world: World) -> None:
        server = world.server({**MACHINE, "scopes": ["read", "write"]})
        [answer] = await world.ask(world.auth(server))
        assert answer.json() == {"seen": "access-1-0123456789abcdef"}
        [form] = world.provider.token_requests
        assert (form["grant_type"], form["scope"]) == ("client_credentials", "read write")
        assert "client_secret" not in form
        await world.ask(world.auth(server))
        assert len(world.provider.token_requests) == 1
        assert world.said == []

    in_world(work)


def test_the_secret_goes_into_the_form_where_that_is_wanted(in_world: Callable[..., Any]) -> None:
    async def work(world: World) -> None:
        world.provider.post_only = True
        [answer] = await world.ask(world.auth(world.server(MACHINE)))
        assert answer.status_code == 200
        assert world.provider.token_requests[0]["client_secret"] == "machine-secret-1"

    in_world(work)


def test_a_token_that_has_ended_is_got_anew(in_world: Callable[..., Any]) -> None:
    async def work(world: World) -> None:
        world.provider.expires_in = -1
        server = world.server(MACHINE)
        for number in (1, 2):
            [answer] = await world.ask(world.auth(server))
            assert answer.json() == {"seen": f"access-{number}-0123456789abcdef"}

    in_world(work)


def test_a_login_checks_the_client(in_world: Callable[..., Any]) -> None:
    async def work(world: World) -> None:
        await world.login(world.server(MACHINE))
        assert len(world.provider.token_requests) == 1
        world.variables["CLIENT_SECRET"] = "machine-secret-2"
        with pytest.raises(StepError) as caught:
            await world.login(world.server(MACHINE))
        assert caught.value.action == "auth_failed"
        assert render_error(caught.value) == (
            "error: the authorization server of `s` gave no token: `invalid_client`\n"
            "  status: 401\n\n"
            "hint: check `CLIENT_SECRET`"
        )

    in_world(work)


def test_a_secret_that_is_missing_is_told_before_anything_is_sent(in_world: Callable[..., Any]) -> None:
    async def work(world: World) -> None:
        world.variables.clear()
        with pytest.raises(StepError) as caught:
            world.auth(world.server(MACHINE))
        assert caught.value.action == "auth_failed"
        assert render_error(caught.value) == (
            "error: server `s` needs the client secret in `CLIENT_SECRET`, which is not set\n\n"
            "hint: `pflow settings set CLIENT_SECRET`"
        )
        assert world.provider.log == []

    in_world(work)


def test_the_secret_goes_only_to_the_issuer_of_the_configuration(in_world: Callable[..., Any]) -> None:
    async def work(world: World) -> None:
        server = world.server({**MACHINE, "issuer": "https://login.example"})
        with pytest.raises(StepError) as caught:
            await world.ask(world.auth(server))
        assert caught.value.action == "auth_failed"
        assert "not by `https://login.example` as it should; nothing was sent there" in caught.value.message
        assert world.provider.token_requests == []
        await world.ask(world.auth(world.server({**MACHINE, "issuer": world.provider.origin})))

    in_world(work)


def test_the_secret_is_not_sent_to_another_authorization_server_than_the_first_time(
    in_world: Callable[..., Any],
) -> None:
    async def work(world: World) -> None:
        server = world.server(MACHINE)
        world.provider.expires_in = -1
        await world.ask(world.auth(server))
        content = json.loads(world.home.tokens.read_text())
        content["servers"]["s"]["issuer"] = "https://first.example"
        world.home.tokens.write_text(json.dumps(content))
        with pytest.raises(StepError, match="not by `https://first.example` as before; nothing was sent there"):
            await world.ask(world.auth(server))
        assert len(world.provider.token_requests) == 1
        await world.login(server)  # the person says that it is right
        await world.ask(world.auth(server))

    in_world(work)


def test_a_configured_authorization_header_does_not_get_in_the_way(in_world: Callable[..., Any]) -> None:
    async def work(world: World) -> None:
        fields = {"url": world.provider.url, "auth": MACHINE, "headers": {"Authorization": "Bearer old"}}
        await world.login(read_server("s", fields))
        assert len(world.provider.token_requests) == 1

    in_world(work)
