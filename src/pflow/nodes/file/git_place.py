"""Which paths git takes its settings, hooks and history from: by name, by what lies beside them, and by git's settings.

What is written there decides what git runs. Nothing here starts git.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

_SETTINGS = frozenset({"config", "config.worktree", "credentials"})
_PIECES = frozenset({"HEAD", "commondir", "objects", "refs"})
"""What makes a directory a repository; names that are equal but for case are equal on some file systems."""

_HEADER = r"\s*\[\s*([A-Za-z0-9.-]+)[^\]]*\]"
_MOST_INCLUDES = 100
_MOST_CHARACTERS = 1 << 20


def is_git(path: str) -> bool:
    """Whether a file at the real path `path` is, or would become, a part of git's own files."""
    parts = path.replace(os.sep, "/").split("/")
    if any(map(_is_git_name, parts)):
        return True
    for index, part in enumerate(parts[:-1]):
        below = parts[index + 1 :]
        if part.casefold().endswith(".git") and ("hooks" in below or below[-1] in _SETTINGS):
            return True
    return in_repository(path) or any(_inside(path, place) for place in _settings_places(path))


def is_settings(path: str) -> bool:
    """Whether the real path `path` is a repository's configuration, which may hold tokens."""
    folder, name = os.path.split(path)
    if name.casefold() not in _SETTINGS:
        return False
    return any(map(_is_git_name, folder.replace(os.sep, "/").split("/"))) or in_repository(path)


def in_repository(path: str) -> bool:
    """Whether `path` lies directly in a repository (not in its working tree), or would make a directory one."""
    return any(_is_repository(folder, _below(path, folder)) for folder in _parents(path))


def could_make_repository(path: str) -> bool:
    """Whether `path` has a name that makes directories repositories."""
    return any(part.casefold() in {piece.casefold() for piece in _PIECES} for part in Path(path).parts)


def find_bare(path: str) -> tuple[str, str]:
    """The repository without a working tree that git would find from the directory `path`, and one around it.

    Each is "" if there is none. What lies in a `.git` belongs to the repository around it.
    """
    for folder in (path, *_parents(path)):
        if os.path.lexists(os.path.join(folder, ".git")):  # noqa: PTH118
            return "", ""
        if _is_repository(folder, ""):
            own = any(map(_is_git_name, Path(folder).parts))
            return folder, "" if own else next(_working_trees(folder), "")
    return "", ""


def _is_git_name(name: str) -> bool:
    """`.git`, also as file systems of other systems take it."""
    return name.casefold().rstrip(". ") in (".git", "git~1")


def _is_repository(folder: str, new: str) -> bool:
    """Whether git would take `folder` for a repository once the path `new` below it exists."""
    first = new.partition("/")[0].casefold()

    def has(name: str) -> bool:
        return first == name.casefold() or os.path.lexists(os.path.join(folder, name))  # noqa: PTH118

    return has("HEAD") and (has("commondir") or (has("objects") and has("refs")))


def _settings_places(path: str) -> Iterator[str]:
    """Files that git's settings include, and directories that they name for hooks, as far as they may be at `path`."""
    home = os.path.expanduser("~")  # noqa: PTH111
    settings = os.environ.get("XDG_CONFIG_HOME") or os.path.join(home, ".config")  # noqa: PTH118
    for file in (os.path.join(home, ".gitconfig"), os.path.join(settings, "git/config"), "/etc/gitconfig"):  # noqa: PTH118
        yield from _named_in(file, next(_working_trees(path), home))
    for tree in _working_trees(path):
        for folder in _git_folders(os.path.join(tree, ".git")):  # noqa: PTH118
            for name in ("config", "config.worktree"):
                yield from _named_in(os.path.join(folder, name), tree)  # noqa: PTH118


def _named_in(file: str, tree: str) -> Iterator[str]:
    """What a file of git's settings includes, and what it names for hooks, relative to the working tree."""
    waiting, seen = [file], {file}
    while waiting and len(seen) < _MOST_INCLUDES:
        current = waiting.pop()
        for section, key, value in _entries(_text(current)):
            expanded = os.path.expanduser(value)  # noqa: PTH111
            if section.startswith("include") and key == "path":
                included = os.path.realpath(os.path.join(os.path.dirname(current), expanded))  # noqa: PTH118, PTH120
                yield included
                if included not in seen:
                    seen.add(included)
                    waiting.append(included)
            elif section == "core" and key in ("hookspath", "attributesfile") and value:
                yield os.path.realpath(os.path.join(tree, expanded))  # noqa: PTH118


def _entries(text: str) -> Iterator[tuple[str, str, str]]:
    """Section, key and value of each line that has them; names in lower case."""
    section = ""
    for line in text.replace("\\\n", "").splitlines():
        while header := re.match(_HEADER, line):
            section = header[1].lower()
            line = line[header.end() :]
        key, _, value = line.partition("=")
        value = re.split(r"\s[#;]", value)[0].strip()
        yield section, key.strip().lower(), value.replace("\\\\", "\\").replace('\\"', "").strip('"')


def _working_trees(path: str) -> Iterator[str]:
    """The directories around `path` that hold a `.git`, nearest first."""
    return (folder for folder in _parents(path) if os.path.lexists(os.path.join(folder, ".git")))  # noqa: PTH118


def _git_folders(git: str) -> Iterator[str]:
    """The directories of a repository's settings: `.git` itself, or where that file and `commondir` lead."""
    folder = git
    pointer = _text(git)
    if pointer.startswith("gitdir:"):
        folder = os.path.join(os.path.dirname(git), pointer.removeprefix("gitdir:").strip())  # noqa: PTH118, PTH120
    yield folder
    common = _text(os.path.join(folder, "commondir")).strip()  # noqa: PTH118
    if common:
        yield os.path.join(folder, common)  # noqa: PTH118


def _text(file: str) -> str:
    """The beginning of a regular file; nothing if it cannot be read."""
    try:
        if not os.path.isfile(file):  # noqa: PTH113 a pipe would be waited for
            return ""
        with open(file, encoding="utf-8", errors="replace") as opened:  # noqa: PTH123
            return opened.read(_MOST_CHARACTERS)
    except OSError:
        return ""


def _parents(path: str) -> Iterator[str]:
    """The directories above `path`, nearest first."""
    while (folder := os.path.dirname(path)) != path:  # noqa: PTH120
        yield folder
        path = folder


def _below(path: str, folder: str) -> str:
    return path[len(folder) :].lstrip(os.sep).replace(os.sep, "/")


def _inside(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip(os.sep) + os.sep)
