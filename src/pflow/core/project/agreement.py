"""What a person has agreed to: for each project's folder, the contents that may be used. Kept in the home."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from pflow.core.file.home import Home
from pflow.core.file.state_file import Damage, StateFile
from pflow.core.frozen import Frozen
from pflow.core.json_type import Json, JsonView, object_in, objects_in
from pflow.core.library.workflow_text import now_text
from pflow.core.project.content import Content

VERSION = 1
MOST_CONTENTS = 30
"""Contents of one folder that are remembered, the last used ones: as many branches as a person goes between."""

MOST_FOLDERS = 500
"""Folders that are remembered; those of deleted clones would pile up."""


class Difference(Frozen):
    """How a folder differs from what was last agreed to, by the names of files."""

    added: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()


class Agreements:
    """The agreements of one home. A damaged file is set aside, and everything is asked again."""

    def __init__(self, home: Home) -> None:
        self.notices: list[str] = []
        self._file = StateFile(home.projects, version=VERSION, private=True, on_damage=self._start_again)

    def holds(self, content: Content) -> bool:
        """Whether exactly this content of this folder was agreed to."""
        contents = self._contents(content.folder)
        digest = content.digest() if contents else ""
        return any(each.get("digest") == digest for each in contents)

    def is_declined(self, content: Content) -> bool:
        """Whether the person said no to exactly this content."""
        return self._entry(content.folder).get("declined") == content.digest()

    def difference(self, content: Content) -> Difference | None:
        """What changed since the last content that was agreed to; None if there was none."""
        before = self._contents(content.folder)
        if not before:
            return None
        old, new = object_in(before[-1], "files"), content.hashes()
        return Difference(
            added=tuple(sorted(new.keys() - old.keys())),
            changed=tuple(sorted(name for name in new.keys() & old.keys() if new[name] != old[name])),
            removed=tuple(sorted(old.keys() - new.keys())),
        )

    def agree(self, content: Content) -> None:
        """Let this content be used from now on."""
        digest = content.digest()
        fresh = {"digest": digest, "at": now_text(), "files": content.hashes()}

        def change(entry: Json) -> Json:
            others = [each for each in objects_in(entry.get("agreed")) if each.get("digest") != digest]
            return {"agreed": [*others, fresh][-MOST_CONTENTS:]}

        self._change(content.folder, change)

    def decline(self, content: Content) -> None:
        """Remember that this content is not wanted, so that it is not asked about again."""
        self._change(content.folder, lambda entry: {**entry, "declined": content.digest()})

    def forget(self, folder: Path) -> bool:
        """Take back every agreement about a folder; whether there was any."""
        known = bool(self._entry(folder))
        if known:
            self._file.update(lambda found: {**found, "folders": _without(object_in(found, "folders"), folder)})
        return known

    def _change(self, folder: Path, change: Callable[[Json], Json]) -> None:
        def update(found: Json) -> Mapping[str, object]:
            folders = object_in(found, "folders")
            entry = change(object_in(folders, str(folder)))
            kept = list(_without(folders, folder).items())[-(MOST_FOLDERS - 1) :]
            return {"version": VERSION, "folders": {**dict(kept), str(folder): entry}}

        self._file.update(update)

    def _entry(self, folder: Path) -> Json:
        return object_in(object_in(self._file.read() or {}, "folders"), str(folder))

    def _contents(self, folder: Path) -> list[JsonView]:
        return objects_in(self._entry(folder).get("agreed"))

    def _start_again(self, damage: Damage) -> Json:
        self.notices.append(f"`{damage.path.name}` {damage.news}; projects have to be agreed to again")
        return {}


def _without(folders: Json, folder: Path) -> Json:
    return {path: entry for path, entry in folders.items() if path != str(folder)}
