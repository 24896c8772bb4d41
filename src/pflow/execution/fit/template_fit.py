"""Whether what a template gives fits the place that takes it, and how to mend it where it does not."""

from __future__ import annotations

import re
from typing import Literal

from pflow.core.conversion import ALWAYS, AT_TIMES, admits, convert
from pflow.core.document.issue import Severity
from pflow.core.document.position import Path, show_path
from pflow.core.frozen import Frozen
from pflow.core.interface import MISSING
from pflow.core.json_type import type_of
from pflow.core.printable import shorten
from pflow.core.schema_path import count_calls
from pflow.core.template.compiled import Compiled, Parts, Reference
from pflow.core.value_type import ValueType, of_kinds
from pflow.execution.fit.given import Given, GivenTypes
from pflow.execution.fit.taken import ITEMS, read_default
from pflow.execution.node_check import CheckedNode, Report

Verdict = Literal["fits", "converts", "at times", "never"]

_ORDER = ("string", "integer", "number", "boolean", "array", "object")
_NUMERIC = r"[\s0-9.eE+-]*"
_SHOWN = 12
_SCALARS = frozenset(("integer", "number", "boolean"))


class Place(Frozen):
    """Where templates stand, for messages: the name of it, its path, and what it takes.

    Of what is not `strict`, nobody knows that it refuses other values. `is_built_in` is so for nodes of pflow.
    """

    name: str
    path: Path
    taken: ValueType
    strict: bool = True
    is_built_in: bool = False


def judge(given: ValueType, taken: ValueType, *, converts: bool = True) -> Verdict:
    """Whether a value fits a place: as it stands, converted, converted if its text allows, or never."""
    kinds, wanted = given.kinds, taken.kinds
    found = (kinds or frozenset()) - {"null"}
    if not found or wanted is None:
        return "fits"
    values, choices = given.values, taken.values
    if values is not None and choices is not None and not any(convert(value, wanted) in choices for value in values):
        return "never"
    if any(admits(wanted, kind) for kind in found):
        return "fits"
    if converts and any(wanted & ALWAYS.get(kind, frozenset()) for kind in found):
        return "converts"
    if not converts or not any(wanted & AT_TIMES.get(kind, frozenset()) for kind in found):
        return "never"
    if values is not None and not any(admits(wanted, type_of(convert(value, wanted))) for value in values):
        return "never"
    return "at times"


class TemplateFit:
    """Reports templates that do not fit."""

    def __init__(self, types: GivenTypes, report: Report) -> None:
        self._types = types
        self._report = report

    def check_param(self, node: CheckedNode, name: str, compiled: Compiled, taken: ValueType) -> None:
        """Check every template in one of a node's params."""
        spec, entry = node.spec, node.entry
        is_user = entry is not None and entry.is_user
        written: Path = ("nodes", node.index, "params", name) if name in spec.params else ("nodes", node.index)
        for inside, part in compiled.places():
            inner = taken.at(inside)
            whole = part.is_single or spec.params.get(name) == part.references[0].text
            if inner.kinds is None or (not whole and "string" in inner.kinds):
                continue
            what = "input" if node.child is not None and name == "inputs" and inside else "parameter"
            shown = show_path(inside if what == "input" else (name, *inside))
            place = Place(
                name=f"{what} `{shown}` of node `{spec.id}` ({spec.type})",
                path=(*written, *inside) if name in spec.params else written,
                taken=inner,
                strict=not is_user,
                is_built_in=entry is not None and not is_user and entry.tool is None and node.child is None,
            )
            self._check(node.index, part, place, whole=whole)

    def check_items(self, node: CheckedNode) -> None:
        """Check what a batch goes through."""
        if node.batch is None:
            return
        path: Path = ("nodes", node.index, "batch", "items")
        for inside, part in node.batch.items.places():
            if not inside:
                name = f"`items` of batch node `{node.spec.id}`"
                self._check(node.index, part, Place(name=name, path=path, taken=ITEMS), whole=part.is_single)

    def check_output(self, name: str, kind: str, compiled: Compiled, source: object) -> ValueType:
        """Compare the source of an output with the type that is declared for it; gives the type that it has."""
        found = self._types.of_value(None, compiled, source)
        declared = of_kinds(kind)
        if judge(found, declared, converts=False) == "never":
            self._report(
                "wrong-type",
                f"output `{name}` is declared as {kind}, but its source gives {_said(found)}",
                ("outputs", name, "source" if source is not None else "type"),
                hint=f"declare it as `{_words(found)}`" if "|" not in _words(found) else "",
                severity="warning",
                newer=True,
            )
        return found if found.kinds is not None else declared._replace(certain=False)

    def _check(self, index: int, part: Compiled, place: Place, *, whole: bool) -> None:
        if whole:
            reference = part.references[0]
            self._check_default(reference, place)
            self._check_given(reference, self._types.of(index, reference), place)
        elif isinstance(part, Parts):
            verdict = judge(of_kinds("string"), place.taken)
            if verdict == "at times" and not _may_be(place.taken.kinds or frozenset(), part.literal):
                verdict = "never"
            if verdict == "never":
                hint = "a string that is one template and nothing else keeps the type of its value"
                self._refuse(place, "a template inside of longer text makes a string", hint)

    def _check_given(self, reference: Reference, given: Given, place: Place) -> None:
        verdict = judge(given.type, place.taken)
        sure = place.strict and given.type.certain and not given.type.seen and not given.optional
        severity: Severity = "error" if sure else "warning"
        said = f"`{reference.text}` is {_said(given.type, place.taken)}"
        if verdict == "never":
            self._refuse(place, said, _advise(reference, given, place), severity)
        elif verdict == "at times" and given.declared:
            whole = given.type.kinds is not None and "number" in given.type.kinds
            self._refuse(place, said, _advise(reference, given, place), "warning" if whole else severity)
        elif verdict == "converts" and place.is_built_in and given.type.certain and not given.type.seen:
            self._report(
                "converted",
                f"{place.name} takes a string, and {said}: its text is used",
                place.path,
                hint="name what was meant, or leave it if the text is",
                severity="warning",
                newer=True,
            )
        elif verdict == "fits":
            inner = judge(given.type.elements, place.taken.elements, converts=False)
            if inner == "never" and given.type.is_array:
                wanted, found = _said(place.taken.elements), _said(given.type.elements)
                message = f"{place.name} takes an array of {wanted}, but the elements of `{reference.text}` are {found}"
                self._report("wrong-type", message, place.path, severity="warning", newer=True)

    def _check_default(self, reference: Reference, place: Place) -> None:
        """A default stands in for a value that is missing, and must then be one that the place takes."""
        kinds = place.taken.kinds
        if reference.default is MISSING or kinds is None:
            return
        value, choices = read_default(str(reference.default), kinds), place.taken.values
        if not admits(kinds, type_of(value)) or (choices is not None and value not in choices):
            self._report(
                "wrong-type",
                f"{place.name} must be {_wanted(place.taken)}, which the default in `{reference.text}` is not",
                place.path,
                severity="warning",
                newer=True,
            )

    def _refuse(self, place: Place, said: str, hint: str, severity: Severity = "error") -> None:
        if severity == "error" and not place.strict:
            severity = "warning"
        message = f"{place.name} must be {_wanted(place.taken)}, but {said}"
        self._report("wrong-type", message, place.path, hint=hint, severity=severity, newer=True)


