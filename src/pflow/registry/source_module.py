"""One parsed file of Python source: its classes, functions and constants, and how they make up interfaces."""

from __future__ import annotations

import ast
import keyword
import operator
import re
from collections.abc import Callable, Iterator, Mapping

from pflow.core.flow_safe import flow_safe
from pflow.registry import annotation_type as type_text
from pflow.registry import docstring_interface as interface_text

_BRANDS = re.compile(
    r"GitHub|GitLab|OpenAI|GraphQL|PostgreSQL|MySQL|SQLite|YouTube|LinkedIn|JavaScript|TypeScript|OAuth|PyPI"
)
_WORD = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z0-9]+|[A-Z]+[0-9]*|[0-9]+")
_PURITIES = ("pure", "read", "impure")
_FLAGS = ("open_params", "open_outputs", "echo_params", "computes_params", "waits")
UNKNOWN = object()
"""The value of an expression that is not constant."""

_ARITHMETIC: Mapping[type[ast.operator], Callable[[float, float], float]] = {
    ast.Mult: operator.mul,
    ast.Add: operator.add,
    ast.Sub: operator.sub,
}


def kebab(class_name: str) -> str:
    """`GitHubGetIssueNode` as a node type: `github-get-issue`."""
    stem = class_name.removesuffix("Node") or class_name
    if not stem.isascii():
        return stem  # not a valid name; without some of its letters it could be another one
    words = _WORD.findall(_BRANDS.sub(lambda brand: brand[0].capitalize(), stem))
    return "-".join(words).lower()


