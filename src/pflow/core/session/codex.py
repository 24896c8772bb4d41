"""Sessions of Codex: what 0.166 writes, and the forms of earlier versions."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from pflow.core.json_type import Json, object_in
from pflow.core.session.call import Session
from pflow.core.session.gathering import Draft, Gathering, Tool, value_of
from pflow.core.session.lines import moment_of, parse_record, read_lines, text_of, whole_json
from pflow.core.session.patch import edits_in

_LOOK: Tool = ("look", {})
_SHELL: Tool = ("shell", {"cmd": "command", "command": "command"})
_TOOLS: Mapping[str, Tool] = {
    **dict.fromkeys(("exec_command", "shell", "shell_command", "local_shell", "container.exec"), _SHELL),
    **dict.fromkeys(("update_plan", "view_image", "web_search", "write_stdin", "request_user_input"), _LOOK),
    **dict.fromkeys(("list_mcp_resources", "list_mcp_resource_templates", "tool_search", "grep_files"), _LOOK),
    **dict.fromkeys(("list_dir", "spawn_agent", "wait", "send_input", "close_agent"), _LOOK),
    "read_file": ("read-file", {"file_path": "path"}),
}
_PREAMBLE = re.compile(r"(?:[^\n]*\n){0,8}?Output:\n?")
_EXIT_CODE = re.compile(r"(?:Exit code:|exited with code) (-?\d{1,5})")
_CUT = re.compile(r"…\d+ (?:tokens|chars|bytes) truncated…|\[\.\.\. (?:omitted|removed) \d+")
_DONE = ("completed", "success", "succeeded")


def read_codex(path: Path) -> Session:
    """A session; calls that only the mirror for the model tells of are taken from that. Raises `OSError`."""
    found = Gathering("codex", "")
    mirrored: list[tuple[str, float | None]] = []
    has_prompt = False
    for line in read_lines(path, found.note):
        at, payload = moment_of(line.get("timestamp")), object_in(line, "payload") or line
        kind = text_of(payload.get("type"))
        if line.get("type") in ("session_meta", "turn_context") or "instructions" in line:
            moment = moment_of(payload.get("timestamp")) or at
            found.see(at=moment, directory=text_of(payload.get("cwd")), id=text_of(payload.get("id")))
        elif line.get("type") == "compacted":
            found.note("compacted")
        elif kind == "item_completed":
            has_prompt = _complete(object_in(payload, "item"), at, found) or has_prompt
        elif kind == "user_message":
            found.prompt(text_of(payload.get("message")), at)
            has_prompt = True
        elif kind == "agent_message":
            found.say(text_of(payload.get("message")))
        elif kind in ("exec_command_end", "mcp_tool_call_end", "patch_apply_end"):
            _complete_older(kind, payload, found)
        elif kind == "message":
            text = "\n".join(found.text_in(payload.get("content")))
            if payload.get("role") == "assistant":
                found.say(text)
            elif (
                payload.get("role") == "user" and not has_prompt and not text.lstrip().startswith(("<", "# AGENTS.md"))
            ):
                mirrored.append((text, at))
        else:
            _mirror(kind, payload, at, found)
    for text, at in () if has_prompt else mirrored:
        found.prompt(text, at)
    found.id = found.id or path.stem[-36:]
    return found.session()


def _mirror(kind: str, payload: Json, at: float | None, found: Gathering) -> None:
    """Calls and results as the model sees them; the first have the order, the second are a fallback."""
    key = text_of(payload.get("call_id")) or text_of(payload.get("id"))
    if kind in ("function_call", "custom_tool_call", "local_shell_call") and key:
        name = text_of(payload.get("name")) or "local_shell"
        given = payload.get("arguments", payload.get("input", payload.get("action")))
        arguments = given if isinstance(given, dict) else parse_record(text_of(given)) or {}
        space = text_of(payload.get("namespace")).removeprefix("mcp__")
        if not space and name not in _TOOLS and "__" in name:
            space, _, name = name.removeprefix("mcp__").partition("__")
        if name == "apply_patch" and not space:
            patch = text_of(arguments.get("input")) or text_of(given)
            for place, (tool, edit) in enumerate(edits_in(patch)):
                found.begin((key, place), tool, name, edit, at=at)
            return
        draft = found.begin(key, _TOOLS.get(name), name, arguments, server=space, at=at)
        draft.directory = text_of(arguments.get("working_directory")) or draft.directory
        _command(draft, draft.arguments.get("command"))
    elif kind in ("function_call_output", "custom_tool_call_output") and key:
        drafts = [found.ended(key), *(found.ended((key, place)) for place in range(100))]
        for waiting in drafts:
            if waiting is not None and not waiting.is_ended:
                _fall_back(waiting, payload.get("output"), found)


def _command(draft: Draft, command: object) -> None:
    """A shell's command as one line: that of `bash -lc COMMAND`, or of the words."""
    if isinstance(command, list) and draft.kind == "shell":
        words = [text_of(word) for word in command]
        is_wrapped = len(words) == 3 and words[1] in ("-lc", "-c")
        draft.arguments = {**draft.arguments, "command": words[2] if is_wrapped else " ".join(words)}


