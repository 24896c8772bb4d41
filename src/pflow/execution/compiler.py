"""Document and registry in, plan or issues out. Needs no values, starts nothing, opens nothing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Protocol

import orjson

from pflow.core.document.document import Document, NodeSpec
from pflow.core.document.issue import Issue, Severity
from pflow.core.document.parse import Parsed
from pflow.core.document.position import Path
from pflow.core.errors import NotFoundError, PflowError
from pflow.core.interface import MCP_SERVER, Interface
from pflow.core.printable import shorten
from pflow.core.suggest import nearest
from pflow.core.template.compiled import Compiled
from pflow.core.template.template import compile_value
from pflow.engine.graph import reach_through_loops
from pflow.engine.plan import MAX_DEPTH, MAX_VISITS, Plan, PlanBatch, PlanNode
from pflow.engine.value import digest
from pflow.execution.definition import define
from pflow.execution.foreign_syntax import foreign_templates
from pflow.execution.node_check import check_actions, check_child_inputs, check_constant, is_choice, visible_outputs
from pflow.execution.node_param import NodeParams, advise_type, find_tool, tool_params
from pflow.execution.plan_edges import plan_edges
from pflow.execution.reference import References

if TYPE_CHECKING:
    from pflow.registry.entry import ToolConfig


class Load(Protocol):
    """Finds the document that a `workflow` node names, and how to find those that it names in turn."""

    def __call__(self, wanted: object, /) -> tuple[Parsed, Load]:
        """Raises `NotFoundError`."""


class TypeEntry(Protocol):
    """What the compiler needs of a registry entry."""

    @property
    def interface(self) -> Interface:
        """What the node takes and gives."""

    @property
    def node_hash(self) -> str:
        """Changes with the node's code."""

    @property
    def is_user(self) -> bool:
        """Whether it is a person's own node."""

    @property
    def tool(self) -> ToolConfig | None:
        """The tool of an MCP server that it stands for."""

    def node_class(self) -> type:
        """The class, imported."""


class Types(Protocol):
    """What the compiler needs of a registry."""

    def get(self, name: str) -> TypeEntry:
        """The node type of that name; raises `NotFoundError`."""

    def names(self) -> list[str]:
        """All names."""

    def __contains__(self, name: object) -> bool: ...


def child_key(wanted: object) -> str:
    """How a document's `children` name one of them: by its reference, or by its content where it stands inline."""
    return wanted if isinstance(wanted, str) else digest(orjson.dumps(wanted))


def compile_plan(parsed: Parsed, types: Types, load: Load, *, name: str = "") -> tuple[Plan | None, tuple[Issue, ...]]:
    """Check a document against the node types there are, all of it, and freeze it into a plan.

    The plan is None when an issue is an error; warnings come with a plan.
    """
    compiler = _Compiler(parsed, types, load, name)
    plan = compiler.compile()
    return plan, tuple(sorted(compiler.issues, key=lambda issue: issue.severity == "warning"))


