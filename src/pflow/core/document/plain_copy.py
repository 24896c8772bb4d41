"""Copies a value of unknown origin into plain JSON values within the limits, so that nothing later has to check it."""

from __future__ import annotations

from math import isfinite

from pflow.core.document.position import Issues, Path

MAX_SIZE = 1 << 20
"""Bytes of a document: as text, and again as a value once aliases are expanded."""

MAX_DEPTH = 64
"""Levels of nested arrays and objects."""

TOO_LARGE = "the document is larger than 1 MiB, the most that is allowed"
TOO_LARGE_HINT = "keep large data in files and read them in a step"
NUMBER_HINT = "numbers are finite, and integers fit into 64 bits; write it as a string if every digit matters"

_LOWEST, _HIGHEST = -(1 << 63), (1 << 64) - 1
"""Integers that orjson can write."""

_EDGES_BYTES = 4 * MAX_SIZE


def is_plain(value: object, depth: int = 1) -> bool:
    """Whether a value from strict JSON text keeps to the limits; nothing else can be wrong with it."""
    if isinstance(value, dict | list):
        if depth > MAX_DEPTH:
            return False
        for item in value.values() if isinstance(value, dict) else value:
            kind = type(item)
            if kind is not str and kind is not bool and not is_plain(item, depth + 1):
                return False
        return True
    return not isinstance(value, int) or _LOWEST <= value <= _HIGHEST


def take_snapshot(value: object, issues: Issues) -> object:
    """`value` as dicts, lists, strings, finite numbers, booleans and None that no other code refers to.

    What JSON cannot hold is added to the issues and becomes None. A value over the size limit stops them.
    The edges are counted apart: normalising may add one per node, and what it gives must stay readable.
    """
    if not isinstance(value, dict) or "edges" not in value:
        return _Copier(issues, MAX_SIZE, ()).copy_all(value)
    rest = _Copier(issues, MAX_SIZE, ()).copy_all({key: item for key, item in value.items() if key != "edges"})
    edges = _Copier(issues, _EDGES_BYTES, ("edges",)).copy_all(value["edges"])
    copied = rest if isinstance(rest, dict) else {}
    return {key: edges if key == "edges" else copied[key] for key in value if key == "edges" or key in copied}


def copy_within(value: object, issues: Issues, size: int) -> object:
    """`value` like `take_snapshot`, but of at most `size` bytes: other values have other limits."""
    too_large = f"the {issues.what} is larger than {size:,} bytes once its aliases are written out"
    return _Copier(issues, size, (), too_large).copy_all(value)


class _Copier:
    """One walk. `left` is what remains of the size; no value costs more than its shortest JSON text would."""

    __slots__ = ("_deep", "issues", "left", "path", "too_large")

    def __init__(self, issues: Issues, left: int, path: Path, too_large: str = TOO_LARGE) -> None:
        self.too_large = too_large
        self.issues = issues
        self.left = left
        self.path: list[str | int] = list(path)
        self._deep = False

    def copy_all(self, value: object) -> object:
        copied = self.copy(value)
        return None if self._overflows() else copied

    def copy(self, value: object) -> object:
        if isinstance(value, str):
            return self._text(value)
        if isinstance(value, dict):
            return self._object(value)
        if isinstance(value, list | tuple):
            return self._array(value)
        self.left -= 2
        if value is None or isinstance(value, bool):
            return value
        if isinstance(value, int):
            if _LOWEST <= value <= _HIGHEST:
                return int(value)
            self._refuse("bad-number", "an integer does not fit into 64 bits", NUMBER_HINT)
        elif isinstance(value, float):
            if isfinite(value):
                return float(value)
            self._refuse("bad-number", f"a {self.issues.what} cannot hold infinity or NaN", NUMBER_HINT)
        else:
            self._refuse("bad-value", f"a {self.issues.what} cannot hold a Python `{type(value).__name__}`")
        return None

    def _text(self, value: str) -> str:
        if value.isascii():
            self.left -= len(value) + 1
        else:
            try:
                self.left -= len(value.encode()) + 1
            except UnicodeEncodeError:
                self._refuse("bad-text", "a string holds half a surrogate pair, which is not Unicode text")
                return ""
        return str(value)

    def _object(self, value: dict[object, object]) -> dict[str, object] | None:
        if not self._enter():
            return None
        copied: dict[str, object] = {}
        path = self.path
        for key, item in value.items():
            if self._overflows():
                break
            if not isinstance(key, str):
                shown = f"a Python `{type(key).__name__}`"
                self._refuse("bad-key", f"the keys of an object are strings, not {shown}", "write it as a string")
                continue
            path.append(key)
            self.left -= 1
            name = self._text(key)
            copied[name] = self.copy(item)
            path.pop()
        return copied

    def _array(self, value: list[object] | tuple[object, ...]) -> list[object] | None:
        if not self._enter():
            return None
        copied: list[object] = []
        path = self.path
        for index, item in enumerate(value):
            if self._overflows():
                break
            path.append(index)
            copied.append(self.copy(item))
            path.pop()
        return copied

    def _enter(self) -> bool:
        self.left -= 2
        if len(self.path) < MAX_DEPTH:
            return True
        if not self._deep:
            self._deep = True
            self._refuse("too-deep", f"the {self.issues.what} is nested more than {MAX_DEPTH} levels deep")
        return False

    def _overflows(self) -> bool:
        if self.left < 0 and not self.issues.stopped:
            self.issues.stop("too-large", self.too_large, hint=TOO_LARGE_HINT)
        return self.issues.stopped

    def _refuse(self, code: str, message: str, hint: str = "") -> None:
        self.issues.add(code, message, tuple(self.path), hint=hint)
