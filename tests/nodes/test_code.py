"""The code node: an author's Python in a process of its own."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pflow.core.errors import StepTimeout
from pflow.nodes.code.node import MAX_RESULT, MAX_STDOUT
from pflow.process.fork_server import IS_POSSIBLE, ForkServer
from tests.nodes.code_step import fail, run, start, use
from tests.quick import examples


@pytest.fixture(scope="module")
def server() -> Iterator[ForkServer]:
    server = ForkServer()
    yield server
    server.close()


@pytest.fixture(autouse=True, params=["started", "forked"])
def worker(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[None]:
    """Each test with a worker of its own, and with one that a server forks: nobody sees which it is."""
    if request.param == "forked":
        if not IS_POSSIBLE:
            pytest.skip("this system has no fork server")
        use(start(request.getfixturevalue("server")))
    yield
    use(None)


def test_inputs_are_variables_and_result_is_the_result() -> None:
    given = {"rows": [{"n": 1}, {"n": 2}], "name": "Ada", "big": 2**63, "nothing": None, "yes": True, "ratio": 0.1}
    code = """
        print("adding", len(rows))
        result = {"sum": sum(row["n"] for row in rows), "back": [name, big, nothing, yes, ratio], "t": (1, 2)}
    """
    assert run(code, given) == {
        "result": {"sum": 3, "back": ["Ada", 2**63, None, True, 0.1], "t": [1, 2]},
        "stdout": "adding 2\n",
    }


def test_a_result_that_is_never_assigned_is_null() -> None:
    assert run("x = 1") == {"result": None, "stdout": ""}


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@given(st.lists(JSON, max_size=20))
@settings(max_examples=examples(30))
def test_json_goes_in_and_out_unchanged(values: list[Any]) -> None:
    found = run("result = values", {"values": values})["result"]
    assert repr(found) == repr(values)


def test_what_is_printed_does_not_mix_with_the_answer() -> None:
    code = """
        import os, subprocess, sys
        print('{"result": "forged"}', flush=True)
        os.write(1, b"raw ")
        subprocess.run(["echo", "child"])
        print("to stderr", file=sys.stderr)
        print("half a pair: \\ud800")
        sys.stdout = None
        result = "real"
    """
    assert run(code) == {
        "result": "real",
        "stdout": '{"result": "forged"}\nraw child\nhalf a pair: \\ud800\n',
    }


def test_more_than_enough_output_is_cut() -> None:
    found = run("print('é' * 600_000); print('tail'); result = 1")
    assert found["result"] == 1
    assert found["stdout"].startswith("ééé")
    assert found["stdout"].endswith(f"… ({1_200_006 - MAX_STDOUT:,} bytes more)")


def test_code_cannot_read_what_it_was_started_with() -> None:
    assert fail("result = input()").details["type"] == "EOFError"


def test_an_exception_is_told_in_the_authors_terms() -> None:
    error = fail(
        """\
        import sys
        def total(rows):
            return sum(row["n"] for row in rows)
        print("before")
        print("careful", file=sys.stderr)
        result = total(rows)
        """,
        {"rows": [{"n": 1}, {"m": 2}]},
    )
    assert error.message == "the code failed at line 3: KeyError: 'n'"
    assert error.action == "error"
    assert error.details == {
        "line": 3,
        "source": 'return sum(row["n"] for row in rows)',
        "type": "KeyError",
        "message": "'n'",
        "frames": [
            {"line": 6, "function": "<module>"},
            {"line": 3, "function": "total"},
            {"line": 3, "function": "<genexpr>"},
        ],
        "stdout": "before\n",
        "stderr": "careful\n",
    }
    assert "pflow" not in repr(error.details)


def test_an_exception_inside_a_library_is_told_at_the_authors_line() -> None:
    error = fail("import json\n\nresult = json.loads('{')")
    assert error.message.startswith("the code failed at line 3: json.decoder.JSONDecodeError: Expecting property name")


def test_a_mistake_in_the_syntax_is_told_with_its_line() -> None:
    error = fail("x = 1\nresult = ${fetch.response}\n")
    assert error.message.startswith("the code failed at line 2: SyntaxError: invalid syntax. Templates do not apply")
    assert error.details["source"] == "result = ${fetch.response}"


@pytest.mark.parametrize(
    ("code", "message", "suggestion"),
    [
        ("result = row", "NameError: name 'row' is not defined", "did you mean `rows`?"),
        ("result = q1", "NameError: name 'q1' is not defined", "pass it through `inputs` (given: `rows`)"),
        ("import no_such_module", "ModuleNotFoundError: No module named 'no_such_module'", "install `no_such_module`"),
        ("import sys\nsys.exit('not today')", "SystemExit: not today", ""),
        ("raise SystemExit(3)", "SystemExit: 3", ""),
        ("class Odd(Exception):\n    def __str__(self): raise OSError\nraise Odd", "Odd", ""),
        ("class D(dict):\n    def items(self): raise OSError('no')\nresult = D(a=1)", "OSError: no", ""),
        ("raise BaseException('x' * 10_000_000)", "BaseException: xxx", ""),
        ("raise ValueError('\\ud800')", "ValueError: \\ud800", ""),
        ("def f(): f()\nf()", "RecursionError: maximum recursion depth exceeded", ""),
    ],
)
def test_failures_say_what_and_what_next(code: str, message: str, suggestion: str) -> None:
    error = fail(code, {"rows": []})
    assert message in error.message
    assert len(error.message) < 5000
    assert "".join(error.suggestions).startswith(suggestion)


def test_leaving_early_is_no_failure() -> None:
    assert run("import sys\nresult = 1\nsys.exit()\nresult = 2")["result"] == 1
    assert run("result = 1\nexit(0)\nresult = 2")["result"] == 1


@pytest.mark.parametrize(
    ("value", "at", "reason", "advice"),
    [
        ("{'a': [1, {2}]}", "result['a'][1]", "it is of type set", "use sorted(…)"),
        (
            "{'when': __import__('datetime').date(2026, 1, 1)}",
            "result['when']",
            "it is of type date",
            "use .isoformat()",
        ),
        ("[float('nan')]", "result[0]", "it is nan", "use None"),
        ("{'x y': -1e999}", "result['x y']", "it is -inf", "use None"),
        ("{1: 2}", "result", "it has a key of type int", "use str(…) for keys"),
        ("2 ** 64", "result", "it is an integer of more than 64 bits", "use str(…)"),
        ("'\\ud800'", "result", "it is text with half a surrogate pair", "use .encode(errors='replace')"),
        ("b'x'", "result", "it is of type bytes", "use .decode(), or base64 for what is not text"),
        ("print", "result", "it is of type builtin_function_or_method", "call it"),
        ("(n for n in 'abc')", "result", "it is of type generator", "use list(…)"),
        ("object()", "result", "it is of type object", ""),
        ("'x' * 40_000_000", "result", f"it is 40,000,002 bytes as JSON; at most {MAX_RESULT:,}", "write it to a file"),
    ],
)
def test_a_result_that_is_not_json_is_refused_with_the_culprit(value: str, at: str, reason: str, advice: str) -> None:
    error = fail(f"result = {value}")
    assert error.message.startswith(f"the result is not JSON: `{at}`: {reason}")
    assert error.details["at"] == at
    assert "".join(error.suggestions) == advice


def test_a_result_that_holds_itself_is_refused() -> None:
    assert "or holds itself" in fail("result = []\nresult.append(result)").message


def test_a_large_result_comes_back_whole() -> None:
    assert run("result = ['é' * 1000] * 3000")["result"] == ["é" * 1000] * 3000


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"code": None}, "`code` must be Python source, not null"),
        ({"inputs": [1]}, "`inputs` must be an object of variables, not an array"),
        ({"inputs": {"a-b": 1}}, "input `a-b` cannot be a variable in the code"),
        ({"inputs": {"class": 1}}, "input `class` cannot be a variable in the code"),
        ({"inputs": {"a": object()}}, "`inputs` cannot be written as JSON: Type is not JSON serializable: object"),
        ({"timeout": 0}, "`timeout` must be above 0 and at most 1 d, not 0"),
        ({"timeout": "5 weeks"}, "`timeout` must be a duration such as `90s` or `15m`, not `5 weeks`"),
        ({"timeout": float("nan")}, "`timeout` must be above 0 and at most 1 d, not nan"),
        ({"memory_mb": 1}, "`memory_mb` must be a number from 64 to 16,777,216, not 1"),
    ],
)
def test_wrong_parameters_are_refused_before_anything_runs(params: dict[str, Any], message: str) -> None:
    assert fail(**{"code": "result = 1", **params}).message == message


def test_a_loop_without_end_is_stopped_where_it_is() -> None:
    error = fail("print('begun')\nn = 0\nwhile True:\n    n += 1\n", timeout=2)
    assert isinstance(error, StepTimeout)
    assert error.action == "timeout"
    assert error.message.startswith("the code took longer than 2 s; it was at line ")
    assert error.details["line"] in (3, 4)
    assert error.details["stdout"] == "begun\n"


def test_code_that_takes_too_much_memory_fails_alone() -> None:
    error = fail("result = 1\nx = bytearray(10 << 30)")
    assert error.message == "the code failed at line 2: MemoryError: it needed more than 1,024 MB"
    assert error.suggestions == ("raise `memory_mb`, or work on the data in parts",)
    grows = fail("x = []\nwhile True: x.append(bytearray(1 << 20))", memory_mb=200)
    assert grows.details["type"] == "MemoryError"
    assert run("x = bytearray(300 << 20)\nresult = len(x)", memory_mb=600)["result"] == 300 << 20


def test_a_fork_bomb_is_bounded() -> None:
    error = fail("import os\nwhile True:\n    os.fork()\n", timeout=60)
    assert error.message == "the code failed at line 3: BlockingIOError: code may fork 256 times"


def test_a_few_forks_are_fine_and_answer_once() -> None:
    code = """
        import os
        children = [os.fork() or os._exit(7) for _ in range(5)]
        result = sorted(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in children)
        pid = os.fork()  # this one runs to the end of the code
        if pid: os.waitpid(pid, 0)
    """
    assert run(code)["result"] == [7] * 5


def test_threads_without_end_are_bounded() -> None:
    code = """
        import threading, time
        for n in range(100_000):
            threading.Thread(target=time.sleep, args=(600,), daemon=True).start()
    """
    error = fail(code, memory_mb=256)
    assert error.message == "the code failed at line 4: RuntimeError: can't start new thread"


def test_a_thread_that_never_ends_is_named_as_the_cause() -> None:
    error = fail("import threading\nresult = 1\nthreading.Thread(target=threading.Event().wait).start()", timeout=2)
    assert error.message == "the code took longer than 2 s; a thread of it did not end"


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("import os\nos._exit(3)", "the code ended its process (exit code 3) before it was done"),
        ("import os\nos.kill(os.getpid(), 11)", "the code was killed by SIGSEGV"),
        ("import os\nos.kill(os.getpid(), 9)", "the code was killed by SIGKILL"),
        ("import os\nos.closerange(3, 99)\nresult = 1", "the code ended its process (exit code 1) before it was done"),
    ],
)
def test_a_process_that_dies_is_a_failure(code: str, message: str) -> None:
    assert fail(code).message == message


def test_nothing_around_the_step_is_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hostile = "raise SystemExit('hostile module was imported')"
    for name in ("json", "enum", "site", "os", "resource", "sitecustomize", "usercustomize", "marshal"):
        (tmp_path / f"{name}.py").write_text(hostile)
    monkeypatch.chdir(tmp_path)
    for name in ("PYTHONPATH", "PYTHONSTARTUP", "PYTHONHOME", "PYTHONUSERBASE", "PYTHONINSPECT", "PYTHONWARNINGS"):
        monkeypatch.setenv(name, str(tmp_path))
    found = run("import enum, json, os, resource, sys\nresult = [os.getcwd(), sys.path, sys.flags.isolated]")["result"]
    assert found[0] == str(tmp_path)
    assert str(tmp_path) not in found[1]
    assert "" not in found[1]
    assert found[2] == 1


def test_secrets_of_the_environment_stay_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_API_KEY", "canary-4711")
    assert "canary-4711" not in str(run("import os\nresult = dict(os.environ)")["result"])


def test_installed_packages_can_be_imported() -> None:
    assert run("import orjson\nresult = orjson.loads('[1]')")["result"] == [1]


def test_files_that_the_code_leaves_open_are_complete(tmp_path: Path) -> None:
    target = tmp_path / "out.txt"
    run("file = open(path, 'w')\nfile.write('x' * 100)", {"path": str(target)})
    assert target.read_text() == "x" * 100


def test_classes_and_dataclasses_work() -> None:
    code = """
        from __future__ import annotations
        from dataclasses import dataclass, asdict
        @dataclass
        class Point:
            x: int
            y: int = 2
        result = [asdict(Point(1)), __name__]
    """
    assert run(code)["result"] == [{"x": 1, "y": 2}, "__main__"]


def test_processes_that_the_code_leaves_behind_are_ended(tmp_path: Path) -> None:
    code = """
        import subprocess
        result = subprocess.Popen(["sleep", "600"]).pid
    """
    pid = run(code)["result"]
    assert not Path(f"/proc/{pid}/status").exists() or "zombie" in Path(f"/proc/{pid}/status").read_text()


SCRIPT = """
import asyncio, sys
sys.pycache_prefix = "/proc/nowhere"
from pflow.nodes.code.node import Code
node = Code()
node.set_params({"code": "result = 6 * 7"})
shared = {}
asyncio.run(node.run_async(shared))
sys.exit(shared["result"])
"""


def test_an_installation_that_cannot_be_written_runs_code_as_well() -> None:
    assert subprocess.run([sys.executable, "-c", SCRIPT], timeout=60).returncode == 42


@pytest.mark.parametrize(
    "code",
    [
        "file = open(path, 'w'); file.write('kept')",
        "import atexit\nfile = open(path, 'w')\natexit.register(lambda: (file.write('kept'), file.close()))",
        "import threading\ndef late():\n    ready.wait(0.1)\n    open(path, 'w').write('kept')\n"
        "ready = threading.Event()\nthreading.Thread(target=late).start()",
        "import logging\nlogging.basicConfig(filename=path, format='%(message)s')\nlogging.warning('kept')",
    ],
    ids=["open file", "last act", "thread", "log"],
)
def test_what_the_code_leaves_open_is_written_before_the_step_ends(tmp_path: Path, code: str) -> None:
    path = tmp_path / "file"
    run(code, {"path": str(path)})
    assert path.read_text().strip() == "kept"
