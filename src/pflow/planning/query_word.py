"""Splits text into searchable words: identifiers split, accents and case left to the index. Pure."""

from __future__ import annotations

import re
import unicodedata
from functools import cache
from itertools import pairwise

from pflow.core.frozen import Frozen

MOST_ASKED = 48
"""Different words of a query that count; by then it is clear what it is about."""

_MOST_CHARACTERS = 20_000
_LONGEST_WORD_CHARACTERS = 64

# Chinese and Japanese put no spaces between words, so each sign counts as one.
_SIGNS = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
# Inside of `createIssue`, `HTTPServer` and `listPRs`, whose last word is `PRs`.
_STARTS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z](?!s(?![a-z]))[a-z])")
_ASCII_TOKEN = re.compile(r"[^\W_]+", re.ASCII)

_BETWEEN = re.compile(r"[,;:!?\n]|\.(?=\s)|\b(?:and|then)\b", re.IGNORECASE)
_MOST_PARTS = 6

_STOP = frozenset(
    re.findall(
        r"[a-z]+",
        """
        a about all also am an and any are as at be been being but by can could d did do does doing e for from g had has
        have having he her hers him his how i if in into is it its just let lets ll m may me might mine must my need
        needs of off on onto or our ours out over please re s shall she should so some something such t than that the
        their theirs them then there these they thing things this those to too up us ve very want wants was we were what
        when where which while who whom whose why will with would you your yours
        """,
    )
)
"""English words that say how a question is asked and not what it is about."""


class Asked(Frozen):
    """One word of a query. `parts` are those of an identifier in mixed case: `createIssue`, and also `GitHub`."""

    word: str
    parts: tuple[str, ...] = ()


def split_text(text: str, most: int) -> list[str]:
    """The first `most` different words of a string, in lower case.

    A word in mixed case counts as its parts, as neighbours of them together, and as a whole: `GitHubSync` is about
    `git`, `hub`, `sync`, `github` and so on. Each word counts once, so that repeating it changes nothing.
    """
    found: dict[str, None] = {}
    for token in _tokens(text):
        if token.islower():
            found[token] = None
        else:
            parts = _parts(token)
            found |= dict.fromkeys([*parts, *map("".join, pairwise(parts)), token.lower()])
        if len(found) >= most:
            break
    return list(found)[:most]


def split_name(name: str) -> list[str]:
    """The words of an identifier, in lower case."""
    return [word for token in _tokens(name) for word in (_parts(token) or [token.lower()])]


def split_query(query: str) -> list[Asked]:
    """The words that a query is about, each once."""
    found = {token.lower(): Asked(word=token.lower(), parts=tuple(_parts(token))) for token in _tokens(query)}
    return [asked for word, asked in found.items() if word not in _STOP][:MOST_ASKED]


def split_task(task: str) -> list[str]:
    """The parts of a task that says more than one thing, each of more than one word: `read the log, write a file`."""
    parts = (part.strip() for part in _BETWEEN.split(task[:_MOST_CHARACTERS]))
    telling = [part for part in dict.fromkeys(parts) if len(split_query(part)) > 1]
    return telling[:_MOST_PARTS] if len(telling) > 1 else []


def slug(query: str, *, telling: bool = False) -> str:
    """The query as a name would be written; with `telling` only what it is about."""
    words = (asked.word for asked in split_query(query)) if telling else (token.lower() for token in _tokens(query))
    return "-".join(words)


def _tokens(text: str) -> list[str]:
    """The words as they are written, each once."""
    cut = text[:_MOST_CHARACTERS]
    pattern = _ASCII_TOKEN
    if not cut.isascii():
        cut, pattern = unicodedata.normalize("NFKC", cut), _token()
    return list(dict.fromkeys([token[:_LONGEST_WORD_CHARACTERS] for token in pattern.findall(cut)]))


@cache
def _token() -> re.Pattern[str]:
    """A word of any language. Compiling it takes 3 ms, which most commands save."""
    return re.compile(rf"[{_SIGNS}]|[^\W_{_SIGNS}]+")


def _parts(token: str) -> list[str]:
    parts = _STARTS.sub(" ", token).lower().split()
    return parts if len(parts) > 1 else []
