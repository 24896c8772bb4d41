"""Places that no step may change or read, whatever a document says.

Decided on the real path, after every link. A workflow that has to change such a place uses a `shell` step.
"""

from __future__ import annotations

import os
import sys

from pflow.core.errors import SecurityError
from pflow.engine.context import find_step
from pflow.nodes.file.path import file_error

_GIT = "git hooks or git settings"

_IN_HOME = {
    "SSH keys and settings": (".ssh",),
    "shell start-up files": (
        *(".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".bash_aliases", ".profile"),
        *(".zshrc", ".zshenv", ".zprofile", ".zlogin", ".zlogout"),
        *(".kshrc", ".cshrc", ".tcshrc", ".login", ".logout", ".config/fish"),
    ),
    "programs that start by themselves": (".config/autostart", ".config/systemd", "Library/LaunchAgents"),
    _GIT: (".gitconfig", ".config/git"),
    "keys and credentials": (".gnupg", ".netrc", ".aws", ".kube", ".docker/config.json"),
}
_FOLD = sys.platform in ("darwin", "win32")
"""Whether file systems usually take `.SSH` for `.ssh`."""


def real_path(path: str, *, follow: bool = True) -> str:
    """Where `path` really leads; without `follow` a link at its end stands for itself."""
    try:
        if follow:
            return os.path.realpath(path)
        folder, name = os.path.split(path)
        return os.path.join(os.path.realpath(folder or "."), name)  # noqa: PTH118 a Path would drop a final `.`
    except OSError as error:  # the current directory is gone
        raise file_error("reach", path, error) from error


def check_change(doing: str, path: str) -> None:
    """Raise `SecurityError` if no step may write, replace or delete the real path `path`."""
    place = _protected(path)
    if place is not None:
        raise SecurityError(f"refused to {doing}: the path leads to {place}", suggestions=["choose another path"])


def check_read(doing: str, path: str) -> None:
    """Raise `SecurityError` if no step may read the real path `path`."""
    if any(_inside(path, os.path.join(home, "settings.json")) for home in _pflow_homes()):  # noqa: PTH118
        raise SecurityError(
            f"refused to {doing}: the path leads to pflow's settings, which hold secrets",
            suggestions=["let a workflow input marked `secret` carry the value"],
        )


def _protected(path: str) -> str | None:
    """What is protected at `path`, in words."""
    if _is_git(path):
        return _GIT
    if any(_inside(path, folder) for folder in ("/proc", "/sys", "/dev")) and not _inside(path, "/dev/shm"):
        return "devices and the kernel's files"
    if any(_inside(path, home) for home in _pflow_homes()) and not _is_own(path):
        return "pflow's own directory"
    home = os.path.realpath(os.path.expanduser("~"))  # noqa: PTH111
    for label, names in _IN_HOME.items():
        for name in names:
            place = os.path.join(home, name)  # noqa: PTH118
            # A start-up file is often a link into a directory of such files; its target is protected as well.
            if _inside(path, place) or _inside(path, os.path.realpath(place)):
                return label
    return None


def _pflow_homes() -> set[str]:
    step = find_step()
    homes = [os.path.expanduser("~/.pflow"), os.environ.get("PFLOW_HOME"), step and step.services.home]  # noqa: PTH111
    return {os.path.realpath(home) for home in homes if home}


def _is_own(path: str) -> bool:
    """Whether this is a file of the running run, such as a download that a step now moves to its place."""
    step = find_step()
    return step is not None and _inside(path, os.path.realpath(step.services.home / "runs" / step.run_id))


def _is_git(path: str) -> bool:
    parts = _fold(path).replace(os.sep, "/").split("/")
    for index, part in enumerate(parts):
        if part.endswith(".git"):
            below = parts[index + 1 :]
            if not below:
                # A file of this name sends git to a directory, hooks and all.
                return part == ".git"
            if "hooks" in below or below[-1] in ("config", "config.worktree"):
                return True
    return False


def _inside(path: str, folder: str) -> bool:
    path, folder = _fold(path), _fold(folder)
    return path == folder or path.startswith(folder.rstrip(os.sep) + os.sep)


def _fold(path: str) -> str:
    return path.casefold() if _FOLD else path
