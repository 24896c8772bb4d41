"""A run that is interrupted, ended, killed or cancelled loses no completed step and leaves no process behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.robust.world import PATIENCE, Forked, document, environment, pflow, program, until

FAMILY = """
note() { echo "$1" >> pids; }
note $$
sleep 300 & note $!
(sleep 300 & note $!; sh -c 'echo $$ >> pids; sleep 300' & wait) &
note $!
until [ "$(wc -l < pids)" -ge 5 ]; do :; done
: > started
wait
"""
"""A shell with children and grandchildren, all of whom are noted; the second time it ends at once."""

FOREVER = """
import os, subprocess, sys
subprocess.Popen([sys.executable, "-S", "-c", f"open('pids', 'a').write('{os.getpid()}\\\\n'); "
    "import os; open('pids', 'a').write(f'{os.getpid()}\\\\n'); open('started', 'w').close()\\nwhile True: pass"])
while True:
    pass
"""


def sh(name: str, command: str, folder: Path, **fields: Any) -> dict[str, Any]:
    return {"id": name, "type": "shell", "params": {"command": command, "cwd": str(folder)}, **fields}


def mark(name: str, folder: Path) -> dict[str, Any]:
    return sh(name, f"echo {name} >> did", folder)


def write(folder: Path, *nodes: dict[str, Any], **fields: Any) -> str:
    file = folder / "doc.json"
    file.write_text(document(*nodes, **fields))
    return str(file)


def hanging(folder: Path) -> str:
    """A document that does one step, hangs in the second with a whole family of processes, and has a third."""
    return write(
        folder,
        mark("first", folder),
        sh("hang", f"if [ -e started ]; then echo again >> did; exit 0; fi\n{FAMILY}", folder),
        mark("last", folder),
    )


def did(folder: Path) -> list[str]:
    file = folder / "did"
    return file.read_text().split() if file.exists() else []


def pids(folder: Path) -> list[int]:
    return [int(word) for word in (folder / "pids").read_text().split()]


def is_gone(pid: int) -> bool:
    """Whether a process has ended; one that nobody waited for yet has, too."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return True
    return stat.rpartition(b")")[2].split()[0] in (b"Z", b"X")


def all_gone(folder: Path) -> None:
    for pid in pids(folder):
        until(lambda: is_gone(pid), f"the end of process {pid}")


def latest() -> dict[str, Any]:
    shown: dict[str, Any] = pflow("runs", "show", "latest", "--json").json["data"]
    return shown


def statuses() -> dict[str, str]:
    return {step["step"]: step["status"] for step in latest()["steps"]}


def test_a_step_is_running_while_its_process_lives_and_in_doubt_from_its_death_on(home: Path, tmp_path: Path) -> None:
    run = Forked(["run", hanging(tmp_path)])
    until((tmp_path / "started").exists, "the second step")
    assert latest()["status"] == "running"
    assert statuses() == {"first": "completed", "hang": "running"}
    assert pflow("trace", "--step", "hang", "--json").json["data"]["status"] == "running"
    assert "in doubt" not in pflow("runs", "show", "latest").out
    run.kill(signal.SIGKILL)
    run.wait()
    assert latest()["status"] == "interrupted"
    assert pflow("trace", "--json").json["data"]["status"] == "interrupted"
    assert statuses() == {"first": "completed", "hang": "in_doubt"}
    assert pflow("trace", "--step", "hang", "--json").json["data"]["status"] == "in_doubt"
    all_gone(tmp_path)


