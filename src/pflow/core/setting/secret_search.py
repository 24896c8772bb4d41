"""Finds secrets in text, in whatever form they stand there; says where, and changes nothing.

Two stages keep it fast. Text is first squeezed to its letters and digits, where every form of a secret is one short
string, wherever lines were broken or separators put in between; most text ends there. What may hold a secret is then
read closely, so that nothing else is taken for one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple
from urllib.parse import unquote_to_bytes

import orjson

MIN_SECRET = 8
"""Characters; a shorter secret is only replaced where it is a whole string."""

_LETTERS = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_DIGITS = b"0123456789"
# `\n`, `\r`, `\t` and `\x` may stand between the parts of a secret, so their letters do not count.
_KEPT = frozenset(_LETTERS + _DIGITS) - frozenset(b"nrtx")
_DROPPED = bytes(byte for byte in range(256) if byte not in _KEPT)
_NOT_BASE32 = bytes(byte for byte in range(256) if byte not in b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567")
_NUL = b"\\u0000"

_PERCENT = rb"%[0-9A-Fa-f]{2}"
_ENTITY = rb"&(?:#[0-9]{1,7}|#[xX][0-9A-Fa-f]{1,6}|amp|lt|gt|quot|apos);"
_NAMED = {"amp": "&", "lt": "<", "gt": ">", "quot": '"', "apos": "'"}
_ESCAPE = "(?:" + _PERCENT.decode() + "|" + _ENTITY.decode() + ")"
_BREAK = r"\\+[nrtx]"
_DECODINGS = 2
"""How often text may have been encoded for a URL."""

_URL_ALPHABET = str.maketrans("-_", "+/")


class Form(NamedTuple):
    """Texts that a secret may have, all the same once squeezed, and how to read text that holds one in pieces."""

    needle: str
    texts: tuple[str, ...]
    core: str = ""
    reading: str = ""


class Span(NamedTuple):
    """Where a secret stands."""

    start: int
    end: int
    secret: Secret


class Secret:
    """A value to be looked for. `kept`: it is not one that a person gives again, so what is stored must hold it."""

    def __init__(self, name: str, value: str, *, kept: bool = False) -> None:
        self.name = name
        self.value = value
        self.kept = kept
        self.is_short = len(value) < MIN_SECRET

    @cached_property
    def texts(self) -> dict[str, str]:
        """Names of forms by the text that the secret has in each."""
        if self.is_short:
            return {self.value: ""}
        from pflow.core.setting.secret_encoding import encodings  # lazy: many homes have no secrets

        return {text: form for form, text in encodings(self.value)}

    @cached_property
    def forms(self) -> tuple[Form, ...]:
        """What is looked for, beside escapes of URLs and HTML."""
        from pflow.core.setting.secret_encoding import loose_forms  # lazy: many homes have no secrets

        found = [Form(squeeze(_encoded(core)), (), core, reading) for core, reading in loose_forms(self.value)]
        exact: dict[str, list[str]] = {}
        for text, form in self.texts.items():
            if "%" not in text or not form.startswith(("url-", "form-")):  # those are found by undoing the escapes
                for needle in {squeeze(_encoded(text)), squeeze(_json(text))}:
                    exact.setdefault(needle, []).append(text)
        found = [form._replace(texts=tuple(exact.pop(form.needle, ()))) for form in found]
        return (*found, *(Form(needle, tuple(texts)) for needle, texts in exact.items()))

    @cached_property
    def quoted(self) -> bytes:
        """The secret as a whole string of JSON."""
        return b'"%b"' % _json(self.value)

    @cached_property
    def plain(self) -> tuple[str, ...]:
        """What undoing escapes gives, one character for a byte; forms write `+` for a space."""
        bare = _encoded(self.value).decode("latin-1")
        return tuple(dict.fromkeys((bare, bare.replace(" ", "+"))))

    @cached_property
    def plain_needles(self) -> tuple[str, ...]:
        """The same, squeezed."""
        return tuple(dict.fromkeys(squeeze(text.encode("latin-1")) for text in self.plain))


class Search:
    """Looks for any of some secrets."""

    def __init__(self, secrets: Iterable[Secret]) -> None:
        self.secrets = tuple(secrets)
        self._long = [secret for secret in self.secrets if not secret.is_short]
        self._quoted = tuple(secret.quoted for secret in self.secrets if secret.is_short)
        forms = [form for secret in self._long for form in secret.forms]
        self._needles = tuple(dict.fromkeys(form.needle for form in forms if form.reading != "base32"))
        self._base32 = tuple(dict.fromkeys(_upper(form.core.encode()) for form in forms if form.reading == "base32"))
        self._plain = tuple(dict.fromkeys(needle for secret in self._long for needle in secret.plain_needles))

    def may_hold(self, data: bytes) -> bool:
        """Whether encoded JSON may hold a secret; never false if it does."""
        if any(map(data.__contains__, self._quoted)):
            return True
        if not self._long:
            return False
        return (
            any(map(squeeze(data).__contains__, self._needles))
            or any(map(_upper(data).__contains__, self._base32))
            or any(any(map(squeeze(plain).__contains__, self._plain)) for plain in _unescaped(data))
            or (_NUL in data and self.may_hold(data.replace(_NUL, b"")))
        )

    def narrowed(self, data: bytes) -> Search:
        """A search for those secrets only that encoded JSON may hold."""
        return Search(secret for secret in self.secrets if Search((secret,)).may_hold(data))

    def spans(self, text: str) -> list[Span]:
        """Where secrets stand in text, in order. Spans that overlap are one, of the longest secret among them."""
        if len(text) < MIN_SECRET or not self._long:
            return []
        data = _encoded(text)
        squeezed, upper, views = squeeze(data), _upper(data), [squeeze(view) for view in _unescaped(data)]
        found: list[Span] = []
        for secret in self._long:
            for form in secret.forms:
                is_hit = _upper(form.core.encode()) in upper if form.reading == "base32" else form.needle in squeezed
                if is_hit:
                    found.extend(Span(start, end, secret) for start, end in _find(text, form))
            if any(needle in view for view in views for needle in secret.plain_needles):
                found.extend(Span(start, end, secret) for start, end in _find_escaped(text, secret.plain))
        return _merged(found)


def squeeze(data: bytes) -> str:
    """The letters and digits of some text, without those that escapes are written with."""
    return data.translate(None, _DROPPED).decode("ascii")


def _upper(data: bytes) -> str:
    return data.translate(None, _NOT_BASE32).decode("ascii")


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _json(text: str) -> bytes:
    try:
        return orjson.dumps(text)[1:-1]
    except TypeError:  # half a surrogate pair, which JSON cannot hold, nor any UTF-8
        return b"\xff"


def _unescaped(data: bytes) -> Iterator[bytes]:
    """What the text may be without escapes of URLs and HTML; nothing if it has none."""
    if b"&" in data and re.search(_ENTITY, data):
        yield re.sub(_ENTITY, lambda found: _encoded(_meaning(found[0].decode())), data)
    if b"%" in data and re.search(_PERCENT, data):
        for _ in range(_DECODINGS):
            data = unquote_to_bytes(data)
            yield data


def _meaning(escape: str) -> str:
    if escape.startswith("%"):
        return chr(int(escape[1:], 16))
    body = escape[1:-1]
    if not body.startswith("#"):
        return _NAMED[body]
    code = int(body[2:], 16) if body[1] in "xX" else int(body[1:])
    return chr(code) if code < 0x110000 else ""


def _find(text: str, form: Form) -> list[tuple[int, int]]:
    """Every place where a form stands as it is, else in pieces."""
    found = [span for exact in form.texts for span in _occurrences(text, exact)]
    if not form.reading:
        return found
    rest = _without(text, found)
    if form.needle not in squeeze(_encoded(rest)):
        return found
    readings = [rest]
    if "\\" in rest:
        readings.append(re.sub(_BREAK, lambda escape: "\n" * len(escape[0]), rest))
    for reading in readings:
        found.extend(_pieces(reading, form))
    return found


def _without(text: str, spans: list[tuple[int, int]]) -> str:
    """The text with dots in place of what was found in it."""
    parts: list[str] = []
    at = 0
    for start, end in sorted(spans):
        if end > at:
            parts += (text[at:start], "." * (end - max(start, at)))
            at = end
    return "".join([*parts, text[at:]])


def _pieces(text: str, form: Form) -> Iterator[tuple[int, int]]:
    """Where a form stands with line breaks or separators in between."""
    core = form.core
    is_lines = form.reading == "lines"
    if is_lines:
        core = "".join(core.split())
        places = [place for place, char in enumerate(text) if not (char.isspace() or char == "\0")]
    else:
        if form.reading == "base64":
            text = text.translate(_URL_ALPHABET)
        symbols = "+/" if form.reading == "base64" else ""
        places = [place for place, char in enumerate(text) if char.isalnum() or char in symbols]
    if len(core) < MIN_SECRET:
        return
    kept = "".join([text[place] for place in places])
    for first, end in _occurrences(kept, core):
        inside = places[first:end]
        if not is_lines or _is_broken(text, inside, form.core):
            yield inside[0], inside[-1] + 1


def _is_broken(text: str, places: Sequence[int], core: str) -> bool:
    """Whether, beside a secret's own spaces, only line breaks or the zeros of UTF-16 stand between its characters."""
    own, at = set(), 0
    for word in core.split():
        at += len(word)
        own.add(at)
    for number, (left, right) in enumerate(pairwise(places), 1):
        gap = text[left + 1 : right]
        if gap and number not in own and not ("\n" in gap or "\r" in gap or gap.strip("\0") == ""):
            return False
    return True


