"""What pflow learned about each configured server: what a person agreed to, and how it starts and speaks."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import TypeGuard

from pflow.core.advice import Advice
from pflow.core.file.home import Home
from pflow.core.file.os_call import Calls
from pflow.core.file.state_file import Damage, StateFile
from pflow.core.frozen import Frozen
from pflow.core.json_type import Json, JsonView, object_in

_Stamp = tuple[int, int, int]


class ServerState(Frozen):
    """One server. Nothing here is configuration: without it a server is agreed to and looked at once more."""

    consent: str = ""
    """The fingerprint that a person agreed to."""

    agreed: Mapping[str, str | list[str]] = {}
    """The fields behind that fingerprint, without secrets, so that a change can be shown."""

    launch: tuple[str, ...] = ()
    """The command line that a launcher such as `npx` ends up with, from the interpreter on."""

    launch_of: str = ""
    """The fingerprint of the server whose launch that is."""

    era: str = ""
    """`modern`, `legacy`, or nothing while it is unknown."""

    version: str = ""
    synced_at: float = 0.0
    tools: int = 0
    instructions: str = ""
    """What the server says about all its tools."""

    hash_seed: int = 0
    """The order in which Python servers go through their sets; 0 before the first start."""


_MOST_SEED = (1 << 32) - 1
"""The largest value that Python takes for `PYTHONHASHSEED`."""

_States = dict[str, ServerState]


class ServerStates:
    """`mcp-state.json` of a home, read once and again when it has changed. `notices` says what is odd about it.

    Losing it costs a question to a person and a slower start, so a damaged file is set aside and work goes on.
    """

    def __init__(self, home: Home, *, notices: list[str] | None = None, calls: Calls = os) -> None:
        self.notices: list[str] = [] if notices is None else notices
        self._file = StateFile(
            home.server_states,
            is_valid=lambda content: isinstance(content.get("servers", {}), dict),
            on_damage=self._begin_anew,
            calls=calls,
        )
        self._stamp: _Stamp | None = None
        self._states: _States = {}

    def get(self, name: str) -> ServerState:
        """What is known of a server; nothing of one that was never agreed to."""
        stamp = self._look()
        if stamp is None or stamp != self._stamp:
            self._states = {} if stamp is None else _states_of(self._file.read() or {})
            self._stamp = stamp
        return self._states.get(name) or ServerState()

    def hash_seed(self, name: str) -> int:
        """The seed that a server gets at every start, random and kept. Raises `StorageError` or `SecurityError`."""
        known = self.get(name).hash_seed
        if 0 < known <= _MOST_SEED:
            return known
        import secrets  # lazy: once per server

        made = 1 + secrets.randbelow(_MOST_SEED)
        changed = self._change(lambda states: {**states, name: _seeded(states.get(name) or ServerState(), made)})
        return changed[name].hash_seed

    def update(self, name: str, **fields: object) -> ServerState:
        """Keep what was learned, durably, beside what is known already."""
        return self.update_all({name: fields})[name]

    def update_all(self, changes: Mapping[str, Mapping[str, object]]) -> dict[str, ServerState]:
        """Keep what was learned of several servers, at once; gives back everything that is known."""
        return self._change(
            lambda states: {
                **states,
                **{name: (states.get(name) or ServerState())._replace(**fields) for name, fields in changes.items()},
            }
        )

    def forget(self, name: str) -> None:
        """Know nothing of a server any more."""
        if self.get(name) != ServerState():
            self._change(lambda states: {key: state for key, state in states.items() if key != name})

    def _change(self, change: Callable[[_States], _States]) -> _States:
        changed: _States = {}

        def change_content(content: Json) -> Json:
            changed.update(change(_states_of(content)))
            return {"servers": {name: state.as_dict() for name, state in sorted(changed.items())}}

        self._file.update(change_content)
        self._stamp = None
        return changed

    def _begin_anew(self, damage: Damage) -> Json:
        again = Advice("servers must be agreed to again with `{sync_servers}`")
        self.notices.append(f"`{damage.path}` {damage.news}; {again}")
        return {}

    def _look(self) -> _Stamp | None:
        try:
            found = self._file.path.lstat()
        except OSError:  # not there; or a write is about to say what is wrong
            return None
        return found.st_mtime_ns, found.st_size, found.st_ino


def _seeded(state: ServerState, seed: int) -> ServerState:
    """The state with a seed; another process may have made one in the meantime."""
    return state if 0 < state.hash_seed <= _MOST_SEED else state._replace(hash_seed=seed)


def _states_of(content: JsonView) -> _States:
    servers = object_in(content, "servers")
    return {name: _state(fields) for name, fields in servers.items() if isinstance(fields, dict)}


def _state(fields: JsonView) -> ServerState:
    """A server's state; whatever is not of its type is as good as unknown."""
    known: Json = {}
    for name in ServerState._fields:
        default, value = getattr(ServerState, name), fields.get(name)
        if isinstance(default, tuple):
            if _is_texts(value):
                known[name] = tuple(value)
        elif isinstance(default, dict):
            if isinstance(value, dict):
                known[name] = {key: part for key, part in value.items() if isinstance(part, str) or _is_texts(part)}
        elif isinstance(value, type(default)) and not isinstance(value, bool):
            known[name] = value
    return ServerState()._replace(**known)


def _is_texts(value: object) -> TypeGuard[list[str]]:
    return isinstance(value, list) and all(isinstance(part, str) for part in value)
