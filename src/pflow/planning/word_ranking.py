"""Ranks by words, without any model: BM25 over the full-text index, for the words of a query and others for them."""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path

from pflow.core.frozen import Frozen
from pflow.mcp.server.tool_name import PREFIX
from pflow.planning.calibration import LEAST_SCORE, calibrate_words
from pflow.planning.catalogue import Catalogue, Key, Kind
from pflow.planning.index import COLUMNS, DATABASE_ERRORS, discard_index, open_index
from pflow.planning.query_word import Asked, slug, split_query
from pflow.planning.ranking import Match, Ranked
from pflow.planning.thesaurus import other_words

_WEIGHTS = "20.0, 4.0, 1.0, 1.0, 8.0"
"""The weight of a word in each of the columns."""

_DETAIL_WEIGHT = 0.2
"""What a word counts that only the details have."""

_SHARED_RARITY = 0.3
"""How much the rarity of a word goes down with what other words for it are found in."""

_SHORTEST_BEGINNING = 3
_MOST_REWORDED = 16
"""Words of a query that other words are looked up for."""

_CEILING = 2.2
"""What SQLite's BM25 gives for a word at most, in units of how rare the word is: its k1 + 1."""

_LONGEST_NAME_CHARACTERS = 200
_OPEN, _CLOSE = "\x02", "\x03"


class _Term(Frozen):
    """A word of the query: how the index is asked for it and for other words for it, how rare, and how well each row
    of the index has it, from 0 to 1."""

    word: str
    matches: tuple[str, ...]
    rarity: float
    rows: Mapping[int, float]


class Weighed(Frozen):
    """How well things fit by their words: the share of what a perfect match would get, by row of the index."""

    shares: Mapping[int, float] = {}
    keys: Mapping[int, Key] = {}
    match: str = ""
    unknown: tuple[str, ...] = ()
    called: tuple[Key, ...] = ()


class WordRanking:
    """The ranking that always works. `path` is where it may keep its index.

    A word in a name weighs most, one that stands for it (see `thesaurus`) less than itself, and a word that is nowhere
    costs the more the rarer it is. Scores are calibrated; only what is called exactly that has 1.
    """

    title = "words (FTS5)"

    def __init__(self, path: Path | None = None) -> None:
        self._path = path

    def rank(self, query: str, catalogue: Catalogue, *, kinds: Collection[Kind], limit: int) -> Ranked:
        """The best matches of these kinds."""
        return rank_with(self._path, catalogue, lambda database: rank_words(database, query, kinds, limit), limit)


def rank_with(
    path: Path | None, catalogue: Catalogue, rank: Callable[[sqlite3.Connection], Ranked], limit: int
) -> Ranked:
    """What `rank` makes of the index, in its file or, where that is not usable, in memory."""
    if limit < 1:
        return Ranked()
    if path is not None:
        try:
            with open_index(path, catalogue) as database:
                return rank(database)
        except DATABASE_ERRORS:  # damage that shows only where something is looked for
            discard_index(path)
    with open_index(None, catalogue) as database:
        return rank(database)


def rank_words(database: sqlite3.Connection, query: str, kinds: Collection[Kind], limit: int) -> Ranked:
    """The best matches by words alone."""
    database.execute("BEGIN")  # another process may write between two questions
    weighed = weigh_words(database, query, kinds)
    order = sorted(weighed.shares, key=lambda row: (-round(weighed.shares[row], 3), *by_name(weighed.keys[row])))
    best = [(row, weighed.shares[row]) for row in order[: limit + 1]]
    scores = calibrate_words([share for _, share in best])
    rows = [row for row, _ in best]
    return make_ranked(database, weighed, list(zip(rows, scores, strict=True)), limit)


def make_ranked(
    database: sqlite3.Connection, weighed: Weighed, scored: Sequence[tuple[int, float]], limit: int
) -> Ranked:
    """The answer: what is called exactly what was asked for, then the rows with their scores, and why."""
    others = [(row, score) for row, score in scored if weighed.keys[row] not in weighed.called and score >= LEAST_SCORE]
    others = others[: max(limit - len(weighed.called), 0)]
    why = _why(database, weighed.match, [row for row, _ in others])
    exact = [Match(kind=kind, name=name, score=1.0, why={"name": (name,)}) for kind, name in weighed.called]
    found = [
        Match(kind=weighed.keys[row][0], name=weighed.keys[row][1], score=score, why=why[row]) for row, score in others
    ]
    return Ranked(matches=(*exact, *found)[:limit], unknown=weighed.unknown, title=WordRanking.title)


