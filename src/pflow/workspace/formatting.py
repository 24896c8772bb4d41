"""The use case of the canonical form: a document by path, name or text, formed, compared and written back."""

from __future__ import annotations

import difflib
from pathlib import Path

from pflow.core.document.form.canonical import canonical_text
from pflow.core.file.author_file import replace_file
from pflow.core.file.home import Home
from pflow.core.frozen import Frozen
from pflow.core.library.reference import resolve
from pflow.core.library.workflow_manager import WorkflowManager
from pflow.core.library.workflow_text import text_of_parsed
from pflow.execution.workflow_source import Source, Workflow, find_source


class Formatted(Frozen):
    """A document in canonical form beside what it was. `version` is the one that writing it made in the library."""

    name: str
    before: str
    after: str
    version: int | None = None

    @property
    def changed(self) -> bool:
        """Whether the document was not in canonical form."""
        return self.before != self.after

    def difference(self) -> list[str]:
        """What the form changes, line by line."""
        before, after = self.before.splitlines(), self.after.splitlines()
        label = f"{self.name}, formatted"
        return list(difflib.unified_diff(before, after, fromfile=self.name, tofile=label, lineterm=""))


def form_workflow(workflow: Workflow, home: Home, *, write: bool) -> Formatted:
    """The canonical form of a workflow; with `write` it replaces the file, the draft, or what the library has."""
    source = find_source(workflow, home)
    before = text_of_parsed(source.parsed).data.decode()
    found = Formatted(name=source.shown, before=before, after=canonical_text(source.parsed))
    if not (write and found.changed) or source.is_inline:
        return found
    return found._replace(version=_write(source, found, home))


def _write(source: Source, found: Formatted, home: Home) -> int | None:
    if not (source.library or source.draft):
        path: Path = resolve(source.shown, home).path
        replace_file(path, found.before.encode(), found.after.encode())
        return None
    manager = WorkflowManager(home) if source.library else WorkflowManager.for_drafts(home)
    name = source.library or source.draft
    text = manager.text(name)
    formed = text._replace(data=found.after.encode())
    if source.draft:
        manager.save(name, formed, overwrite=True)
        return None
    manager.save(name, formed, replaces=manager.version(name))
    return manager.version(name)
