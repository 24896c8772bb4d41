"""What functions and macros give for arguments of known types; a `Fault` says which argument does not fit."""

from __future__ import annotations

from collections.abc import Sequence

from pflow.core.expression.fault import Fault
from pflow.core.expression.function import FUNCTIONS, wrong_argument
from pflow.core.expression.static_type import ANY, StaticType, list_of, of_kind, one_of
from pflow.core.expression.value import ORDERED

_SUMMED = frozenset(("integer", "number", "duration"))


def call_type(name: str, given: Sequence[StaticType]) -> StaticType:
    """The type of what a function gives."""
    function = FUNCTIONS[name]
    for place, argument in enumerate(given):
        if not any(function.accepts(place, kind) for kind in argument.possible):
            raise Fault("type", wrong_argument(name, place, str(argument)))
    if name.startswith("get") and len(given) == 2 and given[0].possible == {"duration"}:
        raise Fault("type", f"`{name}` of a duration takes no time zone")
    _check_elements(name, given[0].elements)
    match function.gives:
        case "same":
            return given[0]
        case "element":
            element = given[0] if len(given) == 2 else given[0].elements
            if name == "sum" and not element.possible <= _SUMMED:
                return one_of(of_kind(kind) for kind in sorted(element.possible & _SUMMED))
            return element
        case "strings":
            return list_of(of_kind("string"))
        case "array":
            return list_of(_flat(given[0].elements) if len(given) == 1 else ANY)
    return of_kind(function.gives)


def _check_elements(name: str, element: StaticType) -> None:
    if name == "join" and "string" not in element.possible:
        raise Fault("type", f"`join` takes a list of strings; in this one is {element}", "`x.map(i, string(i))`")
    if name == "sum" and not element.possible & _SUMMED:
        raise Fault("type", f"`sum` takes a list of numbers; in this one is {element}")
    if name in ("min", "max") and not element.possible & ORDERED:
        raise Fault("type", f"`{name}` takes a list of numbers, or of strings; in this one is {element}")


def _flat(element: StaticType) -> StaticType:
    if "array" not in element.possible:
        return element
    return element.elements if element.possible == {"array"} else ANY


def variable_type(items: StaticType) -> StaticType:
    """The type of a macro's variable: an element of a list, or a key of an object."""
    if items.possible == {"object"}:
        return of_kind("string")
    return items.elements


def macro_type(name: str, items: StaticType, body: StaticType) -> StaticType:
    """The type of what a macro gives."""
    if name == "map":
        return list_of(body)
    if name == "sortBy" and not body.possible & ORDERED:
        raise Fault("type", f"`sortBy` takes a list of numbers, or of strings; in this one is {body}")
    if name in ("filter", "sortBy"):
        return items if items.possible == {"array"} else list_of(one_of((variable_type(items),)))
    return of_kind("boolean")
