"""Runs one author's code in a separate process, within limits. Needs nothing but a bare Python.

The request comes as JSON on standard input. The answer leaves as JSON on what was standard output; what the
code prints goes to standard error, so that the two never mix. Starting costs more than most code that runs here,
hence the C half of `json` alone, and no `re` or `traceback`: they would double it. Started with `ready`, a worker
has imported what code often needs before its request comes; with `serve`, it forks a worker for each request.
"""

from __future__ import annotations

import gc
import io
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

CODE = "<code>"
COMMON = ("json", "re", "csv", "datetime", "collections", "math")
USUAL = ("dataclasses", "hashlib", "io", "pathlib", "random", "statistics", "textwrap", "typing", "urllib.parse")
"""What code often imports: for each worker that waits, and for a server, whose forks all have it. `random` seeds itself
again after a fork; none of these starts a thread or reads what could change."""

MAX_DEPTH = 200
_TAIL_CHARACTERS = 8192
_MESSAGE_CHARACTERS = 4096
_FORKS = 256


class Refused(Exception):
    """A result that is not JSON: why, and the keys that lead to the value in question, innermost first."""

    def __init__(self, reason: str, advice: str = "") -> None:
        super().__init__(reason)
        self.reason = reason
        self.advice = advice
        self.keys: list[object] = []


class Tail(io.StringIO):
    """Keeps the end of what is written; standard error is for people, who need no more."""

    def write(self, text: str) -> int:
        written = super().write(text)
        if self.tell() > 8 * _TAIL_CHARACTERS:
            kept = self.last()
            self.seek(0)
            self.truncate()
            super().write(kept)
        return written

    def last(self) -> str:
        return self.getvalue()[-_TAIL_CHARACTERS:]

    def fileno(self) -> int:
        return 2


