"""The `code` node: an author's Python in a separate process, with limits on time, memory and processes."""

from __future__ import annotations

import asyncio
import keyword
import struct
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Annotated, Any

import orjson

from pflow.core.errors import StepError, StepTimeout
from pflow.core.suggest import nearest
from pflow.core.template.python_text import check_code, source_lines
from pflow.engine.context import find_step
from pflow.nodes import param
from pflow.nodes.output_node import AsyncOutputNode
from pflow.process.command import Finished, child_environment, run_process, signal_name

MAX_RESULT = 32 << 20
MAX_STDOUT = 1 << 20
"""Bytes of the result as JSON, and of what the code prints."""

_LARGE_BYTES = 1 << 20
"""An answer that is parsed in a thread, so that other steps go on."""

_TAIL_CHARACTERS = 2000
_LEAST_MEGABYTES = 64
"""Memory without which Python itself does not start."""


class Code(AsyncOutputNode):
    """Run Python code. Each of `inputs` is a variable in it; what it assigns to `result` is the result.

    The code runs in a separate Python that imports from neither the current directory nor PYTHONPATH, but from
    all packages that are installed beside pflow. `result` must be JSON (null if the code never assigns it). With
    `pure`, what it gave once is taken from the cache, and a step that was cut off runs again.
    """

    name = "code"
    synonyms = (
        "run python",
        "python script or function",
        "program",
        "calculate",
        "custom logic",
        "transform data",
        "snippet",
        "algorithm",
        "process text",
        "evaluate a snippet",
        "custom code on the data",
        "pandas, datetime, math",
        "write a function",
        "anything that no other node does",
        "complicated calculation",
        "script",
    )
    actions = ("default", "error", "timeout")

    class Params:
        code: Annotated[str, "Python source; templates do not apply in it, use inputs", "slot:raw"]
        inputs: Annotated[dict[str, Any], "Values by the variable names they get in the code"] = {}  # noqa: RUF012
        timeout: Annotated[float | str, "How long it may take, such as 90s or 15m", "slot:duration"] = 60
        memory_mb: Annotated[int, "Megabytes of memory it may use"] = 1024
        pure: Annotated[bool, "Whether it has no effects and gives the same for the same inputs"] = False

    class Outputs:
        result: Annotated[Any, "What the code assigned to `result`"]
        stdout: Annotated[str, "What the code printed"]

    async def prep_async(self, shared: object) -> dict[str, Any]:
        """Check the parameters."""
        code = self.params.get("code")
        if not isinstance(code, str):
            raise param.wrong("code", "Python source", code)
        inputs = param.mapping(self.params, "inputs", "variables")
        for name in inputs:
            if not isinstance(name, str) or not name.isidentifier() or keyword.iskeyword(name):
                raise StepError(
                    f"input `{name}` cannot be a variable in the code",
                    suggestions=["use letters, digits and `_`, and no keyword of Python"],
                )
        timeout = param.seconds(self.params, "timeout", 60.0)
        memory = param.number(self.params, "memory_mb", 1024.0, most=1 << 24, least=_LEAST_MEGABYTES)
        return {"code": code, "inputs": dict(inputs), "timeout": timeout, "memory": int(memory * 1024 * 1024)}

    async def exec_async(self, prep_res: dict[str, Any]) -> dict[str, Any]:
        """Run the worker and read its answer."""
        request = {**prep_res, "cpu": int(prep_res["timeout"]) + 2, "max_result": MAX_RESULT, **_stillness()}
        try:
            finished = await _run(param.json_bytes("inputs", request), prep_res["timeout"])
        except StepTimeout as late:
            raise _late(late, prep_res) from None
        stdout = _printed(finished.stderr)
        large = len(finished.stdout) > _LARGE_BYTES
        answer = await asyncio.to_thread(_answer, finished.stdout) if large else _answer(finished.stdout)
        if answer is None:
            raise _died(finished, prep_res, stdout)
        if "error" in answer:
            raise _failed(answer, prep_res, stdout)
        if "refused" in answer:
            raise _refused(answer["refused"], stdout)
        return {"result": answer["result"], "stdout": stdout}


def _stillness() -> dict[str, object]:
    """What a worker does first where a run is played again: see `still.py` beside this."""
    step = find_step()
    still = step.services.still if step else None
    if step is None or still is None:
        return {}
    source = Path(__file__).with_name("still.py").read_text(encoding="utf-8")
    return {"before": source, "given": {"at": still.at, "seed": f"{still.seed}/{step.step}"}}


async def _run(request: bytes, timeout: float) -> Finished:
    """Run a worker: one that is at hand already, or else a new one."""
    step = find_step()
    workers = step.services.workers() if step else None
    argv, env = worker_command(), child_environment()
    try:
        return await run_process(
            argv,
            stdin=request,
            env=env,
            timeout=timeout,
            limit=MAX_RESULT + _LARGE_BYTES,
            child=None if workers is None else workers.take(argv, env),
        )
    finally:
        if workers is not None:
            workers.want(argv, env)


def worker_command() -> list[str]:
    """Starts a worker: isolated, and without the search for installed packages, which it starts itself if need be."""
    return [sys.executable, "-I", "-S", "-X", "utf8", _worker()]