def test_what_an_earlier_process_left_stays_in_doubt_until_a_resume_runs_it_again(home: Path, tmp_path: Path) -> None:
    batch = {"items": [0, 1, 2], "concurrency": 2}
    command = "touch began-$N; test -e go-$N || { touch waits-$N; cat fifo; }"
    step = {"id": "b", "type": "shell", "params": {"command": command, "env": {"N": "${item}"}, "cwd": str(tmp_path)}}
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "go-0").touch()
    file = tmp_path / "batch.json"
    file.write_text(document({**step, "batch": batch}))
    run = Forked(["run", str(file)])
    until(lambda: (tmp_path / "waits-1").exists() and (tmp_path / "waits-2").exists(), "two items")
    assert statuses() == {"b": "running"}
    run.kill(signal.SIGKILL)
    run.wait()
    assert statuses() == {"b": "in_doubt"}
    (tmp_path / "waits-1").unlink()
    again = Forked(["runs", "resume", "latest", "--rerun-in-doubt"])
    until((tmp_path / "waits-1").exists, "an item of the resumed run")
    assert statuses() == {"b": "running"}
    again.kill(signal.SIGTERM)
    assert again.wait().code == 143
    assert statuses() == {"b": "in_doubt"}


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)], ids=["INT", "TERM", "HUP"]
)
def test_a_signal_ends_the_run_and_its_family_and_leaves_it_resumable(
    home: Path, tmp_path: Path, number: signal.Signals, code: int
) -> None:
    run = Forked(["run", hanging(tmp_path)])
    until((tmp_path / "started").exists, "the second step")
    run.kill(number)
    done = run.wait()
    assert (done.code, done.out) == (code, "")
    assert all(map(is_gone, pids(tmp_path))), "gone before pflow is"
    shown = latest()
    assert shown["status"] == "stopped"
    assert done.err.splitlines()[-1] == f"resume: pflow runs resume {shown['run_id']}"
    assert statuses() == {"first": "completed", "hang": "in_doubt"}
    asked = pflow("runs", "resume", shown["run_id"])
    assert asked.code == 4 and "`hang`" in asked.err
    assert pflow("runs", "resume", shown["run_id"], "--rerun-in-doubt").code == 0
    assert did(tmp_path) == ["first", "again", "last"]


