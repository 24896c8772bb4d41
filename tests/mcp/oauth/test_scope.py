"""Scopes are compared with what a token has, before it is sent and whenever a server wants more."""

from collections.abc import Callable
from typing import Any

import pytest

from pflow.core.error_text import render_error
from pflow.core.errors import StepError
from tests.mcp.oauth.conftest import World

READ = {"type": "oauth", "scopes": ["read"]}
MACHINE = {"type": "client_credentials", "client_id": "machine", "client_secret_env": "CLIENT_SECRET"}


def test_a_token_that_was_granted_less_than_needed_is_not_used(in_world: Callable[..., Any]) -> None:
    async def work(world: World) -> None:
        world.provider.granted = "write other"
        with pytest.raises(StepError) as caught:
            await world.login(world.server(READ))
        assert caught.value.action == "auth_failed"
        assert render_error(caught.value) == (
            "error: the token for server `s` lacks the scope `read`\n"
            "  missing: read\n"
            "  granted: other, write\n\n"
            "hint: log in again with `pflow mcp login s`"
        )
        world.provider.log.clear()
        with pytest.raises(StepError, match="lacks the scope `read`"):
            await world.ask(world.auth(world.server(READ)))
        assert world.provider.log == []

    in_world(work)


def test_a_token_whose_scopes_are_not_said_has_those_that_were_asked_for(in_world: Callable[..., Any]) -> None:
    async def work(world: World) -> None:
        await world.login(world.server(READ))
        assert (await world.ask(world.auth(world.server(READ))))[0].status_code == 200

    in_world(work)


def test_scopes_that_were_added_to_the_configuration_need_a_new_login(in_world: Callable[..., Any]) -> None:
    async def work(world: World) -> None:
        await world.login(world.server(READ))
        with pytest.raises(StepError, match="lacks the scope `write`"):
            await world.ask(world.auth(world.server({"type": "oauth", "scopes": ["read", "write"]})))

    in_world(work)


def test_a_server_gets_no_scope_that_the_configuration_does_not_say(in_world: Callable[..., Any]) -> None:
    async def work(world: World) -> None:
        await world.login(world.server(READ))
        world.provider.needs_scope = "admin"
        with pytest.raises(StepError) as caught:
            await world.ask(world.auth(world.server(READ), interactive=True))
        assert caught.value.action == "auth_failed"
        assert caught.value.message == "server `s` wants the scope `admin`, which is not in `auth.scopes`"
        assert len(world.opened) == 1

    in_world(work)


def test_where_the_configuration_says_nothing_a_person_is_asked_for_more(in_world: Callable[..., Any]) -> None:
    async def work(world: World) -> None:
        world.provider.resource_extra = {"scopes_supported": ["read"]}
        await world.login(world.server())
        world.provider.needs_scope = "write"
        with pytest.raises(StepError, match="server `s` wants more than you agreed to"):
            await world.ask(world.auth(world.server()))
        [answer] = await world.ask(world.auth(world.server(), interactive=True))
        assert answer.status_code == 200
        assert [asked["scope"] for asked in world.provider.authorized] == ["read", "read write"]

    in_world(work)


def test_a_program_asks_for_more_by_itself_where_the_configuration_says_nothing(in_world: Callable[..., Any]) -> None:
    async def work(world: World) -> None:
        world.provider.needs_scope = "write"
        auth = world.auth(world.server(MACHINE))
        await world.ask(auth)
        [answer] = await world.ask(auth)
        assert answer.status_code == 200

    in_world(work)


def test_a_refusal_that_is_not_about_scopes_is_left_to_the_caller(in_world: Callable[..., Any]) -> None:
    async def work(world: World) -> None:
        await world.login(world.server())
        setattr(world.provider, "_resource", lambda headers: (403, {}, b"never"))
        [answer] = await world.ask(world.auth(world.server(), interactive=True))
        assert answer.status_code == 403
        assert len(world.opened) == 1

    in_world(work)
