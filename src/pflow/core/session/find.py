"""Finds the sessions of agents' hosts on this machine, and which host wrote a file. Looks at heads of files only."""

from __future__ import annotations

import hashlib
import os
import re
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path

from pflow.core.advice import Advice
from pflow.core.errors import NotFoundError, StorageError
from pflow.core.file.home import find_home
from pflow.core.frozen import Frozen
from pflow.core.json_type import Json, object_in
from pflow.core.session.call import Session
from pflow.core.session.claude import read_claude
from pflow.core.session.codex import read_codex
from pflow.core.session.cursor import about_of, read_cursor
from pflow.core.session.database import opened
from pflow.core.session.gemini import directory_of, read_gemini
from pflow.core.session.lines import moment_of, parse_record, text_of
from pflow.core.session.opencode import configured, read_opencode
from pflow.core.session.recorded import read_recorded

HOSTS = ("claude", "codex", "gemini", "opencode", "cursor", "pflow")
"""Whose sessions can be read."""

_HEAD_BYTES = 256 << 10
_MOST_LOOKED_AT = 400
_TEXT_CHARACTERS = 200


class Found(Frozen):
    """A session on disk; `prompt` is the beginning of what the user first asked, where that is easy to see."""

    host: str
    path: Path
    id: str
    directory: str = ""
    changed_at: float = 0.0
    prompt: str = ""


def find_sessions(
    environ: Mapping[str, str] | None = None, *, directory: Path | None = None, host: str = "", limit: int = 20
) -> list[Found]:
    """The newest sessions first: those of one directory and one host, if they are given."""
    variables = os.environ if environ is None else environ
    found = [
        session
        for name, look in _LOOKS.items()
        if host in ("", name)
        for session in islice(look(variables, directory), limit)
    ]
    return sorted(found, key=lambda session: session.changed_at, reverse=True)[:limit]


def read_session(path: Path, id: str = "", servers: Sequence[str] = ()) -> Session:
    """The session in a file, whatever host wrote it; of a database with many, the newest unless `id` names one.

    Raises `NotFoundError` for a file that holds none, `StorageError` for one that cannot be read.
    """
    try:
        host = detect(path)
        if host == "opencode":
            return read_opencode(path, id, servers or configured(_opencode_files(os.environ, path.parent)))
        if host:
            return _READERS[host](path)
    except FileNotFoundError:
        hint = Advice("run `{learn_list}` to see which sessions there are")
        raise NotFoundError(f"there is no file `{path}`", suggestions=[hint]) from None
    except OSError as error:
        raise StorageError(f"`{path}` cannot be read: {error.strerror or error}") from None
    known = "Claude Code, Codex, Gemini CLI, opencode and Cursor, and recordings of pflow"
    raise NotFoundError(f"`{path}` is not a session of an agent", suggestions=[f"sessions of {known} can be read"])


_READERS = {
    "claude": read_claude,
    "codex": read_codex,
    "gemini": read_gemini,
    "cursor": read_cursor,
    "pflow": read_recorded,
}


def detect(path: Path) -> str:
    """Which host wrote a file; "" if none did. Raises `OSError`."""
    if not path.is_file():
        path.stat()
        return ""
    with path.open("rb") as file:
        head = file.read(_HEAD_BYTES)
    if head.startswith(b"SQLite format 3\0"):
        return _database_host(path)
    for line in head.splitlines()[:50]:
        record = parse_record(line) or {}
        if "pflow_session" in record:
            return "pflow"
        if "sessionId" in record and ("projectHash" in record or "startTime" in record):
            return "gemini"
        if "sessionId" in record:
            return "claude"
        if "payload" in record or {"id", "timestamp", "instructions"} <= record.keys():
            return "codex"
    if re.match(rb'\s*\{\s*"info"\s*:', head):
        return "opencode"
    if path.suffix == ".json" and b'"projectHash"' in head:
        return "gemini"
    return "claude" if b'"sessionId"' in head and path.suffix == ".jsonl" else ""


