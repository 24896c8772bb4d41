"""The right tool is found among hundreds of real ones, by the queries that people wrote for them."""

from typing import Any

import pytest

from pflow.core.file.home import Home
from pflow.planning.discovery import Discovery
from tests.discovery.recall import DATA, entries, ranks, recall

requirement = pytest.mark.requirement


@pytest.fixture
def labels() -> dict[str, Any]:
    return {node_type: label for label, node_type, _ in entries(DATA["tools"])}


@requirement("server13:registry_discover-1", "security:4.2-1")
def test_keywords_find_the_tool(tools: Home, labels: dict[str, Any]) -> None:
    found = ranks(Discovery(tools).find, labels, "keyword_queries")
    assert recall(found, 1) >= 0.90, found
    assert recall(found, 5) >= 0.98, found


def test_other_words_for_it_often_find_the_tool(tools: Home, labels: dict[str, Any]) -> None:
    found = ranks(Discovery(tools).find, labels, "queries")
    assert recall(found, 5) >= 0.34, found


def test_no_other_words_make_a_wrong_tool_look_right(tools: Home, labels: dict[str, Any]) -> None:
    """A score that an agent acts on without looking is one that only the right tool has."""
    discovery = Discovery(tools)
    for query in DATA["queries"]:
        for hit in discovery.find(query["query"], kinds=["node"]).hits:
            assert hit.score < 0.95 or labels.get(hit.name) in query["expected"], (query["query"], hit.name)


@pytest.mark.parametrize(("queries", "first", "fifth"), [("keyword_queries", 0.90, 0.98), ("queries", 0.2, 0.34)])
def test_looking_for_parts_of_a_task_finds_no_less(
    tools: Home, labels: dict[str, Any], queries: str, first: float, fifth: float
) -> None:
    found = ranks(Discovery(tools).find_parts, labels, queries)
    assert recall(found, 1) >= first, found
    assert recall(found, 5) >= fifth, found
