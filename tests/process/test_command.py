"""Commands run to their end, and whatever happens to them or to pflow, none of their processes stays."""

import asyncio
import os
import resource
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from pflow.core.errors import StepError, StepTimeout
from pflow.process import command as process
from pflow.process.command import Finished, child_environment, run_process
from pflow.process.group import Group
from pflow.process.guardian import GUARDIAN, Guardian

PATIENCE = 20.0

# A leader, a child and a grandchild that ignore SIGTERM and write their numbers down once they do.
STUBBORN = """
trap '' TERM
sh -c 'sh -c "echo \\$\\$ >> pids; sleep 60; :" & echo $$ >> pids; sleep 60; :' &
echo $$ >> pids
sleep 60
"""

# Cleans up when it is asked to end.
TIDY = "trap 'echo bye > clean; exit' TERM; echo $$ > pids; sleep 60 & wait"

# Runs `argv[2]` in the folder `argv[1]` with a shell, as pflow would.
RUNNER = """
import asyncio, os, sys
from pflow.process import command as process
from pflow.process.command import child_environment, run_process
finished = asyncio.run(
    run_process(["/bin/sh", "-c", sys.argv[2]], env=child_environment(), cwd=sys.argv[1])
)
print(finished.exit_code, finished.stdout.decode())
"""


@pytest.fixture(autouse=True)
def no_survivors(tmp_path: Path) -> Iterator[None]:
    """No test may leave a process behind that wrote its number into `pids`."""
    yield
    try:
        wait_until(lambda: not any(alive(pid) for pid in recorded(tmp_path)))
    finally:
        for pid in filter(alive, recorded(tmp_path)):
            os.kill(pid, signal.SIGKILL)


def run(command: str, **options: Any) -> Finished:
    """A shell command, run by itself on a loop of its own."""
    return asyncio.run(sh(command, **options))


async def sh(command: str, **options: Any) -> Finished:
    return await run_process(["/bin/sh", "-c", command], **{"env": child_environment(), **options})


def state(pid: int) -> str:
    """A process's state letter; nothing when there is no such process."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return ""


def alive(pid: int) -> bool:
    return state(pid) not in ("", "Z", "X")


def recorded(folder: Path) -> list[int]:
    """The numbers that a command wrote into `pids`."""
    path = folder / "pids"
    return [int(line) for line in path.read_text().splitlines()] if path.exists() else []


def wait_until(condition: Callable[[], object]) -> None:
    until = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < until, "it did not happen"
        time.sleep(0.005)


async def soon(condition: Callable[[], object]) -> None:
    until = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < until, "it did not happen"
        await asyncio.sleep(0.005)


@pytest.fixture
def children() -> Callable[[], list[int]]:
    """Lists the children since the test began, zombies too, the guardian left out: servers that tests share live on."""
    before = set(offspring(os.getpid()))
    return lambda: [pid for pid in offspring(os.getpid()) if pid not in before and pid != guardian()]


def guardian(parent: int | None = None) -> int | None:
    """The helper of a process."""
    for pid in offspring(parent or os.getpid()):
        if b"while read -r" in Path(f"/proc/{pid}/cmdline").read_bytes():
            return pid
    return None


def offspring(parent: int) -> list[int]:
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            if int(path.read_text().rpartition(")")[2].split()[1]) == parent:
                found.append(int(path.parent.name))
        except (FileNotFoundError, ProcessLookupError):
            continue
    return found


def open_files() -> set[str]:
    return set(os.listdir("/proc/self/fd"))


# What comes back


def test_output_and_exit_code_come_back() -> None:
    finished = run("echo out; echo err >&2; exit 3")
    assert finished == Finished(exit_code=3, stdout=b"out\n", stderr=b"err\n", stdout_cut=False, stderr_cut=False)


def test_a_signal_shows_as_its_negative_number() -> None:
    assert run("kill -9 $$").exit_code == -9


def test_input_reaches_the_command_whole() -> None:
    data = os.urandom(3_000_000)
    assert run("cat", stdin=data).stdout == data


def test_without_input_the_command_reads_an_end() -> None:
    assert run("cat; echo done").stdout == b"done\n"


@pytest.mark.parametrize("command", ["true", "exec <&-; echo closed; sleep 0.01", "head -c 10 > /dev/null"])
def test_a_command_that_does_not_read_its_input_does_not_hang(command: str) -> None:
    assert run(command, stdin=b"x" * 5_000_000).exit_code == 0


def test_bytes_come_back_as_they_are() -> None:
    assert run(r"printf '\000\377\r\n'").stdout == b"\x00\xff\r\n"


def test_the_folder_and_the_environment_are_those_given(tmp_path: Path) -> None:
    assert run("pwd; echo $A", cwd=str(tmp_path), env={"A": "é $(x)"}).stdout.decode() == f"{tmp_path}\né $(x)\n"


FLOOD = """
import asyncio, resource, sys
from pflow.process.command import child_environment, run_process
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
finished = asyncio.run(run_process(["/bin/sh", "-c", sys.argv[1]], env=child_environment(), limit=1 << 20))
print(len(finished.stdout), finished.stdout_cut, len(finished.stderr), finished.stderr_cut, finished.exit_code)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


