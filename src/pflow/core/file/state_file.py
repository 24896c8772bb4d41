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
    """A file that does not hold what it should: where it is now, and what can still be read of it."""

    path: Path
    aside: Path | None
    """Where it was moved; None if it could not be moved."""

    rest: Json

    @property
    def kept(self) -> str:
        """What became of the file, in words."""
        return f"it was set aside as `{self.aside.name}`" if self.aside else "it could not be set aside"

    @property
    def news(self) -> str:
        """That the file was damaged, and what became of it, to follow its name."""
        return f"was damaged and {self.kept.removeprefix('it was ').removeprefix('it ')}"

    def refuse(self) -> Json:
        """Raise a `CorruptError`: the answer to damage, unless pflow can do without the file."""
        raise CorruptError(
            f"`{self.path}` does not hold what it should; {self.kept}",
            details={"file": str(self.path), "aside": str(self.aside) if self.aside else None},
            suggestions=[
                f"repair `{self.aside or self.path}` and move it back to `{self.path}`, or start afresh without it"
            ],
        )


class StateFile:
    """A file that holds one JSON object, and perhaps its `version`.

    `is_valid` says whether an object is one that the file should hold; if it is not, the file is set aside and
    `on_damage` answers instead. A `private` file is closed to other users; `say` hears about it.
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
        found = self._load()
        if found is None:
            return None
        content, is_sound = found
        if not is_sound:
            try:
                with self.lock():  # only what is still wrong when nobody is writing is damage
                    return self.read_locked()
            except CorruptError:
                raise
            except StorageError:
                return self._on_damage(Damage(path=self.path, aside=None, rest=content))
        self._check_version(content)
        self._restrict()
        return content

    def read_locked(self) -> Json | None:
        """The same, for callers that hold the lock; a damaged file that cannot be set aside is a `StorageError`."""
        found = self._load()
        if found is None:
            return None
        content, is_sound = found
        if not is_sound:
            aside = set_aside(self.path, calls=self._calls)
            return self._on_damage(Damage(path=self.path, aside=aside, rest=content))
        self._check_version(content)
        return content

    def update(self, change: Callable[[Json], Mapping[str, object]]) -> Json:
        """Let `change` make a new object of what the file holds ({} if there is no file), and write it."""
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
        """Keep out every other thread and process that asks for the same lock."""
        return locked(self.path, calls=self._calls)

    def last_aside(self) -> str:
        """The name that the file was last set aside under; "" if it never was."""
        prefix = f"{self.path.name}.corrupt-"
        try:
            return max((path.name for path in self.path.parent.iterdir() if path.name.startswith(prefix)), default="")
        except OSError:
            return ""

    def _load(self) -> tuple[Json, bool] | None:
        """The object in the file, and whether it is a valid one; None if there is no file."""
        data = self.data()
        if data is None:
            return None
        content = parse_object(data)
        return content or {}, content is not None and self._is_valid(content)

    def _check_version(self, content: Json) -> None:
        version = content.get("version", self._version)
        if self._version is not None and (not isinstance(version, int) or version > self._version):
            raise StorageError(
                f"`{self.path.name}` has version `{show(str(version))}`; this pflow knows version {self._version}",
                suggestions=["update pflow, or set PFLOW_HOME to another folder"],
            )

    def _restrict(self) -> None:
        try:
            if self._private and make_private(self.path):
                self._say(f"`{self.path}` was readable for other users; now only you can read it")
        except StorageError as error:
            self._say(f"other users can read `{self.path}`: {error.message}")
