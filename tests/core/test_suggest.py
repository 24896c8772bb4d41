"""Suggestions for mistyped words."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pflow.core.suggest import nearest

TYPES = ["shell", "http", "read-file", "write-file", "copy-file", "github-list-issues", "mcp-git-git-log", "llm"]


@pytest.mark.parametrize(
    ("word", "found"),
    [
        ("shel", ["shell"]),
        ("hsell", ["shell"]),
        ("htttp", ["http"]),
        ("Read_File", ["read-file"]),
        ("red-file", ["read-file"]),
        ("git_log", ["mcp-git-git-log"]),
        ("github-list-issue", ["github-list-issues"]),
        ("file-read", ["read-file"]),
        ("issues_github_list", ["github-list-issues"]),
        ("mcp-git-log", ["mcp-git-git-log"]),
        ("lm", ["llm"]),
        ("lml", ["llm"]),
        ("banana", []),
        ("", []),
        ("x" * 10_000, []),
    ],
)
def test_the_likeliest_word_comes_first(word: str, found: list[Any]) -> None:
    assert nearest(word, TYPES)[: max(1, len(found))] == found


def test_few_mistakes_come_before_words_that_contain_it() -> None:
    assert nearest("fetch", ["prefetch-all", "fetsh", "FETCH", "etch"]) == ["FETCH", "fetsh", "etch"]


def test_the_same_words_come_before_fewer_of_them() -> None:
    assert nearest("mcp-git-log", ["git-log", "mcp-git-git-log", "git"]) == ["mcp-git-git-log", "git-log", "git"]


def test_neighbours_that_changed_places_are_one_mistake() -> None:
    assert nearest("badcfeghi", ["abcdefghi"]) == ["abcdefghi"]
    assert nearest("badcfehgi", ["abcdefghi"]) == []


def test_at_most_the_wanted_number_is_suggested() -> None:
    assert nearest("item", [f"item{index}" for index in range(9)], limit=2) == ["item0", "item1"]
    assert len(nearest("item", [f"item{index}" for index in range(9)])) == 3


def test_a_word_that_is_known_twice_is_suggested_once() -> None:
    assert nearest("shel", ["shell", "shell"]) == ["shell"]


def test_thousands_of_candidates_are_searched() -> None:
    names = [f"mcp-server{index % 40}-tool-{index}" for index in range(5000)]
    assert nearest("mcp-server7-tol-4007", names, limit=1) == ["mcp-server7-tool-4007"]


def reference(a: str, b: str) -> int:
    """Optimal string alignment, as textbooks write it."""
    table = [[i + j if i * j == 0 else 0 for j in range(len(b) + 1)] for i in range(len(a) + 1)]
    for i in range(1, len(a) + 1):
        for j in range(1, len(b) + 1):
            table[i][j] = min(table[i - 1][j] + 1, table[i][j - 1] + 1, table[i - 1][j - 1] + (a[i - 1] != b[j - 1]))
            if i > 1 and j > 1 and a[i - 1] == b[j - 2] and a[i - 2] == b[j - 1]:
                table[i][j] = min(table[i][j], table[i - 2][j - 2] + 1)
    return table[-1][-1]


LETTERS = st.text(alphabet="abcd", min_size=8, max_size=14)


@given(LETTERS, LETTERS)
def test_distance_is_that_of_the_textbook(word: str, other: str) -> None:
    close = reference(word, other) <= max(2, len(word) // 3)
    contained = word in other or other in word
    assert (nearest(word, [other]) == [other]) == (close or contained)


@given(st.text(), st.lists(st.text()))
def test_suggestions_are_always_candidates(word: str, candidates: list[Any]) -> None:
    found = nearest(word, candidates)
    assert set(found) <= set(candidates)
    assert len(found) <= 3
    if word.strip() and len(word) < 50 and word in candidates:
        assert word.lower() == found[0].lower().replace("_", "-") or word.lower().replace("_", "-") == found[
            0
        ].lower().replace("_", "-")