def test_a_flood_is_read_to_its_end_and_kept_to_the_limit() -> None:
    # In a process of its own: the peak of a worker grows with what earlier tests left to be collected.
    command = "head -c 52428800 /dev/zero; head -c 52428800 /dev/zero >&2; echo end"
    done = subprocess.run([sys.executable, "-c", FLOOD, command], capture_output=True, text=True, check=True)
    ended, grown_kb = done.stdout.splitlines()
    assert ended == f"{1 << 20} True {1 << 20} True 0"
    assert int(grown_kb) < 20_000


def test_output_of_exactly_the_limit_is_not_cut() -> None:
    finished = run("printf 12345", limit=5)
    assert (finished.stdout, finished.stdout_cut) == (b"12345", False)
    assert run("printf 123456", limit=5).stdout_cut


def test_many_commands_run_side_by_side() -> None:
    async def main() -> list[Finished]:
        return await asyncio.gather(*(sh(f"echo {number}; cat", stdin=b"!") for number in range(50)))

    assert [finished.stdout for finished in asyncio.run(main())] == [b"%d\n!" % n for n in range(50)]


def test_a_loop_in_another_thread_runs_commands() -> None:
    results: list[Finished] = []
    thread = threading.Thread(target=lambda: results.append(run("echo thread")))
    thread.start()
    thread.join(PATIENCE)
    assert [result.stdout for result in results] == [b"thread\n"]


