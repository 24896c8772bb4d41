"""Where the protected places are, for the user who runs pflow: the table of names laid out over home directories."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple

from pflow.engine.context import find_step
from pflow.nodes.file.protected_place import CHANGES, CREDENTIALS, HOST_KEY, KEYS, MOVED, SYSTEM

OWN = "pflow's own directory"

_FOLD = sys.platform in ("darwin", "win32")
"""Whether file systems usually take `.SSH` for `.ssh`."""

_XDG = {"XDG_CONFIG_HOME": ".config/", "XDG_DATA_HOME": ".local/share/", "XDG_CACHE_HOME": ".cache/"}
_VARIABLES = ("HOME", "PFLOW_HOME", "SUDO_USER", *_XDG, *MOVED)
"""What decides where the places are."""


class Place(NamedTuple):
    """A protected place: what it is, in words, and where. With `advice` no setting opens it for reading."""

    label: str
    path: str
    advice: str = ""


class Layout(NamedTuple):
    """The places of one environment.

    `roots` are the directories that the names of the table are below of, and what the names begin with there.
    """

    roots: tuple[tuple[str, str], ...]
    pflow_homes: tuple[str, ...]
    credentials: tuple[Place, ...]
    changes: tuple[Place, ...]
    elsewhere: tuple[Place, ...]

    def named(self, path: str, *, changes: bool) -> Place | None:
        """The place that `path` is in, by its name; with `changes` also of those that may be read."""
        labels = _labels(changes=changes)
        for root, before in (*self.roots, *((home, "") for home in homes_around(path))):
            if inside(path, root):
                parts = Path(path[len(root) :].lstrip(os.sep)).parts
                for count in range(1, len(parts) + 1):
                    label = labels.get(fold(before + "/".join(parts[:count])))
                    if label:
                        return Place(label, os.path.join(root, *parts[:count]))  # noqa: PTH118
        begin, end = HOST_KEY
        if path.startswith(begin) and path.endswith(end):
            return Place("keys of this machine", path)
        return next((place for place in self.elsewhere if inside(path, place.path)), None)

    def homes_for(self, path: str) -> tuple[str, ...]:
        """The directories of pflow that `path` could be in: ours, and any other user's."""
        return (*self.pflow_homes, *(f"{home}/.pflow" for home in homes_around(path)))


def find_layout() -> Layout:
    """The places for the environment as it is now, and for the home of the running step."""
    step = find_step()
    return _lay_out(tuple(map(os.environ.get, _VARIABLES)), str(step.services.home) if step else None)


@cache
def _lay_out(values: tuple[str | None, ...], step_home: str | None) -> Layout:
    given = {name: value for name, value in zip(_VARIABLES, values, strict=True) if value}
    homes = _homes(given)
    roots = [(home, "") for home in homes]
    roots += [(os.path.realpath(given[name]), before) for name, before in _XDG.items() if _is_absolute(given.get(name))]
    own = [given.get("PFLOW_HOME"), step_home, *(os.path.join(home, ".pflow") for home in homes)]  # noqa: PTH118
    elsewhere = tuple(_elsewhere(given, homes))
    return Layout(
        roots=tuple(roots),
        pflow_homes=tuple(dict.fromkeys(os.path.realpath(os.path.expanduser(home)) for home in own if home)),  # noqa: PTH111
        credentials=(*_below(roots, CREDENTIALS), *elsewhere),
        changes=tuple(_below(roots, CHANGES)),
        elsewhere=elsewhere,
    )


def _homes(given: Mapping[str, str]) -> list[str]:
    """The home directories of the user who runs pflow: what `HOME` says, what the system says, and behind `sudo`."""
    names = ("~", *(f"~{name}" for name in (_user(), given.get("SUDO_USER")) if name))
    found = [os.path.expanduser(name) for name in names]  # noqa: PTH111
    return list(dict.fromkeys(os.path.realpath(home) for home in found if _is_absolute(home)))


def _user() -> str | None:
    """The name of the user that pflow runs as."""
    if sys.platform == "win32":
        return None
    import pwd  # lazy: not everywhere

    try:
        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        return None


def _below(roots: list[tuple[str, str]], table: Mapping[str, tuple[str, ...]]) -> Iterator[Place]:
    for root, before in roots:
        for label, names in table.items():
            for name in names:
                if name.startswith(before):
                    yield Place(label, os.path.join(root, name.removeprefix(before)))  # noqa: PTH118


def _elsewhere(given: Mapping[str, str], homes: list[str]) -> Iterator[Place]:
    """Credentials that are not below a home directory, or that variables say are elsewhere.

    A variable that names a whole home, or what is around it, protects nothing: nothing could be read any more.
    """
    for label, paths in SYSTEM.items():
        for path in paths:
            yield Place(label, path)
    for variable, names in MOVED.items():
        for folder in filter(_is_absolute, given.get(variable, "").split(os.pathsep)):
            for name in names:
                place = os.path.realpath(os.path.join(folder, name))  # noqa: PTH118
                if not any(inside(home, place) for home in homes):
                    yield Place(KEYS, place)


def homes_around(path: str) -> Iterator[str]:
    """The home directory of any user that `path` is in, as far as its name tells."""
    parts = path.split("/", 4)
    if len(parts) > 3 and parts[1] in ("home", "Users") and not parts[0]:
        yield "/".join(parts[:3])
    for home in ("/root", "/var/root"):
        if inside(path, home):
            yield home


def inside(path: str, folder: str) -> bool:
    """Whether a path is a directory or lies in it."""
    path, folder = fold(path), fold(folder)
    return path == folder or path.startswith(folder.rstrip(os.sep) + os.sep)


def fold(path: str) -> str:
    """A path as this system's file systems usually compare it."""
    return path.casefold() if _FOLD else path


def _is_absolute(path: str | None) -> bool:
    return bool(path) and os.path.isabs(path or "")  # noqa: PTH117


@cache
def _labels(*, changes: bool) -> Mapping[str, str]:
    table = {**CREDENTIALS, **CHANGES} if changes else CREDENTIALS
    return {fold(name): label for label, names in table.items() for name in names}
