"""The key with which the machines of a place seal credentials that come up in runs."""

from __future__ import annotations

import hashlib
from collections.abc import Callable

from pflow.core.advice import Advice
from pflow.core.errors import UsageError
from pflow.core.setting.place import Place
from pflow.core.setting.secret_seal import KEY_BYTES


def place_key(place: Place, lookup: Callable[[str], str | None]) -> bytes:
    """The key that the credential of the place stands for. Raises `UsageError` if that is not set."""
    value = lookup(place.key)
    if not value:
        raise UsageError(
            f"the key of place `{place.name}` is not set: `on.{place.name}.key` names `{place.key}`",
            suggestions=[Advice("store it with `{store_secret}`, the same on every machine", name=place.key)],
        )
    data = value.encode("utf-8", "surrogatepass")
    return hashlib.blake2b(data, digest_size=KEY_BYTES, person=b"pflow-place").digest()
