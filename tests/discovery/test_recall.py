"""The right tool is found among hundreds of real ones, by the queries that people wrote for them."""

from typing import Any

import pytest

from pflow.core.file.home import Home
from pflow.planning.discovery import Discovery, Findings
from tests.discovery.recall import DATA, EVERYDAY, bands, entries, queries_of, ranks, recall, scored

requirement = pytest.mark.requirement


@pytest.fixture
def labels() -> dict[str, Any]:
    return {node_type: label for label, node_type, _ in entries(DATA["tools"])}


@requirement("server13:registry_discover-1", "security:4.2-1")
def test_keywords_find_the_tool(tools: Home, labels: dict[str, Any]) -> None:
    found = ranks(Discovery(tools).find, labels, "keyword_queries")
    assert recall(found, 1) >= 0.95, found
    assert recall(found, 5) >= 0.98, found


def test_other_words_for_it_often_find_the_tool(tools: Home, labels: dict[str, Any]) -> None:
    for queries, first, fifth in (("queries", 0.55, 0.85), ("paraphrases_held_out", 0.45, 0.65)):
        found = ranks(Discovery(tools).find, labels, queries)
        assert recall(found, 1) >= first, found
        assert recall(found, 5) >= fifth, found


def test_everyday_questions_find_built_in_nodes(place: Home) -> None:
    found = ranks(Discovery(place).find, {}, "built_in")
    assert recall(found, 3) >= 0.9, found
    assert recall(ranks(Discovery(place).find, {}, "built_in_seen"), 3) >= 0.95


def test_everyday_questions_find_built_in_nodes_among_hundreds_of_tools(tools: Home, labels: dict[str, Any]) -> None:
    def find(*args: Any, **options: Any) -> Findings:
        found = Discovery(tools).find(*args, **options)
        return found._replace(hits=tuple(hit for hit in found.hits if hit.name not in labels))

    assert recall(ranks(find, {}, "built_in"), 3) >= 0.9


def test_scores_say_how_often_hits_are_right(tools: Home, labels: dict[str, Any]) -> None:
    """On queries that no weight was fitted to, in bands: small ones are off by chance."""
    found = scored(Discovery(tools).find, labels, queries_of("paraphrases_held_out"))
    for band, count, said, right in bands(found):
        assert count < 20 or abs(said - right) < 0.25, (band, count, said, right)


def test_what_nothing_is_for_scores_low(place: Home) -> None:
    best = [found.hits[0].score for query in EVERYDAY["nothing"] if (found := Discovery(place).find(query)).hits]
    assert sum(score >= 0.5 for score in best) <= len(EVERYDAY["nothing"]) // 8, best


def test_no_other_words_make_a_wrong_tool_look_right(tools: Home, labels: dict[str, Any]) -> None:
    """A score that an agent acts on without looking is one that only the right tool has."""
    discovery = Discovery(tools)
    for query in DATA["queries"]:
        for hit in discovery.find(query["query"], kinds=["node"]).hits:
            assert hit.score < 0.95 or labels.get(hit.name) in query["expected"], (query["query"], hit.name)


@pytest.mark.parametrize(("queries", "first", "fifth"), [("keyword_queries", 0.90, 0.98), ("queries", 0.5, 0.8)])
def test_looking_for_parts_of_a_task_finds_no_less(
    tools: Home, labels: dict[str, Any], queries: str, first: float, fifth: float
) -> None:
    found = ranks(Discovery(tools).find_parts, labels, queries)
    assert recall(found, 1) >= first, found
    assert recall(found, 5) >= fifth, found
