"""Sessions of opencode: in its database, or as `opencode export` writes one."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from pflow.core.json_type import Json, object_in, objects_in
from pflow.core.session.call import Session
from pflow.core.session.database import opened
from pflow.core.session.gathering import Gathering, Tool
from pflow.core.session.lines import moment_of, parse_record, text_of, whole_json
from pflow.core.session.stream import stream_members

_LOOK: Tool = ("look", {})
_EDIT = {"filePath": "path", "oldString": "old", "newString": "new", "replaceAll": "all"}
_TOOLS: Mapping[str, Tool] = {
    "bash": ("shell", {"command": "command"}),
    "read": ("read-file", {"filePath": "path"}),
    "write": ("write-file", {"filePath": "path", "content": "content"}),
    "edit": ("edit-file", _EDIT),
    "webfetch": ("http", {"url": "url"}),
    **dict.fromkeys(("grep", "glob", "list", "todowrite", "todoread", "task", "websearch", "question"), _LOOK),
    **dict.fromkeys(("skill", "plan_enter", "plan_exit", "codesearch", "lsp", "invalid"), _LOOK),
    **dict.fromkeys(("patch", "apply_patch", "multiedit", "batch"), ("other", {})),
}
_PARTS = """
SELECT message.id, message.data, part.data FROM message JOIN part ON part.message_id = message.id
WHERE message.session_id = ? ORDER BY message.time_created, message.id, part.id
"""


def read_opencode(path: Path, id: str = "", servers: Sequence[str] = ()) -> Session:
    """A session of the database, the newest unless `id` names one, with its sub-agents; or an exported one.

    `servers` are the names of MCP servers, which opencode does not tell apart from those of tools. Raises `OSError`.
    """
    found = Gathering("opencode", id)
    try:
        if path.suffix == ".json":
            _read_export(path, found, servers)
        else:
            with opened(path) as base:
                _read_database(base, found, servers)
    except sqlite3.Error:
        found.note("file")
    return found.session()


def _read_database(base: sqlite3.Connection, found: Gathering, servers: Sequence[str]) -> None:
    wanted = "id = ?" if found.id else "parent_id IS NULL AND ? = ''"
    order = "ORDER BY time_updated DESC LIMIT 1"
    chosen = f"SELECT id, directory, time_created FROM session WHERE {wanted} {order}"
    for key, directory, created in base.execute(chosen, [found.id]).fetchall():
        found.id = text_of(key)
        found.see(at=moment_of(created), directory=text_of(directory))
        children = base.execute("SELECT id FROM session WHERE parent_id = ?", [key]).fetchall()
        for place, name in enumerate([key, *(child[0] for child in children)]):
            found.turn_to()
            for message, about, part in base.execute(_PARTS, [name]):
                _tell(text_of(message), _parsed(about, found), _parsed(part, found), found, servers, is_sub=place > 0)


def _parsed(data: object, found: Gathering) -> Json:
    record = parse_record(data) if isinstance(data, str | bytes) else None
    if record is None:
        found.note("line")
    return record or {}


def _read_export(path: Path, found: Gathering, servers: Sequence[str]) -> None:
    for key, member in stream_members(path, ("messages",), found.note):
        about = object_in(member, "info") if key == "messages" else member
        if key == "info":
            created = moment_of(object_in(about, "time").get("created"))
            found.see(at=created, directory=text_of(about.get("directory")), id=text_of(about.get("id")))
        elif key == "messages":
            for part in objects_in(member.get("parts")):
                _tell(text_of(about.get("id")), about, dict(part), found, servers)


def _tell(
    message: str, about: Json, part: Json, found: Gathering, servers: Sequence[str], *, is_sub: bool = False
) -> None:
    """One part of a message."""
    is_user, at = about.get("role") == "user", moment_of(object_in(about, "time").get("created"))
    text = text_of(part.get("text"))
    if part.get("type") == "text" and is_user:
        if not (is_sub or part.get("synthetic") or part.get("ignored")):
            found.prompt(text, at)
    elif part.get("type") == "text":
        found.say(text, is_answer=not is_sub)
    elif part.get("type") == "file" and text_of(part.get("mime")).startswith("image/"):
        found.note("image")
    elif part.get("type") == "compaction":
        found.note("compacted")
    elif part.get("type") == "tool":
        _call(message, about, part, found, servers)


def _call(message: str, about: Json, part: Json, found: Gathering, servers: Sequence[str]) -> None:
    name, state = text_of(part.get("tool")), object_in(part, "state")
    server, tool = ("", name) if name in _TOOLS else _server_of(name, servers, found)
    at = moment_of(object_in(state, "time").get("start"))
    directory = text_of(object_in(about, "path").get("cwd"))
    key = text_of(part.get("callID")) or object()
    given = state.get("input")
    draft = found.begin(
        (message, key), _TOOLS.get(name), tool, given, server=server, at=at, directory=directory, group=message
    )
    more, ok = object_in(state, "metadata"), state.get("status") == "completed"
    if state.get("status") not in ("completed", "error"):
        return
    text = text_of(state.get("output" if ok else "error"))
    is_cut = more.get("truncated") is True or object_in(state, "time").get("compacted") is not None
    if draft.kind == "shell":
        code = more.get("exit")
        stdout = "" if text == "(no output)" else text
        draft.end_shell(stdout, "", code if isinstance(code, int) else 0 if ok else 1, is_cut=is_cut)
    else:  # a file is shown with the numbers of its lines
        draft.end(whole_json(text), ok=ok, is_cut=is_cut or draft.kind in ("read-file", "http"))


def _server_of(name: str, servers: Sequence[str], found: Gathering) -> tuple[str, str]:
    """The longest server whose name fits wins; without one, the first word is taken for it."""
    fitting = [server for server in servers if name.startswith(f"{_spelled(server)}_")]
    if fitting:
        server = max(fitting, key=len)
        return server, name[len(server) + 1 :]
    server, _, tool = name.partition("_")
    if "_" in tool:
        found.note("server")
    return (server, tool) if tool else ("", name)


def _spelled(server: str) -> str:
    """A server's name as it stands in those of tools."""
    return "".join(letter if letter.isascii() and (letter.isalnum() or letter in "_-") else "_" for letter in server)


def configured(files: Iterator[Path] | Sequence[Path]) -> list[str]:
    """The servers that configuration files of opencode name, as far as those are plain JSON."""
    names: list[str] = []
    for file in files:
        try:
            names += object_in(parse_record(file.read_bytes()[: 1 << 20]) or {}, "mcp")
        except OSError:
            continue
    return names
