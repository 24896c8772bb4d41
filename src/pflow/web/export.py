"""A run as one HTML file that asks for nothing: the page's view with all that it shows inside of it."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator, Mapping
from hashlib import sha256

import orjson

from pflow.core.clock import now
from pflow.core.errors import PflowError
from pflow.core.json_type import objects_in
from pflow.core.moment import show_moment
from pflow.web.data import run_graph
from pflow.web.static_file import read_static
from pflow.workspace import Workspace

_SCRIPTS = ("lit.js", "view.js", "page.js")
_MOST_ITEMS = 500
"""Items of each batch."""

_VALUE_CHARACTERS = 20_000
_MOST_BYTES = 24_000_000
"""Of all steps in full; a browser should open the file in a moment. What is beyond that is left out."""


def export_run(workspace: Workspace, reference: str) -> str:
    """The file's text."""
    run_id = workspace.find_run(reference)
    run = workspace.viewing.follow(run_id).whole()
    details, is_whole = _details(workspace, run_id)
    data = {
        "at": show_moment(now()),
        "run": run,
        "details": details,
        "items": {
            str(row["step"]): workspace.viewing.items(run_id, str(row["step"]), 0, _MOST_ITEMS)
            for row in objects_in(run["steps"])
            if row.get("items")
        },
        "is_whole": is_whole,
        "svg": _svg(workspace, run_id),
    }
    data["values"] = _values(workspace, run_id, data)
    return _file(f"{run.get('workflow') or 'run'} {run_id}", orjson.dumps(workspace.redact(data), default=str))


def _details(workspace: Workspace, run_id: str) -> tuple[dict[str, object], bool]:
    kept: dict[str, object] = {}
    room = _MOST_BYTES
    found = {str(entry.get("step")): entry for entry in objects_in(workspace.show_run(run_id).get("steps"))}
    given = workspace.params(run_id, found)
    for step, told in found.items():
        entry = {"params": given[step], **told} if step in given else told
        room -= len(orjson.dumps(entry, default=str))
        if room < 0:
            break
        kept[step] = entry
    return kept, len(kept) == len(found)


def _values(workspace: Workspace, run_id: str, data: object) -> dict[str, object]:
    """The beginnings of the large values that the file refers to."""
    found: dict[str, object] = {}
    room = _MOST_BYTES
    for digest in _references(data):
        if digest not in found and room > 0:
            page = {**workspace.viewing.value(run_id, digest, 0, _VALUE_CHARACTERS), "next": None}
            room -= _VALUE_CHARACTERS
            found[digest] = page
    return found


def _references(value: object) -> Iterator[str]:
    if isinstance(value, Mapping):
        if isinstance(value.get("$value"), str):
            yield str(value["$value"])
        else:
            for part in value.values():
                yield from _references(part)
    elif isinstance(value, list | tuple):
        for part in value:
            yield from _references(part)


def _svg(workspace: Workspace, run_id: str) -> str:
    try:
        return run_graph(workspace, run_id)
    except PflowError:
        return ""  # a document of another version, or of a program


def _file(title: str, data: bytes) -> str:
    scripts = [read_static(name).decode() for name in _SCRIPTS]
    style = read_static("page.css").decode()
    policy = f"default-src 'none'; script-src {' '.join(map(_hash, scripts))}; style-src {_hash(style)}; img-src data:"
    shown = title.replace("&", "&amp;").replace("<", "&lt;")
    inside = data.decode().replace("<", "\\u003c")  # nothing in it can end the element
    parts = [
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        '<link rel="icon" href="data:,">',
        f"<title>{shown}</title>\n<style>{style}</style>\n</head>\n<body>",
        f'<div id="page"></div>\n<script type="application/json" id="data">{inside}</script>',
        *(f"<script>{script}</script>" for script in scripts),
        "</body>\n</html>\n",
    ]
    return "\n".join(parts)


def _hash(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"
