"""The `shell` node: a program with its arguments, or a command line for `/bin/sh`, in which values are variables."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Mapping
from typing import Annotated, Any

from pflow.core.errors import StepError, StepTimeout
from pflow.core.printable import cut
from pflow.core.template.compiled import as_text
from pflow.core.template.env_name import check_env_name
from pflow.core.template.shell_text import ShellCommand
from pflow.engine.context import find_step
from pflow.nodes import param
from pflow.nodes.output_node import AsyncOutputNode
from pflow.process.command import Finished, child_environment, run_process, signal_name
from pflow.process.live_lines import LiveLines

_KEPT_BYTES = 10 << 20
_TAIL_CHARACTERS = 2000
_SHOWN_LINES = 3
_SHOWN_CHARACTERS = 200
_LARGE_BYTES = 1 << 20
"""Output that is decoded in a thread, so that other steps go on."""

_LONGEST_SECONDS = 30 * 86_400.0


class Shell(AsyncOutputNode):
    """Run a program with its arguments, or a command line with `/bin/sh`.

    As a list, `command` runs without a shell: a template stays in the argument that it stands in. As a string it is
    a command line, and each template in it reaches the shell as an environment variable, so that the shell never
    parses a value. Of pflow's own environment the command sees what commands ordinarily need, and no keys or
    tokens: name those in `env`. Output is text (bytes that are not UTF-8 become U+FFFD) as `$(…)` would give it,
    without the newlines at its end, and cut after 10 MiB. What the command leaves running in the background is
    ended with it.
    """

    name = "shell"
    synonyms = (
        "bash command",
        "terminal",
        "command line tool",
        "execute a script or program",
        "launch an executable",
        "console",
        "subprocess",
        "ffmpeg, curl, grep, make, docker, npm",
        "invoke an external binary or tool",
        "run an application",
        "sh, zsh, powershell",
        "system command",
        "install a package",
        "unzip, tar, ssh, rsync, awk, sed, jq",
    )
    actions = ("default", "error", "timeout")
    purity = "impure"

    class Params:
        command: Annotated[str | list[Any], "A program and its arguments as a list, or a command line", "slot:shell"]
        stdin: Annotated[Any, "What the command reads; anything but text as JSON"] = None
        cwd: Annotated[str | None, "The directory to run in; without one, pflow's own"] = None
        env: Annotated[dict[str, Any], "More environment variables; anything but text as JSON", "slot:env"] = {}  # noqa: RUF012
        timeout: Annotated[
            float | str | None,
            "How long it may take, such as 90s or 15m; without, as long as it likes",
            "slot:duration",
        ] = None
        ok_codes: Annotated[list[int], "Exit codes that do not fail the step"] = [0]  # noqa: RUF012

    class Outputs:
        stdout: Annotated[str, "What the command wrote to its standard output"]
        stderr: Annotated[str, "What the command wrote to its standard error"]
        exit_code: Annotated[int, "Its exit code; −N if signal N ended it"]

    async def exec_async(self, prep_res: object) -> dict[str, Any]:
        """Run the command."""
        if sys.platform == "win32":
            raise StepError("`shell` steps need a POSIX shell, which Windows lacks", suggestions=["run pflow in WSL"])
        params = self.params
        argv, values = _command(params.get("command"))
        timeout = param.seconds(params, "timeout", None, most=_LONGEST_SECONDS)
        ok_codes = _ok_codes(params.get("ok_codes"))
        try:
            finished = await run_process(
                argv,
                stdin=_stdin(params.get("stdin")),
                env=child_environment({**_env(params), **values}),
                cwd=None if params.get("cwd") is None else param.path(params, "cwd"),
                timeout=timeout,
                limit=_KEPT_BYTES,
                live=_live_lines(),
            )
        except StepTimeout as late:
            message = f"the command took longer than {timeout:g} s and was ended"
            raise StepTimeout(message, details=late.details) from None
        _report_cuts(finished)
        large = len(finished.stdout) + len(finished.stderr) > _LARGE_BYTES
        stdout, stderr = await asyncio.to_thread(_texts, finished) if large else _texts(finished)
        if finished.exit_code not in ok_codes:
            raise _failure(finished.exit_code, stdout, stderr)
        return {"stdout": stdout, "stderr": stderr, "exit_code": finished.exit_code}


def _live_lines() -> LiveLines | None:
    """Passes what a long command writes on to whoever follows the run."""
    step = find_step()
    live = step.services.live if step is not None else None
    if step is None or live is None:
        return None
    run_id, name = step.run_id, step.step
    return LiveLines(lambda stream, text: live(run_id, name, stream, text))


def _command(value: object) -> tuple[list[str], Mapping[str, str]]:
    """What to start, and the variables that stand for the templates of a command line."""
    if isinstance(value, list):
        return _arguments(value), {}
    text, values = (value.text, value.env) if isinstance(value, ShellCommand) else (value, {})
    if not isinstance(text, str):
        raise param.wrong("command", "a list of arguments or a command line", text)
    if not text.strip():
        raise StepError("`command` is empty", suggestions=["give the command line to run"])
    if "\0" in text:
        raise StepError("`command` contains a NUL character, which a command line cannot carry")
    return ["/bin/sh", "-c", text], values


def _arguments(items: list[object]) -> list[str]:
    if not items or items[0] == "":
        raise StepError("`command` is a list without a program", suggestions=['write `["program", "argument"]`'])
    for index, item in enumerate(items):
        if not isinstance(item, str | int | float):
            raise param.wrong(f"command[{index}]", "a string, a number or a boolean", item)
    return [as_text(item) for item in items]


def _stdin(value: object) -> bytes:
    if value is None:
        return b""
    if isinstance(value, bytes):
        return value
    return param.utf8("stdin", value) if isinstance(value, str) else param.json_bytes("stdin", value)


def _env(params: param.Params) -> dict[str, str]:
    env: dict[str, str] = {}
    for name, item in param.mapping(params, "env", "variables").items():
        problem = check_env_name(str(name))
        if problem:
            raise StepError(f"`env` has a variable `{name}` that cannot be set", suggestions=[problem])
        env[name] = item if isinstance(item, str) else param.json_bytes(f"env.{name}", item).decode()
        if "\0" in env[name]:
            raise StepError(f"`env.{name}` contains a NUL character, which a variable cannot carry")
    return env


def _ok_codes(value: object) -> frozenset[int]:
    codes = [0] if value is None else value
    if not isinstance(codes, list | tuple) or not codes or any(type(code) is not int for code in codes):
        raise StepError("`ok_codes` must be a list of whole numbers, with at least one in it", suggestions=["[0, 1]"])
    return frozenset(codes)


def _texts(finished: Finished) -> tuple[str, str]:
    # A newline at the end would change a path, an address or a word that another step takes from the output.
    stdout, stderr = (stream.decode(errors="replace").rstrip("\n") for stream in (finished.stdout, finished.stderr))
    return stdout, stderr


def _report_cuts(finished: Finished) -> None:
    step = find_step()
    for stream, was_cut in (("stdout", finished.stdout_cut), ("stderr", finished.stderr_cut)):
        if was_cut and step:
            step.report(f"{stream} is longer than {_KEPT_BYTES >> 20} MiB; the rest was dropped")


def _failure(code: int, stdout: str, stderr: str) -> StepError:
    """What went wrong, with the last of what the command said about it."""
    ended = f"was ended by {signal_name(-code)}" if code < 0 else f"ended with exit code {code}"
    last = stderr[-_SHOWN_LINES * 1000 :]
    text = last if last == stderr else f"…{last}"
    lines = [cut(line.strip(), _SHOWN_CHARACTERS + 1) for line in text.splitlines() if line.strip()]
    said = f": {'; '.join(lines[-_SHOWN_LINES:])}" if lines else ""
    return StepError(
        f"the command {ended}{said}",
        details={"exit_code": code, "stdout": stdout[-_TAIL_CHARACTERS:], "stderr": stderr[-_TAIL_CHARACTERS:]},
        suggestions=[_advice(code)] if code > 0 else [],
    )


def _advice(code: int) -> str:
    if code == 127:
        return "a program in the command was not found: install it, or give its full path"
    if code == 126:
        return "a program in the command is not executable: `chmod +x` makes it so"
    if 128 < code <= 128 + 64:
        return f"{code} is 128 + {code - 128}: a program in the command was ended by {signal_name(code - 128)}"
    return f"if exit code {code} is not a failure, add it to `ok_codes`"
