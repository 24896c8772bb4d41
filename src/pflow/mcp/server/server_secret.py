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
    """Values by a name each: variables that servers refer to and what stands in their places for secrets.

    What is called like a secret is one. A configuration that cannot be read has none to give away.
    """
    found: dict[str, str] = {}
    try:
        servers = ServerBook(home).servers()
    except PflowError:
        return found
    for server in servers:
        for name in references(server):
            is_token = server.auth is not None and name in (server.auth.token_env, server.auth.client_secret_env)
            if variables.get(name) and (is_token or is_secret_name(name)):
                found[name] = variables[name]
        try:
            found.update(_given(server, expand(server, variables).server))
            if token := bearer(server, variables):
                found[f"{server.name}.token"] = token  # as it is sent, without white space or scheme around it
        except PflowError:
            continue  # it cannot be connected to either
    if home.tokens.exists():
        from pflow.mcp.server.token_store import token_secrets  # lazy: only where someone has logged in

        found.update((f"token-{number}", token) for number, token in enumerate(token_secrets(home), 1))
    return found


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
