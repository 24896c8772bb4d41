"""What becomes of a login: it is kept for this user only, renewed when it ends, and never used elsewhere."""

import asyncio
import json
import stat
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx2
import pytest

from pflow.core.errors import StepError, StorageError
from pflow.core.file.home import Home
from pflow.mcp.server.config import read_server
from pflow.mcp.server.token_store import Login, TokenStore, forget, token_secrets
from tests.mcp.oauth.conftest import World

ROOT = Path(__file__).parents[2]


def expire(world: World) -> None:
    """Let time pass for every login."""
    content = json.loads(world.home.tokens.read_text())
    for entry in content["servers"].values():
        entry["expires_at"] = time.time() - 1
    world.home.tokens.write_text(json.dumps(content))


def test_a_token_that_has_ended_is_renewed_at_the_authorization_server_and_kept(in_world: Callable[..., Any]) -> None:
    async def work(world: World) -> None:
        server = world.server({"type": "oauth", "scopes": ["read"]})
        await world.login(server)
        expire(world)
        world.provider.log.clear()
        [answer] = await world.ask(world.auth(server))
        assert answer.json() == {"seen": "access-2-0123456789abcdef"}
        # Straight to the token endpoint of the metadata, not to one guessed on the server, and no second login.
        assert world.provider.log == [("POST", "/oauth/token"), ("POST", "/mcp")]
        [again] = await world.ask(world.auth(server))
        assert again.json() == {"seen": "access-2-0123456789abcdef"}

    in_world(work)


def test_a_token_that_the_server_no_longer_takes_is_renewed(in_world: Callable[..., Any]) -> None:
    async def work(world: World) -> None:
        server = world.server()
        world.provider.expires_in = None  # nobody said when it ends
        await world.login(server)
        world.provider.tokens.clear()
        world.provider.log.clear()
        [answer] = await world.ask(world.auth(server))
        assert answer.json() == {"seen": "access-2-0123456789abcdef"}
        assert world.provider.log == [("POST", "/mcp"), ("POST", "/oauth/token"), ("POST", "/mcp")]

    in_world(work)


def test_many_requests_renew_a_token_once(in_world: Callable[..., Any]) -> None:
    async def work(world: World) -> None:
        server = world.server()
        await world.login(server)
        expire(world)
        answers = await world.ask(world.auth(server), times=5)
        assert {answer.json()["seen"] for answer in answers} == {"access-2-0123456789abcdef"}
        assert [form["grant_type"] for form in world.provider.token_requests] == ["authorization_code", "refresh_token"]

    in_world(work)


def test_two_clients_renew_a_token_once_between_them(in_world: Callable[..., Any]) -> None:
    async def work(world: World) -> None:
        server = world.server()
        await world.login(server)
        expire(world)
        # Each has read the token that has ended; a refresh token is good for one time only.
        one, other = world.auth(server), world.auth(server)
        [[first], [second]] = await asyncio.gather(world.ask(one), world.ask(other))
        assert first.json() == second.json() == {"seen": "access-2-0123456789abcdef"}
        assert len(world.provider.token_requests) == 2

    in_world(work)


def test_requests_do_not_wait_for_each_other_while_the_token_is_good(in_world: Callable[..., Any]) -> None:
    async def work(world: World) -> None:
        server = world.server()
        await world.login(server)
        auth = world.auth(server)
        flows = [auth.async_auth_flow(httpx2.Request("POST", server.url)) for _ in range(2)]
        for flow in flows:
            request = await flow.__anext__()
            assert request.headers["Authorization"] == "Bearer access-1-0123456789abcdef"
        for flow in flows:
            await flow.aclose()

    in_world(work)


@pytest.mark.parametrize("status", [400, 503])
def test_a_token_that_cannot_be_renewed_needs_a_login(in_world: Callable[..., Any], status: int) -> None:
    async def work(world: World) -> None:
        server = world.server()
        await world.login(server)
        expire(world)
        world.provider.refresh_status = status
        auth = world.auth(server)
        world.provider.log.clear()
        with pytest.raises(StepError) as caught:
            await world.ask(auth)
        assert caught.value.action == "auth_failed"
        assert caught.value.message == "server `s` wants you to log in again"
        assert caught.value.suggestions == ("run `pflow mcp login s`",)
        assert world.provider.log == [("POST", "/oauth/token")]

    in_world(work)


