"""The shell node: what a command gets, what comes back, and what its failures say."""

import asyncio
import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pflow.core.errors import StepError, StepTimeout
from pflow.core.file.home import Home
from pflow.core.template.shell_text import ShellCommand
from pflow.nodes import shell
from pflow.nodes.shell import Shell
from pflow.process.command import signal_name
from pflow.workspace import Workspace
from tests.quick import examples


def run(command: object, **params: Any) -> dict[str, Any]:
    """What a shell step writes."""
    node = Shell()
    node.set_params({"command": command, **params})
    shared: dict[str, Any] = {}
    assert asyncio.run(node.run_async(shared)) == "default"
    return shared


def fail(command: object, **params: Any) -> StepError:
    """The error of a shell step that fails."""
    with pytest.raises(StepError) as caught:
        run(command, **params)
    return caught.value


def stdout(command: object, **params: Any) -> str:
    return str(run(command, **params)["stdout"])


class Listener:
    """Keeps what steps report."""

    def __init__(self) -> None:
        self.lines: list[tuple[str, str]] = []

    def notify(self, run_id: str, event: object) -> None:
        pass

    def report(self, run_id: str, step: str, message: str) -> None:
        self.lines.append((step, message))


# What comes back


def test_output_is_kept_but_for_the_newlines_at_its_end() -> None:
    assert run(r"printf '\n a\n\tb \r\n\n'; printf '\303\251!\n' >&2") == {
        "stdout": "\n a\n\tb \r",
        "stderr": "é!",
        "exit_code": 0,
    }


def test_bytes_that_are_no_text_are_replaced() -> None:
    assert stdout(r"printf 'a\377b\000c'") == "a\ufffdb\x00c"


def test_a_tolerated_exit_code_is_an_output() -> None:
    assert run("echo none; exit 1", ok_codes=[0, 1])["exit_code"] == 1
    assert run("kill -9 $$", ok_codes=[-9])["exit_code"] == -9


def test_long_output_is_cut_and_the_run_is_told(tmp_path: Path) -> None:
    listener = Listener()
    document = {
        "nodes": [
            {"id": "flood", "type": "shell", "params": {"command": "head -c 50000000 /dev/zero | tr '\\0' x"}},
            {"id": "count", "type": "shell", "params": {"command": "wc -c", "stdin": "${flood.stdout}"}},
        ],
        "outputs": {"count": {"source": "${count.stdout}"}},
    }
    with Workspace(Home(tmp_path / "home"), observer=listener) as workspace:
        outcome = workspace.run(document, {})
    assert outcome.outputs == {"count": "10485760"}
    assert listener.lines == [("flood", "stdout is longer than 10 MiB; the rest was dropped")]


# What the command gets


