"""What is known of the type of a part of an expression: kinds of values, and for JSON what is inside them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from pflow.core.expression.tree import Key
from pflow.core.expression.value import NUMBERS
from pflow.core.frozen import Frozen
from pflow.core.json_type import JSON_TYPES, with_article
from pflow.core.value_type import UNKNOWN, ValueType, of_kinds, union

_ARRAY = frozenset(("array",))
ALL_KINDS = JSON_TYPES | {"timestamp", "duration"}


class StaticType(Frozen):
    """The kinds that a value can have, None where any is possible, and its JSON type where it has one.

    An empty list is a list of anything: what it is joined with decides what its elements are.
    """

    kinds: frozenset[str] | None = None
    value: ValueType = UNKNOWN
    is_empty_list: bool = False

    @property
    def possible(self) -> frozenset[str]:
        """The kinds that it can have, without null: what may be null is usually not."""
        found = ALL_KINDS if self.kinds is None else self.kinds
        return found - {"null"} or found

    @property
    def is_certain(self) -> bool:
        """Whether the type was declared; what was only seen in calls may be different in the next."""
        return self.value.certain and not self.value.seen

    @property
    def is_declared_number(self) -> bool:
        """Whether it is declared as a number that may have a fraction, and so counts as a double always."""
        return self.is_certain and self.kinds is not None and self.possible == {"number"}

    @property
    def elements(self) -> StaticType:
        """The type of the elements of a list."""
        return of_value(self.value.elements) if self.possible == {"array"} else ANY

    @property
    def json(self) -> ValueType:
        """The type of the result: a time becomes a string."""
        if self.kinds is not None and self.kinds <= {"timestamp", "duration"}:
            return of_kinds("string")
        return self.value

    @property
    def opened(self) -> StaticType:
        """The type of what the text holds, where a key leads into text that may be JSON; else the same."""
        held = self.value.held
        return self if held is None else of_value(held)

    def at(self, key: Key) -> StaticType:
        """The type of what is at a key."""
        return of_value(self.value.at((key,)))

    def lacks(self, key: str) -> bool:
        """Whether an object is known to have other fields, and not this one."""
        return bool(self.value.choices) and all(_is_closed_without(choice, key) for choice in self.value.choices)

    def __str__(self) -> str:
        return " or ".join(with_article(kind) for kind in sorted(self.kinds or {"any"}))


ANY = StaticType()
EMPTY_LIST = StaticType(kinds=_ARRAY, value=of_kinds("array"), is_empty_list=True)


def of_value(value: ValueType) -> StaticType:
    """What is known by a JSON type."""
    return StaticType(kinds=value.kinds, value=value)


def of_kind(kind: str) -> StaticType:
    """A value of one kind."""
    if kind == "any":
        return ANY
    return StaticType(kinds=frozenset((kind,)), value=of_kinds(kind) if kind in JSON_TYPES else UNKNOWN)


def list_of(element: StaticType) -> StaticType:
    """A list of such elements."""
    schema: dict[str, object] = {"type": "array"}
    if element.value.choices:
        schema["items"] = {"anyOf": list(element.value.choices)}
    return StaticType(kinds=_ARRAY, value=element.value._replace(choices=(schema,)))


def object_of(fields: Mapping[str, StaticType] | None) -> StaticType:
    """An object with these fields, or with unknown ones."""
    if fields is None:
        return of_kind("object")
    kinds = {name: _schema(field) for name, field in fields.items()}
    value = ValueType(choices=({"type": "object", "properties": kinds},))
    return StaticType(kinds=frozenset(("object",)), value=value)


def one_of(types: Iterable[StaticType]) -> StaticType:
    """A value that has one of the types."""
    found = list(types)
    if any(not one.is_empty_list and one.kinds == _ARRAY for one in found):
        found = [one for one in found if not one.is_empty_list]
    if len(found) == 1:
        return found[0]
    if not found or any(one.kinds is None for one in found):
        return ANY
    kinds = frozenset().union(*(one.kinds or () for one in found))
    if kinds == NUMBERS:
        return of_kind("number")._replace(value=union([one.value for one in found]))
    return StaticType(kinds=kinds, value=union([_without_root(one) for one in found]))


def _without_root(one: StaticType) -> ValueType:
    """The same type where it can be said without references; a union would forget the elements of the others."""
    element = one.elements
    if one.kinds == _ARRAY and element.kinds is not None and not element.kinds & {"array", "object"}:
        return list_of(StaticType(kinds=element.kinds, value=of_kinds("|".join(sorted(element.kinds))))).value
    return one.value


def _schema(field: StaticType) -> Mapping[str, object]:
    value = field.value
    if len(value.choices) == 1 and not value.root:
        return value.choices[0]
    return {"type": sorted(field.kinds)} if field.kinds is not None and field.kinds <= JSON_TYPES else {}


def _is_closed_without(schema: Mapping[str, object], key: str) -> bool:
    properties = schema.get("properties")
    return (
        isinstance(properties, Mapping)
        and key not in properties
        and "patternProperties" not in schema
        and schema.get("additionalProperties") in (None, False)
    )


def sum_of(left: StaticType, right: StaticType, kinds: set[str]) -> StaticType:
    """What arithmetic on two values gives, if it can give values of these kinds."""
    if kinds == {"array"}:
        parts = [side.elements for side in (left, right) if not side.is_empty_list]
        return list_of(one_of(parts)) if parts else EMPTY_LIST
    certain = left.is_certain and right.is_certain
    found = of_kind(next(iter(kinds))) if len(kinds) == 1 else StaticType(kinds=frozenset(kinds))
    return found._replace(value=found.value._replace(certain=certain))


def may_equal(left: StaticType, right: StaticType) -> bool:
    """Whether two values can be equal."""
    if left.kinds is None or right.kinds is None or "null" in left.kinds | right.kinds:
        return True
    return bool(left.kinds & right.kinds or (left.kinds & NUMBERS and right.kinds & NUMBERS))


def may_agree(left: frozenset[str], right: frozenset[str]) -> bool:
    """Whether values of some kinds can be of one type."""
    return bool(left & right or (left & NUMBERS and right & NUMBERS))
