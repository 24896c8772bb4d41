"""Evaluates an expression over values. Values are taken as they are, never copied into text, and nothing is coerced."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import NamedTuple

from pflow.core.expression.fault import Fault, located
from pflow.core.expression.function import FUNCTIONS, call
from pflow.core.expression.key import ABSENT, MISSING, Absent, exists, inside, keyed, no_value
from pflow.core.expression.list_function import sort_by
from pflow.core.expression.moment import write_duration, write_timestamp
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
    Literal,
    Logic,
    Macro,
    Negative,
    Node,
    Not,
    Object,
    Path,
)
from pflow.core.expression.value import (
    CHARACTERS_A_STEP,
    Duration,
    JsonText,
    Steps,
    Timestamp,
    arithmetic,
    compare,
    describe,
    equal,
    is_odd,
    negative,
)
from pflow.core.suggest import did_you_mean


class Evaluated(NamedTuple):
    """What an expression gave, and what it read to get there.

    `reads` has every path that was read with its value, spelled as in `Path.text`, and `has(PATH)` with whether it was
    there. `absent` are the paths that were asked for in vain, and whose error did not matter to the result.
    """

    value: object
    reads: Mapping[str, object]
    absent: frozenset[str]


_NOTHING: frozenset[str] = frozenset()


def evaluate(expression: Expression, names: Mapping[str, object]) -> Evaluated:
    """The value of an expression, as JSON has it. A name or any part of its value may be `Absent`."""
    scope = _Scope(names, expression.doubles)
    try:
        value = scope.value(expression.tree)
        if scope.is_odd:
            value = _plain(value)
    except Fault as fault:
        raise located(fault, expression.text) from None
    return Evaluated(value, scope.reads, frozenset(scope.absent) if scope.absent else _NOTHING)


class _Scope:
    """One evaluation: the names, the variables of macros, what was read and what it cost."""

    __slots__ = ("absent", "doubles", "is_odd", "names", "reads", "steps", "variables")

    def __init__(self, names: Mapping[str, object], doubles: frozenset[int]) -> None:
        self.names = names
        self.doubles = doubles
        self.variables: dict[str, object] = {}
        self.reads: dict[str, object] = {}
        self.absent: set[str] = set()
        self.steps = Steps()
        self.is_odd = False

    def value(self, node: Node) -> object:
        """The value of a node."""
        steps = self.steps
        steps.left -= 1
        try:
            if steps.left < 0:
                steps.spend(0)
            return _RULES[node.__class__](self, node)
        except Fault as fault:
            if fault.at < 0:
                fault.at = node.at
            raise

    def truth(self, node: Node, place: str) -> bool:
        """The value of a node that must be a boolean."""
        value = self.value(node)
        if value is True or value is False:
            return value
        hint = "compare it with something: `x > 0`, `x != null`, `size(x) > 0`"
        raise Fault("type", f"{place} is a boolean, not {describe(value)}", hint, at=node.at)


# ---- paths and fields


def _path(scope: _Scope, node: Path) -> object:
    if node.is_local:
        value = scope.variables[node.name]
        for count, key in enumerate(node.keys):
            value = inside(value, key, node, count)
        return value
    try:
        value = _root(scope, node)
        for count, key in enumerate(node.keys):
            value = inside(value, key, node, count)
        if isinstance(value, Absent):
            raise no_value(node, value)
        if value.__class__ is JsonText:
            value = str(value)
    except Fault:
        scope.absent.add(node.text)
        raise
    scope.reads[node.text] = value
    return value


def _root(scope: _Scope, node: Path) -> object:
    try:
        return scope.names[node.name]
    except KeyError:
        hint = did_you_mean(node.name, scope.names)
        raise Fault("absent", f"there is no `{node.name}` here", hint, at=node.at) from None


def _field(scope: _Scope, node: Field) -> object:
    return keyed(scope.value(node.operand), node.key, node.at)


def _index(scope: _Scope, node: Index) -> object:
    operand, key = scope.value(node.operand), scope.value(node.key)
    if isinstance(key, float) and isinstance(operand, list | tuple) and key.is_integer():
        key = int(key)
    if isinstance(key, bool) or not isinstance(key, str | int):
        raise Fault("type", f"a key is a string or an integer, not {describe(key)}", at=node.at)
    return keyed(operand, key, node.at)


def _has(scope: _Scope, node: Has) -> bool:
    target = node.target
    if isinstance(target, Field):
        return exists(scope.value(target.operand), target.key, target.at)
    if target.is_local:
        value = scope.variables[target.name]
        for count, key in enumerate(target.keys[:-1]):
            value = inside(value, key, target, count)
        return exists(value, target.keys[-1], target.at)
    try:
        value = _root(scope, target)
        for count, key in enumerate(target.keys[:-1]):
            if isinstance(value, Absent):
                break
            value = inside(value, key, target, count)
        found = exists(value, target.keys[-1], target.at)
    except Fault:
        scope.absent.add(target.text)
        raise
    scope.reads[f"has({target.text})"] = found
    return found


# ---- operators


def _literal(scope: _Scope, node: Literal) -> object:
    return node.value


def _not(scope: _Scope, node: Not) -> bool:
    return not scope.truth(node.operand, "what `!` turns round")


def _negative(scope: _Scope, node: Negative) -> int | float:
    return negative(scope.value(node.operand))


def _arithmetic(scope: _Scope, node: Arithmetic) -> object:
    value = scope.value(node.first)
    for term in node.rest:
        other = scope.value(term.operand)
        try:
            value = arithmetic(term.operator, value, other, scope.steps, doubles=term.at in scope.doubles)
        except Fault as fault:
            fault.at = term.at
            raise
        scope.is_odd = scope.is_odd or is_odd(value)
    return value


def _compare(scope: _Scope, node: Compare) -> bool:
    left, right = scope.value(node.left), scope.value(node.right)
    match node.operator:
        case "==":
            return equal(left, right, scope.steps)
        case "!=":
            return not equal(left, right, scope.steps)
        case "in":
            return _in(left, right, scope.steps)
    if isinstance(left, str):
        scope.steps.spend(len(left) // CHARACTERS_A_STEP)
    return compare(node.operator, left, right)


def _in(item: object, container: object, steps: Steps) -> bool:
    if isinstance(container, list | tuple):
        return any(equal(item, other, steps) for other in container)
    if isinstance(container, Mapping):
        if not isinstance(item, str | int | float):
            raise Fault("type", f"the keys of an object are strings; this asks for {describe(item)}")
        return isinstance(item, str) and not isinstance(container.get(item, ABSENT), Absent)
    hint = "for a part of a string write `x.contains('part')`" if isinstance(container, str) else ""
    raise Fault("type", f"`in` asks a list or an object, not {describe(container)}", hint)


def _logic(scope: _Scope, node: Logic) -> bool:
    return _decided(scope, node.operands, node.operator == "||", f"an operand of `{node.operator}`")


def _decided(scope: _Scope, nodes: Iterable[Node], decides: bool, place: str) -> bool:
    """CEL's rule: one truth that decides is enough, even if another one fails, whatever their order."""
    failure: Fault | None = None
    for node in nodes:
        try:
            if scope.truth(node, place) is decides:
                return decides
        except Fault as fault:
            if fault.kind == "limit":
                raise
            failure = failure or fault
    if failure:
        raise failure
    return not decides


