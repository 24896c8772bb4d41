"""The secrets that configured servers are given, so that they are kept out of everything recorded and shown."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pflow.core.errors import PflowError
from pflow.core.file.home import Home
from pflow.core.setting.secret_name import is_secret_name
from pflow.mcp.server.config import ServerConfig
from pflow.mcp.server.config_file import ServerBook
from pflow.mcp.server.credential import bearer
from pflow.mcp.server.secret_scan import password_in
from pflow.mcp.server.variable import expand, references


def server_secrets(home: Home, variables: Mapping[str, str]) -> dict[str, str]:
    """Values by a name each: variables that servers refer to and what stands in their places for secrets."""
    return {name: value for found in secrets_by_server(home, variables).values() for name, value in found.items()}


def secrets_by_server(home: Home, variables: Mapping[str, str]) -> dict[str, dict[str, str]]:
    """The same for each server; what belongs to none of them in particular stands under ``.

    What is called like a secret is one. A configuration that cannot be read has none to give away.
    """
    try:
        servers = ServerBook(home).servers()
    except PflowError:
        return {}
    found = {server.name: dict(_known(server, variables)) for server in servers}
    if home.tokens.exists():
        from pflow.mcp.server.token_store import token_secrets  # lazy: only where someone has logged in

        found[""] = {f"token-{number}": token for number, token in enumerate(token_secrets(home), 1)}
    return found


def _known(server: ServerConfig, variables: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    for name in references(server):
        is_token = server.auth is not None and name in (server.auth.token_env, server.auth.client_secret_env)
        if variables.get(name) and (is_token or is_secret_name(name)):
            yield name, variables[name]
    try:
        yield from _given(server, expand(server, variables).server)
        if token := bearer(server, variables):
            yield f"{server.name}.token", token  # as it is sent, without white space or scheme around it
    except PflowError:
        return  # it cannot be connected to either


def _given(config: ServerConfig, server: ServerConfig) -> Iterator[tuple[str, str]]:
    for part, pairs in (("env", server.env), ("headers", server.headers)):
        for name, value in pairs.items():
            if is_secret_name(name):
                scheme, _, token = value.partition(" ")
                # A credential counts without the scheme in front of it, too.
                yield (
                    f"{config.name}.{part}.{name}",
                    token if part == "headers" and token and scheme.isalpha() else value,
                )
            elif password := password_in(value):
                yield f"{config.name}.{part}.{name}", password
    for number, arg in enumerate((*server.args, server.url), 1):
        if password := password_in(arg):
            yield f"{config.name}.args.{number}", password
