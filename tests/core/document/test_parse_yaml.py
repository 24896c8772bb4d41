"""YAML means the same as JSON: no words turn into other values, and nothing but the value is taken from it."""

from typing import Any

import pytest

from pflow.core.document.parse import parse_text


def read(text: str) -> Any:
    parsed = parse_text(f"nodes:\n  - id: a\n    params:\n      x: {text}\n", suffix=".yaml")
    assert parsed.issues == () and parsed.document is not None
    return parsed.document.nodes[0].params["x"]


@pytest.mark.parametrize(
    "word",
    [
        "yes",
        "no",
        "on",
        "off",
        "Yes",
        "NO",
        "y",
        "n",
        "True",
        "FALSE",
        "Null",
        "2024-01-01",
        "2024-01-01T12:00:00Z",
        "12:30",
        "1:20:30",
        "007",
        "0o7",
        "0x1f",
        "0b1",
        "1_000",
        "+1",
        ".5",
        "1.",
        "=",
        "<<",
    ],
)
def test_words_that_other_yaml_would_change_stay_strings(word: str) -> None:
    assert read(word) == word


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("true", True),
        ("false", False),
        ("null", None),
        ("~", None),
        ("", None),
        ("0", 0),
        ("-12", -12),
        ("18446744073709551615", 18446744073709551615),
        ("1.5", 1.5),
        ("-2e3", -2000.0),
        ("'true'", "true"),
        ('"5"', "5"),
        ("|\n        two\n        lines\n", "two\nlines\n"),
        ("[a, {b: c}]", ["a", {"b": "c"}]),
        ('"\\e[31m\\u202e"', "\x1b[31m\u202e"),
    ],
)
def test_json_values_are_read(text: str, value: object) -> None:
    assert read(text) == value
    assert type(read(text)) is type(value)


def test_an_alias_stands_for_what_it_names() -> None:
    text = "nodes:\n  - {id: a, params: &p {x: [1]}}\n  - {id: b, params: *p}\n"
    document = parse_text(text).document
    assert document is not None and document.nodes[1].params == {"x": [1]}


def test_an_issue_inside_of_an_alias_points_to_the_text_that_it_names() -> None:
    text = "nodes:\n  - {id: a, retry: &r {attempts: 0}}\n  - {id: b, retry: *r}\n"
    assert [(i.path, i.line, i.column) for i in parse_text(text).issues] == [
        ("nodes[0].retry.attempts", 2, 34),
        ("nodes[1].retry.attempts", 2, 34),
    ]


def test_places_count_characters_whatever_the_line_ends() -> None:
    text = "name: größe\r\nnodes:\r\n  - id: a\r\n    wörter: 1\r\n"
    (found,) = parse_text(text).issues
    assert (found.path, found.line, found.column) == ('nodes[0]["wörter"]', 4, 5)


@pytest.mark.parametrize(
    ("text", "line", "column", "hint"),
    [
        ("nodes:\n\t- id: a\n", 2, 1, "YAML is indented with spaces, never with tabs"),
        ("nodes:\n  - id: a\n    description: a: b\n", 3, 19, "put a value that contains `: ` in quotes"),
        ("nodes:\n  - id: @a\n", 2, 9, "put the value in quotes"),
    ],
)
def test_common_mistakes_in_yaml_are_named(text: str, line: int, column: int, hint: str) -> None:
    (found,) = parse_text(text).issues
    assert (found.code, found.line, found.column, found.hint) == ("syntax", line, column, hint)


def test_tags_merge_keys_and_odd_keys_are_reported_together() -> None:
    text = "nodes:\n  - id: !!str a\n    params: {1: x, <<: {y: z}}\n    id: b\n"
    assert [i.code for i in parse_text(text).issues] == ["yaml-feature", "bad-key", "yaml-feature", "duplicate-key"]
