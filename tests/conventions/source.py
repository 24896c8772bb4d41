"""The package's sources as the convention tests read them."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "src" / "pflow"


def module_paths() -> list[str]:
    """Every module, relative to the package, such as `core/errors.py`."""
    return sorted(path.relative_to(PACKAGE).as_posix() for path in PACKAGE.rglob("*.py"))


@cache
def text_of(path: str) -> str:
    """A module's source."""
    return (PACKAGE / path).read_text()


@cache
def tree_of(path: str) -> ast.Module:
    """A module's syntax."""
    return ast.parse(text_of(path))


def imported_roots(tree: ast.Module) -> set[str]:
    """Top-level names of everything a module imports, wherever it does."""
    roots = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            roots |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            roots.add(node.module.partition(".")[0])
    return roots
