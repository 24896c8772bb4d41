"""Sessions in a form of pflow's own: a header, then a line for each call with its result."""

from __future__ import annotations

from pathlib import Path

from pflow.core.json_type import Json, object_in
from pflow.core.session.call import Session
from pflow.core.session.gathering import Gathering
from pflow.core.session.lines import moment_of, read_lines, text_of

FORMAT = 1
"""The value of `pflow_session` in a header."""


def header(id: str, server: str, directory: str, at: str) -> Json:
    """The first line of a session."""
    return {"pflow_session": FORMAT, "id": id, "server": server, "directory": directory, "started_at": at}


def read_recorded(path: Path) -> Session:
    """A session. Raises `OSError`."""
    found = Gathering("pflow", "")
    server = ""
    for number, line in enumerate(read_lines(path, found.note)):
        if "pflow_session" in line:
            server = text_of(line.get("server"))
            at = moment_of(line.get("started_at"))
            found.see(at=at, directory=text_of(line.get("directory")), id=text_of(line.get("id")))
        elif line.get("tool"):
            at, group = moment_of(line.get("at")), line.get("group")
            key = group if isinstance(group, int) else number
            name = text_of(line.get("tool"))
            draft = found.begin(number, None, name, line.get("arguments"), server=server or "?", at=at, group=key)
            if "error" in line:
                draft.end(text_of(object_in(line, "error").get("message")), ok=False)
            elif isinstance(line.get("result"), dict):
                result = object_in(line, "result")
                draft.end(found.mcp_result(result), ok=result.get("isError") is not True)
    found.id = found.id or path.stem
    return found.session()
