"""Settings: options in clear, credentials write-only. Reading damaged settings fails, so that none is forgotten."""

from __future__ import annotations

import os
from binascii import crc32
from collections import ChainMap
from collections.abc import Callable, Mapping, MutableMapping
from pathlib import Path
from typing import cast

import orjson

from pflow.core.advice import Advice
from pflow.core.errors import CorruptError, NotFoundError, StorageError, UsageError
from pflow.core.file.file_name import show
from pflow.core.file.home import Home
from pflow.core.file.os_call import Calls
from pflow.core.file.state_file import StateFile
from pflow.core.frozen import Frozen
from pflow.core.json_type import Json, JsonView
from pflow.core.setting.option import OPTIONS, find_option, known_option, parse_option, split_member
from pflow.core.setting.secret_name import is_secret_name
from pflow.core.setting.secret_search import MIN_SECRET

VERSION = 1
MAX_VALUE = 64 << 10
"""Characters of a credential."""

SERVER_TOKEN = "PFLOW_MCP_TOKEN"
"""What clients of `pflow serve mcp --http` must have: a secret that no step is given."""

_FIELDS = frozenset({"version", "env", "options", "checksum"})

_LETTERS = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZ")
_NAME = _LETTERS | frozenset("0123456789_")


GivenOptions = Mapping[str, tuple[str | int | bool, Path]]
"""Options that hold in place of the stored ones, each with where it comes from."""


class Setting(Frozen):
    """A credential, masked, or an option, which has a default and a description."""

    key: str
    value: str | int | bool | None
    set: bool
    secret: bool
    default: str | int | bool | None = None
    description: str = ""
    origin: str = ""
    """The folder of the project that sets it; "" for the person's own settings and defaults."""

    @property
    def shown(self) -> str:
        """The value as a person would write it."""
        if self.value is None:
            return "not set"
        return str(self.value).lower() if isinstance(self.value, bool) else str(self.value)


