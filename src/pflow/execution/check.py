"""Checks a workflow: its document against the node types of a home. Starts nothing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path as FilePath

from pflow.core.document.issue import CREDENTIAL, Issue
from pflow.core.document.parse import Parsed
from pflow.core.document.position import Path
from pflow.core.errors import DocumentError, PflowError
from pflow.core.frozen import Frozen
from pflow.core.setting.redactor import Redactor
from pflow.core.setting.token_shape import has_certain_token
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
    def notices(self) -> tuple[Issue, ...]:
        """What its author may want to know, and may well have meant."""
        return tuple(issue for issue in self.issues if issue.severity == "notice")

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

    def strict() -> bool:
        return wiring.settings.option("shell.strict") is True

    name = source.library or parsed.document.name or FilePath(source.shown).stem
    plan, issues = compile_plan(parsed, wiring.registry, source.load, name=name, recorded=recorded, strict=strict)
    return Checked(source=source, plan=plan, issues=(*issues, *_credentials(wiring, parsed)))


def _credentials(wiring: Wiring, parsed: Parsed) -> Iterator[Issue]:
    """A warning for every credential that stands in the document itself."""
    document = parsed.document.raw if parsed.document is not None else {}
    redactor = Redactor()
    with suppress(PflowError):  # damaged settings do not keep a document from being checked
        if wiring.find_redactor().value(document) is not document:
            redactor = wiring.redactor
    for path, text in _texts(document, ()):
        known = redactor.names_in(text)
        if known or has_certain_token(text):
            what = f"the value of `{known[0]}`" if known else "what looks like a credential"
            issue = parsed.places.issue(
                CREDENTIAL,
                f"the document holds {what}; anyone who can read the document can read it",
                path,
                hint="declare an input with `secret: true` and write its template here",
            )
            yield issue._replace(severity="warning")


def _texts(value: object, path: Path) -> Iterator[tuple[Path, str]]:
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from _texts(item, (*path, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _texts(item, (*path, index))
