"""What stands inside the objects and arrays that a tool takes, as a list of paths: `files[].ranges[].start`. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice

from pflow.core.frozen import Frozen
from pflow.core.interface import MISSING
from pflow.core.json_type import object_in
from pflow.core.schema_path import key_step
from pflow.mcp.tools.schema import Schema, SchemaReader
from pflow.mcp.tools.text import describe_limits, describe_value, one_line

MOST_FIELDS = 300
"""Fields inside all parameters of one tool together that are listed at once."""

_DEEPEST = 16
_MOST_FORMS = 8
_MOST_VALUES = 1_000
_MOST_PARTS = 64


class NestedField(Frozen):
    """A place inside a parameter. `items` is the type of an array's items.

    A row with a `form` (`2 of 3`) begins one of several alternatives, whose fields follow it. `inside` is the number of
    fields that are known and not listed.
    """

    name: str
    type: str
    description: str = ""
    required: bool = False
    default: object = MISSING
    enum: tuple[object, ...] = ()
    items: str = ""
    form: str = ""
    inside: int = 0


class NestedFields(Frozen):
    """The fields inside each parameter that has any; `is_whole` unless some are left out."""

    of: Mapping[str, tuple[NestedField, ...]]
    is_whole: bool


def nested_fields(root: Schema, params: Mapping[str, object], *, most: int, focus: str = "") -> NestedFields:
    """What stands inside parameters, by their schemas in `root`: as deep as `most` rows allow, the same for all.

    With a `focus`, a path such as `body.message`, only that place and what is inside it.
    """
    rows: list[tuple[str, NestedField]] = []
    is_whole = False
    for depth in range(1, _DEEPEST + 1):
        reader = SchemaReader(root)
        walk = _Walk(reader, depth, focus)
        deeper = list(islice(walk.all(params), most + 1))
        fits = len(deeper) <= most and not reader.is_exhausted
        rows = deeper[:most] if fits or depth == 1 else rows
        is_whole = fits and not walk.was_cut
        if is_whole or not fits:
            break
    found: dict[str, tuple[NestedField, ...]] = {}
    for param, row in rows:
        found[param] = (*found.get(param, ()), row)
    return NestedFields(of=found, is_whole=is_whole)


def describe_place(reader: SchemaReader, schema: object, path: str) -> NestedField:
    """One place by its schema, without what stands inside."""
    parts = list(_conjuncts(reader, schema))
    return NestedField(
        name=path,
        type=reader.type_of(schema),
        description=_describe(reader, schema),
        default=next((part["default"] for part in parts if "default" in part), MISSING),
        enum=_values(reader, parts),
        items=_items_type(reader, parts),
    )


def has_words(reader: SchemaReader, schema: object) -> bool:
    """Whether a schema describes its values in words, not only by their limits."""
    return any(isinstance(text := part.get("description"), str) and text for part in _conjuncts(reader, schema))


class _Walk:
    """One way through the schemas of a tool, no deeper than `depth`. Remembers whether something was left out."""

    def __init__(self, reader: SchemaReader, depth: int, focus: str) -> None:
        self._reader = reader
        self._depth = depth
        self._focus = focus
        self.was_cut = False

    def all(self, params: Mapping[str, object]) -> Iterator[tuple[str, NestedField]]:
        """The rows of every parameter, with its name."""
        for name, schema in params.items():
            path = key_step(name).removeprefix(".")
            if self._leads(path):
                for row in self._inside(schema, path, 0, {}):
                    yield name, row

    def _row(
        self, schema: object, path: str, *, required: bool, depth: int, trail: dict[str, str]
    ) -> Iterator[NestedField]:
        if not self._leads(path):
            return
        reader = self._reader
        parts = list(_conjuncts(reader, schema))
        seen = _circle(parts, trail)
        row = describe_place(reader, schema, path)._replace(required=required)
        if seen:
            row = row._replace(description="; ".join(filter(None, (row.description, f"made like `{seen}`"))))
        if depth >= self._depth and not seen and self._has_more(schema, path, depth, trail):
            self.was_cut = True
            row = row._replace(inside=max(1, self._count(parts)))
        if self._is_shown(path):
            yield row
        if not seen:
            yield from self._inside(schema, path, depth, trail)

    def _inside(self, schema: object, path: str, depth: int, trail: dict[str, str]) -> Iterator[NestedField]:
        """The rows below a place whose own row is there already."""
        deeper = depth + 1 if self._is_shown(path) else depth
        if deeper > self._depth:
            return
        reader = self._reader
        parts = list(_conjuncts(reader, schema))
        trail = {**trail, **{name: path for part in parts if isinstance(name := part.get("$ref"), str)}}
        required = {name for part in parts for name in _names(part.get("required"))}
        shown: set[str] = set()
        for part in parts:
            for name, inner in object_in(part, "properties").items():
                if name not in shown:
                    shown.add(name)
                    place = path + key_step(name)
                    yield from self._row(inner, place, required=name in required, depth=deeper, trail=trail)
        for part in parts:
            for inner in _open_values(part):
                yield from self._row(inner, f"{path}.*", required=False, depth=deeper, trail=trail)
        if (items := _items(parts)) is not None:
            place = f"{path}[]"
            each = list(_conjuncts(reader, items))
            if _describe(reader, items) or _items(each) is not None or _circle(each, trail):
                yield from self._row(items, place, required=False, depth=deeper - 1, trail=trail)
            else:
                yield from self._inside(items, place, deeper - 1, trail)
        yield from self._forms(parts, path, deeper - 1, trail)

    def _forms(self, parts: list[Schema], path: str, depth: int, trail: dict[str, str]) -> Iterator[NestedField]:
        reader = self._reader
        forms = list(_forms_in(reader, parts, 0))
        self.was_cut = self.was_cut or len(forms) > _MOST_FORMS
        for number, form in enumerate(forms[:_MOST_FORMS], 1):
            if len(forms) > 1 and self._is_shown(path):
                seen = _circle(list(_conjuncts(reader, form)), trail)
                said = f"made like `{seen}`" if seen else _describe(reader, form)
                title = next(
                    (text for part in _conjuncts(reader, form) if isinstance(text := part.get("title"), str)), ""
                )
                yield NestedField(
                    name=path,
                    type=reader.type_of(form),
                    description=said or one_line(title),
                    form=f"{number} of {len(forms)}",
                )
            if not _circle(list(_conjuncts(reader, form)), trail):
                yield from self._inside(form, path, depth, trail)

    def _has_more(self, schema: object, path: str, depth: int, trail: dict[str, str]) -> bool:
        # Far deeper than needed, so that the first row, which is all that counts, does not ask the same of its own.
        deeper = _Walk(self._reader, depth + _DEEPEST, self._focus)
        return next(deeper._inside(schema, path, depth, trail), None) is not None

    def _count(self, parts: list[Schema]) -> int:
        """The fields directly inside, behind the items of arrays and in every form."""
        reader = self._reader
        names = {name for part in parts for name in object_in(part, "properties")}
        inner = [_items(parts), *_choices(parts)]
        deeper = [
            object_in(part, "properties")
            for schema in inner
            if schema is not None
            for part in _conjuncts(reader, schema)
        ]
        return len(names.union(*deeper))

    def _leads(self, path: str) -> bool:
        """Whether a place is on the way to the focus, is it, or is inside it."""
        return self._is_shown(path) or _is_within(self._focus, path)

    def _is_shown(self, path: str) -> bool:
        return not self._focus or path == self._focus or _is_within(path, self._focus)


def _describe(reader: SchemaReader, schema: object) -> str:
    """What a schema says about its values in one line; the limits of its choices too, which may be all it has."""
    parts = list(_conjuncts(reader, schema))
    whole: dict[str, object] = {}
    for part in reversed(parts):  # what stands nearer says it better
        whole.update({word: value for word, value in part.items() if word not in ("$ref", "allOf")})
    said = [describe_value(whole)]
    if "enum" not in whole and "const" not in whole:
        for choice in _choices(parts):
            inner = [part for part in _conjuncts(reader, choice) if not _has_fields(part)]
            said += [text for part in inner if (text := "; ".join(describe_limits(part))) and text not in said]
    return "; ".join(text for text in said if text)


def _is_within(path: str, place: str) -> bool:
    return path.startswith(place) and path[len(place) :][:1] in (".", "[")


def _conjuncts(reader: SchemaReader, schema: object) -> Iterator[Schema]:
    """The schema, what it refers to, and the parts of its `allOf`: everything that holds for a value of it."""
    waiting, count = [schema], 0
    while waiting and count < _MOST_PARTS:
        part = waiting.pop(0)
        if not isinstance(part, dict) or not reader.visit():
            continue
        count += 1
        yield part
        if isinstance(name := part.get("$ref"), str):
            waiting.append(reader.find(name))
        together = part.get("allOf")
        waiting += together[:_MOST_PARTS] if isinstance(together, list) else []


def _circle(parts: list[Schema], trail: Mapping[str, str]) -> str:
    """The place above that a schema refers back to; nothing if it does not."""
    references = (part.get("$ref") for part in parts)
    return next((trail[name] for name in references if isinstance(name, str) and name in trail), "")


def _choices(parts: list[Schema]) -> list[object]:
    lists = [part.get(word) for part in parts for word in ("anyOf", "oneOf")]
    return [choice for choices in lists if isinstance(choices, list) for choice in choices]


def _forms_in(reader: SchemaReader, parts: list[Schema], depth: int) -> Iterator[object]:
    """The choices with something inside; a choice between choices counts as all of those."""
    for choice in _choices(parts):
        inner = list(_conjuncts(reader, choice))
        if any(map(_has_fields, inner)):
            yield choice
        elif depth < _DEEPEST:
            yield from _forms_in(reader, inner, depth + 1)


def _items(parts: list[Schema]) -> object | None:
    """The schema of an array's items; of those in fixed places, the first stands for all."""
    for part in parts:
        for word in ("items", "prefixItems"):
            found = part.get(word)
            if isinstance(found, list) and found:
                found = found[0]
            if isinstance(found, dict) and found:
                return found
    return None


