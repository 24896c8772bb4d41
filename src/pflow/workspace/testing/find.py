"""Finds test files: those that are named, those of workflows, and those of a directory and of the home."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from pflow.core.advice import Advice
from pflow.core.errors import NotFoundError
from pflow.core.file.home import Home
from pflow.core.suggest import did_you_mean
from pflow.core.suite.read import SUFFIXES, is_test_file

_LEFT_OUT = frozenset(("node_modules", "__pycache__", "venv", "site-packages"))
PROJECT = Path(".pflow") / "tests"
"""Where a project keeps the tests of its workflows."""

MOST_FOLDERS = 20_000
"""Directories that are looked through."""


def find_suites(words: Iterable[str], home: Home, here: Path) -> list[Path]:
    """The test files that words mean: files, directories, or workflows. Without any, those of here and of the home.

    Raises `NotFoundError` for a word that leads to none.
    """
    chosen = list(words)
    if not chosen:
        return list(dict.fromkeys([*_inside(here), *_inside(home.tests)]))
    found: list[Path] = []
    for word in chosen:
        found += _meant(word, home, here)
    return list(dict.fromkeys(found))


def stem_of(path: Path) -> str:
    """The name of a test file without its ending, or of a document."""
    for suffix in (*SUFFIXES, ".pflow.md", path.suffix):
        if suffix and path.name.endswith(suffix):
            return path.name.removesuffix(suffix)
    return path.name


def _meant(word: str, home: Home, here: Path) -> list[Path]:
    path = here / Path(word).expanduser()
    if path.is_dir():
        return list(_inside(path))
    if is_test_file(path):
        return [path]
    folders = [path.parent, here, here / PROJECT, home.tests] if path.is_file() else [here, here / PROJECT, home.tests]
    stem = stem_of(path)
    for folder in folders:
        for suffix in SUFFIXES:
            if (file := folder / f"{stem}{suffix}").is_file():
                return [file]
    names = [stem_of(file) for folder in dict.fromkeys(folders) for file in _inside(folder, deep=False)]
    near = did_you_mean(stem, names)
    raise NotFoundError(
        f"`{word}` has no tests: there is no `{stem}.test.yaml`",
        suggestions=[*([near] if near else []), Advice("make one of a run: `{make_test}`", run="RUN")],
    )


def _inside(folder: Path, *, deep: bool = True) -> Iterator[Path]:
    """Test files of a directory and those in it; hidden ones are left out, but for what a project keeps."""
    if not folder.is_dir():
        return
    for count, (root, folders, files) in enumerate(os.walk(folder)):
        own = [name for name in sorted(folders) if not name.startswith(".") and name not in _LEFT_OUT]
        if ".pflow" in folders and (Path(root) / PROJECT).is_dir():
            yield from _inside(Path(root) / PROJECT)
        folders[:] = own if deep and count < MOST_FOLDERS else []
        yield from (Path(root) / name for name in sorted(files) if is_test_file(Path(name)))
