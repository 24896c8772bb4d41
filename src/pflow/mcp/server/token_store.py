"""The tokens that servers were logged in to with, in a file for this user only. Knows no protocol.

A login belongs to a server's name and to where and as whom it was made: once the URL or the client changes, it is
no longer found, so that no token is sent to another place than the one it is for.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path

from pflow.core.errors import NotFoundError, StorageError
from pflow.core.file.atomic import JSON_LIMIT, locked, make_private, parse_object, read_private, set_aside, update_json
from pflow.core.file.file_name import show
from pflow.core.file.home import Home
from pflow.core.frozen import Frozen
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
        return _secrets({name: getattr(self, name) for name in self._fields})

    @property
    def expired(self) -> bool:
        """Whether its time is over; a token that does not say is good until a server refuses it."""
        return self.expires_at is not None and time.time() >= self.expires_at


class TokenStore:
    """The login of one expanded server."""

    def __init__(self, home: Home, server: ServerConfig, say: Callable[[str], None]) -> None:
        self.lock = home.root / f"mcp-login-{server.name}"
        self._path = home.tokens
        self._name = server.name
        self._fingerprint = _fingerprint(server)
        self._say = say

    def read(self) -> Login | None:
        """The login, if there is one for this very server."""
        content, aside = _content(self._path)
        if aside:
            self._say(f"`{self._path.name}` was damaged and set aside as `{aside}`; log in to your servers again")
        entry = _servers(content).get(self._name)
        if not isinstance(entry, dict) or entry.get("fingerprint") != self._fingerprint:
            return None
        return _login(entry)

    def write(self, login: Login) -> None:
        """Keep a login in place of the one before."""
        values = {name: getattr(login, name) for name in login._fields}
        known = {name: value for name, value in values.items() if value not in ("", None, {})}
        entry = {"fingerprint": self._fingerprint, **known}

        def change(content: dict[str, object]) -> dict[str, object]:
            _check_version(content)
            servers = {**_servers(content), self._name: entry}
            return {**content, "version": VERSION, "servers": dict(sorted(servers.items()))}

        update_json(self._path, change, on_corrupt="replace")


def forget(home: Home, name: str) -> bool:
    """Drop what a server was logged in to with, wherever that was; whether there was something."""
    found = False

    def change(content: dict[str, object]) -> dict[str, object]:
        nonlocal found
        _check_version(content)
        servers = dict(_servers(content))
        found = servers.pop(name, None) is not None
        return {**content, "version": VERSION, "servers": servers}

    if home.tokens.exists():
        update_json(home.tokens, change, on_corrupt="replace")
    return found


def token_secrets(home: Home) -> list[str]:
    """Every token and client secret of the file, to be kept out of what is shown and stored."""
    try:
        content, _ = _content(home.tokens)
    except StorageError:
        return []  # what cannot be read cannot be sent, and so not be shown either
    entries = [entry for entry in _servers(content).values() if isinstance(entry, dict)]
    return list(dict.fromkeys(secret for entry in entries for secret in _secrets(entry)))


def _secrets(entry: Mapping[str, object]) -> list[str]:
    client = entry.get("client")
    found = [entry.get(name) for name in _SECRET_FIELDS]
    found += [client.get(name) for name in _CLIENT_SECRETS] if isinstance(client, Mapping) else []
    return [text for text in found if isinstance(text, str) and text]


def _fingerprint(server: ServerConfig) -> str:
    # lazy: only servers with OAuth have a login
    from hashlib import sha256

    import orjson

    whose = [server.url, server.auth.identity() if server.auth else None]
    return f"sha256:{sha256(orjson.dumps(whose)).hexdigest()}"


def _content(path: Path) -> tuple[dict[str, object], str]:
    """What the file holds, and the name of what it was set aside as if that makes no sense."""
    try:
        content = parse_object(read_private(path, JSON_LIMIT))
        if content is None:
            with locked(path):  # with nobody writing
                content = parse_object(read_private(path, JSON_LIMIT))
                if content is None:
                    return {}, set_aside(path).name
        make_private(path)
    except NotFoundError:
        return {}, ""
    _check_version(content)
    return content, ""


def _check_version(content: Mapping[str, object]) -> None:
    version = content.get("version", VERSION)
    if not isinstance(version, int) or version > VERSION:
        raise StorageError(
            f"`mcp-tokens.json` has version `{show(str(version))}`; this pflow knows version {VERSION}",
            suggestions=["update pflow, or set PFLOW_HOME to another folder"],
        )


def _servers(content: Mapping[str, object]) -> dict[str, object]:
    servers = content.get("servers")
    return servers if isinstance(servers, dict) else {}


def _login(entry: Mapping[str, object]) -> Login | None:
    """The login of an entry, None if someone has changed it into something else."""

    def text(name: str) -> str:
        value = entry.get(name)
        return value if isinstance(value, str) else ""

    def part(name: str) -> Mapping[str, object]:
        value = entry.get(name)
        return value if isinstance(value, dict) else {}

    expires_at = entry.get("expires_at")
    if not text("access_token"):
        return None
    return Login(
        access_token=text("access_token"),
        refresh_token=text("refresh_token"),
        scope=text("scope"),
        expires_at=float(expires_at) if isinstance(expires_at, int | float) else None,
        issuer=text("issuer"),
        client=part("client"),
        metadata=part("metadata"),
        resource=part("resource"),
    )
