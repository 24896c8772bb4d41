"""Workers of code steps that a server forks: as separate as those that are started, and gone when pflow is."""

from __future__ import annotations

import asyncio
import os
import py_compile
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from py_compile import PycInvalidationMode

import pytest

from pflow.core.errors import StepTimeout
from pflow.core.file.home import Home
from pflow.nodes.code.node import compiled, worker_command
from pflow.process.command import child_environment
from pflow.process.fork_server import IS_POSSIBLE, ForkServer
from pflow.process.guardian import GUARDIAN
from pflow.workspace import Workspace
from tests.nodes.code_step import fail, run, start, step, use

pytestmark = pytest.mark.skipif(not IS_POSSIBLE, reason="this system has no fork server")


@pytest.fixture
def server() -> Iterator[ForkServer]:
    others = set(GUARDIAN.groups)  # servers that other tests share live on
    server = ForkServer()
    use(start(server))
    yield server
    use(None)
    server.close()
    assert GUARDIAN.groups == others


def is_alive(pid: int) -> bool:
    """Whether a process runs; a zombie that nobody collects does not."""
    try:
        return ") Z " not in Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False


def test_each_step_is_a_child_of_the_server_in_its_own_session(server: ForkServer) -> None:
    code = "import os\nresult = [os.getppid(), os.getpid() == os.getsid(0) == os.getpgid(0), os.getpid()]"
    parent, alone, first = run(code)["result"]
    assert (parent, alone) == (server.pid, True)
    assert run(code)["result"][2] != first


def test_a_step_finds_nothing_of_the_steps_before_it(server: ForkServer) -> None:
    spoil = """
        import builtins, csv, json, os, signal, sys
        json.loads = csv.reader = builtins.divmod = None
        os.environ["LEFT"] = "over"
        os.chdir("/")
        os.umask(0)
        sys.path.clear()
        sys.modules["re"] = None
        sys.setrecursionlimit(100_000)
        signal.signal(signal.SIGUSR1, signal.SIG_IGN)
        result = 1
    """
    look = """
        import builtins, csv, json, os, re, signal, sys
        umask = os.umask(0)
        result = [json.loads("[1]"), divmod(5, 2)[0], os.environ.get("LEFT"), os.getcwd(), umask, bool(sys.path)]
        result += [sys.getrecursionlimit(), signal.getsignal(signal.SIGUSR1) == signal.SIG_DFL, re.__name__]
        result += ["rows" in globals(), sys.argv]
    """
    assert run(spoil, {"rows": [1]})["result"] == 1
    umask = os.umask(0)
    os.umask(umask)
    expected = [[1], 2, None, os.getcwd(), umask, True, 1000, True, "re", False, ["<code>"]]
    assert run(look)["result"] == expected


def test_chance_is_not_repeated_from_step_to_step(server: ForkServer) -> None:
    code = "import random, uuid\nresult = [random.random(), str(uuid.uuid4())]"
    assert not set(map(str, run(code)["result"])) & set(map(str, run(code)["result"]))


def test_a_step_holds_no_file_of_the_server(server: ForkServer) -> None:
    code = """
        import os
        result = sorted(os.readlink(f"/proc/self/fd/{n}").partition(":")[0] for n in os.listdir("/proc/self/fd")
                        if os.path.lexists(f"/proc/self/fd/{n}"))
    """
    forked = run(code)["result"]
    use(None)
    assert forked == run(code)["result"]
    assert "socket" not in forked


def test_the_current_directory_is_that_of_the_step(server: ForkServer, tmp_path: Path) -> None:
    before = os.getcwd()
    gone = tmp_path / "gone"
    gone.mkdir()
    try:
        os.chdir(gone)
        assert run("import os\nresult = os.getcwd()")["result"] == str(gone)
        gone.rmdir()
        assert run("import os\nresult = os.getppid()")["result"] == server.pid
    finally:
        os.chdir(before)


def test_a_server_for_another_environment_makes_room(server: ForkServer, monkeypatch: pytest.MonkeyPatch) -> None:
    former = server.pid
    monkeypatch.setenv("LANG", "xx_XX.UTF-8")
    code = "import os\nresult = [os.getppid(), os.environ['LANG']]"
    assert run(code)["result"] == [os.getpid(), "xx_XX.UTF-8"]
    assert not is_alive(former)
    assert run(code, **{"timeout": 60})["result"][1] == "xx_XX.UTF-8"
    assert run_on(start(server), code) == [server.pid, "xx_XX.UTF-8"]


def run_on(server: ForkServer, code: str) -> object:
    use(server)
    return run(code)["result"]


def test_a_step_that_kills_the_server_harms_no_other_step(server: ForkServer, tmp_path: Path) -> None:
    former = server.pid
    flag = tmp_path / "killed"
    os.mkfifo(flag)

    async def both() -> tuple[object, object]:
        patient = asyncio.create_task(step("open(flag).read()\nresult = 'mine'", {"flag": str(flag)}))
        kill = "import os, signal\nopen(flag, 'w').close()\nos.kill(os.getppid(), signal.SIGKILL)\nresult = 'done'"
        killer = asyncio.create_task(step(kill, {"flag": str(flag)}))
        return (await patient)["result"], (await killer)["result"]

    assert asyncio.run(both()) == ("mine", "done")
    assert not is_alive(former)
    assert run("result = 2")["result"] == 2
    assert start(server).pid != former
    assert run("import os\nresult = os.getppid()")["result"] == server.pid


@pytest.mark.slow
def test_a_step_that_stops_the_server_is_survived(server: ForkServer) -> None:
    former = server.pid
    assert run("import os, signal\nos.kill(os.getppid(), signal.SIGSTOP)\nresult = 1")["result"] == 1
    assert not is_alive(former)
    assert run("result = 2")["result"] == 2


