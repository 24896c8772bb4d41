"""Recognises credentials among the params of a step by what they are called; the values may come from anywhere."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache

from pflow.core.setting.secret_name import is_secret_name
from pflow.core.setting.secret_search import MIN_SECRET

_WORD = r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+"
_PARTS = ("token", "secret", "password", "passwd", "passphrase", "credential", "cookie", "auth")
_KEYS = ("access", "account", "api", "auth", "client", "encryption", "master", "private", "secret", "service", "sign")
"""What a `key` is called that opens something; others only name things."""

_ABOUT = frozenset(
    {
        *("algorithm", "endpoint", "file", "id", "ids", "length", "method", "mode", "name", "path", "scheme", "scope"),
        *("scopes", "type", "uri", "url"),
    }
)
"""Last words of what only tells about a credential: `token_url`, `key_id`."""

_PAGING = frozenset(("page", "next", "previous", "continuation", "cursor", "sync", "start"))
"""Beside these, a `token` is a place in a list."""

_PUBLIC = frozenset(("type", "scheme", "in", "header", "name", "user", "username", "login", "email"))
"""Fields of an object of credentials that are not secret."""

_MAX_DEPTH = 4
_MAX_ITEMS = 64
"""Where params are looked into; what is deeper or longer is data."""


@lru_cache(maxsize=4096)
def is_credential_name(name: str) -> bool:
    """Whether a param of this name carries a credential: `auth`, `X-Api-Key`; not `key`, `token_url` or `pageToken`."""
    if not is_secret_name(name):
        return False
    words = [word.lower() for word in re.findall(_WORD, name)]
    if not words or words[-1] in _ABOUT or not _PAGING.isdisjoint(words):
        return False
    has_kind = any(word.startswith(_KEYS) for word in words)
    return any(_is_secret_word(word, has_kind=has_kind) for word in words)


def _is_secret_word(word: str, *, has_kind: bool) -> bool:
    if "key" in word:
        return has_kind if word in ("key", "keys") else word.startswith(_KEYS)
    return word in ("pat", "pats") or (is_secret_name(word) and any(part in word for part in _PARTS))


def credentials_in(
    params: object, path: str = "", *, inside: bool = False, depth: int = 0
) -> Iterator[tuple[str, str]]:
    """The credentials in params, each with the place where it stands: `auth.token`, `headers.Authorization`.

    `inside`: everything here belongs to a credential. Of `Bearer TOKEN` only the token is one.
    """
    if isinstance(params, str):
        if inside:
            yield path, _without_scheme(params)
    elif depth > _MAX_DEPTH:
        return
    elif isinstance(params, Mapping):
        for key, value in params.items():
            name = str(key)
            is_one = is_credential_name(name) or (inside and name.lower() not in _PUBLIC)
            place = f"{path}.{name}" if path else name
            yield from credentials_in(value, place, inside=is_one, depth=depth + 1)
    elif isinstance(params, list | tuple) and len(params) <= _MAX_ITEMS:
        for number, value in enumerate(params):
            yield from credentials_in(value, f"{path}.{number}", inside=inside, depth=depth + 1)


def without_short_credentials(params: Mapping[str, object]) -> dict[str, object]:
    """Params to be shown. Longer credentials are replaced wherever they stand, by the callers that show this."""
    return {name: _shown(value, name, inside=is_credential_name(name)) for name, value in params.items()}


def _shown(value: object, path: str, *, inside: bool, depth: int = 1) -> object:
    if isinstance(value, str):
        return f"«secret:{path}»" if inside and 0 < len(value) < MIN_SECRET else value
    if isinstance(value, Mapping) and depth <= _MAX_DEPTH:
        return {
            key: _shown(
                item,
                f"{path}.{key}",
                inside=is_credential_name(str(key)) or (inside and str(key).lower() not in _PUBLIC),
                depth=depth + 1,
            )
            for key, item in value.items()
        }
    return value


def _without_scheme(text: str) -> str:
    scheme, space, rest = text.partition(" ")
    return rest if space and scheme.isalpha() and len(rest) >= MIN_SECRET and " " not in rest else text
