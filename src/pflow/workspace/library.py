"""The use cases of a library that its owner reads, changes, compares and shares."""

from __future__ import annotations

import difflib
import os
from collections.abc import Callable
from pathlib import Path

from pflow.core.advice import Advice
from pflow.core.document.difference import Change, compare_documents
from pflow.core.errors import DocumentError, ExistsError, UsageError
from pflow.core.file.atomic import make_folder, read_private, remove, write_atomic
from pflow.core.file.file_name import check_name
from pflow.core.file.home import Home
from pflow.core.frozen import Frozen
from pflow.core.library.history import MAX_FILE, Version
from pflow.core.library.reference import is_path
from pflow.core.library.workflow_manager import WorkflowManager
from pflow.core.library.workflow_text import WorkflowText, text_of_parsed
from pflow.core.project.project import Project
from pflow.core.project.projects import Projects
from pflow.execution.check import Checked
from pflow.execution.workflow_source import Source, Workflow, find_in_project, find_source
from pflow.workspace.inclusion import bundle, check_free, refuse_relative
from pflow.workspace.keeping.state import KeptState
from pflow.workspace.project import ProjectFolders


class SavedText(Frozen):
    """A saved workflow as its author wrote it. That of a project has version 0: its history is not pflow's."""

    name: str
    text: WorkflowText
    version: int
    path: Path

    def as_dict(self) -> dict[str, object]:
        """The workflow as JSON."""
        text = self.text.data.decode(errors="replace")
        form, path = self.text.form, str(self.path)
        version = {"version": self.version} if self.version else {"origin": "project"}
        return {"name": self.name, **version, "form": form, "path": path, "text": text}


class Comparison(Frozen):
    """How two workflows differ: in meaning, and line by line. `changes` is None where one of them cannot be read."""

    before: str
    after: str
    changes: tuple[Change, ...] | None
    lines: tuple[str, ...]

    def as_dict(self) -> dict[str, object]:
        """The comparison as JSON."""
        changes = None if self.changes is None else [change.as_dict() for change in self.changes]
        return {"before": self.before, "after": self.after, "changes": changes}


class Edit(Frozen):
    """A copy of a saved text that a person is working on. It stays until it was saved or is of no use."""

    name: str
    base: SavedText
    path: Path