def test_where_the_kernel_cannot_watch_a_process_its_exit_is_polled(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(pid: int, flags: int = 0) -> int:
        raise OSError(38, "Function not implemented")

    monkeypatch.setattr(os, "pidfd_open", missing)
    assert run("cat; exit 4", stdin=b"in") == Finished(
        exit_code=4, stdout=b"in", stderr=b"", stdout_cut=False, stderr_cut=False
    )
    with pytest.raises(StepTimeout):
        run("exec sleep 60", timeout=0.05)


def test_a_hundred_runs_leave_no_files_open_and_no_zombies(children: Callable[[], list[int]]) -> None:
    run("true")
    files = open_files()
    others = set(GUARDIAN.groups)  # servers that other tests share live on

    async def main() -> None:
        for _ in range(100):
            await sh("true", stdin=b"x")

    asyncio.run(main())
    assert open_files() == files
    assert children() == []
    assert GUARDIAN.groups == others


# What cannot be started


def refusal(argv: Sequence[str], **options: Any) -> str:
    files = open_files()
    with pytest.raises(StepError) as caught:
        asyncio.run(run_process(argv, **{"env": child_environment(), **options}))
    assert open_files() == files
    assert caught.value.action == "error"
    return caught.value.message


def test_each_reason_not_to_start_has_its_message(tmp_path: Path) -> None:
    run("true")  # the guardian's pipe is there from now on
    plain = tmp_path / "plain"
    plain.write_text("echo hi")
    script = tmp_path / "script"
    script.write_text("#!/no/such/interpreter\n")
    script.chmod(0o755)
    text = tmp_path / "text"
    text.write_bytes(b"\x01\x02")
    text.chmod(0o755)
    assert refusal(["no-such-command"]) == "the command `no-such-command` was not found"
    assert refusal(["/no/such"]) == "the command `/no/such` was not found"
    assert refusal([f"{plain}/x"]) == f"the command `{plain}/x` was not found"
    assert refusal([str(script)]) == f"`{script}` needs an interpreter that does not exist"
    assert refusal(["./script"], cwd=str(tmp_path)) == "`./script` needs an interpreter that does not exist"
    assert refusal([str(plain)]) == f"`{plain}` is not executable"
    assert refusal([str(tmp_path)]) == f"`{tmp_path}` is a directory, not a command"
    assert refusal([str(text)]) == f"`{text}` is not a program"
    assert refusal(["true", "a\0b"]) == "`true` cannot be started: embedded null byte"
    assert refusal(["true"], env={"A=B": "x"}) == "`true` cannot be started: illegal environment variable name"
    assert refusal(["true", "\ud800"]).startswith("`true` cannot be started: 'utf-8' codec can't encode")
    gone = str(tmp_path / "gone")
    assert refusal(["true"], cwd=gone) == f"the working directory `{gone}` cannot be entered: it does not exist"
    assert (
        refusal(["true"], cwd=str(plain)) == f"the working directory `{plain}` cannot be entered: it is not a directory"
    )


def test_values_too_large_for_the_system_are_named() -> None:
    with pytest.raises(StepError) as caught:
        run("true", env={"SMALL": "x", "BIG": "x" * 10_000_000})
    assert caught.value.details == {"largest": "environment variable BIG", "bytes": 10_000_000}
    assert caught.value.suggestions == ("pass large values as `stdin`, or through a file",)


def test_without_files_left_a_run_fails_or_works_but_never_leaks(children: Callable[[], list[int]]) -> None:
    async def attempt() -> str:
        try:
            return (await sh("echo it works", stdin=b"x")).stdout.decode()
        except StepError as error:
            return error.message

    async def main() -> list[str]:
        await attempt()
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(map(int, open_files())) + 20, hard))
        taken: list[int] = []
        answers: list[str] = []
        try:
            with pytest.raises(OSError, match="Too many open files"):
                while True:
                    taken.append(os.open("/dev/null", os.O_RDONLY))
            while len(answers) < 14:
                answers.append(await attempt())
                os.close(taken.pop())
                if answers[-1] == "it works\n":
                    break
        finally:
            for fd in taken:
                os.close(fd)
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        return answers

    run("true")
    files = open_files()
    *failed, last = asyncio.run(main())
    assert last == "it works\n"
    assert set(failed) == {"`/bin/sh` cannot be started: Too many open files"}
    assert open_files() == files
    assert children() == []


# Timeouts and cancellation


def test_a_timeout_says_what_was_written_so_far() -> None:
    with pytest.raises(StepTimeout) as caught:
        run("echo half; echo wrong >&2; exec sleep 60", timeout=0.3)
    assert caught.value.message == "`/bin/sh` took longer than 0.3 s"
    assert caught.value.details == {"stdout": "half\n", "stderr": "wrong\n"}
    assert (caught.value.code, caught.value.action) == ("timeout", "timeout")


def test_a_timeout_lets_the_command_clean_up(tmp_path: Path) -> None:
    with pytest.raises(StepTimeout):
        run(TIDY, cwd=str(tmp_path), timeout=0.3)
    assert (tmp_path / "clean").read_text() == "bye\n"


def test_a_timeout_ends_a_group_that_ignores_sigterm(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, children: Callable[[], list[int]]
) -> None:
    monkeypatch.setattr(process, "GRACE", 0.2)

    async def main() -> None:
        task = asyncio.create_task(sh(STUBBORN, cwd=str(tmp_path), timeout=1.0))
        await soon(lambda: len(recorded(tmp_path)) == 3)
        assert all(alive(pid) for pid in recorded(tmp_path))
        with pytest.raises(StepTimeout):
            await task
        assert [pid for pid in recorded(tmp_path) if alive(pid)] == []

    asyncio.run(main())
    assert children() == []


