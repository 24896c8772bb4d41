"""Documents that someone offers: in a file, a directory or a repository. Reads them and keeps nothing."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath

from pflow.core.document.parse import Parsed, parse_text, read_file
from pflow.core.document.plain_copy import MAX_SIZE
from pflow.core.errors import DocumentError, NotFoundError, UsageError
from pflow.core.file.file_name import is_name
from pflow.core.file.home import absolute
from pflow.core.frozen import Frozen
from pflow.core.library.reference import is_path
from pflow.core.library.workflow_manager import PATH_SUFFIXES
from pflow.core.printable import shorten
from pflow.workspace.sharing.git_source import FETCH_SECONDS, fetch_files, is_git_url

MOST_FILES = 1000
"""Files of a directory or repository that are looked into."""

_FOLDERS = ("", "workflows/", ".pflow/workflows/")
_WANTED = re.compile(r"(?:(?:\.pflow/)?workflows/)?[^/]+\.(?:json|yaml|yml)", re.IGNORECASE)
_NODES = re.compile(r"(?:\.pflow/)?nodes/.+\.py")


class Origin(Frozen):
    """Where a workflow came from: a path or an address, and the commit."""

    source: str
    commit: str = ""
    file: str = ""


class Offered(Frozen):
    """One document, the name it would get, and where it comes from."""

    name: str
    parsed: Parsed
    origin: Origin


class Offer(Frozen):
    """The documents that a reference leads to, files of nodes beside them, and what was left out and why."""

    documents: Sequence[Offered]
    nodes: Sequence[str] = ()
    skipped: Sequence[str] = ()


def read_offer(reference: str, *, name: str = "", ref: str = "", timeout: float = FETCH_SECONDS) -> Offer:
    """What a file, a directory or a repository offers; raises `PflowError` if that is nothing."""
    if is_git_url(reference):
        fetched = fetch_files(reference, ref, _WANTED, most_bytes=MAX_SIZE, timeout=timeout)
        files = {path: None if data is None else _parse(path, data) for path, data in _few(fetched.files).items()}
        nodes = [path for path in fetched.paths if _NODES.fullmatch(path)]
        return _choose(reference, files, nodes, name, fetched.commit)
    if ref:
        raise UsageError("`--ref` names a commit of a repository; a path has none")
    path = absolute(os.path.expanduser(reference))  # noqa: PTH111 - Path raises on an unknown user
    if path.is_dir():
        found, nodes = _list_folder(path)
        return _choose(str(path), {file: read_file(path / file) for file in found}, nodes, name, "")
    if not path.exists() and not is_path(reference):
        raise NotFoundError(
            f"there is no file or directory `{shorten(reference, 200)}`",
            suggestions=["give a path, or the address of a git repository"],
        )
    parsed = read_file(path)
    if parsed.document is None:
        raise DocumentError(f"`{shorten(reference, 200)}` is not a workflow", issues=parsed.issues)
    origin = Origin(source=str(path))
    return Offer(documents=[Offered(name=name or _name(path.name, parsed), parsed=parsed, origin=origin)])


def _parse(path: str, data: bytes) -> Parsed:
    return parse_text(data, suffix=PurePosixPath(path).suffix)


def _few(files: Mapping[str, bytes | None]) -> Mapping[str, bytes | None]:
    if len(files) > MOST_FILES:
        raise UsageError(
            f"there are more than {MOST_FILES:,} files to look into", suggestions=["give one of them instead"]
        )
    return files


def _list_folder(folder: Path) -> tuple[list[str], list[str]]:
    """The files that may be documents, and those that hold nodes. Links are not followed."""
    found: list[str] = []
    nodes: list[str] = []
    for inner in (*_FOLDERS, "nodes/", ".pflow/nodes/"):
        try:
            with os.scandir(folder / inner) as entries:
                names = [f"{inner}{entry.name}" for entry in entries if entry.is_file(follow_symlinks=False)]
        except OSError:
            continue
        found += [name for name in names if _WANTED.fullmatch(name)]
        nodes += [name for name in names if _NODES.fullmatch(name)]
        _few(dict.fromkeys(found, b""))
    return sorted(found), sorted(nodes)


def _choose(reference: str, files: Mapping[str, Parsed | None], nodes: Sequence[str], name: str, commit: str) -> Offer:
    documents: list[Offered] = []
    skipped: list[str] = []
    for file, parsed in files.items():
        if parsed is None:
            skipped.append(f"`{file}` is too large for a workflow")
        elif parsed.document is not None:
            origin = Origin(source=reference, commit=commit, file=file)
            documents.append(Offered(name=_name(file, parsed), parsed=parsed, origin=origin))
        elif _is_meant(parsed):
            skipped.append(f"`{file}` is not valid: {parsed.issues[0].message}")
    if not documents:
        raise NotFoundError(
            f"there is no workflow in `{shorten(reference, 200)}`",
            details={"skipped": skipped} if skipped else None,
            suggestions=["workflows are looked for there, in `workflows/` and in `.pflow/workflows/`"],
        )
    if name and len(documents) > 1:
        raise UsageError(
            f"`--as` names one workflow, and there are {len(documents)}", suggestions=["add one of the files instead"]
        )
    if name:
        documents = [documents[0]._replace(name=name)]
    names = [each.name for each in documents]
    twice = next((each for each in names if names.count(each) > 1), "")
    if twice:
        both = " and ".join(f"`{each.origin.file}`" for each in documents if each.name == twice)
        raise UsageError(f"{both} would both be `{twice}`", suggestions=["add them one by one with `--as NAME`"])
    return Offer(documents=documents, nodes=nodes, skipped=skipped)


def _is_meant(parsed: Parsed) -> bool:
    """Whether a file that is not a document was likely meant as one: others have no `nodes`."""
    value = parsed.places.value
    return isinstance(value, Mapping) and "nodes" in value


def _name(file: str, parsed: Parsed) -> str:
    """The name of a document: its own if that can be one, else that of its file."""
    own = parsed.document.name if parsed.document is not None else ""
    for name in (own, PurePosixPath(file).name.split(".", 1)[0]):
        if name and is_name(name) and not name.lower().endswith(PATH_SUFFIXES):
            return name
    raise UsageError(
        f"`{shorten(file, 100)}` gives no name that a workflow can have", suggestions=["add it with `--as NAME`"]
    )
