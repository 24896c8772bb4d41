"""Hides text so that the key brings it back exactly, and tells secrets apart without showing them."""

from __future__ import annotations

import os
from base64 import urlsafe_b64decode, urlsafe_b64encode
from binascii import Error as Base64Error
from collections.abc import Callable
from functools import cached_property

_NONCE_BYTES = 12
KEY_BYTES = 32


def fingerprint(value: str) -> str:
    """Eight digits by which a secret is recognised: enough to notice another value, too few to give a long one away."""
    # lazy: only needed once there is a secret
    from hashlib import blake2b

    return blake2b(_bytes(value), digest_size=4, person=b"pflow-secret").hexdigest()


class Seal:
    """Hides text under one key, which is asked for when it is first needed."""

    def __init__(self, key: Callable[[], bytes] = lambda: os.urandom(KEY_BYTES)) -> None:
        self._ask = key

    @classmethod
    def of(cls, secret: str) -> Seal:
        """A seal that only the secret itself opens."""
        # lazy: only needed once a secret stands in text in an unusual form
        from hashlib import blake2b

        return cls(lambda: blake2b(_bytes(secret), digest_size=KEY_BYTES, person=b"pflow-seal").digest())

    def hide(self, text: str) -> str:
        """Letters, digits, `-` and `_` that stand for `text`; the same ones for the same text."""
        data = _bytes(text)
        nonce = self._nonce(data)
        return urlsafe_b64encode(nonce + self._mix(data, nonce)).decode().rstrip("=")

    def reveal(self, hidden: str) -> str | None:
        """What was hidden under this key; None if it was not."""
        try:
            raw = urlsafe_b64decode(hidden + "=" * (-len(hidden) % 4))
        except Base64Error:
            return None
        nonce = raw[:_NONCE_BYTES]
        data = self._mix(raw[_NONCE_BYTES:], nonce)
        return data.decode("utf-8", "surrogatepass") if self._nonce(data) == nonce else None

    @cached_property
    def _key(self) -> bytes:
        return self._ask()

    def _nonce(self, data: bytes) -> bytes:
        # lazy: only needed once a secret is found
        from hashlib import blake2b

        # Made from the text: equal texts look equal, different ones never share a stream.
        return blake2b(data, key=self._key, digest_size=_NONCE_BYTES, person=b"pflow-nonce").digest()

    def _mix(self, data: bytes, nonce: bytes) -> bytes:
        # lazy: only needed once a secret is found
        from hashlib import shake_256

        stream = shake_256(self._key + nonce).digest(len(data))
        return (int.from_bytes(data) ^ int.from_bytes(stream)).to_bytes(len(data))


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
