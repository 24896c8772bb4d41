"""What of a server's configuration others could see: warnings about secrets in it, and a view without them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from pflow.core.advice import Advice
from pflow.core.file.file_name import show
from pflow.core.frozen import Frozen
from pflow.mcp.server.address import has_reference
from pflow.mcp.server.config import TIMEOUT, ServerConfig

HIDDEN = "********"
_LOOKED_AT = 4096
"""Characters of an argument; a secret starts sooner, and more would let a hostile file cost seconds."""

_SECRET = re.compile(
    r"(?<![\w-])(?:gh[opsur]_|github_pat_|glpat-|sk-|rk_live_|xox[abeprs]-|AKIA|ASIA|AIza|npm_|hf_|pypi-Ag|eyJ[\w-]+\.)[\w.-]{8,}"
)
_SECRET_WORD = r"token|secret|passwd|password|passphrase|credentials?|pat|api[-_]?key|access[-_]?key|auth"
_SECRET_FLAG = re.compile(rf"--?(?:[\w-]*[-_])?(?:{_SECRET_WORD})\Z", re.IGNORECASE)
_ASSIGNED = re.compile(rf"(--?)?((?:[\w-]*[-_])?(?:{_SECRET_WORD}))[=:](.+)\Z", re.IGNORECASE | re.DOTALL)
_IN_URL = re.compile(r"(?<=://)[^/@\s]*:([^/@\s]+)(?=@)")
_SECRET_NAME = re.compile(rf"(?:.*_)?(?:{_SECRET_WORD}|key)s?\Z", re.IGNORECASE)
_REFERENCE = re.compile(r"\$\{(?:env:)?(\w+)")


def is_secret_name(name: str) -> bool:
    """Whether a variable or header is called like something secret."""
    return _SECRET_NAME.match(name.replace("-", "_")) is not None


def password_in(value: str) -> str:
    """The password in an address such as `postgres://user:password@host`; nothing if there is none."""
    found = _IN_URL.search(value[:_LOOKED_AT])
    return found[1] if found else ""


def advise(config: ServerConfig) -> tuple[str, ...]:
    """What a person should know about a server, each in a sentence. Shows no value of a secret."""
    return tuple(_advise(config))


def shown_args(config: ServerConfig) -> list[str]:
    """The arguments, whole, with what looks like a literal secret hidden."""
    return [_hidden(arg) if index in _secret_args(config) else arg for index, arg in enumerate(config.args)]


def shown_url(config: ServerConfig) -> str:
    """The URL without the values of its query, which may be keys."""
    base, mark, query = config.url.partition("?")
    if not mark:
        return base
    pairs = [pair.partition("=") for pair in query.split("&")]
    return f"{base}?{'&'.join(f'{key}={HIDDEN}' if equals else key for key, equals, _ in pairs)}"


class ServerView(Frozen):
    """A server for people and programs: whole, but of variables, headers and unknown fields only the names."""

    name: str
    transport: str
    command: str = ""
    args: tuple[str, ...] = ()
    env: tuple[str, ...] = ()
    cwd: str = ""
    url: str = ""
    socket: str = ""
    headers: tuple[str, ...] = ()
    auth: Mapping[str, object] | None = None
    insecure: bool = False
    pin_file: str = ""
    timeout: float = TIMEOUT
    trust_readonly: bool = False
    trust_idempotent: bool = False
    tools: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    warnings: tuple[str, ...] | None = None
    """What to know of a server that was just added."""


def view(config: ServerConfig, warnings: Sequence[str] | None = None) -> ServerView:
    """The server as it may be shown."""
    shown = {name: getattr(config, name) for name in config._fields}
    shown |= {"args": tuple(shown_args(config)), "url": shown_url(config), "unknown": tuple(_unknown(config))}
    shown |= {part: tuple(sorted(shown[part])) for part in ("env", "headers")}
    auth = config.auth.as_fields() if config.auth else None
    return ServerView(**{**shown, "auth": auth, "warnings": None if warnings is None else tuple(warnings)})


def _advise(config: ServerConfig) -> Iterator[str]:
    name = config.name
    for index in sorted(_secret_args(config)):
        yield (
            f"argument {index + 1} of server `{name}` looks like a secret; every program on this machine can see it. "
            + Advice("Store it with `{set_setting}` and pass it as `--env NAME='${NAME}'`", name="NAME")
        )
    named = dict.fromkeys(
        found for arg in config.args for found in _REFERENCE.findall(arg) if _SECRET_NAME.match(found)
    )
    for variable in named:
        yield (
            f"server `{name}` gets `${{{variable}}}` as an argument, where every program on this machine can see it; "
            "pass it in `env` if the server takes it there"
        )
    for part, pairs in (("header", config.headers), ("variable", config.env)):
        for key, value in pairs.items():
            secret = _SECRET.search(value[:_LOOKED_AT]) or _SECRET_NAME.match(key) or key.lower() == "authorization"
            if secret and value and not has_reference(value):
                yield (
                    f"the value of the {part} `{show(key)}` of server `{name}` is stored in clear; "
                    + Advice("store it with `{set_setting}` and write `${NAME}` instead", name="NAME")
                )
    if config.insecure:
        yield f"server `{name}` is insecure: its connection may be unencrypted or to anyone"
    if " " in config.command and not re.search(r"[/\\]", config.command):
        yield f"the command of server `{name}` is one program with spaces in its name; its words belong in `args`"
    for key in _unknown(config):
        yield f"server `{name}` has a field `{show(key)}` that is unknown; it is kept and has no effect"


def _unknown(config: ServerConfig) -> list[str]:
    return [*sorted(config.unknown), *(f"auth.{key}" for key in sorted(config.auth.unknown if config.auth else ()))]


def _secret_args(config: ServerConfig) -> set[int]:
    found = set()
    for index, arg in enumerate(config.args):
        if has_reference(arg):
            continue
        flag = config.args[index - 1] if index else ""
        follows = bool(_SECRET_FLAG.match(flag)) and not arg.startswith("-")
        assigned = _ASSIGNED.match(arg)
        begin = arg[:_LOOKED_AT]
        if follows or assigned or _SECRET.search(begin) or _IN_URL.search(begin):
            found.add(index)
    return found


def _hidden(arg: str) -> str:
    assigned = _ASSIGNED.match(arg)
    if assigned:
        return arg[: assigned.start(3)] + HIDDEN
    in_url = _IN_URL.search(arg[:_LOOKED_AT])
    if in_url:
        return arg[: in_url.start(1)] + HIDDEN + arg[in_url.end(1) :]
    return HIDDEN
