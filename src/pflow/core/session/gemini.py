"""Sessions of Gemini CLI: records that grow when they are told again, and conversations that are rewound."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from pflow.core.json_type import Json, JsonView, object_in, objects_in
from pflow.core.session.call import Session
from pflow.core.session.gathering import Gathering, Tool
from pflow.core.session.lines import moment_of, parse_record, read_lines, text_of, whole_json

_LOOK: Tool = ("look", {})
_EDIT = {"file_path": "path", "old_string": "old", "new_string": "new", "allow_multiple": "all"}
_TOOLS: Mapping[str, Tool] = {
    "run_shell_command": ("shell", {"command": "command"}),
    "read_file": ("read-file", {"file_path": "path", "absolute_path": "path"}),
    "write_file": ("write-file", {"file_path": "path", "content": "content"}),
    "replace": ("edit-file", _EDIT),
    **dict.fromkeys(("glob", "grep_search", "search_file_content", "list_directory", "read_many_files"), _LOOK),
    **dict.fromkeys(("google_web_search", "web_fetch", "write_todos", "save_memory", "ask_user"), _LOOK),
    **dict.fromkeys(("enter_plan_mode", "exit_plan_mode", "activate_skill", "list_mcp_resources"), _LOOK),
}
_SERVER = re.compile(r"(.+) \((.+) MCP Server\)")
_EXIT_CODE = re.compile(r"^Exit Code: (-?\d{1,5})$", re.MULTILINE)
_CUT = re.compile(r"Output too large|\.\.\. \[[\d,]+ (?:characters|lines) (?:truncated|omitted)|\[CONTENT TRUNCATED\]")
_CUT_CHARACTERS = 50_000
_CONTEXT = ("<session_context>", "This is the Gemini CLI.")


def read_gemini(path: Path) -> Session:
    """A session; of records that were told again, the last one counts. Raises `OSError`."""
    found = Gathering("gemini", "")
    records: dict[str, Json] = {}
    for line in _records(path, found):
        if "sessionId" in line:
            found.see(at=moment_of(line.get("startTime")), id=text_of(line.get("sessionId")))
        back = text_of(line.get("$rewindTo"))
        if back:
            found.note("rewound")
            ids = list(records)
            for key in ids[ids.index(back) :] if back in records else ids:
                del records[key]
        for record in (line, *objects_in(object_in(line, "$set").get("messages")), *objects_in(line.get("messages"))):
            key = text_of(record.get("id"))
            if key and record.get("type") in ("user", "gemini"):
                before = records.get(key, {})
                records[key] = {**before, **record}
    for record in records.values():
        _tell(record, found)
    found.id = found.id or path.stem
    found.directory = directory_of(path)
    return found.session()


def directory_of(path: Path) -> str:
    """Where a session was, which Gemini CLI writes beside its sessions."""
    try:
        return (path.parent.parent / ".project_root").read_bytes()[:4096].decode(errors="replace").strip()
    except OSError:
        return ""


def _records(path: Path, found: Gathering) -> Iterable[Json]:
    """The lines of a session; before those there was one object in a file."""
    if path.suffix == ".json":
        record = parse_record(path.read_bytes()) if path.stat().st_size < 64 << 20 else None
        if record is None:
            found.note("line")
        return [record] if record is not None else []
    return read_lines(path, found.note)


def _tell(record: Json, found: Gathering) -> None:
    at, content = moment_of(record.get("timestamp")), record.get("content")
    text = "\n".join(found.text_in(content))
    if record.get("type") == "user":
        if not text.lstrip().startswith(_CONTEXT):
            found.prompt(text, at)
        return
    found.say(text)
    for call in objects_in(record.get("toolCalls")):
        _call(call, found, group=text_of(record.get("id")))


def _call(call: JsonView, found: Gathering, group: str) -> None:
    name, shown = text_of(call.get("name")), call.get("resultDisplay")
    named = _SERVER.fullmatch(text_of(call.get("displayName")))
    server, tool = (named[2], named[1]) if named else ("", name)
    if named is None and name.startswith("mcp_"):
        server, _, tool = name.removeprefix("mcp_").partition("_")
        found.note("server")
    arguments = call.get("args")
    at = moment_of(call.get("timestamp"))
    draft = found.begin(
        text_of(call.get("id")) or object(), _TOOLS.get(name), tool, arguments, server=server, at=at, group=group
    )
    told = object_in(object_in(next(iter(objects_in(call.get("result"))), {}), "functionResponse"), "response")
    said = text_of(told.get("output")) or text_of(told.get("error"))
    ok = call.get("status") == "success"
    text = shown if isinstance(shown, str) else re.sub(r"</?untrusted_context>\n?", "", said).strip("\n")
    is_cut = bool(_CUT.search(said[:2000]) or _CUT.search(said[-2000:])) or len(said) >= _CUT_CHARACTERS
    if "status" not in call or call["status"] not in ("success", "error", "cancelled"):
        return
    if draft.kind == "shell":
        code = _EXIT_CODE.search(said)
        stdout = "" if "Output: (empty)" in said[:200] else text
        draft.end_shell(stdout, "", int(code[1]) if code else 0 if ok else 1, is_cut=is_cut)
    elif draft.kind == "mcp" and not ok:
        draft.end(text_of(told.get("error")) or text, ok=False)
    else:
        draft.end(whole_json(text), ok=ok, is_cut=is_cut or draft.kind == "http")
