"""Checks a workflow: its document against the node types of a home. Starts nothing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path as FilePath

import orjson

from pflow.core.advice import Advice
from pflow.core.document.document import Document
from pflow.core.document.issue import CREDENTIAL, NO_SCOPE, Issue
from pflow.core.document.parse import Parsed
from pflow.core.document.position import Path
from pflow.core.errors import DocumentError, PflowError
from pflow.core.frozen import Frozen
from pflow.core.setting.redactor import Redactor
from pflow.core.setting.token_shape import has_certain_token, may_hold_token
from pflow.engine.plan import Plan
from pflow.execution.compiler import compile_document
from pflow.execution.wiring import Wiring
from pflow.execution.workflow_source import Source, Workflow, find_source


class Checked(Frozen):
    """A workflow after checking: a plan unless there are errors, and what was found, errors first.

    A workflow without a plan may have a `sketch`, to be looked at. `missing` is what its document requires and is not
    there: it may be saved so, and not run.
    """

    source: Source
    plan: Plan | None
    issues: tuple[Issue, ...]
    sketch: Plan | None = None
    missing: tuple[Issue, ...] = ()

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
            raise self._refusal(self.errors)
        return self.plan

    def runnable(self) -> Plan:
        """The plan of a workflow that has all it requires; raises `DocumentError` with everything that it lacks."""
        if self.plan is None or self.missing:
            raise self._refusal((*self.errors, *self.missing))
        return self.plan

    def shown_plan(self) -> Plan:
        """The plan or its sketch, to be looked at; raises `DocumentError` for what is not a document."""
        return self.sketch or self.ready()

    def _refusal(self, stopping: tuple[Issue, ...]) -> DocumentError:
        message = stopping[0].message if len(stopping) == 1 else f"{len(stopping)} issues in `{self.source.shown}`"
        advice = Advice("`{setup_workflow}` shows what is missing, and adds it", workflow=self.source.shown)
        has_setup = any(issue in self.missing and issue.code != NO_SCOPE for issue in stopping)
        suggestions = [advice] if has_setup and not self.source.is_inline else []
        return DocumentError(message, issues=(*stopping, *self.warnings), suggestions=suggestions)


def check_workflow(wiring: Wiring, workflow: Workflow) -> Checked:
    """Find a workflow and check it. What a process that lives on has read before is not read again."""
    if wiring.plans is not None and isinstance(workflow, Mapping):
        workflow = wiring.plans.parse(workflow)
    return check_source(wiring, find_source(workflow, wiring.home, wiring.projects))


def check_source(wiring: Wiring, source: Source, *, recorded: bool = False) -> Checked:
    """A document as a plan, and everything that was found in it.

    Of a document that a run has `recorded`, what only newer checks find is a warning.
    """
    parsed = source.parsed
    if parsed.document is None:  # nothing is read or written for what is not a document
        return Checked(source=source, plan=None, issues=parsed.issues)

    named = source.library or (source.shown if source.project else "")
    name = named or parsed.document.name or FilePath(source.shown).stem
    keeps_as = source.state_scope or named or source.draft or parsed.document.name
    plan, issues, sketch = _compile(wiring, source, parsed.document, name, keeps_as, recorded=recorded)
    unnamed: tuple[Issue, ...] = ()
    if plan is not None and "" in plan.keeps:
        from pflow.execution.keeping.declared import unnamed_state  # lazy: only for this issue

        unnamed = (unnamed_state(plan, parsed.places),)
    checked = Checked(source=source, plan=plan, issues=issues, sketch=sketch, missing=unnamed)
    if recorded or (plan is not None and not _requires_something(plan.raw)):
        return checked
    return _with_needs(wiring, checked, parsed.document)


def _compile(
    wiring: Wiring, source: Source, document: Document, name: str, keeps_as: str, *, recorded: bool
) -> tuple[Plan | None, tuple[Issue, ...], Plan | None]:
    """The plan of a document, what was found in it, and a sketch without a plan; a known plan is not made anew."""
    memo, types = wiring.plans, wiring.registry

    def strict() -> bool:
        return wiring.settings.option("shell.strict") is True

    key = None
    if memo is not None and not recorded and not source.parsed.issues:
        with suppress(PflowError):  # damaged settings do not keep a document from being checked
            key = memo.key(document, name=name, keeps_as=keeps_as, strict=strict())
    if memo is not None and key is not None and (known := memo.find(key, types)) is not None:
        return known, tuple(_credentials(wiring, source.parsed, looks=False)), None
    plan, issues, sketch = compile_document(
        source.parsed, types, source.load, name=name, keeps_as=keeps_as, recorded=recorded, strict=strict
    )
    issues = (*issues, *_credentials(wiring, source.parsed))
    if memo is not None and key is not None and plan is not None and not issues:
        memo.keep(key, types, plan)
    return plan, issues, sketch


def _with_needs(wiring: Wiring, checked: Checked, document: Document) -> Checked:
    """A checked workflow with what its documents require and is not there, and what is wrong with that itself."""
    # lazy: few documents require anything
    from pflow.execution.need.requirement import check_servers, find_needs, missing_issues, point_to_server

    source = checked.source
    wrong = tuple(check_servers(document, source.parsed))
    told = {issue.path for issue in wrong}
    missing = find_needs(wiring, source).missing
    issues = point_to_server(document, checked.issues, missing)
    return Checked(
        source=source,
        plan=None if wrong else checked.plan,
        issues=(*wrong, *(issue for issue in issues if issue.code != CREDENTIAL or issue.path not in told)),
        sketch=checked.sketch or (checked.plan if wrong else None),
        missing=(
            *checked.missing,
            *missing_issues(source, (found for found in missing if f"requires.servers.{found.name}" not in told)),
        ),
    )


def _requires_something(raw: object) -> bool:
    """Whether a document, as a plan keeps it with those that it includes, has a `requires`."""
    if not isinstance(raw, Mapping):
        return False
    document, children = raw.get("document"), raw.get("children")
    if isinstance(document, Mapping) and document.get("requires") is not None:
        return True
    return isinstance(children, Mapping) and any(_requires_something(child) for child in children.values())


def _credentials(wiring: Wiring, parsed: Parsed, *, looks: bool = True) -> Iterator[Issue]:
    """A warning for every credential that stands in the document itself; with `looks`, also for what looks like one."""
    document = parsed.document.raw if parsed.document is not None else {}
    redactor: Redactor | None = None
    with suppress(PflowError):  # damaged settings do not keep a document from being checked
        if wiring.find_redactor().value(document) is not document:
            redactor = wiring.redactor
    if redactor is None and not (looks and _may_hold_token(document)):
        return
    for path, text in _texts(document, ()):
        known = redactor.names_in(text) if redactor is not None else ()
        if known or has_certain_token(text):
            what = f"the value of `{known[0]}`" if known else "what looks like a credential"
            issue = parsed.places.issue(
                CREDENTIAL,
                f"the document holds {what}; anyone who can read the document can read it",
                path,
                hint="declare an input with `secret: true` and write its template here",
            )
            yield issue._replace(severity="warning")


def _may_hold_token(document: Mapping[str, object]) -> bool:
    """Whether any text of a document begins like a credential; looking at each by itself takes longer."""
    try:
        return may_hold_token(orjson.dumps(document).decode())
    except orjson.JSONEncodeError:
        return True


def _texts(value: object, path: Path) -> Iterator[tuple[Path, str]]:
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from _texts(item, (*path, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _texts(item, (*path, index))
