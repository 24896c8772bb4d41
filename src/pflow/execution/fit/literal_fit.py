"""Whether the constants of a document fit what their node takes, with templates anywhere inside of them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import TYPE_CHECKING

from pflow.core.advice import Advice
from pflow.core.conversion import admits
from pflow.core.document.issue import Severity
from pflow.core.document.position import Path, show_path
from pflow.core.errors import ServerError
from pflow.core.json_type import fits, type_of
from pflow.core.printable import shorten
from pflow.core.template.compiled import Reference, Refused, ValuePath
from pflow.core.value_type import ValueType
from pflow.execution.fit.taken import input_schema, taken_by
from pflow.execution.node_check import CheckedNode, Report

if TYPE_CHECKING:
    from pflow.mcp.call.argument import ArgumentCheck

_PLAIN = frozenset(("type", "title", "description", "default", "examples", "format", "deprecated", "$comment"))
"""Keywords of a schema that say no more about a constant than its type, which is checked without it."""

_PLAIN_ROOT = _PLAIN | {"properties", "required", "additionalProperties", "$schema", "$id", "$defs", "definitions"}
_SHOWN = 12


class LiteralFit:
    """Reports constants that a tool's schema refuses, or that a node's own declaration does not admit."""

    def __init__(self) -> None:
        self._checks: dict[str, ArgumentCheck | None] = {}

    def check(self, node: CheckedNode, report: Report) -> None:
        """Check the constants of one node."""
        schema = input_schema(node)
        if schema is None:
            _check_declared(node, report)
        elif _needs_check(node, schema) and (check := self._compiled(node, schema)) is not None:
            _check_arguments(node, check, report)

    def _compiled(self, node: CheckedNode, schema: Mapping[str, object]) -> ArgumentCheck | None:
        from pflow.mcp.call.argument import ArgumentCheck  # lazy: only constants for tools need it

        assert node.entry is not None and node.entry.tool is not None
        if node.entry.name not in self._checks:
            tool = node.entry.tool
            try:
                self._checks[node.entry.name] = ArgumentCheck(schema, server=tool.server, tool=tool.tool)
            except ServerError:
                self._checks[node.entry.name] = None  # the step says it, and other steps can do without
        return self._checks[node.entry.name]


def _check_declared(node: CheckedNode, report: Report) -> None:
    spec = node.spec
    for name, field in node.fields.items():
        compiled = node.params.get(name) if field.schema is not None else None
        if compiled is None or compiled.is_single or compiled.is_computed or isinstance(compiled, Refused):
            continue
        value, unknown = compiled.render(_unknown), {place for place, _ in compiled.places()}
        if not unknown and not fits(value, field.type):
            continue  # it is reported already
        for inside, problem in _misfits(value, taken_by(node, field), unknown, ()):
            message = f"parameter `{show_path((name, *inside))}` of node `{spec.id}` ({spec.type}) {problem}"
            path: Path = ("nodes", node.index, "params", name, *inside)
            # A person's own node may take more than it says.
            severity: Severity = "warning" if node.entry is not None and node.entry.is_user else "error"
            report("wrong-value", message, path, severity=severity, newer=True)


def _misfits(
    value: object, kind: ValueType, unknown: Collection[ValuePath], path: ValuePath
) -> Iterator[tuple[ValuePath, str]]:
    kinds, values = kind.kinds, kind.values
    if path in unknown or (value in (None, "") and not path):  # nodes take these as left out
        return
    if values is not None:
        if value not in values:
            yield (
                path,
                f"must be {' or '.join(f'`{option}`' for option in values[:_SHOWN])}, not `{shorten(str(value))}`",
            )
    elif kinds is not None and not admits(kinds, _kind(value)):
        yield path, f"must be {'|'.join(sorted(kinds))}, not {type_of(value)}"
    elif isinstance(value, Mapping):
        for name, part in value.items():
            yield from _misfits(part, kind.at((name,)), unknown, (*path, name))
    elif isinstance(value, list):
        elements = kind.elements
        for index, part in enumerate(value):
            yield from _misfits(part, elements, unknown, (*path, index))


def _check_arguments(node: CheckedNode, check: ArgumentCheck, report: Report) -> None:
    spec = node.spec
    name = f"node `{spec.id}`" + (f" ({spec.type})" if spec.id != spec.type else "")
    arguments = {name: compiled.render(_unknown) for name, compiled in node.params.items()}
    unknown = {(name, *place) for name, compiled in node.params.items() for place, _ in compiled.places()}
    constants = ((name, compiled.value) for name, compiled in node.params.items() if not compiled.references)
    told = {name for name, value in constants if not _is_admitted(node, name, value)}
    for place, problem in check.problems_of_literals(arguments, unknown):
        if not place or place[0] in told:
            continue  # what is missing, unknown or of another type altogether is reported already
        report(
            "wrong-value",
            f"{name}: {problem}",
            ("nodes", node.index, "params", *place),
            hint=Advice("`{describe_node}` shows what it takes", node=spec.type),
            newer=True,
        )


def _needs_check(node: CheckedNode, schema: Mapping[str, object]) -> bool:
    """Whether there is anything to find that the types of the params do not tell."""
    if not schema.keys() <= _PLAIN_ROOT:
        return bool(node.params)
    properties = schema.get("properties")
    for name, compiled in node.params.items():
        if any(not place for place, _ in compiled.places()):
            continue
        part = properties.get(name) if isinstance(properties, Mapping) else None
        value = compiled.value
        is_plain = isinstance(part, Mapping) and part.keys() <= _PLAIN
        if not is_plain or value is None or isinstance(value, Mapping | list):
            return True
    return False


def _is_admitted(node: CheckedNode, name: str, value: object) -> bool:
    field = node.fields.get(name)
    return field is None or fits(value, field.type) or (value is None and not field.required)


def _kind(value: object) -> str:
    return "integer" if isinstance(value, float) and value.is_integer() else type_of(value)


def _unknown(reference: Reference) -> object:
    """What stands in for the value of a template while the rest is looked at."""
    return ""
