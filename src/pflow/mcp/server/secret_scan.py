"""Secrets in a server's configuration that other users could read: warnings about them, and a view without them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from pflow.core.advice import Advice
from pflow.core.file.file_name import show
from pflow.core.setting.secret_name import is_secret_name
from pflow.core.setting.secret_search import MIN_SECRET
from pflow.core.setting.token_shape import has_token
from pflow.mcp.server.address import has_reference
from pflow.mcp.server.config import ServerConfig, ServerFields

HIDDEN = "********"
_LOOKED_AT = 4096
"""Characters of an argument; a secret starts sooner, and more would let a hostile file cost seconds."""

_ASSIGNED = re.compile(r"([\w-]+)[=:](.+)\Z", re.DOTALL)
_IN_URL = re.compile(r"(?<=://)[^/@\s]*:([^/@\s]+)(?=@)")
_REFERENCE = re.compile(r"\$\{(?:env:)?(\w+)")


def password_in(value: str) -> str:
    """The password in an address such as `postgres://user:password@host`; nothing if there is none."""
    found = _IN_URL.search(value[:_LOOKED_AT])
    return found[1] if found else ""


def advise(config: ServerConfig) -> tuple[str, ...]:
    """What a person should know about a server, each in a sentence. Shows no value of a secret."""
    return tuple(_advise(config))


def literal_secrets(config: ServerConfig) -> list[str]:
    """Where a configuration holds what looks like a secret in clear: `argument 2`, `variable `TOKEN``."""
    found = [f"argument {index + 1}" for index in sorted(_secret_args(config))]
    for part, pairs in (("header", config.headers), ("variable", config.env)):
        for key, value in pairs.items():
            if value and not has_reference(value) and (has_token(value) or is_secret_name(key) or password_in(value)):
                found.append(f"{part} `{show(key)}`")
    query = config.url.partition("?")[2].split("&")
    if has_token(config.url) or any(_assigned(pair) and not has_reference(pair) for pair in query):
        found.append("address")
    return found


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


class ServerView(ServerFields):
    """A server for people and programs: whole, but of variables, headers and unknown fields only the names."""

    warnings: tuple[str, ...] | None = None
    """What to know of a server that was just added."""

    facts: tuple[str, ...] | None = None
    """What was agreed to by adding it, beyond what is started or talked to."""


def hides_something(config: ServerConfig) -> bool:
    """Whether a view shows what is started or talked to not whole, or in letters that can look like others."""
    return (tuple(shown_args(config)), shown_url(config)) != (config.args, config.url) or not config.url.isascii()


def shown_value(name: str, value: str) -> str | None:
    """The value of a variable without a password in it; None if it is, or may be, a secret as a whole."""
    if is_secret_name(name) or has_token(value):
        return None
    password = password_in(value)
    return value.replace(password, HIDDEN) if password else value


def view(config: ServerConfig, warnings: Sequence[str] | None = None, facts: Sequence[str] | None = None) -> ServerView:
    """The server as it may be shown."""
    shown = config._asdict()
    shown |= {"args": tuple(shown_args(config)), "url": shown_url(config), "unknown": tuple(_unknown(config))}
    shown |= {part: tuple(sorted(shown[part])) for part in ("env", "headers")}
    auth = config.auth._replace(unknown={}).as_dict() if config.auth else None
    said = {"warnings": warnings, "facts": facts}
    return ServerView(**shown | {"auth": auth} | {key: tuple(text) for key, text in said.items() if text is not None})


def _advise(config: ServerConfig) -> Iterator[str]:
    name = config.name
    for index in sorted(_secret_args(config)):
        yield (
            f"argument {index + 1} of server `{name}` looks like a secret; every program on this machine can see it. "
            + Advice("Store it with `{set_setting}` and pass it as `--env NAME='${NAME}'`", name="NAME")
        )
    named = dict.fromkeys(found for arg in config.args for found in _REFERENCE.findall(arg) if is_secret_name(found))
    for variable in named:
        yield (
            f"server `{name}` gets `${{{variable}}}` as an argument, where every program on this machine can see it; "
            "pass it in `env` if the server takes it there"
        )
    for part, pairs in (("header", config.headers), ("variable", config.env)):
        for key, value in pairs.items():
            secret = has_token(value) or is_secret_name(key)
            if secret and value and not has_reference(value):
                yield (
                    f"the value of the {part} `{show(key)}` of server `{name}` is stored in plain text; "
                    + Advice("store it with `{set_setting}` and write `${NAME}` instead", name="NAME")
                )
                if is_secret_name(key) and len(value) < MIN_SECRET:
                    yield (
                        f"the {part} `{show(key)}` of server `{name}` has fewer than {MIN_SECRET} characters: it is "
                        "hidden only where that server gives it, as a string of its own, and in what the same run "
                        "makes of that"
                    )
    if config.insecure:
        yield f"server `{name}` is insecure: its connection may be unencrypted, or to an impostor"
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
        follows = flag.startswith("-") and is_secret_name(flag) and "=" not in flag and not arg.startswith("-")
        begin = arg[:_LOOKED_AT]
        if follows or _assigned(arg) or has_token(begin) or _IN_URL.search(begin):
            found.add(index)
    return found


def _assigned(arg: str) -> re.Match[str] | None:
    """A secret that is given by its name, as in `--token=…` or `API_KEY:…`."""
    found = _ASSIGNED.match(arg)
    return found if found and is_secret_name(found[1]) else None


def _hidden(arg: str) -> str:
    assigned = _assigned(arg)
    if assigned:
        return arg[: assigned.start(2)] + HIDDEN
    in_url = _IN_URL.search(arg[:_LOOKED_AT])
    if in_url:
        return arg[: in_url.start(1)] + HIDDEN + arg[in_url.end(1) :]
    return HIDDEN
