"""One project's folder as what it brings: workflows by name, sources of nodes, options. Decides nothing about use."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Mapping
from pathlib import Path

import orjson

from pflow.core.errors import DocumentError, NotFoundError, SecurityError
from pflow.core.file.file_name import show
from pflow.core.frozen import Frozen
from pflow.core.json_type import Json
from pflow.core.library.workflow_text import MAX_DOCUMENT, Form, WorkflowText, read_document
from pflow.core.project.content import NODES, OPTIONS, WORKFLOWS, Content
from pflow.core.setting.option import Option, known_option

_FORMS: tuple[tuple[str, Form], ...] = ((".yaml", "yaml"), (".yml", "yaml"), (".json", "json"))
"""What a workflow's file ends in; of two files with one name the first of these is used."""


class Project(Frozen):
    """What a folder brings. `content` has the bytes that everything comes from, and nothing is read again."""

    content: Content

    @property
    def folder(self) -> Path:
        """The `.pflow` folder."""
        return self.content.folder

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to use."""
        return not self.content.files

    def files(self) -> dict[str, str]:
        """The files of the workflows that can be named, by name; those in further directories are only included."""
        found: dict[str, str] = {}
        for suffix, _ in _FORMS:
            for path in self.content.files:
                room, _, file = path.rpartition("/")
                if room == WORKFLOWS and file.endswith(suffix):
                    found.setdefault(file.removesuffix(suffix), path)
        return dict(sorted(found.items()))

    def path(self, name: str) -> Path:
        """The file of a workflow."""
        return self.folder / self.files()[name]

    def text(self, name: str) -> WorkflowText:
        """The text of a workflow."""
        return self.text_at(self.files()[name])

    def text_at(self, path: str) -> WorkflowText:
        """The text of one of its documents, by its path in the folder."""
        data = self.content.files.get(path)
        if data is None:
            raise NotFoundError(
                f"the project has no file `{path}`",
                suggestions=[f"workflows of a project include those below `{self.folder / WORKFLOWS}`"],
            )
        if len(data) > MAX_DOCUMENT:
            raise DocumentError(f"`{path}` has {len(data)} bytes; at most {MAX_DOCUMENT} are allowed")
        return WorkflowText(data=data, form=next(form for suffix, form in _FORMS if path.endswith(suffix)))

    def find_included(self, wanted: str, base: str) -> str:
        """The path in the folder that a path written in a document of the directory `base` means.

        It never leads out of the project's workflows: nothing else was agreed to.
        """
        path = posixpath.normpath(posixpath.join(base, wanted))
        if not path.startswith(f"{WORKFLOWS}/") or wanted.startswith(("~", "/")) or "\\" in wanted or "\0" in wanted:
            raise SecurityError(
                f"a workflow of the project at `{self.folder.parent}` includes `{show(wanted, 100)}`, which is outside "
                f"its `{self.folder.name}/{WORKFLOWS}`",
                suggestions=[f"move the file below `{self.folder / WORKFLOWS}`: only that was agreed to"],
            )
        return path

    def description(self, name: str) -> str:
        """What a workflow says of itself; "" if it cannot be read."""
        try:
            return str(read_document(name, self.text(name), strict=False)[1]["description"])
        except DocumentError:
            return ""

    def nodes(self) -> dict[str, bytes]:
        """The sources of node types, by file name."""
        prefix = f"{NODES}/"
        files = self.content.files.items()
        return {path.removeprefix(prefix): data for path, data in files if path.startswith(prefix)}

    def options(self) -> dict[str, str | int | bool]:
        """The options that it may set and does, each with a valid value."""
        given = self._given_options()
        options = {key: option.parse(value) for key, value in given.items() if (option := _settable(key))}
        return {key: value for key, value in options.items() if value is not None}

    def problems(self) -> list[str]:
        """What of the folder has no effect, and why."""
        return [*self.content.left_out, *self._two_files(), *self._option_problems()]

    def _given_options(self) -> Json:
        try:
            given = orjson.loads(self.content.files.get(OPTIONS, b"{}"))
        except orjson.JSONDecodeError:
            return {}
        return given if isinstance(given, dict) else {}

    def _option_problems(self) -> Iterator[str]:
        data = self.content.files.get(OPTIONS)
        if data is not None and not self._given_options() and data.strip() != b"{}":
            yield f"`{OPTIONS}` is not a JSON object; it has no effect"
        used = self.options()
        for key, value in self._given_options().items():
            if (option := _settable(key)) is None:
                known = "is for the person to set, not for a project" if known_option(key) else "is not an option"
                yield f"`{show(key)}` in `{OPTIONS}` {known}; it has no effect"
            elif key not in used:
                taken = option.takes()
                yield f"`{show(str(value))}` is not a valid value for `{key}` in `{OPTIONS}`; it takes {taken}"

    def _two_files(self) -> Iterator[str]:
        used = self.files()
        for path in self.content.files:
            room, _, file = path.rpartition("/")
            name = file.rpartition(".")[0]
            if room == WORKFLOWS and used[name] != path:
                yield f"`{used[name]}` is used; there is also `{path}`"


def _settable(key: str) -> Option | None:
    """An option that a project may set: what decides about access, cost or storage is the person's alone."""
    option = known_option(key)
    return None if option is None or option.policy else option


def merge_options(projects: list[Project]) -> Mapping[str, tuple[str | int | bool, Path]]:
    """The options that projects set, nearest project first, and where each comes from."""
    merged: dict[str, tuple[str | int | bool, Path]] = {}
    for project in reversed(projects):
        merged.update((key, (value, project.folder)) for key, value in project.options().items())
    return merged
