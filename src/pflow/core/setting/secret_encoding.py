"""The forms in which a secret may turn up in text; pure functions of its value."""

from __future__ import annotations

from collections.abc import Iterator

import orjson

_LINE_CHARACTERS = 16
"""Shorter lines of a multi-line secret are not looked for on their own."""

# What common URL encoders leave alone beside letters, digits and `_.-~`: Python's default, JavaScript's
# encodeURIComponent and encodeURI.
_SAFE = ("", "/", "!'()*", "!'()*;,/?:@&=+$#")

# Every encoder leaves these alone.
_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-")


def encodings(value: str) -> Iterator[tuple[str, str]]:
    """Pairs of a form's name and the text that a secret has in it, each text once; the secret itself comes
    first and has the name ``."""
    seen: set[str] = set()
    for form, text in _all(value):
        if text and text not in seen:
            seen.add(text)
            yield form, text


def loose_forms(value: str) -> Iterator[tuple[str, str]]:
    """Texts of a secret that may stand in pieces, each with what it is written in: as lines of text or in some code."""
    yield value, "lines"
    yield value[::-1], "lines"
    try:
        data = value.encode()
    except UnicodeEncodeError:
        return
    yield data.hex(), "hex"
    yield data.hex().upper(), "hex"
    for offset in range(3):
        yield _base64(data, offset), "base64"
    for offset in range(5):
        yield _base32(data, offset), "base32"


def _all(value: str) -> Iterator[tuple[str, str]]:
    yield "", value
    yield from _in_host(value)
    if not _PLAIN.issuperset(value):
        yield from _escaped(value)
    try:
        data = value.encode()
    except UnicodeEncodeError:  # half a surrogate pair: bytes of an environment that are not text
        return
    yield "hex", data.hex()
    yield "HEX", data.hex().upper()
    for offset in range(3):
        text = _base64(data, offset)
        yield f"base64-{offset}", text
        yield f"base64url-{offset}", text.replace("+", "-").replace("/", "_")
    yield "reversed", value[::-1]
    for offset in range(5):
        yield f"base32-{offset}", _base32(data, offset)


def _in_host(value: str) -> Iterator[tuple[str, str]]:
    """Forms that a value has as part of a host name: in lower case, and in ASCII if it is a label of its own."""
    yield "lower", value.lower()
    if not value.isascii():
        try:
            yield "idna", value.encode("idna").decode("ascii")
        except UnicodeError:  # too long for a label, or of letters that no host name has
            return


def _escaped(value: str) -> Iterator[tuple[str, str]]:
    """Forms that differ from the value only where it holds unusual characters."""
    # lazy: most secrets have no such characters
    import json

    yield "repr", repr(value)[1:-1]
    yield "shell", value.replace("'", "'\\''")
    yield "shell-2", value.replace("'", "'\"'\"'")
    yield "sql", value.replace("'", "''")
    yield "csv", value.replace('"', '""')
    ascii_json = json.dumps(value)[1:-1]
    yield "json-ascii", ascii_json
    yield "json-ascii-2", json.dumps(ascii_json)[1:-1]
    for number, line in enumerate(value.splitlines() if "\n" in value or "\r" in value else (), 1):
        line = line.strip()
        if len(line) >= _LINE_CHARACTERS and not line.startswith("-----"):
            yield f"line-{number}", line
    try:
        json_text = orjson.dumps(value)[1:-1].decode()
    except TypeError:
        return
    yield "json", json_text
    yield "json-2", orjson.dumps(json_text)[1:-1].decode()
    yield from _urls(value)


def _urls(value: str) -> Iterator[tuple[str, str]]:
    # lazy: only needed once there is a secret
    from urllib.parse import quote

    for number, safe in enumerate(_SAFE):
        upper = quote(value, safe=safe)
        for form, text in ((f"url-{number}", upper), (f"form-{number}", upper.replace("%20", "+"))):
            yield form, text
            yield f"{form}-lower", _lower_escapes(text)


def _lower_escapes(text: str) -> str:
    first, *rest = text.split("%")
    return "%".join([first, *(part[:2].lower() + part[2:] for part in rest)])


def _base64(data: bytes, offset: int) -> str:
    """The part of base64 text that depends on `data` alone when `offset` bytes (mod 3) stand before it."""
    # lazy: only needed once there is a secret
    from binascii import b2a_base64

    text = b2a_base64(b"\0" * offset + data, newline=False).decode()
    return text[(8 * offset + 5) // 6 : 8 * (offset + len(data)) // 6]


def _base32(data: bytes, offset: int) -> str:
    """The same for base32, whose groups have five bytes."""
    # lazy: only needed once there is a secret
    from base64 import b32encode

    text = b32encode(b"\0" * offset + data).decode()
    return text[(8 * offset + 4) // 5 : 8 * (offset + len(data)) // 5]
