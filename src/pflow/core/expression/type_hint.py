"""What to write where the types of an expression do not fit, in the words of the expression itself."""

from __future__ import annotations

import re
from collections.abc import Collection, Container

from pflow.core.expression.tree import Call, Compare, Literal, Logic, Node, Not, Path
from pflow.core.expression.value import NUMBERS, conversions

_NUMBER = re.compile(r"-?[0-9]+(?:\.[0-9]+)?")
_TEMPLATE = re.compile(r"\$\{([A-Za-z_]\w*)([^{}]*)\}")
_WORDS = {"yes": "true", "on": "true", "no": "false", "off": "false"}
_PLACES = {
    "inputs": "inputs are named without `inputs`",
    "params": "inputs are named without `params`",
    "nodes": "nodes are named without `nodes`",
    "env": "there is no environment; declare an input",
    "secrets": "declare an input with `secret: true`",
    "item": "`item` is there in a batch, in its `where`, and in `filter` and `map`",
    "now": "there is no clock in expressions; use `timestamp(run.started_at)`",
    "default": "the last of several edges says `when: else`",
    "otherwise": "the last of several edges says `when: else`",
    "empty": "write `size(x) == 0`",
}


def spelled(node: Node) -> str:
    """A name or a constant as the author would write it; "" for anything else."""
    if isinstance(node, Path):
        return node.text
    if isinstance(node, Literal):
        value = node.value
        if isinstance(value, str):
            return "" if "'" in value or "\\" in value or "\n" in value else f"'{value}'"
        return "null" if value is None else str(value).lower()
    return ""


def truth_hint(kinds: Collection[str], text: str) -> str:
    """How to make a condition of a value that is not one, and is written `text`."""
    if text in ("'true'", "'false'", '"true"', '"false"'):
        return f"write `{text[1:-1]}` without quotes"
    tests = {"string": "{} != ''", "integer": "{} != 0", "number": "{} != 0", "array": "size({}) > 0"}
    kind = next(iter(kinds)) if len(kinds) == 1 else ""
    if text and kind in tests and text[0] not in "'\"0123456789[{":
        return f"compare it with something, such as `{tests[kind].format(text)}`"
    return "compare it with something: `x > 0`, `x != null`, `size(x) > 0`"


def pair_hint(operator: str, left: Node, right: Node, kinds: tuple[Collection[str], Collection[str]]) -> str:
    """How to bring two values together that an operator does not take; "" where nothing is known."""
    if isinstance(left, Not) and operator in ("==", "!="):
        inner, other = spelled(left.operand), spelled(right)
        return f"write `{inner} {'!=' if operator == '==' else '=='} {other}`" if inner and other else ""
    sides = [
        _converted(left, kinds[0], right, kinds[1], operator),
        _converted(right, kinds[1], left, kinds[0], operator),
    ]
    texts = [new or spelled(node) for new, node in zip(sides, (left, right), strict=True)]
    if all(texts) and any(sides):
        return f"write `{texts[0]} {operator} {texts[1]}`"
    new = next((side for side in sides if side), "")
    return f"write `{new}`" if new else ""


def _converted(node: Node, own: Collection[str], other: Node, kinds: Collection[str], operator: str) -> str:
    """One side of an operator as the other side needs it; "" if it can stay."""
    text, numeric = spelled(node), set(kinds) <= NUMBERS
    if not text:
        return ""
    if set(own) == {"string"}:
        if isinstance(node, Literal) and (kinds == {"boolean"} or numeric):
            plain = text[1:-1]
            fits = plain in ("true", "false") if kinds == {"boolean"} else _NUMBER.fullmatch(plain)
            return plain if fits and operator != "+" else ""
        if numeric and operator != "+" and not (isinstance(other, Path) and isinstance(node, Literal)):
            return f"{'int' if set(kinds) == {'integer'} else 'double'}({text})"
    if set(own) <= NUMBERS and set(kinds) == {"string"} and operator == "+":
        return f"string({text})"
    if set(own) == {"number"} and operator == "%":
        return f"int({text})"
    return ""


def part_hint(part: Node, of: Node) -> str:
    """How to ask for a part of a string."""
    inner, outer = spelled(part), spelled(of)
    if isinstance(of, Literal) and isinstance(of.value, str) and inner and " " in of.value:
        return f"write `{inner} in [{', '.join(repr(word) for word in of.value.split())}]`"
    return f"for a part of a string write `{outer or 'x'}.contains({inner or chr(39) + 'part' + chr(39)})`"


def member_hint(node: Call) -> str:
    """`x.contains(y)` for a list."""
    items, part = (spelled(argument) for argument in node.arguments)
    return f"write `{part or 'part'} in {items or 'x'}`"


def one_of_hint(node: Logic) -> str:
    """`x == 'a' || 'b'` as a list; "" if it is something else."""
    first, *rest = node.operands
    values = [spelled(one) for one in rest if isinstance(one, Literal)]
    if node.operator != "||" or not isinstance(first, Compare) or first.operator != "==" or len(values) < len(rest):
        return ""
    known, value = spelled(first.left), spelled(first.right)
    return f"write `{known} in [{', '.join([value, *values])}]`" if known and value else ""


def name_hint(path: Path, known: Container[str]) -> str:
    """What to write for a name that nothing has; "" if it may be anything."""
    first, *rest = [str(key) for key in path.keys] or [""]
    if path.name in _PLACES:
        if path.name in ("inputs", "params", "nodes") and first in known:
            return f"write `{'.'.join((first, *rest))}`: {_PLACES[path.name]}"
        if path.name == "env" and first:
            return f"declare an input `{first.lower()}`, and write `{first.lower()}`; there is no environment here"
        return _PLACES[path.name]
    if path.keys:
        return ""
    if path.name in _WORDS:
        return f"write `{_WORDS[path.name]}`"
    return f"write `'{path.name}'` if it is a text"


def template_inside(text: str, known: Container[str]) -> str:
    """What a string names in the syntax of templates, written as an expression; "" if it names nothing."""
    found = _TEMPLATE.search(text)
    if found is None or found[1] not in known or ":-" in found[2]:
        return ""
    return found[1] + found[2]


def together(node: Compare, kinds: tuple[Collection[str], Collection[str]]) -> str:
    """How to make two values comparable, of which these are the kinds."""
    hint = pair_hint(node.operator, node.left, node.right, kinds)
    return hint or first(conversions((min(kinds[0]), min(kinds[1]))))


def first(hints: tuple[str, ...]) -> str:
    """The first hint, if there is one."""
    return hints[0] if hints else ""