def test_a_timeout_ends_a_stopped_group(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "GRACE", 0.1)
    with pytest.raises(StepTimeout):
        run("echo $$ > pids; kill -STOP $$", cwd=str(tmp_path), timeout=0.2)
    assert not alive(recorded(tmp_path)[0])


def test_a_killed_group_is_waited_for_without_any_grace(tmp_path: Path) -> None:
    async def main() -> None:
        popen = subprocess.Popen(
            ["/bin/sh", "-c", "trap '' TERM; echo $$ > pids; while :; do sleep 1; done"],
            cwd=tmp_path,
            start_new_session=True,
        )
        await soon(lambda: recorded(tmp_path) == [popen.pid])
        group = Group(popen)
        await group.end(0)
        assert not alive(popen.pid)
        assert group.exit_code == -signal.SIGKILL

    asyncio.run(main())


def test_cancelling_ends_the_group_and_then_raises(tmp_path: Path, children: Callable[[], list[int]]) -> None:
    async def main() -> None:
        command = "sleep 60 & echo $! >> pids; echo $$ >> pids; wait"
        task = asyncio.create_task(sh(command, cwd=str(tmp_path)))
        await soon(lambda: len(recorded(tmp_path)) == 2)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert [pid for pid in recorded(tmp_path) if alive(pid)] == []

    asyncio.run(main())
    assert children() == []


def test_a_second_cancellation_skips_the_grace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "GRACE", 3600.0)

    async def main() -> None:
        task = asyncio.create_task(sh(STUBBORN, cwd=str(tmp_path)))
        await soon(lambda: len(recorded(tmp_path)) == 3)
        task.cancel()
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert [pid for pid in recorded(tmp_path) if alive(pid)] == []

    asyncio.run(main())


def test_cancelling_before_the_start_runs_nothing(tmp_path: Path) -> None:
    async def main() -> None:
        task = asyncio.create_task(sh("echo $$ > pids", cwd=str(tmp_path)))
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert recorded(tmp_path) == []


def test_an_outer_timeout_is_told_apart(tmp_path: Path) -> None:
    async def main() -> None:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.2):
                await sh("echo $$ > pids; exec sleep 60", cwd=str(tmp_path))
        assert not alive(recorded(tmp_path)[0])

    asyncio.run(main())


def test_a_loop_that_is_dropped_takes_its_commands_along(tmp_path: Path, children: Callable[[], list[int]]) -> None:
    loop = asyncio.new_event_loop()
    loop.set_exception_handler(lambda loop, context: None)  # that a task was dropped is the point
    work = sh("echo $$ > pids; exec sleep 60", cwd=str(tmp_path))
    task: asyncio.Task[Finished] | None = loop.create_task(work)
    loop.run_until_complete(soon(lambda: recorded(tmp_path)))
    loop.close()
    task = None
    work.close()
    assert task is None
    assert not alive(recorded(tmp_path)[0])
    assert children() == []


def test_the_loop_goes_on_while_commands_are_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "GRACE", 0.2)

    async def main() -> int:
        task = asyncio.create_task(sh(STUBBORN, cwd=str(tmp_path)))
        await soon(lambda: len(recorded(tmp_path)) == 3)
        task.cancel()
        turns = 0
        while not task.done():
            turns += 1
            await asyncio.sleep(0.001)
        return turns

    assert asyncio.run(main()) > 10


# What a command leaves behind


def test_background_processes_of_a_finished_command_are_ended(tmp_path: Path) -> None:
    finished = run("sleep 60 > /dev/null 2>&1 & echo $! > pids; echo done", cwd=str(tmp_path))
    assert (finished.exit_code, finished.stdout) == (0, b"done\n")
    assert not alive(recorded(tmp_path)[0])


def test_background_processes_that_hold_the_output_are_not_waited_for(tmp_path: Path) -> None:
    finished = run("sleep 60 & echo $! > pids; echo done", cwd=str(tmp_path))
    assert (finished.exit_code, finished.stdout) == (0, b"done\n")
    assert not alive(recorded(tmp_path)[0])


