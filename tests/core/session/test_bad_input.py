"""What is wrong with a session's file never ends its reading: it is left out, and counted."""

from __future__ import annotations

import json
import re
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pflow.core.session.claude import read_claude
from pflow.core.session.codex import read_codex
from pflow.core.session.cursor import read_cursor
from pflow.core.session.find import detect, find_sessions, read_session
from pflow.core.session.gemini import read_gemini
from pflow.core.session.opencode import read_opencode
from pflow.core.session.recorded import read_recorded
from tests.quick import examples

SESSIONS = Path(__file__).parent.parent.parent / "data" / "sessions"
READERS = {
    "claude-code-2.1.325.jsonl": read_claude,
    "codex-0.166.0.jsonl": read_codex,
    "gemini-cli-0.61.0.jsonl": read_gemini,
}


def claude_call(key: str, name: str, arguments: object, group: str = "m") -> dict[str, object]:
    block = {"type": "tool_use", "id": key, "name": name, "input": arguments}
    return {"type": "assistant", "sessionId": "s", "cwd": "/p", "message": {"id": group, "content": [block]}}


def claude_result(key: str, content: object, **more: object) -> dict[str, object]:
    block = {"type": "tool_result", "tool_use_id": key, "content": content}
    return {"type": "user", "sessionId": "s", "cwd": "/p", "message": {"content": [block]}, **more}


