"""A person's agreement to what a server runs or talks to: asked for before the first use and after every change."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress

from pflow.core.advice import Advice
from pflow.core.errors import SecurityError, StorageError
from pflow.core.printable import escape
from pflow.mcp.server.address import REFERENCE
from pflow.mcp.server.config import ServerConfig
from pflow.mcp.server.program import Meaning, decides_loading, meaning_of
from pflow.mcp.server.server_state import ServerState, ServerStates
from pflow.mcp.server.variable import references

_Agreed = Mapping[str, str | list[str]]

_ORIGIN = re.compile(r"[^/?#]*//[^/?#]*")
_NOTHING = "(nothing)"
_DECIDING = ("transport", "command", "args", "env", "cwd", "url", "socket", "headers", "insecure", "pin_file")
_OF_AUTH = ("token_env", "client_id", "client_secret_env", "issuer")
_LABELS = {
    "env": "variables",
    "token_env": "token from",
    "client_id": "client",
    "client_secret_env": "client secret from",
}


def require_consent(states: ServerStates, server: ServerConfig, variables: Mapping[str, str]) -> ServerState:
    """What is known of a server that a person agreed to exactly as it is now; raises `SecurityError` if nobody did.

    What an older agreement leaves open, the program and the values that decide what is loaded, is settled by the first
    use after it.
    """
    state = states.get(server.name)
    meaning = meaning_of(server, variables)
    moved = _moved(state, meaning)
    if state.consent != server.fingerprint() or moved:
        what = "changed since it was agreed to" if state.consent else "was never agreed to"
        changed = _changed(server, state) + list(moved) if state.consent else []
        was, now = moved.get("program", ("", ""))
        where = {"program": [f"agreed to: {was}", f"now: {now}"]} if now else {}
        raise SecurityError(
            f"server `{server.name}` {what}, so it is not used",
            details={"server": server.name, **({"changed": changed} if changed else {}), **where},
            suggestions=[Advice("`{sync_server}` shows what it is and asks", server=server.name)],
        )
    settled = {**state.agreed, **_settled(state, meaning)}
    if settled != state.agreed:
        with suppress(StorageError):  # a home that cannot be written is as good as it was
            return states.update(server.name, agreed=settled)
    return state


def grant(states: ServerStates, *servers: ServerConfig, variables: Mapping[str, str]) -> None:
    """Keep that a person agreed to these servers as they are. What was learned of them as they were is forgotten.

    The hash seed stays: with another one, the definitions of an otherwise unchanged server could differ.
    """
    changes: dict[str, dict[str, object]] = {}
    for server in servers:
        fingerprint = server.fingerprint()
        state, meaning = states.get(server.name), meaning_of(server, variables)
        same = state.consent == fingerprint and not _moved(state, meaning)
        learned = {} if same else {key: getattr(ServerState, key) for key in ServerState._fields if key != "hash_seed"}
        agreed = {**deciding(server), **_settled(ServerState(), meaning)}
        changes[server.name] = {**learned, "consent": fingerprint, "agreed": agreed}
    if changes:
        states.update_all(changes)


def describe_change(
    server: ServerConfig, state: ServerState, *, variables: Mapping[str, str], stored: Collection[str]
) -> str:
    """What a person reads before agreeing: everything that decides, whole and escaped, then what changed.

    Arguments are shown even where they look like secrets: what is hidden here could be a program. `stored` are the
    names of the credentials among the settings.
    """
    moved = _moved(state, meaning_of(server, variables))
    changed = bool(moved) or state.consent != server.fingerprint()
    facts = describe(server, variables=variables, stored=stored)
    lines = [_title(server, state, changed), *(f"  {fact}" for fact in facts)]
    if state.consent and changed:
        lines.append("changed:")
        now = _shown(server)
        for field in _changed(server, state):
            before = state.agreed.get(field, "")
            lines.append(f"  {_LABELS.get(field, field)}: {_text(before)} → {_text(now.get(field, ''))}")
        lines += [f"  {name}: {' → '.join(values)}" for name, values in moved.items()]
    return "\n".join(lines)


def describe(server: ServerConfig, *, variables: Mapping[str, str], stored: Collection[str]) -> list[str]:
    """Everything that is agreed to, a line each, whole and escaped. What is started or talked to comes first."""
    return [f"{label}: {text}" for label, text in _facts(server, variables, stored)]


def describe_drawn(server: ServerConfig, *, variables: Mapping[str, str], stored: Collection[str]) -> str:
    """Which settings and environment variables go where."""
    begin = _ORIGIN.match(server.url)
    to = _ascii(begin[0]) if begin else "the program" if server.command else _word(server.socket)
    return f"{', '.join(_source(name, variables, stored) for name in references(server))} to {to}"


def _moved(state: ServerState, meaning: Meaning) -> dict[str, tuple[str, ...]]:
    """What the same configuration means now and did not mean when it was agreed to: before and after, where shown."""
    agreed = _meant(state.agreed)
    moved: dict[str, tuple[str, ...]] = {}
    if agreed.program and meaning.program and agreed.program != meaning.program:
        moved["program"] = _path(agreed.program), _path(meaning.program)
    for name, value in meaning.values.items():
        if agreed.values.get(name, value) != value:
            moved[f"value of {_word(name)}"] = ("not the one that was agreed to",)
    if "draws" in state.agreed and (new := [name for name in meaning.draws if name not in agreed.draws]):
        moved["draws on"] = _text(list(agreed.draws)), _text([*agreed.draws, *new])
    return moved


def _settled(state: ServerState, meaning: Meaning) -> dict[str, str | list[str]]:
    """What an agreement says of the meaning, with what it did not say before. A program that is not there yet stays
    open until it is.
    """
    agreed = _meant(state.agreed)
    program = agreed.program or meaning.program
    values = {**meaning.values, **agreed.values}
    settled: dict[str, str | list[str]] = {"program": list(program)} if program else {}
    settled |= {"values": [f"{name}={value}" for name, value in sorted(values.items())]} if values else {}
    return settled | {"draws": list(agreed.draws if "draws" in state.agreed else meaning.draws)}


def _meant(agreed: _Agreed) -> Meaning:
    program, values, draws = (
        part if isinstance(part := agreed.get(name), list) else [] for name in ("program", "values", "draws")
    )
    pairs = [pair.rpartition("=") for pair in values]
    return Meaning(program=tuple(program), values={name: value for name, _, value in pairs}, draws=tuple(draws))


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
    if state.consent == server.fingerprint():
        return []
    now = deciding(server)
    before = {name: value for name, value in state.agreed.items() if name not in Meaning._fields}
    changed = [field for field in {**before, **now} if before.get(field) != now.get(field)]
    # What looks like a secret is not kept, so a change of nothing else can only be there.
    shown = _shown(server)
    return changed or [field for field in ("args", "url") if shown.get(field) != now.get(field)]


def _title(server: ServerConfig, state: ServerState, changed: bool) -> str:
    what = "start this program" if server.transport == "stdio" else "talk to this address"
    if not state.consent:
        return f"server `{server.name}` is new; it would {what}:"
    if not changed:
        return f"server `{server.name}` is agreed to; it may {what}:"
    return f"server `{server.name}` changed since it was agreed to; it would {what}:"


def _facts(server: ServerConfig, variables: Mapping[str, str], stored: Collection[str]) -> Iterator[tuple[str, str]]:
    if server.command:
        program = meaning_of(server, variables).program
        yield "command", " ".join(_word(word) for word in (server.command, *server.args))
        yield "program", _path(program) if program else "not found now"
    if server.url:
        yield "address", _ascii(server.url)
    for label, text in (("socket", server.socket), ("folder", server.cwd), ("pin file", server.pin_file)):
        if text:
            yield label, _word(text)
    if server.insecure:
        yield "insecure", "yes: others may read and change what is sent"
    for label, names in (("variables", server.env), ("headers", server.headers)):
        if names:
            show = _variable if names is server.env else _drawn
            yield label, ", ".join(show(name, value) for name, value in sorted(names.items()))
    shown = _shown(server)
    for field in ("auth", *_OF_AUTH):
        if field in shown:
            yield _LABELS.get(field, field), _text(shown[field])
    if references(server):
        yield "sends" if server.url else "gives", describe_drawn(server, variables=variables, stored=stored)


def _ascii(url: str) -> str:
    """An address in ASCII: letters of other alphabets can look like those of a name that one trusts."""
    return escape(url).encode("ascii", "backslashreplace").decode()


def _variable(name: str, value: str) -> str:
    """A variable by its name, with its value if that decides what is loaded."""
    from pflow.mcp.server.secret_scan import shown_value  # lazy: only when a person is asked

    shown = shown_value(name, value) if decides_loading(name) else None
    if shown is not None:
        return f"{_word(name)}={_word(shown)}"
    return _drawn(name, value)


def _drawn(name: str, value: str) -> str:
    """A name, and the variables that its value draws on."""
    drawn = [escape(found[0]) for found in REFERENCE.finditer(value)]
    return f"{_word(name)} from {' and '.join(drawn)}" if drawn else _word(name)


def _source(name: str, variables: Mapping[str, str], stored: Collection[str]) -> str:
    """Where the value of a variable comes from."""
    if name in stored:
        return f"the setting `{name}`"
    return f"the environment variable `{name}`" if name in variables else f"`{name}` (not set now)"


def _path(program: tuple[str, ...]) -> str:
    """Where a program is, and the file that it is."""
    found, real = program[0], program[-1]
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