def test_a_server_that_died_is_not_missed(server: ForkServer) -> None:
    os.killpg(server.pid, signal.SIGKILL)
    assert run("result = 6 * 7")["result"] == 42
    assert start(server).pid


def test_many_steps_at_once_get_their_own_results(server: ForkServer) -> None:
    async def all_at_once() -> list[object]:
        code = "import os\nprint(n)\nresult = [n, os.getppid()]"
        done = await asyncio.gather(*(step(code, {"n": n}) for n in range(30)))
        return [(*one["result"], one["stdout"]) for one in done]

    assert asyncio.run(all_at_once()) == [(n, server.pid, f"{n}\n") for n in range(30)]


def test_a_step_that_is_cancelled_or_late_leaves_nothing(server: ForkServer, tmp_path: Path) -> None:
    late = fail("import os\nprint(os.getpid(), flush=True)\nwhile True: pass", timeout=1)
    assert isinstance(late, StepTimeout)
    assert not is_alive(int(str(late.details["stdout"])))
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)

    async def cancel() -> int:
        code = "import os\nopen(pipe, 'w').write(str(os.getpid()))\nwhile True: pass"
        task = asyncio.create_task(step(code, {"pipe": str(pipe)}))
        pid = int(await asyncio.to_thread(pipe.read_text))
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        return pid

    assert not is_alive(asyncio.run(cancel()))
    assert run("result = 1")["result"] == 1


def test_the_server_shows_no_secret(server: ForkServer, monkeypatch: pytest.MonkeyPatch) -> None:
    run("result = token", {"token": "canary-4711"})
    for name in ("environ", "cmdline"):
        assert "canary" not in Path(f"/proc/{server.pid}/{name}").read_text()
    assert "PFLOW" not in Path(f"/proc/{server.pid}/environ").read_text()


def test_a_closed_server_is_gone_and_is_not_started_again(server: ForkServer) -> None:
    former = server.pid
    server.close()
    assert not is_alive(former)
    assert run("import os\nresult = os.getppid()")["result"] == os.getpid()
    assert server.pid == 0


def test_a_fork_of_pflow_leaves_the_server_alone(server: ForkServer) -> None:
    pid = os.fork()
    if pid == 0:
        taken = server.take(worker_command(), child_environment())
        server.close()
        os._exit(0 if taken is None else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    assert run("import os\nresult = os.getppid()")["result"] == server.pid


def test_a_server_that_cannot_start_is_tried_once(monkeypatch: pytest.MonkeyPatch) -> None:
    server = ForkServer()
    argv = [sys.executable, "-c", "raise SystemExit(1)"]
    for _ in range(3):
        server.want(argv, child_environment())
        assert server.take(argv, child_environment()) is None
    server.close()
    assert server.take(worker_command(), child_environment()) is None


def test_a_process_that_ends_with_its_run_starts_a_server_only_for_many_steps(tmp_path: Path) -> None:
    others = set(GUARDIAN.groups)
    use(None)

    def parents(count: int) -> set[int]:
        code = "import os\nresult = os.getppid()"
        nodes = [{"id": f"n{n}", "type": "code", "params": {"code": code}} for n in range(count)]
        outputs = {f"n{n}": {"source": f"${{n{n}.result}}"} for n in range(count)}
        with Workspace(Home(tmp_path / "home")) as workspace:
            done = workspace.run({"nodes": nodes, "outputs": outputs}, cache=False)
            assert done.success, done.error
            return {int(str(parent)) for parent in done.outputs.values()}

    assert parents(2) == {os.getpid()}
    assert len(parents(60)) == 2
    assert GUARDIAN.groups == others


KILLED = """
import asyncio, os, sys
sys.path.insert(0, sys.argv[1])
from pflow.process.fork_server import ForkServer
from tests.nodes.code_step import start, step, use

async def main():
    code = "import os, time\\nopen(pipe, 'w').write(f'{os.getppid()} {os.getpid()}')\\nwhile True: time.sleep(1)"
    await step(code, {"pipe": sys.argv[2]})

use(start(ForkServer()))
asyncio.run(main())
"""


def test_nothing_outlives_a_pflow_that_is_killed(tmp_path: Path, within: Callable[[Callable[[], bool]], None]) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    root = str(Path(__file__).parents[2])
    pflow = subprocess.Popen([sys.executable, "-c", KILLED, root, str(pipe)])
    pids = [int(pid) for pid in pipe.read_text().split()]
    assert all(map(is_alive, pids))
    pflow.kill()
    pflow.wait()
    within(lambda: not any(map(is_alive, pids)))


@pytest.fixture
def within() -> Callable[[Callable[[], bool]], None]:
    """Waits until something holds; the test's own time limit bounds it."""

    async def until(holds: Callable[[], bool]) -> None:
        while not holds():
            await asyncio.sleep(0.01)

    return lambda holds: asyncio.run(asyncio.wait_for(until(holds), 60))


@pytest.mark.parametrize("by", [PycInvalidationMode.TIMESTAMP, PycInvalidationMode.CHECKED_HASH])
def test_a_compiled_worker_of_an_older_version_is_not_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, by: PycInvalidationMode
) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    program = tmp_path / "program.py"
    program.write_text("print('old')")
    assert compiled(program) == program, "nothing is kept where Python may not write"
    kept = Path(py_compile.compile(str(program), invalidation_mode=by) or "")
    assert compiled(program) == kept
    program.write_text("print('newer')")
    assert compiled(program) == program
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    assert compiled(program) == kept
    said = subprocess.run([sys.executable, str(kept)], capture_output=True, check=True, text=True)
    assert said.stdout == "newer\n"