def write(path: Path, *records: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


@pytest.mark.parametrize("name", READERS)
def test_half_a_line_at_the_end_is_left_out_and_counted(name: str, tmp_path: Path) -> None:
    data = (SESSIONS / name).read_bytes()
    path = tmp_path / "cut.jsonl"
    path.write_bytes(data + data.splitlines()[-1][:40])
    session = READERS[name](path)
    assert len(session.calls) == 6
    assert session.notes == ("1 record could not be read",)


def test_records_that_nobody_knows_and_bytes_that_are_not_text_are_passed_over(tmp_path: Path) -> None:
    data = (SESSIONS / "claude-code-2.1.325.jsonl").read_bytes()
    strange = b'{"type": "api-request-blob", "x": [1]}\n\xff\xfe\n[1]\n{"type": "user", "message": 7}\n\n'
    path = tmp_path / "s.jsonl"
    path.write_bytes(strange + data)
    session = read_claude(path)
    assert len(session.calls) == 6
    assert session.notes == ("2 records could not be read",)


def test_half_a_surrogate_pair_does_not_lose_a_call(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    line = json.dumps(claude_call("1", "Bash", {"command": "echo X"})).replace("echo X", "echo \\ud83d")
    path.write_text(line + "\n")
    assert read_claude(path).calls[0].arguments == {"command": "echo �"}


def test_a_call_without_a_result_has_failed(tmp_path: Path) -> None:
    session = read_claude(write(tmp_path / "s.jsonl", claude_call("1", "Bash", {"command": "ls"})))
    assert not session.calls[0].ok
    assert session.notes == ("1 call has no result",)


def test_a_big_result_is_taken_from_its_own_file_and_only_from_there(tmp_path: Path) -> None:
    other = tmp_path / "private.txt"
    other.write_text("secret")
    write(tmp_path / "s" / "tool-results" / "big.txt", {"rows": [1, 2]})
    told = "Output too large (60KB). Full output saved to: {}\n\nPreview"
    session = read_claude(
        write(
            tmp_path / "s.jsonl",
            claude_call("1", "mcp__db__rows", {}),
            claude_result("1", told.format("/home/ada/.claude/projects/p/s/tool-results/big.txt")),
            claude_call("2", "mcp__db__rows", {}),
            claude_result("2", told.format(f"{tmp_path}/tool-results/../private.txt")),
            claude_call("3", "mcp__db__rows", {}),
            claude_result("3", told.format("/x/tool-results/gone.txt")),
        )
    )
    assert session.calls[0].result == {"rows": [1, 2]}
    assert "secret" not in str(session.calls[1].result)
    assert [call.is_cut for call in session.calls] == [False, False, True]


def test_what_sub_agents_did_stands_where_it_happened(tmp_path: Path) -> None:
    def at(second: int, record: dict[str, object]) -> dict[str, object]:
        return {**record, "timestamp": f"2026-11-16T09:00:{second:02}Z"}

    write(
        tmp_path / "s" / "subagents" / "agent-1.jsonl",
        at(2, {"type": "user", "isSidechain": True, "message": {"content": "look around"}}),
        at(3, claude_call("sub", "Bash", {"command": "ls"}, "m2")),
        at(4, claude_result("sub", "a.txt", toolUseResult={"stdout": "a.txt", "stderr": ""})),
    )
    session = read_claude(
        write(
            tmp_path / "s.jsonl",
            at(0, {"type": "user", "sessionId": "s", "cwd": "/p", "message": {"content": "count"}}),
            at(1, claude_call("task", "Task", {"prompt": "look around"}, "m1")),
            at(5, claude_result("task", "there is a.txt")),
            at(6, claude_call("last", "Bash", {"command": "wc a.txt"}, "m3")),
            at(7, claude_result("last", "1", toolUseResult={"stdout": "1", "stderr": ""})),
        )
    )
    assert [call.tool for call in session.calls] == ["Task", "Bash", "Bash"]
    assert [call.arguments.get("command") for call in session.calls] == [None, "ls", "wc a.txt"]
    assert [prompt.text for prompt in session.prompts] == ["count"]


def test_compaction_keeps_the_calls_before_it_and_its_summary_is_no_prompt(tmp_path: Path) -> None:
    session = read_claude(
        write(
            tmp_path / "s.jsonl",
            claude_call("1", "Bash", {"command": "ls"}, "m1"),
            claude_result("1", "a", toolUseResult={"stdout": "a", "stderr": ""}),
            {"type": "system", "subtype": "compact_boundary"},
            {"type": "user", "isCompactSummary": True, "message": {"content": "This session continues"}},
        )
    )
    assert len(session.calls) == 1
    assert not session.prompts
    assert session.notes == ("the host compacted the conversation once",)


def test_images_are_left_out_and_noted(tmp_path: Path) -> None:
    picture = {"type": "image", "source": {"type": "base64", "data": "AAAA"}}
    path = write(
        tmp_path / "s.jsonl",
        claude_call("1", "mcp__web__shot", {}),
        claude_result("1", [picture, {"type": "text", "text": "ok"}]),
    )
    session = read_claude(path)
    assert session.calls[0].result == "ok"
    assert session.notes == ("1 image was left out",)


def test_calls_of_one_message_are_one_group(tmp_path: Path) -> None:
    calls = [claude_call(str(n), "Bash", {"command": f"echo {n}"}, "m" if n < 2 else "other") for n in range(3)]
    assert [call.group for call in read_claude(write(tmp_path / "s.jsonl", *calls)).calls] == [1, 1, 2]


def test_what_gemini_rewound_is_gone(tmp_path: Path) -> None:
    data = (SESSIONS / "gemini-cli-0.61.0.jsonl").read_text()
    path = tmp_path / "s.jsonl"
    path.write_text(data + json.dumps({"$rewindTo": "7b276e6b-e0fa-4ad9-85aa-634fbebf35ba"}) + "\n")
    session = read_gemini(path)
    assert [call.tool for call in session.calls] == ["run_shell_command", "list_files"]
    assert "the conversation was rewound once" in session.notes


def test_older_codex_is_read_from_its_events_and_from_what_the_model_saw(tmp_path: Path) -> None:
    def item(payload: dict[str, object], kind: str = "response_item") -> dict[str, object]:
        return {"timestamp": "2025-11-16T09:00:00Z", "type": kind, "payload": payload}

    shell = json.dumps({"command": ["bash", "-lc", "ls"]})
    output = json.dumps({"output": "a.txt\n", "metadata": {"exit_code": 0}})
    patch = "*** Begin Patch\n*** Update File: a.txt\n@@\n-old\n+new\n*** End Patch\n"
    asked = {"server": "words", "tool": "count", "arguments": {"n": 1}}
    answered = {"Ok": {"content": [{"type": "text", "text": "[1]"}]}}
    session = read_codex(
        write(
            tmp_path / "rollout.jsonl",
            item({"id": "x", "cwd": "/p"}, "session_meta"),
            item({"type": "user_message", "message": "go"}, "event_msg"),
            item({"type": "function_call", "name": "shell", "arguments": shell, "call_id": "1"}),
            item({"type": "function_call_output", "call_id": "1", "output": output}),
            item({"type": "function_call", "name": "words__count", "arguments": '{"n": 1}', "call_id": "2"}),
            item({"type": "mcp_tool_call_end", "call_id": "2", "invocation": asked, "result": answered}, "event_msg"),
            item({"type": "custom_tool_call", "name": "apply_patch", "input": patch, "call_id": "3"}),
            item({"type": "patch_apply_end", "call_id": "3", "success": True, "stdout": "Success"}, "event_msg"),
        )
    )
    found = [(call.kind, dict(call.arguments), call.result, call.ok) for call in session.calls]
    assert found == [
        ("shell", {"command": "ls"}, {"stdout": "a.txt", "stderr": "", "exit_code": 0}, True),
        ("mcp", {"n": 1}, [1], True),
        ("edit-file", {"path": "a.txt", "old": "old\n", "new": "new\n", "all": False}, "Success", True),
    ]


def test_a_session_of_cursor_is_read_from_its_blobs(tmp_path: Path) -> None:
    path = tmp_path / "bucket" / "one" / "store.db"
    path.parent.mkdir(parents=True)
    base = sqlite3.connect(path)
    base.execute("CREATE TABLE meta (key TEXT, value TEXT)")
    base.execute("CREATE TABLE blobs (id TEXT, data BLOB)")
    base.execute(
        "INSERT INTO meta VALUES ('0', ?)", [json.dumps({"agentId": "one", "workspacePath": "/p"}).encode().hex()]
    )
    blobs: list[dict[str, object]] = [
        {"role": "user", "content": "<user_query>\ncount\n</user_query>"},
        {
            "role": "assistant",
            "content": [
                {"type": "text", "text": "Reading."},
                {"type": "tool-call", "toolCallId": "1", "toolName": "Read", "args": {"path": "a.txt"}},
            ],
        },
        {"role": "tool", "content": [{"type": "tool-result", "toolCallId": "1", "toolName": "Read", "result": "x"}]},
    ]
    base.executemany(
        "INSERT INTO blobs VALUES ('', ?)", [[b"\x0a\x04"], *([json.dumps(blob).encode()] for blob in blobs)]
    )
    base.commit()
    base.close()
    session = read_session(path)
    assert (session.host, session.id, session.directory) == ("cursor", "one", "/p")
    assert [(call.kind, call.arguments, call.result, call.said) for call in session.calls] == [
        ("read-file", {"path": "a.txt"}, "x", "Reading.")
    ]


def test_sessions_of_a_directory_are_found_newest_first(tmp_path: Path) -> None:
    folder = tmp_path / "proj"
    folder.mkdir()
    data = (SESSIONS / "claude-code-2.1.197.jsonl").read_text().replace("/home/ada/proj", str(folder))
    name = "".join(letter if letter.isalnum() else "-" for letter in str(folder))
    claude = tmp_path / ".claude" / "projects" / name / "one.jsonl"
    claude.parent.mkdir(parents=True)
    claude.write_text(data)
    codex = tmp_path / "codex" / "sessions" / "2026" / "11" / "16" / "rollout-1.jsonl"
    codex.parent.mkdir(parents=True)
    codex.write_text((SESSIONS / "codex-0.166.0.jsonl").read_text().replace("/home/ada/proj", str(folder)))
    environ = {"HOME": str(tmp_path), "CODEX_HOME": str(tmp_path / "codex")}
    found = find_sessions(environ, directory=folder)
    assert {session.host for session in found} == {"claude", "codex"}
    assert {session.prompt for session in found} == {"count the words of the files"}
    assert [session.changed_at for session in found] == sorted((s.changed_at for s in found), reverse=True)
    assert not find_sessions(environ, directory=tmp_path)
    assert [session.host for session in find_sessions(environ, host="codex")] == ["codex"]


@settings(max_examples=examples(150), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_no_reader_raises_whatever_a_file_holds(data: st.DataObject, tmp_path: Path) -> None:
    name = data.draw(st.sampled_from(sorted(READERS)))
    lines = (SESSIONS / name).read_bytes().splitlines(keepends=True)
    values = st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=5), lambda inner: st.lists(inner, max_size=2)
    )
    for _ in range(data.draw(st.integers(1, 6))):
        place = data.draw(st.integers(0, len(lines) - 1))
        how = data.draw(st.sampled_from(["cut", "bytes", "value"]))
        if how == "cut":
            lines[place] = lines[place][: data.draw(st.integers(0, 400))]
        elif how == "bytes":
            lines[place] = data.draw(st.binary(max_size=40)) + b"\n"
        else:
            lines[place] = _spoil(lines[place], data, values)
    path = tmp_path / data.draw(st.sampled_from(["s.jsonl", "s.json", "s.db"]))
    path.write_bytes(b"".join(lines))
    for read in (*READERS.values(), read_recorded, read_opencode, read_cursor):
        for call in read(path).calls:
            json.dumps([call.arguments, call.result], allow_nan=False)
    detect(path)


def _spoil(line: bytes, data: st.DataObject, values: st.SearchStrategy[object]) -> bytes:
    """The same record with one of its values replaced, at some depth."""
    try:
        whole = json.loads(line)
    except ValueError:
        return line
    part = whole
    while isinstance(part, dict | list) and part:
        key = data.draw(st.sampled_from(sorted(part) if isinstance(part, dict) else list(range(len(part)))))
        if not isinstance(part[key], dict | list) or not part[key] or data.draw(st.booleans()):
            part[key] = data.draw(values)
            break
        part = part[key]
    return json.dumps(whole).encode() + b"\n"


@pytest.mark.slow
def test_a_huge_session_is_read_record_by_record(tmp_path: Path) -> None:
    path = tmp_path / "huge.jsonl"
    first = {"type": "user", "sessionId": "s", "cwd": "/w", "message": {"role": "user", "content": "Go"}}
    blob = json.dumps({"type": "api-request-blob", "sessionId": "s", "data": "x" * (1 << 20)}) + "\n"
    with path.open("w") as file:
        file.write(json.dumps(first) + "\n")
        for _ in range(200):
            file.write(blob)
    program = (
        "import sys; from pathlib import Path; from pflow.core.session.find import read_session;"
        "session = read_session(Path(sys.argv[1]));"
        "print(len(session.prompts), Path('/proc/self/status').read_text())"
    )
    done = subprocess.run([sys.executable, "-c", program, str(path)], capture_output=True, text=True, check=True)
    assert done.stdout.split()[0] == "1"
    [most_kilobytes] = re.findall(
        r"^VmHWM:\s+(\d+) kB$", done.stdout, re.MULTILINE
    )  # a child's `ru_maxrss` is its parent's
    assert int(most_kilobytes) < 100_000
