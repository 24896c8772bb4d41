"""`pflow run`: inputs in, outputs out, and what a person reads when it does not work."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pflow import __version__
from tests.cli.conftest import Pflow

GREET = {"id": "greet", "type": "echo", "params": {"text": "Hello, ${name}!"}}
NAME = {"name": {"type": "string", "description": "Who to greet"}}


def test_a_single_text_is_printed_as_it_is(pflow: Pflow, write: Callable[..., str]) -> None:
    said = pflow("run", write("a.json", GREET, inputs=NAME), "name=Ada")
    assert (said.code, said.out, said.err) == (0, "Hello, Ada!\n", "")


def test_text_that_ends_its_line_gets_no_second_end(pflow: Pflow, write: Callable[..., str]) -> None:
    document = write("a.json", {"id": "echo", "params": {"text": "two\nlines\n"}})
    assert pflow("run", document).out == "two\nlines\n"


@pytest.mark.parametrize(
    ("value", "printed"),
    [(5, "5\n"), ([1, 2], "[1,2]\n"), ({"a": None}, '{"a":null}\n'), (True, "true\n"), ("", "")],
)
def test_other_values_are_printed_as_json_on_one_line(
    pflow: Pflow, write: Callable[..., str], value: object, printed: str
) -> None:
    assert pflow("run", write("a.json", {"id": "echo", "params": {"x": value}})).out == printed


def test_the_declared_output_is_what_is_printed(pflow: Pflow, write: Callable[..., str]) -> None:
    document = write(
        "a.json", {"id": "echo", "params": {"a": "no", "b": "yes"}}, outputs={"it": {"source": "${echo.b}"}}
    )
    assert pflow("run", document).out == "yes\n"


def test_several_outputs_are_one_json_object(pflow: Pflow, write: Callable[..., str]) -> None:
    outputs = {"a": {"source": "${echo.a}"}, "b": {"source": "${echo.b}"}}
    document = write("a.json", {"id": "echo", "params": {"a": 1, "b": "é"}}, outputs=outputs)
    assert pflow("run", document).out == '{"a":1,"b":"é"}\n'


def test_the_first_word_may_be_the_workflow(pflow: Pflow, write: Callable[..., str]) -> None:
    assert pflow("./" + write("a.json", GREET, inputs=NAME), "name=Ada").out == "Hello, Ada!\n"


def test_a_value_is_what_stands_behind_the_first_equals_sign(pflow: Pflow, write: Callable[..., str]) -> None:
    assert pflow("run", write("a.json", GREET, inputs=NAME), "name=a=b=@c").out == "Hello, a=b=@c!\n"


def test_values_are_read_as_the_declared_type_only(pflow: Pflow, write: Callable[..., str]) -> None:
    kinds = {"n": "integer", "s": "string", "b": "boolean", "l": "array", "f": "number"}
    document = write(
        "a.json",
        {"id": "echo", "params": {name: f"${{{name}}}" for name in kinds}},
        inputs={name: {"type": kind} for name, kind in kinds.items()},
    )
    said = pflow("run", document, "n=007", "s=007", "b=no", "l=[1]", "f=1e3")
    assert json.loads(said.out) == {"n": 7, "s": "007", "b": False, "l": [1], "f": 1000.0}


def test_programs_get_the_common_envelope(pflow: Pflow, write: Callable[..., str], home: Path) -> None:
    said = pflow("run", write("a.json", GREET, inputs=NAME), "name=Ada", "--json")
    envelope = said.json
    assert envelope["success"] is True
    assert envelope["data"]["outputs"] == {"text": "Hello, Ada!"}
    assert envelope["data"]["steps"] == 1
    assert set(envelope["data"]) == {"outputs", "run_id", "duration_ms", "steps"}
    assert Path(envelope["trace_path"]).parent == home / "debug"
    assert said.err == ""


def test_json_may_be_asked_for_before_the_command(pflow: Pflow, write: Callable[..., str]) -> None:
    assert pflow("--json", "run", write("a.json", GREET, inputs=NAME), "name=Ada").json["success"] is True


def test_a_document_can_come_from_stdin(pflow: Pflow) -> None:
    assert pflow("run", "-", stdin='{"nodes": [{"id": "echo", "params": {"x": 1}}]}').out == "1\n"
    assert pflow("run", "-", stdin="nodes:\n- id: echo\n  params: {x: yes}\n").out == "yes\n"


def test_a_document_can_be_a_word(pflow: Pflow) -> None:
    assert pflow("run", '{"nodes": [{"id": "echo", "params": {"x": 1}}]}').out == "1\n"


def test_an_input_named_stdin_takes_what_is_piped_in(pflow: Pflow, write: Callable[..., str]) -> None:
    document = write("a.json", {"id": "echo", "params": {"x": "<${stdin}>"}}, inputs={"stdin": {"default": "nothing"}})
    assert pflow("run", document, stdin="piped é\n").out == "<piped é\n>\n"
    assert pflow("run", document, "stdin=given", stdin="piped").out == "<given>\n"


@pytest.mark.parametrize(("stdin", "printed"), [("printf '' |", "<>\n"), ("< /dev/null", "<nothing>\n")])
def test_an_empty_stdin_is_given_and_dev_null_is_not(
    tmp_path: Path, write: Callable[..., str], stdin: str, printed: str
) -> None:
    document = write("a.json", {"id": "echo", "params": {"x": "<${stdin}>"}}, inputs={"stdin": {"default": "nothing"}})
    line = ["sh", "-c", f'{stdin} "$0" -m pflow run {document}', sys.executable]
    done = subprocess.run(line, cwd=tmp_path, capture_output=True, text=True, timeout=100)
    assert (done.returncode, done.stdout) == (0, printed), done.stderr


def test_an_empty_file_of_inputs_gives_none(pflow: Pflow, write: Callable[..., str], tmp_path: Path) -> None:
    document = write("a.json", {"id": "echo", "params": {"x": "${a}"}}, inputs={"a": {"default": "default"}})
    (tmp_path / "empty.yaml").write_text("\n")
    assert pflow("run", document, "-i", "-", stdin="").out == "default\n"
    assert pflow("run", document, "-i", "empty.yaml").out == "default\n"


def test_a_closed_stdin_is_named(tmp_path: Path) -> None:
    line = ["sh", "-c", 'exec "$0" -m pflow run - <&-', sys.executable]
    done = subprocess.run(line, cwd=tmp_path, capture_output=True, text=True, timeout=100)
    assert (done.returncode, done.stderr) == (2, "error: stdin is closed; the document cannot be read from it\n")


def test_stdin_that_is_not_text_is_refused(pflow: Pflow, write: Callable[..., str]) -> None:
    document = write("a.json", {"id": "echo", "params": {"x": "${stdin}"}}, inputs={"stdin": {}})
    said = pflow("run", document, stdin=b"ab\xff")
    assert (said.code, said.err) == (
        2,
        "error: stdin is not UTF-8 text: byte 2 is 0xff\n\n"
        "hint: convert it, for example with `iconv -f latin1 -t utf-8`\n",
    )


def test_inputs_can_come_from_a_file_and_words_win(pflow: Pflow, write: Callable[..., str], tmp_path: Path) -> None:
    document = write("a.json", {"id": "echo", "params": {"x": "${a} ${b}"}}, inputs={"a": {}, "b": {}})
    (tmp_path / "in.yaml").write_text("a: 1\nb: [2]\n")
    assert pflow("run", document, "-i", "in.yaml", "b=3").out == "1 3\n"
    (tmp_path / "in.json").write_text("[1]")
    assert pflow("run", document, "-i", "in.json").err.startswith("error: `in.json` does not hold an object\n")
    (tmp_path / "in.json").write_text('{"a": }')
    said = pflow("run", document, "-i", "in.json")
    assert said.code == 2
    assert "in.json:1:7" in said.err
    assert pflow("run", document, "-i", "none.json").code == 2


def test_missing_inputs_are_described_with_the_command_that_works(pflow: Pflow, write: Callable[..., str]) -> None:
    inputs = {
        "since": {"type": "string", "description": "The first day."},
        "count": {"type": "integer"},
        "token": {"type": "string", "secret": True},
        "style": {"type": "string", "default": "plain"},
    }
    said = pflow("run", write("my report.json", GREET | {"params": {}}, inputs=inputs), "style=it's")
    assert said.code == 2
    assert said.out == ""
    assert said.err == (
        "error: 3 inputs missing: `since`, `count`, `token`\n"
        "  since  string, required. The first day\n"
        "  count  integer, required\n"
        "  token  string, required, secret\n"
        "\n"
        "hint: store the secret `token` with `pflow settings set TOKEN`, which asks for it\n"
        "hint: pflow run 'my report.json' 'style=it'\"'\"'s' since=… count=…\n"
    )
    error = pflow("run", "my report.json", "--json").json["error"]
    assert error["type"] == "template_error"
    assert error["details"]["missing"] == ["since", "count", "token"]


def test_wrong_inputs_are_all_reported_together(pflow: Pflow, write: Callable[..., str]) -> None:
    inputs = {"count": {"type": "integer", "description": "How many"}, "name": {"type": "string"}}
    said = pflow("run", write("a.json", GREET | {"params": {}}, inputs=inputs), "count=abc", "nmae=x")
    assert said.code == 2
    assert said.err == (
        "error: unknown input `nmae`, it has: count, name\n"
        "error: input `count` must be an integer, not `abc`\n"
        "error: 1 input missing: `name`\n"
        "  count  integer, required. How many\n"
        "  name   string, required\n"
        "\n"
        "hint: did you mean `name`?\n"
    )


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("name=1", "name=2"), "error: input `name` is given twice\n"),
        (
            ("Ada",),
            "error: `Ada` is not an input\n\nhint: inputs are written `key=value`, for example `Ada=…`\n",
        ),
        (("=x",), "error: `=x` has no name before the `=`\n\nhint: write `key=value`\n"),
    ],
)
def test_words_that_are_no_inputs_are_refused(
    pflow: Pflow, write: Callable[..., str], words: tuple[Any, ...], message: str
) -> None:
    said = pflow("run", write("a.json", GREET, inputs=NAME), *words)
    assert (said.code, said.err) == (2, message)


def test_a_failed_step_says_everything_needed_to_go_on(pflow: Pflow, write: Callable[..., str]) -> None:
    document = write(
        "a.json",
        {"id": "start", "type": "echo", "params": {"folder": "none"}},
        {"id": "read", "type": "read-file", "params": {"path": "${start.folder}/file.txt"}},
    )
    said = pflow("run", document)
    assert said.code == 1
    assert said.out == ""
    assert said.steady == (
        "error: step `read` failed: cannot read `none/file.txt`: it does not exist\n"
        "  params:\n"
        '    path: "none/file.txt"\n'
        "  completed: start\n"
        "\n"
        "resume: pflow runs resume RUN\n"
    )


def test_a_failed_step_gives_programs_its_checkpoint(pflow: Pflow, write: Callable[..., str]) -> None:
    document = write(
        "a.json",
        {"id": "start", "type": "echo", "params": {"x": 1}},
        {"id": "read", "type": "read-file", "params": {"path": "none"}},
    )
    said = pflow("run", document, "--json")
    assert said.code == 1
    assert said.json["success"] is False
    assert said.json["error"]["type"] == "execution"
    assert said.json["error"]["node"] == "read"
    assert said.json["checkpoint"]["completed_nodes"] == ["start"]
    assert said.json["checkpoint"]["failed_node"] == "read"
    assert said.err == ""


def test_secrets_are_masked_in_the_parameters_of_a_failed_step(pflow: Pflow, write: Callable[..., str]) -> None:
    token = "ghp_abcdefghijklmnop1234"
    document = write(
        "a.json",
        {"id": "call", "type": "shell", "params": {"command": "exit 1", "env": {"TOKEN": "${token}"}}},
        inputs={"token": {"type": "string", "secret": True}},
    )
    said = pflow("run", document, f"token={token}")
    assert said.code == 1
    assert "TOKEN" in said.err
    assert token not in said.err


def test_code_over_several_lines_is_shown_as_a_block(pflow: Pflow, write: Callable[..., str]) -> None:
    code = "\n".join([f"a{n} = 1" for n in range(30)] + ["1 / 0"])
    said = pflow("run", write("a.json", {"id": "code", "params": {"code": code}}))
    assert "    code:\n      …\n      a11 = 1\n" in said.err
    assert "      1 / 0\n" in said.err


def test_a_malformed_document_shows_the_line_and_a_caret(pflow: Pflow, tmp_path: Path, home: Path) -> None:
    (tmp_path / "bad.json").write_text('{\n  "nodes": [\n    {"id" "a"}\n  ]\n}\n')
    said = pflow("run", "bad.json")
    assert said.code == 2
    assert "bad.json:3:11" in said.err
    assert '  3 |     {"id" "a"}\n    |           ^\n' in said.err
    assert not (home / "runs.db").exists()


def test_all_issues_are_shown_at_once_where_they_stand(pflow: Pflow, tmp_path: Path) -> None:
    (tmp_path / "bad.yaml").write_text(
        "nodes:\n- id: a\n  type: ech\n- id: b\n  type: echo\n  parms: {}\n"
        "edges: [{from: a, to: b}, {from: a, to: c}]\n"
    )
    for command in ("validate", "run"):
        said = pflow(command, "bad.yaml")
        assert said.code == 2
        assert said.out == ""
        assert said.err.count("error: ") == 3
        assert "hint: did you mean `echo`?" in said.err
        assert "hint: did you mean `params`?" in said.err
        assert "  6 |   parms: {}\n" in said.err
    envelope = pflow("validate", "bad.yaml", "--json").json
    assert envelope["error"]["type"] == "validation"
    assert [issue["line"] for issue in envelope["error"]["details"]["issues"]] == [6, 7, 3]


def test_a_dry_run_draws_and_runs_nothing(pflow: Pflow, write: Callable[..., str], tmp_path: Path, home: Path) -> None:
    document = write("a.json", {"id": "touch", "type": "shell", "params": {"command": "touch made"}})
    said = pflow("run", document, "--dry-run")
    assert (said.code, said.out) == (0, "a\n\n●   touch  shell\n")
    assert not (tmp_path / "made").exists()
    assert not (home / "runs.db").exists()


def test_a_dry_run_refuses_inputs_that_do_not_fit(pflow: Pflow, write: Callable[..., str]) -> None:
    document = write("a.json", GREET | {"params": {}}, inputs={"n": {"type": "integer"}, "s": {}})
    assert pflow("run", document, "--dry-run", "n=1").code == 0
    said = pflow("run", document, "--dry-run", "n=x")
    assert said.code == 2
    assert said.err.startswith("error: input `n` must be an integer, not `x`\n")


def test_validate_says_what_it_found(pflow: Pflow, write: Callable[..., str]) -> None:
    assert pflow("validate", write("a.json", GREET, inputs=NAME)).out == "`a` is valid: 1 node\n"
    assert pflow("validate", "a.json", "--json").json["data"] == {
        "valid": True,
        "warnings": [],
        "notices": [],
        "name": "a",
        "nodes": 1,
        "inputs": ["name"],
    }


@pytest.mark.parametrize("word", ["../x", "con", "-x", "a b", "\x1b[31m", "ñ"])
def test_a_hostile_name_is_refused_by_policy(pflow: Pflow, word: str) -> None:
    said = pflow("workflow", "delete", "--", word)
    assert said.code == 3
    assert "\x1b" not in said.err
    assert said.err.startswith("error: workflow name `")


def test_a_word_that_means_nothing_lists_what_was_meant(pflow: Pflow) -> None:
    for words in (("rnus",), ("rnus", "list"), ("rnus", "--x"), ("rnus", "a=1")):
        said = pflow(*words)
        assert said.code == 2
        assert said.err.startswith(
            "error: `rnus` is not a command, a saved workflow or a node type\n\nhint: did you mean `pflow runs`?\n"
        )
    assert "did you mean `pflow shell`?" in pflow("shel", "--command=ls").err
    assert pflow("run", "none.json").err.startswith("error: there is no file `none.json`\n")
    assert pflow("shell", "command=ls").err.startswith(
        "error: `shell` is a node type, and no workflow is saved under that name\n\n"
        "hint: its parameters are flags: `pflow shell --name=value`\n"
    )


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ("run", "--jsno", "a.json"),
            "error: no such option `--jsno`\n\nhint: did you mean `--json`?\n"
            "hint: usage: pflow run [OPTIONS] WORKFLOW [INPUTS]...\n",
        ),
        (
            ("run", "--since", "a.json"),
            "error: no such option `--since`\n\nhint: inputs come after the workflow: `pflow run WORKFLOW --since`\n"
            "hint: usage: pflow run [OPTIONS] WORKFLOW [INPUTS]...\n",
        ),
        (
            ("runs", "lsit"),
            "error: `pflow runs` has no command `lsit`; did you mean `list`?\n\n"
            "hint: usage: pflow runs [OPTIONS] COMMAND [ARGS]...\n",
        ),
        (
            ("run",),
            "error: missing argument 'WORKFLOW'\n\nhint: usage: pflow run [OPTIONS] WORKFLOW [INPUTS]...\n",
        ),
    ],
)
def test_wrong_usage_says_what_is_right(pflow: Pflow, words: tuple[Any, ...], message: str) -> None:
    said = pflow(*words)
    assert (said.code, said.err) == (2, message)


def test_wrong_usage_is_an_object_for_programs(pflow: Pflow) -> None:
    said = pflow("run", "--json", "--nope")
    assert said.code == 2
    assert said.json["error"]["type"] == "usage"
    assert said.err == ""


def test_help_lists_every_command_without_loading_them(pflow: Pflow) -> None:
    said = pflow()
    assert said.code == 0
    for name in ("run", "validate", "describe", "workflow", "registry", "runs", "trace", "settings", "completion"):
        assert f"\n  {name} " in said.out
    assert pflow("--help").out == said.out
    assert pflow("--version").out == f"pflow {__version__}\n"


def test_a_group_without_a_command_explains_itself(pflow: Pflow) -> None:
    said = pflow("runs")
    assert said.code == 2
    assert "resume  Take RUN up where it ended" in said.err


def test_a_failed_list_is_shown_as_it_was_written_beside_its_values(pflow: Pflow, write: Callable[..., str]) -> None:
    inputs = {"word": {"type": "string"}, "key": {"type": "string", "secret": True}}
    node = {"id": "a", "type": "shell", "params": {"command": ["no-such-program", "--key=${key}", "${word}"]}}
    done = pflow("run", write("list.json", node, inputs=inputs), "word=$(id)", "key=hunter2hunter2")
    assert "the command `no-such-program` was not found" in done.err
    assert '    command: ["no-such-program","--key=${key}","${word}"]\n' in done.err
    assert '    values: {"${key}":"«secret:key»","${word}":"$(id)"}\n' in done.err
    assert "hunter2" not in done.out + done.err


@pytest.mark.parametrize(
    ("word", "command"),
    [
        ("resume", "pflow runs resume RUN"),
        ("show", "pflow workflow show NAME` or `pflow runs show RUN"),
        ("logs", "pflow trace latest"),
        ("list", "pflow workflow list"),
        ("help", "pflow --help"),
    ],
)
def test_a_command_of_other_tools_leads_to_the_right_one(pflow: Pflow, word: str, command: str) -> None:
    said = pflow(word)
    assert said.code == 2
    assert f"did you mean `{command}`?" in said.err