class Settings:
    """The settings of one home. They are read on first use, so that `set` works after damage.

    `notices` says what was repaired.
    """

    def __init__(
        self,
        home: Home,
        *,
        environ: Mapping[str, str] | None = None,
        given: Callable[[], GivenOptions] = dict,
        calls: Calls = os,
    ) -> None:
        self.notices: list[str] = []
        self._home = home
        self._file = StateFile(home.settings, version=VERSION, private=True, say=self.notices.append, calls=calls)
        self._environ = os.environ if environ is None else environ
        self._given = given
        self._env: dict[str, str] | None = None
        self._options: Json = {}
        self._stamp: object = None
        self._named: Mapping[str, str] | None = None

    @classmethod
    def load(
        cls, home: Home, *, environ: Mapping[str, str] | None = None, given: Callable[[], GivenOptions] = dict
    ) -> Settings:
        """Settings that have been read; raises `CorruptError` if they were damaged."""
        settings = cls(home, environ=environ, given=given)
        settings._read()
        return settings

    def afresh(self, given: Callable[[], GivenOptions] = dict) -> Settings:
        """What `load` gives now, for an environment that has not changed; an unchanged file is not read."""
        fresh = Settings(self._home, environ=self._environ, given=given)
        if self._env is not None and self._stamp == _stamp(self._home):
            fresh._env, fresh._options, fresh._stamp = self._env, self._options, self._stamp
            fresh.notices.extend(self.notices)
        else:
            fresh._read()
        fresh._named = self._named_secrets()
        return fresh

    def get(self, key: str) -> Setting:
        """One setting; a credential comes back masked."""
        env = self._read()
        if is_credential(key):
            value = env.get(key)
            return Setting(key=key, value=None if value is None else mask(value), set=value is not None, secret=True)
        option = find_option(key)
        return Setting(
            key=key,
            value=self.option(key),
            set=key in self._options,
            secret=False,
            default=option.default,
            description=option.description,
            origin=str(given[1]) if (given := self._given().get(key)) else "",
        )

    def option(self, key: str) -> str | int | bool:
        """What an option holds, in its type."""
        self._read()
        return self._held(key, self._given())

    def options(self) -> dict[str, str]:
        """What every option holds, but those of families, as steps read it: `true`, `300`."""
        self._read()
        given = self._given()
        held = {key: self._held(key, given) for key in OPTIONS}
        return {key: str(value).lower() if isinstance(value, bool) else str(value) for key, value in held.items()}

    def number(self, key: str) -> int:
        """What a numeric option holds."""
        return int(self.option(key))

    def list(self) -> list[Setting]:
        """Every credential that is set and every option there is, each as `get` gives it; of families, what is set."""
        members = sorted(key for key in self._options if key not in OPTIONS and known_option(key))
        return [self.get(key) for key in [*sorted(self._read()), *OPTIONS, *members]]

    def family(self, prefix: str) -> dict[str, dict[str, str | int | bool]]:
        """What is set of a family of options: fields with their values, by name."""
        self._read()
        found: dict[str, dict[str, str | int | bool]] = {}
        for key in sorted(self._options):
            member = split_member(key)
            if member is not None and member[0] == prefix and known_option(key):
                found.setdefault(member[1], {})[member[2]] = self.option(key)
        return found

    def set(self, key: str, value: str) -> None:
        """Store a credential or an option, durably."""
        if is_credential(key):
            _check_secret(key, value)
            self._change("env", key, value)
        else:
            self._change("options", key, parse_option(key, value))

    def unset(self, key: str) -> None:
        """Delete a credential, or reset an option to its default; `NotFoundError` if it was not set."""
        credential = is_credential(key)
        if not credential:
            find_option(key)
        env = self._read()
        if key not in (env if credential else self._options):
            raise NotFoundError(f"`{key}` is not set", suggestions=[Advice("`{list_settings}` shows what is")])
        self._change("env" if credential else "options", key, None)

    def lookup(self, name: str) -> str | None:
        """A credential: from the settings, else from the environment."""
        return self.variables().get(name)

    def variables(self) -> Mapping[str, str]:
        """Everything that `lookup` can find, settings before environment."""
        # A ChainMap only writes to its first map, and is handed out as a Mapping.
        return ChainMap(self._read(), cast("MutableMapping[str, str]", self._environ))

    def stored(self) -> Mapping[str, str]:
        """The credentials of the settings, which every process of this home finds."""
        return self._read()

    def step_variables(self) -> dict[str, str]:
        """The same for steps and the inputs of workflows, which are not given what opens our own server or journal."""
        variables = {**self._environ, **self._read()}
        for name in (SERVER_TOKEN, *self._place_credentials()):
            variables.pop(name, None)
        return variables

    def _place_credentials(self) -> frozenset[str]:
        """The names of credentials that places have."""
        fields = ("journal_password", "temporal_api_key", "key")
        return frozenset(
            str(place[field]) for place in self.family("on").values() for field in fields if field in place
        )

    def server_token(self) -> str:
        """The token of our own server, from the settings, else from the environment; "" without one."""
        return self.variables().get(SERVER_TOKEN, "")

    def secrets(self) -> Mapping[str, str]:
        """Values to keep out of everything that is shown or stored: our credentials, and what the environment
        holds under names such as `GITHUB_TOKEN`."""
        return {**self._named_secrets(), **self._read()}

    def _named_secrets(self) -> Mapping[str, str]:
        if self._named is not None:
            return self._named
        return {name: value for name, value in self._environ.items() if value and is_secret_name(name)}

    def _held(self, key: str, given: GivenOptions) -> str | int | bool:
        if key in given:
            return given[key][0]
        if key in self._options:
            return parse_option(key, self._options[key], source=f" in `{self._file.path.name}`")
        return find_option(key).default

    def _read(self) -> dict[str, str]:
        if self._env is None:
            self._stamp = _stamp(self._home)  # before the file is read: one that changes meanwhile is read again
            content = self._content()
            self._env = _texts(content)
            self._options = _part(content, "options")
            self._note_oddities(content)
        return self._env

    def _content(self) -> Json:
        content = self._file.read()
        if content is None:
            self._check_lost()
        return content or {}

    def _check_lost(self) -> None:
        """Credentials that were set aside must not look like credentials that were never there."""
        path, aside = self._file.path, self._file.last_aside()
        if aside:
            raise CorruptError(
                f"`{path}` was damaged and set aside as `{aside}`; there are no settings now",
                details={"file": str(path), "aside": str(path.with_name(aside))},
                suggestions=[
                    f"repair `{aside}` and move it back to `{path.name}`",
                    Advice("or start afresh with `{replace_settings}`"),
                ],
            )

    def _note_oddities(self, content: JsonView) -> None:
        """Say what has no effect, and whether anything but pflow has changed the file: a flipped bit, or a person."""
        name = self._file.path.name
        for field in content:
            if field not in _FIELDS:
                self.notices.append(f"`{name}` holds an unknown field `{show(field)}`; it has no effect")
        for key in _part(content, "options"):
            if known_option(key) is None:
                self.notices.append(f"`{name}` holds an unknown option `{show(key)}`; it has no effect")
        if content.get("checksum", _checksum(content)) != _checksum(content):
            self.notices.append(
                f"`{self._file.path}` was edited or damaged since pflow saved it; the next setting that is stored "
                "accepts what it holds"
            )

    def _change(self, part: str, key: str, value: object) -> None:
        def change(content: Json) -> Json:
            _texts(content)
            values = dict(_part(content, part))
            if value is None:
                values.pop(key, None)
            else:
                values[key] = value
            self._note_oddities(content)
            after = {**content, "version": VERSION, part: dict(sorted(values.items()))}
            return {**after, "checksum": _checksum(after)}

        self._file.update(change)
        self._env = None