def _fall_back(draft: Draft, output: object, found: Gathering) -> None:
    """What the model was told: the result after a preamble."""
    record = parse_record(text_of(output)) if isinstance(output, str) else None
    text = "\n".join(found.text_in(output if output is None or isinstance(output, str | list) else ""))
    if record is not None and "metadata" in record:
        text = text_of(record.get("output"))
    code = _EXIT_CODE.search(text[:400])
    told = object_in(record or {}, "metadata").get("exit_code")
    status = told if isinstance(told, int) else int(code[1]) if code else 0
    preamble = _PREAMBLE.match(text)
    said = text[preamble.end() :] if preamble else text
    if draft.kind == "shell":
        draft.end_shell(said, "", status, is_cut=bool(_CUT.search(text)))
    elif record is not None and ("content" in record or "structuredContent" in record):
        draft.end(found.mcp_result(record), ok=record.get("isError") is not True)
    else:
        is_wrong = said.startswith(("tool call error", "err:", "failed to parse"))
        draft.end(whole_json(said), ok=not is_wrong and status == 0, is_cut=bool(_CUT.search(text)))


def _complete(item: Json, at: float | None, found: Gathering) -> bool:
    """What 0.166 says of something that ended; whether that was a prompt."""
    kind, key, done = item.get("type"), text_of(item.get("id")), item.get("status") in _DONE
    texts = found.text_in(item.get("content"))
    if kind == "UserMessage":
        found.prompt("\n".join(texts), at)
    elif kind == "AgentMessage":
        found.say("\n".join(texts))
    elif kind == "McpToolCall":
        server, tool = text_of(item.get("server")), text_of(item.get("tool"))
        draft = found.begin(key, None, tool, item.get("arguments"), server=server or "?", at=at)
        found.ended(key)
        draft.server, draft.tool = server or draft.server, tool or draft.tool
        result = object_in(item, "result")
        wrong = text_of(object_in(item, "error").get("message")) or None
        draft.end(wrong or found.mcp_result(result), ok=done and result.get("isError") is not True)
    elif kind == "CommandExecution":
        draft = found.begin(key, _SHELL, "exec_command", {"cmd": item.get("command")}, at=at)
        _finish_command(draft, item, found)
    elif kind == "FileChange":
        for place in range(100):
            draft_of = found.ended((key, place))
            if draft_of is not None:
                draft_of.end(value_of(texts), ok=done)
    return kind == "UserMessage"


def _finish_command(draft: Draft, item: Json, found: Gathering) -> None:
    found.ended(None)
    if not draft.arguments.get("command") or isinstance(draft.arguments.get("command"), list):
        draft.arguments = {"command": item.get("command")}
        _command(draft, item.get("command"))
    draft.directory = text_of(item.get("cwd")).removeprefix("file://") or draft.directory
    told = item.get("exit_code")
    code = told if isinstance(told, int) else 1
    stdout = text_of(item.get("stdout")) or text_of(item.get("aggregated_output"))
    draft.end_shell(stdout, text_of(item.get("stderr")), code, is_cut=bool(_CUT.search(stdout)))


def _complete_older(kind: str, payload: Json, found: Gathering) -> None:
    """What earlier versions say of a call that ended."""
    key = text_of(payload.get("call_id"))
    if kind == "exec_command_end":
        draft = found.begin(key, _SHELL, "shell", {"command": payload.get("command")})
        _finish_command(draft, payload, found)
    elif kind == "mcp_tool_call_end":
        asked, result = object_in(payload, "invocation"), object_in(payload, "result")
        server, tool = text_of(asked.get("server")), text_of(asked.get("tool"))
        draft = found.begin(key, None, tool, asked.get("arguments"), server=server or "?")
        found.ended(key)
        draft.server, draft.tool, draft.kind = server or draft.server, tool or draft.tool, "mcp"
        given = object_in(result, "Ok") or ({} if "Err" in result else result)
        draft.end(
            result.get("Err") or found.mcp_result(given), ok="Err" not in result and given.get("isError") is not True
        )
    else:
        for place in range(100):
            draft_of = found.ended((key, place))
            if draft_of is not None:
                draft_of.end(text_of(payload.get("stdout")), ok=payload.get("success") is True)
