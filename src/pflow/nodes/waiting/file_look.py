"""A look at a file, under the same policy as the nodes that read files."""

from __future__ import annotations

import asyncio
import os
import stat
from collections.abc import Mapping
from typing import Any

from pflow.core.errors import StepError
from pflow.core.moment import show_moment
from pflow.nodes import param
from pflow.nodes.file.directory import open_to_read
from pflow.nodes.file.path import file_errors

_MOST_TEXT_BYTES = 64 << 10
"""Of a file whose text a condition can look at."""


async def look_at_file(params: Mapping[str, Any]) -> dict[str, object]:
    """What a condition can know of the file."""
    return await asyncio.to_thread(_look, param.path(params, "file"))


def _look(path: str) -> dict[str, object]:
    try:
        with file_errors("look at", path), open_to_read("look at", path) as fd:
            found = os.fstat(fd)
            is_text = stat.S_ISREG(found.st_mode) and found.st_size <= _MOST_TEXT_BYTES
            text = os.read(fd, _MOST_TEXT_BYTES) if is_text else b""
    except StepError as error:
        if error.action != "resource_missing":
            raise
        return {"exists": False, "path": path, "size": 0, "modified": "", "text": ""}
    shown = text.decode(errors="replace")
    return {
        "exists": True,
        "path": path,
        "size": found.st_size,
        "modified": show_moment(found.st_mtime),
        "text": shown,
    }