class Library:
    """The saved workflows of a home. What is saved is checked; what is read, compared or restored need not be valid."""

    def __init__(
        self,
        home: Home,
        check: Callable[[Source], Checked],
        projects: Projects,
        folders: ProjectFolders,
        state: KeptState,
    ) -> None:
        self._home = home
        self._check = check
        self._manager = WorkflowManager(home)
        self._projects = projects
        self._folders = folders
        self._state = state

    def read(self, name: str, version: int | None = None) -> SavedText:
        """What a project or the library has under a name, or an earlier version of it."""
        project = self._projects.find(name)
        if project is not None:
            if version is not None:
                self._check_versioned(name)
            return SavedText(name=name, text=project.text(name), version=0, path=project.path(name))
        current = self._manager.version(name)
        text = self._manager.text(name) if version is None else self._manager.version_text(name, version)
        return SavedText(name=name, text=text, version=version or current, path=self._manager.path(name))

    def versions(self, name: str) -> list[Version]:
        """Every version that is kept, newest first."""
        self._check_versioned(name)
        return self._manager.versions(name)

    def origin(self, name: str) -> object:
        """Where a workflow of someone else came from; None for others."""
        return self._manager.describe(name).metadata.get("origin")

    def restore(self, name: str, version: int) -> int:
        """Save an earlier version again; returns the number that it has now."""
        self._check_versioned(name)
        return self._manager.restore(name, version)

    def prune(self, name: str, keep: int) -> int:
        """Delete all but the newest versions; says how many are gone."""
        return self._manager.prune(name, keep)

    def rename(self, name: str, new_name: str) -> Path:
        """Give a workflow another name; what it keeps between runs comes along."""
        self._check_saved(name)
        with self._state.carried(name, new_name):
            return self._manager.rename(name, new_name)

    def delete(self, name: str) -> None:
        """Remove a workflow, earlier versions included. What it keeps between runs stays, as its runs do."""
        self._check_saved(name)
        self._manager.delete(name)

    def replace(self, workflow: Workflow, name: str, version: int, description: str = "") -> int:
        """Save a checked workflow in place of the version that the caller has read; returns the new version."""
        checked = self._check(find_source(workflow, self._home, self._projects))
        checked.ready()
        self.check_included(checked)
        self._manager.save(name, text_of_parsed(checked.source.parsed), description, replaces=version)
        return self._manager.version(name)

    def check_included(self, checked: Checked) -> list[str]:
        """What to know of files that a workflow includes; raises `DocumentError` if they are found only from here."""
        return refuse_relative(checked.source)

    def save_with_included(
        self, checked: Checked, name: str, description: str = "", *, overwrite: bool = False
    ) -> Path:
        """Save a checked workflow, and what it includes by relative paths under names of its own.

        Nothing is saved if one of those names is taken by something else; raises `ExistsError` then.
        """
        found = bundle(checked.source, name)
        new = check_free(self._manager, found.included)
        if self._manager.exists(name) and not overwrite:
            self._manager.save(name, found.text)  # raises
        for each in new:
            self._manager.save(each, found.included[each])
        return self._manager.save(name, found.text, description, overwrite=overwrite)

    def compare(self, name: str, *others: str) -> Comparison:
        """How a workflow differs from what it was, from a version, between two versions, or from another workflow.

        Each of `others` is the number of a version, or a name or path. Without any, the last two versions differ.
        """
        sides = others
        if not others or any(other.isdecimal() for other in others):
            self._check_versioned(name)
        if not others:
            sides = (str(self.versions(name)[:2][-1].number), name)
        elif len(others) == 1:
            sides = (others[0], name) if others[0].isdecimal() else (name, others[0])
        return compare_texts(self._side(name, sides[0]), self._side(name, sides[1]))

    def begin_edit(self, name: str, start: Path | None = None) -> Edit:
        """A copy of what is saved, or of the text at `start`, to be changed in a file of its own."""
        base = self.read(name)
        folder = self._home.workflows / ".edits"
        if start is not None and start.parent == folder:
            return Edit(name=name, base=base, path=start)
        make_folder(folder)
        path = folder / f"{name}-{os.urandom(4).hex()}{base.text.suffix}"
        write_atomic(path, base.text.data if start is None else start.read_bytes())
        return Edit(name=name, base=base, path=path)

    def finish_edit(self, edit: Edit) -> int | None:
        """Save an edited text; returns the new version, 0 for a project's workflow, None if nothing changed.

        A text that is not valid, or whose workflow someone else has changed meanwhile, is kept where it is.
        """
        data = read_private(edit.path, MAX_FILE)
        if data == edit.base.text.data:
            remove(edit.path)
            return None
        try:
            self._save_edit(edit, data)
        except (DocumentError, ExistsError) as error:
            kept = Advice(
                "your text is kept; go on with `{edit_workflow_from}`", workflow=edit.name, file=str(edit.path)
            )
            error.suggestions = (*error.suggestions, kept)
            raise
        remove(edit.path)
        return edit.base.version and self._manager.version(edit.name)

    def _side(self, name: str, side: str) -> tuple[str, WorkflowText]:
        if side.isdecimal():
            return f"{name}, version {side}", self._manager.version_text(name, int(side))
        if is_path(side) or not self._manager.exists(side) or self._projects.find(side) is not None:
            return side, text_of_parsed(find_source(side, self._home, self._projects).parsed)
        return f"{side}, version {self._manager.version(side)}", self._manager.text(side)

    def _save_edit(self, edit: Edit, data: bytes) -> None:
        """Save an edited text, if it can run where its workflow is."""
        text = WorkflowText(data=data, form="json" if edit.path.suffix == ".json" else "yaml")
        project = self._projects.find(edit.name) if edit.base.version == 0 else None
        if project is None:
            checked = self._check(find_source(str(edit.path), self._home, self._projects))
            checked.ready()
            self.check_included(checked)
            self._manager.save(edit.name, text, replaces=edit.base.version)
        else:
            edited = Project(content=project.content.with_file(project.files()[edit.name], data))
            self._check(find_in_project(edited, edit.name, self._home, self._projects)).ready()
            self._folders.replace(edit.name, edit.base.text, text)

    def _check_saved(self, name: str) -> None:
        """Raise `UsageError` for a name that only a project has: its files change only when that was meant."""
        check_name(name)
        if not self._manager.exists(name) and (project := self._projects.find(name)) is not None:
            raise UsageError(
                f"`{name}` is not in the library; it is a workflow of the project at `{project.folder.parent}`",
                suggestions=["add `--project` to change the project's file"],
            )

    def _check_versioned(self, name: str) -> None:
        """Raise `UsageError` for a workflow that a project brings, of which pflow keeps no versions."""
        project = self._projects.find(name)
        if project is not None:
            raise UsageError(
                f"pflow keeps no versions of `{name}`: it is a workflow of the project at `{project.folder.parent}`",
                suggestions=[f"its history is that of its repository: `git log -p {project.path(name)}`"],
            )


def compare_texts(before: tuple[str, WorkflowText], after: tuple[str, WorkflowText]) -> Comparison:
    """How two texts differ, each with what to call it."""
    (old_label, old), (new_label, new) = before, after
    documents = old.parse().document, new.parse().document
    changes = None
    if documents[0] is not None and documents[1] is not None:
        changes = tuple(compare_documents(documents[0], documents[1]))
    lines = difflib.unified_diff(_lines(old), _lines(new), fromfile=old_label, tofile=new_label, lineterm="")
    return Comparison(before=old_label, after=new_label, changes=changes, lines=tuple(lines))


def _lines(text: WorkflowText) -> list[str]:
    return text.data.decode(errors="replace").splitlines()
