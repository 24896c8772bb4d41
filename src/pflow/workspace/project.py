"""The use cases of projects: what a folder brings, agreeing to it, and changing the workflows in it."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Literal

from pflow.core.advice import Advice
from pflow.core.document.issue import CREDENTIAL
from pflow.core.errors import ExistsError, NotFoundError, SecurityError, UsageError
from pflow.core.file.atomic import locked, remove, write_atomic
from pflow.core.file.file_name import check_name
from pflow.core.file.home import Home, absolute
from pflow.core.file.os_call import storage_error
from pflow.core.frozen import Frozen
from pflow.core.library.workflow_manager import PATH_SUFFIXES
from pflow.core.library.workflow_text import WorkflowText, text_of_parsed
from pflow.core.project.agreement import Difference
from pflow.core.project.content import WORKFLOWS, Content, read_content
from pflow.core.project.project import Project
from pflow.core.project.projects import Projects, Waiting, examine
from pflow.core.project.search import FOLDER, find_folders, is_home
from pflow.execution.check import Checked
from pflow.workspace.keeping.state import KeptState

State = Literal["agreed", "new", "changed", "declined", "refused", "empty"]


class ProjectView(Frozen):
    """A project's folder as a person sees it: whether it is used, what it brings, and what changed since."""

    folder: Path
    state: State
    reason: str = ""
    workflows: tuple[tuple[str, str], ...] = ()
    """Names and descriptions."""

    nodes: tuple[str, ...] = ()
    """Files of Python code that runs as the person."""

    options: tuple[tuple[str, str | int | bool], ...] = ()
    problems: tuple[str, ...] = ()
    difference: Difference | None = None

    def as_dict(self) -> dict[str, object]:
        """The folder as JSON."""
        return {
            "folder": str(self.folder),
            "state": self.state,
            "workflows": [{"name": name, "description": about} for name, about in self.workflows],
            "nodes": list(self.nodes),
            "options": dict(self.options),
            "problems": list(self.problems),
            **({"reason": self.reason} if self.reason else {}),
            **({"difference": self.difference.as_dict()} if self.difference else {}),
        }


def view(found: Project | Waiting) -> ProjectView:
    """What a person is shown of a folder."""
    project = found.project if isinstance(found, Waiting) else found
    difference = found.difference if isinstance(found, Waiting) else None
    return ProjectView(
        folder=project.folder,
        state=_state(found),
        workflows=tuple((name, project.description(name)) for name in project.files()),
        nodes=tuple(project.nodes()),
        options=tuple(project.options().items()),
        problems=tuple(project.problems()),
        difference=difference,
    )


