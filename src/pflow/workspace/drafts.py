"""The use cases of workflows that are still being worked on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from pflow.core.document.issue import Issue
from pflow.core.errors import DocumentError
from pflow.core.file.home import Home
from pflow.core.file.home_clock import DAY, note_day, sure_now
from pflow.core.library.workflow_manager import WorkflowManager
from pflow.core.setting.settings import Settings
from pflow.execution.check import Checked
from pflow.execution.workflow_source import Workflow


class Drafts:
    """The drafts of a home: kept by name, possibly invalid, deleted after a while."""

    def __init__(self, home: Home, check: Callable[[Workflow], Checked]) -> None:
        self._home = home
        self._check = check
        self._manager = WorkflowManager.for_drafts(home)

    def save(self, workflow: Workflow, name: str, description: str = "") -> tuple[Path, tuple[Issue, ...]]:
        """Keep a document, in place of what the draft was before; also gives what is still wrong with it."""
        checked = self._check(workflow)
        raw = checked.source.parsed.places.value if checked.plan is None else checked.plan.raw["document"]
        if not isinstance(raw, Mapping) or "nodes" not in raw:
            checked.ready()
            raise DocumentError("a draft needs `nodes`")
        document = {**raw, "description": description} if description else raw
        return self._manager.save(name, document, overwrite=True), checked.errors

    def promote(self, name: str, final_name: str, description: str) -> Path:
        """Move a draft into the library, once it can run. Never replaces anything there."""
        self._manager.load_ir(name)
        self._check(f"{name}.json").ready()  # the library may have a workflow of the draft's name
        return self._manager.promote(name, final_name, description)

    def clean_old(self) -> list[str]:
        """Delete drafts that are older than the settings allow."""
        if not self._home.drafts.is_dir():
            return []
        note_day(self._home)
        now = sure_now(self._home)
        keep_days = Settings.load(self._home).number("drafts.keep_days")
        return [] if now is None else self._manager.clean(keep_days * DAY, now=now)
