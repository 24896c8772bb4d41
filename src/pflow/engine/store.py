"""What a step sees as `shared`: a transaction over the run's store, and the proxy that translates its keys."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, MutableMapping
from typing import Any

import orjson

from pflow.engine.name_lookup import Names
from pflow.engine.value import DELETED, EXACT, has_nan


class NodeAwareSharedStore(MutableMapping[str, Any]):
    """A store seen through one node's key names.

    The node reads and writes its natural keys; `input_mappings` and `output_mappings` give the store's names
    for them. `params` win over the store, as everywhere; `defaults` stand in for what the store does not have.
    """

    def __init__(
        self,
        shared: MutableMapping[str, Any],
        input_mappings: Mapping[str, str] | None = None,
        output_mappings: Mapping[str, str] | None = None,
        params: Mapping[str, Any] | None = None,
        defaults: Mapping[str, Any] | None = None,
    ) -> None:
        self._shared = shared
        self._inputs = input_mappings or {}
        self._outputs = output_mappings or {}
        self._params = params or {}
        self._defaults = defaults or {}
        self._written: set[str] = set()

    def __getitem__(self, key: str) -> Any:
        if key in self._written:
            return self._shared[self._outputs.get(key, key)]
        if key in self._params:
            return self._params[key]
        try:
            return self._shared[self._inputs.get(key, key)]
        except KeyError:
            if key in self._defaults:
                return self._defaults[key]
            raise

    def __setitem__(self, key: str, value: Any) -> None:
        self._written.add(key)
        self._shared[self._outputs.get(key, key)] = value

    def __delitem__(self, key: str) -> None:
        self._written.discard(key)
        del self._shared[self._outputs.get(key, key)]

    def __iter__(self) -> Iterator[str]:
        names = {store: node for node, store in self._inputs.items()}
        seen = dict.fromkeys((*self._params, *self._defaults))
        seen.update(dict.fromkeys(names.get(key, key) for key in self._shared))
        return iter(seen)

    def __len__(self) -> int:
        return sum(1 for _ in self)


class StepStore(MutableMapping[str, Any]):
    """One step's transaction: it sees the store as of its start, and its writes stay here until it completes.

    Unless the node is `trusted` not to, it may change a list or an object that it read in place; it gets its
    own copy then, and what differs at the end counts as written.
    """

    __slots__ = ("_copies", "_names", "_node", "_trusted", "reads", "writes")

    def __init__(self, names: Names, node: int, *, trusted: bool) -> None:
        self._names = names
        self._node = node
        self._trusted = trusted
        self._copies: dict[str, tuple[object, object]] = {}
        self.reads: dict[str, object] = {}
        self.writes: dict[str, object] = {}

    def __getitem__(self, key: str) -> Any:
        if key in self.writes:
            value = self.writes[key]
            if value is DELETED:
                raise KeyError(key)
            return value
        if key in self._copies:
            return self._copies[key][1]
        value = self._names.read(self._node, key)
        self.reads[key] = value
        if self._trusted or not isinstance(value, dict | list):
            return value
        copy = _copy(value)
        self._copies[key] = (value, copy)
        return copy

    def __setitem__(self, key: str, value: Any) -> None:
        if not isinstance(key, str):
            raise TypeError(f"keys of the shared store are strings, not {type(key).__name__}")
        if key.startswith("__"):
            raise KeyError(f"keys that start with `__` are reserved: `{key}`")
        self._copies.pop(key, None)
        self.writes[key] = value

    def __delitem__(self, key: str) -> None:
        self[key]
        self._copies.pop(key, None)
        self.writes[key] = DELETED

    def __iter__(self) -> Iterator[str]:
        names = dict.fromkeys(self._names.keys(self._node))
        names.update(dict.fromkeys(self.writes))
        return (key for key in names if self.writes.get(key) is not DELETED)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def commit(self) -> dict[str, object]:
        """Everything the step wrote, in-place changes included."""
        if not self._trusted:
            for key, value in self.writes.items():
                if isinstance(value, dict | list):
                    self.writes[key] = _copy(value)  # the node may keep and change its own
        for key, (before, after) in self._copies.items():
            if before != after:
                self.writes[key] = after
        return self.writes


def _copy(value: object) -> object:
    try:
        data = orjson.dumps(value, None, EXACT)
        return value if b"null" in data and has_nan(value) else orjson.loads(data)
    except TypeError:
        import copy  # lazy: only for values that JSON cannot hold

        try:
            return copy.deepcopy(value)
        except TypeError:
            return value