class ProjectFolders:
    """The folders of projects, seen from one directory. Only a person agrees."""

    def __init__(self, home: Home, projects: Projects, start: Path | None, state: KeptState) -> None:
        self._home = home
        self._projects = projects
        self._start = start
        self._state = state

    @property
    def notices(self) -> list[str]:
        """Which projects are not used, and why."""
        self._projects.agreed()
        return self._projects.notices

    def show(self, path: Path | None = None) -> list[ProjectView]:
        """Every folder that counts in a directory, nearest first, or the folder of one project."""
        return [self._view(folder) for folder in self._folders(path)]

    def agree(self, ask: Callable[[ProjectView], bool], path: Path | None = None) -> list[ProjectView]:
        """Ask about every folder that is not agreed to yet; returns how all of them stand then."""
        settled = []
        for folder in self._folders(path):
            found = self._examine(folder)
            shown = view(found)
            if isinstance(found, Waiting) and shown.state != "empty" and ask(shown):
                self._projects.agreements.agree(found.project.content)
                shown = shown._replace(state="agreed", difference=None)
            settled.append(shown)
        return settled

    def forget(self, path: Path | None = None) -> list[Path]:
        """Take agreements back, also about folders that are gone; returns the folders that had any."""
        return [folder for folder in self._folders(path, gone=True) if self._projects.agreements.forget(folder)]

    # Changing workflows

    def save(self, checked: Checked, name: str, *, overwrite: bool = False) -> Path:
        """Keep a workflow in the nearest project's folder; without one, in a new one in the directory itself."""
        checked.ready()
        self._check_name(name)
        if any(issue.code == CREDENTIAL for issue in checked.issues):
            raise SecurityError(
                "the workflow holds what looks like a credential, which a project must not carry",
                suggestions=["declare an input with `secret: true` and write its template instead"],
            )
        text = text_of_parsed(checked.source.parsed)
        project = self._nearest()
        with self._lock():
            before = project.files().get(name)
            if before is not None and not overwrite:
                raise ExistsError(
                    f"the project has a workflow `{name}`: `{project.folder / before}`",
                    suggestions=["choose another name, or replace it with `--overwrite`"],
                )
            file = before if before is not None and before.endswith(text.suffix) else f"{WORKFLOWS}/{name}{text.suffix}"
            content = self._write(project.content, file, text.data)
            if before not in (None, file):
                content = self._delete(content, str(before))
            self._projects.agreements.agree(content)
        return project.folder / file

    def replace(self, name: str, before: WorkflowText, text: WorkflowText) -> Path:
        """Write an edited text; raises `ExistsError` if the file is not what the editor began with."""
        project = self._project_of(name)
        with self._lock():
            file = project.files()[name]
            if read_content(project.folder).files.get(file) != before.data:
                raise ExistsError(f"`{project.folder / file}` has changed while you edited it")
            self._projects.agreements.agree(self._write(project.content, file, text.data))
        return project.folder / file

    def rename(self, name: str, new_name: str) -> Path:
        """Give a project's workflow another name, which must be free there; what it keeps comes along."""
        self._check_name(new_name)
        project = self._project_of(name)
        if new_name in project.files():
            raise ExistsError(f"the project has a workflow `{new_name}`", suggestions=["choose another name"])
        with self._lock(), self._state.carried(name, new_name):
            old = project.files()[name]
            new = f"{WORKFLOWS}/{new_name}{Path(old).suffix}"
            content = self._write(project.content, new, project.content.files[old])
            self._projects.agreements.agree(self._delete(content, old))
        return project.folder / new

    def delete(self, name: str) -> Path:
        """Delete the file of a project's workflow."""
        project = self._project_of(name)
        with self._lock():
            file = project.files()[name]
            self._projects.agreements.agree(self._delete(project.content, file))
        return project.folder / file

    def _project_of(self, name: str) -> Project:
        project = self._projects.find(name)
        if project is None:
            raise NotFoundError(
                f"no project here has a workflow `{name}`",
                details={"available": self._projects.names()},
                suggestions=[Advice("`{list_workflows}` shows where each comes from")],
            )
        return project

    def _nearest(self) -> Project:
        """The nearest project, to write into; one that waits has to be agreed to first."""
        start = self._needed_start()
        for folder in find_folders(start, self._home):
            if folder.is_dir() and not folder.is_symlink():
                found = self._examine(folder)
                if isinstance(found, Waiting) and not found.project.is_empty:
                    raise UsageError(
                        f"`{folder}` is not agreed to, so nothing is saved into it",
                        suggestions=["look at it with `pflow project show`, then `pflow project agree`"],
                    )
                return found.project if isinstance(found, Waiting) else found
        folder = Path(os.path.realpath(start)) / FOLDER
        if is_home(folder, self._home):
            raise UsageError(
                f"`{folder}` is pflow's home, not the folder of a project",
                suggestions=["change to the directory of your project"],
            )
        return Project(content=Content(folder=folder, files={}))

    def _write(self, content: Content, file: str, data: bytes) -> Content:
        path = content.folder / file
        try:
            for folder in (content.folder, path.parent):
                folder.mkdir(exist_ok=True)
            kept = path if path.exists() else path.parent
            mode = kept.stat().st_mode & (0o777 if kept == path else 0o666)  # as open as the directory that it is in
            write_atomic(path, data)
            path.chmod(mode)
        except OSError as error:
            raise storage_error("write", path, error) from error
        return content.with_file(file, data)

    def _delete(self, content: Content, file: str) -> Content:
        remove(content.folder / file)
        return content.with_file(file, None)

    def _check_name(self, name: str) -> None:
        if check_name(name).lower().endswith(PATH_SUFFIXES):
            raise UsageError(f"the name `{name}` would be taken for a file", suggestions=["leave the suffix out"])

    def _lock(self) -> AbstractContextManager[None]:
        """Locks out other writers, with a file in the home: nothing is left in the project's folder."""
        return locked(self._home.root / "project-files")

    # Folders

    def _folders(self, path: Path | None, *, gone: bool = False) -> list[Path]:
        if path is None:
            return list(find_folders(self._needed_start(), self._home))
        given = absolute(path)
        folder = Path(os.path.realpath(given.parent if given.name == FOLDER else given)) / FOLDER
        if is_home(folder, self._home):
            raise UsageError(f"`{folder}` is pflow's home, not the folder of a project")
        if not gone and not os.path.lexists(folder):
            raise NotFoundError(f"there is no folder `{folder}`", suggestions=["give the directory that holds it"])
        return [folder]

    def _needed_start(self) -> Path:
        if self._start is None:
            raise UsageError(
                "there is no directory to look for projects in",
                suggestions=["change to a directory that exists; in Python, open the workspace with `project=…`"],
            )
        return self._start

    def _view(self, folder: Path) -> ProjectView:
        try:
            return view(self._examine(folder))
        except SecurityError as error:
            return ProjectView(folder=folder, state="refused", reason=error.message)

    def _examine(self, folder: Path) -> Project | Waiting:
        return examine(Project(content=read_content(folder)), self._projects.agreements)


def _state(found: Project | Waiting) -> State:
    if isinstance(found, Project):
        return "agreed"
    if found.project.is_empty:
        return "empty"
    if found.is_declined:
        return "declined"
    return "new" if found.difference is None else "changed"