def weigh_words(database: sqlite3.Connection, query: str, kinds: Collection[Kind]) -> Weighed:
    """How well everything of these kinds fits a query by its words."""
    terms = _terms(database, split_query(query))
    keys: dict[int, Key] = {
        row: (kind, name) for row, kind, name in database.execute("SELECT id, kind, name FROM items") if kind in kinds
    }
    most = _CEILING * sum(term.rarity for term in terms)
    shares: dict[int, float] = {}
    for term in terms:
        for row, value in term.rows.items():
            if row in keys:
                shares[row] = shares.get(row, 0.0) + value * term.rarity / most
    return Weighed(
        shares={row: min(share, 1.0) for row, share in shares.items()},
        keys=keys,
        match=" OR ".join(dict.fromkeys(match for term in terms for match in term.matches)),
        # Where there is nothing to search, that says nothing about the words.
        unknown=tuple(term.word for term in terms if (keys.keys().isdisjoint(term.rows) if keys else not term.rows)),
        called=tuple(key for key in _called(query, kinds) if _exists(database, key)),
    )


def by_name(key: Key) -> tuple[int, str, str]:
    """The order of what fits equally well: short names first."""
    kind, name = key
    return len(name), name, kind


def _terms(database: sqlite3.Connection, asked: Sequence[Asked]) -> list[_Term]:
    total = int(database.execute("SELECT count(*) FROM texts").fetchone()[0])
    found: dict[str, _Term] = {}
    for item in asked:
        # `GitHub` means `github` where something is called that; `createIssue` rather means its parts.
        words = (item.word,) if not item.parts or _rows(database, f'name : "{item.word}"') else item.parts
        for word in words:
            if word not in found:
                found[word] = _term(database, word, total, other_words(word) if len(found) < _MOST_REWORDED else {})
    return list(found.values())


def _term(database: sqlite3.Connection, word: str, total: int, others: Mapping[str, float]) -> _Term:
    """The word, or where nothing has it or another word for it whatever begins like it: `repo` for repositories."""
    match = f'"{word}"'
    exact = _values(database, match, total)
    rows = dict(exact)
    matches = [match]
    for other, weight in others.items():
        if values := _values(database, f'"{other}"', total):
            matches.append(f'"{other}"')
            rows |= {row: max(rows.get(row, 0.0), weight * value) for row, value in values.items()}
    if not rows and len(word) >= _SHORTEST_BEGINNING:
        matches = [f"{match}*"]
        rows = exact = _values(database, matches[0], total)
    rarity = _rarity(len(exact or rows), total)
    if exact:
        rarity = (1 - _SHARED_RARITY) * rarity + _SHARED_RARITY * _rarity(len(rows), total)
    details = _rows(database, matches[0], "details")
    rows |= {row: _DETAIL_WEIGHT for row in details if row not in rows}
    return _Term(word=word, matches=tuple(matches) if rows else (), rarity=rarity, rows=rows)


def _rarity(count: int, total: int) -> float:
    return math.log(1 + (total - count + 0.5) / (count + 0.5))


def _values(database: sqlite3.Connection, match: str, total: int) -> dict[int, float]:
    """How well the rows have a word, whatever its rarity: by the columns it is in, and the length of the text."""
    found = database.execute(f"SELECT rowid, -bm25(texts, {_WEIGHTS}) FROM texts WHERE texts MATCH ?", (match,))
    rows = found.fetchall()
    # SQLite's own rarity, which its values contain.
    rarity = max(math.log((total - len(rows) + 0.5) / (len(rows) + 0.5)), 1e-6)
    return {row: value / rarity for row, value in rows}


def _rows(database: sqlite3.Connection, match: str, table: str = "texts") -> list[int]:
    return [row for (row,) in database.execute(f"SELECT rowid FROM {table} WHERE {table} MATCH ?", (match,))]


def _why(database: sqlite3.Connection, match: str, rows: Sequence[int]) -> dict[int, dict[str, tuple[str, ...]]]:
    """The words that rows were found by, by column."""
    why: dict[int, dict[str, tuple[str, ...]]] = {row: {} for row in rows}
    if not match or not rows:
        return why
    for table, columns in (("texts", COLUMNS), ("details", ("details",))):
        marks = ", ".join(f"highlight({table}, {index}, '{_OPEN}', '{_CLOSE}')" for index in range(len(columns)))
        marked = database.execute(
            f"SELECT rowid, {marks} FROM {table} WHERE {table} MATCH ? AND rowid IN ({', '.join('?' * len(why))})",
            (match, *why),
        )
        for row, *cells in marked:
            why[row] |= {name: words for name, cell in zip(columns, cells, strict=True) if (words := _marked(cell))}
    return why


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