def test_templates_reach_the_command_as_values(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    document = {
        "inputs": {"name": {"type": "string"}, "list": {"type": "array"}},
        "nodes": [
            {"id": "say", "type": "shell", "params": {"command": 'printf "%s|" ${name} "is ${name}" ${list}'}},
        ],
        "outputs": {"said": {"source": "${say.stdout}"}},
    }
    hostile = "$(touch pwned) `id` \"'; exit 1 #\n*"
    with Workspace(Home(tmp_path / "home")) as workspace:
        outcome = workspace.run(document, {"name": hostile, "list": [1, "b"]})
    assert outcome.outputs == {"said": f'{hostile}|is {hostile}|[1,"b"]|'}
    assert not (tmp_path / "pwned").exists()


@given(st.text(st.characters(blacklist_characters="\0", blacklist_categories=["Cs"])))
@settings(max_examples=examples(30))
def test_any_value_arrives_as_it_is(value: str) -> None:
    command = ShellCommand('printf %s. "$PFLOW_1"', {"PFLOW_1": value})  # line ends at the very end are cut off
    assert stdout(command) == f"{value}."


@pytest.mark.parametrize(
    ("given", "seen"),
    [
        (None, ""),
        ("", ""),
        ("\né", "\né"),
        (b"raw", "raw"),
        ({"a": [1, None]}, '{"a":[1,null]}'),
        (0, "0"),
        (False, "false"),
        ([], "[]"),
    ],
)
def test_stdin_is_text_or_json(given: object, seen: str) -> None:
    assert stdout("cat", stdin=given) == seen


def test_variables_are_added_to_a_bare_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_TOKEN", "canary")
    seen = stdout("env", env={"A": "x y", "N": 5, "L": ["é"], "Z": True})
    assert {"A=x y", "N=5", 'L=["é"]', "Z=true", f"HOME={os.environ['HOME']}"} <= set(seen.splitlines())
    assert "canary" not in seen


def test_the_command_runs_in_its_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a folder").mkdir()
    assert stdout("pwd", cwd=str(tmp_path / "a folder")) == f"{tmp_path}/a folder"
    assert stdout("pwd", cwd="~/a folder") == f"{tmp_path}/a folder"
    monkeypatch.chdir(tmp_path)
    assert stdout("pwd") == f"{tmp_path}"


# What its failures say


def test_a_failure_quotes_the_last_lines_of_stderr() -> None:
    error = fail("echo partial; for n in 1 2 3 4; do echo line $n >&2; done; echo >&2; exit 2")
    assert error.message == "the command ended with exit code 2: line 2; line 3; line 4"
    assert error.details == {
        "exit_code": 2,
        "stdout": "partial",
        "stderr": "line 1\nline 2\nline 3\nline 4",
    }
    assert error.suggestions == ("if exit code 2 is not a failure, add it to `ok_codes`",)
    assert (error.code, error.action) == ("execution", "error")


def test_a_failure_of_a_talkative_command_stays_short() -> None:
    error = fail("yes 'something is wrong' | head -c 3000000 >&2; exit 1")
    assert len(error.message) < 700
    assert len(str(error.details["stderr"])) == 2000


def test_a_silent_failure_is_told_too() -> None:
    assert fail("exit 9").message == "the command ended with exit code 9"


def test_zero_is_a_failure_when_it_is_not_listed() -> None:
    assert fail("exit 0", ok_codes=[1]).message == "the command ended with exit code 0"


def test_a_missing_program_is_named() -> None:
    error = fail("no-such-program --flag")
    assert error.message.startswith("the command ended with exit code 127: ")
    assert "no-such-program: not found" in error.message
    assert error.suggestions == ("a program in the command was not found: install it, or give its full path",)


def test_a_program_that_is_not_executable_is_named(tmp_path: Path) -> None:
    (tmp_path / "tool").write_text("echo hi")
    error = fail("./tool", cwd=str(tmp_path))
    assert error.details["exit_code"] == 126
    assert error.suggestions == ("a program in the command is not executable: `chmod +x` makes it so",)


def test_signals_have_names() -> None:
    assert fail("kill -SEGV $$").message == "the command was ended by SIGSEGV"
    assert fail("sh -c 'kill -9 $$'; exit $?").suggestions == (
        "137 is 128 + 9: a program in the command was ended by SIGKILL",
    )
    assert signal_name(63) == "signal 63"


@pytest.mark.parametrize("written", [5, "5s", "0.1m", "${limit}", "${nothing.text:-5}"])
def test_a_timeout_is_written_as_any_duration(written: object, home: Path) -> None:
    document: dict[str, Any] = {
        "inputs": {"limit": {"type": "string", "default": "90s"}},
        "nodes": [
            {"id": "nothing", "type": "echo", "params": {"text": "1m"}, "when": "false"},
            {"id": "a", "type": "shell", "params": {"command": "true", "timeout": written}},
        ],
    }
    with Workspace(Home(home)) as workspace:
        assert workspace.run(document).success
        document["nodes"][1]["params"]["timeout"] = "soon"
        [issue] = workspace.check(document).issues
    assert issue.message == "parameter `timeout` of node `a` (shell) must be a duration, not `soon`"


def test_a_timeout_ends_the_command_and_takes_its_own_edge(tmp_path: Path) -> None:
    error = fail("echo $$ > pid; echo begun; exec sleep 60", timeout=0.3, cwd=str(tmp_path))
    assert isinstance(error, StepTimeout)
    assert error.message == "the command took longer than 0.3 s and was ended"
    assert error.details == {"stdout": "begun\n"}
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)


