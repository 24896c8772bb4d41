"""What checking values against a foreign JSON Schema can cost, known before anything compiles or checks it.

A validator holds the interpreter while it works, and works through every alternative: a few nested `anyOf` over
shared definitions take hours, a long enough recursion overflows its stack.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import chain

from pflow.core.printable import shorten

MOST_FORMS = 5_000
"""Subschemas that a schema may have; the largest seen in the wild have 2,000."""

MOST_PATTERNS = 200
DEEPEST = 200
"""Subschemas within each other, references followed."""

TOO_MUCH = 1 << 62
_MOST_CALLS = 100_000
_LETTER = 16
"""What matching one letter against a pattern may cost."""

_TWICE = ("unevaluatedProperties", "unevaluatedItems")
_UNSET: object = object()


class Form:
    """A subschema as what it sends on to others: the value itself, or parts of it."""

    __slots__ = ("base", "each", "item", "letter", "named", "names", "same")

    def __init__(self, base: int) -> None:
        self.base = base
        self.letter = 0
        self.same: list[Form] = []
        self.named: dict[str, Form] = {}
        self.each: list[Form] = []
        self.item: list[Form] = []
        self.names: list[Form] = []

    def all(self) -> Iterator[Form]:
        """Every form that this one sends anything to."""
        return chain(self.same, self.named.values(), self.each, self.item, self.names)


class SchemaCost:
    """The forms of a schema. Raises `ValueError` for one that refers outside itself or is too large to be used.

    `fixed` is the most that one value at one place can cost, None for a schema that contains itself. `patterns`
    are the subschemas with a `pattern`.
    """

    def __init__(self, schema: Mapping[str, object]) -> None:
        self.patterns: list[dict[str, object]] = []
        self._schema = schema
        self._forms: dict[int, Form] = {}
        self._anchors: dict[str, object] | None = None
        self._waiting: list[tuple[Form, dict[str, object]]] = []
        self._counted = 0
        self._root = self._form(schema)
        while self._waiting:
            self._fill(*self._waiting.pop())
        forms = list(self._forms.values())
        if _order(forms, lambda form: iter(form.same)) is None:
            raise ValueError("it refers to itself without end")
        order = _order(forms, Form.all)
        self.fixed = _weigh(order)[self._root] if order is not None else None

    def of(self, value: object) -> int:
        """What checking `value` costs, in subschemas tried; `TOO_MUCH` if finding out costs too much already."""
        self._calls = 0
        try:
            return self._cost(self._root, value, {}, 0)
        except OverflowError:
            return TOO_MUCH

    def _cost(self, form: Form, value: object, known: dict[tuple[int, int], int], depth: int) -> int:
        key = (id(form), id(value))
        cost = known.get(key)
        if cost is not None:
            return cost
        self._calls += 1
        if depth > DEEPEST or self._calls > _MOST_CALLS:
            raise OverflowError
        depth += 1
        cost = form.base
        for other in form.same:
            cost += self._cost(other, value, known, depth)
        if isinstance(value, dict):
            for name, part in value.items():
                named = form.named.get(name)
                if named is not None:
                    cost += self._cost(named, part, known, depth)
                for other in form.each:
                    cost += self._cost(other, part, known, depth)
                for other in form.names:
                    cost += self._cost(other, name, known, depth)
        elif isinstance(value, list | tuple):
            for part in value if form.item else ():
                for other in form.item:
                    cost += self._cost(other, part, known, depth)
        elif isinstance(value, str):
            cost += form.letter * len(value)
        if cost >= TOO_MUCH:
            raise OverflowError
        known[key] = cost
        return cost

    def _form(self, schema: object) -> Form:
        form = self._forms.get(id(schema))
        if form is None:
            form = self._forms[id(schema)] = Form(1)
            if len(self._forms) > MOST_FORMS:
                raise ValueError(f"it has more than {MOST_FORMS:,} subschemas")
            if isinstance(schema, dict):
                self._waiting.append((form, schema))
        return form

    def _fill(self, form: Form, schema: dict[str, object]) -> None:
        form.base += _length(schema, "required") + _length(schema, "enum") // 8
        self._count_patterns(form, schema)
        if schema is not self._schema and isinstance(schema.get("$id"), str) and not str(schema["$id"]).startswith("#"):
            raise ValueError(f"it has another schema within it, `{shorten(str(schema['$id']))}`")
        for key in ("$ref", "$dynamicRef", "$recursiveRef"):
            if isinstance(schema.get(key), str):
                form.same.append(self._form(self._resolve(str(schema[key]))))
        for key, value in schema.items():
            match key:
                case "allOf" | "anyOf" | "oneOf":
                    form.same += self._list(value)
                case "not" | "if" | "then" | "else":
                    form.same.append(self._form(value))
                case "dependentSchemas" | "dependencies":
                    form.same += self._map(value).values()
                case "properties":
                    form.named.update(self._map(value))
                case "patternProperties":
                    form.each += self._map(value).values()
                case "additionalProperties" | "unevaluatedProperties":
                    form.each.append(self._form(value))
                case "items" | "additionalItems" | "contains" | "unevaluatedItems" | "prefixItems":
                    form.item += self._list(value) if isinstance(value, list) else [self._form(value)]
                case "propertyNames":
                    form.names.append(self._form(value))
        if any(key in schema for key in _TWICE):
            form.same *= 3  # what was evaluated is found out by evaluating it again

    def _count_patterns(self, form: Form, schema: dict[str, object]) -> None:
        many = _length(schema, "patternProperties")
        if isinstance(schema.get("pattern"), str):
            self.patterns.append(schema)
            form.letter = _LETTER
            many += 1
        form.base += _LETTER * many
        self._counted += many
        if self._counted > MOST_PATTERNS:
            raise ValueError(f"it has more than {MOST_PATTERNS} patterns")

    def _list(self, value: object) -> list[Form]:
        return [self._form(item) for item in value] if isinstance(value, list) else []

    def _map(self, value: object) -> dict[str, Form]:
        return {name: self._form(item) for name, item in value.items()} if isinstance(value, dict) else {}

    def _resolve(self, reference: str) -> object:
        own = self._schema.get("$id")
        target = reference.removeprefix(own.rstrip("#")) if isinstance(own, str) and own else reference
        if target and not target.startswith("#"):
            raise ValueError(f"it refers to `{shorten(reference)}`, which is not part of it")
        target = target.removeprefix("#")
        if target and not target.startswith("/"):
            if self._anchors is None:
                self._anchors = _find_anchors(self._schema)
            found = self._anchors.get(target, _UNSET)
        else:
            found = _follow(self._schema, target)
        if found is _UNSET:
            raise ValueError(f"it refers to `{shorten(reference)}`, which it does not have")
        return found


def _follow(schema: object, pointer: str) -> object:
    from urllib.parse import unquote  # lazy: 4 ms, and few schemas have references

    for part in unquote(pointer).split("/")[1:]:
        name = part.replace("~1", "/").replace("~0", "~")
        if isinstance(schema, dict) and name in schema:
            schema = schema[name]
        elif isinstance(schema, list) and name.isascii() and name.isdigit() and int(name[:9]) < len(schema):
            schema = schema[int(name[:9])]
        else:
            return _UNSET
    return schema


def _find_anchors(schema: object) -> dict[str, object]:
    """Whatever has a name within the schema, as long as nothing else has it, be it in an example or a default."""
    found: dict[str, object] = {}
    waiting = [schema]
    while waiting:
        item = waiting.pop()
        if isinstance(item, dict):
            for key in ("$anchor", "$dynamicAnchor", "$id", "id"):
                name = item.get(key)
                if isinstance(name, str):
                    name = name.removeprefix("#")
                    found[name] = _UNSET if name in found and found[name] is not item else item
            waiting += item.values()
        elif isinstance(item, list):
            waiting += item
    return found


def _length(schema: Mapping[str, object], key: str) -> int:
    value = schema.get(key)
    return len(value) if isinstance(value, list | dict) else 0


def _order(forms: list[Form], ways: Callable[[Form], Iterator[Form]]) -> list[Form] | None:
    """The forms, each after all that it leads to; None if some lead to themselves."""
    order: list[Form] = []
    begun: dict[Form, bool] = {}
    for start in forms:
        if start in begun:
            continue
        begun[start] = True
        path = [(start, ways(start))]
        while path:
            form, rest = path[-1]
            other = next(rest, None)
            if other is None:
                path.pop()
                begun[form] = False
                order.append(form)
            elif other not in begun:
                begun[other] = True
                path.append((other, ways(other)))
            elif begun[other]:
                return None
    return order


def _weigh(order: list[Form]) -> dict[Form, int]:
    weights: dict[Form, int] = {}
    heights: dict[Form, int] = {}
    for form in order:
        weights[form] = min(form.base + sum(weights[other] for other in form.all()), TOO_MUCH)
        heights[form] = 1 + max((heights[other] for other in form.all()), default=0)
        if heights[form] > DEEPEST:
            raise ValueError(f"it has more than {DEEPEST} subschemas within each other")
    return weights
