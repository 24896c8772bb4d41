"""How values enter and leave the journal: small ones inside their event, large ones once, by content.

An encoded value is one of
- `[value]`: inline;
- `{"tagged": value}`: inline, with bytes inside written as `{"$bytes": base64}`;
- `{"sha": digest, "size": bytes}`: large, stored beside the events, with `"tagged": true` where it holds bytes;
- `{"opaque": type}`: an object that lives only in the process that made it;
- `{"deleted": true}`: a key that a step removed;
- `{"items": true}`: a batch's results, which its item events hold.

Everything that is stored passes `ValueTable.seal`, the one place where what is recorded loses its secrets.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Callable, Iterable, Mapping
from hashlib import sha256
from typing import TYPE_CHECKING

import orjson

from pflow.core.advice import Advice
from pflow.core.errors import DamagedError, InputError, RunError, StepError
from pflow.core.setting.redactor import has_marker, show_markers

if TYPE_CHECKING:
    from pflow.core.setting.redactor import Redactor

INLINE_BYTES = 1024
MOST_BYTES = 256_000_000
"""Of JSON, for one value of a run: SQLite holds no more than four times as much in one place."""

_DIGITS = 40  # hexadecimal, of a digest
EXACT = orjson.OPT_PASSTHROUGH_DATACLASS | orjson.OPT_PASSTHROUGH_DATETIME | orjson.OPT_PASSTHROUGH_SUBCLASS
"""Options under which only what JSON really has is written."""


class Mark:
    """A value that stands for something else: a removed key, or the results that the item events hold."""


DELETED = Mark()
ITEMS = Mark()


class Opaque:
    """Stands for a value that an earlier process held but could not record."""

    __slots__ = ("kind",)

    def __init__(self, kind: str) -> None:
        self.kind = kind


class Withheld:
    """Stands for a value that holds secrets which are not known now, or not any more: a marker is not the value."""

    __slots__ = ("names",)

    def __init__(self, names: Iterable[str]) -> None:
        self.names = tuple(sorted(names))


def withheld_error(what: str, value: Withheld) -> InputError:
    """The error for reading such a value."""
    names = ", ".join(f"`{name}`" for name in value.names)
    return InputError(
        f"{what} holds a value of the secret {names} that is not known now",
        details={"secrets": list(value.names)},
        suggestions=[
            "resume with the value that the secret had when the run recorded it",
            Advice("or {add_workflow}: steps that were given the secret run again, with its new value"),
        ],
    )


class Encoded:
    """A value ready for an event: the JSON that stands for it, its identity and size, and bytes to store, if any."""

    __slots__ = ("blob", "json", "key", "size")

    def __init__(self, json: bytes, key: bytes, size: int = 0, blob: tuple[str, bytes] | None = None) -> None:
        self.json = json
        self.key = key
        self.size = size
        self.blob = blob


def digest(data: bytes) -> str:
    """The content address of some bytes."""
    return sha256(data).hexdigest()[:_DIGITS]


def check_value(data: bytes, sha: str) -> bytes:
    """The bytes of a large value, if they are still what was stored under that digest."""
    if digest(data) != sha:
        raise DamagedError(
            f"the journal holds a value `{sha}` that is not what was stored",
            suggestions=["start the workflow again; other runs are not affected"],
        )
    return data


def digest_all(parts: Iterable[bytes]) -> str:
    """One digest for several byte strings without NUL, as JSON and digests are."""
    return digest(b"\0".join(parts))


class ValueTable:
    """The values of one run. A large value that did not change is encoded and stored once."""

    def __init__(self, redactor: Redactor, load: Callable[[str], bytes]) -> None:
        self._redactor = redactor
        self._load = load
        self._large: dict[int, tuple[object, Encoded]] = {}
        self._in_parts: dict[int, tuple[object, bytes, int]] = {}
        self._stored: set[str] = set()
        self._decoded: dict[str, object] = {}

    def seal(self, data: bytes) -> bytes:
        """Encoded JSON as it may be stored: without secrets."""
        return self._redactor.data(data)

    def unseal(self, value: object, *, whole: bool = True) -> object:
        """What was sealed, decoded, with its secrets; `Withheld` if some of them are not known now.

        Not `whole`, it is only shown, and keeps its markers.
        """
        restored, missing = self._redactor.restore(value)
        if missing:
            return Withheld(missing) if whole else show_markers(restored)
        return restored

    def encode(self, value: object) -> Encoded:
        """What stands for `value` in an event."""
        known = self._large.get(id(value))
        if known is not None and known[0] is value:
            return known[1]
        if value is DELETED:
            return Encoded(b'{"deleted":true}', b"deleted")
        if value is ITEMS:
            return Encoded(b'{"items":true}', b"items")
        tagged = False
        try:
            plain = orjson.dumps(value, None, EXACT)
        except TypeError:
            try:
                plain = orjson.dumps(value, tag, EXACT)
                tagged = True
            except TypeError:
                return _opaque(value)
        if not isinstance(value, str) and b"null" in plain and has_nan(value):
            raise StepError("the result holds a number that JSON does not have (NaN or Infinity)")
        if len(plain) <= INLINE_BYTES:
            return Encoded(b'{"tagged":%b}' % plain if tagged else b"[%b]" % plain, plain)
        if len(plain) > MOST_BYTES:
            raise StepError(
                f"a value of {len(plain) // 1_000_000} MB is larger than {MOST_BYTES // 1_000_000} MB, "
                "the most that a run can hold",
                suggestions=["write it to a file and pass the path on"],
            )
        data = self.seal(plain)
        sha = digest(data)
        shown = {"sha": sha, "size": len(data), **({"tagged": True} if tagged else {})}
        # What holds a secret is known by what it is, not by what is left of it: another secret is another value.
        key = sha if data is plain else digest(plain)
        blob = None if sha in self._stored else (sha, data)
        encoded = Encoded(orjson.dumps(shown), key.encode(), len(plain), blob)
        self._large[id(value)] = (value, encoded)
        return encoded

    def take_blob(self, encoded: Encoded) -> tuple[str, bytes] | None:
        """The bytes that must be stored with the event, handed out once."""
        blob, encoded.blob = encoded.blob, None
        if blob is not None:
            self._stored.add(blob[0])
        return blob

    def know_parts(self, value: object) -> None:
        """Identify the results of a batch, which its item events hold: by their digest, however small they are."""
        data = orjson.dumps(value, tag, EXACT)
        self._in_parts[id(value)] = value, digest(data).encode(), len(data)

    def key(self, value: object) -> bytes:
        """What identifies `value` in a hash of inputs."""
        return self.measure(value)[0]

    def measure(self, value: object) -> tuple[bytes, int]:
        """What identifies `value` in a hash of inputs, and its size."""
        known = self._large.get(id(value))
        if known is not None and known[0] is value:
            return known[1].key, known[1].size
        whole = self._in_parts.get(id(value))
        if whole is not None and whole[0] is value:
            return whole[1], whole[2]
        try:
            data = orjson.dumps(value, tag, EXACT)
        except TypeError:
            return b"opaque:%d" % id(value), 0
        if len(data) <= INLINE_BYTES:
            return data, len(data)
        return digest(data).encode(), len(data)

    def size(self, value: object) -> int:
        """About how much `value` takes; nothing for what is always small."""
        if isinstance(value, str):
            return len(value)
        return self.measure(value)[1] if isinstance(value, dict | list | tuple) else 0

    def recorded_size(self, values: Iterable[object]) -> int:
        """How much values that were encoded take together; those that stand inside their event do not count."""
        size = 0
        for value in values:
            known = self._large.get(id(value))
            if known is not None:
                size += known[1].size
        return size

    def decode(self, encoded: object, *, marked: bool = False) -> object:
        """The value that `encoded` stands for; `marked` if there are markers in it."""
        if isinstance(encoded, list):
            return self.unseal(encoded[0]) if marked else encoded[0]
        if not isinstance(encoded, dict):
            raise RunError("the journal holds a value in an unknown form")
        if "opaque" in encoded:
            return Opaque(str(encoded["opaque"]))
        if "deleted" in encoded:
            return DELETED
        if "items" in encoded:
            return ITEMS
        if "sha" not in encoded:
            return untag(self.unseal(encoded["tagged"]) if marked else encoded["tagged"])
        sha = str(encoded["sha"])
        if sha not in self._decoded:
            data = check_value(self._load(sha), sha)
            value: object = orjson.loads(data)
            key = sha
            if has_marker(data):
                value = self.unseal(value)
                key = sha if isinstance(value, Withheld) else digest(orjson.dumps(value))
            if encoded.get("tagged"):
                value = untag(value)
            self._decoded[sha] = value
            self._stored.add(sha)
            self._large[id(value)] = (value, Encoded(orjson.dumps(encoded), key.encode(), len(data)))
        return self._decoded[sha]


class MarkedValues(ValueTable):
    """Recorded values, with markers in those whose secrets are not known here, or not any more."""

    def unseal(self, value: object, *, whole: bool = True) -> object:
        """What was sealed, with its secrets, or, if some of them are not known, as it is shown."""
        found = super().unseal(value, whole=whole)
        return show_markers(value) if whole and isinstance(found, Withheld) else found


class ShownValues:
    """Recorded values as a trace shows them: large ones by reference, secrets as markers. Loads nothing."""

    def unseal(self, value: object, *, whole: bool = True) -> object:
        """What was stored, with markers for its secrets."""
        return show_markers(value)

    def decode(self, encoded: object, *, marked: bool = False) -> object:
        """What to show for an encoded value; `{"$value": digest, "size": bytes}` for a large one."""
        if marked:
            encoded = show_markers(encoded)
        if isinstance(encoded, list):
            return encoded[0]
        if not isinstance(encoded, dict):
            return encoded
        if "sha" in encoded:
            return {"$value": encoded["sha"], "size": encoded["size"]}
        if "tagged" in encoded:
            return encoded["tagged"]
        if "items" in encoded:
            return {"$items": "see the step's items"}
        return {f"${key}": value for key, value in encoded.items()}


def tag(item: object) -> object:
    """How bytes are written as JSON; raises `TypeError` for anything else."""
    if isinstance(item, bytes | bytearray):
        return {"$bytes": base64.b64encode(item).decode()}
    raise TypeError


def _opaque(value: object) -> Encoded:
    if isinstance(value, str):
        raise StepError("the result holds text that is not Unicode (half of a surrogate pair)")
    kind = value.kind if isinstance(value, Opaque) else f"{type(value).__module__}.{type(value).__qualname__}"
    return Encoded(orjson.dumps({"opaque": kind}), b"opaque:%d" % id(value))


def untag(value: object) -> object:
    """A value with the bytes in it as they were."""
    if isinstance(value, dict):
        if len(value) == 1 and isinstance(value.get("$bytes"), str):
            return base64.b64decode(value["$bytes"])
        return {key: untag(item) for key, item in value.items()}
    if isinstance(value, list):
        return [untag(item) for item in value]
    return value


def has_nan(value: object) -> bool:
    """Whether a number in `value` is NaN or infinite, which orjson would write as null."""
    stack = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, float):
            if not math.isfinite(item):
                return True
        elif isinstance(item, Mapping):
            stack.extend(item.values())
        elif isinstance(item, list | tuple):
            stack.extend(item)
    return False
