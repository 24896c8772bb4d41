"""Makes the table of neighbouring words: `python -m tests.discovery.neighbours`, with the extra `semantic` installed.

Each of the commoner words of the model's vocabulary is embedded on its own. Its neighbours are the words of other stems
that are close to it; nothing in the table comes from any tool or query.
"""

from __future__ import annotations

import gzip
import sqlite3
import sys

import numpy as np

from pflow.planning.semantic.installed import load_encoder
from pflow.planning.semantic.tokens import read_vocabulary
from pflow.planning.thesaurus import NEIGHBOURS

_IDS = range(1_996, 16_000)
"""Whole words; the vocabulary has the commoner ones first."""

_CLOSE = 0.6
_MOST = 10
_AT_ONCE = 256


def stems(words: list[str]) -> list[str]:
    """The stems under which the index knows words."""
    database = sqlite3.connect(":memory:")
    database.execute("CREATE VIRTUAL TABLE texts USING fts5(word, tokenize='porter unicode61')")
    database.execute("CREATE VIRTUAL TABLE terms USING fts5vocab(texts, instance)")
    database.executemany("INSERT INTO texts (rowid, word) VALUES (?, ?)", enumerate(words, 1))
    found = dict(database.execute("SELECT doc, term FROM terms"))
    database.close()
    return [found[number] for number in range(1, len(words) + 1)]


def main() -> int:
    encoder = load_encoder()
    if encoder is None:
        print("the extra `semantic` is not installed")
        return 1
    ids = read_vocabulary()
    words = [word for word, number in ids.items() if number in _IDS and word.isascii() and word.isalpha()]
    words = [word for word in words if len(word) > 1]
    stem = stems(words)
    parts = [words[start : start + _AT_ONCE] for start in range(0, len(words), _AT_ONCE)]
    vectors = np.concatenate([np.stack(encoder.encode(part)) for part in parts])
    lines = []
    for row, word in enumerate(words):
        near = vectors @ vectors[row]
        seen, line = {stem[row]}, [word]
        for other in np.argsort(-near)[: 5 * _MOST]:
            if near[other] < _CLOSE or len(line) > _MOST:
                break
            if stem[other] not in seen:
                seen.add(stem[other])
                line.append(f"{words[other]}{min(int(near[other] * 10), 9)}")
        if len(line) > 1:
            lines.append(" ".join(line))
    data = "\n".join(["", *sorted(lines), ""]).encode()
    NEIGHBOURS.write_bytes(gzip.compress(data, 9, mtime=0))
    print(f"{len(lines):,} words, {len(data):,} bytes, {NEIGHBOURS.stat().st_size:,} compressed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
