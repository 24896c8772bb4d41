"""The requirements of the five founding documents as data, and which tests claim to show them."""

from __future__ import annotations

import ast
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

FOLDER = Path(__file__).parent
TESTS = FOLDER.parent
DOCUMENTS = ("client", "paths", "security", "server13", "server5")


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One requirement. `pending` names the part that will test it; `deviation` says what we do instead."""

    id: str
    text: str
    pending: str = ""
    deviation: str = ""


def load_entries() -> list[Entry]:
    """All entries, in the order of the documents."""
    return [
        Entry(**fields)
        for document in DOCUMENTS
        for fields in tomllib.loads((FOLDER / f"{document}.toml").read_text())["entry"]
    ]


@cache
def load_claims() -> dict[str, list[str]]:
    """Which tests name which entry, read from the sources: the same whatever part of the suite runs."""
    claims: dict[str, list[str]] = {}
    for path in sorted(TESTS.rglob("*.py")):
        source = path.read_text()
        if "requirement" not in source or path.name == "test_manifest.py":
            continue
        for line, name in marked_ids(source):
            claims.setdefault(name, []).append(f"{path.relative_to(TESTS)}:{line}")
    return claims


def marked_ids(source: str) -> Iterator[tuple[int, str]]:
    """Line and id of every `pytest.mark.requirement("id", …)` in a source."""
    for node in ast.walk(ast.parse(source)):
        if not (isinstance(node, ast.Call) and _called_name(node.func) == "requirement"):
            continue
        for argument in node.args:
            if not (isinstance(argument, ast.Constant) and isinstance(argument.value, str)):
                raise ValueError(f"line {argument.lineno}: a requirement is named by a literal string")
            yield argument.lineno, argument.value


def _called_name(function: ast.expr) -> str:
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else ""
