"""Keeps secrets out of everything that is stored or shown, by value; the only place that knows how.

A secret of eight or more characters is replaced wherever it stands: as it is, as JSON, Python, URLs, hex and
base64 write it, and long lines of a multi-line secret one by one. A shorter one would take ordinary words
with it, so it is replaced only where a whole string (not a key, not a number) equals it.

Encoded JSON can be restored exactly once the secret is known again: a marker names the secret and the form
that it replaced, and text that looks like a marker is escaped, so that no data can ask for a secret.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from operator import is_
from typing import TypeVar

import orjson

from pflow.core.frozen import Frozen
from pflow.core.setting.secret_encoding import encodings

F = TypeVar("F", bound=Frozen)

MIN_SECRET = 8
"""Characters; a shorter secret is only replaced where it is a whole string."""

_OPEN = "«secret"
_OPEN_BYTES = _OPEN.encode()
_CLOSE = "»"
_ESCAPE = f"{_OPEN}!"
_NUMBER = f"{_OPEN}#{_CLOSE}"
_SMALL_BYTES = 4096
_PART = "«part of a secret»"
_PART_CHARACTERS = 6
"""Of a secret that was cut; fewer could be ordinary text."""

_CUTS = ("…", "'", '"', "`")
_DIGITS = frozenset("0123456789+-.eE")


class Redactor:
    """Replaces the secrets it knows. Cheap where there is none to replace.

    `unknown` collects the names of secrets that `restore` met and did not know.
    """

    def __init__(self, secrets: Mapping[str, str] | None = None) -> None:
        self.unknown: set[str] = set()
        self._secrets: dict[str, str] = {}
        self._patterns: list[_Pattern] | None = None
        self._needles: tuple[bytes, ...] = ()
        self._words: tuple[str, ...] = ()
        self._whole: dict[str, str] = {}
        for name, value in (secrets or {}).items():
            self.add(name, value)

    def add(self, name: str, value: str) -> None:
        """Know one more secret from now on; an empty one is ignored."""
        free, number = name, 1
        while free in self._secrets:
            if self._secrets[free] == value:
                return
            number += 1
            free = f"{name}#{number}"
        if value:
            self._secrets[free] = value
            self._patterns = None

    def text(self, text: str) -> str:
        """Free text to be shown: each secret, in any form, becomes `«secret:NAME»`."""
        return _Mask(self._compiled(), self._whole, exact=False).text(text)

    def value(self, value: object) -> object:
        """A result or an error to be shown; the same object where nothing is secret."""
        return _Mask(self._compiled(), self._whole, exact=False).walk(value)

    def ends(self, value: object) -> object:
        """An error to be stored or shown, whose strings may have been cut: the rest of a cut secret is replaced.

        A cut is the end of a string, an ellipsis or a quote. Whole secrets are left to `value` and `data`.
        """
        return _Ends(self._compiled(), self._whole).walk(value)

    def report(self, report: F) -> F:
        """One of our values to be shown, without secrets or parts of them."""
        shown = self.value(self.ends(report))
        assert isinstance(shown, type(report))
        return shown

    def data(self, data: bytes) -> bytes:
        """Encoded JSON (as orjson writes it) to be stored; the same object where nothing is secret."""
        patterns = self._compiled()
        if not self._is_hit(data):
            return data
        hits = [pattern for pattern in patterns if pattern.needle in data]
        return orjson.dumps(_Mask(hits, self._whole, exact=True).walk(orjson.loads(data)))

    def restore(self, data: bytes) -> bytes:
        """What `data` was given, as far as the secrets in it are known."""
        if data.isascii() or _OPEN_BYTES not in data:
            return data
        return orjson.dumps(_unmask(orjson.loads(data), _forms(self._secrets), self.unknown))

    def _is_hit(self, data: bytes) -> bool:
        """Whether encoded JSON may hold a secret, or text that looks like a marker."""
        if len(data) < _SMALL_BYTES and data.isascii():
            # Searching in str costs a third of searching in bytes, which counts for the many small events.
            return any(map(data.decode().__contains__, self._words))
        if any(map(data.__contains__, self._needles)):
            return True
        return not data.isascii() and _OPEN_BYTES in data

    def _compiled(self) -> list[_Pattern]:
        patterns = self._patterns
        if patterns is None:
            found: dict[str, _Pattern] = {}
            whole: dict[str, str] = {}
            for name, value in self._secrets.items():
                label = _label(name, self._secrets.values())
                whole.setdefault(value, label)
                for form, text in _forms_of(value):
                    found.setdefault(text, _Pattern(text, label, form))
            patterns = sorted(found.values(), key=lambda pattern: -len(pattern.text))
            self._needles = tuple(pattern.needle for pattern in patterns)
            self._words = tuple(needle.decode() for needle in self._needles if needle.isascii())
            self._whole, self._patterns = whole, patterns
        return patterns


class _Pattern:
    """One form of one secret: `text` in plain text, `needle` in encoded JSON."""

    __slots__ = ("form", "label", "needle", "short", "text")

    def __init__(self, text: str, label: str, form: str) -> None:
        self.text = text
        self.label = label
        self.form = form
        self.short = len(text) < MIN_SECRET
        try:
            quoted = orjson.dumps(text)
        except TypeError:  # half a surrogate pair, which JSON cannot hold, nor any UTF-8
            quoted = b'"\xff"'
        self.needle = quoted if self.short else quoted[1:-1]


class _Mask:
    """Replaces patterns in values: `exact` tells forms apart and escapes what looks like a marker."""

    __slots__ = ("_exact", "_fields", "_long", "_numeric", "_texts", "_whole")

    def __init__(self, patterns: Iterable[_Pattern], whole: Mapping[str, str], *, exact: bool) -> None:
        self._long = [pattern for pattern in patterns if not pattern.short]
        self._texts = [pattern.text for pattern in self._long] + ([_OPEN] if exact else [])
        self._numeric = any(_DIGITS.issuperset(pattern.text) for pattern in self._long)
        self._whole = whole
        self._exact = exact
        # A journal whose own field names were masked could not be read without the secret.
        self._fields = _event_fields() if exact else frozenset()

    def text(self, text: str) -> str:
        label = self._whole.get(text)
        return self._inside(text) if label is None else f"{_OPEN}:{label}{_CLOSE}"

    def walk(self, value: object) -> object:
        """The value without secrets; parts that hold none are shared, not copied."""
        if isinstance(value, str):
            shown = self.text(value)
            return value if shown == value else shown  # the value itself may be more than text: advice
        if value is None or isinstance(value, bool):
            return value
        if isinstance(value, Frozen):
            parts = {name: getattr(value, name) for name in value._fields}
            shown_parts = {name: self._part(part) for name, part in parts.items()}
            return value if _same(shown_parts.values(), parts.values()) else value._replace(**shown_parts)
        if isinstance(value, Mapping):
            masked = {self._key(key): self.walk(item) for key, item in value.items()}
            return value if _same(masked.values(), value.values()) and _same(masked, value) else masked
        if isinstance(value, list | tuple):
            items = [self.walk(item) for item in value]
            return value if _same(items, value) else items
        if isinstance(value, bytes | bytearray):
            text = value.decode(errors="replace")
            masked_text = self.text(text)
            return value if masked_text == text else masked_text
        if isinstance(value, int | float):
            return self._number(value) if self._numeric else value
        if fields := getattr(value, "__dataclass_fields__", None):
            # Not JSON, but JSON writers take it for an object with these fields.
            before = {name: getattr(value, name) for name in fields}
            after = self.walk(before)
            return value if after is before else after
        return value

    def _part(self, part: object) -> object:
        """A field of one of our values, which stays a tuple if it is one."""
        masked = self.walk(part)
        return tuple(masked) if isinstance(part, tuple) and isinstance(masked, list) else masked

    def _inside(self, text: str) -> str:
        for found in self._texts:
            if found in text:
                break
        else:
            return text
        hits = [pattern for pattern in self._long if pattern.text in text]
        # Even places hold text that may still hide a secret, odd ones what replaced one.
        pieces = [text]
        for hit in hits:
            form = f":{hit.form}" if self._exact and hit.form else ""
            pieces = _split(pieces, hit.text, f"{_OPEN}:{hit.label}{form}{_CLOSE}")
        if self._exact:
            pieces = _split(pieces, _OPEN, _ESCAPE)
        return "".join(pieces)

    def _key(self, key: object) -> object:
        return self._inside(key) if isinstance(key, str) and key not in self._fields else key

    def _number(self, number: float) -> object:
        text = orjson.dumps(number).decode()
        masked = self._inside(text)
        if masked == text:
            return number
        return f"{_NUMBER}{masked}" if self._exact else masked


class _Ends(_Mask):
    """Replaces the rests of cut patterns: their last characters behind a cut, their first before one."""

    __slots__ = ()

    def __init__(self, patterns: Iterable[_Pattern], whole: Mapping[str, str]) -> None:
        super().__init__(patterns, whole, exact=False)
        self._texts = [pattern.text for pattern in self._long]
        self._numeric = False

    def text(self, text: str) -> str:
        return self._inside(text)

    def _inside(self, text: str) -> str:
        text = self._trim(text)
        for cut in _CUTS:
            if cut in text:
                text = cut.join(map(self._trim, text.split(cut)))
        return text

    def _trim(self, text: str) -> str:
        if not any(map(text.startswith, self._texts)):
            found = max((_rest(text, secret) for secret in self._texts), default=0)
            text = f"{_PART}{text[found:]}" if found else text
        if not any(map(text.endswith, self._texts)):
            found = max((_rest(text[::-1], secret[::-1]) for secret in self._texts), default=0)
            text = f"{text[:-found]}{_PART}" if found else text
        return text


def _rest(text: str, secret: str) -> int:
    """How many characters of the end of a secret a string begins with; of its middle, if it holds nothing else."""
    if _PART_CHARACTERS <= len(text) < len(secret) and text in secret:
        return len(text)
    at = secret.find(text[:_PART_CHARACTERS], 1) if len(text) >= _PART_CHARACTERS else -1
    while at > 0:
        if text.startswith(secret[at:]):
            return len(secret) - at
        at = secret.find(text[:_PART_CHARACTERS], at + 1)
    return 0


def _unmask(value: object, forms: Mapping[str, str], unknown: set[str]) -> object:
    if isinstance(value, str):
        if value.startswith(_NUMBER):
            text = _unmask_text(value[len(_NUMBER) :], forms, unknown)
            # While the secret is unknown it stays a string, to be restored another time.
            return value if _OPEN in text else orjson.loads(text)
        return _unmask_text(value, forms, unknown)
    if isinstance(value, dict):
        return {_unmask_text(key, forms, unknown): _unmask(item, forms, unknown) for key, item in value.items()}
    if isinstance(value, list):
        return [_unmask(item, forms, unknown) for item in value]
    return value


def _unmask_text(text: str, forms: Mapping[str, str], unknown: set[str]) -> str:
    first, *rest = text.split(_OPEN)
    restored = [first]
    for piece in rest:
        label, close, after = piece[1:].partition(_CLOSE)
        if piece.startswith("!"):
            restored += (_OPEN, piece[1:])
        elif piece.startswith(":") and close and label in forms:
            restored += (forms[label], after)
        else:
            restored += (_OPEN, piece)
            if piece.startswith(":") and close:
                unknown.add(_name(label))
    return "".join(restored)


def _forms(secrets: Mapping[str, str]) -> dict[str, str]:
    """What each marker stands for."""
    forms: dict[str, str] = {}
    for name, value in secrets.items():
        # Which of the two labels was used depends on the other secrets that were known then.
        for label in (_plain_label(name), _hashed_label(name)):
            for form, text in _forms_of(value):
                forms[f"{label}:{form}" if form else label] = text
    return forms


def _forms_of(value: str) -> Iterable[tuple[str, str]]:
    return (("", value),) if len(value) < MIN_SECRET else encodings(value)


def _same(new: Iterable[object], old: Iterable[object]) -> bool:
    return all(map(is_, new, old))


def _split(pieces: list[str], pattern: str, tag: str) -> list[str]:
    result: list[str] = []
    for index, piece in enumerate(pieces):
        if index % 2:
            result.append(piece)
            continue
        first, *rest = piece.split(pattern)
        result.append(first)
        for part in rest:
            result += (tag, part)
    return result


@cache
def _event_fields() -> frozenset[str]:
    # lazy: only reached when a value does hold a secret
    from pflow.core.event import EVENTS

    return frozenset(name for event in EVENTS.values() for name in event._fields)


def _label(name: str, values: Iterable[str]) -> str:
    """How a marker names a secret: by a hash if the name would give a secret away."""
    label = _plain_label(name)
    marker = f"{_OPEN}:{label}{_CLOSE}"
    given_away = any(len(value) >= MIN_SECRET and value in marker for value in values)
    return _hashed_label(name) if given_away else label


def _plain_label(name: str) -> str:
    # lazy: only needed once there is a secret
    from urllib.parse import quote

    return quote(name, safe="", errors="surrogatepass")


def _name(label: str) -> str:
    # lazy: only needed when a secret is not known any more
    from urllib.parse import unquote

    return unquote(label.partition(":")[0])


def _hashed_label(name: str) -> str:
    # lazy: only needed once there is a secret
    from hashlib import blake2b

    return "~" + blake2b(name.encode("utf-8", "surrogatepass"), digest_size=6).hexdigest()
