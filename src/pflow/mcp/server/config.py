"""What is known of an MCP server before anyone talks to it: a checked value, and its form in a file."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeVar

from pflow.core.errors import UsageError
from pflow.core.file.file_name import show
from pflow.core.frozen import Frozen
from pflow.core.json_type import describe
from pflow.core.printable import shorten
from pflow.core.suggest import nearest
from pflow.mcp.server.address import check_address, has_reference
from pflow.mcp.server.auth import Auth, check_auth
from pflow.mcp.server.tool_name import MAX_PART, sanitise

TRANSPORTS = ("stdio", "sse", "stream-http", "uds", "pipe")
ALIASES = {"http": "stream-http", "streamable-http": "stream-http", "streamable_http": "stream-http"}
TIMEOUT = 30.0
"""Seconds that a server may be silent."""

MAX_TIMEOUT = 24 * 3600.0
MAX_TEXT = 32 << 10

_NAME = re.compile(rf"[a-z0-9-]{{1,{MAX_PART}}}\Z")
_HEADER = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+\Z")
_LOADS = re.compile(r"(?:PATH|BASH_ENV|ENV|PERL5OPT|RUBYOPT|(?:LD|DYLD|NODE|PYTHON|JAVA)_?[A-Z_]+)\Z")
"""Variables whose values decide which code a program loads."""

_PLACES = {"stdio": "command", "sse": "url", "stream-http": "url", "uds": "socket", "pipe": "socket"}

T = TypeVar("T")


class ServerConfig(Frozen):
    """One server. Texts keep their `${VAR}` references; `unknown` keeps fields that have no meaning here."""

    name: str
    transport: str
    command: str = ""
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = {}
    cwd: str = ""
    url: str = ""
    socket: str = ""
    headers: Mapping[str, str] = {}
    auth: Auth | None = None
    insecure: bool = False
    pin_file: str = ""
    timeout: float = TIMEOUT
    trust_readonly: bool = False
    trust_idempotent: bool = False
    tools: tuple[str, ...] = ()
    """The tools that become node types, by their own names; all if none is named."""

    unknown: Mapping[str, object] = {}

    def as_fields(self) -> dict[str, object]:
        """The server as a file holds it: everything that is not the default."""
        fields: dict[str, object] = {"transport": self.transport}
        for name in self._fields[2:-1]:
            value = getattr(self, name)
            if value != getattr(type(self), name):
                fields[name] = _plain(value)
        return {**fields, **self.unknown}

    def fingerprint(self) -> str:
        """Changes with everything that decides what runs or is talked to; not with secrets, limits, trust or tools."""
        # lazy: the hash is only asked for where a server is consented to
        from hashlib import sha256

        import orjson

        loading = [(name, self.env[name]) for name in sorted(self.env) if _LOADS.match(name)]
        deciding = [
            *(self.transport, self.command, list(self.args), sorted(self.env), self.cwd, self.url, self.socket),
            *([loading] if loading else []),
            *(sorted(self.headers), self.insecure, self.pin_file, self.auth and self.auth.identity()),
        ]
        return f"sha256:{sha256(orjson.dumps(deciding)).hexdigest()}"


FIELDS = ServerConfig._fields[1:-1]


def read_server(name: str, fields: object) -> ServerConfig:
    """A checked server from the object that a file holds; a `UsageError` or `SecurityError` says what is wrong."""
    check_server_name(name)
    if not isinstance(fields, dict):
        raise UsageError(f"server `{name}` is {describe(fields)}; it should be an object with `command` or `url`")
    read = _Reader(name, fields)
    transport = read_transport(name, read.text("transport") or _infer(fields))
    config = ServerConfig(
        name=name,
        transport=transport,
        command=read.text("command"),
        args=read.texts("args"),
        env=read.pairs("env"),
        cwd=read.text("cwd"),
        url=read.text("url"),
        socket=read.text("socket"),
        headers=read.pairs("headers"),
        auth=read.auth(),
        insecure=read.flag("insecure"),
        pin_file=read.text("pin_file"),
        timeout=read.seconds("timeout"),
        trust_readonly=read.flag("trust_readonly"),
        trust_idempotent=read.flag("trust_idempotent"),
        tools=read.tools(),
        unknown={key: value for key, value in fields.items() if key not in FIELDS},
    )
    return check_server(config)


def check_server(config: ServerConfig) -> ServerConfig:
    """The server itself if its parts fit together."""
    check_server_name(config.name)
    read_transport(config.name, config.transport)
    _check_places(config)
    for variable in config.env:
        if not variable or "=" in variable or "\0" in variable:
            raise UsageError(f"`{show(variable)}` cannot be the name of an environment variable")
    for header in config.headers:
        if not _HEADER.match(header):
            raise UsageError(f"`{show(header)}` cannot be the name of a header")
    if config.auth:
        check_auth(config.name, config.auth, insecure=config.insecure)
    for field in ("cwd", "socket", "pin_file"):
        path = getattr(config, field)
        if path and not (
            config.transport == "pipe" or Path(path).is_absolute() or path[0] == "~" or has_reference(path)
        ):
            raise UsageError(f"`{field}` of server `{config.name}` is `{shorten(path)}`; give an absolute path")
    if config.url:
        check_address(config.url, insecure=config.insecure)
    return config


def check_server_name(name: str) -> str:
    """The name itself, or a `UsageError`."""
    if not _NAME.match(name):
        better = sanitise(name, default="my-server")
        raise UsageError(
            f"`{show(name)}` cannot be the name of a server: it has 1 to {MAX_PART} of a-z, 0-9 and `-`",
            suggestions=[f"call it `{better}`"],
        )
    return name


def read_transport(name: str, text: str) -> str:
    """The transport that a text means, if this system has it."""
    transport = ALIASES.get(text, text)
    if transport not in TRANSPORTS:
        near = nearest(text, [*TRANSPORTS, *ALIASES], limit=1)
        raise UsageError(
            f"server `{name}` has the transport `{show(text)}`, which does not exist",
            details={"known": [*TRANSPORTS, "http"]},
            suggestions=[f"did you mean `{near[0]}`?"] if near else [],
        )
    if transport == "pipe" and sys.platform != "win32":
        raise UsageError(
            f"server `{name}` has the transport `pipe`, which exists on Windows only",
            suggestions=["use `uds` with the path of a Unix socket"],
        )
    return transport


def _infer(fields: Mapping[str, object]) -> str:
    return "stream-http" if fields.get("url") else "uds" if fields.get("socket") else "stdio"


def _check_places(config: ServerConfig) -> None:
    needed = _PLACES[config.transport]
    if not getattr(config, needed):
        what = {"command": "a command to start", "url": "a URL", "socket": "the path of a socket"}[needed]
        raise UsageError(
            f"server `{config.name}` with the transport `{config.transport}` needs {what}",
            suggestions=[f"give it as `{needed}`"],
        )
    of_transport = {
        "command": ("command", "args", "env", "cwd"),
        "url": ("url", "headers", "auth", "insecure", "pin_file"),
        "socket": ("socket",),
    }
    for other, fields in of_transport.items():
        wrong = [field for field in fields if other != needed and getattr(config, field)]
        if wrong:
            raise UsageError(
                f"server `{config.name}` with the transport `{config.transport}` takes no `{wrong[0]}`",
                suggestions=[f"leave out `{wrong[0]}`, or change the transport"],
            )


def _plain(value: object) -> object:
    if isinstance(value, Auth):
        return {**value.as_fields(), **value.unknown}
    if isinstance(value, tuple):
        return list(value)
    return dict(value) if isinstance(value, Mapping) else value


class _Reader:
    """The fields of a server in their types; a wrong one is an error that names it and never shows its value."""

    def __init__(self, server: str, fields: Mapping[str, object]) -> None:
        self._server = server
        self._fields = fields

    def text(self, field: str) -> str:
        return self._read(field, "", lambda value: self._text(field, value))

    def texts(self, field: str) -> tuple[str, ...]:
        return self._read(field, (), lambda value: self._texts(field, value))

    def tools(self) -> tuple[str, ...]:
        """Names of tools; `*`, as some programs write it, means all."""
        names = self.texts("tools")
        return () if "*" in names else names

    def pairs(self, field: str) -> dict[str, str]:
        def read(value: object) -> dict[str, str]:
            if not isinstance(value, dict):
                raise self._wrong(field, value, "an object of strings")
            return {self._text(field, key): self._text(f"{field}.{key}", item) for key, item in value.items()}

        return self._read(field, {}, read)

    def flag(self, field: str) -> bool:
        def read(value: object) -> bool:
            if not isinstance(value, bool):
                raise self._wrong(field, value, "`true` or `false`")
            return value

        return self._read(field, False, read)

    def seconds(self, field: str) -> float:
        def read(value: object) -> float:
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= MAX_TIMEOUT:
                raise self._wrong(field, value, f"a number of seconds, more than 0 and at most {MAX_TIMEOUT:.0f}")
            return float(value)

        return self._read(field, TIMEOUT, read)

    def auth(self) -> Auth | None:
        value = self._fields.get("auth")
        if value is None:
            return None
        if not isinstance(value, dict):
            raise self._wrong("auth", value, "an object with `token_env`, or with a `type`")
        inner = _Reader(self._server, {f"auth.{key}": item for key, item in value.items()})
        return Auth(
            type=inner.text("auth.type") or "bearer",
            token_env=inner.text("auth.token_env"),
            client_id=inner.text("auth.client_id"),
            client_secret_env=inner.text("auth.client_secret_env"),
            issuer=inner.text("auth.issuer"),
            scopes=inner.texts("auth.scopes"),
            unknown={key: item for key, item in value.items() if key not in Auth._fields[:-1]},
        )

    def _read(self, field: str, default: T, read: Callable[[object], T]) -> T:
        value = self._fields.get(field)
        return default if value is None else read(value)

    def _texts(self, field: str, value: object) -> tuple[str, ...]:
        if not isinstance(value, list):
            raise self._wrong(field, value, "an array of strings")
        return tuple(self._text(f"{field}[{index}]", item) for index, item in enumerate(value))

    def _text(self, field: str, value: object) -> str:
        if not isinstance(value, str):
            raise self._wrong(field, value, "a string")
        try:
            size = len(value.encode())
        except UnicodeEncodeError:
            raise self._wrong(field, value, "valid Unicode") from None
        if "\0" in value or size > MAX_TEXT:
            raise self._wrong(field, value, f"without NUL, and at most {MAX_TEXT} bytes")
        return value

    def _wrong(self, field: str, value: object, wanted: str) -> UsageError:
        return UsageError(f"`{show(field)}` of server `{self._server}` is {describe(value)}; it should be {wanted}")
