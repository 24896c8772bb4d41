"""The tokens that servers were logged in to with, in a file for this user only. Knows no protocol.

A login belongs to a server's name and to where and as whom it was made: once the URL or the client changes, it is
no longer found, so that no token is sent to another place than the one it is for.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

from pflow.core.errors import StorageError
from pflow.core.file.home import Home
from pflow.core.file.state_file import Damage, StateFile
from pflow.core.frozen import Frozen
from pflow.core.json_type import Json, JsonView, object_in
from pflow.mcp.server.config import ServerConfig

VERSION = 1

_SECRET_FIELDS = ("access_token", "refresh_token")
_CLIENT_SECRETS = ("client_secret", "registration_access_token")


class Login(Frozen):
    """What a server was logged in to with. `client`, `metadata` and `resource` are what renewing it takes."""

    access_token: str
    refresh_token: str = ""
    scope: str = ""
    expires_at: float | None = None
    issuer: str = ""
    client: Mapping[str, object] = {}
    metadata: Mapping[str, object] = {}
    resource: Mapping[str, object] = {}

    def __repr__(self) -> str:
        return f"Login(issuer={self.issuer!r}, scope={self.scope!r}, expires_at={self.expires_at!r})"

    def secrets(self) -> list[str]:
        """What of it must not be shown."""
        return _secrets(self._asdict())

    @property
    def expired(self) -> bool:
        """Whether its time is over; a token that does not say is good until a server refuses it."""
        return self.expires_at is not None and time.time() >= self.expires_at


class TokenStore:
    """The login of one expanded server."""

    def __init__(self, home: Home, server: ServerConfig, say: Callable[[str], None]) -> None:
        self.lock = home.root / f"mcp-login-{server.name}"
        self._file = _token_file(home, self._begin_anew)
        self._name = server.name
        self._fingerprint = _fingerprint(server)
        self._say = say

    def read(self) -> Login | None:
        """The login, if there is one for this very server."""
        entry = object_in(object_in(self._file.read() or {}, "servers"), self._name)
        if entry.get("fingerprint") != self._fingerprint:
            return None
        return _login(entry)

    def write(self, login: Login) -> None:
        """Keep a login in place of the one before."""
        entry = {"fingerprint": self._fingerprint, **login.as_dict()}

        def change(content: Json) -> Json:
            servers = {**object_in(content, "servers"), self._name: entry}
            return {**content, "version": VERSION, "servers": dict(sorted(servers.items()))}

        self._file.update(change)

    def _begin_anew(self, damage: Damage) -> Json:
        self._say(f"`{damage.path.name}` {damage.news}; log in to your servers again")
        return {}


def forget(home: Home, name: str) -> bool:
    """Forget the tokens of a server; whether there were any. They stay good until they expire."""
    file = _token_file(home)
    if not home.tokens.exists() or name not in object_in(file.read() or {}, "servers"):
        return False

    def change(content: Json) -> Json:
        servers = {key: login for key, login in object_in(content, "servers").items() if key != name}
        return {**content, "version": VERSION, "servers": servers}

    file.update(change)
    return True


def token_secrets(home: Home) -> list[str]:
    """Every token and client secret of the file, to be kept out of what is shown and stored."""
    try:
        content = _token_file(home).read() or {}
    except StorageError:
        return []  # what cannot be read cannot be sent, and so not be shown either
    servers = object_in(content, "servers")
    return list(dict.fromkeys(secret for name in servers for secret in _secrets(object_in(servers, name))))


def _secrets(entry: JsonView) -> list[str]:
    client = entry.get("client")
    found = [entry.get(name) for name in _SECRET_FIELDS]
    found += [client.get(name) for name in _CLIENT_SECRETS] if isinstance(client, Mapping) else []
    return [text for text in found if isinstance(text, str) and text]


def _fingerprint(server: ServerConfig) -> str:
    # lazy: only servers with OAuth have a login
    from hashlib import sha256

    import orjson

    return f"sha256:{sha256(orjson.dumps([server.url, server.auth and server.auth.identity()])).hexdigest()}"


def _token_file(home: Home, on_damage: Callable[[Damage], Json] = lambda _: {}) -> StateFile:
    return StateFile(home.tokens, on_damage=on_damage, version=VERSION, private=True)


def _login(entry: JsonView) -> Login | None:
    """The login of an entry, None if somebody edited it so that it is not one."""
    token, expires_at = entry.get("access_token"), entry.get("expires_at")
    if not isinstance(token, str) or not token:
        return None
    types = {name: type(getattr(Login, name, "")) for name in Login._fields}
    known = {name: value for name, value in entry.items() if name in types and isinstance(value, types[name])}
    known["expires_at"] = float(expires_at) if isinstance(expires_at, int | float) else None
    return Login(access_token=token)._replace(**known)