def test_a_background_filter_may_finish_what_it_was_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "_LINGER_SECONDS", PATIENCE)
    finished = run("mkfifo p; (cat p; echo last) & echo first > p", cwd=str(tmp_path))
    assert finished.stdout == b"first\nlast\n"


def test_a_daemon_that_keeps_the_output_open_is_not_waited_for(tmp_path: Path) -> None:
    finished = run("setsid sleep 60 & echo $! > daemon; echo done", cwd=str(tmp_path))
    daemon = int((tmp_path / "daemon").read_text())
    try:
        assert finished.stdout == b"done\n"
    finally:
        os.kill(daemon, signal.SIGKILL)


ADOPTER = """
import ctypes, subprocess, sys
assert ctypes.CDLL(None).prctl(36, 1, 0, 0, 0) == 0  # orphans below fall to this process
child = subprocess.Popen([sys.executable, "-c", *sys.argv[1:]], stdout=subprocess.PIPE)
print(child.stdout.read().decode(), end="")
"""


def test_what_a_daemon_leaves_no_time_to_read_is_read_anyway(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "_LINGER_SECONDS", 0.0)
    script = """
import fcntl, os, subprocess
fcntl.fcntl(1, 1031, 1 << 20)  # as much as a pipe can hold
os.write(1, b"x" * (1 << 20))
daemon = subprocess.Popen(["sleep", "60"], start_new_session=True)
os.write(2, str(daemon.pid).encode())
os._exit(0)
"""
    finished = asyncio.run(run_process([sys.executable, "-c", script], env=child_environment()))
    os.kill(int(finished.stderr), signal.SIGKILL)
    assert len(finished.stdout) == 1 << 20


def test_orphans_that_nobody_waits_for_do_not_count_as_alive(tmp_path: Path) -> None:
    patient = RUNNER.replace("finished =", "process.GRACE = 3600; finished =")
    args = [sys.executable, "-c", ADOPTER, patient, str(tmp_path), "sleep 60 & echo $! > pids; echo done"]
    assert subprocess.run(args, capture_output=True, timeout=PATIENCE).stdout == b"0 done\n\n"


def test_orphans_that_fall_to_pflow_are_waited_for(tmp_path: Path) -> None:
    adopting = RUNNER.replace(
        "finished =", "import ctypes; ctypes.CDLL(None).prctl(36, 1, 0, 0, 0); process.GRACE = 3600; finished ="
    )
    code = f"{adopting}\nprint(os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG))"
    args = [sys.executable, "-c", code, str(tmp_path), "sleep 60 & echo $! > pids; echo done"]
    done = subprocess.run(args, capture_output=True, timeout=PATIENCE)
    assert done.stdout == b"0 done\n\nNone\n", done.stderr


def test_an_exit_code_that_someone_else_took_is_not_made_up(tmp_path: Path) -> None:
    deaf = f"import signal\nsignal.signal(signal.SIGCHLD, signal.SIG_IGN)\n{RUNNER}"
    done = subprocess.run([sys.executable, "-c", deaf, str(tmp_path), "exit 3"], capture_output=True, timeout=PATIENCE)
    assert b"StepError: the exit code of `/bin/sh` was lost" in done.stderr


# A pflow that is killed


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., Any]]:
    """Starts processes that run a command as pflow would."""
    started: list[subprocess.Popen[bytes]] = []

    def start(command: str, code: str = RUNNER) -> subprocess.Popen[bytes]:
        args = [sys.executable, "-c", code, str(tmp_path), command]
        started.append(subprocess.Popen(args, stdout=subprocess.PIPE))
        return started[-1]

    yield start
    for popen in started:
        popen.kill()
        popen.communicate()


def test_after_kill_9_of_pflow_nothing_of_it_lives(tmp_path: Path, start: Callable[..., Any]) -> None:
    pflow = start(STUBBORN)
    wait_until(lambda: len(recorded(tmp_path)) == 3)
    helper = guardian(pflow.pid)
    pids = [*recorded(tmp_path), *offspring(pflow.pid)]
    assert helper in pids
    assert all(alive(pid) for pid in pids)
    pflow.kill()
    wait_until(lambda: not any(alive(pid) for pid in pids))


