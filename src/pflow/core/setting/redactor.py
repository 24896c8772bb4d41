"""Keeps secrets out of everything that is stored or shown, by value; the only place that knows how.

A secret of eight or more characters is replaced wherever it stands: as it is, reversed, as JSON, Python, URLs, HTML,
hex, base64 and base32 write it, in one piece or broken into lines, and long lines of a multi-line secret one by one.
A shorter one would take ordinary words with it, so it is replaced only where a whole string (not a key, not a number)
equals it.

Encoded JSON can be restored exactly once the secret is known again: a marker names the secret, its fingerprint and the
form that it replaced, so that no other value is ever put in its place. Text that looks like a marker is escaped: data
cannot ask for a secret. A secret that nobody would give again (`keep`) is restored with the key of the home.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cache
from operator import is_
from typing import NamedTuple, TypeVar

import orjson

from pflow.core.frozen import Frozen
from pflow.core.setting.secret_seal import Seal, fingerprint
from pflow.core.setting.secret_search import Search, Secret

F = TypeVar("F", bound=Frozen | str | Mapping[str, object])

_OPEN = "«secret"
_OPEN_BYTES = _OPEN.encode()
_CLOSE = "»"
_ESCAPE = f"{_OPEN}!"
_NUMBER = f"{_OPEN}#{_CLOSE}"
_SEALED = "*"
"""Before text that the secret itself opens: a form that has no name."""

_KEPT = "+"
"""Before text that the key of the home opens."""

_PART = "«part of a secret»"
_PART_CHARACTERS = 6
"""Of a secret that was cut; fewer could be ordinary text."""

_CUTS = ("…", "'", '"', "`")
_DIGITS = frozenset("0123456789+-.eE")


class Restored(NamedTuple):
    """A value with its secrets, and the names of those that are not known now."""

    value: object
    missing: frozenset[str]


class Redactor:
    """Replaces the secrets it knows. Cheap where there is none to replace. `key` is that of the home."""

    def __init__(self, secrets: Mapping[str, str] | None = None, *, key: Callable[[], bytes] | None = None) -> None:
        self._secrets: dict[str, Secret] = {}
        self._names: dict[tuple[str, str], Secret] = {}
        self._compiled: _Known | None = None
        self._seal = Seal() if key is None else Seal(key)
        for name, value in (secrets or {}).items():
            self.add(name, value)

    def add(self, name: str, value: str) -> None:
        """Know one more secret from now on; an empty one is ignored."""
        self._add(name, value, kept=False)

    def keep(self, name: str, value: str) -> None:
        """Know a secret that came up in a run, and that nobody is asked for when the run goes on."""
        self._add(name, value, kept=True)

    def text(self, text: str) -> str:
        """Free text to be shown: each secret, in any form, becomes `«secret:NAME»`."""
        return _Mask(self._known).text(text)

    def value(self, value: object) -> object:
        """A result or an error to be shown; the same object where nothing is secret."""
        known = self._known
        try:
            data = orjson.dumps(value, _fields_of, orjson.OPT_NON_STR_KEYS)
        except (TypeError, ValueError):  # not JSON: read closely instead
            return _Mask(known).walk(value)
        return _Mask(known.narrowed(data)).walk(value) if known.search.may_hold(data) else value

    def hidden(self, text: str) -> list[tuple[str, str]]:
        """Every marker that `text` puts into a string, in order, with what it stands for there."""
        mask = _Mask(self._known)
        spans = self._known.search.spans(text)
        found = [(span.secret, text[span.start : span.end]) for span in spans]
        return [(mask._marker(secret, part), part) for secret, part in found]

    def names_in(self, text: str) -> tuple[str, ...]:
        """The secrets that text holds, without short ones."""
        return tuple(dict.fromkeys(span.secret.name for span in self._known.search.spans(text)))

    def ends(self, value: object) -> object:
        """An error to be stored or shown, whose strings may have been cut: the rest of a cut secret is replaced.

        A cut is the end of a string, an ellipsis or a quote. Whole secrets are left to `value` and `data`.
        """
        return _Ends(self._known).walk(value)

    def report(self, report: F) -> F:
        """A message or one of our values to be shown, without secrets or parts of them."""
        shown = self.value(self.ends(report))
        assert isinstance(shown, type(report))
        return shown

    def data(self, data: bytes) -> bytes:
        """Encoded JSON (as orjson writes it) to be stored; the same object where nothing is secret."""
        known = self._compiled or self._known
        if not (known.search.secrets and known.search.may_hold(data)) and not has_marker(data):
            return data
        value = orjson.loads(data)
        masked = _Exact(known.narrowed(data), self._seal).walk(value)
        return data if masked is value else orjson.dumps(masked)

    def restore(self, value: object) -> Restored:
        """What was given to `data`, decoded, as far as the secrets in it are known."""
        missing: set[str] = set()
        restored = _unmask(value, lambda marker: self._meaning(marker, missing))
        return Restored(restored, frozenset(missing))

    def _add(self, name: str, value: str, *, kept: bool) -> None:
        known = self._names.get((name, value))
        if not value or (known is not None and (kept or not known.kept)):
            return
        free, number = name, 1
        while free in self._secrets and self._secrets[free].value != value:
            number += 1
            free = f"{name}#{number}"
        self._secrets[free] = self._names[name, value] = Secret(free, value, kept=kept)
        self._compiled = None

    @property
    def _known(self) -> _Known:
        if self._compiled is None:
            self._compiled = _Known(self._secrets.values())
        return self._compiled

    def _meaning(self, marker: str, missing: set[str]) -> str | None:
        """What the inside of a marker stands for; None if it is not known."""
        label, _, form = marker.partition(":")
        found = self._seal.reveal(form[1:]) if form.startswith(_KEPT) else self._known.form(label, form)
        if found is None:
            missing.add(_name(label))
        return found


class _Known:
    """Secrets as masks need them."""

    def __init__(self, secrets: Iterable[Secret]) -> None:
        # The first name of a value counts; one that somebody gives again comes before what is only kept.
        self._secrets = sorted(secrets, key=lambda secret: secret.kept)
        self.whole: dict[str, Secret] = {}
        for secret in self._secrets:
            self.whole.setdefault(secret.value, secret)
        self.search = Search(self.whole.values())
        self._marks: dict[str, Secret] | None = None

    def narrowed(self, data: bytes) -> _Known:
        """Those only that encoded JSON may hold."""
        found = self.search.narrowed(data)
        known = _Known(found.secrets)
        known._secrets = self._secrets  # labels depend on all of them
        return known

    def label(self, secret: Secret) -> str:
        """How a marker names a secret: by a hash if the name would give a secret away."""
        label = _plain_label(secret.name)
        marker = f"{_OPEN}:{label}{_CLOSE}"
        given_away = any(not other.is_short and other.value in marker for other in self._secrets)
        return _hashed_label(secret.name) if given_away else label

    def form(self, label: str, form: str) -> str | None:
        """The text that a marker stands for."""
        marks = self._marks
        if marks is None:
            marks = self._marks = {}
            for secret in reversed(self._secrets):
                # Without a fingerprint, as earlier releases wrote it, the name has to do.
                for mark in (_plain_label(secret.name), _hashed_label(secret.name), fingerprint(secret.value)):
                    marks[mark] = secret
        name, _, print_ = label.partition("@")
        found = marks.get(print_ or name)
        if found is None:
            return None
        if form.startswith(_SEALED):
            return Seal.of(found.value).reveal(form[1:])
        return next((text for text, known in found.texts.items() if known == form), None)


class _Mask:
    """Replaces secrets in values to be shown."""

    def __init__(self, known: _Known) -> None:
        self._known = known
        self._numeric = any(_DIGITS.issuperset(value) for value, secret in known.whole.items() if not secret.is_short)

    def text(self, text: str) -> str:
        secret = self._known.whole.get(text)
        return self._inside(text) if secret is None else self._marker(secret, text)

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
        parts: list[str] = []
        at = 0
        for span in self._known.search.spans(text):
            parts += (self._between(text[at : span.start]), self._marker(span.secret, text[span.start : span.end]))
            at = span.end
        return "".join([*parts, self._between(text[at:])])

    def _between(self, text: str) -> str:
        return text

    def _marker(self, secret: Secret, text: str) -> str:
        return f"{_OPEN}:{self._known.label(secret)}{_CLOSE}"

    def _key(self, key: object) -> object:
        return self._inside(key) if isinstance(key, str) else key

    def _number(self, number: float) -> object:
        text = orjson.dumps(number).decode()
        masked = self._inside(text)
        return number if masked == text else masked


class _Exact(_Mask):
    """Replaces secrets in what is stored: markers say which text they replaced, and what looks like one is escaped."""

    def __init__(self, known: _Known, seal: Seal) -> None:
        super().__init__(known)
        self._seal = seal
        # A journal whose own field names were masked could not be read without the secret.
        self._fields = _event_fields()

    def _between(self, text: str) -> str:
        return text.replace(_OPEN, _ESCAPE)

    def _marker(self, secret: Secret, text: str) -> str:
        label = self._known.label(secret)
        if secret.kept:
            return f"{_OPEN}:{label}:{_KEPT}{self._seal.hide(text)}{_CLOSE}"
        form = secret.texts.get(text)
        if form is None:
            form = _SEALED + Seal.of(secret.value).hide(text)
        return f"{_OPEN}:{label}@{fingerprint(secret.value)}{form and ':'}{form}{_CLOSE}"

    def _key(self, key: object) -> object:
        return key if key in self._fields else super()._key(key)

    def _number(self, number: float) -> object:
        masked = super()._number(number)
        return f"{_NUMBER}{masked}" if isinstance(masked, str) else number


class _Ends(_Mask):
    """Replaces the rests of cut secrets: their last characters behind a cut, their first before one."""

    def __init__(self, known: _Known) -> None:
        super().__init__(known)
        long = [secret for secret in known.whole.values() if not secret.is_short]
        self._texts = [text for secret in long for text in secret.texts]
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


def has_marker(data: bytes) -> bool:
    """Whether encoded JSON holds a marker, or text that looks like one."""
    return not data.isascii() and _OPEN_BYTES in data


def is_marked(text: str) -> bool:
    """Whether a string holds what a secret was replaced with, or text that looks like it."""
    return _OPEN in text


def show_markers(value: object) -> object:
    """Stored JSON as it is shown: markers say which secret they stand for and no more."""
    return _unmask(value, lambda marker: f"{_OPEN}:{marker.partition(':')[0].partition('@')[0]}{_CLOSE}", numbers=False)


def _unmask(value: object, meaning: Callable[[str], str | None], *, numbers: bool = True) -> object:
    if isinstance(value, str):
        if value.startswith(_NUMBER):
            text = _unmask_text(value[len(_NUMBER) :], meaning)
            # While the secret is unknown it stays a string, to be restored another time.
            if numbers:
                return value if _OPEN in text else orjson.loads(text)
            return text
        return _unmask_text(value, meaning)
    if isinstance(value, dict):
        return {_unmask_text(key, meaning): _unmask(item, meaning, numbers=numbers) for key, item in value.items()}
    if isinstance(value, list):
        return [_unmask(item, meaning, numbers=numbers) for item in value]
    return value


def _unmask_text(text: str, meaning: Callable[[str], str | None]) -> str:
    first, *rest = text.split(_OPEN)
    restored = [first]
    for piece in rest:
        marker, close, after = piece[1:].partition(_CLOSE)
        if piece.startswith("!"):
            restored += (_OPEN, piece[1:])
        elif piece.startswith(":") and close and (found := meaning(marker)) is not None:
            restored += (found, after)
        else:
            restored += (_OPEN, piece)
    return "".join(restored)


def _fields_of(value: object) -> object:
    """What JSON shows of one of our values, for looking whether a secret is in it."""
    if isinstance(value, Frozen):
        return value._asdict()
    if isinstance(value, bytes | bytearray):
        return value.decode(errors="replace")
    if isinstance(value, Mapping):
        return dict(value)
    return None


def _same(new: Iterable[object], old: Iterable[object]) -> bool:
    return all(map(is_, new, old))


@cache
def _event_fields() -> frozenset[str]:
    # lazy: only reached when a value does hold a secret
    from pflow.core.event import EVENTS

    return frozenset(name for event in EVENTS.values() for name in event._fields)


def _plain_label(name: str) -> str:
    # lazy: only needed once there is a secret
    from urllib.parse import quote

    return quote(name, safe="", errors="surrogatepass")


def _name(label: str) -> str:
    # lazy: only needed when a secret is not known any more
    from urllib.parse import unquote

    return unquote(label.partition("@")[0])


def _hashed_label(name: str) -> str:
    # lazy: only needed once there is a secret
    from hashlib import blake2b

    return "~" + blake2b(name.encode("utf-8", "surrogatepass"), digest_size=6).hexdigest()
