"""Recognises well-known kinds of credentials by their shape alone."""

from __future__ import annotations

import re

_LOOKED_AT = 4096
"""Characters of a text; a secret starts sooner, and more would let a hostile file cost seconds."""

_TOKEN = re.compile(
    r"(?<![\w-])(?:"
    r"(?:gh[opsur]_|github_pat_|glpat-|rk_live_|sk_live_|xox[abeprs]-|AKIA|ASIA|AIza|npm_|hf_|pypi-Ag|eyJ[\w-]{8,}\.)[\w.-]{8,}"
    r"|sk-[\w.-]{8,})"
)
_KEY = re.compile(r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----")
_LONG = 16
"""Characters of what may as well be a word: `sk-learn` is one."""


def has_token(text: str) -> bool:
    """Whether text holds what looks like a token or a private key of a kind that everyone knows."""
    return bool(_TOKEN.search(text[:_LOOKED_AT]) or _KEY.search(text[:_LOOKED_AT]))


def has_certain_token(text: str) -> bool:
    """The same for text that a person wrote, where a word may begin like a token: it must be long and have digits."""
    found = _TOKEN.search(text[:_LOOKED_AT])
    return bool(_KEY.search(text[:_LOOKED_AT])) or (
        found is not None and len(found[0]) >= _LONG and any(char.isdigit() for char in found[0])
    )
