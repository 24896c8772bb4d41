"""Recognises the names of secrets: settings, variables, headers and arguments. Sees no values."""

from __future__ import annotations

from functools import lru_cache

_PARTS = ("token", "secret", "password", "passwd", "passphrase", "credential", "cookie", "signature", "key", "auth")
_WHOLE = frozenset({"pat", "pats"})
_ORDINARY = frozenset(
    {
        *("author", "authors", "authored", "authority", "xauthority", "tokenizer", "tokenizers"),
        *("keyboard", "keymap", "keyring", "keyserver", "keyword", "keywords", "hotkey", "hotkeys", "monkey"),
    }
)
"""Words that hold one of the parts and mean something else."""

_COUNTS = frozenset({"max", "min", "limit", "count", "num"})
"""Beside these, `tokens` are counted, not kept secret."""


@lru_cache(maxsize=4096)
def is_secret_name(name: str) -> bool:
    """Whether a value of this name is to be hidden: `GITHUB_TOKEN`, `x-api-key`; not `MAX_TOKENS`."""
    words = name.lower().replace("-", "_").replace(".", "_").split("_")
    ordinary = _ORDINARY if _COUNTS.isdisjoint(words) else _ORDINARY | {"tokens"}
    return any(word in _WHOLE or (word not in ordinary and any(part in word for part in _PARTS)) for word in words)