def test_a_token_that_has_ended_and_cannot_be_renewed_is_told_before_anything_is_sent(
    in_world: Callable[..., Any],
) -> None:
    async def work(world: World) -> None:
        server = world.server()
        await world.login(server)
        content = json.loads(world.home.tokens.read_text())
        del content["servers"]["s"]["refresh_token"]
        world.home.tokens.write_text(json.dumps(content))
        expire(world)
        with pytest.raises(StepError, match="server `s` wants you to log in again"):
            world.auth(server)

    in_world(work)


def test_where_a_person_is_there_they_log_in_again_as_a_new_client(in_world: Callable[..., Any]) -> None:
    async def work(world: World) -> None:
        server = world.server()
        await world.login(server)
        expire(world)
        world.provider.refresh_tokens.clear()
        [answer] = await world.ask(world.auth(server, interactive=True))
        assert answer.status_code == 200
        # The port has changed since the first time, and with it the address that a client is registered with.
        assert [asked["client_id"] for asked in world.provider.authorized] == ["dynamic-1", "dynamic-2"]

    in_world(work)


def test_a_token_that_ends_as_it_is_given_is_still_tried(in_world: Callable[..., Any]) -> None:
    async def work(world: World) -> None:
        world.provider.expires_in = 0
        server = world.server()
        await world.login(server)
        for number in (2, 3):
            [answer] = await world.ask(world.auth(server))
            assert answer.json() == {"seen": f"access-{number}-0123456789abcdef"}

    in_world(work)


def test_tokens_are_kept_for_this_user_only(in_world: Callable[..., Any]) -> None:
    async def work(world: World) -> None:
        await world.login(world.server())
        assert stat.S_IMODE(world.home.tokens.stat().st_mode) == 0o600
        world.home.tokens.chmod(0o644)
        world.auth(world.server())
        assert stat.S_IMODE(world.home.tokens.stat().st_mode) == 0o600

    in_world(work)


@pytest.mark.parametrize("damage", ["", "{", "[]", '{"servers": {"s": '])
def test_a_damaged_file_is_set_aside_and_a_new_login_works(in_world: Callable[..., Any], damage: str) -> None:
    async def work(world: World) -> None:
        server = world.server()
        await world.login(server)
        world.home.tokens.write_text(damage)
        world.said.clear()
        with pytest.raises(StepError, match="wants you to log in"):
            world.auth(server)
        [aside] = world.home.root.glob("mcp-tokens.json.corrupt-*")
        assert world.said == [
            f"`mcp-tokens.json` was damaged and set aside as `{aside.name}`; log in to your servers again"
        ]
        assert stat.S_IMODE(aside.stat().st_mode) == 0o600
        await world.login(server)
        assert (await world.ask(world.auth(server)))[0].status_code == 200

    in_world(work)


@pytest.mark.parametrize(
    "change",
    [
        {"access_token": 7},
        {"access_token": ""},
        {"refresh_token": [], "expires_at": 1},
        {"client": "x", "expires_at": 1},
        {"fingerprint": "sha256:0"},
    ],
)
def test_an_entry_that_someone_changed_is_no_login(in_world: Callable[..., Any], change: dict[str, Any]) -> None:
    async def work(world: World) -> None:
        server = world.server()
        await world.login(server)
        content = json.loads(world.home.tokens.read_text())
        content["servers"]["s"].update(change)
        world.home.tokens.write_text(json.dumps(content))
        with pytest.raises(StepError, match="wants you to log in"):
            world.auth(server)

    in_world(work)


def test_an_entry_whose_metadata_makes_no_sense_is_an_error_and_no_crash(in_world: Callable[..., Any]) -> None:
    async def work(world: World) -> None:
        server = world.server()
        await world.login(server)
        content = json.loads(world.home.tokens.read_text())
        content["servers"]["s"].update({"metadata": {"token_endpoint": "file:///etc/passwd"}, "expires_at": 1})
        world.home.tokens.write_text(json.dumps(content))
        with pytest.raises(StepError, match="gave no token") as caught:
            await world.ask(world.auth(server))
        assert caught.value.action == "auth_failed"

    in_world(work)


def test_tokens_of_a_later_version_are_left_alone(in_world: Callable[..., Any]) -> None:
    async def work(world: World) -> None:
        world.home.root.mkdir()
        world.home.tokens.write_text('{"version": 2}')
        with pytest.raises(StorageError, match="has version `2`; this pflow knows version 1"):
            world.auth(world.server())
        assert token_secrets(world.home) == []
        assert world.home.tokens.read_text() == '{"version": 2}'

    in_world(work)


