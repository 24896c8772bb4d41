"""The library of saved workflows and the drafts beside it: files by name. Does not check what they mean."""

from __future__ import annotations

import errno
import os
import stat
import time
from collections.abc import Collection, Iterator, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Literal

from pflow.core.advice import Advice
from pflow.core.errors import (
    DocumentError,
    ExistsError,
    NotFoundError,
    PflowError,
    SecurityError,
    StorageError,
    UsageError,
)
from pflow.core.file.atomic import check_folder, locked, parse_object, read_private, remove, set_aside, write_atomic
from pflow.core.file.file_name import check_name, is_name, show
from pflow.core.file.home import Home, absolute, find_home
from pflow.core.file.os_call import Calls, is_own_file, storage_error
from pflow.core.file.state_file import StateFile
from pflow.core.frozen import Frozen
from pflow.core.json_type import Json, object_in
from pflow.core.library.saved_workflow import SavedWorkflow, read_metadata
from pflow.core.library.workflow_file import decode_file, encode_file, now_text
from pflow.core.suggest import did_you_mean

MAX_FILE = 32 << 20
"""Bytes of a workflow's file."""

MAX_DRAFTS = 100 << 20
"""Bytes that all drafts together may take, so that an agent in a loop cannot fill the disk."""

PATH_SUFFIXES = (".json", ".yaml", ".yml", ".pflow.md")
"""Suffixes that make a reference a path; a name must not end in one."""

_STATS = ".stats.json"

Kind = Literal["library", "draft"]


