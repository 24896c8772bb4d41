"""The values of a document, compiled: templates, commands and expressions, with what is wrong with their form."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from pflow.core.document.document import KeyMapping, NodeSpec
from pflow.core.document.position import Path
from pflow.core.interface import EXPRESSION_SLOTS, Slot
from pflow.core.template.compiled import Compiled, Problem
from pflow.core.template.template import compile_value
from pflow.engine.plan import Approve, PlanBatch
from pflow.execution.node_check import CheckedNode, Report
from pflow.execution.node_param import params_beside


class Values:
    """Compiles the values of one document. `strict` says whether the policy refuses values in command lines."""

    def __init__(self, mappings: Mapping[str, KeyMapping], strict: Callable[[], bool], report: Report) -> None:
        self._mappings = mappings
        self._strict = strict
        self._report = report

    def template(self, value: object, path: Path) -> Compiled:
        """A value that templates may stand in."""
        compiled, problems = compile_value(value)
        for problem in problems:
            self._report("template", problem.message, path, hint=problem.hint, newer=problem.newer)
        return compiled

    def condition(self, text: str, slot: Slot, path: Path, item: str = "item") -> Compiled | None:
        """A condition that stands beside the params of a node, if it does."""
        if not text:
            return None
        from pflow.core.template.computed import compile_expression  # lazy: many documents have none

        compiled, problems = compile_expression(text, slot, item)
        for problem in problems:
            self._report("expression", problem.message, path, hint=problem.hint)
        return compiled

    def approve(self, node: CheckedNode) -> Approve | None:
        """What is asked before a node takes effect, if anything is."""
        asked = node.spec.approve
        if asked is None:
            return None
        path: Path = ("nodes", node.index, "approve", "prompt")
        return Approve(prompt=self.template(asked.prompt, path) if asked.prompt else None, timeout=asked.timeout)

    def batch(self, node: CheckedNode) -> PlanBatch | None:
        """What a node goes through, if it is a batch."""
        batch, path = node.spec.batch, ("nodes", node.index, "batch")
        if batch is None:
            return None
        return PlanBatch(
            items=self.template(batch.items, (*path, "items")),
            name=batch.name,
            concurrency=batch.concurrency,
            keep_going=batch.on_error == "continue",
            max_failed=batch.max_failed,
            spread=batch.spread,
            where=self.condition(batch.where, "where", (*path, "where"), batch.name),
        )

    def param(self, value: object, slot: Slot, spec: NodeSpec) -> tuple[Compiled, list[Problem]]:
        """A parameter of a node, and what is wrong with it."""
        if slot == "shell":
            return self._command(value, spec)
        if slot not in EXPRESSION_SLOTS:
            return compile_value(value, slot)
        from pflow.core.template.computed import compile_expression  # lazy: many documents have none

        item = spec.params.get("as", "item")
        return compile_expression(value, slot, item if isinstance(item, str) else "item")

    def _command(self, command: object, spec: NodeSpec) -> tuple[Compiled, list[Problem]]:
        """A command, checked with the variables and the input that it gets."""
        from pflow.core.template.shell_policy import check_strict  # lazy: many documents have no commands

        beside = params_beside(spec, self._mappings.get(spec.id))
        compiled, problems = compile_value(command, "shell", beside=beside)
        found = check_strict(command, beside)
        return compiled, [*problems, *(found if found and self._strict() else ())]
