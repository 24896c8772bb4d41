"""What is known of an MCP server before anyone talks to it: a checked value, and its form in a file."""

from __future__ import annotations

import re
import sys
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import TypeVar

from pflow.core.errors import UsageError
from pflow.core.file.file_name import show
from pflow.core.frozen import Frozen
from pflow.core.json_type import describe, object_in
from pflow.core.printable import shorten
from pflow.core.rate import FORM, read_rate
from pflow.mcp.server.address import check_address, has_reference
from pflow.mcp.server.auth import Auth, check_auth, unknown_word
from pflow.mcp.server.tool_name import MAX_PART, sanitise

TRANSPORTS = ("stdio", "sse", "stream-http", "uds", "pipe")
ALIASES = {"http": "stream-http", "streamable-http": "stream-http", "streamable_http": "stream-http"}
COMPARISONS = ("everything", "schema")
"""What of a tool's definition must be as it was synced."""

TIMEOUT = 30.0
"""Seconds that a server may be silent."""

MAX_TIMEOUT = 24 * 3600.0
MAX_TEXT_BYTES = 32 << 10

_NAME = re.compile(rf"[a-z0-9-]{{1,{MAX_PART}}}\Z")
_HEADER = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+\Z")
_LOADS = re.compile(r"(?:PATH|BASH_ENV|ENV|PERL5OPT|RUBYOPT|(?:LD|DYLD|NODE|PYTHON|JAVA)_?[A-Z_]+)\Z")
"""Variables whose values decide which code a program loads."""

_PLACES = {"stdio": "command", "sse": "url", "stream-http": "url", "uds": "socket", "pipe": "socket"}
_OF_PLACE = {
    "command": ("a command to start", ("command", "args", "env", "cwd")),
    "url": ("a URL", ("url", "headers", "auth", "insecure", "pin_file")),
    "socket": ("the path of a socket", ("socket",)),
}
"""What each place where a server can be is called, and the fields that go with it."""

T = TypeVar("T")


class ServerFields(Frozen):
    """One server. Of variables and headers, and of fields that have no meaning here, the names."""

    name: str
    transport: str
    command: str = ""
    args: tuple[str, ...] = ()
    env: Collection[str] = ()
    cwd: str = ""
    url: str = ""
    socket: str = ""
    headers: Collection[str] = ()
    auth: object = None
    insecure: bool = False
    pin_file: str = ""
    timeout: float = TIMEOUT
    limit: str = ""
    """How often its tools may be called, such as `10/s`."""

    trust_readonly: bool = False
    trust_idempotent: bool = False
    tools: tuple[str, ...] = ()
    """The tools that become node types, by their own names; all if none is named."""

    compare: str = COMPARISONS[0]
    """One of `COMPARISONS`."""

    unknown: Collection[str] = ()


class ServerConfig(ServerFields):
    """One server with all its values. Strings keep their `${VAR}` references."""

    env: Mapping[str, str] = {}
    headers: Mapping[str, str] = {}
    auth: Auth | None = None
    unknown: Mapping[str, object] = {}

    @property
    def uses_oauth(self) -> bool:
        """Whether its tokens are obtained by a login, of a person or of a client."""
        return self.auth is not None and self.auth.type != "bearer"

    def as_fields(self) -> dict[str, object]:
        """The server as a file holds it: everything that is not the default."""
        auth = self.auth and self.auth._replace(unknown={})
        fields = self._replace(auth=auth, unknown={}).as_dict()
        del fields["name"]
        if self.auth:
            fields["auth"] = {**object_in(fields, "auth"), **self.auth.unknown}
        return {**fields, **self.unknown}

    def fingerprint(self) -> str:
        """Changes with everything that decides what runs or is talked to.

        Not with secrets, limits, trust, the choice of tools, or what of them is compared.
        """
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
    defaults = {field: getattr(ServerConfig, field, "") for field in FIELDS}
    read = _Reader(name).read(fields, defaults)
    inferred = "stream-http" if fields.get("url") else "uds" if fields.get("socket") else "stdio"
    transport = read_transport(name, str(read.get("transport", inferred)))
    unknown = {key: value for key, value in fields.items() if key not in FIELDS}
    config = ServerConfig(name=name, transport=transport, unknown=unknown)._replace(**{**read, "transport": transport})
    # `*`, as some programs write it, means all tools.
    return check_server(config._replace(tools=()) if "*" in config.tools else config)


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
    if config.compare not in COMPARISONS:
        known = " or ".join(f"`{word}`" for word in COMPARISONS)
        raise UsageError(f"`compare` of server `{config.name}` is `{shorten(config.compare)}`; it should be {known}")
    if config.limit and isinstance(rate := read_rate(config.limit), str):
        raise UsageError(
            f"`limit` of server `{config.name}` {rate}, not `{shorten(config.limit, 40)}`",
            suggestions=[f"write {FORM}"],
        )
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
    """The transport that a string means, if this system has it."""
    transport = ALIASES.get(text, text)
    if transport not in TRANSPORTS:
        raise unknown_word(name, "transport", text, [*TRANSPORTS, "http"], ALIASES)
    if transport == "pipe" and sys.platform != "win32":
        raise UsageError(
            f"server `{name}` has the transport `pipe`, which exists on Windows only",
            suggestions=["use `uds` with the path of a Unix socket"],
        )
    return transport


