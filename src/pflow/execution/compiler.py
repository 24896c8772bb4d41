"""Document and registry in, plan or issues out. Needs no values, starts nothing, opens nothing."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import TYPE_CHECKING, Protocol

import orjson

from pflow.core.document.document import Document
from pflow.core.document.issue import SEVERITIES, Issue, Severity
from pflow.core.document.parse import Parsed
from pflow.core.document.position import Path
from pflow.core.errors import PflowError
from pflow.core.interface import EXPRESSION_SLOTS, MCP_SERVER, VALUE_SLOTS
from pflow.core.template.compiled import Compiled
from pflow.core.value_type import ValueType, of_kinds
from pflow.engine.graph import reach_through_loops
from pflow.engine.plan import MAX_DEPTH, MAX_VISITS, Plan, PlanNode
from pflow.engine.value import digest
from pflow.execution.absence.document import check_absence
from pflow.execution.asking.document import check_asking, may_wait
from pflow.execution.definition import define
from pflow.execution.expression.document import check_expressions, infer_types
from pflow.execution.fit.given import GivenTypes
from pflow.execution.fit.literal_fit import LiteralFit
from pflow.execution.fit.natural_key import fill_params
from pflow.execution.fit.taken import ITEMS, convert_to, read_default_as, taken_by
from pflow.execution.fit.template_fit import TemplateFit
from pflow.execution.fit.value import Values
from pflow.execution.foreign_syntax import warn_of_foreign
from pflow.execution.keeping.document import check_state, included_name, prepare_state, report_undeclared
from pflow.execution.lint.document_lint import lint_document
from pflow.execution.node_check import CheckedNode, check_actions, check_child_inputs, check_constant, report_unknown
from pflow.execution.node_param import NodeParams, find_entry, read_json, tool_params
from pflow.execution.plan_edges import plan_edges
from pflow.execution.reference import References, check_node
from pflow.execution.repeat.purity import check_repeats, purity_of, reads_when_known
from pflow.execution.section.membership import assign_sections
from pflow.execution.section.waiting import check_waiting

if TYPE_CHECKING:
    from pflow.registry.entry import Entry
    from pflow.registry.registry import Registry


class Load(Protocol):
    """Finds the document that a `workflow` node names, and how to find those that it names in turn."""

    def __call__(self, wanted: object, /) -> tuple[Parsed, Load]:
        """Raises `NotFoundError`."""


PROGRAMS = "programs"
"""Where a recorded document names what its program brought, by node type."""

MAX_INCLUDED = 10_000
"""Documents that one may include, counted through all levels. Each must be recorded with the run."""

Strict = Callable[[], bool]
"""Whether the policy refuses values in command lines; asked only where there are any."""


def child_key(wanted: object) -> str:
    """How a document's `children` name one of them: by its reference, or by its content where it stands inline."""
    return wanted if isinstance(wanted, str) else digest(orjson.dumps(wanted))


def compile_plan(
    parsed: Parsed,
    types: Registry,
    load: Load,
    *,
    name: str = "",
    keeps_as: str = "",
    recorded: bool = False,
    strict: Strict = lambda: False,
) -> tuple[Plan | None, tuple[Issue, ...]]:
    """Check a document against the node types there are, all of it, and freeze it into a plan.

    The plan is None when an issue is an error; warnings come with a plan. `keeps_as` is the name under which it keeps
    its state, unless the document says another one. Of a document that a run has `recorded`, what only newer checks
    find is a warning: a run that could begin can go on.
    """
    return compile_document(parsed, types, load, name=name, keeps_as=keeps_as, recorded=recorded, strict=strict)[:2]


def compile_document(
    parsed: Parsed, types: Registry, load: Load, *, name: str, keeps_as: str, recorded: bool, strict: Strict
) -> tuple[Plan | None, tuple[Issue, ...], Plan | None]:
    """The same, and where there is no plan a sketch of one, to be looked at."""
    compiler = _Compiler(parsed, load, _Shared(types=types, recorded=recorded, strict=strict), name, keeps_as)
    plan = compiler.compile()
    issues = tuple(sorted(compiler.issues, key=lambda issue: SEVERITIES.index(issue.severity)))
    return plan, issues, compiler.sketch


