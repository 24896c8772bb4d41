"""Checks the expressions of a document against what is known of the names that they use."""

from __future__ import annotations

from collections.abc import Mapping

from pflow.core.document.document import Document
from pflow.core.document.position import Path
from pflow.core.expression.check import check
from pflow.core.expression.problem import Checked, Problem
from pflow.core.template.compiled import STATE, Compiled, ValuePath
from pflow.core.template.computed import Computed, Place
from pflow.core.value_type import UNKNOWN, ValueType, of_kinds
from pflow.execution.expression.names import NameTypes
from pflow.execution.fit.given import GivenTypes
from pflow.execution.node_check import CheckedNode, Report
from pflow.execution.reference import References


class ExpressionCheck:
    """Checks expressions, node by node."""

    def __init__(self, document: Document, given: GivenTypes, references: References, report: Report) -> None:
        self._document = document
        self._given = given
        self._references = references
        self._report = report

    def check_params(self, node: CheckedNode) -> None:
        """The parameters of a node that hold expressions."""
        for name, compiled in node.params.items():
            if isinstance(compiled, Computed):
                node.params[name] = self.check(node, compiled, ("nodes", node.index, "params", name))

    def check_conditions(self, node: CheckedNode) -> None:
        """The condition under which a node runs, which is for the whole of a batch, and that for its items."""
        if isinstance(node.when, Computed) and not self._names_item(node, node.when):
            node.when = self.check(node, node.when, ("nodes", node.index, "when"), in_batch=False)
        if node.batch is not None and isinstance(node.batch.where, Computed):
            where = self.check(node, node.batch.where, ("nodes", node.index, "batch", "where"))
            node.batch = node.batch._replace(where=where)
        if isinstance(node.until, Computed):
            node.until = self.check(node, node.until, ("nodes", node.index, "retry", "until"), after=True)

    def _names_item(self, node: CheckedNode, when: Computed) -> bool:
        """Report an item of the batch in the condition of the whole."""
        batch = node.spec.batch
        names = NameTypes(self._document, self._given, self._references, node.index, {})
        own = (batch.name, f"{batch.name}_index") if batch is not None else ()
        used = next((read.root for read in when.references if read.root in own and read.root not in names), "")
        if used:
            self._report(
                "unknown-name",
                f"expression `{node.spec.when}`: `{used}` is not known here, because `when` is for the whole batch",
                ("nodes", node.index, "when"),
                hint=f"to choose items write it in `batch`: `where: {node.spec.when}`",
            )
        return bool(used)

    def check(
        self,
        node: CheckedNode,
        compiled: Computed,
        path: Path,
        *,
        in_batch: bool = True,
        after: bool = False,
    ) -> Compiled:
        """One value; returns it with what checking has found out about it.

        `after` the node it sees what that gave, in a batch what it gave for one item.
        """
        local = self._local(node, compiled) if in_batch else {}
        if after:
            own = self._given.outputs_of(node.index, node.spec.id)
            local = {**local, node.spec.id: own.at(("results", 0)) if in_batch and node.spec.batch else own}
        types = NameTypes(self._document, self._given, self._references, node.index, local)
        checked: dict[ValuePath, Checked] = {}
        for place in compiled.expressions():
            checked[place.path] = self._one(place, types, node, path)
        return compiled.replaced({at: found.expression for at, found in checked.items()})

    def types_of(self, node: CheckedNode, compiled: Computed) -> dict[ValuePath, ValueType]:
        """The types of the expressions of a value, by their places in it; nothing is reported."""
        types = NameTypes(self._document, self._given, self._references, node.index, self._local(node, compiled))
        return {place.path: check(place.expression, types).type for place in compiled.expressions()}

    def _one(self, place: Place, types: NameTypes, node: CheckedNode, path: Path) -> Checked:
        found = check(place.expression, types, must_be=place.must_be)
        for problem in found.problems:
            message, hint = self._in_document(problem, node)
            at = f"line {problem.line}, column {problem.column}" if "\n" in place.expression.text else ""
            self._report(
                problem.code,
                f"expression `{place.expression.text}`{', ' + at if at else ''}: {message}",
                (*path, *place.path),
                known=problem.known,
                hint=hint,
                severity="warning" if problem.is_warning else "error",
            )
        return found

    def _in_document(self, problem: Problem, node: CheckedNode) -> tuple[str, str]:
        """What a problem means in this document: a name that is not known here may be known elsewhere in it."""
        name = problem.unknown
        if name and name in node.spec.params and node.is_built_in("let"):
            hint = f"`{name}` is computed by this same step; compute it in a `let` step before this one"
            return f"`{name}` is not known yet", hint
        if name and any(spec.id == name for spec in self._document.nodes):
            message = f"node `{name}` cannot have run before this one"
            return message, "in a loop, a node knows its own last visit" if name == node.spec.id else "move it up"
        if name == STATE:
            from pflow.execution.keeping.declared import how_to_declare  # lazy: only for this issue

            return "the document declares no `state`", how_to_declare()
        return problem.message, problem.hint

    def _local(self, node: CheckedNode, compiled: Computed) -> Mapping[str, ValueType]:
        """The item that an expression is computed for, in a batch or for each item of a list."""
        local: dict[str, ValueType] = {}
        if node.spec.batch is not None:
            item = node.spec.batch.name
            local |= {item: self._given.item(node.index), f"{item}_index": of_kinds("integer")}
        if compiled.local and compiled.local[0] not in local:
            item, index = compiled.local
            local |= {item: self._each(node), index: of_kinds("integer")}
            if node.is_built_in("wait"):
                from pflow.execution.asking.wait_check import found_by  # lazy: many documents never wait

                local[item] = found_by(node.spec.params)
        return local

    def _each(self, node: CheckedNode) -> ValueType:
        items = node.params.get("items")
        if items is None:
            return UNKNOWN
        found = self._given.of_value(node.index, items, node.spec.params.get("items"))
        return found.elements if found.is_array else UNKNOWN
