"""The projects that a directory belongs to: which are agreed to, and what there is to say about the others."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from pflow.core.advice import Advice
from pflow.core.errors import SecurityError, StorageError
from pflow.core.file.home import Home
from pflow.core.frozen import Frozen
from pflow.core.project.search import find_folders

if TYPE_CHECKING:
    from pflow.core.project.agreement import Agreements, Difference
    from pflow.core.project.project import Project


class Waiting(Frozen):
    """A project that is not agreed to as it is now. `difference` is None for one that never was."""

    project: Project
    difference: Difference | None = None
    is_declined: bool = False


Ask = Callable[[Waiting], bool]
"""Shows a person what a project brings, and asks whether it may be used."""


class Projects:
    """The folders above one directory, read on first use and then no more: what is agreed to is what is used.

    Without a directory there are none. `ask` is called for a project that waits when something of it could be used.
    """

    def __init__(self, home: Home, start: Path | None = None, *, ask: Ask | None = None) -> None:
        self._home = home
        self._start = start
        self._ask = ask
        self._looked = False
        self._refusals: list[str] = []
        self._notices: list[str] = []

    @cached_property
    def agreements(self) -> Agreements:
        """What the person has agreed to."""
        from pflow.core.project.agreement import Agreements  # lazy: most directories belong to no project

        return Agreements(self._home)

    def agreed(self) -> list[Project]:
        """The projects to use, nearest first. A person who can be asked is asked about the others."""
        if self._start is None:
            return []
        found = self._found
        if not self._looked:
            self._looked = True
            for index, each in enumerate(found):
                if isinstance(each, Waiting) and not each.is_declined:
                    found[index] = self._settle(each)
        return [each for each in found if not isinstance(each, Waiting)]

    def with_nodes(self) -> list[Project]:
        """The projects to use for their node types: about one that brings none, nobody is asked."""
        has_waiting = any(isinstance(each, Waiting) and each.project.nodes() for each in self._found)
        return self.agreed() if has_waiting else self.agreed_already()

    def agreed_already(self) -> list[Project]:
        """The same, without asking anything or saying that something waits."""
        return [each for each in self._found if not isinstance(each, Waiting)]

    def waiting(self) -> list[Waiting]:
        """The projects that are not agreed to as they are now."""
        self.agreed()
        return [each for each in self._found if isinstance(each, Waiting)]

    def find(self, name: str) -> Project | None:
        """The nearest project with a workflow of that name."""
        return next((project for project in self.agreed() if name in project.files()), None)

    def names(self) -> list[str]:
        """The workflows of all projects to use."""
        return list(dict.fromkeys(name for project in self.agreed() for name in project.files()))

    @property
    def notices(self) -> list[str]:
        """What a person should know of projects, if anything of them could have been used."""
        if not self._looked:
            return []
        said = self.agreements.notices if self._found else []
        return [*said, *self._refusals, *self._notices]

    @cached_property
    def _found(self) -> list[Project | Waiting]:
        return [] if self._start is None else self._look(self._start)

    def _look(self, start: Path) -> list[Project | Waiting]:
        found: list[Project | Waiting] = []
        for folder in find_folders(start, self._home):
            # lazy: most directories belong to no project
            from pflow.core.project.content import read_content
            from pflow.core.project.project import Project

            try:
                if not folder.is_symlink() and not folder.is_dir():
                    continue  # a file of this name is not pflow's
                project = Project(content=read_content(folder))
            except SecurityError as error:
                self._refusals.append(error.message)
                continue
            if project.is_empty:
                continue
            try:
                found.append(examine(project, self.agreements))
            except StorageError as error:
                self._refusals.append(f"`{folder}` is not used: {error.message}")
        return found

    def _settle(self, waiting: Waiting) -> Project | Waiting:
        project = waiting.project
        if self._ask is not None:
            if self._ask(waiting):
                self.agreements.agree(project.content)
                return project
            self.agreements.decline(project.content)
            return waiting._replace(is_declined=True)
        self._notices.append(notice(waiting))
        return waiting


def examine(project: Project, agreements: Agreements) -> Project | Waiting:
    """The project, if it is agreed to as it is now; else what there is to ask."""
    if agreements.holds(project.content):
        return project
    difference = agreements.difference(project.content)
    return Waiting(project=project, difference=difference, is_declined=agreements.is_declined(project.content))


def notice(waiting: Waiting) -> Advice:
    """That a project waits, what it brings, and what the person can do."""
    project = waiting.project
    why = "has changed since you agreed to it" if waiting.difference else "has not been agreed to"
    return Advice(
        "the folder `{folder}` brings {brings} and is not used: it {why}; "
        "look at it with `{show_project}`, then `{agree_project}`",
        folder=str(project.folder),
        brings=summary(project),
        why=why,
        root=_root(waiting),
    )


def hint(waiting: Waiting) -> Advice:
    """Where something that is missing may be."""
    root = _root(waiting)
    return Advice("it may be in a project that is not agreed to; `{show_project}` shows what that brings", root=root)


def _root(waiting: Waiting) -> str:
    """The directory of a project, as a word of a command."""
    import shlex  # lazy: only for a project that waits

    return shlex.quote(str(waiting.project.folder.parent))


def summary(project: Project) -> str:
    """What a project brings, in numbers."""
    counts = [
        (len(project.files()), "workflow"),
        (len(project.nodes()), "file of nodes"),
        (len(project.options()), "option"),
    ]
    said = [f"{count} {_plural(what, count)}" for count, what in counts if count]
    return " and ".join(filter(None, [", ".join(said[:-1]), *said[-1:]])) or "files of no use"


def _plural(what: str, count: int) -> str:
    return what if count == 1 else what.replace("file", "files") if what.startswith("file") else f"{what}s"
