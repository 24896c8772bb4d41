"""Sessions of Claude Code: its lines, those of its sub-agents, and the results that it keeps in files of their own."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from pflow.core.json_type import Json, JsonView, object_in, objects_in
from pflow.core.session.call import Session
from pflow.core.session.gathering import Draft, Gathering, Tool, value_of
from pflow.core.session.lines import moment_of, read_lines, text_of

_LOOK: Tool = ("look", {})
_TOOLS: Mapping[str, Tool] = {
    "Bash": ("shell", {"command": "command"}),
    "Read": ("read-file", {"file_path": "path"}),
    "Write": ("write-file", {"file_path": "path", "content": "content"}),
    "Edit": ("edit-file", {"file_path": "path", "old_string": "old", "new_string": "new", "replace_all": "all"}),
    "WebFetch": ("http", {"url": "url"}),
    **dict.fromkeys(("Grep", "Glob", "LS", "TodoRead", "TodoWrite", "Task", "Agent", "ToolSearch", "WebSearch"), _LOOK),
    **dict.fromkeys(("AskUserQuestion", "EnterPlanMode", "ExitPlanMode", "BashOutput", "KillShell"), _LOOK),
    **dict.fromkeys(("TaskCreate", "TaskGet", "TaskList", "TaskUpdate", "TaskOutput", "TaskStop", "Skill"), _LOOK),
    **dict.fromkeys(("WaitForMcpServers", "ListMcpResourcesTool", "LSP"), _LOOK),
}
_KEPT_ELSEWHERE = re.compile(r"saved to:? \S*?tool-results[/\\]([\w.-]+\w)")
_EXIT_CODE = re.compile(r"(?:Error: )?Exit code (\d{1,3})\n?")
_COMMAND = re.compile(r"<command-name>(.*?)</command-name>(?:.*<command-args>(.*?)</command-args>)?", re.DOTALL)
_NOT_A_PROMPT = ("[Request interrupted", "<local-command-", "<command-message>", "<bash-", "<task-notification>")
_FILE_BYTES = 64 << 20
_MOST_FILES = 1000


def read_claude(path: Path) -> Session:
    """A session with everything that its sub-agents did. Raises `OSError` if there is no such file."""
    found = Gathering("claude", "")
    beside = path.with_suffix("")
    _read(path, found, beside, is_sub=False)
    for file in sorted((beside / "subagents").rglob("*.jsonl"))[:_MOST_FILES]:
        found.turn_to()
        try:
            _read(file, found, beside, is_sub=True)
        except OSError:
            found.note("file")
    found.id = found.id or path.stem
    return found.session()


def _read(path: Path, found: Gathering, beside: Path, *, is_sub: bool) -> None:
    for line in read_lines(path, found.note):
        message = object_in(line, "message")
        if line.get("subtype") == "compact_boundary":
            found.note("compacted")
        elif line.get("type") == "assistant":
            _hear(line, message, found, is_sub=is_sub or line.get("isSidechain") is True)
        elif line.get("type") == "user":
            is_said = not (is_sub or line.get("isSidechain") or line.get("isMeta") or line.get("isCompactSummary"))
            _answer(line, message, found, beside, is_said=is_said)


def _hear(line: Json, message: Json, found: Gathering, *, is_sub: bool) -> None:
    """What the agent said and called."""
    at, directory = moment_of(line.get("timestamp")), text_of(line.get("cwd"))
    for block in objects_in(message.get("content")):
        name, key = text_of(block.get("name")), text_of(block.get("id"))
        if block.get("type") == "text":
            found.say(text_of(block.get("text")), is_answer=not is_sub)
        elif block.get("type") == "tool_use" and name and key:
            _, server, tool = name.split("__", 2) if name.startswith("mcp__") and name.count("__") > 1 else ("", "", "")
            group = text_of(message.get("id")) or None
            kind = _TOOLS.get(name)
            given = block.get("input")
            found.begin(key, kind, tool or name, given, server=server, at=at, directory=directory, group=group)


def _answer(line: Json, message: Json, found: Gathering, beside: Path, *, is_said: bool) -> None:
    """What tools gave, and what the user said."""
    at = moment_of(line.get("timestamp"))
    content = message.get("content")
    results = [block for block in objects_in(content) if block.get("type") == "tool_result"]
    for block in results:
        draft = found.ended(text_of(block.get("tool_use_id")))
        if draft is not None:
            _end(draft, block, line, found, beside)
    if is_said and not results:
        found.see(at=at, directory=text_of(line.get("cwd")), id=text_of(line.get("sessionId")))
        text = "\n".join(found.text_in(content))
        command = _COMMAND.search(text) if text.startswith("<command-") else None
        if command is not None:
            found.prompt(f"{command[1]} {command[2] or ''}".strip(), at)
        elif not text.startswith(_NOT_A_PROMPT):
            found.prompt(text, at)


def _end(draft: Draft, block: JsonView, line: Json, found: Gathering, beside: Path) -> None:
    ok = block.get("is_error") is not True
    texts = found.text_in(block.get("content"))
    text, more = "\n".join(texts), object_in(line, "toolUseResult")
    whole = _kept_elsewhere(text, more, beside, found)
    structured = object_in(line, "mcpMeta").get("structuredContent")
    if draft.kind == "shell":
        code = _EXIT_CODE.match(text)
        said = text[code.end() :] if code else text
        stdout = said if whole is None and "stdout" not in more else whole or text_of(more.get("stdout"))
        is_cut = whole == "" or bool(more.get("backgroundTaskId") or more.get("isImage"))
        status = int(code[1]) if code else 0 if ok else 1
        draft.end_shell(
            stdout, text_of(more.get("stderr")), status, ok=ok and not more.get("interrupted"), is_cut=is_cut
        )
    elif draft.kind == "read-file" and "content" in object_in(more, "file"):
        file = object_in(more, "file")
        is_cut = file.get("numLines") != file.get("totalLines")
        draft.end(text_of(file["content"]), ok=ok, is_cut=is_cut)
    elif structured is not None and whole is None:
        draft.end(structured, ok=ok)
    else:  # what a page says is told by a model, never the page itself
        draft.end(value_of([whole] if whole else texts), ok=ok, is_cut=whole == "" or draft.kind == "http")


def _kept_elsewhere(text: str, more: Json, beside: Path, found: Gathering) -> str | None:
    """A result that the host wrote to a file beside the session; "" if that cannot be read, None if there is none."""
    named = _KEPT_ELSEWHERE.search(text[:4000])
    stored = text_of(more.get("persistedOutputPath"))
    name = named[1] if named else re.split(r"[/\\]", stored)[-1]
    if not name:
        return None
    try:  # never the path that the text names: the text may be that of a tool
        with (beside / "tool-results" / name).open("rb") as file:
            return file.read(_FILE_BYTES).decode(errors="replace")
    except (OSError, ValueError):
        found.note("file")
        return ""
