"""Where workflows come from: names, paths, documents, their text and recorded runs, each with its sub-workflows."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from pflow.core.document.parse import Parsed, parse_text, parse_value, read_file
from pflow.core.errors import NotFoundError, SecurityError
from pflow.core.file.home import Home
from pflow.core.library.reference import Resolved, is_path, is_text, resolve
from pflow.core.library.workflow_manager import WorkflowManager
from pflow.core.project.projects import Projects, hint
from pflow.execution.compiler import Load, child_key

if TYPE_CHECKING:
    from pflow.core.project.project import Project

Workflow = str | Mapping[str, object] | Parsed
"""A workflow: its name, a path, a document, the text of one, or one that was parsed already."""


class Source(NamedTuple):
    """A document, what to call it, its name in the library if it has one, and how to find what it includes.

    `draft` is its name among the drafts, if it is one, and `project` the project that brings it; it is called by its
    name there. An inline document was given as such, not found anywhere. `state_scope` is where a run that goes on
    keeps its state.
    """

    parsed: Parsed
    shown: str
    library: str
    load: Load
    draft: str = ""
    is_inline: bool = False
    project: Project | None = None
    state_scope: str = ""


def find_source(workflow: Workflow, home: Home, projects: Projects | None = None, folder: Path | None = None) -> Source:
    """The document that `workflow` means. The paths in a file start from `folder`, where the file lies."""

    def load(wanted: object, base: Path | None = folder) -> tuple[Parsed, Load]:
        found = find_source(wanted if isinstance(wanted, str) else parse_value(wanted), home, projects, base)
        return found.parsed, found.load

    if isinstance(workflow, str) and is_text(workflow):
        workflow = parse_text(workflow)
    if not isinstance(workflow, str):
        parsed = workflow if isinstance(workflow, Parsed) else parse_value(workflow)
        return Source(parsed, "document", "", load, is_inline=True)
    if folder is not None and not workflow.startswith(("~", "/")) and ("/" in workflow or "." in workflow):
        workflow = str(folder / workflow)
    if projects is not None and not is_path(workflow) and (project := projects.find(workflow)) is not None:
        return find_in_project(project, workflow, home, projects)
    found = _resolve(workflow, home, projects)
    if found.kind == "path":
        parsed = read_file(found.path)
        if parsed.issues:
            _check_shown(found.path)
        return Source(parsed, workflow, "", lambda wanted: load(wanted, found.path.parent))
    is_library = found.kind == "library"
    manager = WorkflowManager(home) if is_library else WorkflowManager.for_drafts(home)
    document = manager.stored_text(found.name).parse()
    library, draft = (found.name, "") if is_library else ("", found.name)
    return Source(document, found.name, library, lambda wanted: load(wanted, None), draft)


def _resolve(workflow: str, home: Home, projects: Projects | None) -> Resolved:
    if projects is None:
        return resolve(workflow, home)
    try:
        return resolve(workflow, home, projects.names())
    except NotFoundError as error:
        error.suggestions = (*error.suggestions, *map(hint, projects.waiting()))
        raise


def find_in_project(project: Project, name: str, home: Home, projects: Projects) -> Source:
    """A workflow of a project, by its name there."""

    def load(wanted: object) -> tuple[Parsed, Load]:
        found = find_source(wanted if isinstance(wanted, str) else parse_value(wanted), home, projects)
        return found.parsed, found.load

    return _project_source(project, project.files()[name], name, load)


def _project_source(project: Project, path: str, shown: str, load: Load) -> Source:
    """A document of a project. It includes files of the same project by path, and workflows by name like any other."""

    def load_included(wanted: object) -> tuple[Parsed, Load]:
        if not isinstance(wanted, str) or is_text(wanted) or not is_path(wanted):
            return load(wanted)
        included = project.find_included(wanted, posixpath.dirname(path))
        found = _project_source(project, included, wanted, load)
        return found.parsed, found.load

    return Source(project.text_at(path).parse(), shown, "", load_included, project=project)


def _check_shown(path: Path) -> None:
    """Raise `SecurityError` if steps may not read a file: issues would show its lines to the caller."""
    from pflow.nodes.file.policy import is_readable, real_path  # lazy: a document without issues shows nothing

    if not is_readable(real_path(str(path))):
        raise SecurityError(
            "refused to read the workflow: the path leads to a place that steps may not read, and holds no workflow",
            suggestions=["check the path; a workflow is a JSON or YAML file"],
        )


def recorded_source(recorded: object, shown: str, home: Home, projects: Projects | None = None) -> Source:
    """The document of a run as it was recorded, with the children it had then."""
    bundle = recorded if isinstance(recorded, Mapping) else {}
    children = bundle.get("children")

    def load(wanted: object) -> tuple[Parsed, Load]:
        kept = children.get(child_key(wanted)) if isinstance(children, Mapping) else None
        if isinstance(kept, Mapping):
            document = kept if isinstance(wanted, str) else {**kept, "document": wanted}
            found = recorded_source(document, shown, home, projects)
        else:
            found = find_source(wanted if isinstance(wanted, str) else parse_value(wanted), home, projects)
        return found.parsed, found.load

    return Source(parse_value(bundle.get("document")), shown, "", load)