class WorkflowManager:
    """Workflows of one directory of a home, by name. Holds no state of its own."""

    def __init__(self, home: Home | None = None, *, kind: Kind = "library", calls: Calls = os) -> None:
        self.home = home or find_home()
        self.kind = kind
        self.folder = self.home.workflows if kind == "library" else self.home.drafts
        self._calls = calls

    @classmethod
    def for_drafts(cls, home: Home | None = None, *, calls: Calls = os) -> WorkflowManager:
        """The workflows that are still being worked on."""
        return cls(home, kind="draft", calls=calls)

    def exists(self, name: str) -> bool:
        """Whether there is something under that name, readable or not."""
        return os.path.lexists(self._path(name))

    def save(
        self, name: str, document: Mapping[str, object], description: str = "", *, overwrite: bool = False
    ) -> Path:
        """Store a document under a name; raises `ExistsError` if it is taken and may not be overwritten."""
        path = self._path(name)
        if self.kind == "draft":
            check_name(name, what="draft", inside="-")
        with self._locked():
            self._store(name, document, {"description": description} if description else {}, overwrite)
        return path

    def load(self, name: str) -> Json:
        """What is saved under a name: `workflow`, the document, and `metadata`, with its statistics."""
        document, metadata = self._load(name)
        return {"workflow": document, "metadata": {**metadata, **object_in(self._stats(), name)}}

    def describe(self, name: str) -> SavedWorkflow:
        """What is known of a workflow without its document."""
        metadata = {**self._load(name)[1], **object_in(self._stats(), name)}
        return read_metadata(metadata, is_draft=self.kind == "draft")

    def load_ir(self, name: str) -> Json:
        """The document that is saved under a name."""
        return self._load(name)[0]

    def delete(self, name: str) -> None:
        """Forget what is saved under a name."""
        self._path(name)
        with self._locked():
            self._remove(name)
            self._forget([name])

    def list_all(self) -> list[Json]:
        """Metadata of everything that can be read, sorted by name."""
        return self.scan()[0]

    def scan(self) -> tuple[list[Json], list[str]]:
        """What `list_all` gives, and what is wrong with the files that it leaves out."""
        stats = self._stats()
        listed: list[Json] = []
        notices: list[str] = []
        for name in self.names():
            try:
                metadata = self._load(name, strict=False)[1]
            except NotFoundError:
                continue  # deleted since we looked
            except PflowError as error:
                notices.append(error.message)
            else:
                listed.append({**metadata, **object_in(stats, name)})
        return listed, notices

    def search(self, query: str) -> list[Json]:
        """Metadata of what has every word of `query` in its name or description, names first."""
        words = query.lower().split()
        found = []
        for metadata in self.list_all():
            name = str(metadata["name"]).lower()
            text = f"{name} {metadata.get('description', '')}".lower()
            if all(word in text for word in words):
                found.append((not all(word in name for word in words), metadata))
        return [metadata for _, metadata in sorted(found, key=lambda entry: entry[0])]

    def promote(self, draft: str, name: str, description: str = "") -> Path:
        """Move a draft into the library. Never overwrites; doing it again finishes what a crash cut short."""
        library = WorkflowManager(self.home, calls=self._calls)
        drafts = WorkflowManager.for_drafts(self.home, calls=self._calls)
        path = library._path(name)
        drafts._path(draft)
        # Always in this order, and no other method takes both: two moves cannot wait for each other.
        with drafts._locked(), library._locked():
            document = drafts.load_ir(draft)
            about = {"description": description, "draft": draft} if description else {"draft": draft}
            try:
                library._store(name, document, about, overwrite=False)
            except ExistsError:
                if not library._holds(name, document, about):
                    raise
            drafts._remove(draft)
            drafts._forget([draft])
        return path

    def clean(self, older_than_seconds: float, *, now: float | None = None) -> list[str]:
        """Delete what was last written longer ago than that; returns the names of what is gone."""
        deadline = (time.time() if now is None else now) - older_than_seconds
        gone = []
        with self._locked():
            for name, found in self._entries():
                if found.st_mtime < deadline:
                    self._remove(name)
                    gone.append(name)
            self._forget(gone)
        return gone

    def trim(self, most: int, *, keep: str) -> list[str]:
        """Delete what was written longest ago, until no more than `most` are left; returns the names of what is gone.

        `keep` stays in any case.
        """
        with self._locked():
            others = [(found.st_mtime_ns, name) for name, found in self._entries() if name != keep]
            gone = [name for _, name in sorted(others)[: max(0, len(others) + 1 - most)]]
            for name in gone:
                self._remove(name)
            self._forget(gone)
        return gone

    def record_run(self, name: str, success: bool, duration_ms: float) -> None:
        """Count a run of a saved workflow. The workflow's own file does not change by being run."""
        if not self.exists(name):
            return

        def count(stats: Json) -> Json:
            before = object_in(stats, name).get("execution_count", 0)
            entry = {
                "execution_count": before + 1 if isinstance(before, int) else 1,
                "last_execution_at": now_text(),
                "last_execution_success": success,
                "last_execution_ms": round(duration_ms, 3),
            }
            return {**stats, name: entry}

        self._stats_file().update(count)

    def names(self) -> list[str]:
        """Every name that something is saved under, sorted."""
        return [name for name, _ in self._entries()]

    def stamps(self) -> dict[str, str]:
        """Every name, with a value that changes whenever its file does."""
        return {name: f"{found.st_mtime_ns} {found.st_size} {found.st_ino}" for name, found in self._entries()}

    def _store(self, name: str, document: Mapping[str, object], about: Mapping[str, str], overwrite: bool) -> None:
        path = self._path(name)
        if name.lower().endswith(PATH_SUFFIXES):
            raise UsageError(
                f"the name `{name}` would be taken for a file",
                suggestions=[f"save it as `{name[: name.rindex('.')]}`"],
            )
        before = self._before(name, path, overwrite)
        now = now_text()
        metadata: Json = {"updated_at": now}
        if self.kind == "library":
            version = before.get("version", 0)
            described = document.get("description")
            metadata = {
                "name": name,
                "description": described if isinstance(described, str) else "",
                "created_at": before.get("created_at", now),
                "updated_at": now,
                "version": version + 1 if isinstance(version, int) else 1,
                **about,
            }
        data = encode_file(document, metadata)
        if self.kind == "draft":
            self._check_room(name, len(data))
        write_atomic(path, data, calls=self._calls)

    def _before(self, name: str, path: Path, overwrite: bool) -> Json:
        """Metadata of what is about to be overwritten; what cannot be read is set aside, not lost."""
        if not os.path.lexists(path):
            return {}
        if not overwrite:
            raise ExistsError(
                f"there is already a {self._what()} `{name}`",
                suggestions=["choose another name, or delete or overwrite it"],
            )
        try:
            return self._load(name, strict=False)[1]
        except DocumentError:
            set_aside(path, calls=self._calls)
            return {}

    def _check_room(self, name: str, size: int) -> None:
        taken = sum(found.st_size for other, found in self._entries() if other != name)
        if taken + size > MAX_DRAFTS:
            raise StorageError(
                f"the draft does not fit: all drafts together may take {MAX_DRAFTS >> 20} MB",
                suggestions=[Advice("delete old ones with `{clean_drafts}`")],
            )

    def _holds(self, name: str, document: Mapping[str, object], about: Mapping[str, str]) -> bool:
        """Whether an earlier attempt at the same move stored the same document."""
        try:
            saved, metadata = self._load(name)
        except PflowError:
            return False
        same = all(metadata.get(key) == value for key, value in about.items())
        return same and encode_file(saved, {}) == encode_file(document, {})

    def _forget(self, names: Collection[str]) -> None:
        """Delete the statistics of workflows that are gone."""
        if any(name in names for name in self._stats()):
            self._stats_file().update(lambda stats: {key: value for key, value in stats.items() if key not in names})

    def _remove(self, name: str) -> None:
        path = self._path(name)
        if path.is_dir() and not path.is_symlink():
            raise StorageError(f"`{name}` is a directory, not a workflow", suggestions=["remove it by hand"])
        try:
            remove(path, calls=self._calls)
        except NotFoundError:
            raise self._missing(name) from None

    def _load(self, name: str, *, strict: bool = True) -> tuple[Json, Json]:
        path = self._path(name)
        check_folder(self.folder)
        try:
            data = read_private(path, MAX_FILE)
        except NotFoundError:
            raise self._missing(name) from None
        return decode_file(name, data, strict=strict)

    def _stats_file(self) -> StateFile:
        return StateFile(self.folder / _STATS, on_damage=lambda _: {}, calls=self._calls)

    def _stats(self) -> Json:
        try:
            return parse_object(read_private(self.folder / _STATS, MAX_FILE)) or {}
        except PflowError:
            return {}  # statistics are worth less than what they stand beside

    def _entries(self) -> Iterator[tuple[str, os.stat_result]]:
        check_folder(self.folder)
        try:
            with os.scandir(self.folder) as entries:
                found = sorted(entries, key=lambda entry: entry.name)
        except FileNotFoundError:
            return
        except OSError as error:
            raise storage_error("read the directory", self.folder, error) from error
        for entry in found:
            name = entry.name.removesuffix(".json")
            if name == entry.name or not is_name(name):
                continue
            try:
                info = entry.stat(follow_symlinks=False)
            except OSError:
                continue
            if is_own_file(info):
                yield name, info

    def _path(self, name: str) -> Path:
        return self.folder / f"{check_name(name)}.json"

    def _locked(self) -> AbstractContextManager[None]:
        return locked(self.folder / "workflows", calls=self._calls)

    def _what(self) -> str:
        return "workflow" if self.kind == "library" else "draft"

    def _missing(self, name: str) -> NotFoundError:
        return _missing(f"there is no {self._what()} `{name}`", name, self.names())