@pytest.mark.parametrize(
    "other",
    [
        {"url": "http://127.0.0.1:1/mcp"},
        {"auth": {"type": "oauth", "client_id": "another"}},
        {"auth": {"type": "oauth", "issuer": "https://login.example"}},
    ],
)
def test_a_token_is_not_given_to_a_server_that_is_somewhere_else_by_now(
    in_world: Callable[..., Any], other: dict[str, Any]
) -> None:
    async def work(world: World) -> None:
        await world.login(world.server())
        moved = read_server("s", {"url": world.provider.url, "auth": {"type": "oauth"}, **other})
        with pytest.raises(StepError, match="wants you to log in"):
            world.auth(moved)
        world.auth(world.server())

    in_world(work)


def test_the_secrets_of_all_logins_are_known_to_whoever_hides_them(in_world: Callable[..., Any]) -> None:
    async def work(world: World) -> None:
        assert token_secrets(world.home) == []
        await world.login(world.server())
        store = TokenStore(world.home, read_server("t", {"url": "https://t.org"}), print)
        store.write(Login(access_token="t-access", client={"client_secret": "t-secret"}))
        assert token_secrets(world.home) == [
            "access-1-0123456789abcdef",
            "refresh-1-0123456789abcdef",
            "t-access",
            "t-secret",
        ]
        assert forget(world.home, "s")
        assert token_secrets(world.home) == ["t-access", "t-secret"]

    in_world(work)


def test_every_token_is_known_to_whoever_hides_them_before_it_is_used(in_world: Callable[..., Any]) -> None:
    async def work(world: World) -> None:
        await world.login(world.server())
        expire(world)
        auth = world.auth(world.server())
        assert world.learned == ["access-1-0123456789abcdef", "refresh-1-0123456789abcdef"]
        await world.ask(auth)
        assert world.learned[-2:] == ["access-2-0123456789abcdef", "refresh-2-0123456789abcdef"]

    in_world(work)


def test_a_login_shows_no_token() -> None:
    login = Login(access_token="access-1", refresh_token="refresh-1", client={"client_secret": "hush"})
    assert repr(login) == "Login(issuer='', scope='', expires_at=None)"


WRITER = """
import sys
from pathlib import Path
from pflow.core.file.home import Home
from pflow.mcp.server.config import read_server
from pflow.mcp.server.token_store import Login, TokenStore

for number in range(20):
    server = read_server(f"s{sys.argv[1]}-{number}", {"url": "https://x.org"})
    TokenStore(Home(Path(sys.argv[2])), server, print).write(Login(access_token=f"token-{sys.argv[1]}-{number}"))
"""


def test_processes_that_write_at_once_lose_nothing(home: Path) -> None:
    def write(number: int) -> None:
        subprocess.run([sys.executable, "-c", WRITER, str(number), str(home)], check=True, cwd=ROOT)

    with ThreadPoolExecutor() as pool:
        list(pool.map(write, range(3)))
    assert sorted(token_secrets(Home(home))) == sorted(f"token-{n}-{i}" for n in range(3) for i in range(20))


LIGHT = """
import sys
import pflow.mcp.oauth.login, pflow.mcp.server.credential, pflow.mcp.server.token_store
assert not {"mcp", "pydantic", "httpx2", "anyio"} & set(sys.modules), sorted(sys.modules)
from pathlib import Path
from pflow.core.file.home import Home
from pflow.mcp.server.config import read_server
server = read_server("s", {"url": "https://x.org", "auth": {"type": "oauth"}})
home = Home(Path(sys.argv[1]))
from pflow.mcp.server.token_store import Login, TokenStore
TokenStore(home, server, print).write(Login(access_token="token-1"))
auth = pflow.mcp.oauth.login.oauth_for(server, home=home, variables={}, interactive=False, say=print)
import asyncio, httpx2

async def main():
    flow = auth.async_auth_flow(httpx2.Request("POST", "https://x.org"))
    print((await flow.__anext__()).headers["authorization"])
    await flow.aclose()

asyncio.run(main())
assert not {"mcp", "pydantic"} & set(sys.modules)
"""


def test_the_sdk_is_not_imported_while_a_stored_token_is_good(home: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", LIGHT, str(home)], check=False, cwd=ROOT, capture_output=True, text=True
    )
    assert (done.stdout, done.stderr) == ("Bearer token-1\n", "")
