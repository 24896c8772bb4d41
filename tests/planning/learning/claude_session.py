"""Sessions as Claude Code writes them, with the fields that matter."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

BEGAN = datetime(2026, 11, 16, 9, tzinfo=UTC)

Played = tuple[str, Mapping[str, object], Any]
"""The name of a tool, its input, and its result: a text, or an object with `structuredContent` and `content`."""


def write_session(path: Path, folder: str, prompt: str, calls: Iterable[Played], answer: str = "Done.") -> Path:
    """A session in a file, one call after the other; a result that is an exception failed."""
    common = {"sessionId": path.stem, "cwd": folder}
    lines: list[dict[str, Any]] = [
        {"type": "user", **common, "timestamp": _at(0), "message": {"role": "user", "content": prompt}}
    ]
    for number, (tool, given, result) in enumerate(calls, 1):
        key = f"toolu_{number}"
        called = {"type": "tool_use", "id": key, "name": tool, "input": dict(given)}
        message = {"id": f"msg_{number}", "role": "assistant", "content": [called]}
        lines.append({"type": "assistant", **common, "timestamp": _at(number), "message": message})
        lines.append({"type": "user", **common, "timestamp": _at(number), **_result(key, tool, result)})
    said = {"id": "msg_end", "role": "assistant", "content": [{"type": "text", "text": answer}]}
    lines.append({"type": "assistant", **common, "timestamp": _at(100_000), "message": said})
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    return path


def _result(key: str, tool: str, result: Any) -> dict[str, Any]:
    block: dict[str, Any] = {"type": "tool_result", "tool_use_id": key}
    more: dict[str, Any] = {}
    if isinstance(result, Exception):
        block |= {"content": str(result), "is_error": True}
    elif isinstance(result, Mapping):
        block["content"] = result.get("content", [])
        if "structuredContent" in result:
            more = {"mcpMeta": {"structuredContent": result["structuredContent"]}}
    else:
        block["content"] = result
        if tool == "Bash":
            more = {"toolUseResult": {"stdout": result, "stderr": "", "interrupted": False, "isImage": False}}
    return {"message": {"role": "user", "content": [block]}, **more}


def _at(seconds: int) -> str:
    return (BEGAN + timedelta(seconds=seconds)).isoformat()
