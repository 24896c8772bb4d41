"""Turns text, a file or an inline object into a document and reports all that is wrong with its form at once.

Issue codes, which do not change:

syntax               not JSON, not YAML, or not UTF-8
yaml-feature         tags, merge keys, aliases of nothing, a second document
duplicate-key        one key twice in one object
bad-key              a key that is not a string
bad-number           infinity, NaN, integers beyond 64 bits
bad-text             half of a surrogate pair
bad-value            a Python value that JSON does not have, or a command that cannot be split
bad-version          a version specifier that cannot be read
too-large            more than 1 MiB
too-deep             more than 64 levels
too-many             more than 10,000 nodes, 50,000 edges, 100 names of state or 1,000 issues
unsupported-version  an `ir_version` that this pflow does not read
unknown-field        a field that does not exist there
unexpected-field     a field that does not belong to this kind of node
missing-field        a field that must be there
wrong-type           a value of another type than the field's
out-of-range         a number outside of the field's range
bad-choice           a word that is not among the field's words
bad-limit            a `limit` that is not a rate such as `10/s`
unknown-type         a type that does not exist
bad-default          a default that its input or state would refuse
bad-merge            a way to merge state that does not suit its type
bad-name             an id or name that breaks the rules
reserved-name        a name that begins with `__`
name-clash           one name for two things
duplicate-id         two nodes with one id
no-nodes             an empty `nodes`
misplaced-template   a `${…}` where templates do not stand
unknown-node         an edge, mapping or start that names no node
self-edge            a node that leads to itself by default
unreachable          a node that nothing leads to
crossing             a node in two parts: the main part, `on_failure`, `finally`
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

from pflow.core.document.build import build_document
from pflow.core.document.document import Document
from pflow.core.document.issue import Issue
from pflow.core.document.json_text import load_json, scan_json
from pflow.core.document.plain_copy import MAX_SIZE, TOO_LARGE, TOO_LARGE_HINT, is_plain, take_snapshot
from pflow.core.document.position import Issues, Places
from pflow.core.errors import NotFoundError, StorageError
from pflow.core.file.os_call import open_at_once, read_up_to
from pflow.core.frozen import Frozen
from pflow.core.printable import shorten


class Parsed(Frozen):
    """What parsing gives: the document, as far as it could be built, and every issue of its form."""

    document: Document | None
    issues: tuple[Issue, ...]
    places: Places


def parse_text(text: bytes | str, *, suffix: str = "") -> Parsed:
    """The document in JSON or YAML text. `suffix` decides which; without one, the first character does."""
    if len(text) > MAX_SIZE:
        return _too_large()
    content, problem, offset = _decode(text)
    if problem:
        return _refuse(content, "syntax", problem, offset, "save the document as UTF-8 without a byte order mark")
    if isinstance(text, str) and len(text.encode()) > MAX_SIZE:
        return _too_large()
    if not content.strip():
        return _refuse(content, "syntax", "the document is empty", 0, 'it needs at least {"nodes": [{"id": "…"}]}')
    plain = suffix.lower()
    is_json = plain == ".json" or (plain not in (".yaml", ".yml") and content.lstrip()[:1] in ("{", "["))
    issues = Issues(Places(content, scan_json if is_json else None))
    if not is_json:
        from pflow.core.document.yaml_text import load_yaml  # lazy: not for JSON

        return _finish(load_yaml(content, issues), issues)
    value = load_json(content, issues)
    return _build(value, issues) if is_plain(value) else _finish(value, issues)


def parse_value(value: object) -> Parsed:
    """The document in an inline object, which may change afterwards: the document is a copy."""
    return _finish(value, Issues(Places()))


def read_file(path: Path) -> Parsed:
    """The document in a regular file; raises `NotFoundError` and `StorageError`."""
    data = _read_bytes(path)
    return _too_large() if data is None else parse_text(data, suffix=path.suffix)


def _finish(value: object, issues: Issues) -> Parsed:
    return _build(None if issues.stopped else take_snapshot(value, issues), issues)


def _build(value: object, issues: Issues) -> Parsed:
    issues.places.value = value
    document = None if issues.stopped else build_document(value, issues)
    return Parsed(document=document, issues=issues.found(), places=issues.places)


def _too_large() -> Parsed:
    return _refuse(None, "too-large", TOO_LARGE, 0, TOO_LARGE_HINT)


def _refuse(content: str | None, code: str, message: str, offset: int, hint: str) -> Parsed:
    issues = Issues(Places(content))
    issues.stop(code, message, offset, hint=hint)
    return _build(None, issues)


def _decode(text: bytes | str) -> tuple[str, str, int]:
    """The text, as well as it can be shown, and what is wrong with its encoding and where."""
    try:
        if isinstance(text, str):
            text.encode()
            content = text
        else:
            content = text.decode()
    except UnicodeEncodeError as error:
        return error.object, "half a surrogate pair is not Unicode text", error.start
    except UnicodeDecodeError as error:
        data, start = error.object, error.start
        if data.startswith((b"\xff\xfe", b"\xfe\xff")):
            return data.decode(errors="replace"), "the text is UTF-16 or UTF-32, not UTF-8", 0
        problem = f"the byte 0x{data[start]:02x} is not UTF-8"
        return data.decode(errors="replace"), problem, len(data[:start].decode())
    if "\0" in content[:4]:
        return content, "the text is UTF-16 or UTF-32, not UTF-8", 0
    return content, "the text begins with a byte order mark" if content.startswith("\ufeff") else "", 0


def _read_bytes(path: Path) -> bytes | None:
    """The file's bytes, or None when there are too many. Opening never waits, whatever stands at `path`."""
    shown = shorten(str(path), 200)
    try:
        with open_at_once(path) as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise _no_document(shown, "not a regular file")
            return read_up_to(file, MAX_SIZE)
    except (FileNotFoundError, NotADirectoryError, ValueError):
        raise NotFoundError(f"there is no file `{shown}`", suggestions=["check the path"]) from None
    except IsADirectoryError:
        raise _no_document(shown, "a directory") from None
    except OSError as error:
        raise StorageError(f"`{shown}` cannot be read: {error.strerror}") from error


def _no_document(shown: str, kind: str) -> StorageError:
    return StorageError(f"`{shown}` is {kind}", suggestions=["give the path of a document"])