class SourceModule:
    """One parsed file: its classes, its constants, and how they make up interfaces."""

    def __init__(self, tree: ast.Module) -> None:
        self.body = tree.body
        self.classes = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
        self.constants = dict(_assignments(tree.body))

    def node_classes(self) -> Iterator[ast.ClassDef]:
        for node in self.classes.values():
            bases = [base for owner in self.lineage(node) for base in owner.bases]
            if not node.name.startswith("_") and any(type_text.last_name(b).endswith("Node") for b in bases):
                yield node

    def type_name(self, node: ast.ClassDef) -> str | None:
        """The name under which the class is registered; None when `name = None` hides it."""
        for name, value in _assignments(node.body):
            if name == "name":
                given = self.value(value)
                return given if isinstance(given, str) and given else None
        return kebab(node.name)

    def built_in_hash(self, node: ast.ClassDef, name: str) -> str:
        """A built-in node is known by its type and the class attribute `version`, by default 1.

        Raise `version` when the same params would now give another result: steps recorded before then run again.
        """
        version = self.attribute(self.lineage(node), "version")
        return f"{name}@{version if isinstance(version, int) else 1}"

    def lineage(self, node: ast.ClassDef) -> list[ast.ClassDef]:
        """The class and those it builds on, as far as this file defines them."""
        seen: dict[str, ast.ClassDef] = {}
        waiting = [node]
        while waiting:
            owner = waiting.pop(0)
            if owner.name not in seen:
                seen[owner.name] = owner
                bases = (self.classes.get(type_text.last_name(base)) for base in owner.bases)
                waiting.extend(base for base in bases if base is not None)
        return list(seen.values())

    def interface(self, node: ast.ClassDef) -> dict[str, object]:
        docstring = ast.get_docstring(node, clean=False) or ""
        declared = interface_text.declared(docstring)
        lineage = self.lineage(node)
        interface: dict[str, object] = {"description": interface_text.description(docstring)}
        typed = False
        for kind, class_name in (("params", "Params"), ("reads", "Reads"), ("outputs", "Outputs")):
            holder = self.nested(lineage, class_name)
            if holder is not None:
                typed = True
                interface[kind] = self.fields(holder, given=kind != "outputs")
            elif declared and declared.get(kind):
                interface[kind] = declared[kind]
        actions = self.attribute(lineage, "actions")
        if isinstance(actions, list | tuple) and all(isinstance(action, str) for action in actions):
            interface["actions"] = list(actions)
        elif declared and declared.get("actions"):
            interface["actions"] = declared["actions"]
        interface["purity"] = self.purity(lineage)
        for flag in _FLAGS:
            if self.attribute(lineage, flag) is True:
                interface[flag] = True
        choices = self.attribute(lineage, "choice_param")
        if isinstance(choices, str):
            interface["choice_param"] = choices
        synonyms = self.attribute([node], "synonyms")
        if isinstance(synonyms, list | tuple) and all(isinstance(words, str) for words in synonyms):
            interface["synonyms"] = list(synonyms)
        if not typed and declared is None:
            # Nothing is known of such a node, so nothing about it can be wrong.
            interface["open_params"] = interface["open_outputs"] = True
        return interface

    def purity(self, lineage: list[ast.ClassDef]) -> str:
        for owner in lineage:
            for decorator in owner.decorator_list:
                call = decorator.func if isinstance(decorator, ast.Call) else decorator
                if type_text.last_name(call) == flow_safe.__name__:
                    words = decorator.keywords if isinstance(decorator, ast.Call) else []
                    cache = [self.value(word.value) for word in words if word.arg == "cache"]
                    return "read" if cache == [False] else "pure"
            given = self.attribute([owner], "purity")
            if isinstance(given, str) and given in _PURITIES:
                return given
        return "impure"

    def nested(self, lineage: list[ast.ClassDef], name: str) -> ast.ClassDef | None:
        inner = (item for owner in lineage for item in owner.body if isinstance(item, ast.ClassDef))
        return next((item for item in inner if item.name == name), None)

    def fields(self, holder: ast.ClassDef, *, given: bool, depth: int = 0) -> list[dict[str, object]]:
        """The annotated names of a `Params` or `Outputs` class, those of its bases first."""
        fields: dict[str, dict[str, object]] = {}
        for base in holder.bases if depth < type_text.MAX_DEPTH else ():
            inherited = self.holder_of(base)
            if inherited is not None:
                for entry in self.fields(inherited, given=given, depth=depth + 1):
                    fields[str(entry["name"])] = entry
        for item in holder.body:
            if isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name):
                entry = self.field(item.target.id, item, given=given)
                fields[str(entry["name"])] = entry
        return list(fields.values())

    def holder_of(self, base: ast.expr) -> ast.ClassDef | None:
        """The class that `Shared` or `_Base.Params` names."""
        if isinstance(base, ast.Attribute):
            owner = self.classes.get(type_text.last_name(base.value))
            return self.nested(self.lineage(owner), base.attr) if owner else None
        return self.classes.get(type_text.last_name(base))

    def field(self, name: str, item: ast.AnnAssign, *, given: bool) -> dict[str, object]:
        annotation, remarks = item.annotation, []
        if isinstance(annotation, ast.Subscript) and type_text.last_name(annotation.value) == "Annotated":
            parts = annotation.slice.elts if isinstance(annotation.slice, ast.Tuple) else [annotation.slice]
            annotation = parts[0]
            remarks = [text for part in parts[1:] if isinstance(text := self.value(part), str)]
        kind = type_text.read(annotation, self.classes)
        # `from_` stands for the parameter `from`, which Python cannot spell.
        plain = name.removesuffix("_")
        entry: dict[str, object] = {"name": plain if keyword.iskeyword(plain) else name, "type": kind.name}
        words = [remark for remark in remarks if not remark.startswith("slot:")]
        if words:
            entry["description"] = words[0]
        if given:
            if item.value is None:
                entry |= {"required": True} if not kind.optional else {}
            elif (default := self.value(item.value)) is not UNKNOWN:
                entry["default"] = default
            for remark in remarks:
                if remark.startswith("slot:"):
                    entry["slot"] = remark.removeprefix("slot:")
        if kind.schema is not None:
            entry["schema"] = kind.schema
        return entry

    def attribute(self, lineage: list[ast.ClassDef], name: str) -> object:
        """A class attribute's constant value, or None."""
        for owner in lineage:
            for found, value in _assignments(owner.body):
                if found == name:
                    constant = self.value(value)
                    return None if constant is UNKNOWN else constant
        return None

    def value(self, node: ast.expr, depth: int = 0) -> object:
        """The value of a constant expression: literals, module constants, and arithmetic on numbers."""
        if depth > type_text.MAX_DEPTH:
            return UNKNOWN
        if isinstance(node, ast.Name) and node.id in self.constants:
            return self.value(self.constants[node.id], depth + 1)
        if isinstance(node, ast.BinOp):
            left, right = self.value(node.left, depth + 1), self.value(node.right, depth + 1)
            compute = _ARITHMETIC.get(type(node.op))
            if compute is not None and isinstance(left, int | float) and isinstance(right, int | float):
                return compute(left, right)
        try:
            return ast.literal_eval(node)
        except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
            return UNKNOWN


def _assignments(body: list[ast.stmt]) -> Iterator[tuple[str, ast.expr]]:
    for item in body:
        if isinstance(item, ast.Assign):
            for target in item.targets:
                if isinstance(target, ast.Name):
                    yield target.id, item.value
        elif isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name) and item.value is not None:
            yield item.target.id, item.value
