"""One JSON object that pflow keeps on disk: read, changed under a lock, and set aside when it is damaged."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from pathlib import Path

import orjson

from pflow.core.errors import CorruptError, NotFoundError, StorageError
from pflow.core.file.atomic import (
    JSON_LIMIT,
    find_asides,
    locked,
    make_private,
    parse_object,
    read_private,
    set_aside,
    write_atomic,
)
from pflow.core.file.file_name import show
from pflow.core.file.os_call import Calls
from pflow.core.frozen import Frozen
from pflow.core.json_type import Json


class Damage(Frozen):
    """A damaged file: where it is now, and what can still be read of it."""

    path: Path
    aside: Path | None
    """Where it was moved; None if it could not be moved."""

    rest: Json

    @property
    def kept(self) -> str:
        """What happened to the file, in words."""
        return f"it was set aside as `{self.aside.name}`" if self.aside else "it could not be set aside"

    @property
    def news(self) -> str:
        """That the file was damaged, and what happened to it, to follow its name."""
        return f"was damaged and {self.kept.removeprefix('it was ').removeprefix('it ')}"

    def refuse(self) -> Json:
        """Raise a `CorruptError`: the answer to damage, unless pflow can do without the file."""
        raise CorruptError(
            f"`{self.path}` is damaged; {self.kept}",
            details={"file": str(self.path), "aside": str(self.aside) if self.aside else None},
            suggestions=[
                f"repair `{self.aside or self.path}` and move it back to `{self.path}`, or start afresh without it"
            ],
        )


class StateFile:
    """A file that holds one JSON object, and perhaps its `version`.

    `is_valid` says whether the file may hold an object; if not, the file is set aside and `on_damage` answers
    instead. A `private` file is closed to other users; `say` is told when that changes.
    """

    def __init__(
        self,
        path: Path,
        *,
        is_valid: Callable[[Json], bool] = lambda _: True,
        on_damage: Callable[[Damage], Json] = Damage.refuse,
        version: int | None = None,
        private: bool = False,
        say: Callable[[str], object] = lambda _: None,
        calls: Calls = os,
    ) -> None:
        self.path = path
        self._is_valid = is_valid
        self._on_damage = on_damage
        self._version = version
        self._private = private
        self._say = say
        self._calls = calls

    def read(self) -> Json | None:
        """What the file holds; None if there is no file."""
        content, is_sound = self._load()
        if not is_sound:
            try:
                with self.lock():  # it is damaged only if it is still wrong while no other process writes
                    return self.read_locked()
            except CorruptError:
                raise
            except StorageError:
                return self._on_damage(Damage(path=self.path, aside=None, rest=content or {}))
        self._restrict()
        return content

    def read_locked(self) -> Json | None:
        """The same, for callers that hold the lock; a damaged file that cannot be set aside is a `StorageError`."""
        content, is_sound = self._load()
        if not is_sound:
            aside = set_aside(self.path, calls=self._calls)
            return self._on_damage(Damage(path=self.path, aside=aside, rest=content or {}))
        return content

    def update(self, change: Callable[[Json], Mapping[str, object]]) -> Json:
        """Write what `change` makes of the object in the file ({} if there is no file)."""
        with self.lock():
            after = dict(change(self.read_locked() or {}))
            data = orjson.dumps(after, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)
            if data != self.data():
                self.write(data)
            return after

    def data(self) -> bytes | None:
        """The bytes of the file; None if there is no file."""
        try:
            return read_private(self.path, JSON_LIMIT)
        except NotFoundError:
            return None

    def write(self, data: bytes, *, durable: bool = True) -> None:
        """Replace the file, for callers that hold the lock."""
        write_atomic(self.path, data, durable=durable, calls=self._calls)

    def lock(self) -> AbstractContextManager[None]:
        """Lock out every other thread and process that asks for the same lock."""
        return locked(self.path, calls=self._calls)

    def last_aside(self) -> str:
        """The name that the file was last set aside under; "" if it never was."""
        asides = find_asides(self.path)
        return asides[-1].name if asides else ""

    def _load(self) -> tuple[Json | None, bool]:
        """The object in the file, None if there is no file, and whether all is well with it."""
        data = self.data()
        if data is None:
            return None, True
        content = parse_object(data)
        if content is None or not self._is_valid(content):
            return content, False
        self._check_version(content)
        return content, True

    def _check_version(self, content: Json) -> None:
        version = content.get("version", self._version)
        if self._version is not None and (not isinstance(version, int) or version > self._version):
            raise StorageError(
                f"`{self.path.name}` has version `{show(str(version))}`; this pflow knows version {self._version}",
                suggestions=["update pflow, or set PFLOW_HOME to another directory"],
            )

    def _restrict(self) -> None:
        try:
            if self._private and make_private(self.path):
                self._say(f"`{self.path}` was readable by other users; now only you can read it")
        except StorageError as error:
            self._say(f"other users can read `{self.path}`: {error.message}")
