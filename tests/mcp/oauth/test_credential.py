"""What is known about a token before it is sent: that it is there, can be sent, and has the scopes it needs."""

import base64
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pflow.core.error_text import render_error
from pflow.core.errors import StepError
from pflow.core.file.home import Home
from pflow.mcp.server.config import ServerConfig, read_server
from pflow.mcp.server.config_file import ServerBook
from pflow.mcp.server.credential import bearer, check_credentials, scopes_of
from pflow.mcp.server.server_secret import server_secrets
from pflow.mcp.server.variable import expand

TOKEN = "ghp_0123456789"


def server(**fields: Any) -> ServerConfig:
    return read_server("x", {"url": "https://x.org/mcp", **fields})


def jwt(claims: Any) -> str:
    def part(value: Any) -> str:
        return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")

    return f"{part({'alg': 'none'})}.{part(claims)}.c2lnbmF0dXJl"


def secrets_of(config: ServerConfig, variables: dict[str, str], folder: Path) -> set[str]:
    """What is kept out of everything shown once the server is configured."""
    ServerBook(Home(folder)).add(config)
    return set(server_secrets(Home(folder), variables).values())


@pytest.mark.parametrize("stored", [TOKEN, f" {TOKEN}\n", f"bearer  {TOKEN}"])
def test_a_token_becomes_a_header_and_is_known_as_a_secret(stored: str, tmp_path: Path) -> None:
    config, variables = server(auth={"token_env": "GITHUB_TOKEN"}), {"GITHUB_TOKEN": stored}
    assert check_credentials(config, variables) == {"Authorization": f"Bearer {TOKEN}"}
    assert TOKEN in secrets_of(config, variables, tmp_path)


@pytest.mark.requirement("security:9.3-2")
@pytest.mark.requirement("security:9.3-4")
@pytest.mark.parametrize("variables", [{}, {"GITHUB_TOKEN": ""}, {"GITHUB_TOKEN": " \n"}])
def test_a_token_that_is_missing_is_told_before_the_step_starts(variables: dict[str, Any]) -> None:
    with pytest.raises(StepError) as caught:
        check_credentials(server(auth={"token_env": "GITHUB_TOKEN"}), variables)
    assert caught.value.action == "auth_failed"
    assert render_error(caught.value) == (
        "error: server `x` needs the token in `GITHUB_TOKEN`, which is not set\n\n"
        "hint: `pflow settings set GITHUB_TOKEN`"
    )


def test_a_token_with_its_scheme_in_front_is_understood() -> None:
    assert bearer(server(auth={"token_env": "T"}), {"T": f"bearer  {TOKEN}"}) == TOKEN


@pytest.mark.parametrize("wrong", ["two words", "line\nbreak", "caf\u00e9", "nul\0", "x\r\nX-Evil: 1"])
def test_a_token_that_no_header_can_hold_is_not_sent_and_not_shown(wrong: str) -> None:
    with pytest.raises(StepError) as caught:
        bearer(server(auth={"token_env": "T"}), {"T": wrong})
    assert caught.value.action == "auth_failed"
    assert caught.value.message == (
        "`T` holds characters that no token can have, so that nothing was sent to server `x`"
    )


@pytest.mark.parametrize("name", ["Authorization", "authorization", "AUTHORIZATION"])
def test_a_token_takes_the_place_of_a_configured_header(name: str) -> None:
    config = server(auth={"token_env": "T"}, headers={name: "Basic abc", "X-Team": "a"})
    assert check_credentials(config, {"T": TOKEN}) == {"X-Team": "a", "Authorization": f"Bearer {TOKEN}"}


@pytest.mark.parametrize("value", ["", "Bearer", "bearer ", "Basic", "Bearer ${TOKEN}"])
def test_an_authorization_header_that_says_nothing_is_not_sent(value: str) -> None:
    assert check_credentials(server(headers={"Authorization": value}), {}) == {}


@pytest.mark.parametrize("value", ["Bearer ${T}", "Bearer ${T:-}", "${T:-}"])
def test_an_authorization_header_whose_variable_is_missing_is_not_sent(value: str) -> None:
    expanded = expand(server(headers={"Authorization": value, "X-Team": "a"}), {}).server
    assert check_credentials(expanded, {}) == {"X-Team": "a"}


