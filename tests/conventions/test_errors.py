"""The tree in the docstring of `core/errors.py` is the tree of classes."""

import importlib
import pkgutil
from collections.abc import Iterator

import pflow
from pflow.core import errors


def test_the_documented_tree_is_the_real_one() -> None:
    documented = (errors.__doc__ or "").split("\n\n", 1)[1]
    rows = [(len(line) - len(line.lstrip()), line.split()) for line in documented.splitlines() if line.strip()]
    assert [(indent // 4, *words) for indent, words in rows] == list(tree(errors.PflowError))


def tree(cls: type[errors.PflowError], depth: int = 0) -> Iterator[tuple[int, str, str, str]]:
    """Depth, name, code and exit code of a class and of those below it, in order of definition."""
    yield depth, cls.__name__, cls.code, str(cls.exit_code)
    for child in cls.__subclasses__():
        if child.__module__ == errors.__name__:
            yield from tree(child, depth + 1)


OF_EXTRAS = ("adapters.telemetry", "semantic.encoder", "semantic.weights")
"""Modules that import packages of an extra, which need not be installed."""


def test_every_error_is_defined_in_one_module() -> None:
    for module in pkgutil.walk_packages(pflow.__path__, "pflow."):
        if not module.name.endswith(("__main__", *OF_EXTRAS)):
            importlib.import_module(module.name)
    assert {cls.__module__ for cls in below(errors.PflowError)} == {errors.__name__}


def below(cls: type[errors.PflowError]) -> Iterator[type[errors.PflowError]]:
    """All classes that derive from a class."""
    for child in cls.__subclasses__():
        yield child
        yield from below(child)
