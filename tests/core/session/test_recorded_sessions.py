"""Sessions that the real programs wrote, each of the same task, are read as the same calls."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pytest

from pflow.core.errors import NotFoundError
from pflow.core.session.call import Call, Session
from pflow.core.session.find import detect, read_session

SESSIONS = Path(__file__).parent.parent.parent / "data" / "sessions"
LISTED = {"files": [{"name": "a.txt", "size": 3}, {"name": "b.txt", "size": 5}]}
PLAYED = [
    ("shell", "", {"command": "echo a.txt b.txt"}, {"stdout": "a.txt b.txt", "stderr": "", "exit_code": 0}),
    ("mcp", "list_files", {}, LISTED),
    ("mcp", "count_words", {"text": "fail please"}, None),
    ("mcp", "count_words", {"text": "a.txt"}, {"words": 1}),
    ("mcp", "count_words", {"text": "b.txt"}, {"words": 1}),
    ("shell", "", {"command": "exit 3"}, {"stdout": "", "stderr": "", "exit_code": 3}),
]


def opencode_database(folder: Path) -> Path:
    """The rows of opencode's tables, in a database as it makes one."""
    path = folder / "opencode.db"
    rows = [json.loads(line) for line in (SESSIONS / "opencode-1.18.33.rows.jsonl").read_text().splitlines()]
    base = sqlite3.connect(path)
    for table in ("session", "message", "part"):
        mine = [row for row in rows if row["table"] == table]
        names = [name for name in mine[0] if name != "table"]
        base.execute(f"CREATE TABLE {table} ({', '.join(names)})")
        marks = ", ".join("?" * len(names))
        base.executemany(f"INSERT INTO {table} VALUES ({marks})", [[row[name] for name in names] for row in mine])
    base.commit()
    base.close()
    return path


def played(calls: tuple[Call, ...]) -> list[object]:
    """What is the same whatever host wrote it: a failed call says different things in each."""
    return [
        (call.kind, call.tool if call.kind == "mcp" else "", call.arguments, call.result if call.number != 3 else None)
        for call in calls
    ]


def session_of(name: str, folder: Path) -> Session:
    if name == "opencode":
        return read_session(opencode_database(folder), "ses_e1c4e8363ffeBLKd6GlauNXKPC")
    return read_session(SESSIONS / name)


@pytest.mark.parametrize(
    "name",
    [
        "claude-code-2.1.197.jsonl",
        "claude-code-2.1.325.jsonl",
        "codex-0.166.0.jsonl",
        "gemini-cli-0.61.0.jsonl",
        "opencode",
    ],
)
def test_the_five_recorded_sessions_have_the_same_calls(name: str, tmp_path: Path) -> None:
    session = session_of(name, tmp_path)
    assert played(session.calls) == PLAYED
    assert {call.server for call in session.calls if call.kind == "mcp"} == {"words"}
    assert session.answer == "All done: 2 files."
    assert session.prompts[-1].before == 1
    is_odd = name == "claude-code-2.1.325.jsonl"  # its server was another one, which counts every text
    assert [call.ok for call in session.calls] == [True, True, is_odd, True, True, False]


def test_the_newest_session_of_a_database_is_read_unless_another_is_named(tmp_path: Path) -> None:
    path = opencode_database(tmp_path)
    assert detect(path) == "opencode"
    assert read_session(path).id == "ses_e1c478c73ffeUyOxoC7JWVwVac"
    assert read_session(path).directory == "/home/ada/proj"


def test_an_exported_session_of_opencode_is_the_same_as_in_its_database(tmp_path: Path) -> None:
    path = opencode_database(tmp_path)
    stored = read_session(path)
    base = sqlite3.connect(path)
    messages = []
    for key, data in base.execute(
        "SELECT id, data FROM message WHERE session_id = ? ORDER BY time_created, id", [stored.id]
    ):
        parts = base.execute("SELECT data FROM part WHERE message_id = ? ORDER BY id", [key]).fetchall()
        messages.append({"info": {"id": key, **json.loads(data)}, "parts": [json.loads(part[0]) for part in parts]})
    base.close()
    exported = tmp_path / "export.json"
    info = {"id": stored.id, "directory": stored.directory, "time": {"created": (stored.started_at or 0) * 1000}}
    exported.write_text(json.dumps({"info": info, "messages": messages}, indent=2))
    assert read_session(exported) == stored


def test_a_file_that_is_no_session_is_refused(tmp_path: Path) -> None:
    other = tmp_path / "notes.txt"
    other.write_text("nothing here")
    with pytest.raises(NotFoundError):
        read_session(other)
    with pytest.raises(NotFoundError):
        read_session(tmp_path / "none.jsonl")
