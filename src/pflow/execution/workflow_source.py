"""Where workflows come from: names, paths, documents and recorded runs, each with the children it includes."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from pflow.core.document.issue import Issue
from pflow.core.document.parse import Parsed, parse_value, read_file
from pflow.core.document.position import Places
from pflow.core.errors import DocumentError
from pflow.core.file.home import Home
from pflow.core.frozen import Frozen
from pflow.core.library.workflow_manager import WorkflowManager, resolve
from pflow.engine.plan import Plan
from pflow.execution.compiler import Load, child_key

Workflow = str | Mapping[str, object] | Parsed
"""A workflow: its name, a path, a document, or a text that was parsed already."""


class Source(NamedTuple):
    """A document, what to call it, its name in the library if it has one, and how to find what it includes.

    `draft` is its name among the drafts, if it is one.
    """

    parsed: Parsed
    shown: str
    library: str
    load: Load
    draft: str = ""


class Checked(Frozen):
    """A workflow after checking: a plan, or everything that is wrong with it.

    `library` is its name in the library, `draft` the one among the drafts.
    """

    plan: Plan | None
    issues: tuple[Issue, ...]
    places: Places
    source: str
    library: str = ""
    draft: str = ""

    @property
    def ok(self) -> bool:
        """Whether it can run."""
        return self.plan is not None

    def ready(self) -> Plan:
        """The plan; raises `DocumentError` with all issues."""
        if self.plan is None:
            count = len(self.issues)
            message = self.issues[0].message if count == 1 else f"{count} issues in `{self.source}`"
            raise DocumentError(message, issues=self.issues)
        return self.plan


def find_source(workflow: Workflow, home: Home, folder: Path | None = None) -> Source:
    """The document that `workflow` means. The paths in a file start from `folder`, where the file lies."""

    def load(wanted: object, base: Path | None = folder) -> tuple[Parsed, Load]:
        found = find_source(wanted if isinstance(wanted, str) else parse_value(wanted), home, base)
        return found.parsed, found.load

    if isinstance(workflow, Parsed):
        return Source(workflow, "document", "", load)
    if not isinstance(workflow, str):
        return Source(parse_value(workflow), "document", "", load)
    if folder is not None and not workflow.startswith(("~", "/")) and ("/" in workflow or "." in workflow):
        workflow = str(folder / workflow)
    found = resolve(workflow, home)
    if found.kind == "path":
        return Source(read_file(found.path), workflow, "", lambda wanted: load(wanted, found.path.parent))
    is_library = found.kind == "library"
    manager = WorkflowManager(home) if is_library else WorkflowManager.for_drafts(home)
    document = parse_value(manager.load_ir(found.name))
    library, draft = (found.name, "") if is_library else ("", found.name)
    return Source(document, found.name, library, lambda wanted: load(wanted, None), draft)


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
