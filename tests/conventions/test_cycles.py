"""No module imports itself by way of others, not even lazily; an import for types alone does not count."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from graphlib import CycleError, TopologicalSorter

from tests.conventions.source import module_paths, tree_of


def test_no_modules_import_each_other() -> None:
    trees = {module_name(path): tree_of(path) for path in module_paths()}
    assert find_cycle({name: imports_of(name, tree, trees) for name, tree in trees.items()}) == []


def module_name(path: str) -> str:
    """The name that a module is imported by, such as `pflow.core.errors`."""
    path = path.removesuffix(".py").removesuffix("__init__").rstrip("/")
    return ".".join(["pflow", *path.split("/")]) if path else "pflow"


def imports_of(name: str, tree: ast.Module, modules: Mapping[str, object]) -> set[str]:
    """The modules among `modules` that one imports, at its top or inside functions."""
    found = {target for node in run_nodes(tree) for target in targets(node, modules)}
    return found - {name}


def run_nodes(tree: ast.AST) -> Iterator[ast.AST]:
    """The statements that can run, so nothing under `if TYPE_CHECKING`."""
    left = [tree]
    while left:
        node = left.pop()
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            left += node.orelse
            continue
        yield node
        left += [
            child
            for child in ast.iter_child_nodes(node)
            if isinstance(child, ast.stmt | ast.excepthandler | ast.match_case)
        ]


def targets(node: ast.AST, modules: Mapping[str, object]) -> Iterator[str]:
    """The modules that a statement imports: `from a import b` means `a.b`, where that is a module."""
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names if alias.name in modules)
    elif isinstance(node, ast.ImportFrom):
        named = [f"{node.module}.{alias.name}" for alias in node.names]
        yield from (name if name in modules else str(node.module) for name in named)


def find_cycle(graph: Mapping[str, set[str]]) -> list[str]:
    """One cycle of a graph, as the names along it; none is an empty list."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def test_a_cycle_is_seen_through_lazy_imports_but_not_through_types() -> None:
    lazy = ast.parse("def f():\n    from p import b")
    typed = ast.parse("from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from p import a")
    back = ast.parse("from p.a import name")
    known = dict.fromkeys(("p", "p.a", "p.b"))
    assert find_cycle({"p.a": imports_of("p.a", lazy, known), "p.b": imports_of("p.b", typed, known)}) == []
    assert find_cycle({"p.a": imports_of("p.a", lazy, known), "p.b": imports_of("p.b", back, known)}) != []
