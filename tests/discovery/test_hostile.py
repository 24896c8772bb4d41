"""Nothing that is asked and nothing that is described makes discovery fail or flood its reader."""

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from pflow.core.file.home import Home
from pflow.planning.discovery import Discovery
from pflow.planning.query_word import MOST_ASKED, split_query, split_text
from pflow.registry.registry import Registry
from pflow.workspace import Workspace
from tests.discovery.recall import entries
from tests.quick import examples

QUERIES = {
    "operators": 'file AND NOT "read" OR NEAR(read file, 2) ^name : {a b} + c*',
    "an open quote": '"read file',
    "columns": "name:file -description:file",
    "a semicolon": "'; DROP TABLE items; --",
    "NUL": "read\0file",
    "half a surrogate": "read \ud800 file",
    "escape codes": "read \x1b[31mfile\x1b[0m",
    "a megabyte": "read file " * 100_000,
    "one long word": "x" * 1_000_000,
    "many words": " ".join(f"word{n}" for n in range(10_000)) + " file",
}


@pytest.mark.parametrize("query", QUERIES.values(), ids=QUERIES)
def test_a_hostile_query_is_only_words(place: Home, query: str) -> None:
    found = Discovery(place).find(query)
    assert found.query.isprintable()
    assert len(found.query) < 1000
    json.dumps(found.to_json())


@pytest.mark.parametrize("query", ["", " ", "?!…", "🎉🎉", "\0", "*", '""', "the of and"])
def test_a_query_without_words_finds_nothing_and_gets_advice(place: Home, query: str) -> None:
    found = Discovery(place).find(query)
    assert found.hits == ()
    assert found.advice


@pytest.mark.parametrize("query", ["read AND file", "read NEAR file", "NOT read-file", 'name:"read-file"'])
def test_operators_do_not_operate(place: Home, query: str) -> None:
    assert "read-file" in [hit.name for hit in Discovery(place).find(query).hits[:2]]


@settings(max_examples=examples(60), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(query=st.text(max_size=60))
@example("Ａ\u0301 ǅ ﬁ 𞤀 ꟊ")
@example("OR")
def test_no_text_is_a_wrong_query(place: Home, query: str) -> None:
    found = Discovery(place).find(query)
    assert bool(found.hits) != bool(found.advice)
    assert all(0 <= hit.score <= 1 for hit in found.hits)


@given(text=st.text(), most=st.integers(0, 5))
def test_words_are_what_an_index_takes(text: str, most: int) -> None:
    words = split_text(text, most)
    assert len(words) <= most
    assert all(word and not set(word) & set(" \"'*:^()_-\0") for word in words)


@given(text=st.text())
def test_every_word_of_a_query_is_a_word_of_the_same_text(text: str) -> None:
    indexed = set(split_text(text, 1_000_000))
    asked = split_query(text)
    assert len(asked) <= MOST_ASKED
    assert {word for item in asked for word in (item.word, *item.parts)} <= indexed


def test_a_hostile_description_is_bounded(place: Home) -> None:
    place.nodes.mkdir()
    (place.nodes / "big.py").write_text(
        "from pocketflow import Node\nclass BigNode(Node):\n"
        f'    """Penguin \\x1b[31m{"red " * 100_000}.\n\n    Interface:\n'
        f'    - Params: a: str - {"z" * 400_000}\n    """\n'
    )
    matches: Any = Discovery(place).find("penguin").hits
    [hit] = matches
    assert hit.name == "big"
    assert len(json.dumps(hit.to_json())) < 20_000


def test_large_schemas_are_left_to_those_who_ask_for_one_tool(place: Home) -> None:
    tool = {"server": "acme", "name": "wide", "id": "wide", "description": "A penguin.", "params": {}}
    [(_, name, entry)] = entries([tool])
    fields = {f"field{n}": {"type": "string", "description": "x" * 300} for n in range(300)}
    interface: Any = entry["interface"]
    interface["outputs"][0]["schema"] = {"type": "object", "properties": fields}
    registry = Registry.load(place)
    registry.set_entry(name, entry)
    registry.save()
    with Workspace(place) as ws:
        matches: Any = ws.discovery.discover_nodes("penguin").to_json()["matches"]
    [hit] = matches
    assert [field.split(":")[0] for field in hit["gives"].split(", ")] == ["result", "files"]
    assert len(json.dumps(hit)) < 600


def test_a_workflow_with_endless_defaults_does_not_flood(place: Home) -> None:
    inputs = {f"input{n}": {"description": "y" * 3_000, "default": ["x" * 500] * 10} for n in range(100)}
    document = {"description": "A penguin", "inputs": inputs, "nodes": [{"id": "echo", "params": {"text": "hi"}}]}
    with Workspace(place) as ws:
        ws.save(document, "endless")
        matches: Any = ws.discovery.discover_workflows("penguin").to_json()["matches"]
    [hit] = matches
    assert hit["inputs"]["input7"] == {"type": "any", "required": False}
    assert len(json.dumps(hit)) < 16_000
