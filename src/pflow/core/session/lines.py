"""Records of a file that somebody else writes, one at a time and never more than one of them in memory."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path

import orjson

from pflow.core.json_type import Json

_LINE_BYTES = 64 << 20
"""No line of a session is longer; what is, was not written by an agent's host."""

_HALF_SURROGATE = re.compile(r"[\ud800-\udfff]")


def read_lines(path: Path, note: Callable[[str], None]) -> Iterator[Json]:
    """The objects of a JSONL file; `note("line")` for each line that is not one. Raises `OSError`."""
    with path.open("rb") as file:
        while line := file.readline(_LINE_BYTES + 1):
            if len(line) > _LINE_BYTES:
                while line and not line.endswith(b"\n"):
                    line = file.readline(_LINE_BYTES)
                note("line")
                continue
            record = parse_record(line)
            if record is not None:
                yield record
            elif line.strip():
                note("line")


def parse_record(data: bytes | str) -> Json | None:
    """The JSON object that some bytes hold, with half surrogate pairs replaced; None if they hold anything else."""
    value = parse_value(data)
    return value if isinstance(value, dict) else None


def parse_value(data: bytes | str) -> object:
    """The JSON value that some bytes hold; None if they hold none."""
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError:
        pass
    if not re.search(rb"\\u[dD][89a-fA-F]", data if isinstance(data, bytes) else data.encode(errors="replace")):
        return None
    try:  # programs in JavaScript cut text between the halves of a pair, which orjson refuses
        text = json.dumps(json.loads(data), ensure_ascii=False, allow_nan=False)
        return orjson.loads(_HALF_SURROGATE.sub("�", text))
    except (ValueError, RecursionError):
        return None


def whole_json(text: str) -> object:
    """The object or array that the whole of a text is, else the text."""
    if text.lstrip()[:1] not in ("{", "["):
        return text
    value = parse_value(text)
    return text if value is None else value


def text_of(value: object) -> str:
    """A string as it is; anything else is no text."""
    return value if isinstance(value, str) else ""


def moment_of(value: object) -> float | None:
    """Seconds since 1970, of a moment as text or as milliseconds; None for what is neither."""
    try:
        if isinstance(value, str):
            return datetime.fromisoformat(value).timestamp()
        if isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < 1e14:
            return value / 1000
    except (ValueError, OverflowError):
        pass
    return None