class _Shared:
    """What a document and all that it includes are compiled with."""

    def __init__(self, *, types: Registry, recorded: bool, strict: Strict) -> None:
        self.types = types
        self.recorded = recorded
        self.strict = strict
        self.literals = LiteralFit()
        self.numbers = count(1)


class _Compiler:
    def __init__(
        self,
        parsed: Parsed,
        load: Load,
        shared: _Shared,
        name: str,
        keeps_as: str | None,
        trail: tuple[str, ...] = (),
    ) -> None:
        self.places = parsed.places
        self.shared = shared
        self.types = shared.types
        self.recorded = shared.recorded
        self.issues: list[Issue] = []
        for issue in parsed.issues:
            self._add(issue)
        self.document = parsed.document
        self.mappings = parsed.document.mappings if parsed.document else {}
        self.values = Values(self.mappings, shared.strict, self._report)
        self.load = load
        self.name = name
        self.keeps_as = keeps_as
        self.trail = trail
        self.children: dict[str, object] = {}
        self.programs: dict[str, str] = {}
        self.plan: Plan | None = None
        self.sketch: Plan | None = None
        self.output_types: dict[str, ValueType] = {}
        self.included: dict[str, _Compiler] = {}
        declared = (*self.document.inputs, *(spec.id for spec in self.document.nodes)) if self.document else ()
        self.names = frozenset(declared)

    def compile(self) -> Plan | None:
        document = self.document
        if document is None:
            return None
        nodes = [
            CheckedNode(index, spec, find_entry(index, spec, self.types, self._report))
            for index, spec in enumerate(document.nodes)
        ]
        scope = prepare_state(document, self.keeps_as, nodes, self._report)
        for node in nodes:
            node.child = self._child(node)
        for node in nodes:
            node.params = self._params(node)
            node.when = self.values.condition(node.spec.when, "condition", ("nodes", node.index, "when"))
            until = node.spec.retry.until if node.spec.retry else ""
            node.until = self.values.condition(until, "condition", ("nodes", node.index, "retry", "until"))
            node.approve = self.values.approve(node)
        for node in nodes:
            node.batch = self.values.batch(node)
        starts = plan_edges(document, nodes, self._report)
        sections = assign_sections(document, nodes, starts, self._report)
        check_waiting(document, nodes, self._report)
        after = reach_through_loops([node.targets() for node in nodes])
        interfaces = [node.visible_outputs() for node in nodes]
        references = References(document, interfaces, after, self._report, [node.section for node in nodes])
        given = GivenTypes(document, nodes, interfaces, references)
        infer_types(nodes, starts, interfaces, document, given, references, self._report)
        fit = TemplateFit(given, self._report)
        outputs = self._outputs(document)
        for node in nodes:
            fill_params(node, self.mappings.get(node.spec.id), references, self._report)
        for node in nodes:
            check_node(node, references)
            self._check_fit(node, fit)
            check_actions(node, document, self._report)
            check_repeats(node, self._report)
        decide = check_expressions(nodes, document, given, references, self._report)
        for output, source in outputs.items():
            for reference in source.references:
                references.check(None, reference, ("outputs", output, "source"))
            declared = document.outputs[output]
            self.output_types[output] = fit.check_output(output, declared.type, source, declared.source)
        check_asking(nodes, after, self._report)
        check_absence(document, nodes, starts, after, outputs, self._report)
        check_state(document, scope, nodes, starts, self._report)
        lint_document(nodes, after, outputs, self.mappings, given, self._report)
        if any(issue.severity == "error" for issue in self.issues):
            from pflow.execution.need.sketch import sketch_plan  # lazy: only for what cannot run

            self.sketch = sketch_plan(document, nodes, starts, sections, outputs, self.name or document.name)
            return None
        choices = decide()
        return Plan(
            nodes=(*(self._node(node, node.entry) for node in nodes if node.entry is not None), *choices),
            starts=tuple(starts),
            name=self.name or document.name,
            inputs=document.inputs,
            outputs=outputs,
            raw={"document": document.raw, "children": self.children} | self._programs(nodes),
            sections=sections,
            timeout=document.timeout,
            state=document.state,
            state_scope=scope,
            budget=document.budget,
        )

    def _report(
        self,
        code: str,
        message: str,
        path: Path,
        *,
        known: tuple[str, ...] = (),
        hint: str = "",
        severity: Severity = "error",
        newer: bool = False,
    ) -> None:
        issue = self.places.issue(code, message, path, known=known, hint=hint)
        self._add(issue._replace(severity=severity, newer=newer) if newer or severity != "error" else issue)

    def _add(self, issue: Issue) -> None:
        self.issues.append(issue.for_recorded() if self.recorded else issue)

    def _child(self, node: CheckedNode) -> Plan | None:
        index, spec = node.index, node.spec
        if spec.type != "workflow":
            return None
        path: Path = ("nodes", index, "params", "workflow")
        wanted = spec.params.get("workflow")
        if not isinstance(wanted, str | dict):
            self._report(
                "missing-param" if wanted is None else "wrong-type",
                f"node `{spec.id}` (workflow) needs `workflow`: a name, a path or a document",
                path,
            )
            return None
        key = child_key(wanted)
        if isinstance(wanted, str) and "${" in wanted:
            self._report(
                "template-here",
                "which workflow a node runs must be known when checking; templates do not apply here",
                path,
                hint="branch to several `workflow` nodes instead",
            )
            return None
        if key in self.trail or len(self.trail) >= MAX_DEPTH:
            reason = "includes itself" if key in self.trail else f"is nested more than {MAX_DEPTH} levels deep"
            self._report("nesting", f"workflow `{wanted if isinstance(wanted, str) else spec.id}` {reason}", path)
            return None
        inner = self.included.get(key)
        if inner is None:
            if next(self.shared.numbers) > MAX_INCLUDED:
                message = f"with node `{spec.id}`, more than {MAX_INCLUDED:,} workflows are included through all levels"
                self._report("nesting", message, path, hint="include each workflow once, in one place")
                return None
            try:
                parsed, load = self.load(wanted)
            except PflowError as error:
                node.lacks_workflow = True
                self._report("unknown-workflow", error.message, path, hint=(error.suggestions or ("",))[0])
                return None
            inner = self._include(key, parsed, load, wanted)
            if parsed.document is not None and (isinstance(wanted, str) or inner.children):
                written = {"document": parsed.document.raw} if isinstance(wanted, str) else {}
                self.children[key] = {**written, "children": inner.children}
            self._tell(inner, spec.id, path)
        node.child_types, node.child_sketch = inner.output_types, inner.sketch
        return inner.plan

    def _include(self, key: str, parsed: Parsed, load: Load, wanted: object) -> _Compiler:
        """A document inside this one, compiled once, however many nodes run it."""
        keeps_as = included_name(wanted, parsed.document)
        inner = self.included[key] = _Compiler(parsed, load, self.shared, "", keeps_as, (*self.trail, key))
        inner.plan = inner.compile()
        self.programs |= inner.programs
        return inner

    def _tell(self, inner: _Compiler, name: str, path: Path) -> None:
        """Report the issues of an included document at the first node that runs it."""
        for issue in (issue for issue in inner.issues if issue.severity != "notice"):
            at = f" (at {issue.path})" if issue.path else ""
            message = f"in workflow of node `{name}`: {issue.message}{at}"
            self._report(issue.code, message, path, hint=issue.hint, severity=issue.severity, newer=issue.newer)

    def _params(self, node: CheckedNode) -> dict[str, Compiled]:
        compiled: dict[str, Compiled] = {}
        spec, interface = node.spec, node.interface
        for name, value in spec.params.items():
            path: Path = ("nodes", node.index, "params", name)
            field = interface.param(name) if interface else None
            if field is not None:
                node.fields[name] = field
            if interface and field is None and not interface.open_params:
                if not node.sets_state:
                    report_unknown(spec, interface, name, path, self._report)
                elif self.document is not None:
                    report_undeclared(node, self.document, name, path, self._report)
            if "${" in name:
                self._report("template-here", f"templates do not apply in names of parameters: `{name}`", path)
                continue
            if spec.type == "workflow" and name == "workflow":
                continue
            slot = field.slot if field else interface.open_slot if interface else "value"
            compiled[name], problems = self.values.param(value, slot, spec)
            for problem in problems:
                code = "expression" if slot in EXPRESSION_SLOTS else "template"
                self._report(code, problem.message, (*path, *problem.path), hint=problem.hint, newer=problem.newer)
            if field and not compiled[name].references and slot not in EXPRESSION_SLOTS:
                check_constant(spec, field, value, path, self._report)
            if slot != "raw" and slot not in EXPRESSION_SLOTS:
                warn_of_foreign(value, self.names, path, self._report)
        check_child_inputs(node, self._report)
        if node.is_built_in("parse"):
            from pflow.execution.parsed import check_pattern  # lazy: only for `parse`

            check_pattern(spec, self._report, ("nodes", node.index, "params"))
        return compiled

    def _check_fit(self, node: CheckedNode, fit: TemplateFit) -> None:
        """Compare what is given with what is taken, and let what is given become that."""
        self.shared.literals.check(node, self._report)
        fit.check_items(node)
        for name, compiled in node.params.items():
            field = node.fields.get(name)
            if field is None or not compiled.references or field.slot in EXPRESSION_SLOTS:
                continue
            taken = taken_by(node, field)
            fit.check_param(node, name, compiled, taken)
            if field.slot in VALUE_SLOTS:
                node.params[name] = convert_to(compiled, taken)
        if node.batch is not None:
            node.batch = node.batch._replace(items=convert_to(node.batch.items, ITEMS))

    def _outputs(self, document: Document) -> dict[str, Compiled]:
        outputs = {}
        for name, output in document.outputs.items():
            source = output.source if output.source is not None else f"${{{name}}}"
            compiled = self.values.template(source, ("outputs", name, "source"))
            outputs[name] = read_default_as(compiled, of_kinds(output.type))
            warn_of_foreign(source, self.names, ("outputs", name, "source"), self._report)
        return outputs

    def _programs(self, nodes: list[CheckedNode]) -> dict[str, object]:
        """What the nodes of the running program are, so that a run without the program can say what is missing."""
        self.programs |= {node.spec.type: node.entry.program for node in nodes if node.entry and node.entry.program}
        # Not in what is inside: a sub-workflow is the same work in whichever program it is.
        return {PROGRAMS: self.programs} if self.programs and not self.trail else {}

    def _node(self, node: CheckedNode, entry: Entry) -> PlanNode:
        spec, child = node.spec, node.child
        mapping = self.mappings.get(spec.id)
        node_hash = (node.own_hash or entry.node_hash) if child is None else digest(orjson.dumps(child.raw))
        ordered = entry.interface.choice_param
        definition, former = define(spec, node_hash, mapping, child.raw if child else None, ordered=ordered)
        added = tool_params(entry.tool)
        return PlanNode(
            id=spec.id,
            number=node.index,
            type=spec.type,
            params=NodeParams(node.params, added),
            definition=definition,
            node_hash=node_hash,
            edges=node.edges,
            implied=tuple(node.implied),
            when=node.when,
            make=None if child is not None else entry.make,
            former=former,
            child=child,
            purity=purity_of(node),
            only_reads=reads_when_known(node),
            trusted=not entry.is_user,
            reads=tuple(field.name for field in entry.interface.reads),
            outputs={field.name: field.type for field in entry.interface.outputs if field.type != "any"}
            if entry.is_user
            else {},
            batch=node.batch,
            retry=spec.retry,
            until=node.until,
            timeout=spec.timeout,
            limit=spec.limit,
            max_visits=spec.max_visits or MAX_VISITS,
            approve=node.approve,
            may_wait=may_wait(node),
            mapping=mapping,
            server=added.get(MCP_SERVER, ""),
            json_in=read_json if entry.tool and entry.gives_text else None,
            sets_state=node.sets_state,
            asks_model=node.is_built_in("llm"),
        )
