"""Which names Python source reads that nothing gives it, and whether it assigns a name; runs none of it.

Where the source can make names that cannot be seen (`exec`, `globals()`, a star import), it says nothing.
"""

from __future__ import annotations

import ast
import builtins
import symtable
import warnings
from collections.abc import Collection, Iterator
from typing import NamedTuple

_MAKE_NAMES = frozenset({"exec", "eval", "globals", "locals", "vars", "builtins", "inspect", "__import__"})
_GIVEN = frozenset({*dir(builtins), "exit", "quit", "help", "copyright", "credits", "license"})
_CATCH_NAME_ERRORS = frozenset({"NameError", "UnboundLocalError", "Exception", "BaseException"})
_AT_ONCE = (ast.Expr, ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Delete)
_MAYBE = (ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp, ast.BoolOp, ast.IfExp, ast.Compare)
"""Expressions whose parts are not all evaluated, or not at once."""

_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)
"""What names that `:=` binds inside of it do not leave."""


class UnknownName(NamedTuple):
    """A name that is read and that nothing defines; `certain` where every run of the source reads it."""

    name: str
    line: int
    column: int
    certain: bool


class Names(NamedTuple):
    """What source does with names: those that it binds for all of it to see, and those that nothing defines."""

    bound: frozenset[str]
    unknown: tuple[UnknownName, ...]


def read_names(code: str, given: Collection[str] | None) -> Names | None:
    """The names of valid source that starts with `given`; None where that cannot be told.

    Without `given` the source may start with any names, and so reads none that is unknown.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(code)
            table = symtable.symtable(code, "<code>", "exec")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    if "__main__" in code or any(_makes_names(node) for node in ast.walk(tree)):
        return None
    bound = frozenset((*_bound(table), *_bound_inside(tree)))
    if given is None:
        return Names(bound, ())
    known = bound | _GIVEN | frozenset(given)
    wanted = {name for name in _read(table) if name not in known and not name.startswith("__")}
    return Names(bound, tuple(_places(tree, wanted)) if wanted else ())


def _makes_names(node: ast.AST) -> bool:
    if isinstance(node, ast.ImportFrom | ast.Import):
        return any(alias.name in ("*", "builtins", "inspect", "__main__") for alias in node.names)
    return isinstance(node, ast.Name) and node.id in _MAKE_NAMES


def _tables(table: symtable.SymbolTable) -> Iterator[symtable.SymbolTable]:
    yield table
    for inner in table.get_children():
        yield from _tables(inner)


def _bound(table: symtable.SymbolTable) -> Iterator[str]:
    """What the source binds at its top, or in a function that declares it global."""
    for scope in _tables(table):
        for symbol in scope.get_symbols():
            binds = symbol.is_assigned() or symbol.is_imported() or symbol.is_namespace()
            if binds and (scope is table or symbol.is_declared_global()):
                yield symbol.get_name()


def _bound_inside(tree: ast.AST) -> Iterator[str]:
    """What `:=` binds at the top. Since Python 3.12, tables of symbols do not tell it of comprehensions."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.NamedExpr):
            yield node.target.id
        if not isinstance(node, _SCOPES):
            yield from _bound_inside(node)


def _read(table: symtable.SymbolTable) -> Iterator[str]:
    """What is looked up at the top of the source, from there or from any scope inside."""
    for scope in _tables(table):
        for symbol in scope.get_symbols():
            if symbol.is_referenced() and (symbol.is_global() or scope is table):
                yield symbol.get_name()


def _places(tree: ast.Module, wanted: set[str]) -> Iterator[UnknownName]:
    """Where each of these names is read first; not where the source allows for its absence."""
    quiet = set(_quiet(tree))
    certain = set(_certain(tree))
    found: dict[str, UnknownName] = {}
    for node in ast.walk(tree):
        if not isinstance(node, ast.Name) or node.id not in wanted or id(node) in quiet:
            continue
        here = UnknownName(node.id, node.lineno, node.col_offset + 1, id(node) in certain)
        before = found.get(node.id)
        if before is None or (not here.certain, here.line, here.column) < (
            not before.certain,
            before.line,
            before.column,
        ):
            found[node.id] = here
    yield from sorted(found.values(), key=lambda name: (name.line, name.column))


def _quiet(tree: ast.Module) -> Iterator[int]:
    """The names in annotations, which need not be evaluated, and where an absent name is caught."""
    for node in ast.walk(tree):
        inside: list[ast.AST] = []
        if isinstance(node, ast.Try | ast.TryStar) and any(map(_catches, node.handlers)):
            inside += node.body
        annotation = getattr(node, "annotation", None) or getattr(node, "returns", None)
        if isinstance(annotation, ast.AST):
            inside.append(annotation)
        yield from (id(name) for each in inside for name in ast.walk(each))


def _catches(handler: ast.ExceptHandler) -> bool:
    if handler.type is None:
        return True
    return any(
        isinstance(name, ast.Name) and name.id in _CATCH_NAME_ERRORS
        for name in (handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type])
    )


def _certain(tree: ast.Module) -> Iterator[int]:
    """The names that every run reads, if it comes to its end: what the top evaluates without a condition."""
    for statement in tree.body:
        if _leaves(statement):
            return
        if isinstance(statement, _AT_ONCE):
            yield from _evaluated(statement)


def _leaves(statement: ast.stmt) -> bool:
    """Whether the source may end here on purpose."""
    return any(
        isinstance(node, ast.Raise | ast.Try | ast.TryStar)
        or (isinstance(node, ast.Name) and node.id in ("exit", "quit", "sys", "os", "SystemExit"))
        for node in ast.walk(statement)
    )


def _evaluated(node: ast.AST) -> Iterator[int]:
    if isinstance(node, _MAYBE):
        return
    if isinstance(node, ast.Name):
        yield id(node)
    for inner in ast.iter_child_nodes(node):
        yield from _evaluated(inner)