@pytest.mark.parametrize("value", ["Bearer abcdefgh", "Basic YTpi", "my-raw-key"])
def test_a_configured_authorization_header_is_sent_and_known_as_a_secret(value: str, tmp_path: Path) -> None:
    config = server(headers={"Authorization": value})
    assert check_credentials(config, {}) == {"Authorization": value}
    assert value.rpartition(" ")[2] in secrets_of(config, {}, tmp_path)


def test_headers_that_are_called_like_secrets_are_secrets_and_others_are_not(tmp_path: Path) -> None:
    config = server(headers={"X-API-Key": "key-12345678", "Cookie": "a=12345678", "X-Team": "team-12345678"})
    assert secrets_of(config, {}, tmp_path) == {"key-12345678", "a=12345678"}
    assert check_credentials(config, {}) == config.headers


def test_the_secret_of_a_client_is_looked_for_and_no_header_is_made_of_it(tmp_path: Path) -> None:
    auth = {"type": "client_credentials", "client_id": "c", "client_secret_env": "S"}
    config = server(auth=auth, headers={"Authorization": "Bearer old"})
    assert check_credentials(config, {"S": "s3cret-123"}) == {}
    assert "s3cret-123" in secrets_of(config, {"S": "s3cret-123"}, tmp_path)
    with pytest.raises(StepError, match="server `x` needs the client secret in `S`, which is not set"):
        check_credentials(config, {})


@pytest.mark.requirement("security:9.3-3")
@pytest.mark.parametrize(
    "claims",
    [
        {"scope": "repo:read other"},
        {"scp": ["repo:read"]},
        {"scp": "repo:read"},
        {"scope": [], "scp": []},
        {"scope": ["repo:read", 7, None]},
    ],
)
def test_a_token_that_lacks_a_scope_is_not_sent(claims: dict[str, Any]) -> None:
    config = server(auth={"token_env": "T", "scopes": ["repo:read", "repo:write"]})
    with pytest.raises(StepError) as caught:
        check_credentials(config, {"T": jwt(claims)})
    assert caught.value.action == "auth_failed"
    missing = "repo:write" if scopes_of(jwt(claims)) else "repo:read"
    assert caught.value.message == f"the token in `T` for server `x` lacks the scope `{missing}`"


@pytest.mark.parametrize(
    "token",
    [
        TOKEN,
        "a.b.c",
        "..",
        jwt({"sub": "someone"}),
        jwt([]),
        jwt("scope"),
        jwt({"scope": 7}),
        jwt({"scope": "repo:write repo:read"}),
        jwt({"scp": ["repo:write"], "scope": "repo:read"}),
    ],
)
def test_a_token_that_has_its_scopes_or_does_not_say_is_sent(token: str) -> None:
    config = server(auth={"token_env": "T", "scopes": ["repo:read", "repo:write"]})
    assert check_credentials(config, {"T": token}) == {"Authorization": f"Bearer {token}"}


def test_scopes_are_compared_as_authorization_servers_write_them() -> None:
    config = server(auth={"token_env": "T", "scopes": ["api://app/Files.Read", "offline_access", "openid"]})
    assert check_credentials(config, {"T": jwt({"scp": "Files.Read"})})
    with pytest.raises(StepError, match="lacks the scope `api://app/Files.Read`"):
        check_credentials(config, {"T": jwt({"scp": "Files.Write"})})


def test_the_scopes_of_a_token_in_a_header_are_compared_too() -> None:
    config = server(auth={"scopes": ["write"]}, headers={"Authorization": f"Bearer {jwt({'scope': 'read'})}"})
    with pytest.raises(StepError, match="the token for server `x` lacks the scope `write`"):
        check_credentials(config, {})


@given(st.text() | st.lists(st.text(alphabet="abcXYZ019-_=."), min_size=3, max_size=3).map(".".join))
def test_any_text_is_a_token_with_known_scopes_or_without(token: str) -> None:
    found = scopes_of(token)
    assert found is None or all(isinstance(scope, str) for scope in found)


CLAIMS = st.none() | st.integers() | st.text() | st.lists(st.none() | st.integers() | st.text(), max_size=5)


@given(CLAIMS | st.dictionaries(st.text(max_size=5), CLAIMS, max_size=2))
def test_any_claims_are_read_without_trust(claim: object) -> None:
    found = scopes_of(jwt({"scope": claim}))
    if isinstance(claim, str):
        assert found == frozenset(claim.split())
    elif isinstance(claim, list):
        assert found == frozenset(item for item in claim if isinstance(item, str))
    else:
        assert found is None
