"""Addresses as the client compares and shows them. Queries may carry keys, so they are never shown."""

from __future__ import annotations

import httpx2

from pflow.core.printable import cut

URL = httpx2.URL
_SHOWN_CHARACTERS = 200


def parse_url(text: str) -> URL:
    """An address without its fragment. Raises `ValueError`."""
    return join_url(None, text)


def join_url(base: URL | None, text: str) -> URL:
    """The address that `text` means, seen from `base`. Raises `ValueError`."""
    try:
        return (base.join(text) if base else URL(text)).copy_with(fragment=None)
    except httpx2.InvalidURL as error:
        raise ValueError("not a URL") from error


def origin(url: URL) -> str:
    """Scheme, host and port."""
    host = url.raw_host.decode("ascii")
    port = "" if url.port is None else f":{url.port}"
    return f"{url.scheme}://{f'[{host}]' if ':' in host else host}{port}"


def place(url: URL) -> str:
    """An address as errors show it."""
    path = url.raw_path.partition(b"?")[0].decode("ascii", errors="replace")
    return origin(url) + cut(path, _SHOWN_CHARACTERS + 1)