def is_credential(key: str) -> bool:
    """Whether a setting of this name is a secret: `GITHUB_TOKEN` is, `trace.keep_days` is not."""
    return 0 < len(key) <= 128 and key[0] in _LETTERS and _NAME.issuperset(key)


def mask(value: str) -> str:
    """The ends of a credential, to recognise it by, if that leaves enough of it hidden."""
    shown = value[:3] + value[-4:]
    if len(value) < 20 or not (shown.isascii() and shown.isprintable()):
        return "********"
    return f"{value[:3]}…{value[-4:]}"


def _check_secret(key: str, value: str) -> None:
    if len(value) < MIN_SECRET:
        raise UsageError(
            f"the value of `{key}` has {len(value)} characters; credentials must have at least {MIN_SECRET}",
            suggestions=["a shorter one could not be hidden in outputs without hiding ordinary words as well"],
        )
    if len(value) > MAX_VALUE:
        raise UsageError(f"the value of `{key}` is longer than {MAX_VALUE} characters")
    if "\0" in value or value.encode(errors="ignore").decode() != value:
        raise UsageError(f"the value of `{key}` holds characters that no environment variable can hold")


def _checksum(content: JsonView) -> str:
    """A number for everything else in the file, however it is laid out. It finds damage, not deceit."""
    rest = {field: value for field, value in content.items() if field != "checksum"}
    return f"{crc32(orjson.dumps(rest, option=orjson.OPT_SORT_KEYS)):08x}"


def _part(content: JsonView, part: str) -> Json:
    values = content.get(part, {})
    if not isinstance(values, dict):
        raise StorageError(f"`{part}` in `settings.json` is not an object", suggestions=["repair it by hand"])
    return values


def _stamp(home: Home) -> object:
    """A value that changes whenever the settings do. Without a file, one may have come and been set aside meanwhile."""
    for path in (home.settings, home.root):
        try:
            found = path.stat()
        except OSError:
            continue
        return found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns
    return None


def _texts(content: JsonView) -> dict[str, str]:
    texts: dict[str, str] = {}
    for name, value in _part(content, "env").items():
        if not isinstance(value, str):
            raise StorageError(
                f"`env.{show(name)}` in `settings.json` is not a string", suggestions=["put it in quotes"]
            )
        texts[name] = value
    return texts
