"""Notices text that other tools would fill in, and that pflow leaves as it is: `{{name}}`."""

from __future__ import annotations

import re
from collections.abc import Container, Iterator, Mapping

from pflow.core.document.position import Path

_BRACES = re.compile(r"\{\{\s*([A-Za-z_][\w-]*)((?:\.[\w-]+)*)\s*\}\}")


def foreign_templates(value: object, names: Container[str], path: Path = ()) -> Iterator[tuple[Path, str, str]]:
    """Where a value names something of the document in another tool's syntax, what it says, and what to write."""
    if isinstance(value, str):
        for found in _BRACES.finditer(value) if "{{" in value else ():
            if found[1] in names:
                yield path, found[0], f"${{{found[1]}{found[2]}}}"
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from foreign_templates(item, names, (*path, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from foreign_templates(item, names, (*path, index))
