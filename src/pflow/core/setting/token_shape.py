"""Recognises well-known kinds of credentials by their shape alone."""

from __future__ import annotations

import re

_LOOKED_AT = 4096
"""Characters of a text; a secret starts sooner, and more would let a hostile file cost seconds."""

_STARTS = (
    *("gho_", "ghp_", "ghs_", "ghu_", "ghr_", "github_pat_", "glpat-", "rk_live_", "sk_live_", "sk-", "npm_", "hf_"),
    *("xoxa-", "xoxb-", "xoxe-", "xoxp-", "xoxr-", "xoxs-", "AKIA", "ASIA", "AIza", "pypi-Ag"),
)
_JWT = "eyJ"
_BEGINNINGS = (*_STARTS, _JWT)
_TOKEN = rf"(?<![\w-])(?:{'|'.join(_STARTS)}|{_JWT}[\w-]{{8,}}\.)[\w.-]{{8,}}"
_KEY_START = "-----BEGIN "
_KEY = rf"{_KEY_START}[A-Z0-9 ]*PRIVATE KEY-----"
_LONG = 16
"""Characters of what may as well be a word: `sk-learn` is one."""


def has_token(text: str) -> bool:
    """Whether text holds what looks like a token or a private key of a kind that everyone knows."""
    return _find_token(text[:_LOOKED_AT]) is not None or _has_key(text[:_LOOKED_AT])


def without_tokens(text: str, instead: str) -> str:
    """Text, however long, with something else in place of everything that looks like a token."""
    return re.sub(_TOKEN, lambda _: instead, text)


def may_hold_token(text: str) -> bool:
    """Whether anything in text, however long, begins like a token or a private key: seldom, and soon found out."""
    return any(start in text for start in (*_BEGINNINGS, _KEY_START))


def tokens_in(text: str) -> list[str]:
    """Everything in text, however long, that looks like a token or a private key."""
    if not may_hold_token(text):
        return []
    found = [match[0] for match in re.finditer(_TOKEN, text)]
    return found + [match[0] for match in re.finditer(rf"{_KEY}(?s:.{{1,10000}}?)-----END [A-Z0-9 ]*-----", text)]


def has_certain_token(text: str) -> bool:
    """The same for text that a person wrote, where a word may begin like a token: it must be long and have digits."""
    found = _find_token(text[:_LOOKED_AT])
    return _has_key(text[:_LOOKED_AT]) or (
        found is not None and len(found) >= _LONG and any(char.isdigit() for char in found)
    )


def _find_token(text: str) -> str | None:
    if not any(start in text for start in _BEGINNINGS):  # nearly always, and much cheaper than the pattern
        return None
    found = re.search(_TOKEN, text)
    return None if found is None else found[0]


def _has_key(text: str) -> bool:
    return _KEY_START in text and re.search(_KEY, text) is not None
