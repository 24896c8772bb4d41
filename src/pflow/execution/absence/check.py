"""Reports what steps read although it may be absent: its step was skipped, failed, or was not on the way."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pflow.core.document.document import Document
from pflow.core.document.issue import Severity
from pflow.core.document.position import Path
from pflow.core.expression.reference import Guard, references
from pflow.core.frozen import Frozen
from pflow.core.interface import MISSING
from pflow.core.template.compiled import Compiled
from pflow.core.template.computed import Computed, One, compile_expression
from pflow.execution.absence.flow import ANYTHING, FAILED, GIVEN, UNLESS_FAILED, VISITED, Endings, Flow
from pflow.execution.absence.narrowing import Narrowing, names_error
from pflow.execution.node_check import CheckedNode, Report


class Reading(Frozen):
    """Something that a node reads of another one. `text` is how it is written, `guards` what is known there.

    What an edge decides by is read after its `action`.
    """

    root: str
    path: tuple[str | int, ...]
    text: str
    at: Path
    guards: tuple[Guard, ...] = ()
    is_template: bool = False
    own: tuple[str, ...] = ()
    in_when: bool = False
    action: str = ""


class AbsenceCheck:
    """Goes through all that the nodes of a document read."""

    def __init__(
        self,
        document: Document,
        nodes: Sequence[CheckedNode],
        flow: Flow,
        report: Report,
    ) -> None:
        self._document = document
        self._nodes = nodes
        self._ids = {node.spec.id: node for node in nodes}
        self._flow = flow
        self._narrowing = Narrowing(nodes, flow)
        self._report = report

    def check(self) -> None:
        """Report every reading that may find nothing, once in each place."""
        for node in self._nodes:
            told: set[tuple[Path, str]] = set()
            for reading in _readings(node):
                given = self._ids.get(reading.root)
                if given is None or (reading.at, reading.root) in told or self._is_there(node, given, reading):
                    continue
                told.add((reading.at, reading.root))
                self._tell(node, given, reading)

    def _is_there(self, node: CheckedNode, given: CheckedNode, reading: Reading) -> bool:
        endings = _wanted(given, reading)
        if given.section != node.section:
            return self._narrowing.is_sure(given.index, node.index, endings, reading.guards, reading.own, started=True)
        if not self._flow.leads(given.index, node.index) and not (given is node and reading.action):
            return True  # that it can never have run before is reported as such
        if reading.action and given is node:
            failed = node.fails_with(reading.action)
            passes = node.when is not None and reading.action == "default"
            if not passes and endings >= (FAILED if failed else GIVEN):
                return True
        elif self._flow.is_sure(given.index, node.index, endings):
            return True
        started = not reading.in_when and (not reading.action or reading.action != "default")
        return self._narrowing.is_sure(given.index, node.index, endings, reading.guards, reading.own, started=started)

    def _tell(self, node: CheckedNode, given: CheckedNode, reading: Reading) -> None:
        name, other = node.spec.id, given.spec.id
        what = f"`{reading.text}`"
        severity: Severity = "warning"
        same = ""
        if given.section != node.section:
            why, severity = f"`{other}` need not have run when `{node.section}` begins", "error"
        elif _wanted(given, reading) == FAILED:
            why = f"`{other}` need not have failed"
            severity = self._severity(given)
        elif given is node and not reading.action:
            why, severity = "at its first visit there is no earlier one", "error"
        elif given.when is not None and self._is_visited(given, node, reading, UNLESS_FAILED):
            why, severity = f"`{other}` is skipped unless `{given.spec.when}`", "error"
            same = "" if reading.action or reading.in_when else ", or write the same `when` here"
        elif self._is_visited(given, node, reading, VISITED):
            why = f"`{other}` may have failed, and then has only `{other}.error`"
            severity = self._severity(given)
        else:
            why = f"not every way to `{name}` leads through `{other}`"
        uses = f"an edge of `{name}` uses" if reading.action else f"`{name}` uses"
        self._report(
            "maybe-absent",
            f"{uses} {what}, but {why}",
            reading.at,
            hint=_hint(reading) + same,
            severity=severity,
            newer=True,
        )

    def _is_visited(self, given: CheckedNode, node: CheckedNode, reading: Reading, endings: Endings) -> bool:
        return (given is node and bool(reading.action)) or self._flow.is_sure(given.index, node.index, endings)

    def _severity(self, given: CheckedNode) -> Severity:
        """An error where `on` handles the failure; documents with `edges` for it are older than this check."""
        on = any(
            edge.source == given.spec.id and given.fails_with(edge.action) and edge.path[0] == "nodes"
            for edge in self._document.edges
        )
        is_user = given.entry is not None and given.entry.is_user
        return "error" if on and not is_user else "warning"


def _wanted(given: CheckedNode, reading: Reading) -> Endings:
    """How a node must have ended for a reading to find something."""
    if not reading.path:
        return ANYTHING
    return FAILED if names_error(given, reading.path) else GIVEN


def _hint(reading: Reading) -> str:
    if reading.is_template:
        return f"give a default: `{reading.text[:-1]}:-…}}`"
    asked = reading.text if reading.path else f"steps.{reading.text}"
    return f"ask first: `has({asked}) ? {reading.text} : …`"


def _readings(node: CheckedNode) -> Iterator[Reading]:
    """All that a node reads, in the order in which it does so."""
    here: Path = ("nodes", node.index)
    batch = (node.batch.name, f"{node.batch.name}_index") if node.batch is not None else ()
    if isinstance(node.when, Computed):
        for found in _of_expressions(node.when, (*here, "when")):
            yield found._replace(in_when=True)
    if node.batch is not None:
        yield from _of_templates(node.batch.items, (*here, "batch", "items"), ())
        if isinstance(node.batch.where, Computed):
            yield from _of_expressions(node.batch.where, (*here, "batch", "where"), batch)
    for name, compiled in node.params.items():
        at: Path = (*here, "params", name) if name in node.spec.params else here
        if isinstance(compiled, Computed):
            yield from _of_expressions(compiled, at, batch)
        else:
            yield from _of_templates(compiled, at, batch)
    if node.approve is not None and node.approve.prompt is not None:
        yield from _of_templates(node.approve.prompt, (*here, "approve", "prompt"), batch)
    for action, ways in node.choices_made.items():
        before: tuple[Guard, ...] = ()
        for way in ways:
            condition = None if way.when == "else" else compile_expression(way.when, "condition")[0]
            if isinstance(condition, One):
                for found in _of_expressions(condition, (*way.path, "when")):
                    yield found._replace(action=action, guards=(*before, *found.guards))
                before = (*before, Guard(condition=condition.expression.tree, holds=False))


def _of_templates(compiled: Compiled, at: Path, own: Sequence[str]) -> Iterator[Reading]:
    for reference in compiled.references:
        root, path = reference.root, reference.path
        if root == "steps" and path:
            root, path = str(path[0]), path[1:]
        if reference.default is MISSING and reference.root not in own:
            yield Reading(root=root, path=path, text=reference.text, at=at, is_template=True)


def _of_expressions(compiled: Computed, at: Path, batch: Sequence[str] = ()) -> Iterator[Reading]:
    own = (*batch, *compiled.local)
    for place in compiled.expressions():
        for found in references(place.expression):
            if not found.is_test and found.root not in own:
                yield Reading(
                    root=found.root,
                    path=found.path,
                    text=found.text,
                    at=(*at, *place.path),
                    guards=found.guards,
                    own=own,
                )
