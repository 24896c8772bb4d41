"""What is sent to a remote server to say who asks, checked before anything is sent. Talks to nobody."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

import orjson

from pflow.core.advice import Advice
from pflow.core.errors import StepError
from pflow.core.printable import shorten
from pflow.mcp.server.config import ServerConfig

_FORBIDDEN = re.compile(r"[^\x21-\x7e]")
_SCHEME = re.compile(r"bearer\s+", re.IGNORECASE)
_UNSAID = frozenset(["openid", "offline_access"])
"""Scopes that change what else is granted, and are rarely repeated in what was."""


def check_credentials(server: ServerConfig, variables: Mapping[str, str]) -> dict[str, str]:
    """The headers of an expanded server, with its token. Raises a `StepError` with the action `auth_failed`.

    Of OAuth only the client's secret is looked for; its tokens come from `pflow.mcp.oauth.login`.
    """
    token = bearer(server, variables)
    client_secret(server, variables)
    headers = {
        name: value
        for name, value in server.headers.items()
        if name.lower() != "authorization" or (token is None and not server.uses_oauth and _says_something(value))
    }
    if token is not None:
        headers["Authorization"] = f"Bearer {token}"
    elif server.auth and server.auth.scopes:
        sent = next((value for name, value in headers.items() if name.lower() == "authorization"), "")
        if _SCHEME.match(sent):
            check_scopes(server, scopes_of(_SCHEME.sub("", sent, count=1)), where="")
    return headers


def bearer(server: ServerConfig, variables: Mapping[str, str]) -> str | None:
    """The token that the server's configuration names, None if it names none. Raises if it cannot be sent."""
    if server.auth is None or not server.auth.token_env:
        return None
    name = server.auth.token_env
    # What is copied from a page of instructions often has the scheme in front.
    token = _SCHEME.sub("", _variable(server, name, "the token", variables), count=1)
    if _FORBIDDEN.search(token):
        raise auth_failed(
            f"`{name}` holds characters that no token can have, so that nothing was sent to server `{server.name}`",
            suggestions=[
                Advice("look for spaces and line breaks in it, and store it again: `{set_setting}`", name=name)
            ],
        )
    check_scopes(server, scopes_of(token), where=f" in `{name}`")
    return token


def client_secret(server: ServerConfig, variables: Mapping[str, str]) -> str | None:
    """The secret of the server's OAuth client, None if it has none. Raises if it should and is not there."""
    if server.auth is None or not server.auth.client_secret_env:
        return None
    return _variable(server, server.auth.client_secret_env, "the client secret", variables)


def scopes_of(token: str) -> frozenset[str] | None:
    """The scopes that a token says it has; None if it does not say. Its signature is for the server to check."""
    # lazy: only tokens with scopes to compare are looked into
    from base64 import urlsafe_b64decode

    parts = token.split(".")
    if len(parts) != 3:
        return None
    try:
        claims = orjson.loads(urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4)))
    except ValueError:
        return None
    if not isinstance(claims, dict):
        return None
    found = [claims[name] for name in ("scope", "scp") if isinstance(claims.get(name), str | list)]
    if not found:
        return None
    texts = [item for claim in found for item in (claim.split() if isinstance(claim, str) else claim)]
    return frozenset(text for text in texts if isinstance(text, str))


def check_scopes(server: ServerConfig, granted: frozenset[str] | None, *, where: str) -> None:
    """Raises unless a token with these scopes has all that the server's configuration asks for."""
    if granted is None or server.auth is None:
        return
    missing = [scope for scope in server.auth.scopes if not _has(granted, scope)]
    if missing:
        log_in = [Advice("log in again with `{log_in}`", server=server.name)] if server.auth.type == "oauth" else []
        raise auth_failed(
            f"the token{where} for server `{server.name}` lacks the scope `{shorten(missing[0])}`",
            details={"missing": missing, "granted": sorted(shorten(scope) for scope in granted)[:50]},
            suggestions=log_in or ["use a token that has it, or take it out of `auth.scopes` if it is not needed"],
        )


def auth_failed(
    message: str, *, details: Mapping[str, object] | None = None, suggestions: Iterable[str] = ()
) -> StepError:
    """What to raise when a server cannot be told who asks."""
    return StepError(message, action="auth_failed", details=details, suggestions=list(suggestions))


def _variable(server: ServerConfig, name: str, what: str, variables: Mapping[str, str]) -> str:
    value = (variables.get(name) or "").strip()
    if not value:
        raise auth_failed(
            f"server `{server.name}` needs {what} in `{name}`, which is not set",
            suggestions=[Advice("`{set_setting}`", name=name)],
        )
    return value


def _has(granted: frozenset[str], scope: str) -> bool:
    # Some authorization servers take `api://app/Read` and grant it as `Read`.
    return scope in granted or scope in _UNSAID or ("://" in scope and scope.rpartition("/")[2] in granted)


def _says_something(value: str) -> bool:
    """Whether an `Authorization` header holds more than its scheme, and no variable that was left open."""
    return value.strip().lower() not in ("", "bearer", "basic", "token") and "${" not in value
