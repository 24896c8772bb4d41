"""Patches as agents write them for `apply_patch`, taken apart into files written and places edited."""

from __future__ import annotations

import re
from collections.abc import Iterator

from pflow.core.json_type import Json
from pflow.core.session.gathering import Tool

_FILE = re.compile(r"^\*\*\* (Add|Update|Delete) File: (.+)$", re.MULTILINE)
_WRITE: Tool = ("write-file", {})
_EDIT: Tool = ("edit-file", {})
_MOST = 100


def edits_in(patch: str) -> list[tuple[Tool, Json]]:
    """What a patch does, in order; one call that nothing can do again, if it moves or deletes or is none."""
    found: list[tuple[Tool, Json]] = []
    heads = list(_FILE.finditer(patch))
    for head, after in zip(heads, [*(head.start() for head in heads[1:]), len(patch)], strict=True):
        path, body = head[2].strip(), patch[head.end() : after].removeprefix("\n").partition("*** End Patch")[0]
        if head[1] == "Delete" or "*** Move to:" in body:
            return [(("other", {}), {"patch": patch})]
        if head[1] == "Add":
            lines = [line[1:] for line in body.splitlines() if line.startswith("+")]
            found.append((_WRITE, {"path": path, "content": "".join(f"{line}\n" for line in lines)}))
        else:
            found += [(_EDIT, {"path": path, "old": old, "new": new, "all": False}) for old, new in _hunks(body)]
    return found[:_MOST] or [(("other", {}), {"patch": patch})]


def _hunks(body: str) -> Iterator[tuple[str, str]]:
    """The text before and after of each hunk, with its lines of context."""
    for hunk in re.split(r"^@@.*$\n?", body, flags=re.MULTILINE):
        lines = [line for line in hunk.splitlines() if line[:1] in (" ", "-", "+")]
        old = "".join(f"{line[1:]}\n" for line in lines if line[0] != "+")
        new = "".join(f"{line[1:]}\n" for line in lines if line[0] != "-")
        if old != new:
            yield old, new
