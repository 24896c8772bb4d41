"""Nodes of installed packages: entry points in the group `pflow.nodes`, found by reading, imported only when used.

Only what is installed for this Python counts, and what `PYTHONPATH` names: never the current directory, in which
anybody's files may lie. The metadata is read here since `importlib.metadata` takes longer than a whole short run.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from pflow.core.frozen import Frozen

GROUP = "pflow.nodes"
PACKAGE = "package"
"""The key of an entry that says which package it is from."""

METADATA = "metadata"
"""The key of an entry that says which file of metadata declares it."""

_INSTALLED = ("site-packages", "dist-packages")
_METADATA = (".dist-info", ".egg-info")
_MOST_BYTES = 1 << 20


class EntryPoint(Frozen):
    """One line of a package's metadata. Without an `attribute` it means every node of the module."""

    package: str
    name: str
    module: str
    attribute: str
    metadata: str


def folder_stamps() -> dict[str, int]:
    """The directories that packages are installed in. The times change when one is installed or removed."""
    stamps: dict[str, int] = {}
    for folder in _folders():
        try:
            stamps[folder] = os.stat(folder).st_mtime_ns  # noqa: PTH116
        except OSError:
            continue
    return stamps


def file_stamps(paths: Mapping[str, object]) -> dict[str, list[int]]:
    """The same for files that were read."""
    stamps: dict[str, list[int]] = {}
    for path in paths:
        try:
            found = os.stat(path)  # noqa: PTH116
        except OSError:
            continue
        stamps[path] = [found.st_mtime_ns, found.st_size]
    return stamps


def entry_points() -> Iterator[EntryPoint]:
    """What all installed packages declare, in the order of `sys.path`, then by name."""
    seen: set[str] = set()
    for folder in folder_stamps():
        try:
            listed = sorted(item for item in os.listdir(folder) if item.endswith(_METADATA))  # noqa: PTH208
        except OSError:
            continue
        for item in listed:
            package = item.rpartition(".")[0].partition("-")[0].replace("_", "-").lower()
            if package not in seen:
                found = list(read_metadata(Path(folder, item, "entry_points.txt")))
                seen |= {package} if found else set()
                yield from found


def read_metadata(path: Path) -> Iterator[EntryPoint]:
    """The entry points of one package. A line that is not understood is skipped."""
    try:
        with path.open("rb") as file:
            text = file.read(_MOST_BYTES)
    except OSError:
        return
    if GROUP.encode() not in text:
        return
    name, _, version = path.parent.name.rpartition(".")[0].partition("-")
    package = f"{name.replace('_', '-')} {version.partition('-')[0]}".strip()
    is_ours = False
    for line in text.decode(errors="replace").splitlines():
        if line.startswith("["):
            is_ours = line.strip() == f"[{GROUP}]"
        elif is_ours and "=" in line and not line.startswith(("#", ";")):
            point, _, target = line.partition("=")
            module, _, attribute = (part.strip() for part in target.partition("[")[0].partition(":"))
            if all(word.isidentifier() for word in module.split(".")):
                yield EntryPoint(
                    package=package, name=point.strip(), module=module, attribute=attribute, metadata=str(path)
                )


def is_declared(module: str, attribute: str, metadata: str) -> bool:
    """Whether an installed package still declares an object, or all of its module."""
    path = Path(metadata)
    if str(path.parent.parent) not in _folders():
        return False
    return any(point.module == module and point.attribute in ("", attribute) for point in read_metadata(path))


def _folders() -> list[str]:
    named = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    chosen = {path for path in named if os.path.isabs(path)}  # noqa: PTH117
    folders = [path for path in sys.path if path.endswith(_INSTALLED) or path in chosen]
    return list(dict.fromkeys(folders))
