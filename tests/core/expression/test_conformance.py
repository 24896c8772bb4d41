"""CEL's own conformance tests, as far as they lie within the subset: the same value, or an error of the same class."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pflow.core.errors import ExpressionError
from pflow.core.expression.evaluate import evaluate
from pflow.core.expression.parser import parse

DATA = json.loads((Path(__file__).parents[2] / "data" / "cel_conformance.json").read_text(encoding="utf-8"))
SUITES = sorted({name.partition("/")[0] for name, *_ in DATA["cases"]})


@pytest.mark.parametrize("suite", SUITES)
def test_a_suite_of_cel_gives_what_it_should(suite: str) -> None:
    cases = [case for case in DATA["cases"] if case[0].partition("/")[0] == suite]
    wrong = [
        (name, text, wanted, got) for name, text, names, wanted in cases if (got := outcome(text, names)) != wanted
    ]
    assert wrong == []


def outcome(text: str, names: dict[str, object]) -> dict[str, Any]:
    try:
        return {"value": evaluate(parse(text), names).value}
    except ExpressionError as error:
        return {"error": error.kind}


def test_most_of_what_is_left_out_is_of_protocol_buffers_and_other_extensions() -> None:
    assert len(DATA["cases"]) == 756
    assert sum(DATA["left_out"].values()) == 1588
    assert set(DATA["left_out"]) == {
        "bound timestamps",
        "bytes",
        "check only",
        "dotted names",
        "functions outside the subset",
        "map keys other than strings",
        "optionals",
        "protos",
        "result that JSON cannot hold",
        "two-variable macros",
        "type values",
        "unsigned",
    }


@pytest.mark.parametrize(
    ("text", "value"), [("1", 1), ("1.0", 1.0), ("true", True), ("1 + 1.0", 2.0), ("size('a')", 1), ("double(1)", 1.0)]
)
def test_integers_doubles_and_booleans_are_told_apart(text: str, value: object) -> None:
    found = evaluate(parse(text), {}).value
    assert (found, type(found)) == (value, type(value))
