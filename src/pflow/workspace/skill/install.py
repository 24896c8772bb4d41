"""Puts the skill where a host reads it, and takes it out again. What a person wrote there is never lost."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from pflow.core.errors import ExistsError, NotFoundError, SecurityError, StorageError
from pflow.core.file.atomic import write_atomic
from pflow.core.frozen import Frozen
from pflow.core.printable import shorten
from pflow.core.suggest import did_you_mean
from pflow.mcp.hosts.format import read_config
from pflow.workspace.installation import copy_names
from pflow.workspace.skill.text import State, judge_text, skill_text

_SKILL = Path("skills") / "pflow" / "SKILL.md"

PROJECT_FOLDERS: Mapping[str, str] = {"claude": ".claude", "codex": ".agents", "cursor": ".cursor"}
"""The hosts that read skills, and the folder of a project that each looks into; by default the same in the home."""


class SkillFile(Frozen):
    """The skill's place in a host, what is there now, and what would be written."""

    host: str
    path: Path
    state: State
    text: str
    before: bytes | None

    def view(self) -> dict[str, object]:
        """For programs."""
        return {"host": self.host, "path": str(self.path), "state": self.state, "text": self.text}


def find_skill(host: str, *, person: Path, environ: Mapping[str, str], project: Path | None = None) -> SkillFile:
    """The place of the skill: for all that a person does with a host, or in one project."""
    if host not in PROJECT_FOLDERS:
        known = list(PROJECT_FOLDERS)
        raise NotFoundError(
            f"pflow does not know where `{shorten(host)}` reads skills",
            details={"known": known},
            suggestions=[
                did_you_mean(host, known) or "`pflow skill show` prints the text, to put where your agent reads skills"
            ],
        )
    if project is not None:
        path = project / PROJECT_FOLDERS[host] / _SKILL
        _check_inside(path, project)
    elif host == "claude" and environ.get("CLAUDE_CONFIG_DIR"):
        path = Path(environ["CLAUDE_CONFIG_DIR"]) / _SKILL
    else:
        path = person / PROJECT_FOLDERS[host] / _SKILL
    before = _read(path)
    return SkillFile(host=host, path=path, state=judge_text(before), text=skill_text(), before=before)


def check_free(found: SkillFile, *, overwrite: bool) -> None:
    """Raise `ExistsError` if the file there is not pflow's, or not as pflow wrote it."""
    if overwrite or found.state in ("new", "same", "older"):
        return
    hints = ["`--overwrite` replaces it, and keeps a copy beside it"]
    if found.state == "edited":
        raise ExistsError(f"`{found.path}` was changed by hand since pflow wrote it", suggestions=hints)
    raise ExistsError(f"`{found.path}` is there already, and pflow did not write it", suggestions=hints)


def install_skill(found: SkillFile, *, overwrite: bool = False) -> Path | None:
    """Write it; returns the copy of what was there, if that was more than an older version of it."""
    check_free(found, overwrite=overwrite)
    target = _unchanged(found)
    backup = _keep(found, target)
    mode = target.stat().st_mode & 0o777 if found.before is not None else None
    write_atomic(target, found.text.encode())
    if mode is not None:
        target.chmod(mode)
    return backup


def check_removable(found: SkillFile, *, overwrite: bool) -> None:
    """Raise `ExistsError` for a file that is not pflow's, or that was changed by hand."""
    if found.state == "other":
        raise ExistsError(f"`{found.path}` was not written by pflow", suggestions=["remove it by hand if it should go"])
    if found.state == "edited" and not overwrite:
        raise ExistsError(
            f"`{found.path}` was changed by hand since pflow wrote it",
            suggestions=["`--overwrite` removes it, and keeps a copy beside it"],
        )


def remove_skill(found: SkillFile, *, overwrite: bool = False) -> Path | None:
    """Take it out, with its own directory if nothing else is there; returns the copy of what was changed by hand."""
    if found.state == "new":
        return None
    check_removable(found, overwrite=overwrite)
    backup = _keep(found, _unchanged(found))
    try:
        found.path.unlink()  # of a link, the link
    except OSError as error:
        raise StorageError(f"`{found.path}` cannot be removed: {error.strerror}") from error
    try:
        found.path.parent.rmdir()
    except OSError:
        pass  # something else is there as well
    return backup


def _read(path: Path) -> bytes | None:
    try:
        return read_config(path)
    except NotFoundError:
        return None


def _unchanged(found: SkillFile) -> Path:
    """The file itself, behind links; raises `StorageError` if it is not as it was when a person was asked."""
    if _read(found.path) != found.before:
        raise StorageError(f"`{found.path}` changed just now", suggestions=["try again"])
    return found.path.resolve()


def _keep(found: SkillFile, target: Path) -> Path | None:
    if found.before is None or found.state in ("same", "older"):
        return None
    backup = next(path for path in copy_names(target) if not os.path.lexists(path))
    write_atomic(backup, found.before)
    return backup


def _check_inside(path: Path, project: Path) -> None:
    """Raise `SecurityError` if links lead out of the project: what it holds may come from someone else."""
    target = path.resolve()
    if not target.is_relative_to(project.resolve()):
        raise SecurityError(
            f"`{path}` leads out of the project, to `{target}`",
            suggestions=["remove the link, or install the skill without `--project`"],
        )
