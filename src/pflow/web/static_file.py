"""The page's own files: what a browser gets besides data."""

from __future__ import annotations

STATIC = {
    "lit.js": "text/javascript",
    "view.js": "text/javascript",
    "page.js": "text/javascript",
    "page.css": "text/css",
    "icon.svg": "image/svg+xml",
}
"""Their names, and what they are."""


def read_static(name: str) -> bytes:
    """The content of one of them."""
    from importlib.resources import files  # lazy: the page is served sooner without it

    return files("pflow.web").joinpath("static", name).read_bytes()
