"""A saved workflow as an agent reads it with `workflow_list`: its text page by page, or how it differs from another."""

from __future__ import annotations

import orjson

from pflow.core.json_type import Json
from pflow.core.library.workflow_manager import WorkflowManager
from pflow.core.printable import escape, shorten
from pflow.core.setting.redactor import is_marked
from pflow.mcp_server.envelope import ToolReply, succeed
from pflow.mcp_server.fit_list import fit
from pflow.mcp_server.node_text import prose_lines
from pflow.mcp_server.tool_spec import Arguments
from pflow.mcp_server.utils.secret_marker import show_text
from pflow.workspace import Workspace

_VALUE_CHARACTERS = 2_000
_LINE_CHARACTERS = 300
_MOST_LINES = 60


def read_text(workspace: Workspace, name: str, arguments: Arguments) -> ToolReply:
    """What is saved under a name, or is a draft of that name: its text, and the version that a save can replace."""
    version = arguments.get("version")
    drafts = WorkflowManager.for_drafts(workspace.home)
    if version is None and not WorkflowManager(workspace.home).exists(name) and drafts.exists(name):
        text, path = show_text(workspace, drafts.text(name)), drafts.path(name)
        about: Json = {"name": name, "is_temp": True, "form": text.form, "path": str(path)}
        title = f"draft `{name}`, {text.form}"
    else:
        saved = workspace.library.read(name, version)
        text = show_text(workspace, saved.text)
        about = {"name": name, "version": saved.version, "form": text.form, "path": str(saved.path)}
        title = f"`{name}`, version {saved.version}, {text.form}"
    return _page(about, title, text.data.decode(), int(arguments.get("offset", 0)), workspace.output_limit)


def _page(about: Json, title: str, text: str, offset: int, limit: int) -> ToolReply:
    part = text[offset : offset + limit]
    end = offset + len(part)
    data: Json = {**about, "text": part}
    head = [f"{title}:"]
    if len(part) < len(text):
        data |= {"offset": offset, "next": end if end < len(text) else None, "size": len(text)}
        left = f"; go on with offset={end}" if end < len(text) else ""
        head = [f"{title}, from {offset} of {len(text)} characters{left}:"]
    if is_marked(text):
        head.append("(«secret:…» stands for a secret; leave that string as it is, and a save with `replaces` keeps it)")
    return succeed(data, "\n".join([*head, *prose_lines(part)]))


def compare(workspace: Workspace, name: str, other: str) -> ToolReply:
    """How a workflow differs in meaning from a version of it, or from another workflow."""
    found = workspace.library.compare(name, other)
    shown = workspace.redact(found.as_dict())  # before anything is cut
    assert isinstance(shown, dict)
    title = f"from {shown['before']} to {shown['after']}"
    if shown["changes"] is None:
        lines = str(workspace.redact("\n".join(found.lines))).splitlines()
        cut = [shorten(line, _LINE_CHARACTERS) for line in lines[:_MOST_LINES]]
        head = f"{title}, line by line, since one of them is not a valid document:"
        return succeed({**shown, "lines": cut}, "\n".join([head, *map(escape, cut)]))
    changes, more = fit([_cut(change) for change in shown["changes"]], workspace.output_limit)
    lines = [_line(change) for change in changes[:_MOST_LINES]]
    hidden = len(shown["changes"]) - len(lines)
    tail = [f"… {hidden} more"] if hidden else []
    head = f"{title}:" if changes else f"{title}: no difference in meaning"
    data = {**shown, "changes": changes, **({"more": more} if more else {})}
    return succeed(data, "\n".join([head, *map(escape, lines), *tail]))


def _cut(change: Json) -> Json:
    """A change whose values are no longer than a reader can use."""
    return {
        key: value if len(_say(value)) <= _VALUE_CHARACTERS else shorten(_say(value), _VALUE_CHARACTERS)
        for key, value in change.items()
    }


def _line(change: Json) -> str:
    sides = [shorten(_say(change[side]), _LINE_CHARACTERS) for side in ("before", "after") if side in change]
    return f"- {change['change']} {change['path']}: {' → '.join(sides)}"


def _say(value: object) -> str:
    return value if isinstance(value, str) else orjson.dumps(value, default=str).decode()
