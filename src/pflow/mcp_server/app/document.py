"""The page of a run in the chat, as one HTML document that asks nobody but its host."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

_SCRIPTS = ("lit.js", "view.js", "app.js")
_STYLES = ("page.css", "app.css")


@cache
def app_document() -> str:
    """The document. It is the same for every run; what it shows comes from its host."""
    styles, scripts = (
        "".join(f"<{tag}>{_read(name)}</{tag}>" for name in names)
        for tag, names in (("style", _STYLES), ("script", _SCRIPTS))
    )
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>A run</title>'
        f'{styles}</head><body><div id="app"></div>{scripts}</body></html>'
    )


def _read(name: str) -> str:
    return files("pflow").joinpath("web", "static", name).read_text(encoding="utf-8")
