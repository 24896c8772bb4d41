"""Checks an expression against what is known of the types of its names. What is not known is left to the run."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from itertools import product

from pflow.core.expression import type_hint
from pflow.core.expression.check_call import call_type, macro_type, variable_type
from pflow.core.expression.fault import Fault, position
from pflow.core.expression.problem import Checked, Code, Problem
from pflow.core.expression.spelling import field_hint
from pflow.core.expression.static_type import (
    ANY,
    EMPTY_LIST,
    StaticType,
    list_of,
    may_agree,
    may_equal,
    object_of,
    of_kind,
    of_value,
    one_of,
    sum_of,
)
from pflow.core.expression.tree import (
    Arithmetic,
    Array,
    Call,
    Choice,
    Compare,
    Expression,
    Field,
    Has,
    Index,
    Key,
    Literal,
    Logic,
    Macro,
    Negative,
    Node,
    Not,
    Object,
    Path,
    key_text,
)
from pflow.core.expression.value import NUMBERS, arithmetic_kind, comparable, conversions, kind_of, no_arithmetic
from pflow.core.json_type import with_article
from pflow.core.printable import shorten
from pflow.core.suggest import did_you_mean, nearest
from pflow.core.text_hint import parse_path_hint
from pflow.core.value_type import ValueType

_WORD = re.compile(r"[\w-]+", re.ASCII)


def check(expression: Expression, types: Mapping[str, ValueType], *, must_be: str = "") -> Checked:
    """Check an expression. `types` has every name that it may use; `must_be` is the kind that its place needs."""
    checker = _Checker(expression.text, types)
    found = checker.type(expression.tree)
    if must_be and must_be not in found.possible and found.kinds is not None:
        hint = type_hint.truth_hint(found.possible, expression.text.strip()) if must_be == "boolean" else ""
        message = f"the expression must give {with_article(must_be)}; it gives {found}"
        checker.report("expression-type", message, 0, hint, evidence=(found,))
    return Checked(
        type=found.json,
        problems=tuple(checker.problems),
        expression=expression._replace(doubles=frozenset(checker.doubles)),
    )


class _Checker:
    """One check: the names, the variables of macros, and what was found."""

    def __init__(self, text: str, types: Mapping[str, ValueType]) -> None:
        self.text = text
        self.types = types
        self.variables: dict[str, StaticType] = {}
        self.problems: list[Problem] = []
        self.doubles: set[int] = set()

    def type(self, node: Node) -> StaticType:
        """The type of a node."""
        return _RULES[node.__class__](self, node)

    def report(
        self,
        code: Code,
        message: str,
        at: int,
        hint: str = "",
        *,
        known: Iterable[str] = (),
        evidence: Iterable[StaticType] = (),
        is_warning: bool = False,
        unknown: str = "",
    ) -> None:
        """Note a problem; a warning if the types that it follows from were only seen, not declared."""
        line, column = position(self.text, at)
        doubtful = is_warning or not all(one.is_certain for one in evidence)
        problem = Problem(
            code=code,
            message=message,
            line=line,
            column=column,
            hint=hint,
            known=tuple(known),
            is_warning=doubtful,
            unknown=unknown,
        )
        if problem not in self.problems:
            self.problems.append(problem)

    def needs(self, node: Node, kind: str, place: str, advice: str = "") -> None:
        """Note a problem unless a node may be of a kind."""
        found = self.type(node)
        if kind not in found.possible:
            hint = advice or (
                type_hint.truth_hint(found.possible, type_hint.spelled(node)) if kind == "boolean" else ""
            )
            message = f"{place} is {with_article(kind)}, not {found}"
            self.report("expression-type", message, node.at, hint, evidence=(found,))


# ---- names and fields


def _path(checker: _Checker, node: Path) -> StaticType:
    return _followed(checker, node, len(node.keys))


def _followed(checker: _Checker, node: Path, count: int) -> StaticType:
    """The type of a path up to its first `count` keys."""
    if node.is_local:
        found = checker.variables[node.name]
    else:
        start, dashed = _dashed_name(checker, node)
        if dashed and start < node.at:
            return ANY  # the part behind the `-` of a name that was reported
        if node.name not in checker.types:
            return _unknown_name(checker, node, dashed)
        if dashed:
            message = f"`{dashed}` is `{dashed.replace('-', ' minus ')}` here, not the node"
            hint = f'write `steps["{dashed}"]` for the node, or put spaces around the minus'
            checker.report("hidden-name", message, node.at, hint, is_warning=True)
        found = of_value(checker.types[node.name])
    for place, key in enumerate(node.keys[:count]):
        if place == 0 and key in ("outputs", "output") and found.possible == {"object"} and found.lacks(key):
            named = node.name + "".join(key_text(part) for part in node.keys[1:])
            message = f"`{node.name}` has no field `{key}`"
            checker.report("unknown-field", message, node.at, f"write `{named}`", known=sorted(found.value.names))
            continue
        found = _at(checker, found, key, node.text_to(place), node.at)
    return found


def _dashed_name(checker: _Checker, node: Path) -> tuple[int, str]:
    """The name with a `-` that a path is part of as it is written, and where it begins; "" if there is none."""
    if "-" not in checker.text:
        return 0, ""
    word = next(word for word in _WORD.finditer(checker.text) if word.start() <= node.at < word.end())
    dashed = word[0]
    while "-" in dashed and dashed not in checker.types:
        dashed = dashed.rpartition("-")[0]
    is_part = "-" in dashed and node.at < word.start() + len(dashed)
    return word.start(), dashed if is_part else ""


def _unknown_name(checker: _Checker, node: Path, dashed: str) -> StaticType:
    hint = f'write `steps["{dashed}"]`: a `-` is a minus' if dashed else did_you_mean(node.name, checker.types)
    hint = hint or type_hint.name_hint(node, checker.types)
    message = f"there is no input or node `{node.name}`"
    checker.report("unknown-name", message, node.at, hint, known=sorted(checker.types), unknown=node.name)
    return ANY


def _at(checker: _Checker, found: StaticType, key: Key, text: str, at: int) -> StaticType:
    """The type at a key of a value that is written `text`."""
    found = found.opened
    wanted = "array" if isinstance(key, int) else "object"
    if wanted not in found.possible:
        hint = field_hint(str(key), text) if found.possible <= {"array", "string"} else ""
        if not hint and found.possible == {"array"}:
            hint = f"name an element, `{text}[0]{key_text(key)}`, or take all, `{text}.map(i, i{key_text(key)})`"
        if not hint and found.possible == {"string"}:
            hint = parse_path_hint(text)
        what = f"element {key}" if isinstance(key, int) else f"field `{key}`"
        checker.report("unknown-field", f"`{text}` is {found} and has no {what}", at, hint, evidence=(found,))
        return ANY
    if isinstance(key, str) and found.possible == {"object"} and found.lacks(key):
        known = sorted(found.value.names)
        near = nearest(key, known, limit=1)
        hint = f"did you mean `{text}{key_text(near[0])}`?" if near else ""
        checker.report("unknown-field", f"`{text}` has no field `{key}`", at, hint, known=known, evidence=(found,))
        return ANY
    return found.at(key)


def _field(checker: _Checker, node: Field) -> StaticType:
    return _at(checker, checker.type(node.operand), node.key, "…", node.at)


def _index(checker: _Checker, node: Index) -> StaticType:
    found, key = checker.type(node.operand), checker.type(node.key)
    if not found.possible & {"array", "object"}:
        checker.report("expression-type", f"{found} has no elements", node.at, evidence=(found,))
        return ANY
    fits = ("array" in found.possible and "integer" in key.possible) or (
        "object" in found.possible and "string" in key.possible
    )
    if not fits:
        wanted = "an integer" if found.possible == {"array"} else "a string"
        checker.report("expression-type", f"a key of {found} is {wanted}, not {key}", node.at, evidence=(found, key))
    return found.elements


def _has(checker: _Checker, node: Has) -> StaticType:
    target = node.target
    base = (
        checker.type(target.operand) if isinstance(target, Field) else _followed(checker, target, len(target.keys) - 1)
    )
    base = base.opened
    if "object" not in base.possible:
        message = f"`has` asks for a field of an object, not of {base}"
        checker.report("expression-type", message, target.at, evidence=(base,))
    return of_kind("boolean")


# ---- operators


def _literal(checker: _Checker, node: Literal) -> StaticType:
    meant = type_hint.template_inside(node.value, checker.types) if isinstance(node.value, str) else ""
    if meant:
        message = "this string is text: templates do not stand in expressions"
        checker.report("misplaced-template", message, node.at, f"write `{meant}` without quotes", is_warning=True)
    return of_kind(kind_of(node.value))


def _not(checker: _Checker, node: Not) -> StaticType:
    checker.needs(node.operand, "boolean", "what `!` turns round")
    return of_kind("boolean")


def _negative(checker: _Checker, node: Negative) -> StaticType:
    found = checker.type(node.operand)
    kinds = found.possible & NUMBERS
    if not kinds:
        checker.report("expression-type", f"`-` needs a number, not {found}", node.at, evidence=(found,))
        return ANY
    return of_kind(next(iter(kinds))) if len(kinds) == 1 else ANY


def _arithmetic(checker: _Checker, node: Arithmetic) -> StaticType:
    left, before = checker.type(node.first), node.first
    for term in node.rest:
        right = checker.type(term.operand)
        pairs = product(sorted(left.possible), sorted(right.possible))
        kinds = {kind for one, other in pairs if (kind := arithmetic_kind(term.operator, one, other))}
        if not kinds:
            one, other = (" or ".join(sorted(side.possible)) for side in (left, right))
            message = no_arithmetic(term.operator, one, other)
            kinds_of = (left.possible, right.possible)
            hint = type_hint.pair_hint(term.operator, before, term.operand, kinds_of) or type_hint.first(
                conversions((one, other))
            )
            checker.report("expression-type", message, term.at, hint, evidence=(left, right))
            left, before = ANY, node
            continue
        before = node if node.rest[1:] else before
        if left.is_declared_number or right.is_declared_number:
            checker.doubles.add(term.at)
        left = sum_of(left, right, kinds)
    return left


def _compare(checker: _Checker, node: Compare) -> StaticType:
    left, right = checker.type(node.left), checker.type(node.right)
    if node.operator == "in":
        _check_in(checker, node, left, right)
    elif node.operator in ("==", "!="):
        _check_equal(checker, node, left, right)
        _check_choice(checker, left, node.left, node.right)
        _check_choice(checker, right, node.right, node.left)
    elif not any(comparable(one, other) for one, other in product(left.possible, right.possible)):
        _report_pair(checker, node, left, right, f"`{node.operator}` cannot compare {left} with {right}")
    return of_kind("boolean")


def _report_pair(checker: _Checker, node: Compare, left: StaticType, right: StaticType, message: str) -> None:
    hint = type_hint.together(node, (left.possible, right.possible))
    checker.report("expression-type", message, node.at, hint, evidence=(left, right))


def _check_equal(checker: _Checker, node: Compare, left: StaticType, right: StaticType) -> None:
    if not may_equal(left, right):
        _report_pair(checker, node, left, right, f"{left} never equals {right}")


def _check_choice(checker: _Checker, found: StaticType, node: Node, other: Node) -> None:
    """Warn if a value that can only be one of some is compared with another constant."""
    values = found.value.values
    if values is None or not isinstance(other, Literal) or other.value is None or isinstance(node, Literal):
        return
    if kind_of(other.value) in found.possible and other.value not in values:
        text = node.text if isinstance(node, Path) else "it"
        known = [str(value) for value in values]
        hint = did_you_mean(str(other.value), known)
        hint = hint or f"it is one of {', '.join(f'`{value}`' for value in known[:10])}"
        message = f"`{text}` is never `{shorten(str(other.value))}`"
        checker.report("never-true", message, other.at, hint, known=known, is_warning=True)


def _check_in(checker: _Checker, node: Compare, left: StaticType, right: StaticType) -> None:
    if not right.possible & {"array", "object"}:
        hint = type_hint.part_hint(node.left, node.right) if "string" in right.possible else ""
        message = f"`in` asks a list or an object, not {right}"
        checker.report("expression-type", message, node.at, hint, evidence=(right,))
    elif right.possible == {"object"} and "string" not in left.possible:
        message = f"the keys of an object are strings; this asks for {left}"
        checker.report("expression-type", message, node.at, evidence=(left, right))
    elif not may_equal(left, right.elements):
        never = f"{left} is never in a list where each element is {right.elements}"
        checker.report("never-true", never, node.at, is_warning=True)
    for item in node.right.items if isinstance(node.right, Array) else ():
        _check_choice(checker, left, node.left, item)


def _logic(checker: _Checker, node: Logic) -> StaticType:
    advice = type_hint.one_of_hint(node)
    for operand in node.operands:
        checker.needs(operand, "boolean", f"an operand of `{node.operator}`", advice)
    return of_kind("boolean")


def _choice(checker: _Checker, node: Choice) -> StaticType:
    for case in node.cases:
        checker.needs(case.condition, "boolean", "a condition")
    found = [*(checker.type(case.value) for case in node.cases), checker.type(node.otherwise)]
    _check_branches(checker, node, found)
    return one_of(found)


def _check_branches(checker: _Checker, node: Choice, found: list[StaticType]) -> None:
    """What `? :` gives has one type, whichever way it goes; null may stand for none."""
    known = [one for one in found if one.kinds is not None and one.kinds != {"null"}]
    for one in known[1:]:
        kinds = [(each.kinds or frozenset()) - {"null"} for each in (known[0], one)]
        if not may_agree(*kinds):
            message = f"`? :` gives {known[0]} or {one}, depending on the condition"
            hint = "convert one of them, such as with `string(x)`, or allow both with `dyn(x)`"
            checker.report("expression-type", message, node.at, hint, evidence=(known[0], one))
            return


# ---- lists, objects, calls


def _array(checker: _Checker, node: Array) -> StaticType:
    return list_of(one_of([checker.type(item) for item in node.items])) if node.items else EMPTY_LIST


def _object(checker: _Checker, node: Object) -> StaticType:
    fields: dict[str, StaticType] = {}
    for entry in node.entries:
        checker.needs(entry.key, "string", "a key of an object")
        found = checker.type(entry.value)
        if isinstance(entry.key, Literal):
            fields[str(entry.key.value)] = found
    return object_of(fields if len(fields) == len(node.entries) else None)


def _call(checker: _Checker, node: Call) -> StaticType:
    given = [checker.type(argument) for argument in node.arguments]
    try:
        return call_type(node.name, given)
    except Fault as fault:
        is_list = node.name == "contains" and given[0].possible == {"array"}
        hint = type_hint.member_hint(node) if is_list else type_hint.first(fault.hints)
        checker.report("expression-type", fault.message, node.at, hint, evidence=given)
        return ANY


def _macro(checker: _Checker, node: Macro) -> StaticType:
    items = checker.type(node.items)
    if not items.possible & {"array", "object"}:
        message = f"`{node.name}` goes through a list or the keys of an object, not {items}"
        checker.report("expression-type", message, node.at, evidence=(items,))
        items = ANY
    if node.variable in checker.types:
        message = f"the variable `{node.variable}` hides the input or node of that name"
        checker.report("hidden-name", message, node.at, "give the variable another name", is_warning=True)
    outer = checker.variables.get(node.variable)
    checker.variables[node.variable] = variable_type(items)
    try:
        if node.name in ("all", "exists", "exists_one", "filter") or len(node.bodies) == 2:
            checker.needs(node.bodies[0], "boolean", f"the condition of `{node.name}`")
        body = checker.type(node.bodies[-1])
        return macro_type(node.name, items, body)
    except Fault as fault:
        checker.report("expression-type", fault.message, node.at, *fault.hints[:1], evidence=(items,))
        return ANY
    finally:
        if outer is None:
            del checker.variables[node.variable]
        else:
            checker.variables[node.variable] = outer


_RULES: Mapping[type[Node], Callable[..., StaticType]] = {
    Literal: _literal,
    Path: _path,
    Field: _field,
    Index: _index,
    Has: _has,
    Not: _not,
    Negative: _negative,
    Arithmetic: _arithmetic,
    Compare: _compare,
    Logic: _logic,
    Choice: _choice,
    Array: _array,
    Object: _object,
    Call: _call,
    Macro: _macro,
}
