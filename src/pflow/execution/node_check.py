"""What one node of a document may say: constant parameters, a sub-workflow's inputs, actions; and what it gives."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, NamedTuple, Protocol

from pflow.core.document.document import Document, NodeSpec
from pflow.core.document.issue import Severity
from pflow.core.document.position import Path
from pflow.core.event import Section
from pflow.core.interface import ERROR_ACTIONS, MODEL_ERROR_ACTIONS, Field, Interface
from pflow.core.json_type import fits, type_of
from pflow.core.suggest import did_you_mean
from pflow.core.template.compiled import Compiled
from pflow.core.value_type import ValueType
from pflow.engine.plan import DONE, Approve, Plan, PlanBatch

if TYPE_CHECKING:
    from pflow.registry.entry import Entry


_RESERVED_CASES = {
    "default": "a node that is skipped ends with it",
    "else": "it is for when no case holds",
    **dict.fromkeys(ERROR_ACTIONS, "a node that fails ends with it"),
}

_ANY_ACTIONS = ("default", "error", "timeout")

_CHOOSE = 'to choose by a condition write `edges: [{from: …, to: …, when: "x > 1"}]`, or a `switch`'


class Report(Protocol):
    """Takes an issue: its code, its message, where, and what would be right."""

    def __call__(
        self,
        code: str,
        message: str,
        path: Path,
        *,
        known: tuple[str, ...] = (),
        hint: str = "",
        severity: Severity = "error",
        newer: bool = False,
    ) -> None: ...


class Way(NamedTuple):
    """Where an action leads if a condition holds, or if none before it does: `else`. Without target it ends there."""

    when: str
    target: int | None
    path: Path


class CheckedNode:
    """A node while its document is checked: what is known of it so far."""

    __slots__ = (
        *("approve", "batch", "child", "child_sketch", "child_types", "edges", "entry", "fields", "implied", "index"),
        *("choices_made", "inferred", "interface", "lacks_workflow", "own_hash", "params", "section", "sets_state"),
        *("spec", "until", "when"),
    )

    def __init__(self, index: int, spec: NodeSpec, entry: Entry | None) -> None:
        self.index = index
        self.spec = spec
        self.entry = entry
        self.child: Plan | None = None
        self.child_sketch: Plan | None = None
        self.lacks_workflow = False
        self.child_types: Mapping[str, ValueType] = {}
        self.params: dict[str, Compiled] = {}
        self.when: Compiled | None = None
        self.until: Compiled | None = None
        self.fields: dict[str, Field] = {}
        self.inferred: tuple[Field, ...] | None = None
        self.batch: PlanBatch | None = None
        self.approve: Approve | None = None
        self.edges: dict[str, tuple[int, ...]] = {}
        self.implied: list[str] = []
        self.choices_made: dict[str, list[Way]] = {}
        self.section: Section | None = None
        self.interface = entry.interface if entry else None
        """What its type takes and gives, if there is such a type, or what it does in this document."""

        self.sets_state = False
        self.own_hash = ""

    def is_built_in(self, name: str) -> bool:
        """Whether it is of a type that comes with pflow; a person may have a node of that name."""
        return self.spec.type == name and self.entry is not None and not self.entry.is_user

    @property
    def choices(self) -> tuple[str, ...]:
        """The actions that its type may end with, besides `default` and failures. A batch as such chooses nothing."""
        interface = self.interface or Interface()
        if self.spec.batch is not None:
            return ()
        actions = (*self._named_choices, *interface.actions)
        return tuple(action for action in actions if action != "default" and not self.fails_with(action))

    @property
    def _named_choices(self) -> tuple[str, ...]:
        """The actions that its params name: the keys of an object, or the words of a list."""
        name = self.interface.choice_param if self.interface else ""
        named = self.spec.params.get(name) if name else None
        return tuple(one for one in named if isinstance(one, str)) if isinstance(named, Mapping | list) else ()

    @property
    def is_closed(self) -> bool:
        """Whether it never ends with `default`, as it does when its condition leaves it out."""
        if self.interface is None or self.spec.when or self.spec.batch is not None:
            return False
        in_list = isinstance(self.spec.params.get(self.interface.choice_param), list) and bool(self._named_choices)
        return "default" not in self.interface.actions or in_list

    def fails_with(self, action: str) -> bool:
        """Whether an action is one that only a failure of it takes."""
        return action in ERROR_ACTIONS or (action in MODEL_ERROR_ACTIONS and self.is_built_in("llm"))

    @property
    def waits(self) -> bool:
        """Whether its type asks or waits for something."""
        return self.interface is not None and self.interface.waits

    @property
    def chooses(self) -> bool:
        """Whether not everything behind it, or not itself, runs in every run."""
        return self.when is not None or bool(self.choices_made) or any(action != "default" for action in self.edges)

    def conditions(self) -> tuple[Compiled, ...]:
        """The conditions under which it runs, takes an item, and is done, if it has any."""
        found = (self.when, self.batch.where if self.batch else None, self.until)
        return tuple(condition for condition in found if condition is not None)

    def lead(self, action: str, targets: Iterable[int]) -> None:
        """Let an action lead to these nodes too; without any, it ends its way."""
        self.edges[action] = tuple(dict.fromkeys((*self.edges.get(action, ()), *targets)))

    def choose(self, action: str, when: str, target: int | None, path: Path) -> None:
        """Let an action lead to a node only where a condition holds; the first that does counts."""
        self.choices_made.setdefault(action, []).append(Way(when, target, path))

    def targets(self) -> tuple[int, ...]:
        """The nodes that its edges lead to, each once."""
        return tuple(dict.fromkeys(target for targets in self.edges.values() for target in targets))

    def visible_outputs(self) -> Interface | None:
        """What later nodes can refer to: its outputs as its batch, sub-workflow and error edges shape them."""
        if self.child is not None:
            outputs = tuple(Field(name=name) for name in self.child.outputs)
            opened = not self.child.outputs
        elif self.interface is not None:
            outputs, opened = self.interface.outputs, self.interface.open_outputs
            if self.inferred is not None:
                outputs = self.inferred
            elif self.interface.echo_params:
                outputs = tuple(Field(name=name) for name in self.spec.params)
            elif self.is_built_in("parse"):
                from pflow.execution.parsed import parsed_value  # lazy: only for `parse`

                outputs = (parsed_value(self.spec.params),)
            elif self.is_built_in("llm"):
                outputs = self._answered(outputs)
        else:
            return None
        if self.batch is not None:
            properties = {} if opened else {"properties": {field.name: _schema(field) for field in outputs}}
            each = {"type": "object", **properties}
            outputs = (
                Field(name="results", type="array", schema={"type": "array", "items": each}),
                Field(name=DONE, type="array", schema={"type": "array", "items": _done(each)}),
                Field(name="errors", type="array"),
                Field(name="count", type="integer"),
            )
            opened = False
        if any(self.fails_with(action) for action in self.edges):
            outputs = (*outputs, Field(name="error", type="object"))
        return Interface(outputs=outputs, open_outputs=opened)

    def _answered(self, outputs: tuple[Field, ...]) -> tuple[Field, ...]:
        """The outputs of a step that asks a language model, with the type of its answer."""
        from pflow.execution.model.response import response_field  # lazy: many documents ask no model

        return tuple(
            response_field(field, self.spec.params) if field.name == "response" else field for field in outputs
        )


def report_unknown(spec: NodeSpec, interface: Interface, name: str, path: Path, report: Report) -> None:
    """Report a parameter that the node type does not have."""
    fields = (*interface.params, *interface.reads)
    report(
        "unknown-param",
        f"node `{spec.id}` ({spec.type}) has no parameter `{name}`",
        path,
        known=tuple(f"{field.name} ({field.type})" for field in fields),
        hint=_meant_param(name, [field.name for field in fields]),
    )


def _meant_param(name: str, known: list[str]) -> str:
    from pflow.core.other_words import field_meant  # lazy: only for this message

    meant = field_meant(name, known)
    return f"did you mean `{meant}`?" if meant else did_you_mean(name, known)


def check_constant(spec: NodeSpec, field: Field, value: object, path: Path, report: Report) -> None:
    """A parameter without templates must fit its type; Python code must parse."""
    if not _fits(value, field):
        report(
            "wrong-type",
            f"parameter `{field.name}` of node `{spec.id}` ({spec.type}) must be {field.type}, not {type_of(value)}",
            path,
        )
    elif field.slot == "duration" and isinstance(value, str):
        from pflow.core.duration import FORM, read_seconds  # lazy: most durations are numbers

        if read_seconds(value) is None:
            message = f"parameter `{field.name}` of node `{spec.id}` ({spec.type}) must be a duration, not `{value}`"
            report("wrong-type", message, path, hint=f"write {FORM}")
    elif field.slot == "raw" and isinstance(value, str) and field.name == "code":
        from pflow.core.template.python_text import check_code  # lazy: only documents with code need the parser

        for line, column, message in check_code(value):
            report("code", f"line {line}, column {column} of the code: {message}", path)


def check_child_inputs(node: CheckedNode, report: Report) -> None:
    """A sub-workflow gets the inputs it declares, all that it needs and no others."""
    spec, child = node.spec, node.child
    given = spec.params.get("inputs", {})
    if child is None or not isinstance(given, dict):
        return
    path: Path = ("nodes", node.index, "params", "inputs")
    known = tuple(f"{name} ({declared.type})" for name, declared in child.inputs.items())
    for name in given:
        if name not in child.inputs:
            message = f"the workflow of node `{spec.id}` has no input `{name}`"
            hint = did_you_mean(name, child.inputs)
            report("unknown-input", message, (*path, name), known=known, hint=hint)
    for name, declared in child.inputs.items():
        if name not in given and declared.required and not declared.has_default:
            message = f"the workflow of node `{spec.id}` needs input `{name}` ({declared.type})"
            report("missing-input", message, path, known=known)


def check_actions(node: CheckedNode, document: Document, report: Report) -> None:
    """Edges wait for actions that the node can return, and where any edge leaves it, every choice has one."""
    spec, edges, entry, choices = node.spec, node.edges, node.entry, node.choices
    if entry is None or (entry.is_user and not choices):
        return
    actions = tuple(dict.fromkeys((*entry.interface.actions, *choices)))
    for action in edges:
        if action not in actions and action not in (*_ANY_ACTIONS, *(("declined",) if spec.approve else ())):
            report(
                "unknown-action",
                f"node `{spec.id}` ({spec.type}) never returns action `{action}`",
                _edge_path(document, spec.id, action),
                known=actions,
                hint=did_you_mean(action, actions) or _CHOOSE,
            )
    _check_case_names(node, report)
    for action in choices if edges else ():
        if action not in edges:
            report(
                "missing-edge",
                f"`{spec.id}` can end with `{action}`, for which nothing is said",
                ("nodes", node.index),
                hint=f"on `{spec.id}` write `on: {{{action}: …}}`: a node, `next` or `end`",
            )


def _check_case_names(node: CheckedNode, report: Report) -> None:
    """The names that a document gives to choices are not those of actions that mean something else."""
    name = node.interface.choice_param if node.interface else ""
    cases = node.spec.params.get(name) if name else None
    for index, case in enumerate(cases if isinstance(cases, Mapping | list) else ()):
        if isinstance(case, str) and case in _RESERVED_CASES:
            report(
                "reserved-case",
                f"a {name[:-1]} of `{node.spec.id}` cannot have the name `{case}`: {_RESERVED_CASES[case]}",
                ("nodes", node.index, "params", name, index if isinstance(cases, list) else case),
                hint="give it another name",
            )


def _edge_path(document: Document, source: str, action: str) -> Path:
    """Where an edge of a node says its action."""
    path = next(edge.path for edge in document.edges if (edge.source, edge.action) == (source, action))
    return (*path, "action") if path[0] == "edges" else path


def _done(result: Mapping[str, object]) -> Mapping[str, object]:
    return {"type": "object", "properties": {"index": {"type": "integer"}, "item": {}, "result": result}}


def _schema(field: Field) -> Mapping[str, object]:
    if field.schema is not None:
        return field.schema
    return {} if field.type == "any" else {"type": field.type.split("|")}


def _fits(value: object, field: Field) -> bool:
    if value is None and "any" not in field.type:
        named = field.schema.get("type") if field.schema is not None else None
        return not field.required or (isinstance(named, list) and "null" in named)
    return fits(value, field.type)