def _may_be(kinds: frozenset[str], literal: str) -> bool:
    """Whether text with this literal part in it may be a number, or one of the words for a boolean."""
    numeric = not kinds.isdisjoint(("integer", "number")) and re.fullmatch(_NUMERIC, literal) is not None
    return numeric or ("boolean" in kinds and set(literal) <= set("truefalse "))


def _advise(reference: Reference, given: Given, place: Place) -> str:
    kinds, wanted = given.type.kinds or frozenset(), place.taken.kinds or frozenset()
    if any(admits(wanted, kind) for kind in kinds):
        return ""
    scalar = kinds <= _SCALARS | {"string", "null"}
    if given.declared and len(wanted - {"null"}) == 1:
        return f"declare input `{given.declared}` as `{_words(place.taken)}`"
    if given.declared and place.taken is ITEMS:
        return f"declare input `{given.declared}` as `array`"
    if "string" in kinds and scalar:
        formats = ", with `as: lines` for its lines" if "array" in wanted else ""
        from pflow.core.text_hint import parse_hint  # lazy: only for this message

        return f"{parse_hint(_longer(reference, ''))}{formats}"
    if given.type.is_array:
        if "string" in wanted and place.taken is not ITEMS:
            return (
                f'to run the node once per item, give it `batch: {{items: "{reference.text}"}}` and write `${{item}}`; '
                f"`{_longer(reference, '[0]')}` is the first one"
            )
        return f"`{_longer(reference, '[0]')}` is its first element"
    names = sorted(given.type.names)
    if kinds == {"object"} and names:
        return f"name one of its fields, such as `{_longer(reference, f'.{names[0]}')}`"
    return ""


def _longer(reference: Reference, step: str) -> str:
    """The template for something inside of what a template names."""
    return f"{reference.text.partition(':-')[0].removesuffix('}')}{step}}}"


def _wanted(taken: ValueType) -> str:
    if taken.values is not None:
        return _list(taken.values)
    return "an array" if taken is ITEMS else _words(taken)


def _said(kind: ValueType, taken: ValueType | None = None) -> str:
    if taken is not None and taken.values is not None and kind.values is not None:
        return _list(kind.values)
    seen = f" (as seen in {count_calls(kind.seen)})" if kind.seen else ""
    return f"{_words(kind)}{seen}"


def _list(values: tuple[object, ...]) -> str:
    return " or ".join(f"`{shorten(str(value))}`" for value in values[:_SHOWN])


def _words(kind: ValueType) -> str:
    kinds = kind.kinds or frozenset()
    return "|".join(word for word in _ORDER if word in kinds) or "any"
