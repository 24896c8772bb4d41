"""The program as a process: signals, broken pipes, closed streams and poor locales."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from pflow import __version__
from tests.cli.conftest import spawn

SLOW = {
    "nodes": [
        {"id": "start", "type": "echo", "params": {"x": 1}},
        {"id": "wait", "type": "shell", "params": {"command": "echo $$ > gate; exec sleep 600"}},
    ]
}


def finish(process: subprocess.Popen[bytes]) -> tuple[int, str, str]:
    out, err = process.communicate(timeout=60)
    return process.returncode, out.decode(), err.decode()


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_stops_the_run_and_its_children_resumable(tmp_path: Path, number: signal.Signals, code: int) -> None:
    (tmp_path / "slow.json").write_text(json.dumps(SLOW))
    os.mkfifo(tmp_path / "gate")
    process = spawn("run", "slow.json", cwd=tmp_path)
    child = int((tmp_path / "gate").read_text())
    process.send_signal(number)
    ended, out, err = finish(process)
    assert (ended, out) == (code, "")
    lines = err.splitlines()
    assert lines[0].startswith("stopped: ")
    assert lines[1] == "  completed: start"
    assert lines[3].startswith("resume: pflow runs resume ")
    with pytest.raises(ProcessLookupError):
        os.kill(child, 0)


def test_a_reader_that_leaves_is_no_reason_for_a_traceback(tmp_path: Path) -> None:
    process = spawn("registry", "list", cwd=tmp_path)
    assert process.stdout is not None
    process.stdout.close()
    assert process.stderr is not None
    with process.stderr:
        assert process.stderr.read() == b""
    assert process.wait() == 141


def test_a_result_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    with Path("/dev/full").open("wb") as full:
        process = spawn("echo", "--x=1", "--json", cwd=tmp_path, stdout=full)
        _, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (1, b"error: the result cannot be printed: No space left on device\n")


def test_closed_streams_do_not_crash(tmp_path: Path) -> None:
    script = (
        f'"{sys.executable}" -m pflow echo --x=1 >&- 2>&-; echo $?; "{sys.executable}" -m pflow nope 2>&- <&-; echo $?'
    )
    done = subprocess.run(
        ["sh", "-c", script, sys.executable], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (done.stdout, done.stderr) == ("1\n2\n", "")


def test_a_poor_locale_changes_no_data(tmp_path: Path) -> None:
    words = ("echo", "--x=héllo ✓")
    for locale in ({"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}, {"PYTHONIOENCODING": "ascii"}):
        code, out, err = finish(spawn(*words, cwd=tmp_path, env=locale))
        assert (code, out, err) == (0, "héllo ✓\n", "")


def test_messages_survive_a_poor_locale(tmp_path: Path) -> None:
    code, _, err = finish(spawn("shell", cwd=tmp_path, env={"PYTHONIOENCODING": "ascii"}))
    assert code == 2
    assert err.endswith("hint: write `shell --command=\\u2026`\n")


def test_the_version_is_one_line(tmp_path: Path) -> None:
    assert finish(spawn("--version", cwd=tmp_path)) == (0, f"pflow {__version__}\n", "")
