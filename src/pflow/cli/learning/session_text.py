"""Sessions of agents as text: the newest ones, and the calls of one."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import orjson

from pflow.core.printable import escape, shorten

if TYPE_CHECKING:
    from pflow.core.session.call import Call, Session
    from pflow.core.session.find import Found

_SHORTEST_ID = 8
_MOST_PROMPT = 70
_MOST_ARGUMENTS = 90


def session_lines(found: Sequence[Found], counts: Sequence[int]) -> list[str]:
    """A line for each session; ids are as short as they can be told apart."""
    ids = [_short_id(one.id, {other.id for other in found}) for one in found]
    width = max(map(len, ids), default=0)
    return [
        f"{time.strftime('%Y-%m-%d %H:%M', time.localtime(one.changed_at))}  {one.host:<8}  {escape(id):<{width}}  "
        f"{count:>5} calls  {escape(one.prompt[:_MOST_PROMPT])}"
        for one, id, count in zip(found, ids, counts, strict=True)
    ]


def call_lines(session: Session) -> Iterator[str]:
    """What the user wrote, and the calls that followed, with the numbers that options take."""
    prompts = list(session.prompts)
    width = len(str(len(session.calls)))
    for call in session.calls:
        while prompts and prompts[0].before <= call.number:
            yield f"{' ' * width}  > {shorten(' '.join(prompts.pop(0).text.split()), _MOST_ARGUMENTS)}"
        failed = "" if call.ok else "  (failed)"
        yield f"{call.number:>{width}}  {escape(call_name(call))}  {_arguments(call)}{failed}".rstrip()
    yield from (f"{' ' * width}  > {shorten(' '.join(prompt.text.split()), _MOST_ARGUMENTS)}" for prompt in prompts)


def call_name(call: Call) -> str:
    """A tool as people name it."""
    return f"{call.server}.{call.tool}" if call.server else call.tool


def _arguments(call: Call) -> str:
    given = dict(call.arguments)
    for name in ("command", "path", "url"):
        if isinstance(given.get(name), str) and call.kind != "mcp":
            return shorten(" ".join(str(given[name]).split()), _MOST_ARGUMENTS)
    return shorten(orjson.dumps(given, default=str).decode(), _MOST_ARGUMENTS) if given else ""


def _short_id(id: str, all: set[str]) -> str:
    length = _SHORTEST_ID
    while length < len(id) and sum(other.startswith(id[:length]) for other in all) > 1:
        length += 1
    return id[:length]
