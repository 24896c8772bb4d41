"""The program that a server's command means here and now, and the variables that decide what it loads."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterator, Mapping

from pflow.core.errors import UsageError
from pflow.core.frozen import Frozen
from pflow.core.template.env_name import check_env_name
from pflow.mcp.server.address import REFERENCE
from pflow.mcp.server.config import ServerConfig
from pflow.mcp.server.variable import expand, references

_LOADING = re.compile(
    r"""(?:HOME|USERPROFILE|(?:LOCAL)?APPDATA|XDG_\w+|VIRTUAL_ENV|OPENSSL_\w+|GLIBC_TUNABLES
    |(?:NPM|PNPM|YARN|BUN|DENO|NODE|NVM|FNM|VOLTA|COREPACK|UV|PIP|PIPX|POETRY|PDM|HATCH|CONDA|MAMBA|PYENV)_\w+
    |PYTHON\w*|PERL\w*|RUBY\w*|(?:GEM|BUNDLE|LUA|PHP|JAVA|JDK|MAVEN|GRADLE|DOTNET|NUGET|CARGO|RUSTUP|ASDF|MISE)_\w+
    |GO(?:PATH|ROOT|PROXY|FLAGS|BIN|SUMDB|NOSUMDB|PRIVATE|INSECURE|TOOLCHAIN|ENV|NOPROXY|MODCACHE)
    |(?:DOCKER|PODMAN|CONTAINERS?|BUILDAH|GIT|NIX)_\w+
    |(?:HTTPS?|ALL|NO)_PROXY|SSL_CERT_\w+|(?:REQUESTS|CURL)_CA_BUNDLE)\Z""",
    re.IGNORECASE | re.VERBOSE,
)
"""Variables that decide what package managers, runtimes and containers load, and from where."""


class Meaning(Frozen):
    """What starting a server would start."""

    program: tuple[str, ...] = ()
    """Where the program is, and the file that it is through all links; nothing if it is not found."""

    values: Mapping[str, str] = {}
    """A hash of the value of each variable that decides what is loaded; the values may hold secrets."""

    draws: tuple[str, ...] = ()
    """The settings and environment variables that the values of its variables and headers refer to."""


def meaning_of(config: ServerConfig, variables: Mapping[str, str]) -> Meaning:
    """What a server's configuration means with these variables."""
    texts = (*config.env.values(), *config.headers.values())
    meaning = Meaning(draws=tuple(sorted({found[1] for text in texts for found in REFERENCE.finditer(text)})))
    if not config.command:
        return meaning
    try:
        server = expand(config, variables).server
    except UsageError:
        return meaning  # it cannot be started with them
    values = {name: _hash(value) for name, value in sorted(server.env.items()) if decides_loading(name)}
    return meaning._replace(program=find_program(server), values=values)


def own_variables(config: ServerConfig, stored: Collection[str]) -> list[str]:
    """What a server is given that it would not get anyway, as every program does: credentials, and all else of ours.

    `stored` are the names of the credentials among the settings.
    """
    from pflow.process.command import is_inherited  # lazy: as below

    # An address gets nothing by itself, and the address of a proxy may hold a password.
    usual = [
        name
        for name in references(config)
        if config.command and name not in stored and is_inherited(name) and not name.lower().endswith("_proxy")
    ]
    return [name for name in references(config) if name not in usual]


def decides_loading(name: str) -> bool:
    """Whether the value of a variable decides which code runs: by its loader, its package manager or its folders."""
    return _LOADING.match(name) is not None or check_env_name(name) is not None


def find_program(server: ServerConfig) -> tuple[str, ...]:
    """Where an expanded server's program is found as a start would find it, and the file behind all links."""
    for path in _candidates(server):
        if os.path.isfile(path) and os.access(path, os.X_OK):  # noqa: PTH113
            folder, name = os.path.split(path)
            # Of the way to the program, only its own name may be a link that counts: what a Python in an environment
            # loads is decided by where the link is.
            return os.path.join(os.path.realpath(folder), name), os.path.realpath(path)  # noqa: PTH118
    return ()


def _candidates(server: ServerConfig) -> Iterator[str]:
    from pflow.process.command import child_environment  # lazy: servers at an address need none

    folder = server.cwd or "."
    if "/" in server.command:
        yield os.path.join(folder, server.command)  # noqa: PTH118
        return
    path = child_environment(server.env).get("PATH", os.defpath)
    for entry in path.split(os.pathsep):
        yield os.path.join(folder, entry, server.command)  # noqa: PTH118


def _hash(value: str) -> str:
    from hashlib import sha256  # lazy: few servers set such variables

    return sha256(value.encode()).hexdigest()[:32]