def _database_host(path: Path) -> str:
    try:
        with opened(path) as base:
            tables = {row[0] for row in base.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    except sqlite3.Error:
        return ""
    return "opencode" if {"session", "message", "part"} <= tables else "cursor" if {"blobs", "meta"} <= tables else ""


def _folder(environ: Mapping[str, str], name: str, *parts: str) -> Path:
    """Where a host keeps things: what the variable says, else a folder of the user's."""
    return Path(environ[name]) if environ.get(name) else Path(environ.get("HOME") or "~").expanduser().joinpath(*parts)


def _newest(files: Iterator[Path]) -> list[tuple[float, Path]]:
    """Files with the times of their last change, the newest first."""
    found = []
    for file in files:
        try:
            found.append((file.stat().st_mtime, file))
        except OSError:
            continue
    return sorted(found, reverse=True)[:_MOST_LOOKED_AT]


def _records(path: Path) -> Iterator[Json]:
    try:
        with path.open("rb") as file:
            head = file.read(_HEAD_BYTES)
    except OSError:
        return
    yield from filter(None, map(parse_record, head.splitlines()))


def _same(one: str, other: Path | None) -> bool:
    return other is None or (bool(one) and os.path.realpath(one) == os.path.realpath(other))


def _short(text: str) -> str:
    return " ".join(text.split())[:_TEXT_CHARACTERS]


def _claude(environ: Mapping[str, str], directory: Path | None) -> Iterator[Found]:
    root = _folder(environ, "CLAUDE_CONFIG_DIR", ".claude") / "projects"
    folder = re.sub(r"[^A-Za-z0-9]", "-", os.path.realpath(directory))[:200] + "*" if directory else "*"
    for at, path in _newest(root.glob(f"{folder}/*.jsonl")):
        where = prompt = ""
        for record in _records(path):
            where = where or text_of(record.get("cwd"))
            if record.get("type") == "user" and not record.get("isMeta") and not prompt:
                content = object_in(record, "message").get("content")
                texts = (
                    [text_of(block.get("text")) for block in content if isinstance(block, dict)]
                    if isinstance(content, list)
                    else [text_of(content)]
                )
                prompt = _short(" ".join(texts))
        if _same(where, directory):
            yield Found(host="claude", path=path, id=path.stem, directory=where, changed_at=at, prompt=prompt)


def _codex(environ: Mapping[str, str], directory: Path | None) -> Iterator[Found]:
    root = _folder(environ, "CODEX_HOME", ".codex")
    for at, path in _newest(root.glob("sessions/*/*/*/rollout-*.jsonl")):
        where = key = prompt = ""
        for record in _records(path):
            payload = object_in(record, "payload")
            if record.get("type") == "session_meta":
                where, key = text_of(payload.get("cwd")), text_of(payload.get("id"))
                if not _same(where, directory):
                    break
            item = object_in(payload, "item")
            content = item.get("content") if item.get("type") == "UserMessage" else None
            texts = (
                [text_of(block.get("text")) for block in content or () if isinstance(block, dict)]
                if isinstance(content, list)
                else []
            )
            prompt = prompt or _short(
                " ".join(texts) or text_of(payload.get("message") if payload.get("type") == "user_message" else "")
            )
        if _same(where, directory):
            yield Found(host="codex", path=path, id=key or path.stem, directory=where, changed_at=at, prompt=prompt)


def _gemini(environ: Mapping[str, str], directory: Path | None) -> Iterator[Found]:
    root = _folder(environ, "GEMINI_CLI_HOME") if environ.get("GEMINI_CLI_HOME") else _folder(environ, "", "")
    for at, path in _newest((root / ".gemini" / "tmp").glob("*/chats/session-*.json*")):
        where = directory_of(path)
        records = list(_records(path))
        hashed = text_of(records[0].get("projectHash")) if records else ""
        if directory and hashed and hashed == hashlib.sha256(str(directory).encode()).hexdigest():
            where = where or str(directory)
        if not _same(where, directory):
            continue
        users = (record for record in records if record.get("type") == "user")
        texts = (record.get("content") for record in users)
        prompt = next(
            (
                _short(text_of(part[0].get("text")))
                for part in texts
                if isinstance(part, list) and part and isinstance(part[0], dict)
            ),
            "",
        )
        yield Found(host="gemini", path=path, id=path.stem, directory=where, changed_at=at, prompt=prompt)


def _opencode_files(environ: Mapping[str, str], directory: Path) -> list[Path]:
    config = _folder(environ, "XDG_CONFIG_HOME", ".config") / "opencode"
    named = [Path(environ["OPENCODE_CONFIG"])] if environ.get("OPENCODE_CONFIG") else []
    return [*named, config / "opencode.json", config / "config.json", directory / "opencode.json"]


def _opencode(environ: Mapping[str, str], directory: Path | None) -> Iterator[Found]:
    path = _folder(environ, "XDG_DATA_HOME", ".local", "share") / "opencode" / "opencode.db"
    path = Path(environ["OPENCODE_DB"]) if environ.get("OPENCODE_DB") else path
    wanted = "SELECT id, directory, title, time_updated FROM session WHERE parent_id IS NULL ORDER BY time_updated DESC"
    try:
        with opened(path) as base:
            for key, where, title, at in base.execute(wanted):
                if _same(text_of(where), directory):
                    changed = moment_of(at) or 0.0
                    yield Found(
                        host="opencode",
                        path=path,
                        id=text_of(key),
                        directory=text_of(where),
                        changed_at=changed,
                        prompt=_short(text_of(title)),
                    )
    except (sqlite3.Error, OSError):
        return


def _cursor(environ: Mapping[str, str], directory: Path | None) -> Iterator[Found]:
    root = _folder(environ, "", ".cursor") / "chats"
    bucket = hashlib.md5(str(directory).encode(), usedforsecurity=False).hexdigest() if directory else "*"
    for at, path in _newest(root.glob(f"{bucket}/*/store.db")):
        try:
            with opened(path) as base:
                about = about_of(base)
        except (sqlite3.Error, OSError):
            continue
        where = text_of(about.get("workspacePath")) or str(directory or "")
        yield Found(
            host="cursor",
            path=path,
            id=path.parent.name,
            directory=where,
            changed_at=at,
            prompt=_short(text_of(about.get("name"))),
        )


def _pflow(environ: Mapping[str, str], directory: Path | None) -> Iterator[Found]:
    for at, path in _newest(find_home(environ).sessions.glob("*.jsonl")):
        first = next(_records(path), {})
        where = text_of(first.get("directory"))
        if "pflow_session" in first and _same(where, directory):
            prompt = f"calls of `{text_of(first.get('server'))}`"
            yield Found(host="pflow", path=path, id=path.stem, directory=where, changed_at=at, prompt=prompt)


_LOOKS = {
    "claude": _claude,
    "codex": _codex,
    "gemini": _gemini,
    "opencode": _opencode,
    "cursor": _cursor,
    "pflow": _pflow,
}
