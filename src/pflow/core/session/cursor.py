"""Sessions of Cursor's command line: a database of blobs for each, of which those in JSON are messages."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Mapping
from pathlib import Path

from pflow.core.json_type import Json, JsonView, object_in, objects_in
from pflow.core.session.call import Session
from pflow.core.session.database import opened
from pflow.core.session.gathering import Draft, Gathering, Tool
from pflow.core.session.lines import moment_of, parse_record, text_of, whole_json

_LOOK: Tool = ("look", {})
_EDIT = {"path": "path", "old_string": "old", "new_string": "new", "replace_all": "all"}
_TOOLS: Mapping[str, Tool] = {
    "Shell": ("shell", {"command": "command"}),
    "Read": ("read-file", {"path": "path"}),
    "Write": ("write-file", {"path": "path", "contents": "content", "content": "content"}),
    "StrReplace": ("edit-file", _EDIT),
    "WebFetch": ("http", {"url": "url"}),
    **dict.fromkeys(("Grep", "Glob", "LS", "TodoWrite", "Task", "WebSearch", "SemanticSearch"), _LOOK),
    **dict.fromkeys(("ReadLints", "AskQuestion", "CreatePlan", "SwitchMode", "UpdateCurrentStep"), _LOOK),
}
_QUERY = re.compile(r"<user_query>\s*(.*?)\s*</user_query>", re.DOTALL)
_WORKSPACE = re.compile(r"Workspace Path: (.+)")
_EXIT_CODE = re.compile(r"[Ee]xit(?:ed with)? code:? (-?\d{1,5})")
_FAILED = re.compile(r"\s*(?:Error:|Error |Rejected)")


def read_cursor(path: Path) -> Session:
    """A session. Raises `OSError`."""
    found = Gathering("cursor", path.parent.name)
    try:
        with opened(path) as base:
            about = about_of(base)
            directory = text_of(about.get("workspacePath"))
            found.see(at=moment_of(about.get("createdAt")), directory=directory, id=text_of(about.get("agentId")))
            for (data,) in base.execute("SELECT data FROM blobs ORDER BY rowid"):
                record = parse_record(data) if isinstance(data, str | bytes) and data[:1] in ("{", b"{") else None
                if record is not None:
                    _tell(record, found)
    except sqlite3.Error:
        found.note("file")
    return found.session()


def about_of(base: sqlite3.Connection) -> Json:
    """What Cursor says of a session as a whole, as JSON or as that in hexadecimal."""
    row = base.execute("SELECT value FROM meta WHERE key = '0'").fetchone()
    value = row[0] if row else ""
    text = value.decode(errors="replace") if isinstance(value, bytes) else text_of(value)
    try:
        return parse_record(text) or parse_record(bytes.fromhex(text)) or {}
    except ValueError:
        return {}


def _tell(record: Json, found: Gathering) -> None:
    at, content = moment_of(record.get("createdAt")), record.get("content")
    if record.get("role") == "user":
        text = "\n".join(found.text_in(content))
        place = _WORKSPACE.search(text)
        found.see(directory=place[1].strip() if place else "")
        asked = _QUERY.search(text)
        if asked is not None or not text.lstrip().startswith("<"):
            found.prompt(asked[1] if asked else text, at)
    elif record.get("role") == "assistant":
        for text in [content] if isinstance(content, str) else []:
            found.say(text)
        group = object()
        for block in objects_in(content):
            if block.get("type") == "text":
                found.say(text_of(block.get("text")))
            elif block.get("type") == "tool-call":
                _call(block, at, found, group)
    elif record.get("role") == "tool":
        for block in objects_in(content):
            draft = found.ended(text_of(block.get("toolCallId")))
            if block.get("type") == "tool-result" and draft is not None:
                _end(draft, block, found)


def _call(block: JsonView, at: float | None, found: Gathering, group: object) -> None:
    name, given = text_of(block.get("toolName")), block.get("args")
    asked = given if isinstance(given, dict) else {}
    server = text_of(asked.get("server")) or text_of(asked.get("providerIdentifier")) if name in _BY_NAME else ""
    tool = text_of(asked.get("toolName")) or text_of(asked.get("name")) or name if server else name
    arguments = (object_in(asked, "arguments") or object_in(asked, "args")) if server else given
    if not server and name.startswith(("mcp_", "mcp-")):
        server, _, tool = name[4:].partition(name[3])
        found.note("server")
    key = text_of(block.get("toolCallId")) or object()
    directory = text_of(asked.get("cwd")) or text_of(asked.get("working_directory"))
    found.begin(key, _TOOLS.get(name), tool, arguments, server=server, at=at, directory=directory, group=group)


_BY_NAME = ("CallMcpTool", "Mcp", "mcp")
"""Tools that call those of MCP servers, which they are told in their arguments."""


def _end(draft: Draft, block: JsonView, found: Gathering) -> None:
    """Often nothing says whether a call failed; then its text does."""
    told = block.get("result")
    text = told if isinstance(told, str) else "\n".join(found.text_in(told))
    code = _EXIT_CODE.search(text[:200])
    ok = block["isError"] is not True if "isError" in block else not (_FAILED.match(text) or (code and code[1] != "0"))
    if draft.kind == "shell":
        status = int(code[1]) if code else 0 if ok else 1
        draft.end_shell(text, "", status, ok=bool(ok), is_cut=True)
    else:
        draft.end(told if isinstance(told, dict) else whole_json(text), ok=bool(ok), is_cut=draft.kind == "http")