def test_the_json_envelope_of_an_interrupted_run_is_whole(home: Path, tmp_path: Path) -> None:
    run = Forked(["run", hanging(tmp_path), "--json"])
    until((tmp_path / "started").exists, "the second step")
    run.kill(signal.SIGINT)
    done = run.wait()
    assert done.code == 130
    assert (done.json["success"], done.json["error"]["type"]) == (False, "interrupted")
    assert done.json["checkpoint"]["completed_nodes"] == ["first"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_code_that_never_ends_and_its_children_are_ended(
    home: Path, tmp_path: Path, number: signal.Signals, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    file = write(tmp_path, {"id": "spin", "type": "code", "params": {"code": FOREVER}})
    run = Forked(["run", file])
    until((tmp_path / "started").exists, "the code")
    run.kill(number)
    assert run.wait().code == (-number if number == signal.SIGKILL else 128 + number)
    assert len(pids(tmp_path)) == 2
    all_gone(tmp_path)


def test_a_new_interpreter_ends_in_the_same_way(home: Path, tmp_path: Path) -> None:
    child = subprocess.Popen(
        [sys.executable, "-m", "pflow", "run", hanging(tmp_path)],
        env=environment({}),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    until((tmp_path / "started").exists, "the second step")
    child.send_signal(signal.SIGINT)
    out, err = child.communicate(timeout=PATIENCE)
    assert (child.returncode, out) == (130, "")
    assert "Traceback" not in err and "resume: pflow runs resume" in err
    assert all(map(is_gone, pids(tmp_path)))


def test_a_terminal_interrupts_the_whole_foreground_and_the_run_still_stops_cleanly(home: Path, tmp_path: Path) -> None:
    """Ctrl-C reaches every process of the terminal's group, not pflow alone."""
    run = Forked(["run", hanging(tmp_path)], before=lambda: os.setpgid(0, 0))
    until((tmp_path / "started").exists, "the second step")
    os.killpg(run.pid, signal.SIGINT)
    assert run.wait().code == 130
    all_gone(tmp_path)
    assert latest()["status"] == "stopped"


def test_a_second_interrupt_does_not_wait_for_those_who_will_not_end(home: Path, tmp_path: Path) -> None:
    stubborn = "trap ': > told' TERM INT; echo $$ >> pids; : > started; while :; do sleep 300 & wait; done"
    run = Forked(["run", write(tmp_path, mark("first", tmp_path), sh("hang", stubborn, tmp_path))])
    until((tmp_path / "started").exists, "the second step")
    run.kill(signal.SIGINT)
    until((tmp_path / "told").exists, "the first signal")
    run.kill(signal.SIGINT)
    assert run.wait().code == 130
    assert latest()["status"] == "interrupted", "it did not wait to write down its end"
    assert statuses()["first"] == "completed"
    all_gone(tmp_path)


@pytest.mark.slow
def test_kill_9_at_any_moment_loses_no_completed_step_and_leaves_no_process(home: Path, tmp_path: Path) -> None:
    """Killed when a step has just begun to have its effect, and once more at every such moment of the rest."""
    for moment in (1, 2, 4, 6):
        folder = tmp_path / f"kill-{moment}"
        folder.mkdir()
        steps = [
            sh(f"s{n}", f"sleep 300 > /dev/null 2>&1 & echo $! >> pids; echo s{n} >> did", folder) for n in range(6)
        ]
        run = Forked(["run", write(folder, *steps)])
        until(lambda: len(did(folder)) >= moment, f"step {moment}")
        run.kill(signal.SIGKILL)
        ended = run.wait()
        assert ended.code in (-signal.SIGKILL, 0)
        all_gone(folder)
        found = statuses()
        completed = [step for step, status in found.items() if status == "completed"]
        doubtful = [step for step, status in found.items() if status == "in_doubt"]
        assert set(completed) <= set(did(folder)) <= {*completed, *doubtful}
        if ended.code:
            assert latest()["status"] in ("interrupted", "completed")
            resumed = pflow("runs", "resume", "latest", "--rerun-in-doubt")
            assert resumed.code == 0 or "is complete" in resumed.err, resumed.err
        counts = Counter(did(folder))
        assert set(counts) == {f"s{n}" for n in range(6)}
        assert all(count == 1 or step in doubtful for step, count in counts.items())


def test_items_of_a_batch_that_were_done_are_not_done_again(home: Path, tmp_path: Path) -> None:
    command = (
        "echo ${item} >> did\n"
        "if [ ${item} = three ] && [ ! -e started ]; then echo $$ >> pids; : > started; sleep 300; fi"
    )
    batch = {"items": ["one", "two", "three", "four"], "concurrency": 1}
    run = Forked(["run", write(tmp_path, sh("each", command, tmp_path, batch=batch))])
    until((tmp_path / "started").exists, "the third item")
    run.kill(signal.SIGTERM)
    assert run.wait().code == 143
    all_gone(tmp_path)
    assert pflow("runs", "resume", "latest", "--rerun-in-doubt").code == 0
    assert did(tmp_path) == ["one", "two", "three", "three", "four"]


def test_another_process_cancels_a_run_with_its_family_for_good(home: Path, tmp_path: Path) -> None:
    run = Forked(["run", hanging(tmp_path), "--json"])
    until((tmp_path / "started").exists, "the second step")
    asked = pflow("runs", "cancel", "latest")
    assert asked.code == 0 and "asked the process" in asked.out
    done = run.wait()
    assert (done.code, done.json["error"]["type"]) == (1, "cancelled")
    all_gone(tmp_path)
    assert latest()["status"] == "cancelled"
    again = pflow("runs", "resume", "latest")
    assert again.code == 1 and "cancelled" in again.err
    assert did(tmp_path) == ["first"]


def test_parallel_steps_are_all_ended(home: Path, tmp_path: Path) -> None:
    nodes = [sh(f"p{n}", f"sleep 300 & echo $! $$ >> pids; : > started{n}; wait", tmp_path) for n in range(4)]
    run = Forked(["run", write(tmp_path, *nodes, edges="data")])
    until(lambda: all((tmp_path / f"started{n}").exists() for n in range(4)), "four parallel steps")
    run.kill(signal.SIGTERM)
    assert run.wait().code == 143
    assert len(pids(tmp_path)) == 8 and all(map(is_gone, pids(tmp_path)))


def test_a_run_in_a_process_that_is_suspended_is_not_taken_from_it(home: Path, tmp_path: Path) -> None:
    run = Forked(["run", hanging(tmp_path)])
    until((tmp_path / "started").exists, "the second step")
    run.kill(signal.SIGSTOP)
    try:
        resumed = pflow("runs", "resume", "latest", "--rerun-in-doubt", "--json")
        assert (resumed.code, resumed.json["error"]["type"]) == (1, "already_running")
    finally:
        run.kill(signal.SIGCONT)
    run.kill(signal.SIGINT)
    assert run.wait().code == 130
    all_gone(tmp_path)


# Streams that nobody reads


def with_stdout(fd: int, *words: str) -> tuple[int, str]:
    """The exit code and stderr of a new interpreter that writes to `fd`."""
    done = subprocess.run(
        [sys.executable, "-m", "pflow", *words],
        env=environment({}),
        stdin=subprocess.DEVNULL,
        stdout=fd,
        stderr=subprocess.PIPE,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    return done.returncode, done.stderr


@pytest.mark.parametrize("words", [("--version",), ("--help",), ("registry", "list"), ("runs", "list", "--json")])
def test_a_reader_that_is_gone_is_no_reason_for_a_traceback(home: Path, words: tuple[Any, ...]) -> None:
    read, write_end = os.pipe()
    os.close(read)
    code, err = with_stdout(write_end, *words)
    os.close(write_end)
    assert (code, err) == (141, "")


def test_a_pipe_into_head_is_quiet(home: Path, tmp_path: Path) -> None:
    file = write(tmp_path, {"id": "big", "type": "echo", "params": {"text": "x\n" * 200_000}})
    shell = subprocess.run(
        ["bash", "-c", f'"{sys.executable}" -m pflow run {file} | head -1; echo ${{PIPESTATUS[0]}}'],
        env=environment({}),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert (shell.stdout.split()[0], shell.stderr) == ("x", "")
    assert shell.stdout.split()[1] in ("0", "141"), "depending on who is faster"
    assert latest()["status"] == "completed"


@pytest.mark.parametrize("words", [("--version",), ("registry", "list"), ("settings", "list", "--json")])
def test_a_full_disk_behind_stdout_is_said(home: Path, words: tuple[Any, ...]) -> None:
    with open("/dev/full", "wb") as full:
        code, err = with_stdout(full.fileno(), *words)
    assert code == 1 and "no space left on device" in err.lower()
    assert "Traceback" not in err and "bug" not in err


@pytest.mark.parametrize(
    ("closed", "code", "said"),
    [
        ("<&-", 0, ""),
        ("2>&-", 0, ""),
        (">&-", 1, "error: the result cannot be printed: stdout is closed\n"),
        ("<&- >&- 2>&-", 1, ""),
    ],
)
def test_closed_streams_do_not_keep_a_run_from_its_end(
    home: Path, tmp_path: Path, closed: str, code: int, said: str
) -> None:
    file = write(tmp_path, mark("did", tmp_path))
    shell = subprocess.run(
        ["bash", "-c", f'"{sys.executable}" -m pflow run {file} {closed}'],
        env=environment({}),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert (shell.returncode, shell.stderr) == (code, said)
    assert did(tmp_path) == ["did"] and latest()["status"] == "completed"


def test_output_to_nobody_does_not_undo_a_run(home: Path, tmp_path: Path) -> None:
    file = write(tmp_path, mark("did", tmp_path))
    read, write_end = os.pipe()
    os.close(read)
    code, err = with_stdout(write_end, "run", file, "--json")
    os.close(write_end)
    assert (code, err) == (141, "")
    assert latest()["status"] == "completed"


def test_an_interrupt_outside_of_a_run_is_quiet(home: Path, tmp_path: Path) -> None:
    """While it waits for a document on stdin."""
    read, write_end = os.pipe()
    child = subprocess.Popen(
        [sys.executable, "-m", "pflow", "run", "-"], env=environment({}), stdin=read, stderr=subprocess.PIPE, text=True
    )
    os.close(read)
    assert child.stderr is not None
    assert "waiting for the document on stdin" in child.stderr.readline()
    child.send_signal(signal.SIGINT)
    _, err = child.communicate(timeout=PATIENCE)
    os.close(write_end)
    assert (child.returncode, err.strip()) == (130, "interrupted")


def test_json_stays_one_document_when_everything_is_asked_at_once(home: Path, tmp_path: Path) -> None:
    done = program("--json", "run", write(tmp_path, mark("did", tmp_path)))
    assert json.loads(done.out)["success"] is True and done.err == ""
