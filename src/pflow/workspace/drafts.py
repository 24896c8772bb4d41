"""The use cases of workflows that are still being worked on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from pflow.core.document.issue import Issue
from pflow.core.errors import DocumentError
from pflow.core.file.home import Home
from pflow.core.file.home_clock import DAY, note_day, sure_now
from pflow.core.frozen import Frozen
from pflow.core.library.workflow_manager import WorkflowManager
from pflow.core.library.workflow_text import text_of_parsed
from pflow.core.setting.settings import Settings
from pflow.execution.check import Checked
from pflow.execution.workflow_source import Workflow
from pflow.workspace.inclusion import refuse_relative

MOST_DRAFTS = 500
"""Drafts that are kept; an agent in a loop makes any number."""


class SavedDraft(Frozen):
    """A draft that was saved: where, what is still wrong with it, and which drafts had to make room for it."""

    path: Path
    issues: tuple[Issue, ...]
    dropped: tuple[str, ...]


class Drafts:
    """The drafts of a home: kept by name, possibly invalid, deleted after a while."""

    def __init__(self, home: Home, check: Callable[[Workflow], Checked]) -> None:
        self._home = home
        self._check = check
        self._manager = WorkflowManager.for_drafts(home)

    def save(self, workflow: Workflow, name: str, description: str = "") -> SavedDraft:
        """Keep a document, in place of what the draft was before. The oldest drafts go if there are too many."""
        checked = self._check(workflow)
        value = checked.source.parsed.places.value
        if not isinstance(value, Mapping) or "nodes" not in value:
            checked.ready()
            raise DocumentError("a draft needs `nodes`")
        path = self._manager.save(name, text_of_parsed(checked.source.parsed), description, overwrite=True)
        dropped = self._manager.trim(MOST_DRAFTS, keep=name)
        return SavedDraft(path=path, issues=checked.errors, dropped=tuple(dropped))

    def promote(self, name: str, final_name: str, description: str) -> Path:
        """Move a draft into the library, once it can run. Never replaces anything there."""
        self._manager.load_ir(name)
        checked = self._check(f"{name}.json")  # the library may have a workflow of the draft's name
        checked.ready()
        refuse_relative(checked.source)
        return self._manager.promote(name, final_name, description)

    def clean_old(self) -> list[str]:
        """Delete drafts that are older than the settings allow."""
        if not self._home.drafts.is_dir():
            return []
        note_day(self._home)
        now = sure_now(self._home)
        keep_days = Settings.load(self._home).number("drafts.keep_days")
        return [] if now is None else self._manager.clean(keep_days * DAY, now=now)
