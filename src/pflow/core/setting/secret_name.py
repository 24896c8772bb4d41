"""Whether a name is the name of a secret: of a setting, a variable, a header, an argument. Sees no values."""

from __future__ import annotations

_INSIDE = ("token", "secret", "password", "passwd", "passphrase", "credential", "cookie", "signature")
_BEGIN = ("auth", "oauth")
_END = ("apikey", "accesskey", "secretkey", "privatekey")
_WHOLE = frozenset({"key", "keys", "pat"})
_OTHERS = frozenset({"author", "authors", "authority", "tokenizer", "tokenizers"})
_COUNTS = frozenset({"max", "min", "limit", "count", "num"})
"""Beside these, tokens are counted, not kept secret."""


def is_secret_name(name: str) -> bool:
    """Whether a value of this name is to be hidden: `GITHUB_TOKEN`, `x-api-key`; not `MAX_TOKENS`."""
    words = name.lower().replace("-", "_").replace(".", "_").split("_")
    return any(map(_is_secret, words)) and _COUNTS.isdisjoint(words)


def _is_secret(word: str) -> bool:
    if word in _OTHERS:
        return False
    return word in _WHOLE or word.startswith(_BEGIN) or word.endswith(_END) or any(part in word for part in _INSIDE)
