"""Where workflows come from: names, paths, documents, their text and recorded runs, each with its sub-workflows."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from pflow.core.document.parse import Parsed, parse_text, parse_value, read_file
from pflow.core.errors import SecurityError
from pflow.core.file.home import Home
from pflow.core.library.reference import resolve
from pflow.core.library.workflow_manager import WorkflowManager
from pflow.execution.compiler import Load, child_key

Workflow = str | Mapping[str, object] | Parsed
"""A workflow: its name, a path, a document, the text of one, or one that was parsed already."""


class Source(NamedTuple):
    """A document, what to call it, its name in the library if it has one, and how to find what it includes.

    `draft` is its name among the drafts, if it is one. An inline document was given as such, not found anywhere.
    """

    parsed: Parsed
    shown: str
    library: str
    load: Load
    draft: str = ""
    is_inline: bool = False


def find_source(workflow: Workflow, home: Home, folder: Path | None = None) -> Source:
    """The document that `workflow` means. The paths in a file start from `folder`, where the file lies."""

    def load(wanted: object, base: Path | None = folder) -> tuple[Parsed, Load]:
        found = find_source(wanted if isinstance(wanted, str) else parse_value(wanted), home, base)
        return found.parsed, found.load

    if isinstance(workflow, str) and _is_text(workflow):
        workflow = parse_text(workflow)
    if not isinstance(workflow, str):
        parsed = workflow if isinstance(workflow, Parsed) else parse_value(workflow)
        return Source(parsed, "document", "", load, is_inline=True)
    if folder is not None and not workflow.startswith(("~", "/")) and ("/" in workflow or "." in workflow):
        workflow = str(folder / workflow)
    found = resolve(workflow, home)
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


def _check_shown(path: Path) -> None:
    """Raise `SecurityError` if steps may not read a file: issues would show its lines to the caller."""
    from pflow.nodes.file.policy import is_readable, real_path  # lazy: a document without issues shows nothing

    if not is_readable(real_path(str(path))):
        raise SecurityError(
            "refused to read the workflow: the path leads to a place that steps may not read, and holds no workflow",
            suggestions=["check the path; a workflow is a JSON or YAML file"],
        )


def _is_text(workflow: str) -> bool:
    """Whether it is the text of a document: JSON begins with a brace, and YAML has lines with colons in them."""
    return workflow.lstrip().startswith("{") or ("\n" in workflow and ":" in workflow)


def recorded_source(recorded: object, shown: str, home: Home) -> Source:
    """The document of a run as it was recorded, with the children it had then."""
    bundle = recorded if isinstance(recorded, Mapping) else {}
    children = bundle.get("children")

    def load(wanted: object) -> tuple[Parsed, Load]:
        kept = children.get(child_key(wanted)) if isinstance(children, Mapping) else None
        if isinstance(kept, Mapping):
            found = recorded_source(kept if isinstance(wanted, str) else {**kept, "document": wanted}, shown, home)
        else:
            found = find_source(wanted if isinstance(wanted, str) else parse_value(wanted), home)
        return found.parsed, found.load

    return Source(parse_value(bundle.get("document")), shown, "", load)