@cache
def _worker() -> str:
    """The worker's file."""
    source = Path(__file__).with_name("worker.py")
    if not source.is_file():
        raise StepError("pflow's own file `nodes/code/worker.py` is missing", suggestions=["install pflow again"])
    return str(compiled(source))


def compiled(source: Path) -> Path:
    """A program's file, compiled where Python keeps the result, which saves every start 4 ms; else itself.

    Where Python may not write what it compiles, it leaves what is there of an older version.
    """
    from importlib.machinery import SourceFileLoader  # lazy: for code steps only, as the next ones
    from importlib.util import MAGIC_NUMBER, cache_from_source, source_hash

    SourceFileLoader(source.stem, str(source)).get_code(source.stem)
    kept = Path(cache_from_source(str(source)))
    stat = source.stat()
    written = struct.pack("<2I", int(stat.st_mtime) & 0xFFFFFFFF, stat.st_size & 0xFFFFFFFF)
    try:
        head = kept.read_bytes()[:16]
    except OSError:
        return source
    is_by_hash = head[4:8] != bytes(4)
    is_current = head[:4] == MAGIC_NUMBER and head[8:] == (source_hash(source.read_bytes()) if is_by_hash else written)
    return kept if is_current else source


def _answer(data: bytes | str) -> dict[str, Any] | None:
    try:
        answer = orjson.loads(data)
    except orjson.JSONDecodeError:
        return None
    return answer if isinstance(answer, dict) else None


def _printed(data: bytes) -> str:
    text = data[:MAX_STDOUT].decode("utf-8", "replace")
    return text if len(data) <= MAX_STDOUT else f"{text}\n… ({len(data) - MAX_STDOUT:,} bytes more)"


def _source(code: str, line: int) -> str:
    lines = source_lines(code)
    return lines[line - 1].strip() if 0 < line <= len(lines) else ""


def _late(late: StepTimeout, prep: dict[str, Any]) -> StepError:
    answer = _answer(str(late.details.get("stdout", ""))) or {}
    if "error" in answer:
        # It failed, and a thread that it had started kept the process alive.
        return _failed(answer, prep, str(late.details.get("stderr", "")))
    line = int(answer.get("line", 0))
    details = {"line": line, "source": _source(prep["code"], line), "stdout": late.details.get("stderr")}
    where = f"; it was at line {line}" if line else "; a thread of it did not end" if "result" in answer else ""
    return StepTimeout(
        f"the code took longer than {prep['timeout']:g} s{where}",
        details={name: value for name, value in details.items() if value},
    )


def _failed(answer: dict[str, Any], prep: dict[str, Any], stdout: str) -> StepError:
    error: dict[str, Any] = answer["error"]
    line = int(error.get("line", 0))
    kind, message = str(error["type"]), str(error["message"])
    if "column" in error and (found := check_code(prep["code"])):
        message = found[0][2]
    elif kind == "MemoryError":
        message = message or f"it needed more than {prep['memory'] >> 20:,} MB"
    where = f" at line {line}" if line else ""
    details = {
        "line": line,
        "source": _source(prep["code"], line),
        "type": kind,
        "message": message,
        "frames": error.get("frames"),
        "stdout": stdout[-_TAIL_CHARACTERS:],
        "stderr": str(answer.get("stderr", ""))[-_TAIL_CHARACTERS:],
    }
    return StepError(
        f"the code failed{where}: {': '.join(filter(None, (kind, message)))}",
        details={name: value for name, value in details.items() if value},
        suggestions=_suggestions(kind, error.get("name"), prep["inputs"]),
    )


def _suggestions(kind: str, name: object, inputs: Mapping[str, object]) -> list[str]:
    if kind == "MemoryError":
        return ["raise `memory_mb`, or work on the data in parts"]
    if kind == "ModuleNotFoundError":
        return [f"install `{name}` where pflow is installed, with pip"]
    if kind == "NameError" and isinstance(name, str):
        near = nearest(name, inputs)
        known = ", ".join(f"`{key}`" for key in inputs) or "none"
        return [f"did you mean `{near[0]}`?" if near else f"pass it through `inputs` (given: {known})"]
    return []


def _refused(refused: dict[str, Any], stdout: str) -> StepError:
    at, advice = refused["at"], refused["advice"]
    return StepError(
        f"the result is not JSON: `{at}`: {refused['reason']}",
        details={"at": at, "stdout": stdout[-_TAIL_CHARACTERS:]} if stdout else {"at": at},
        suggestions=[advice] if advice else (),
    )


def _died(finished: Finished, prep: dict[str, Any], stdout: str) -> StepError:
    """For a worker that ended without an answer."""
    code = finished.exit_code
    details = {"exit_code": code, "stdout": stdout[-_TAIL_CHARACTERS:]}
    if code >= 0:
        return StepError(
            f"the code ended its process (exit code {code}) before it was done",
            details=details,
            suggestions=["leave the code with `sys.exit`, or by reaching its end"],
        )
    name = signal_name(-code)
    advice = {
        "SIGXCPU": ["raise `timeout`; the processor time was used up"],
        "SIGKILL": [f"the system may have run out of memory below the limit of {prep['memory'] >> 20:,} MB"],
        "SIGSEGV": ["endless recursion or a compiled package may be the cause"],
    }
    return StepError(f"the code was killed by {name}", details=details, suggestions=advice.get(name, ()))