@pytest.mark.parametrize(
    "command",
    [
        "echo $$ > pids; exec sleep 60",
        "echo $$ > pids; exec sleep 60 > /dev/null",
        "echo $$ > pids; exec sleep 60 2> /dev/null",
        "sleep 60 > /dev/null 2>&1 & echo $! > pids",
    ],
)
def test_a_command_whose_pflow_dies_while_starting_it_is_found(
    tmp_path: Path, start: Callable[..., Any], command: str
) -> None:
    late = "while not os.path.exists(sys.argv[1] + '/pids'): pass"
    dying = f"""
import os, sys
from pflow.process.guardian import Guardian
def die(*_):
    {late}
    os.kill(os.getpid(), 9)
Guardian.add = die
{RUNNER}"""
    pflow = start(command, dying)
    assert pflow.wait(PATIENCE) == -signal.SIGKILL
    wait_until(lambda: recorded(tmp_path))
    wait_until(lambda: not alive(recorded(tmp_path)[0]))


def test_the_guardian_gives_time_to_clean_up(tmp_path: Path, start: Callable[..., Any]) -> None:
    pflow = start(TIDY)
    wait_until(lambda: recorded(tmp_path))
    pflow.kill()
    wait_until(lambda: (tmp_path / "clean").exists())
    wait_until(lambda: not alive(recorded(tmp_path)[0]))


def test_signals_meant_for_pflow_do_not_reach_its_guardian(tmp_path: Path, start: Callable[..., Any]) -> None:
    pflow = start("echo $$ > pids; exec sleep 60")
    wait_until(lambda: recorded(tmp_path))
    helper = guardian(pflow.pid)
    assert helper is not None
    assert os.getsid(helper) == helper
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGTSTP):
        os.kill(helper, number)
    pflow.kill()
    wait_until(lambda: not alive(recorded(tmp_path)[0]))
    wait_until(lambda: not alive(helper))


def test_the_guardian_holds_one_pipe_and_no_folder(tmp_path: Path, start: Callable[..., Any]) -> None:
    pflow = start("echo $$ > pids; exec sleep 60")
    wait_until(lambda: recorded(tmp_path))
    helper = guardian(pflow.pid)
    targets = sorted(os.readlink(path) for path in Path(f"/proc/{helper}/fd").iterdir())
    assert targets[:2] == ["/dev/null", "/dev/null"]
    assert [target.partition(":")[0] for target in targets[2:]] == ["pipe"]
    assert os.readlink(f"/proc/{helper}/cwd") == "/"
    assert b"HOME" not in Path(f"/proc/{helper}/environ").read_bytes()


def test_the_guardian_ends_with_a_pflow_that_ends(start: Callable[..., Any]) -> None:
    pflow = start("echo $PPID; read line", RUNNER.replace("cwd=", "stdin=b'x' * (1 << 20) + b'\\n', cwd="))
    assert pflow.wait(PATIENCE) == 0
    pflow = start("true", RUNNER + "from pflow.process.guardian import GUARDIAN; print(GUARDIAN.pid)")
    assert pflow.stdout is not None
    helper = int(pflow.stdout.read().split()[-1])
    assert helper > 0
    wait_until(lambda: not alive(helper))


AGAIN = """
import asyncio, os, signal, sys
from pflow.process.guardian import GUARDIAN
from pflow.process.command import child_environment, run_process

async def main():
    def begin():
        return asyncio.create_task(
            run_process(["/bin/sh", "-c", sys.argv[2]], env=child_environment(), cwd=sys.argv[1])
        )
    first = begin()
    while not os.path.exists(sys.argv[1] + "/pids"):
        await asyncio.sleep(0.005)
    LOSE
    await asyncio.gather(first, begin())

asyncio.run(main())
"""