class _Compiler:
    def __init__(self, parsed: Parsed, types: Types, load: Load, name: str, trail: tuple[str, ...] = ()) -> None:
        self.places = parsed.places
        self.issues: list[Issue] = list(parsed.issues)
        self.document = parsed.document
        self.types = types
        self.load = load
        self.name = name
        self.trail = trail
        self.children: dict[str, object] = {}
        declared = (*self.document.inputs, *(spec.id for spec in self.document.nodes)) if self.document else ()
        self.names = frozenset(declared)

    def compile(self) -> Plan | None:
        document = self.document
        if document is None:
            return None
        entries = [self._entry(index, spec) for index, spec in enumerate(document.nodes)]
        child_plans = [self._child(index, spec) for index, spec in enumerate(document.nodes)]
        params = [
            self._params(index, spec, entry, child)
            for index, (spec, entry, child) in enumerate(zip(document.nodes, entries, child_plans, strict=True))
        ]
        batches = [self._batch(index, spec) for index, spec in enumerate(document.nodes)]
        edges, starts = plan_edges(document, params, batches, self._report)
        interfaces = [
            visible_outputs(spec, entry.interface if entry else None, child, edges[index])
            for index, (spec, entry, child) in enumerate(zip(document.nodes, entries, child_plans, strict=True))
        ]
        targets = [tuple(dict.fromkeys(t for ts in edge.values() for t in ts)) for edge in edges]
        after = reach_through_loops(targets, starts)
        references = References(document, interfaces, after, self._report)
        outputs = self._outputs(document)
        for index, spec in enumerate(document.nodes):
            params[index] = self._fill(index, spec, entries[index], params[index], references)
            self._check_params(index, spec, params[index], batches[index], references)
            entry = entries[index]
            if entry is not None and not (entry.is_user and not any(map(is_choice, entry.interface.actions))):
                check_actions(index, document, entry.interface.actions, edges[index], self._report)
        for output, source in outputs.items():
            for reference in source.references:
                references.check(None, reference, ("outputs", output, "source"))
        if any(issue.severity == "error" for issue in self.issues):
            return None
        nodes = tuple(
            self._node(index, spec, entry, child, params[index], batches[index], edges[index])
            for index, (spec, entry, child) in enumerate(zip(document.nodes, entries, child_plans, strict=True))
            if entry is not None
        )
        return Plan(
            nodes=nodes,
            starts=tuple(starts),
            name=self.name or document.name,
            inputs=document.inputs,
            outputs=outputs,
            raw={"document": document.raw, "children": self.children},
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
    ) -> None:
        self.issues.append(self.places.issue(code, message, path, known=known, hint=hint)._replace(severity=severity))

    def _entry(self, index: int, spec: NodeSpec) -> TypeEntry | None:
        if spec.mcp_server and spec.mcp_tool:
            return find_tool(index, spec, self.types, self._report)
        try:
            return self.types.get(spec.type)
        except NotFoundError:
            near = nearest(spec.type, self.types.names())
            self._report(
                "unknown-type",
                f"there is no node type `{spec.type}`",
                ("nodes", index, "type"),
                known=tuple(near),
                hint=f"did you mean `{near[0]}`?" if near else advise_type(spec.type),
            )
            return None

    def _child(self, index: int, spec: NodeSpec) -> Plan | None:
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
            reason = "includes itself" if key in self.trail else f"is nested more than {MAX_DEPTH} deep"
            self._report("nesting", f"workflow `{wanted if isinstance(wanted, str) else spec.id}` {reason}", path)
            return None
        try:
            parsed, load = self.load(wanted)
        except PflowError as error:
            self._report("unknown-workflow", error.message, path, hint=(error.suggestions or ("",))[0])
            return None
        inner = _Compiler(parsed, self.types, load, "", (*self.trail, key))
        plan = inner.compile()
        if parsed.document is not None and (isinstance(wanted, str) or inner.children):
            written = {"document": parsed.document.raw} if isinstance(wanted, str) else {}
            self.children[key] = {**written, "children": inner.children}
        for issue in inner.issues:
            at = f" (at {issue.path})" if issue.path else ""
            message = f"in workflow of node `{spec.id}`: {issue.message}{at}"
            self._report(issue.code, message, path, hint=issue.hint, severity=issue.severity)
        return plan

    def _params(self, index: int, spec: NodeSpec, entry: TypeEntry | None, child: Plan | None) -> dict[str, Compiled]:
        compiled: dict[str, Compiled] = {}
        interface = entry.interface if entry else None
        for name, value in spec.params.items():
            path: Path = ("nodes", index, "params", name)
            field = interface.param(name) if interface else None
            if interface and field is None and not interface.open_params:
                fields = (*interface.params, *interface.reads)
                known = tuple(f"{f.name} ({f.type})" for f in fields)
                near = nearest(name, [f.name for f in fields], limit=1)
                self._report(
                    "unknown-param",
                    f"node `{spec.id}` ({spec.type}) has no parameter `{name}`",
                    path,
                    known=known,
                    hint=f"did you mean `{near[0]}`?" if near else "",
                )
            if "${" in name:
                self._report("template-here", f"templates do not apply in names of parameters: `{name}`", path)
                continue
            if spec.type == "workflow" and name == "workflow":
                continue
            compiled[name], problems = compile_value(value, field.slot if field else "value")
            for problem in problems:
                self._report("template", problem.message, (*path, *problem.path), hint=problem.hint)
            if field and not compiled[name].references:
                check_constant(spec, field, value, path, self._report)
            if field is None or field.slot != "raw":
                self._warn_of_foreign(value, path)
        if child is not None:
            check_child_inputs(index, spec, child, self._report)
        return compiled

    def _warn_of_foreign(self, value: object, path: Path) -> None:
        for place, written, meant in foreign_templates(value, self.names, path):
            self._report(
                "foreign-template",
                f"`{shorten(written)}` is not a template, and stays as it is",
                place,
                hint=f"write `{meant}` for the value",
                severity="warning",
            )

    def _batch(self, index: int, spec: NodeSpec) -> PlanBatch | None:
        if spec.batch is None:
            return None
        items, problems = compile_value(spec.batch.items)
        for problem in problems:
            self._report("template", problem.message, ("nodes", index, "batch", "items"), hint=problem.hint)
        return PlanBatch(
            items=items,
            name=spec.batch.name,
            concurrency=spec.batch.concurrency,
            keep_going=spec.batch.on_error == "continue",
        )

    def _fill(
        self,
        index: int,
        spec: NodeSpec,
        entry: TypeEntry | None,
        params: dict[str, Compiled],
        references: References,
    ) -> dict[str, Compiled]:
        if entry is None:
            return params
        interface = entry.interface
        mapping = self.document.mappings.get(spec.id) if self.document else None
        aliases = mapping.input_mappings if mapping else {}
        filled = dict(params)
        for field in interface.params:
            if field.name in spec.params:
                continue
            source = aliases.get(field.name, field.name)
            wanted = field.required or field.name in aliases
            if wanted and field.slot == "value" and references.natural(index, source):
                filled[field.name], _ = compile_value(f"${{{source}}}")
                continue
            if field.required:
                self._report(
                    "missing-param",
                    f"node `{spec.id}` ({spec.type}) needs `{field.name}` ({field.type})"
                    + (f": {field.description}" if field.description else ""),
                    ("nodes", index, "params"),
                    hint=references.mapping_hint(index, spec.id, field),
                )
        for field in interface.reads:
            source = aliases.get(field.name, field.name)
            if field.required and field.name not in params and not references.natural(index, source):
                self._report(
                    "missing-read",
                    f"node `{spec.id}` ({spec.type}) reads `{field.name}`, which nothing before it writes",
                    ("nodes", index),
                    known=tuple(references.natural_names(index)),
                    hint=references.mapping_hint(index, spec.id, field),
                )
        return filled

    def _check_params(
        self,
        index: int,
        spec: NodeSpec,
        params: Mapping[str, Compiled],
        batch: PlanBatch | None,
        references: References,
    ) -> None:
        own: tuple[str, ...] = (batch.name, f"{batch.name}_index") if batch else ()
        items = batch.items.references if batch else ()
        for name, compiled in params.items():
            for reference in compiled.references:
                if reference.root not in own:
                    references.check(index, reference, ("nodes", index, "params", name))
                elif spec.batch and reference.root == own[0] and items and items[0].text == spec.batch.items:
                    references.check_item(reference, items[0], ("nodes", index, "params", name))
        if batch:
            for reference in batch.items.references:
                references.check(index, reference, ("nodes", index, "batch", "items"))

    def _outputs(self, document: Document) -> dict[str, Compiled]:
        outputs = {}
        for name, output in document.outputs.items():
            source = output.source if output.source is not None else f"${{{name}}}"
            outputs[name], problems = compile_value(source)
            for problem in problems:
                self._report("template", problem.message, ("outputs", name, "source"), hint=problem.hint)
        return outputs

    def _node(
        self,
        index: int,
        spec: NodeSpec,
        entry: TypeEntry,
        child: Plan | None,
        params: Mapping[str, Compiled],
        batch: PlanBatch | None,
        edges: Mapping[str, tuple[int, ...]],
    ) -> PlanNode:
        assert self.document is not None
        mapping = self.document.mappings.get(spec.id)
        node_hash = entry.node_hash if child is None else digest(orjson.dumps(child.raw))
        definition, former = define(spec, node_hash, mapping)
        added = tool_params(entry.tool)
        return PlanNode(
            id=spec.id,
            number=index,
            type=spec.type,
            params=NodeParams(params, added),
            definition=definition,
            node_hash=node_hash,
            edges=edges,
            make=None if child is not None else (lambda: entry.node_class()()),
            former=former,
            child=child,
            purity=entry.interface.purity,
            trusted=not entry.is_user,
            reads=tuple(field.name for field in entry.interface.reads),
            batch=batch,
            retry=spec.retry,
            timeout=spec.timeout,
            max_visits=spec.max_visits or MAX_VISITS,
            mapping=mapping,
            server=added.get(MCP_SERVER, ""),
        )