def test_a_run_follows_the_edges_of_a_failed_command(tmp_path: Path) -> None:
    document = {
        "nodes": [
            {"id": "slow", "type": "shell", "params": {"command": "exec sleep 60", "timeout": 0.05}},
            {"id": "late", "type": "shell", "params": {"command": "exit 3"}},
            {"id": "wrong", "type": "shell", "params": {"command": "echo handled"}},
        ],
        "edges": [
            {"from": "slow", "to": "late", "action": "timeout"},
            {"from": "late", "to": "wrong", "action": "error"},
        ],
        "outputs": {"end": {"source": "${wrong.stdout}"}},
    }
    with Workspace(Home(tmp_path / "home")) as workspace:
        outcome = workspace.run(document, {})
    assert outcome.outputs == {"end": "handled"}


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"command": ""}, "`command` is empty"),
        ({"command": " \n"}, "`command` is empty"),
        ({"command": ShellCommand(" ", {})}, "`command` is empty"),
        ({"command": None}, "`command` must be a list of arguments or a command line, not null"),
        ({"command": {}}, "`command` must be a list of arguments or a command line, not an object"),
        ({"command": []}, "`command` is a list without a program"),
        ({"command": [""]}, "`command` is a list without a program"),
        ({"command": ["ls", None]}, "`command[1]` must be a string, a number or a boolean, not null"),
        ({"command": "a\0b"}, "`command` contains a NUL character, which a command line cannot carry"),
        ({"stdin": {1, 2}}, "`stdin` cannot be written as JSON: Type is not JSON serializable: set"),
        ({"stdin": "\ud800"}, "`stdin` contains text that is not valid Unicode"),
        ({"cwd": ""}, "`cwd` must be a path, not an empty string"),
        ({"cwd": "/no/such"}, "the working directory `/no/such` cannot be entered: it does not exist"),
        ({"env": ["A"]}, "`env` must be an object of variables, not an array"),
        ({"env": {"A": {1}}}, "`env.A` cannot be written as JSON: Type is not JSON serializable: set"),
        ({"env": {"A": "\0"}}, "`env.A` contains a NUL character, which a variable cannot carry"),
        ({"timeout": 0}, "`timeout` must be above 0 and at most 30 d, not 0"),
        ({"timeout": float("nan")}, "`timeout` must be above 0 and at most 30 d, not nan"),
        ({"timeout": "5 weeks"}, "`timeout` must be a duration such as `90s` or `15m`, not `5 weeks`"),
        ({"timeout": True}, "`timeout` must be a duration such as `90s` or `15m`, not a boolean"),
        ({"ok_codes": []}, "`ok_codes` must be a list of whole numbers, with at least one in it"),
        ({"ok_codes": 0}, "`ok_codes` must be a list of whole numbers, with at least one in it"),
        ({"ok_codes": [True]}, "`ok_codes` must be a list of whole numbers, with at least one in it"),
    ],
)
def test_parameters_that_make_no_sense_are_refused(params: dict[str, Any], message: str) -> None:
    assert fail(**{"command": "true", **params}).message == message


@pytest.mark.parametrize(
    "name",
    ["PATH", "LD_PRELOAD", "IFS", "BASH_ENV", "PYTHONPATH", "NODE_OPTIONS", "npm_config_yes", "A=B", "", "1A", "É"],
)
def test_variables_that_decide_what_runs_are_refused(name: str) -> None:
    error = fail("true", env={name: "x"})
    assert error.message == f"`env` has a variable `{name}` that cannot be set"
    assert error.suggestions


def test_windows_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shell, "sys", SimpleNamespace(platform="win32"))
    assert fail("true").message == "`shell` steps need a POSIX shell, which Windows lacks"


def test_cancelling_the_step_ends_the_command(tmp_path: Path) -> None:
    async def main() -> int:
        node = Shell()
        node.set_params({"command": "echo $$ > pid; exec sleep 60", "cwd": str(tmp_path)})
        task = asyncio.create_task(node.run_async({}))
        async with asyncio.timeout(20):
            while not (tmp_path / "pid").exists() or not (tmp_path / "pid").read_text():
                await asyncio.sleep(0.005)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return int((tmp_path / "pid").read_text())

    pid = asyncio.run(main())
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_the_registry_knows_its_interface(tmp_path: Path) -> None:
    with Workspace(Home(tmp_path / "home")) as workspace:
        interface = workspace.node_type("shell").interface
    assert [(field.name, field.type, field.required, field.slot) for field in interface.params] == [
        ("command", "string|array", True, "shell"),
        ("stdin", "any", False, "value"),
        ("cwd", "string", False, "value"),
        ("env", "object", False, "env"),
        ("timeout", "number|string", False, "duration"),
        ("ok_codes", "array", False, "value"),
    ]
    assert [(field.name, field.type) for field in interface.outputs] == [
        ("stdout", "string"),
        ("stderr", "string"),
        ("exit_code", "integer"),
    ]
    assert interface.actions == ("default", "error", "timeout")
    assert interface.purity == "impure"
