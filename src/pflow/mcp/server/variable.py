"""Fills in the `${VAR}` of a server's configuration when it is about to be connected to; files keep the references."""

from __future__ import annotations

import re
from collections.abc import Mapping

from pflow.core.errors import UsageError
from pflow.core.file.file_name import show
from pflow.core.frozen import Frozen
from pflow.mcp.server.address import REFERENCE, check_address
from pflow.mcp.server.config import ServerConfig

_FORBIDDEN = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]|[^\x00-\xff]")


class Expanded(Frozen):
    """A server with every reference filled in, to connect to and never to store, and what was missing."""

    server: ServerConfig
    warnings: tuple[str, ...] = ()


def expand(config: ServerConfig, variables: Mapping[str, str]) -> Expanded:
    """Fill in `${VAR}`, `${VAR:-default}` and `${env:VAR}`, once: a value that holds `${` is data.

    What is undefined becomes nothing, with a warning. A header that lacks a value is left out as a whole, so that
    no half credential is sent.
    """
    work = _Expansion(config.name, variables)
    command = work.path(config.command, "the command")
    if config.command and not command:
        raise UsageError(f"the command of server `{config.name}` is empty once its variables are filled in")
    url = work.fill(config.url, "the URL")
    if url:
        check_address(url, insecure=config.insecure)
    server = config._replace(
        command=command,
        args=tuple(work.fill(arg, f"argument {number}") for number, arg in enumerate(config.args, 1)),
        env={name: work.fill(value, f"the variable `{show(name)}`") for name, value in config.env.items()},
        cwd=work.path(config.cwd, "`cwd`"),
        url=url,
        socket=work.path(config.socket, "`socket`"),
        headers=work.headers(config.headers),
        pin_file=work.path(config.pin_file, "`pin_file`"),
    )
    return Expanded(server=server, warnings=tuple(dict.fromkeys(work.warnings)))


def references(config: ServerConfig) -> list[str]:
    """The variables that a server's configuration refers to, in order."""
    texts = [
        *(config.command, *config.args, *config.env.values(), config.cwd),
        *(config.url, config.socket, *config.headers.values(), config.pin_file),
    ]
    names = [found[1] for text in texts for found in REFERENCE.finditer(text)]
    of_auth = (config.auth.token_env, config.auth.client_secret_env) if config.auth else ()
    return list(dict.fromkeys([*names, *(name for name in of_auth if name)]))


class _Expansion:
    def __init__(self, server: str, variables: Mapping[str, str]) -> None:
        self.warnings: list[str] = []
        self._server = server
        self._variables = variables

    def fill(self, text: str, where: str) -> str:
        """The text with its references filled in."""
        if "${" not in text:
            return text
        filled, missing, odd = self._fill(text)
        self.warnings += [
            f"`{name}` is not defined; {where} of server `{self._server}` has nothing in its place" for name in missing
        ]
        if odd:
            self.warnings.append(f"{where} of server `{self._server}` holds a `${{` that is not a variable; it is kept")
        return filled

    def path(self, text: str, where: str) -> str:
        """The path with its references and a leading `~` filled in."""
        filled = self.fill(text, where)
        return self._variables.get("HOME", "~") + filled[1:] if filled == "~" or filled.startswith("~/") else filled

    def headers(self, headers: Mapping[str, str]) -> dict[str, str]:
        """The headers that can be sent."""
        found = {}
        for name, text in headers.items():
            filled, missing, odd = self._fill(text, needed=True)
            if missing or odd:
                why = f"`{missing[0]}` is not defined" if missing else "it holds a `${` that is not a variable"
                self.warnings.append(f"header `{show(name)}` of server `{self._server}` is not sent: {why}")
                continue
            value = filled.strip()
            if _FORBIDDEN.search(value):
                raise UsageError(
                    f"header `{show(name)}` of server `{self._server}` has a value that no header can have",
                    suggestions=["look for line breaks and special characters in the variables it refers to"],
                )
            found[name] = value
        return found

    def _fill(self, text: str, *, needed: bool = False) -> tuple[str, list[str], bool]:
        """The filled text, the variables that are missing, and whether there is a reference of another form."""
        missing = []

        def value_of(match: re.Match[str]) -> str:
            name, default = match[1], match[2]
            value = self._variables.get(name)
            if default is not None:
                return value or default
            if value is None or (needed and not value.strip()):
                missing.append(name)
            return value or ""

        return REFERENCE.sub(value_of, text), missing, "${" in REFERENCE.sub("", text)
