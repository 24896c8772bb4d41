"""Files that steps of a run have left, for as long as runs that were forked from it may read them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from pflow.core.errors import StorageError
from pflow.core.file.home import Home

_NEEDED_BY = ".needed-by-"


def share_files(home: Home, run_id: str, fork: str) -> None:
    """Keep the files of a run, and those that it has of others, as long as a run that is forked from it is kept."""
    for folder in _folders(home):
        if folder.name == run_id or (folder / f"{_NEEDED_BY}{run_id}").exists():
            try:
                (folder / f"{_NEEDED_BY}{fork}").touch(mode=0o600)
            except OSError as error:
                raise StorageError(f"`{folder}` cannot be written: {error.strerror}") from error


def free_folders(home: Home, is_gone: Callable[[str], bool]) -> list[Path]:
    """The folders of runs that are gone, without those that a run needs which is not."""
    gone = [folder for folder in _folders(home) if is_gone(folder.name)]
    return [folder for folder in gone if all(map(is_gone, _needed_by(folder)))]


def _needed_by(folder: Path) -> list[str]:
    return [mark.name.removeprefix(_NEEDED_BY) for mark in folder.glob(f"{_NEEDED_BY}*")]


def _folders(home: Home) -> list[Path]:
    return [folder for folder in home.runs.iterdir() if folder.is_dir()] if home.runs.is_dir() else []