def _items_type(reader: SchemaReader, parts: list[Schema]) -> str:
    items = _items(parts)
    if items is None:
        inner = [_items(list(_conjuncts(reader, choice))) for choice in _choices(parts)]
        items = next((found for found in inner if found is not None), None)
    kind = reader.type_of(items) if items is not None else "any"
    return "" if kind == "any" else kind


def _open_values(part: Schema) -> Iterator[object]:
    """The schemas of values under names that are not listed."""
    others = part.get("additionalProperties")
    if isinstance(others, dict) and others:
        yield others
    yield from object_in(part, "patternProperties").values()


def _has_fields(part: Schema) -> bool:
    """Whether a schema itself says what stands inside its values."""
    others = part.get("additionalProperties")
    named = any(part.get(word) for word in ("properties", "items", "prefixItems", "patternProperties"))
    return named or (isinstance(others, dict) and bool(others))


def _values(reader: SchemaReader, parts: list[Schema]) -> tuple[object, ...]:
    """The values that are allowed, wherever the schema lists them."""
    for part in [*parts, *(inner for choice in _choices(parts) for inner in _conjuncts(reader, choice))]:
        values = part.get("enum")
        if isinstance(values, list):
            return tuple(values[:_MOST_VALUES])
    return ()


def _names(value: object) -> list[str]:
    return [name for name in value if isinstance(name, str)] if isinstance(value, list) else []