def _choice(scope: _Scope, node: Choice) -> object:
    for case in node.cases:
        if scope.truth(case.condition, "a condition"):
            return scope.value(case.value)
    return scope.value(node.otherwise)


# ---- lists, objects, calls


def _array(scope: _Scope, node: Array) -> list[object]:
    return [scope.value(item) for item in node.items]


def _object(scope: _Scope, node: Object) -> dict[str, object]:
    found: dict[str, object] = {}
    for entry in node.entries:
        key = scope.value(entry.key)
        if not isinstance(key, str):
            raise Fault(
                "type",
                f"the keys of an object are strings, not {describe(key)}",
                "convert it: `string(x)`",
                at=entry.key.at,
            )
        if key in found:
            raise Fault("value", "a key of the object is there twice", at=entry.key.at)
        found[key] = scope.value(entry.value)
    return found


def _call(scope: _Scope, node: Call) -> object:
    arguments = [scope.value(argument) for argument in node.arguments]
    value = call(node.name, arguments, scope.steps)
    scope.is_odd = scope.is_odd or FUNCTIONS[node.name].is_odd
    return value


def _macro(scope: _Scope, node: Macro) -> object:
    items = scope.value(node.items)
    if isinstance(items, Mapping):
        items = [key for key in items if not isinstance(items.get(key), Absent)]
    elif not isinstance(items, list | tuple):
        raise Fault("type", f"`{node.name}` goes through a list or the keys of an object, not {describe(items)}")
    outer = scope.variables.get(node.variable, MISSING)
    try:
        return _MACROS[node.name](scope, node, items)
    finally:
        if outer is MISSING:
            scope.variables.pop(node.variable, None)
        else:
            scope.variables[node.variable] = outer


