"""Checks a test against the workflow that it tests: steps, outputs and types that do not exist, expressions."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from pflow.core.document.issue import Issue
from pflow.core.document.position import Path, Places
from pflow.core.expression.check import check
from pflow.core.expression.tree import Expression
from pflow.core.json_type import canonical
from pflow.core.suggest import did_you_mean
from pflow.core.suite.suite import Case
from pflow.core.value_type import UNKNOWN, ValueType, of_fields, of_kinds, of_schema
from pflow.engine.binding import misfit
from pflow.engine.plan import Plan
from pflow.execution.replay.coverage import edges_of


def paths_of(plan: Plan, prefix: str = "", depth: int = 0) -> Iterator[str]:
    """The path of every node: `deploy/fetch` for one of a sub-workflow."""
    for node in plan.drawn.nodes:
        yield f"{prefix}{node.id}"
        if node.child is not None and depth < 20:
            yield from paths_of(node.child, f"{prefix}{node.id}/", depth + 1)


def types_of(plan: Plan) -> set[str]:
    """The node types that a workflow uses, those of sub-workflows too."""
    found = {node.type for node in plan.drawn.nodes}
    for node in plan.nodes:
        if node.child is not None:
            found |= types_of(node.child)
    return found


class CaseCheck:
    """Checks the tests of one workflow. `types` are all node types that there are."""

    def __init__(self, plan: Plan, places: Places, types: Collection[str]) -> None:
        self._plan = plan
        self._places = places
        self._steps = list(paths_of(plan))
        self._used = types_of(plan)
        self._types = types

    def check(self, case: Case) -> Iterator[Issue]:
        """What is wrong with a test."""
        here: Path = ("tests", case.name)
        expect: Path = (*here, "expect")
        expected = case.expected
        for name, value in case.inputs.items():
            yield from self._known(name, self._plan.inputs, "input", (*here, "inputs", name), key=True)
            declared = self._plan.inputs.get(name)
            problem = misfit(value, declared.type) if declared is not None else ""
            if problem:
                yield self._places.issue("wrong-type", f"input `{name}` {problem}", (*here, "inputs", name))
        for field, names in (("stub", case.stubs), ("real", case.real)):
            yield from self._all_known(names, (*here, field))
        for index, name in enumerate(expected.reached):
            yield from self._known(name, self._steps, "step", (*expect, "reached", index))
        yield from self._all_known(expected.steps, (*expect, "steps"))
        for name in expected.outputs if self._plan.outputs else ():  # without any, what its last steps gave counts
            yield from self._known(name, self._plan.outputs, "output", (*expect, "outputs", name), key=True)
        pairs = {(edge.source, edge.target) for _, _, edge in edges_of(self._plan)}
        for index, (source, target) in enumerate(expected.edges):
            if (source, target) not in pairs:
                known = [f"{one} -> {other}" for one, other in sorted(pairs)]
                yield from self._known(f"{source} -> {target}", known, "edge", (*expect, "edges", index))
        for kind in expected.calls:
            if kind not in self._used and kind not in self._types:
                yield from self._known(kind, sorted(self._used), "node type", (*expect, "calls", kind), key=True)
        for index, expression in enumerate(expected.that):
            yield from self._expression(expression, (*expect, "that", index))

    def _all_known(self, names: Collection[str], path: Path) -> Iterator[Issue]:
        is_list = not isinstance(names, Mapping)
        for index, name in enumerate(names):
            yield from self._known(name, self._steps, "step", (*path, index if is_list else name), key=not is_list)

    def _known(self, name: str, known: Collection[str], what: str, path: Path, *, key: bool = False) -> Iterator[Issue]:
        if name not in known:
            message = f"the workflow has no {what} `{name}`" if what != "node type" else f"there is no {what} `{name}`"
            hint = did_you_mean(name, known)
            code = f"unknown-{what.replace(' ', '-')}"
            yield self._places.issue(code, message, path, known=tuple(known), hint=hint, key=key)

    def _expression(self, expression: Expression, path: Path) -> Iterator[Issue]:
        for problem in check(expression, self._name_types(), must_be="boolean").problems:
            if problem.is_warning:
                continue
            message = f"expression `{expression.text}`, column {problem.column}: {problem.message}"
            issue = self._places.issue(problem.code, message, path, known=problem.known, hint=problem.hint)
            yield self._at_column(issue, expression.text, problem.line, problem.column)

    def _at_column(self, issue: Issue, text: str, line: int, column: int) -> Issue:
        """The issue at the very place in the expression, where that stands in the file as it is."""
        if line == 1 and issue.line and "\n" not in text:
            start = self._places.line(issue.line).find(text, issue.column - 1)
            if issue.column - 1 <= start <= issue.column:
                return issue._replace(column=start + column)
        return issue

    def _name_types(self) -> dict[str, ValueType]:
        raw = self._plan.raw.get("document")
        declared = raw.get("outputs") if isinstance(raw, Mapping) else None
        outputs = {name: _declared(declared, name) for name in self._plan.outputs}
        inputs = {name: of_kinds(given.type) for name, given in self._plan.inputs.items()}
        steps = dict.fromkeys(self._steps, UNKNOWN)
        status = of_schema({"type": "string", "enum": ["completed", "failed"]})
        calls = of_schema({"type": "object", "additionalProperties": {"type": "integer"}})
        return {
            "inputs": of_fields(inputs),
            "outputs": of_fields(outputs) if outputs else UNKNOWN,
            "steps": of_fields(steps),
            "status": status,
            "calls": calls,
            "error": UNKNOWN,
        }


def _declared(outputs: object, name: str) -> ValueType:
    one = outputs.get(name) if isinstance(outputs, Mapping) else None
    kind = one.get("type") if isinstance(one, Mapping) else None
    return of_kinds(canonical(kind)) if isinstance(kind, str) else UNKNOWN
