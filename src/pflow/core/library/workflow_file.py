"""The contents of a saved workflow's file: a document and its metadata. Not where the file is."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import orjson

from pflow.core.errors import DocumentError
from pflow.core.file.file_name import show
from pflow.core.json_type import Json

if TYPE_CHECKING:
    from pflow.core.document.issue import Issue

MAX_DOCUMENT = 5 << 20
"""Bytes of a normalised document: more than an author may write, since every node may have gained an edge."""


def encode_file(document: Mapping[str, object], metadata: Mapping[str, object]) -> bytes:
    """The bytes of a workflow's file; a `DocumentError` if the document cannot be JSON or is too large."""
    try:
        size = len(orjson.dumps(document))
        data = orjson.dumps(
            {"workflow": document, "metadata": metadata},
            option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE,
        )
    except TypeError as error:
        raise DocumentError(f"the document cannot be saved as JSON: {show(str(error), 100)}") from None
    if size > MAX_DOCUMENT:
        raise DocumentError(
            f"the document has {size} bytes; at most {MAX_DOCUMENT} are allowed",
            suggestions=["keep large data in files and read them in a step"],
        )
    return data


def decode_file(name: str, data: bytes, *, strict: bool) -> tuple[Json, Json]:
    """Document and metadata of a workflow's file; a `DocumentError` if there is no document in it.

    A bare document that someone put there by hand is as good as one that was saved. `strict` reading loses
    nothing (large integers, repeated keys) and says where the text is wrong; the other way is for lists.
    """
    content = _parse_strictly(name, data) if strict else _parse(name, data)
    if not isinstance(content, dict):
        raise _unreadable(name, "it is not an object")
    document, metadata = content.get("workflow"), content.get("metadata")
    if "nodes" in content or not isinstance(document, dict):
        document, metadata = content, None
    if "nodes" not in document:
        raise DocumentError(
            f"`{name}` is not a workflow: it has no `nodes`",
            suggestions=[f"look at what `{name}.json` holds, and save the workflow again"],
        )
    described = document.get("description")
    known: Json = {"description": described if isinstance(described, str) else ""}
    known.update(metadata if isinstance(metadata, dict) else {})
    known["name"] = name
    return document, known


def now_text() -> str:
    """The time, as metadata has it."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def _parse(name: str, data: bytes) -> object:
    try:
        content: object = orjson.loads(data)
    except orjson.JSONDecodeError as error:
        raise _unreadable(name, f"line {error.lineno}, column {error.colno}: {error.msg}") from None
    return content


def _parse_strictly(name: str, data: bytes) -> object:
    # lazy: a list of workflows does without these
    from pflow.core.document.json_text import load_json, scan_json
    from pflow.core.document.position import Issues, Places

    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise _unreadable(name, f"byte {error.start} is not UTF-8") from None
    issues = Issues(Places(text, scan_json))
    content = load_json(text, issues)
    found = issues.found()
    if found:
        reason = f"line {found[0].line}, column {found[0].column}: {found[0].message}"
        raise _unreadable(name, reason, found)
    return content


def _unreadable(name: str, reason: str, issues: Sequence[Issue] = ()) -> DocumentError:
    return DocumentError(
        f"`{name}` cannot be read: {reason}",
        issues=issues,
        suggestions=["repair the file by hand, delete the workflow, or save it again"],
    )
