"""Notices text and names that other tools would fill in: `{{name}}`, `$name.part`, `${inputs.name}`."""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterator, Mapping

from pflow.core.document.position import Path
from pflow.core.printable import shorten
from pflow.core.template.compiled import Reference

_BRACES = r"\{\{\s*(?:(?:inputs|steps|nodes)\.)?([A-Za-z_][\w-]*)((?:\.[\w-]+)*)\s*\}\}"
_DOLLAR = r"\$([A-Za-z_][\w-]*)((?:\.[\w-]+|\[\d+\])*)"
_BARE = r"([A-Za-z_][\w-]*)((?:\.[\w-]+|\[\d+\])+)"

_INPUTS = frozenset({"inputs", "input", "params", "parameters", "args", "vars", "variables", "workflow", "trigger"})
_NODES = frozenset({"steps", "step", "nodes", "node", "jobs", "tasks", "outputs"})
_ENVIRONMENT = frozenset({"env", "environ", "environment", "secrets", "secret", "settings", "config"})
"""Roots under which other tools keep what a template can name."""


def warn_of_foreign(value: object, names: Container[str], path: Path, report: Callable[..., None]) -> None:
    """Report every constant that names something of the document in another tool's syntax."""
    for place, written, meant in _foreign_templates(value, names, path):
        report(
            "foreign-template",
            f"`{shorten(written)}` is not a template, and stays as it is",
            place,
            hint=f"write `{meant}` for the value",
            severity="warning",
        )


def _foreign_templates(value: object, names: Container[str], path: Path = ()) -> Iterator[tuple[Path, str, str]]:
    """Where a value names something of the document in another tool's syntax, what it says, and what to write."""
    if isinstance(value, str):
        for found in re.finditer(_BRACES, value) if "{{" in value else ():
            if found[1] in names:
                yield path, found[0], f"${{{found[1]}{found[2]}}}"
        pattern = _DOLLAR if value.startswith("$") else _BARE if "." in value or "[" in value else ""
        whole = re.fullmatch(pattern, value) if pattern else None
        if whole and whole[1] in names:
            yield path, value, f"${{{whole[1]}{whole[2]}}}"
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from _foreign_templates(item, names, (*path, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _foreign_templates(item, names, (*path, index))


def other_reference(reference: Reference, inputs: Container[str], nodes: Container[str], *, in_shell: bool) -> str:
    """What to write for a template that names nothing here, where another tool would have known it; "" if unknown."""
    root, parts = reference.root, [str(part) for part in reference.path]
    first = parts[0] if parts else ""
    if root in _INPUTS and first in inputs:
        return f"write `${{{'.'.join(parts)}}}`: inputs are named without `{root}`"
    if root in _NODES and first in nodes:
        rest = [part for part in parts[1:] if part not in ("outputs", "output")] or parts[1:]
        return f"write `${{{'.'.join([first, *rest])}}}`: nodes are named without `{root}`"
    if root in _ENVIRONMENT and first:
        return f"declare an input `{first.lower()}`; a secret one is looked up in the settings and the environment"
    if in_shell and not parts:
        return f"a variable of the shell is written `${root}` or `$${{{root}}}`"
    return ""