def test_a_guardian_that_was_killed_is_replaced_and_told_of_all(tmp_path: Path, start: Callable[..., Any]) -> None:
    lose = "os.kill(GUARDIAN.pid, 9); os.waitid(os.P_PID, GUARDIAN.pid, os.WEXITED | os.WNOWAIT)"
    pflow = start("echo $$ >> pids; exec sleep 60", AGAIN.replace("LOSE", lose))
    wait_until(lambda: len(recorded(tmp_path)) == 2)
    pids = [*recorded(tmp_path), guardian(pflow.pid)]
    wait_until(lambda: not any(state(pid) == "Z" for pid in offspring(pflow.pid)))
    pflow.kill()
    wait_until(lambda: not any(alive(pid) for pid in pids if pid))


def test_a_guardian_that_was_stopped_neither_blocks_nor_strikes_later(
    tmp_path: Path, start: Callable[..., Any]
) -> None:
    fill = "os.kill(GUARDIAN.pid, signal.SIGSTOP); [GUARDIAN.remove(1 << 30) for _ in range(10000)]"
    pflow = start("echo $$ >> pids; exec sleep 60", AGAIN.replace("LOSE", fill))
    wait_until(lambda: len(recorded(tmp_path)) == 2)
    assert len(offspring(pflow.pid)) == 3
    assert all(alive(pid) for pid in recorded(tmp_path))
    pflow.kill()
    wait_until(lambda: not any(alive(pid) for pid in recorded(tmp_path)))


def test_a_fork_of_pflow_does_not_keep_its_commands_alive(tmp_path: Path, start: Callable[..., Any]) -> None:
    fork = "os.fork() or (open(sys.argv[1] + '/fork', 'w').write(str(os.getpid())), signal.pause())"
    pflow = start("echo $$ >> pids; exec sleep 60", AGAIN.replace("LOSE", fork))
    wait_until(lambda: len(recorded(tmp_path)) == 2 and (tmp_path / "fork").exists())
    wait_until((tmp_path / "fork").read_text)
    forked = int((tmp_path / "fork").read_text())
    try:
        pflow.kill()
        wait_until(lambda: not any(alive(pid) for pid in recorded(tmp_path)))
        assert alive(forked)
    finally:
        os.kill(forked, signal.SIGKILL)


def test_only_groups_still_on_the_list_are_ended() -> None:
    sleepers = [subprocess.Popen(["sleep", "60"], start_new_session=True) for _ in range(4)]
    own = Guardian()
    try:
        for sleeper in sleepers:
            own.expect([])
            own.add(sleeper.pid, [])
        own.remove(sleepers[0].pid)
        own.remove(sleepers[2].pid)
        own.forget()  # the pipe closes, as it does when this process ends
        assert (sleepers[1].wait(PATIENCE), sleepers[3].wait(PATIENCE)) == (-signal.SIGTERM, -signal.SIGTERM)
        assert (sleepers[0].poll(), sleepers[2].poll()) == (None, None)
    finally:
        for sleeper in sleepers:
            sleeper.kill()
            sleeper.wait()
        os.waitpid(own.pid, 0)


# The environment


def test_secrets_are_not_inherited(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "AWS_SECRET_ACCESS_KEY", "GITHUB_TOKEN", "LD_PRELOAD", "BASH_ENV", "PYTHONPATH"):
        monkeypatch.setenv(name, "canary")
    monkeypatch.setenv("HTTPS_PROXY", "http://user:canary@proxy:3128")
    monkeypatch.setenv("http_proxy", "http://proxy:3128")
    monkeypatch.setenv("LC_TIME", "C")
    finished = asyncio.run(run_process(["env"], env=child_environment({"EXTRA": "given", "PATH": "/bin:/usr/bin"})))
    seen = dict(line.split("=", 1) for line in finished.stdout.decode().splitlines())
    assert "canary" not in seen.values()
    assert "HTTPS_PROXY" not in seen
    assert (seen["http_proxy"], seen["LC_TIME"], seen["EXTRA"]) == ("http://proxy:3128", "C", "given")
    assert seen["PATH"] == "/bin:/usr/bin"
    assert seen["HOME"] == os.environ["HOME"]
