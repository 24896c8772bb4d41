"""The text of a saved workflow, as its author wrote it, and what it holds. Not where its file is."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal

import orjson

from pflow.core.errors import DocumentError
from pflow.core.file.file_name import show
from pflow.core.frozen import Frozen
from pflow.core.json_type import Json, object_in

if TYPE_CHECKING:
    from pflow.core.document.issue import Issue
    from pflow.core.document.parse import Parsed

Form = Literal["json", "yaml"]
FORMS: tuple[Form, ...] = ("json", "yaml")

MAX_DOCUMENT = 5 << 20
"""Bytes of a document: more than an author may write, since every node of an older one may have gained an edge."""

_INDENTED_BYTES = 1 << 19
"""A larger document is written without line breaks, so that it can be read back: texts have a limit, too."""


class WorkflowText(Frozen):
    """A document as text, byte for byte what its author gave, and the language that it is written in."""

    data: bytes
    form: Form

    @property
    def suffix(self) -> str:
        """The end of its file's name."""
        return f".{self.form}"

    def parse(self) -> Parsed:
        """The document, with its places and every issue of its form."""
        from pflow.core.document.parse import parse_text, parse_value  # lazy: lists of workflows do without

        envelope = _envelope(self)
        return parse_text(self.data, suffix=self.suffix) if envelope is None else parse_value(envelope["workflow"])

    def as_author(self) -> WorkflowText:
        """The same text; of a document that an earlier version wrapped in its metadata, the document alone."""
        envelope = _envelope(self)
        return self if envelope is None else text_of_value(object_in(envelope, "workflow"))


def text_of_value(document: Mapping[str, object]) -> WorkflowText:
    """The text of a document that was given as a value; a `DocumentError` if it cannot be JSON or is too large."""
    try:
        data = orjson.dumps(document)
        if len(data) <= _INDENTED_BYTES:
            data = orjson.dumps(document, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)
    except TypeError as error:
        raise DocumentError(f"the document cannot be saved as JSON: {show(str(error), 100)}") from None
    return checked_size(WorkflowText(data=data, form="json"))


def text_of_parsed(parsed: Parsed) -> WorkflowText:
    """The text that was parsed, or one of its own for a value."""
    if parsed.places.text is not None:
        return checked_size(
            WorkflowText(data=parsed.places.text.encode(), form="json" if parsed.places.is_json else "yaml")
        )
    value = parsed.places.value
    if not isinstance(value, Mapping):
        raise DocumentError("the document is not an object")
    return text_of_value(value)


def checked_size(text: WorkflowText) -> WorkflowText:
    """The text, if it is not too large."""
    if len(text.data) > MAX_DOCUMENT:
        raise DocumentError(
            f"the document has {len(text.data)} bytes; at most {MAX_DOCUMENT} are allowed",
            suggestions=["keep large data in files and read them in a step"],
        )
    return text


def read_document(name: str, text: WorkflowText, *, strict: bool) -> tuple[Json, Json]:
    """Document and metadata of a workflow's file; a `DocumentError` if there is no document in it.

    Earlier versions wrapped the document in an object with its metadata. `strict` reading loses nothing (large
    integers, repeated keys) and says where the text is wrong; the other way is for lists.
    """
    content = _parse_strictly(name, text) if strict or text.form == "yaml" else _parse(name, text.data)
    if not isinstance(content, dict):
        raise _unreadable(name, "it is not an object")
    metadata: Json = {}
    document = content
    if _is_envelope(content):
        document, metadata = object_in(content, "workflow"), object_in(content, "metadata")
    if "nodes" not in document:
        raise DocumentError(
            f"`{name}` is not a workflow: it has no `nodes`",
            suggestions=[f"look at what `{name}{text.suffix}` holds, and save the workflow again"],
        )
    described = document.get("description")
    return document, {"description": described if isinstance(described, str) else "", **metadata, "name": name}


def now_text() -> str:
    """The time, as metadata has it."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def _envelope(text: WorkflowText) -> Json | None:
    """The object around a document that an earlier version wrote; None for the text of a document."""
    if text.form != "json" or b'"metadata"' not in text.data:
        return None
    try:
        content: object = orjson.loads(text.data)
    except orjson.JSONDecodeError:
        return None
    return content if isinstance(content, dict) and _is_envelope(content) else None


def _is_envelope(content: Json) -> bool:
    return isinstance(content.get("workflow"), dict) and "nodes" not in content


def _parse(name: str, data: bytes) -> object:
    try:
        content: object = orjson.loads(data)
    except orjson.JSONDecodeError as error:
        raise _unreadable(name, f"line {error.lineno}, column {error.colno}: {error.msg}") from None
    return content


def _parse_strictly(name: str, text: WorkflowText) -> object:
    # lazy: a list of workflows does without these
    from pflow.core.document.json_text import load_json, scan_json
    from pflow.core.document.position import Issues, Places
    from pflow.core.document.yaml_text import load_yaml

    try:
        content = text.data.decode()
    except UnicodeDecodeError as error:
        raise _unreadable(name, f"byte {error.start} is not UTF-8") from None
    is_json = text.form == "json"
    issues = Issues(Places(content, scan_json if is_json else None))
    value = load_json(content, issues) if is_json else load_yaml(content, issues)
    found = issues.found()
    if found:
        reason = f"line {found[0].line}, column {found[0].column}: {found[0].message}"
        raise _unreadable(name, reason, found)
    return value


def _unreadable(name: str, reason: str, issues: Sequence[Issue] = ()) -> DocumentError:
    return DocumentError(
        f"`{name}` cannot be read: {reason}",
        issues=issues,
        suggestions=["repair the file by hand, delete the workflow, or save it again"],
    )


def summary_of(name: str, text: WorkflowText) -> object:
    """What a document says of itself."""
    try:
        return read_document(name, text, strict=False)[1]["description"]
    except DocumentError:
        return ""
