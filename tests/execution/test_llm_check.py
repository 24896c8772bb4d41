"""What checking says of `llm` nodes and of budgets, before anything is asked."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.nodes.model.scripted import Json, asks, document, workspace_of


def codes(home: Path, written: Json) -> dict[str, str]:
    """The issues of a document: where, and their code."""
    with workspace_of(home) as workspace:
        return {issue.path: issue.code for issue in workspace.check(written).issues if issue.severity == "error"}


def hints(home: Path, written: Json) -> list[str]:
    with workspace_of(home) as workspace:
        return [issue.hint for issue in workspace.check(written).issues]


FIELDS = {"title": {"type": "string"}, "score": {"type": "integer"}, "tags": {"type": "array"}}


def test_the_fields_of_an_answer_are_known(home: Path) -> None:
    uses = {"id": "use", "type": "let", "params": {"a": "ask.response.score + 1", "b": "ask.response.titel"}}
    assert codes(home, document(asks(schema=FIELDS), uses)) == {"nodes[1].params.b": "unknown-field"}
    uses = {"id": "use", "type": "let", "params": {"a": "ask.response.title + 1"}}
    assert codes(home, document(asks(schema=FIELDS), uses)) == {"nodes[1].params.a": "expression-type"}


def test_templates_into_an_answer_are_checked(home: Path) -> None:
    uses = {"id": "use", "type": "echo", "params": {"a": "${ask.response.titel}"}}
    found = codes(home, document(asks(schema=FIELDS), uses))
    assert list(found) == ["nodes[1].params.a"]
    assert any("title" in hint for hint in hints(home, document(asks(schema=FIELDS), uses)))
    uses = {"id": "use", "type": "echo", "params": {"a": "${ask.response.title}"}}
    assert list(codes(home, document(asks(), uses))) == ["nodes[1].params.a"]


def test_nested_json_schema_is_followed(home: Path) -> None:
    schema = {
        "type": "object",
        "properties": {"people": {"type": "array", "items": {"type": "object", "properties": {"name": {}}}}},
    }
    good = {"id": "use", "type": "echo", "params": {"a": "${ask.response.people[0].name}"}}
    bad = {"id": "use", "type": "echo", "params": {"a": "${ask.response.people.name}"}}
    assert codes(home, document(asks(schema=schema), good)) == {}
    assert list(codes(home, document(asks(schema=schema), bad))) == ["nodes[1].params.a"]


def test_an_answer_of_each_item_is_known(home: Path) -> None:
    each = asks("Rate ${item}", schema=FIELDS, more={"batch": {"items": [1, 2]}})
    good = {"id": "use", "type": "let", "params": {"a": "ask.results.map(r, r.response.score)"}}
    bad = {"id": "use", "type": "let", "params": {"a": "ask.results.map(r, r.response.scor)"}}
    assert codes(home, document(each, good)) == {}
    assert codes(home, document(each, bad)) == {"nodes[1].params.a": "unknown-field"}


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object", "properties": {"a": {"type": "str"}}},
        {"a": {"type": "str"}},
        {"a": {"type": "text"}},
        {"type": "array", "items": 7},
        {"a": {"minimum": "x"}},
        {"anyOf": {}},
        {"$ref": "https://example.com/elsewhere.json"},
    ],
)
def test_a_schema_that_cannot_be_used_is_reported(home: Path, schema: Json) -> None:
    assert set(codes(home, document(asks(schema=schema))).values()) == {"bad-schema"}


def test_a_word_for_a_type_is_explained(home: Path) -> None:
    assert hints(home, document(asks(schema={"a": {"type": "int"}}))) == ["write `type: integer`"]


@pytest.mark.parametrize("params", [{"schema": {"a": {"description": "${x}"}}}, {"schema": {"${x}": {}}}])
def test_templates_do_not_apply_in_a_schema(home: Path, params: Json) -> None:
    found = codes(home, document(asks(**params), inputs={"x": {"default": "a"}}))
    assert found == {"nodes[0].params.schema": "template-here"}


def test_an_empty_prompt_is_reported(home: Path) -> None:
    assert codes(home, document(asks(""))) == {"nodes[0].params.prompt": "missing-param"}


def test_an_action_of_other_nodes_is_not_one_of_a_model(home: Path) -> None:
    edges = [{"from": "ask", "to": "end", "action": "resource_missing"}]
    written = document(asks(), {"id": "end", "type": "echo", "params": {"x": 1}}, edges=edges)
    assert list(codes(home, written).values()) == ["unknown-action"]


def test_what_follows_a_refusal_cannot_use_the_answer(home: Path) -> None:
    node = asks(more={"on": {"refused": "next"}})
    after = {"id": "after", "type": "echo", "params": {"x": "${ask.response}"}}
    assert list(codes(home, document(node, after)).values()) == ["maybe-absent"]


@pytest.mark.parametrize(
    ("budget", "found"),
    [
        ({"usd": 0.5, "tokens": 1000}, {}),
        ({"usd": 1}, {}),
        ({"usd": 0}, {"budget.usd": "out-of-range"}),
        ({"usd": "1"}, {"budget.usd": "wrong-type"}),
        ({"tokens": 0.5}, {"budget.tokens": "wrong-type"}),
        ({"tokens": -1}, {"budget.tokens": "out-of-range"}),
        ({}, {"budget": "missing-field"}),
        ({"eur": 1}, {"budget.eur": "unknown-field", "budget": "missing-field"}),
        (0.5, {"budget": "wrong-type"}),
    ],
)
def test_a_budget_is_read_strictly(home: Path, budget: Any, found: dict[str, str]) -> None:
    assert codes(home, document(asks(), budget=budget)) == found