Items = list[object] | tuple[object, ...]


def _each(scope: _Scope, node: Macro, items: Items) -> Iterator[object]:
    """The items, each as the value of the variable while it is looked at."""
    variables, name, steps = scope.variables, node.variable, scope.steps
    for item in items:
        steps.spend(1)
        variables[name] = item
        yield item


def _truth(scope: _Scope, node: Macro) -> bool:
    return scope.truth(node.bodies[0], f"the condition of `{node.name}`")


def _all(scope: _Scope, node: Macro, items: Items) -> bool:
    return _any_decides(scope, node, items, False)


def _exists(scope: _Scope, node: Macro, items: Items) -> bool:
    return _any_decides(scope, node, items, True)


def _any_decides(scope: _Scope, node: Macro, items: Items, decides: bool) -> bool:
    body = node.bodies[0]
    return _decided(scope, (body for _ in _each(scope, node, items)), decides, f"the condition of `{node.name}`")


def _exists_one(scope: _Scope, node: Macro, items: Items) -> bool:
    return sum(_truth(scope, node) for _ in _each(scope, node, items)) == 1


def _filter(scope: _Scope, node: Macro, items: Items) -> list[object]:
    return [item for item in _each(scope, node, items) if _truth(scope, node)]


def _map(scope: _Scope, node: Macro, items: Items) -> list[object]:
    is_filtered = len(node.bodies) == 2
    body = node.bodies[-1]
    return [scope.value(body) for _ in _each(scope, node, items) if not is_filtered or _truth(scope, node)]


def _sort_by(scope: _Scope, node: Macro, items: Items) -> list[object]:
    return sort_by(scope.steps, items, [scope.value(node.bodies[0]) for _ in _each(scope, node, items)])


_MACROS: Mapping[str, Callable[[_Scope, Macro, Items], object]] = {
    "all": _all,
    "exists": _exists,
    "exists_one": _exists_one,
    "filter": _filter,
    "map": _map,
    "sortBy": _sort_by,
}
_RULES: Mapping[type[Node], Callable[..., object]] = {
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


# ---- results


def _plain(value: object) -> object:
    """A value as JSON has it: times become strings, in a copy. Without recursion, since values can be deep."""
    found: list[object] = []
    waiting: list[tuple[object, Callable[[object], object]]] = [(value, found.append)]
    while waiting:
        part, keep = waiting.pop()
        if isinstance(part, Mapping):
            copy: dict[str, object] = dict.fromkeys(part)
            keep(copy)
            waiting.extend((part[key], partial(copy.__setitem__, key)) for key in part)
        elif isinstance(part, list | tuple):
            items: list[object] = [None] * len(part)
            keep(items)
            waiting.extend((item, partial(items.__setitem__, place)) for place, item in enumerate(part))
        else:
            keep(_scalar(part))
    return found[0]


def _scalar(value: object) -> object:
    if isinstance(value, Timestamp):
        return write_timestamp(value)
    if isinstance(value, Duration):
        return write_duration(value)
    if is_odd(value):
        raise Fault(
            "value",
            "the result is infinite or not a number, which JSON cannot hold",
            "ask first whether a divisor is zero",
            at=0,
        )
    return value
