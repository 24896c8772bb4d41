"""A person's agreement to what a server runs or talks to: asked for before the first use and after every change."""

from __future__ import annotations

import re
from collections.abc import Iterator

from pflow.core.advice import Advice
from pflow.core.errors import SecurityError
from pflow.core.printable import escape
from pflow.mcp.server.address import has_reference
from pflow.mcp.server.config import ServerConfig
from pflow.mcp.server.server_state import ServerState, ServerStates

_REFERENCE = re.compile(r"\$\{(?:env:)?[A-Za-z_][A-Za-z0-9_]*\}\Z")
_NOTHING = "(nothing)"
_DECIDING = ("transport", "command", "args", "env", "cwd", "url", "socket", "headers", "insecure", "pin_file")
_OF_AUTH = ("token_env", "client_id", "client_secret_env", "issuer")
_LABELS = {
    "env": "variables",
    "token_env": "token from",
    "client_id": "client",
    "client_secret_env": "client secret from",
}


def check_consent(server: ServerConfig, state: ServerState) -> None:
    """Raises `SecurityError` unless a person agreed to the server exactly as it is now."""
    if state.consent == server.fingerprint():
        return
    what = "changed since it was agreed to" if state.consent else "was never agreed to"
    changed = _changed(server, state) if state.consent else []
    raise SecurityError(
        f"server `{server.name}` {what}, so it is not used",
        details={"server": server.name, **({"changed": changed} if changed else {})},
        suggestions=[Advice("`{sync_server}` shows what it is and asks", server=server.name)],
    )


def grant(states: ServerStates, *servers: ServerConfig) -> None:
    """Keep that a person agreed to these servers as they are. What was learned of them as they were is forgotten.

    The hash seed stays: with another one, the definitions of an otherwise unchanged server could differ.
    """
    changes: dict[str, dict[str, object]] = {}
    for server in servers:
        fingerprint = server.fingerprint()
        same = states.get(server.name).consent == fingerprint
        learned = {} if same else {key: getattr(ServerState, key) for key in ServerState._fields if key != "hash_seed"}
        changes[server.name] = {**learned, "consent": fingerprint, "agreed": deciding(server)}
    if changes:
        states.update_all(changes)


def describe_change(server: ServerConfig, state: ServerState) -> str:
    """What a person reads before agreeing: everything that decides, whole and escaped, then what changed.

    Arguments are shown even where they look like secrets: what is hidden here could be a program.
    """
    lines = [_title(server, state)]
    lines += [f"  {label}: {text}" for label, text in _facts(server)]
    if state.consent and state.consent != server.fingerprint():
        lines.append("changed:")
        now = _shown(server)
        for field in _changed(server, state):
            before = state.agreed.get(field, "")
            lines.append(f"  {_LABELS.get(field, field)}: {_text(before)} → {_text(now.get(field, ''))}")
    return "\n".join(lines)


def deciding(server: ServerConfig) -> dict[str, str | list[str]]:
    """The fields that the fingerprint is made of, as a file may keep them: without what looks like a secret."""
    from pflow.mcp.server.secret_scan import shown_args, shown_url  # lazy: a run only compares fingerprints

    return _shown(server._replace(args=shown_args(server), url=shown_url(server)))


def _shown(server: ServerConfig) -> dict[str, str | list[str]]:
    found = {name: getattr(server, name) for name in _DECIDING}
    found |= {"args": list(server.args), "env": sorted(server.env), "headers": sorted(server.headers)}
    found["insecure"] = "yes" if server.insecure else ""
    if server.auth:
        found |= {"auth": server.auth.type, **{name: getattr(server.auth, name) for name in _OF_AUTH}}
    return {name: value for name, value in found.items() if value}


def _changed(server: ServerConfig, state: ServerState) -> list[str]:
    """The fields that are not as they were agreed to."""
    now, before = deciding(server), state.agreed
    changed = [field for field in {**before, **now} if before.get(field) != now.get(field)]
    # What looks like a secret is not kept, so a change of nothing else can only be there.
    shown = _shown(server)
    return changed or [field for field in ("args", "url") if shown.get(field) != now.get(field)]


def _title(server: ServerConfig, state: ServerState) -> str:
    what = "start this program" if server.transport == "stdio" else "talk to this address"
    if not state.consent:
        return f"server `{server.name}` is new; it would {what}:"
    if state.consent == server.fingerprint():
        return f"server `{server.name}` is agreed to; it may {what}:"
    return f"server `{server.name}` changed since it was agreed to; it would {what}:"


def _facts(server: ServerConfig) -> Iterator[tuple[str, str]]:
    if server.command:
        yield "command", " ".join(_word(word) for word in (server.command, *server.args))
        yield "program", _program(server)
    for label, text in (("folder", server.cwd), ("socket", server.socket), ("pin file", server.pin_file)):
        if text:
            yield label, _word(text)
    if server.url:
        # In ASCII: letters of other alphabets can look like those of a name that one trusts.
        yield "address", escape(server.url).encode("ascii", "backslashreplace").decode()
    if server.insecure:
        yield "insecure", "yes: others may read and change what is sent"
    for label, names in (("variables", server.env), ("headers", server.headers)):
        if names:
            yield label, ", ".join(_variable(name, value) for name, value in sorted(names.items()))
    shown = _shown(server)
    for field in ("auth", *_OF_AUTH):
        if field in shown:
            yield _LABELS.get(field, field), _text(shown[field])


def _variable(name: str, value: str) -> str:
    """A name, and where its value comes from if it is nothing but a reference."""
    return f"{_word(name)} from {value}" if _REFERENCE.match(value) else _word(name)


def _program(server: ServerConfig) -> str:
    """The file that would run now, through all links."""
    import os  # lazy: only when a person is asked
    from shutil import which

    command = server.command
    if has_reference(command) or command.startswith("~"):
        return "known only when its variables are filled in"
    inside = os.path.join(server.cwd, command) if "/" in command and server.cwd else command  # noqa: PTH118
    found = which(inside)
    if found is None:
        return "not found now"
    real = os.path.realpath(found)
    return _word(found) if real == found else f"{_word(found)}, which is {_word(real)}"


def _text(value: str | list[str]) -> str:
    if isinstance(value, str):
        return _word(value) if value else _NOTHING
    return " ".join(_word(word) for word in value) or _NOTHING


def _word(word: str) -> str:
    """A word as a shell takes it, on one line. What cannot be shown is escaped, in the quotes of `$'…'`."""
    from shlex import quote  # lazy: only when a person is asked

    shown = escape(word)
    if shown == word:
        return quote(word)
    return "$'" + escape(word.replace("\\", "\\\\").replace("'", "\\'")) + "'"
