"""Checks a workflow: its document against the node types of a home. Starts nothing."""

from __future__ import annotations

from pathlib import Path

from pflow.core.document.issue import Issue
from pflow.core.errors import DocumentError
from pflow.core.frozen import Frozen
from pflow.engine.plan import Plan
from pflow.execution.compiler import compile_plan
from pflow.execution.wiring import Wiring
from pflow.execution.workflow_source import Source


class Checked(Frozen):
    """A workflow after checking: a plan unless there are errors, and what was found, errors first."""

    source: Source
    plan: Plan | None
    issues: tuple[Issue, ...]

    @property
    def errors(self) -> tuple[Issue, ...]:
        """What prevents it from running."""
        return tuple(issue for issue in self.issues if issue.severity == "error")

    @property
    def warnings(self) -> tuple[Issue, ...]:
        """What is probably a mistake, but does not prevent a run."""
        return tuple(issue for issue in self.issues if issue.severity == "warning")

    @property
    def ok(self) -> bool:
        """Whether it can run."""
        return self.plan is not None

    def ready(self) -> Plan:
        """The plan; raises `DocumentError` with everything that was found."""
        if self.plan is None:
            errors = self.errors
            message = errors[0].message if len(errors) == 1 else f"{len(errors)} issues in `{self.source.shown}`"
            raise DocumentError(message, issues=self.issues)
        return self.plan


def check_source(wiring: Wiring, source: Source, *, recorded: bool = False) -> Checked:
    """A document as a plan, and everything that was found in it.

    Of a document that a run has `recorded`, what only newer checks find is a warning.
    """
    parsed = source.parsed
    if parsed.document is None:  # nothing is read or written for what is not a document
        return Checked(source=source, plan=None, issues=parsed.issues)
    name = source.library or parsed.document.name or Path(source.shown).stem
    plan, issues = compile_plan(parsed, wiring.registry, source.load, name=name, recorded=recorded)
    return Checked(source=source, plan=plan, issues=issues)