def main() -> None:
    """Run the code of the request and answer. A worker that is started ahead prepares while it waits."""
    ready = len(sys.argv) > 1
    if ready:
        import site  # lazy: only where there is time

        site.main()
        for name in COMMON:
            __import__(name)
    if "serve" in sys.argv:
        for name in USUAL:
            __import__(name)
        serve()
    request = parse(sys.stdin.buffer.read().decode())
    answer = Answer()
    os.dup2(2, 1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    sys.stderr = tail = Tail()
    sys.argv = [CODE]
    code = request["code"]
    if "import" in code and not ready:
        import site  # lazy: finding installed packages costs a third of the start

        site.main()
    if "before" in request:
        exec(compile(request["before"], "<before>", "exec"), {"GIVEN": request["given"]})
    gc.set_threshold(10_000, 20, 100)  # reading a table makes many objects; looking for cycles takes a 16th of it
    known = frozenset(sys.modules)
    soft_memory = limit(request)
    answer.tell_when_stopped()
    outcome = run(code, request["inputs"], request["max_result"], soft_memory)
    outcome["stderr"] = clean(tail.last())
    answer.send(outcome)
    leave(known)


def serve() -> None:
    """Fork for each request on the socket that is standard input, as `process/fork_server.py` says.

    Returns in the children only, each in a session of its own, with its own files and directory.
    """
    from _socket import CMSG_SPACE, socket  # lazy: `socket` would cost more than all of this

    sys.stdout.flush()  # fails if an installed package has printed something, which every child would print again
    if len(os.listdir("/proc/self/task")) > 1:  # noqa: PTH208
        os._exit(1)  # an installed package has started a thread, which a fork would lack
    server = socket(fileno=0)
    server.send(b"ready")
    while request := server.recvmsg(64, CMSG_SPACE(4 * 5)):
        question, files, *_ = request
        if not question:
            os._exit(0)
        if not files:
            server.send(collect(int(question)))
            continue
        data = files[0][2]
        stdin, stdout, stderr, held, here = (
            int.from_bytes(data[at : at + 4], sys.byteorder) for at in range(0, len(data), 4)
        )
        try:
            pid = os.fork()
        except OSError as error:
            pid = -(error.errno or 1)
        if pid == 0:
            server.detach()
            os.setsid()
            os.fchdir(here)
            for number, file in enumerate((stdin, stdout, stderr)):
                os.dup2(file, number)
        for file in (stdin, stdout, stderr, here, *((held,) if pid else ())):
            os.close(file)
        if pid == 0:
            return
        server.send(b"%d" % pid)


def collect(pid: int) -> bytes:
    """The exit code of a child; `-` while it runs."""
    try:
        found, status = os.waitpid(pid, os.WNOHANG)
    except ChildProcessError:
        return b"0"
    return b"%d" % os.waitstatus_to_exitcode(status) if found else b"-"


def leave(known: frozenset[str]) -> None:
    """Close what is open and exit at once, to save 5 ms; not with threads, exit handlers, or packages just imported."""
    threading, atexit = sys.modules.get("threading"), sys.modules.get("atexit")
    if (threading is not None and threading.active_count() > 1) or (atexit is not None and atexit._ncallbacks()):
        return
    for name, module in sys.modules.items():
        if name not in known and "site-packages" in (getattr(module, "__file__", None) or ""):
            return
    sys.modules["__main__"].__dict__.clear()
    os._exit(0)


class Answer:
    """The one answer of the worker; processes that the code forked do not give one."""

    def __init__(self) -> None:
        self.fd = os.dup(1)
        self.worker = os.getpid()
        self.printed = sys.stdout
        self.sent = False

    def send(self, outcome: dict[str, object]) -> None:
        try:
            self.printed.flush()
        except (OSError, ValueError, RuntimeError):
            pass  # the code closed it, or was writing to it just now
        if os.getpid() != self.worker:
            os._exit(0)
        if not self.sent:
            self.sent = True
            data = memoryview("".join(encoded(outcome)).encode())
            while data:
                data = data[os.write(self.fd, data) :]

    def tell_when_stopped(self) -> None:
        """Answer a timeout with the line that was running."""
        from _signal import (  # type: ignore[import-not-found]  # lazy: the module `signal` costs 3 ms
            SIGTERM,
            signal,
        )

        def stop(_: int, frame: Any) -> None:
            while frame is not None and frame.f_code.co_filename != CODE:
                frame = frame.f_back
            self.send({"line": frame.f_lineno if frame else 0})
            os._exit(1)

        signal(SIGTERM, stop)


def limit(request: dict[str, Any]) -> bool:
    """Limit memory, processor time, processes and core dumps; whether this system can.

    The step's timeout comes first; processor time is for a worker whose parent is gone.
    """
    bound_forks()
    try:
        import resource  # lazy: not on Windows
    except ImportError:
        return False
    wanted = {
        "RLIMIT_AS": request["memory"],
        "RLIMIT_CPU": request["cpu"] * (os.cpu_count() or 1),
        "RLIMIT_CORE": 0,
        "RLIMIT_NPROC": threads_now() + _FORKS,
    }
    for name, value in wanted.items():
        kind = getattr(resource, name, None)
        if kind is None:
            continue
        _, hard = resource.getrlimit(kind)
        if hard != resource.RLIM_INFINITY:
            value = min(value, hard)
        try:
            resource.setrlimit(kind, (value, hard if name == "RLIMIT_AS" else value))
        except (ValueError, OSError):
            continue
    return True


def threads_now() -> int:
    """How many threads the whole system has, which is at least what the kernel counts for this user."""
    try:
        with open("/proc/loadavg", encoding="ascii") as file:  # noqa: PTH123 pathlib would double the start
            return int(file.read().split()[3].split("/")[1])
    except (OSError, ValueError, IndexError):
        return 4096


def bound_forks() -> None:
    """Limit how often this process and its forks may fork in all; the kernel's own limit does not apply to root.

    A pipe of tokens is the one counter that all of them share.
    """
    tokens, fill = os.pipe()
    os.write(fill, b"." * _FORKS)
    os.close(fill)

    def watch(event: str, _: object) -> None:
        if event in ("os.fork", "os.forkpty") and not os.read(tokens, 1):
            raise BlockingIOError(f"code may fork {_FORKS} times")

    sys.addaudithook(watch)


def run(code: str, inputs: dict[str, object], max_result: int, soft_memory: bool) -> dict[str, object]:
    """The outcome of the code: its encoded result, or what went wrong."""
    module = type(sys)("__main__")
    sys.modules["__main__"] = module
    module.__dict__.update({"exit": sys.exit, "quit": sys.exit} | inputs)
    try:
        exec(compile(code, CODE, "exec", dont_inherit=True), module.__dict__)
    except SystemExit as error:
        if error.code not in (None, 0):
            return {"error": failure(error)}
    except MemoryError as error:
        more_memory(soft_memory)
        return {"error": failure(error)}
    except BaseException as error:  # noqa: BLE001 an author's code may raise anything, and all of it is reported
        return {"error": failure(error)}
    more_memory(soft_memory)
    try:
        parts = encoded(module.__dict__.get("result"))
        size = sum(map(len, parts))
        if size > max_result:
            raise Refused(f"it is {size:,} bytes as JSON; at most {max_result:,} are allowed", "write it to a file")
    except Refused as refused:
        return {"refused": {"at": place(refused.keys), "reason": refused.reason, "advice": refused.advice}}
    except BaseException as error:  # noqa: BLE001 a result may be of the author's own class, with methods that fail
        return {"error": failure(error)}
    return {"result": Encoded(parts)}


def more_memory(soft_memory: bool) -> None:
    """Give the worker itself memory that the code's limit may have denied it."""
    if soft_memory:
        import resource  # lazy: not on Windows

        _, hard = resource.getrlimit(resource.RLIMIT_AS)
        resource.setrlimit(resource.RLIMIT_AS, (hard, hard))


def failure(error: BaseException) -> dict[str, object]:
    """An exception in the author's terms: frames of the code only, none of this file."""
    lines: list[dict[str, object]] = []
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == CODE:
            lines = [*lines[-7:], {"line": trace.tb_lineno, "function": trace.tb_frame.f_code.co_name}]
        trace = trace.tb_next
    try:
        message = str(error)[:_MESSAGE_CHARACTERS]
    except Exception:  # noqa: BLE001 the author's own exception may fail to describe itself
        message = ""
    kind = type(error)
    name = (
        kind.__qualname__ if kind.__module__ in ("builtins", "__main__") else f"{kind.__module__}.{kind.__qualname__}"
    )
    found: dict[str, object] = {"type": name, "message": clean(message), "frames": lines}
    if isinstance(error, SyntaxError) and not lines:
        found |= {"message": error.msg, "line": error.lineno or 1, "column": error.offset or 1}
    elif lines:
        found["line"] = lines[-1]["line"]
    if isinstance(error, NameError | ImportError) and error.name:
        found["name"] = error.name
    return found


def clean(text: str) -> str:
    return text.encode("utf-8", "backslashreplace").decode()


def place(keys: list[object]) -> str:
    """Where in the result the value in question is, as the author would write it."""
    shown = [f"[{clean(repr(key))[:100]}]" for key in reversed(keys)]
    return "".join(["result", *shown[:8], "…" if len(shown) > 8 else ""])


class Encoded:
    """A value that is JSON already."""

    def __init__(self, parts: list[str]) -> None:
        self.parts = parts


def encoded(value: object) -> list[str]:
    """The value as pieces of JSON text; raises `Refused`."""
    parts: list[str] = []
    try:
        encode(value, parts, 0)
    except RecursionError:
        raise Refused("it is nested too deeply") from None
    return parts


def encode(value: object, parts: list[str], depth: int) -> None:
    if depth > MAX_DEPTH:
        raise Refused(f"it is nested more than {MAX_DEPTH} levels deep, or holds itself")
    if value is None or value is True or value is False:
        parts.append({None: "null", True: "true", False: "false"}[value])
    elif isinstance(value, str):
        if not value.isascii():
            try:
                value.encode()
            except UnicodeEncodeError:
                raise Refused("it is text with half a surrogate pair", "use .encode(errors='replace')") from None
        parts.append(quote(value))
    elif isinstance(value, int):
        if not -(2**63) <= value < 2**64:
            raise Refused("it is an integer of more than 64 bits", "use str(…)")
        parts.append(int.__repr__(value))
    elif isinstance(value, float):
        if value != value or value in (float("inf"), float("-inf")):
            raise Refused(f"it is {float.__repr__(value)}, which JSON does not have", "use None")
        parts.append(float.__repr__(value))
    elif isinstance(value, dict):
        encode_dict(value, parts, depth)
    elif isinstance(value, list | tuple):
        separator = "["
        for index, item in enumerate(value):
            parts.append(separator)
            separator = ","
            try:
                encode(item, parts, depth + 1)
            except Refused as refused:
                refused.keys.append(index)
                raise
        parts.append("]" if value else "[]")
    elif isinstance(value, Encoded):
        parts.extend(value.parts)
    else:
        kind = type(value).__name__
        advice = (what for what, kinds in ADVICE.items() if kind in kinds.split())
        raise Refused(f"it is of type {kind}, which JSON does not have", next(advice, ""))


def encode_dict(value: dict[object, object], parts: list[str], depth: int) -> None:
    separator = "{"
    for key, item in value.items():
        if not isinstance(key, str):
            raise Refused(f"it has a key of type {type(key).__name__}, JSON only has text", "use str(…) for keys")
        parts.append(separator)
        separator = ","
        try:
            encode(key, parts, depth)
            parts.append(":")
            encode(item, parts, depth + 1)
        except Refused as refused:
            refused.keys.append(key)
            raise
    parts.append("}" if value else "{}")


ADVICE = {
    "use sorted(…)": "set frozenset",
    "use .isoformat()": "datetime date time",
    "use .total_seconds()": "timedelta",
    "use .decode(), or base64 for what is not text": "bytes bytearray",
    "use float(…) or str(…)": "Decimal Fraction",
    "use str(…)": "UUID PosixPath",
    "use list(…)": "generator map filter range zip dict_keys dict_values dict_items",
    "use .tolist()": "ndarray Series",
    "use .to_dict('records')": "DataFrame",
    "call it": "function builtin_function_or_method method",
}
"""What to do with values of the types that JSON does not have."""


class Scanner:
    """The settings that the C scanner of `json` needs."""

    strict = False
    object_hook = object_pairs_hook = None
    parse_float = float
    parse_int = int
    parse_constant = float
    memo: dict[str, str] = {}  # noqa: RUF012 one request per process


def parse(text: str) -> Any:
    """The value of JSON text that is known to be valid."""
    settings: Any = Scanner
    try:
        return make_scanner(settings)(text, 0)[0]
    except TypeError:
        import json  # lazy: only where the scanner's private interface has changed

        return json.loads(text)


try:
    from _json import encode_basestring_ascii as quote
    from _json import make_scanner
except ImportError:
    from json.encoder import py_encode_basestring_ascii as quote
    from json.scanner import make_scanner

if __name__ == "__main__":
    main()