def _check_places(config: ServerConfig) -> None:
    needed = _PLACES[config.transport]
    if not getattr(config, needed):
        raise UsageError(
            f"server `{config.name}` with the transport `{config.transport}` needs {_OF_PLACE[needed][0]}",
            suggestions=[f"give it as `{needed}`"],
        )
    for other, (_, fields) in _OF_PLACE.items():
        wrong = [field for field in fields if other != needed and getattr(config, field)]
        if wrong:
            raise UsageError(
                f"server `{config.name}` with the transport `{config.transport}` takes no `{wrong[0]}`",
                suggestions=[f"leave out `{wrong[0]}`, or change the transport"],
            )


class _Reader:
    """The fields of a server in the types of their defaults; a wrong one is an error that never shows its value."""

    def __init__(self, server: str) -> None:
        self._server = server

    def read(self, given: Mapping[str, object], defaults: Mapping[str, object], within: str = "") -> dict[str, object]:
        """What is given and differs from the default."""
        present = [name for name in defaults if given.get(name) is not None]
        found = {name: self._value(f"{within}{name}", given[name], defaults[name]) for name in present}
        return {name: value for name, value in found.items() if value}

    def _value(self, field: str, value: object, default: object) -> object:
        match default:
            case bool():
                return self._of_type(bool, field, value, "`true` or `false`")
            case float():
                if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= MAX_TIMEOUT:
                    raise self._wrong(field, value, f"a number of seconds, more than 0 and at most {MAX_TIMEOUT:.0f}")
                return float(value)
            case tuple():
                items = self._of_type(list, field, value, "an array of strings")
                return tuple(self._text(f"{field}[{index}]", item) for index, item in enumerate(items))
            case dict():
                pairs = self._of_type(dict, field, value, "an object of strings")
                return {self._text(field, key): self._text(f"{field}.{key}", item) for key, item in pairs.items()}
            case None:
                return self._auth(value)
        return self._text(field, value)

    def _auth(self, value: object) -> Auth:
        given = self._of_type(dict, "auth", value, "an object with `token_env`, or with a `type`")
        known = {name: getattr(Auth, name) for name in Auth._fields[:-1]}
        unknown = {key: item for key, item in given.items() if key not in known}
        return Auth(unknown=unknown)._replace(**self.read(given, known, "auth."))

    def _text(self, field: str, value: object) -> str:
        text = self._of_type(str, field, value, "a string")
        try:
            size = len(text.encode())
        except UnicodeEncodeError:
            raise self._wrong(field, value, "valid Unicode") from None
        if "\0" in text or size > MAX_TEXT_BYTES:
            raise self._wrong(field, value, f"without NUL, and at most {MAX_TEXT_BYTES} bytes")
        return text

    def _of_type(self, kind: type[T], field: str, value: object, wanted: str) -> T:
        if not isinstance(value, kind):
            raise self._wrong(field, value, wanted)
        return value

    def _wrong(self, field: str, value: object, wanted: str) -> UsageError:
        return UsageError(f"`{show(field)}` of server `{self._server}` is {describe(value)}; it should be {wanted}")
