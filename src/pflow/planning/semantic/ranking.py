"""Ranks by meaning and by words: how alike a sentence model finds a request and a description, and what words say."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from pflow.planning.calibration import calibrate_meaning
from pflow.planning.catalogue import Catalogue, Kind
from pflow.planning.query_word import split_query
from pflow.planning.ranking import Ranked
from pflow.planning.semantic.installed import load_encoder
from pflow.planning.word_ranking import Weighed, by_name, make_ranked, rank_with, rank_words, weigh_words

if TYPE_CHECKING:
    from pflow.planning.semantic.encoder import Array, Encoder

_WORDS_WEIGHT = 0.2
"""What the best match by words gets on top of a cosine. Half as much or twice as much finds hardly less."""

_MOST_NEW = 300
"""Vectors that one search makes, some 15 ms each; the next one goes on."""


class SemanticRanking:
    """The ranking of the extra `semantic`. Vectors are kept in the index, one for each definition.

    Where the model or a file for the index is missing it ranks by words, and says so.
    """

    title = "meaning (MiniLM) and words (FTS5)"

    def __init__(self, path: Path) -> None:
        self._path = path

    def rank(self, query: str, catalogue: Catalogue, *, kinds: Collection[Kind], limit: int) -> Ranked:
        """The best matches of these kinds."""

        def rank(database: sqlite3.Connection) -> Ranked:
            encoder = load_encoder() if _is_kept(database) else None
            if encoder is None or not split_query(query):
                return rank_words(database, query, kinds, limit)
            return _rank(database, encoder, query, catalogue, kinds, limit)

        return rank_with(self._path, catalogue, rank, limit)


def _is_kept(database: sqlite3.Connection) -> bool:
    """Whether the index is a file. In memory, vectors would be made for one search alone."""
    return any(file for *_, file in database.execute("PRAGMA database_list"))


def _rank(
    database: sqlite3.Connection,
    encoder: Encoder,
    query: str,
    catalogue: Catalogue,
    kinds: Collection[Kind],
    limit: int,
) -> Ranked:
    weighed = weigh_words(database, query, kinds)
    rows, vectors = _vectors(database, encoder, weighed, catalogue)
    if not rows:
        return rank_words(database, query, kinds, limit)
    asked = encoder.encode([query])[0]
    likeness: Mapping[int, float] = dict(zip(rows, (vectors @ asked).tolist(), strict=True))
    best = max(weighed.shares.values(), default=0.0)
    blended = {
        row: likeness.get(row, 0.0) + (_WORDS_WEIGHT * weighed.shares.get(row, 0.0) / best if best else 0.0)
        for row in likeness.keys() | weighed.shares.keys()
    }
    order = sorted(blended, key=lambda row: (-round(blended[row], 3), *by_name(weighed.keys[row])))[: limit + 1]
    scores = calibrate_meaning([blended[row] for row in order], [weighed.shares.get(row, 0.0) for row in order])
    found = make_ranked(database, weighed, list(zip(order, scores, strict=True)), limit)
    return found._replace(title=SemanticRanking.title)


def _vectors(
    database: sqlite3.Connection, encoder: Encoder, weighed: Weighed, catalogue: Catalogue
) -> tuple[list[int], Array]:
    """The vectors of everything there is, made where they are missing: first of what has the words of the query."""
    import numpy as np  # lazy: only with the extra

    stamps = dict(database.execute("SELECT id, stamp FROM items"))
    vectors = {row: np.frombuffer(data, np.float16) for row, data in database.execute("SELECT id, vector FROM vectors")}
    order = sorted(weighed.keys.keys() - vectors.keys(), key=lambda row: (-weighed.shares.get(row, 0.0), row))
    missing = [row for row in order if row in stamps][:_MOST_NEW]
    if missing:
        made = encoder.encode([catalogue.sentence(weighed.keys[row]) for row in missing])
        new = {row: vector.astype(np.float16) for row, vector in zip(missing, made, strict=True)}
        vectors |= new
        try:
            database.executemany(
                "INSERT OR REPLACE INTO vectors SELECT id, ? FROM items WHERE id = ? AND stamp = ?",
                [(vector.tobytes(), row, stamps[row]) for row, vector in new.items()],
            )
        except sqlite3.OperationalError:
            pass  # another process writes: one of the next searches keeps them
    rows = [row for row in vectors if row in weighed.keys]
    return rows, np.stack([vectors[row] for row in rows]).astype(np.float32) if rows else np.zeros((0, 1), np.float32)
