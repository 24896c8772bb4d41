"""What steps that compute will give: the types of their expressions are those of their outputs."""

from __future__ import annotations

from collections.abc import Mapping

from pflow.core.interface import Field
from pflow.core.schema_path import Schema
from pflow.core.template.compiled import ValuePath
from pflow.core.template.computed import Computed
from pflow.core.value_type import ValueType, as_schema, of_kinds
from pflow.execution.expression.check import ExpressionCheck
from pflow.execution.fit.given import GivenTypes
from pflow.execution.node_check import CheckedNode

_COUNT = Field(name="count", type="integer")


def infer_outputs(node: CheckedNode, checks: ExpressionCheck, given: GivenTypes) -> tuple[Field, ...] | None:
    """The outputs of a node with their types; None where its type declares all that is known."""
    if node.is_built_in("let"):
        return tuple(_field(name, _of_param(node, name, checks).get((), of_kinds("any"))) for name in node.spec.params)
    if node.is_built_in("switch"):
        cases = node.spec.params.get("cases")
        names = [*map(str, cases), "else"] if isinstance(cases, Mapping) else []
        return (Field(name="case", type="string", schema={"type": "string", "enum": names}),) if names else None
    if node.is_built_in("filter"):
        return (_list(_item(node, given)), _COUNT, Field(name="dropped", type="integer"))
    if node.is_built_in("map"):
        made = _shape(node.spec.params.get("to"), (), _of_param(node, "to", checks))
        return (_list(made), _COUNT)
    return None


def _of_param(node: CheckedNode, name: str, checks: ExpressionCheck) -> Mapping[ValuePath, ValueType]:
    compiled = node.params.get(name)
    return checks.types_of(node, compiled) if isinstance(compiled, Computed) else {}


def _item(node: CheckedNode, given: GivenTypes) -> Schema:
    items = node.params.get("items")
    found = given.of_value(node.index, items, node.spec.params.get("items")) if items is not None else None
    return as_schema(found.elements) if found is not None and found.is_array else {}


def _shape(written: object, path: ValuePath, types: Mapping[ValuePath, ValueType]) -> Schema:
    """What expressions give in the shape in which they are written."""
    if isinstance(written, Mapping):
        fields = {str(name): _shape(part, (*path, str(name)), types) for name, part in written.items()}
        return {"type": "object", "properties": fields}
    if isinstance(written, list):
        return {"type": "array"}
    return as_schema(types[path]) if path in types else {}


def _list(items: Schema) -> Field:
    return Field(name="items", type="array", schema={"type": "array", **({"items": items} if items else {})})


def _field(name: str, found: ValueType) -> Field:
    schema = as_schema(found)
    kinds = sorted((found.kinds or frozenset()) - {"null"})
    return Field(name=name, type="|".join(kinds), schema=schema) if schema and kinds else Field(name=name)
