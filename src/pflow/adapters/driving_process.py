"""Starts a process of its own for one run. It outlives whoever started it, and nothing of theirs reaches it but a pipe.

Everything that it is told comes over the pipe that is its standard input, so that secrets are in no argument, no
environment and no file. Over its standard output it says once that it has the run, or why not. What it does is in
`pflow.workspace.driving.detached`.
"""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from queue import Empty, SimpleQueue

import orjson

from pflow.core.advice import Advice
from pflow.core.errors import RunError
from pflow.core.file.atomic import parse_object
from pflow.core.file.home import Home
from pflow.engine.ports import ALL_RECORDED, Unrecorded

PROGRAM = "pflow.workspace.driving.detached"

Stop = Callable[[], None]
"""Lets a process finish the steps that are running, and leave the run to others."""

_APART = getattr(subprocess, "DETACHED_PROCESS", 0) | getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0)
"""What a session of its own is on Windows."""

_PATIENCE_SECONDS = 60.0
"""How long a process may take until it has its run, before it is left alone with it."""


class DrivingProcesses:
    """Processes for runs of one home, started in this process's directory with its environment."""

    def __init__(self, home: Home, environ: Mapping[str, str]) -> None:
        self._home = home
        self._environ = environ

    def start(
        self,
        run_id: str,
        unrecorded: Unrecorded = ALL_RECORDED,
        *,
        stays: bool = False,
        ended: Callable[[], None] = lambda: None,
    ) -> Stop:
        """Start one, and wait until it has the run, which another one may have as well; what stops it, resumable.

        With `stays` it waits with the run for what comes by itself, if nobody else drives. `ended` is called, on
        another thread, when the process is over. Raises `RunError` if it could not take the run up; then `ended` is
        called, too, unless no process could be started.
        """
        try:
            told = orjson.dumps({**unrecorded._asdict(), "stays": stays})
        except TypeError as error:
            raise RunError(f"run `{run_id}` cannot be left to another process: {error}") from None
        try:
            # -P: what is in the current directory is not to be imported in place of Python's own modules.
            process = subprocess.Popen(
                [sys.executable, "-P", "-m", PROGRAM, run_id],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env={**self._environ, "PFLOW_HOME": str(self._home.root)},
                start_new_session=True,
                creationflags=_APART,
                bufsize=0,
            )
        except OSError as error:
            raise _refusal(run_id, f"no process can be started: {error.strerror}") from error
        answers: SimpleQueue[dict[str, object]] = SimpleQueue()
        attend = threading.Thread(target=_attend, args=(process, told, answers.put, ended), daemon=True)
        attend.start()
        try:
            answer = answers.get(timeout=_PATIENCE_SECONDS)
        except Empty:
            return process.terminate
        if answer.get("taken") is not True:
            raise _refusal(run_id, str(answer.get("error") or "its process ended before it had the run"))
        return process.terminate


def _attend(
    process: subprocess.Popen[bytes],
    told: bytes,
    answer: Callable[[dict[str, object]], None],
    ended: Callable[[], None],
) -> None:
    """Tell a process what it needs, pass on its answer, and wait for its end, or it would stay as a zombie."""
    assert process.stdin is not None and process.stdout is not None
    with process.stdin as out, process.stdout as source:
        try:
            left = memoryview(told)
            while left:
                left = left[out.write(left) or 0 :]
            out.close()
        except BrokenPipeError:
            pass  # it has ended; its answer says why, if anything does
        answer(parse_object(source.read()) or {})
    process.wait()
    ended()


def _refusal(run_id: str, reason: str) -> RunError:
    return RunError(
        f"nobody drives run `{run_id}`: {reason}",
        details={"run_id": run_id},
        suggestions=[Advice("go on with `{resume}`", run=run_id)],
    )
