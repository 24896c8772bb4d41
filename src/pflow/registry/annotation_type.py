"""Reads annotations as the document's types, with a JSON Schema where more is known."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import NamedTuple

from pflow.core.json_type import TYPE_NAMES, canonical

MAX_DEPTH = 16
"""Levels of nested types."""


class TypeText(NamedTuple):
    """A type as documents name it. `optional` says that `None` was among its members."""

    name: str
    schema: dict[str, object] | None = None
    optional: bool = False


def parse(text: str) -> TypeText | None:
    """The type in a piece of prose such as `list[str]`, or None if it is not one."""
    if all(part.strip() in TYPE_NAMES for part in text.split("|")):
        return TypeText(canonical(text))
    try:
        node = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    return read(node, {}) if _is_type(node) else None


def read(node: ast.expr, classes: Mapping[str, ast.ClassDef], depth: int = 0) -> TypeText:
    """The type that an annotation stands for; `classes` are those of its module, for typed dictionaries."""
    if depth > MAX_DEPTH:
        return TypeText("any")
    match node:
        case ast.Constant(value=None):
            return TypeText("any", optional=True)
        case ast.Constant(value=str(text)):
            try:
                return read(ast.parse(text, mode="eval").body, classes, depth + 1)
            except (SyntaxError, ValueError, RecursionError, MemoryError):
                return TypeText("any")
        case ast.BinOp(op=ast.BitOr()):
            return _union(_members(node), classes, depth)
        case ast.Name() | ast.Attribute():
            name = last_name(node)
            if name in classes:
                return _typed_dict(classes[name], classes, depth)
            return TypeText("any" if name == "object" else TYPE_NAMES.get(name, "any"))
        case ast.Subscript(value=base, slice=inner):
            return _generic(last_name(base), inner, classes, depth)
    return TypeText("any")


def is_record(node: ast.ClassDef, classes: Mapping[str, ast.ClassDef]) -> bool:
    """Whether a class only names and types its fields: a typed dictionary, or a dataclass."""
    decorators = (item.func if isinstance(item, ast.Call) else item for item in node.decorator_list)
    if any(last_name(decorator) == "dataclass" for decorator in decorators):
        return True
    others = {name: other for name, other in classes.items() if other is not node}
    bases = [last_name(base) for base in node.bases]
    return "TypedDict" in bases or any(base in others and is_record(others[base], others) for base in bases)


def last_name(node: ast.expr) -> str:
    """`Node` for both `Node` and `pocketflow.Node`; empty for anything else."""
    if isinstance(node, ast.Name):
        return node.id
    return node.attr if isinstance(node, ast.Attribute) else ""


def _members(node: ast.expr) -> list[ast.expr]:
    members: list[ast.expr] = []
    while isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        members.insert(0, node.right)
        node = node.left
    return [node, *members]


def _union(members: list[ast.expr], classes: Mapping[str, ast.ClassDef], depth: int) -> TypeText:
    kinds = [m for m in members if not (isinstance(m, ast.Constant) and m.value is None)]
    read_kinds = [read(kind, classes, depth + 1) for kind in kinds]
    optional = len(kinds) < len(members) or any(kind.optional for kind in read_kinds)
    if len(read_kinds) == 1:
        return read_kinds[0]._replace(optional=optional)
    return TypeText(canonical("|".join(kind.name for kind in read_kinds)), optional=optional)


def _generic(name: str, inner: ast.expr, classes: Mapping[str, ast.ClassDef], depth: int) -> TypeText:
    arguments = inner.elts if isinstance(inner, ast.Tuple) else [inner]
    if name == "Optional":
        return _union([inner, ast.Constant(value=None)], classes, depth)
    if name == "Union":
        return _union(list(arguments), classes, depth)
    if name in ("Annotated", "Required", "ReadOnly", "Final", "ClassVar"):
        return read(arguments[0], classes, depth + 1)
    if name == "NotRequired":
        return read(arguments[0], classes, depth + 1)._replace(optional=True)
    if name == "Literal":
        return _literal(arguments)
    kind = TYPE_NAMES.get(name, "any")
    if kind == "array" and arguments:
        return TypeText(kind, {"type": "array", "items": _schema(arguments[0], classes, depth)})
    if kind == "object" and len(arguments) == 2:
        return TypeText(kind, {"type": "object", "additionalProperties": _schema(arguments[1], classes, depth)})
    return TypeText(kind)


def _literal(arguments: list[ast.expr]) -> TypeText:
    values = [argument.value for argument in arguments if isinstance(argument, ast.Constant)]
    names = dict.fromkeys(TYPE_NAMES.get(type(value).__name__, "any") for value in values if value is not None)
    if not names or len(values) != len(arguments):
        return TypeText("any")
    return TypeText("|".join(names), {"enum": values}, optional=None in values)


def _typed_dict(node: ast.ClassDef, classes: Mapping[str, ast.ClassDef], depth: int) -> TypeText:
    if not is_record(node, classes):
        return TypeText("any")
    # Without itself: a dictionary that holds its own kind would never end.
    others = {name: other for name, other in classes.items() if other is not node}
    properties: dict[str, object] = {
        item.target.id: _schema(item.annotation, others, depth)
        for item in node.body
        if isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name)
    }
    return TypeText("object", {"type": "object", "properties": properties})


def _schema(node: ast.expr, classes: Mapping[str, ast.ClassDef], depth: int) -> dict[str, object]:
    kind = read(node, classes, depth + 1)
    if kind.schema is not None and not kind.optional:
        return kind.schema
    if kind.name == "any":
        return {}
    names = [*kind.name.split("|"), *(["null"] if kind.optional else [])]
    return {"type": names[0] if len(names) == 1 else names}


def _is_type(node: ast.expr) -> bool:
    match node:
        case ast.Name() | ast.Attribute():
            return last_name(node) in TYPE_NAMES
        case ast.Constant(value=None):
            return True
        case ast.BinOp(op=ast.BitOr()):
            return all(_is_type(member) for member in _members(node))
        case ast.Subscript(value=base):
            return last_name(base) in TYPE_NAMES or last_name(base) in ("Optional", "Union", "Literal")
    return False