class Resolved(Frozen):
    """What a reference to a workflow means. `path` is the file; `name` is that of a path's file, too."""

    kind: Literal["library", "draft", "path"]
    name: str
    path: Path


def resolve(reference: str, home: Home | None = None) -> Resolved:
    """Find a workflow by library name, draft name or path, in this order.

    A string is a path only if it has a separator, starts with `~` or has a document's suffix, so a bare name
    never reads the current directory. A name ending in `.json` may be a draft as well, and is one first.
    """
    library = WorkflowManager(home)
    drafts = WorkflowManager.for_drafts(library.home)
    if not is_path(reference):
        for manager in (library, drafts):
            if manager.exists(reference):
                return Resolved(kind=manager.kind, name=reference, path=manager._path(reference))
        names = [*library.names(), *drafts.names()]
        raise _missing(f"there is no workflow `{reference}`", reference, names)
    name = reference.removesuffix(".json")
    if name != reference and is_name(name) and drafts.exists(name):
        return Resolved(kind="draft", name=name, path=drafts._path(name))
    return _resolve_path(reference)


def is_path(reference: str) -> bool:
    """Whether a reference means a file, not a name."""
    separated = "/" in reference or os.sep in reference
    return separated or reference.startswith("~") or reference.lower().endswith(PATH_SUFFIXES)


def _resolve_path(reference: str) -> Resolved:
    if "\0" in reference:
        raise SecurityError("a path to a workflow holds a NUL")
    path = absolute(os.path.expanduser(reference))  # noqa: PTH111 - Path raises on an unknown user
    try:
        found = path.stat()
    except OSError as error:
        if error.errno not in (errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG):
            raise storage_error("read", path, error) from error
        raise NotFoundError(
            f"there is no file `{show_path(reference)}`",
            suggestions=[Advice("saved workflows are run by name; `{list_workflows}` shows them")],
        ) from None
    if not stat.S_ISREG(found.st_mode):
        raise NotFoundError(f"`{show_path(reference)}` is not a file")
    return Resolved(kind="path", name=path.name.split(".", 1)[0], path=path)


def show_path(path: str) -> str:
    """A path that its user typed, as one line of printable text."""
    return path if path.isprintable() and len(path) < 200 else show(path, 200)


def _missing(message: str, name: str, names: list[str]) -> NotFoundError:
    advice = did_you_mean(name, names, limit=3) or "there are: " + ", ".join(f"`{other}`" for other in names[:10])
    if not names:
        advice = Advice("nothing is saved yet; `{save_workflow}` saves a document")
    return NotFoundError(message, details={"available": names[:100]}, suggestions=[advice])
