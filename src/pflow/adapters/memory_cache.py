"""A cache that lasts as long as its process: the twin of the one on disk, for tests and throw-away runs."""

from __future__ import annotations

CACHE_BYTES = 64 << 20


class MemoryCache:
    """See `pflow.engine.ports.Cache`."""

    def __init__(self, *, limit: int = CACHE_BYTES) -> None:
        self._limit = limit
        self._entries: dict[str, bytes] = {}
        self._size = 0

    def get(self, key: str) -> bytes | None:
        """What was put under this key, which makes it the one used last."""
        data = self._entries.pop(key, None)
        if data is not None:
            self._entries[key] = data
        return data

    def put(self, key: str, data: bytes) -> None:
        """Keep it; what was not used for the longest time makes room."""
        if len(data) > self._limit:
            return
        self._size += len(data) - len(self._entries.pop(key, b""))
        self._entries[key] = data
        while self._size > self._limit:
            self._size -= len(self._entries.pop(next(iter(self._entries))))

    def close(self) -> None:
        """Nothing to release."""
