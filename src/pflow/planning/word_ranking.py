"""Ranks by words, without any model: BM25 over the full-text index, where a word in a name weighs most."""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Collection, Sequence
from pathlib import Path

from pflow.core.frozen import Frozen
from pflow.mcp.server.tool_name import PREFIX
from pflow.planning.catalogue import Catalogue, Key, Kind
from pflow.planning.index import COLUMNS, DATABASE_ERRORS, discard_index, open_index
from pflow.planning.query_word import Asked, slug, split_query
from pflow.planning.ranking import Match, Ranked

_WEIGHTS = "20.0, 4.0, 1.0, 1.0"
"""The weight of a word in each of the columns."""

_DETAIL_WEIGHT = 0.2
"""What a word counts that only the details have."""

_SHORTEST_BEGINNING = 3
_CEILING = 2.2
"""What SQLite's BM25 gives for a word at most, in units of how rare the word is: its k1 + 1."""

_LONGEST_NAME_CHARACTERS = 200
_OPEN, _CLOSE = "\x02", "\x03"


class _Term(Frozen):
    """A word as the index is asked for it, and how rare it is."""

    word: str
    match: str
    rarity: float
    is_known: bool


class WordRanking:
    """The ranking that always works. `path` is where it may keep its index.

    A score is the share of what a perfect match would get: something with every word of the query in its name comes
    close to 1, and a word that it lacks costs the more the rarer it is. Only what is called exactly that has 1.
    """

    title = "words (FTS5)"

    def __init__(self, path: Path | None = None) -> None:
        self._path = path

    def rank(self, query: str, catalogue: Catalogue, *, kinds: Collection[Kind], limit: int) -> Ranked:
        """The best matches of these kinds."""
        if limit < 1:
            return Ranked()
        if self._path is not None:
            try:
                return _rank(self._path, query, catalogue, kinds, limit)
            except DATABASE_ERRORS:  # damage that shows only where something is looked for
                discard_index(self._path)
        return _rank(None, query, catalogue, kinds, limit)


def _rank(path: Path | None, query: str, catalogue: Catalogue, kinds: Collection[Kind], limit: int) -> Ranked:
    with open_index(path, catalogue) as database:
        database.execute("BEGIN")  # another process may write between two questions
        terms = _terms(database, split_query(query))
        found = _search(database, terms, kinds, limit)
        called = [key for key in _called(query, kinds) if _exists(database, key)]
    exact = [Match(kind=kind, name=name, score=1.0, why={"name": (name,)}) for kind, name in called]
    others = [match for match in found if (match.kind, match.name) not in called]
    unknown = tuple(term.word for term in terms if not term.is_known)
    return Ranked(matches=(*exact, *others)[:limit], unknown=unknown)


def _terms(database: sqlite3.Connection, asked: Sequence[Asked]) -> list[_Term]:
    total = int(database.execute("SELECT count(*) FROM texts").fetchone()[0])
    found: dict[str, _Term] = {}
    for item in asked:
        # `GitHub` means `github` where something is called that; `createIssue` rather means its parts.
        words = (item.word,) if not item.parts or _count(database, f'name : "{item.word}"') else item.parts
        for word in words:
            found.setdefault(word, _term(database, word, total))
    return list(found.values())


def _term(database: sqlite3.Connection, word: str, total: int) -> _Term:
    """The word, or where nothing has it whatever begins like it: `repo` for repositories."""
    match = f'"{word}"'
    count = _count(database, match)
    if not count and len(word) >= _SHORTEST_BEGINNING and (beginning := _count(database, f"{match}*")):
        match, count = f"{match}*", beginning
    rarity = math.log((total - count + 0.5) / (count + 0.5))
    is_known = count > 0 or _count(database, match, "details") > 0
    return _Term(word=word, match=match, rarity=max(rarity, 1e-6), is_known=is_known)


def _count(database: sqlite3.Connection, match: str, table: str = "texts") -> int:
    return int(database.execute(f"SELECT count(*) FROM {table} WHERE {table} MATCH ?", (match,)).fetchone()[0])


def _search(database: sqlite3.Connection, terms: Sequence[_Term], kinds: Collection[Kind], limit: int) -> list[Match]:
    query = " OR ".join(term.match for term in terms if term.is_known)
    if not query or not kinds:
        return []
    best = _CEILING * sum(term.rarity for term in terms)
    ranked = database.execute(
        "SELECT items.id, kind, items.name, round(sum(score) / ?, 2) AS score FROM ("
        f"SELECT rowid AS row, -bm25(texts, {_WEIGHTS}) AS score FROM texts WHERE texts MATCH ? UNION ALL "
        f"SELECT rowid, -bm25(details) * {_DETAIL_WEIGHT} FROM details WHERE details MATCH ?"
        f") JOIN items ON items.id = row WHERE kind IN ({', '.join('?' * len(kinds))}) GROUP BY items.id "
        "ORDER BY 4 DESC, length(items.name), items.name, kind LIMIT ?",
        (best, query, query, *kinds, limit),
    ).fetchall()
    why: dict[int, dict[str, tuple[str, ...]]] = {row: {} for row, *_ in ranked}
    for table, columns in (("texts", COLUMNS), ("details", ("details",))):
        marks = ", ".join(f"highlight({table}, {index}, '{_OPEN}', '{_CLOSE}')" for index in range(len(columns)))
        marked = database.execute(
            f"SELECT rowid, {marks} FROM {table} WHERE {table} MATCH ? AND rowid IN ({', '.join('?' * len(why))})",
            (query, *why),
        )
        for row, *cells in marked:
            why[row] |= {name: words for name, cell in zip(columns, cells, strict=True) if (words := _marked(cell))}
    return [Match(kind=kind, name=name, score=min(score, 1.0), why=why[row]) for row, kind, name, score in ranked]


def _marked(cell: str) -> tuple[str, ...]:
    """The words of a column that the index found, each once."""
    return tuple(dict.fromkeys(part.partition(_CLOSE)[0] for part in cell.split(_OPEN)[1:]))


def _called(query: str, kinds: Collection[Kind]) -> list[Key]:
    """What would be called exactly what is asked for."""
    if len(query) > _LONGEST_NAME_CHARACTERS or not query.isprintable():
        return []
    spelled = dict.fromkeys((query.strip(), slug(query), slug(query, telling=True)))
    return [(kind, f"{prefix}{name}") for name in spelled for prefix in ("", PREFIX) for kind in kinds if name]


def _exists(database: sqlite3.Connection, key: Key) -> bool:
    found = database.execute(
        "SELECT 1 FROM items JOIN texts ON texts.rowid = items.id WHERE kind = ? AND items.name = ?", key
    )
    return found.fetchone() is not None
