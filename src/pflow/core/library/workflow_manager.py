"""The library of saved workflows and the drafts beside it: texts by name. Does not check what they mean."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Literal

from pflow.core.advice import Advice
from pflow.core.errors import DocumentError, ExistsError, NotFoundError, PflowError, StorageError, UsageError
from pflow.core.file.atomic import check_folder, locked, read_private, remove, sync_folder, write_atomic
from pflow.core.file.file_name import check_name, is_name
from pflow.core.file.home import Home, find_home
from pflow.core.file.os_call import Calls, is_own_file, storage_error
from pflow.core.json_type import Json, object_in
from pflow.core.library.about import About, without_cache
from pflow.core.library.history import MAX_FILE, History, Version, pick_version
from pflow.core.library.saved_workflow import SavedWorkflow, missing_workflow, read_metadata
from pflow.core.library.workflow_text import FORMS, WorkflowText, now_text, read_document, summary_of, text_of_value

MAX_DRAFTS = 100 << 20
"""Bytes that all drafts together may take, so that an agent in a loop cannot fill the disk."""

PATH_SUFFIXES = (".json", ".yaml", ".yml", ".pflow.md")
"""Suffixes that make a reference a path; a name must not end in one."""

Kind = Literal["library", "draft"]


class WorkflowManager:
    """Workflows of one directory of a home, by name. Holds no state of its own.

    A workflow is its text, in `NAME.json` or `NAME.yaml`. Where both are there, the newer one counts.
    """

    def __init__(self, home: Home | None = None, *, kind: Kind = "library", calls: Calls = os) -> None:
        self.home = home or find_home()
        self.kind = kind
        self.folder = self.home.workflows if kind == "library" else self.home.drafts
        self._calls = calls
        self._about = About(self.folder, calls=calls)
        self._history = History(self.folder, calls=calls)

    @classmethod
    def for_drafts(cls, home: Home | None = None, *, calls: Calls = os) -> WorkflowManager:
        """The workflows that are still being worked on."""
        return cls(home, kind="draft", calls=calls)

    # Reading

    def exists(self, name: str) -> bool:
        """Whether there is something under that name, readable or not."""
        return bool(self._paths(name))

    def path(self, name: str) -> Path:
        """The file that holds the workflow, or would."""
        return next(iter(self._paths(name)), self.folder / f"{name}.json")

    def text(self, name: str) -> WorkflowText:
        """The text that is saved under a name, as its author wrote it."""
        return self._read(name).as_author()

    def stored_text(self, name: str) -> WorkflowText:
        """The text of the file: the same, unless an earlier version saved it."""
        return self._read(name)

    def load(self, name: str) -> Json:
        """What is saved under a name: `workflow`, the document, and `metadata`, with its statistics."""
        document, metadata = read_document(name, self._read(name), strict=True)
        return {"workflow": document, "metadata": self._known(name, metadata)}

    def describe(self, name: str) -> SavedWorkflow:
        """What is known of a workflow without its document."""
        try:
            info = self.path(name).lstat()
        except FileNotFoundError:
            raise self._missing(name) from None
        metadata = self._metadata(name, info, self._about.all().get(name, {}))
        statistics = object_in(self._about.statistics(), name)
        return read_metadata({**metadata, **statistics}, is_draft=self.kind == "draft")

    def load_ir(self, name: str) -> Json:
        """The document that is saved under a name."""
        return read_document(name, self._read(name), strict=True)[0]

    def list_all(self) -> list[Json]:
        """Metadata of everything that can be read, sorted by name."""
        return self.scan()[0]

    def scan(self) -> tuple[list[Json], list[str]]:
        """What `list_all` gives, and what is wrong with the files that it leaves out."""
        about, stats = self._about.all(), self._about.statistics()
        listed: list[Json] = []
        notices: list[str] = []
        for name, info in self._entries():
            try:
                listed.append({**self._metadata(name, info, about.get(name, {})), **object_in(stats, name)})
            except NotFoundError:
                continue  # deleted since we looked
            except PflowError as error:
                notices.append(error.message)
        return listed, [*notices, *self.two_files()]

    def _metadata(self, name: str, info: os.stat_result, known: Json) -> Json:
        """What is known of a workflow; its text is read only if it has changed since it was saved."""
        read: Json = {"name": name, "description": known.get("summary", "")}
        if known.get("stamp") != _stamp(info):
            read = read_document(name, self._read(name), strict=False)[1]
        return {**read, **without_cache(known)}

    def search(self, query: str) -> list[Json]:
        """Metadata of what has every word of `query` in its name or description, names first."""
        found = []
        for metadata in self.list_all():
            name = str(metadata["name"])
            if matches(query, name, str(metadata.get("description", ""))):
                found.append((not matches(query, name), metadata))
        return [metadata for _, metadata in sorted(found, key=lambda entry: entry[0])]

    def names(self) -> list[str]:
        """Every name that something is saved under, sorted."""
        return [name for name, _ in self._entries()]

    def stamps(self) -> dict[str, str]:
        """Every name, with a value that changes whenever its file does."""
        return {name: f"{_stamp(found)} {found.st_ino}" for name, found in self._entries()}

    # Changing

    def save(
        self,
        name: str,
        document: Mapping[str, object] | WorkflowText,
        description: str = "",
        *,
        overwrite: bool = False,
        replaces: int | None = None,
        origin: Json | None = None,
    ) -> Path:
        """Store a document under a name; raises `ExistsError` if it is taken and may not be overwritten.

        `replaces` is the version that the caller has seen: overwrites that one and no other. `origin` says where a
        document of someone else came from.
        """
        self.check_new_name(name)
        text = document if isinstance(document, WorkflowText) else text_of_value(document)
        given: Json = {key: said for key, said in (("description", description), ("origin", origin)) if said}
        with self._locked():
            return self._store(name, text, given, overwrite, replaces)

    def delete(self, name: str) -> None:
        """Forget what is saved under a name, earlier versions included."""
        check_name(name)
        with self._locked():
            self._remove(name)
            self._history.forget(name)
            self._about.forget([name])

    def rename(self, name: str, new_name: str) -> Path:
        """Give a workflow another name, which must be free; its versions and statistics come along."""
        self.check_new_name(new_name)
        with self._locked():
            text = self._read(name)
            if self._paths(new_name):
                raise self._taken(new_name)
            self._history.rename(name, new_name)
            self._about.rename(name, new_name)
            path = self.folder / f"{new_name}{text.suffix}"
            try:
                self._calls.replace(self.path(name), path)
                sync_folder(self.folder, self._calls)
            except OSError as error:
                raise storage_error("rename", path, error) from error
        return path

    def promote(self, draft: str, name: str, description: str = "") -> Path:
        """Move a draft into the library. Never overwrites; doing it again finishes what a crash cut short."""
        library = WorkflowManager(self.home, calls=self._calls)
        drafts = WorkflowManager.for_drafts(self.home, calls=self._calls)
        library.check_new_name(name)
        check_name(draft)
        # Always in this order, and no other method takes both: two moves cannot wait for each other.
        with drafts._locked(), library._locked():
            text = drafts.text(draft)
            described = description or drafts._about.all().get(draft, {}).get("description", "")
            given: Json = {"description": described} if described else {}
            try:
                path = library._store(name, text, given)
            except ExistsError:
                if not library._holds(name, text):
                    raise
                path = library.path(name)
                library._note(name, text, library._about.all().get(name, {}), given)
            drafts._remove(draft)
            drafts._about.forget([draft])
        return path

    def clean(self, older_than_seconds: float, *, now: float | None = None) -> list[str]:
        """Delete what was last written longer ago than that; returns the names of what is gone."""
        deadline = (time.time() if now is None else now) - older_than_seconds
        gone = []
        with self._locked():
            for name, found in list(self._entries()):
                if found.st_mtime < deadline:
                    self._remove(name)
                    gone.append(name)
            self._about.forget(gone)
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
            self._about.forget(gone)
        return gone

    def record_run(self, name: str, success: bool, duration_ms: float) -> None:
        """Count a run of a saved workflow. The workflow's own file does not change by being run."""
        if self.exists(name):
            self._about.count_run(name, success, duration_ms)

    # Versions

    def version(self, name: str) -> int:
        """The number of the version that is saved now. A text that was changed by hand becomes a version, too."""
        with self._locked():
            return self._adopt(name)

    def versions(self, name: str) -> list[Version]:
        """Every version that is kept, newest first; the first one is what is saved now."""
        with self._locked():
            self._adopt(name)
            return self._history.versions(name)

    def version_text(self, name: str, number: int) -> WorkflowText:
        """The text of a version."""
        found = pick_version(name, self.versions(name), number)
        return self._history.read(found).as_author()

    def restore(self, name: str, number: int) -> int:
        """Save an earlier version again, as the newest one; returns its new number."""
        with self._locked():
            self._adopt(name)
            found = pick_version(name, self._history.versions(name), number)
            known = self._about.all().get(name, {})
            given: Json = {"description": known["description"]} if "description" in known else {}
            self._store(name, self._history.read(found).as_author(), given, overwrite=True)
            return self._adopt(name)

    def prune(self, name: str, keep: int) -> int:
        """Delete all but the newest versions; says how many are gone."""
        with self._locked():
            self._adopt(name)
            return self._history.prune(name, max(keep, 1))

    def _adopt(self, name: str) -> int:
        """The number of the present version, which is kept as one if it was not yet; the lock is held."""
        text = self._read(name)
        versions = self._history.versions(name)
        if versions and self._history.read(versions[0]) == text:
            return versions[0].number
        number = self._next_number(name, text, versions)
        self._history.add(name, number, text)
        known = self._about.all().get(name, {})
        if known:
            self._about.note(name, {**known, "version": number})
        return number

    def _next_number(self, name: str, text: WorkflowText, versions: list[Version]) -> int:
        if versions:
            return versions[0].number + 1
        try:
            counted = read_document(name, text, strict=False)[1].get("version")
        except DocumentError:
            counted = None
        return counted if isinstance(counted, int) and 0 < counted < 10**8 else 1

    # Files

    def _store(
        self, name: str, text: WorkflowText, given: Json, overwrite: bool = False, replaces: int | None = None
    ) -> Path:
        """Write a text, its version and what is known of it. Cut short at any point, nothing that was there is lost."""
        before, number = self._before(name, overwrite, replaces)
        path = self.folder / f"{name}{text.suffix}"
        if self.kind == "library":
            self._history.add(name, number, text)
        else:
            self._check_room(name, len(text.data))
        write_atomic(path, text.data, calls=self._calls)
        for other in self._paths(name):
            if other != path:
                remove(other, calls=self._calls)
        if "origin" in given:
            given = {**given, "origin": {**object_in(given, "origin"), "version": number}}
        self._note(name, text, before, {**given, "version": number} if self.kind == "library" else given)
        return path

    def _note(self, name: str, text: WorkflowText, before: Json, given: Json) -> None:
        """Keep what is known of a text that was just written, and what its document says: lists need not read it."""
        now = now_text()
        times: Json = {"created_at": before.get("created_at", now), "updated_at": now}
        summary = summary_of(name, text)
        described: Json = {} if summary or "description" not in before else {"description": before["description"]}
        read: Json = {"summary": summary, "stamp": _stamp(self.path(name).stat())}
        origin: Json = {"origin": before["origin"]} if "origin" in before else {}
        self._about.note(name, {**times, **described, **origin, **given, **read})

    def _before(self, name: str, overwrite: bool, replaces: int | None) -> tuple[Json, int]:
        """What is known of the text that is about to be overwritten, and the number of the version that follows it."""
        if not self._paths(name):
            if replaces is not None:
                raise self._missing(name)
            left = self._history.versions(name)  # of a save that was cut short
            return {}, left[0].number + 1 if left else 1
        if not overwrite and replaces is None:
            raise self._taken(name)
        if self.kind == "draft":
            return {}, 1
        number = self._adopt(name)
        if replaces is not None and replaces != number:
            raise ExistsError(
                f"`{name}` has changed: it is at version {number}, and version {replaces} was to be replaced",
                details={"version": number},
                suggestions=[
                    Advice(
                        "read it again with `{show_workflow}`, and make your change to what it is now", workflow=name
                    )
                ],
            )
        try:
            found = read_document(name, self._read(name), strict=False)[1]
        except DocumentError:
            found = {}
        return {**found, **self._about.all().get(name, {})}, number + 1

    def check_new_name(self, name: str) -> None:
        """Raise `UsageError` for a name that nothing can be saved under."""
        if self.kind == "draft":
            check_name(name, what="draft", inside="-")
        if check_name(name).lower().endswith(PATH_SUFFIXES):
            raise UsageError(
                f"the name `{name}` would be taken for a file",
                suggestions=[f"save it as `{name[: name.rindex('.')]}`"],
            )

    def _check_room(self, name: str, size: int) -> None:
        taken = sum(found.st_size for other, found in self._entries() if other != name)
        if taken + size > MAX_DRAFTS:
            raise StorageError(
                f"the draft does not fit: all drafts together may take {MAX_DRAFTS >> 20} MB",
                suggestions=[Advice("delete old ones with `{clean_drafts}`")],
            )

    def _holds(self, name: str, text: WorkflowText) -> bool:
        """Whether the same text is saved already, such as by a move that was cut short."""
        try:
            return self.text(name) == text
        except PflowError:
            return False

    def _remove(self, name: str) -> None:
        found = self._paths(name)
        if not found:
            raise self._missing(name)
        for path in found:
            if path.is_dir() and not path.is_symlink():
                raise StorageError(f"`{name}` is a directory, not a workflow", suggestions=["remove it by hand"])
            remove(path, calls=self._calls)

    def _read(self, name: str) -> WorkflowText:
        check_folder(self.folder)
        path = self.path(name)
        try:
            data = read_private(path, MAX_FILE)
        except NotFoundError:
            raise self._missing(name) from None
        return WorkflowText(data=data, form="yaml" if path.suffix == ".yaml" else "json")

    def _known(self, name: str, metadata: Json) -> Json:
        """What the file says of a workflow, what is kept beside it, and its statistics."""
        beside = without_cache(self._about.all().get(name, {}))
        return {**metadata, **beside, **object_in(self._about.statistics(), name)}

    def two_files(self) -> list[str]:
        """Which names have two files, and which of them is used."""
        found = [[path.name for path in self._paths(name)] for name in self.names()]
        return [f"`{both[0]}` is used; there is also an older `{both[1]}`" for both in found if len(both) > 1]

    def _paths(self, name: str) -> list[Path]:
        """The files of a name, the newest first."""
        check_name(name)
        found = []
        for form in FORMS:
            path = self.folder / f"{name}.{form}"
            try:
                found.append((-path.lstat().st_mtime_ns, path))
            except OSError:
                continue
        return [path for _, path in sorted(found)]

    def _entries(self) -> Iterator[tuple[str, os.stat_result]]:
        check_folder(self.folder)
        try:
            with os.scandir(self.folder) as entries:
                found = list(entries)
        except FileNotFoundError:
            return
        except OSError as error:
            raise storage_error("read the directory", self.folder, error) from error
        newest: dict[str, os.stat_result] = {}
        for entry in found:
            name, _, form = entry.name.rpartition(".")
            if form not in FORMS or not is_name(name):
                continue
            try:
                info = entry.stat(follow_symlinks=False)
            except OSError:
                continue
            if is_own_file(info) and (name not in newest or newest[name].st_mtime_ns < info.st_mtime_ns):
                newest[name] = info
        yield from sorted(newest.items())

    def _locked(self) -> AbstractContextManager[None]:
        return locked(self.folder / "workflows", calls=self._calls)

    def _what(self) -> str:
        return "workflow" if self.kind == "library" else "draft"

    def _taken(self, name: str) -> ExistsError:
        advice = Advice(
            "choose another name, or read it with `{show_workflow}` and replace it with `{replace_workflow}`",
            workflow=name,
        )
        return ExistsError(f"there is already a {self._what()} `{name}`", suggestions=[advice])

    def _missing(self, name: str) -> NotFoundError:
        return missing_workflow(f"there is no {self._what()} `{name}`", name, self.names())


def matches(query: str, name: str, description: str = "") -> bool:
    """Whether every word of a query is in a workflow's name or description."""
    text = f"{name} {description}".lower()
    return all(word in text for word in query.lower().split())


def _stamp(info: os.stat_result) -> str:
    """Changes whenever a file does."""
    return f"{info.st_mtime_ns} {info.st_size}"
