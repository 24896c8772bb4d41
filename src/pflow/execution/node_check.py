"""What one node of a document may say: constant parameters, a sub-workflow's inputs, actions; and what it gives."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from pflow.core.document.document import Document, NodeSpec
from pflow.core.document.position import Path
from pflow.core.interface import ERROR_ACTIONS, Field, Interface
from pflow.core.json_type import fits, type_of
from pflow.core.suggest import nearest
from pflow.engine.plan import Plan


class Report(Protocol):
    """Takes an issue: its code, its message, where, and what would be right."""

    def __call__(self, code: str, message: str, path: Path, *, known: tuple[str, ...] = (), hint: str = "") -> None: ...


def check_constant(spec: NodeSpec, field: Field, value: object, path: Path, report: Report) -> None:
    """A parameter without templates must fit its type; Python code must parse."""
    if not _fits(value, field):
        report(
            "wrong-type",
            f"parameter `{field.name}` of node `{spec.id}` ({spec.type}) must be {field.type}, not {type_of(value)}",
            path,
        )
    elif field.slot == "raw" and isinstance(value, str) and field.name == "code":
        from pflow.core.template.python_text import check_code  # lazy: only documents with code need the parser

        for line, column, message in check_code(value):
            report("code", f"line {line}, column {column} of the code: {message}", path)


def check_child_inputs(index: int, spec: NodeSpec, child: Plan, report: Report) -> None:
    """A sub-workflow gets the inputs it declares, all that it needs and no others."""
    given = spec.params.get("inputs", {})
    if not isinstance(given, dict):
        return
    path: Path = ("nodes", index, "params", "inputs")
    known = tuple(f"{name} ({declared.type})" for name, declared in child.inputs.items())
    for name in given:
        if name not in child.inputs:
            near = nearest(name, child.inputs, limit=1)
            report(
                "unknown-input",
                f"the workflow of node `{spec.id}` has no input `{name}`",
                (*path, name),
                known=known,
                hint=f"did you mean `{near[0]}`?" if near else "",
            )
    for name, declared in child.inputs.items():
        if name not in given and declared.required and not declared.has_default:
            message = f"the workflow of node `{spec.id}` needs input `{name}` ({declared.type})"
            report("missing-input", message, path, known=known)


def check_actions(
    index: int, document: Document, actions: tuple[str, ...], edges: Mapping[str, object], report: Report
) -> None:
    """Edges wait for actions that the node can return, and where any edge leaves it, every choice has one."""
    spec = document.nodes[index]
    for action in edges:
        if action not in actions and action not in ("default", "error", "timeout"):
            near = nearest(action, actions, limit=1)
            report(
                "unknown-action",
                f"node `{spec.id}` ({spec.type}) never returns action `{action}`",
                ("edges", _edge_position(document, spec.id, action), "action"),
                known=actions,
                hint=f"did you mean `{near[0]}`?" if near else "",
            )
    if edges:
        for action in actions:
            if is_choice(action) and action not in edges:
                report(
                    "missing-edge",
                    f"node `{spec.id}` can return action `{action}`, which has no edge",
                    ("nodes", index),
                    hint=f'add {{"from": "{spec.id}", "to": …, "action": "{action}"}}',
                )


def is_choice(action: str) -> bool:
    """Whether an action is one of several ways to go on, rather than success or failure."""
    return action != "default" and action not in ERROR_ACTIONS


def visible_outputs(
    spec: NodeSpec, interface: Interface | None, child: Plan | None, edges: Mapping[str, object]
) -> Interface | None:
    """What later nodes can refer to: a node's outputs as its batch, sub-workflow and error edges shape them."""
    if child is not None:
        outputs = tuple(Field(name=name) for name in child.outputs)
        opened = not child.outputs
    elif interface is not None:
        outputs, opened = interface.outputs, interface.open_outputs
        if interface.echo_params:
            outputs = tuple(Field(name=name) for name in spec.params)
    else:
        return None
    if spec.batch is not None:
        properties = {} if opened else {"properties": {field.name: _schema(field) for field in outputs}}
        each = {"type": "object", **properties}
        outputs = (
            Field(name="results", type="array", schema={"type": "array", "items": each}),
            Field(name="errors", type="array"),
            Field(name="count", type="integer"),
        )
        opened = False
    if any(action in ERROR_ACTIONS for action in edges):
        outputs = (*outputs, Field(name="error", type="object"))
    return Interface(outputs=outputs, open_outputs=opened)


def _edge_position(document: Document, source: str, action: str) -> int:
    return next((i for i, edge in enumerate(document.edges) if (edge.source, edge.action) == (source, action)), 0)


def _schema(field: Field) -> Mapping[str, object]:
    if field.schema is not None:
        return field.schema
    return {} if field.type == "any" else {"type": field.type.split("|")}


def _fits(value: object, field: Field) -> bool:
    if value is None and "any" not in field.type:
        named = field.schema.get("type") if field.schema is not None else None
        return not field.required or (isinstance(named, list) and "null" in named)
    return fits(value, field.type)
