"""A session of an agent as values that no longer show which host it ran in. Reads no files."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from pflow.core.frozen import Frozen

ToolKind = Literal["shell", "mcp", "read-file", "write-file", "edit-file", "http", "look", "other"]
"""What a call does. `look` is a host's own way to search or to plan; `other` has no step that could do the same."""


class Call(Frozen):
    """One call of a tool, in the order in which the agent made them, `number` from 1 on.

    `tool` is the tool's own name; `server` that of its MCP server, as the session spells it. The arguments of a host's
    own tools have the names that pflow's steps use: `command` of `shell`; `path` and `content` of files, with `old`,
    `new` and `all` of an edit; `url` of `http`. Those of MCP tools are as they were.

    `result` is `{stdout, stderr, exit_code}` of a shell command; else the structured content, the JSON that the whole
    text is, or the text. It `is_cut` where the host has kept only a part. Calls that were made side by side share a
    `group`. `said` is what the agent wrote before the call, `directory` where it worked.
    """

    number: int
    kind: ToolKind
    tool: str
    server: str = ""
    arguments: Mapping[str, object] = {}
    result: object = None
    ok: bool = True
    is_cut: bool = False
    at: float | None = None
    directory: str = ""
    group: int = 0
    said: str = ""


class Prompt(Frozen):
    """Something that the user wrote; `before` is the number of the first call after it."""

    text: str
    before: int


class Session(Frozen):
    """A whole session. `answer` is the last text of the agent; `notes` say what could not be read, for people."""

    host: str
    id: str
    directory: str = ""
    started_at: float | None = None
    prompts: tuple[Prompt, ...] = ()
    calls: tuple[Call, ...] = ()
    answer: str = ""
    notes: tuple[str, ...] = ()
