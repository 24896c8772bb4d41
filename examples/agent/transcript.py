"""What an agent of these examples says and counts. Not what it does."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

SHOWN = 110
_LINES = 10


class Tally:
    """The calls that an agent made, told as they happen: of each its name and the bytes that were sent and read.

    What is told has `shown` in place of the name of `folder`, which may be any.
    """

    def __init__(self, folder: Path, shown: str) -> None:
        self.calls: list[tuple[str, int, int]] = []
        self._folder, self._shown = str(folder), shown

    def tell(self, name: str, shown: str, *, sent: int, read: int, answer: str) -> None:
        """Note a call and show it, with the first lines of its answer."""
        self.calls.append((name, sent, read))
        say(f"\n{len(self.calls)}. {shorten(self._plain(shown), SHOWN)}")
        for line in excerpt(answer.splitlines()):
            say(f"   {shorten(self._plain(line), SHOWN)}")
        say(f"   [{sent:,} bytes sent, {read:,} read]")

    def tell_call(self, tool: str, arguments: Mapping[str, Any], result: Mapping[str, Any]) -> dict[str, Any]:
        """The same for a tool of an MCP server; the data of its answer."""
        shown = ", ".join(f"{name}={shorten(self._plain(json.dumps(value)), 48)}" for name, value in arguments.items())
        text = result["content"][0]["text"]
        self.tell(tool, f"{tool}({shown})", sent=size(arguments), read=bytes_read(result), answer=text)
        envelope = result["structuredContent"]
        assert envelope["success"], envelope
        data: dict[str, Any] = envelope["data"]
        return data

    def _plain(self, text: str) -> str:
        return text.replace(self._folder, self._shown)

    def close(self) -> None:
        """Show what it all cost."""
        sent, read = sum(call[1] for call in self.calls), sum(call[2] for call in self.calls)
        say(f"\n{len(self.calls)} calls, {sent:,} bytes sent, {read:,} read")


def bytes_read(result: Mapping[str, Any]) -> int:
    """What a host shows of a tool's result: its text or its structured content, and here the longer of the two."""
    text = "".join(part.get("text", "") for part in result["content"])
    return max(len(text.encode()), size(result["structuredContent"]))


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")


def size(value: object) -> int:
    return len(json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode())


def shorten(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"


def excerpt(lines: list[str]) -> Iterator[str]:
    """The first lines, and how many there are more."""
    yield from (line for line in lines[:_LINES] if line)
    if len(lines) > _LINES:
        yield f"… {len(lines) - _LINES} more lines"
