"""The `shell` node: a command line for `/bin/sh`, in which values are variables and never text."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Mapping, MutableMapping
from typing import Annotated, Any

import orjson
from pocketflow import AsyncNode

from pflow.core.errors import StepError, StepTimeout
from pflow.core.printable import cut
from pflow.core.template.env_name import check_env_name
from pflow.core.template.shell_text import ShellCommand
from pflow.engine.context import current_step
from pflow.nodes import param
from pflow.process.command import Finished, child_environment, run_process

LIMIT = 10 << 20
"""Bytes kept of each output."""

_TAIL = 2000
_LINES = 3
_LINE = 200
_LARGE = 1 << 20
_LONGEST_SECONDS = 30 * 86_400.0


class Shell(AsyncNode):
    """Run a command line with `/bin/sh`.

    A template in the command reaches it as an environment variable, so no value is ever executed. Of pflow's
    own environment the command sees what commands ordinarily need, and no keys or tokens: name those in
    `env`. Output is text (bytes that are no UTF-8 become U+FFFD) as `$(…)` would give it, without the newlines
    at its end, and cut after 10 MiB. What the command leaves running in the background is ended with it.
    """

    name = "shell"
    actions = ("default", "error", "timeout")
    purity = "impure"

    class Params:
        command: Annotated[str, "The command line", "slot:shell"]
        stdin: Annotated[Any, "What the command reads; anything but text as JSON"] = None
        cwd: Annotated[str | None, "The folder to run in; without one, pflow's own"] = None
        env: Annotated[dict[str, Any], "More environment variables; anything but text as JSON"] = {}  # noqa: RUF012
        timeout: Annotated[float | None, "Seconds it may take; without, as long as it likes"] = None
        ok_codes: Annotated[list[int], "Exit codes that are no failure"] = [0]  # noqa: RUF012

    class Outputs:
        stdout: Annotated[str, "What the command wrote to its standard output"]
        stderr: Annotated[str, "What the command wrote to its standard error"]
        exit_code: Annotated[int, "Its exit code; −N if signal N ended it"]

    async def prep_async(self, shared: MutableMapping[str, Any]) -> tuple[dict[str, Any], frozenset[int]]:
        """Check the parameters."""
        if sys.platform == "win32":
            raise StepError("`shell` steps need a POSIX shell, which Windows has not", suggestions=["run pflow in WSL"])
        params = self.params
        text, values = _command(params.get("command"))
        call = {
            "argv": ["/bin/sh", "-c", text],
            "stdin": _stdin(params.get("stdin")),
            "env": child_environment({**_env(params), **values}),
            "cwd": None if params.get("cwd") is None else param.path(params, "cwd"),
            "timeout": param.seconds(params, "timeout", None, most=_LONGEST_SECONDS),
            "limit": LIMIT,
        }
        return call, _ok_codes(params.get("ok_codes", [0]))

    async def exec_async(self, prep_res: tuple[dict[str, Any], frozenset[int]]) -> tuple[str, str, int]:
        """Run the command."""
        call, ok_codes = prep_res
        try:
            finished = await run_process(**call)
        except StepTimeout as late:
            message = f"the command took longer than {call['timeout']:g} s and was ended"
            raise StepTimeout(message, details=late.details) from None
        _report_cuts(finished)
        large = len(finished.stdout) + len(finished.stderr) > _LARGE
        stdout, stderr = await asyncio.to_thread(_texts, finished) if large else _texts(finished)
        if finished.exit_code not in ok_codes:
            raise _failure(finished.exit_code, stdout, stderr)
        return stdout, stderr, finished.exit_code

    async def post_async(self, shared: MutableMapping[str, Any], prep_res: Any, exec_res: tuple[str, str, int]) -> str:
        """Write the outputs."""
        shared["stdout"], shared["stderr"], shared["exit_code"] = exec_res
        return "default"


def _command(value: object) -> tuple[str, Mapping[str, str]]:
    """The text for the shell and the variables that stand for its templates."""
    text, values = (value.text, value.env) if isinstance(value, ShellCommand) else (value, {})
    if not isinstance(text, str):
        raise param.wrong("command", "a command line", text)
    if not text.strip():
        raise StepError("`command` is empty", suggestions=["give the command line to run"])
    if "\0" in text:
        raise StepError("`command` holds a NUL character, which no command line can carry")
    return text, values


def _stdin(value: object) -> bytes:
    if value is None:
        return b""
    if isinstance(value, bytes):
        return value
    try:
        return value.encode() if isinstance(value, str) else orjson.dumps(value)
    except UnicodeEncodeError:
        raise StepError("`stdin` holds text that is not valid Unicode") from None
    except TypeError as error:
        raise StepError(f"`stdin` is neither text nor JSON: {error}") from None


def _env(params: param.Params) -> dict[str, str]:
    env: dict[str, str] = {}
    for name, item in param.mapping(params, "env", "variables").items():
        problem = check_env_name(str(name))
        if problem:
            raise StepError(f"`env` has a variable `{name}` that cannot be set", suggestions=[problem])
        try:
            env[name] = item if isinstance(item, str) else orjson.dumps(item).decode()
        except TypeError as error:
            raise StepError(f"the variable `{name}` in `env` is neither text nor JSON: {error}") from None
        if "\0" in env[name]:
            raise StepError(f"the variable `{name}` in `env` holds a NUL character, which no variable can carry")
    return env


def _ok_codes(value: object) -> frozenset[int]:
    codes = [0] if value is None else value
    if not isinstance(codes, list | tuple) or not codes or any(type(code) is not int for code in codes):
        raise StepError("`ok_codes` must be a list of whole numbers, with at least one in it", suggestions=["[0, 1]"])
    return frozenset(codes)


def _texts(finished: Finished) -> tuple[str, str]:
    # A newline at the end would make a path, an address or a word of whatever uses the output another one.
    stdout, stderr = (stream.decode(errors="replace").rstrip("\n") for stream in (finished.stdout, finished.stderr))
    return stdout, stderr


def _report_cuts(finished: Finished) -> None:
    for stream, was_cut in (("stdout", finished.stdout_cut), ("stderr", finished.stderr_cut)):
        if was_cut:
            try:
                current_step().report(f"{stream} is longer than {LIMIT >> 20} MiB; the rest was dropped")
            except LookupError:
                return  # outside of a run nobody watches


def _failure(code: int, stdout: str, stderr: str) -> StepError:
    """What went wrong, with the last of what the command said about it."""
    ended = f"the command was ended by {_signal(-code)}" if code < 0 else f"the command ended with exit code {code}"
    last = stderr[-_LINES * 1000 :]
    lines = [
        cut(line.strip(), _LINE + 1) for line in (last if last == stderr else f"…{last}").splitlines() if line.strip()
    ]
    return StepError(
        ": ".join([ended, "; ".join(lines[-_LINES:])] if lines else [ended]),
        details={"exit_code": code, "stdout": stdout[-_TAIL:], "stderr": stderr[-_TAIL:]},
        suggestions=[_advice(code)] if code > 0 else [],
    )


def _advice(code: int) -> str:
    if code == 127:
        return "a program in the command was not found: install it, or give its full path"
    if code == 126:
        return "a program in the command is not executable: `chmod +x` makes it so"
    if 128 < code <= 128 + 64:
        return f"{code} is 128 + {code - 128}: a program in the command was ended by {_signal(code - 128)}"
    return f"if exit code {code} is no failure, add it to `ok_codes`"


def _signal(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