def _find_escaped(text: str, plain: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Where text holds a secret once escapes of URLs or HTML are undone."""
    chars = _encoded(text).decode("latin-1")
    is_ascii = len(chars) == len(text)
    whole, starts, ends = chars, list(range(len(chars))), list(range(1, len(chars) + 1))
    for _ in range(_DECODINGS):
        chars, starts, ends = _undo(chars, starts, ends)
        for wanted in plain:
            for first, end in _occurrences(chars, wanted):
                start, stop = starts[first], ends[end - 1]
                if is_ascii:
                    yield start, stop
                else:
                    before = len(whole[:start].encode("latin-1").decode("utf-8", "surrogatepass"))
                    inside = len(whole[start:stop].encode("latin-1").decode("utf-8", "surrogatepass"))
                    yield before, before + inside


def _undo(chars: str, starts: list[int], ends: list[int]) -> tuple[str, list[int], list[int]]:
    """Text with its escapes undone once, and where each character came from."""
    texts: list[str] = []
    new_starts: list[int] = []
    new_ends: list[int] = []
    at = 0
    for escape in re.finditer(_ESCAPE, chars):
        first, end = escape.span()
        meaning = _encoded(_meaning(escape[0])).decode("latin-1") if escape[0][0] == "&" else _meaning(escape[0])
        texts += (chars[at:first], meaning)
        new_starts += (*starts[at:first], *[starts[first]] * len(meaning))
        new_ends += (*ends[at:first], *[ends[end - 1]] * len(meaning))
        at = end
    texts.append(chars[at:])
    return "".join(texts), new_starts + starts[at:], new_ends + ends[at:]


def _occurrences(text: str, wanted: str) -> Iterator[tuple[int, int]]:
    at = text.find(wanted)
    while at >= 0:
        yield at, at + len(wanted)
        at = text.find(wanted, at + len(wanted))


def _merged(spans: list[Span]) -> list[Span]:
    merged: list[Span] = []
    longest = 0
    for span in sorted(spans, key=lambda span: (span.start, -span.end)):
        if merged and span.start < merged[-1].end:
            last = merged[-1]
            secret = last.secret
            if span.end - span.start > longest:
                secret, longest = span.secret, span.end - span.start
            merged[-1] = Span(last.start, max(last.end, span.end), secret)
        else:
            merged.append(span)
            longest = span.end - span.start
    return merged
