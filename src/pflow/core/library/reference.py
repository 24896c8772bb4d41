"""What a reference to a workflow means: a name of the library, of a draft, or a path."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterable
from pathlib import Path
from typing import Literal

from pflow.core.advice import Advice
from pflow.core.errors import NotFoundError, SecurityError
from pflow.core.file.file_name import is_name, show
from pflow.core.file.home import Home, absolute
from pflow.core.file.os_call import storage_error
from pflow.core.frozen import Frozen
from pflow.core.library.saved_workflow import missing_workflow
from pflow.core.library.workflow_manager import PATH_SUFFIXES, WorkflowManager


class Resolved(Frozen):
    """What a reference to a workflow means. `path` is the file; `name` is that of a path's file, too."""

    kind: Literal["library", "draft", "path"]
    name: str
    path: Path


def resolve(reference: str, home: Home | None = None, others: Iterable[str] = ()) -> Resolved:
    """Find a workflow by library name, draft name or path, in this order. `others` are names that exist besides.

    A string is a path only if it has a separator, starts with `~` or has a document's suffix, so a bare name
    never reads the current directory. A name ending in `.json` may be a draft as well, and is one first.
    """
    library = WorkflowManager(home)
    drafts = WorkflowManager.for_drafts(library.home)
    if not is_path(reference):
        for manager in (library, drafts):
            if manager.exists(reference):
                return Resolved(kind=manager.kind, name=reference, path=manager.path(reference))
        names = list(dict.fromkeys([*others, *library.names(), *drafts.names()]))
        raise missing_workflow(f"there is no workflow `{reference}`", reference, names)
    name = reference.removesuffix(".json")
    if name != reference and is_name(name) and drafts.exists(name):
        return Resolved(kind="draft", name=name, path=drafts.path(name))
    return _resolve_path(reference)


def is_path(reference: str) -> bool:
    """Whether a reference means a file, not a name."""
    separated = "/" in reference or os.sep in reference
    return separated or reference.startswith("~") or reference.lower().endswith(PATH_SUFFIXES)


def is_text(workflow: str) -> bool:
    """Whether it is the text of a document: JSON begins with a brace, and YAML has lines with colons in them."""
    return workflow.lstrip().startswith("{") or ("\n" in workflow and ":" in workflow)


def _resolve_path(reference: str) -> Resolved:
    if "\0" in reference:
        raise SecurityError("a path to a workflow holds a NUL")
    path = absolute(os.path.expanduser(reference))  # noqa: PTH111 - Path raises on an unknown user
    try:
        found = path.stat()
    except OSError as error:
        if error.errno not in (errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG):
            raise storage_error("read", path, error) from error
        raise NotFoundError(
            f"there is no file `{show_path(reference)}`",
            suggestions=[Advice("saved workflows are run by name; `{list_workflows}` shows them")],
        ) from None
    if not stat.S_ISREG(found.st_mode):
        raise NotFoundError(f"`{show_path(reference)}` is not a file")
    return Resolved(kind="path", name=path.name.split(".", 1)[0], path=path)


def show_path(path: str) -> str:
    """A path that its user typed, as one line of printable text."""
    return path if path.isprintable() and len(path) < 200 else show(path, 200)
