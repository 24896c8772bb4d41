"""Nodes on the command line: `pflow "a --x=1 >> b"`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Pflow

requirement = pytest.mark.requirement


@requirement("security:6.3-4")
def test_nodes_are_chained_in_one_quoted_word(pflow: Pflow, tmp_path: Path) -> None:
    said = pflow("echo --text=hi >> write-file --path=out.txt --content='${echo.text}!'")
    assert (said.code, said.out, said.err) == (0, "out.txt\n", "")
    assert (tmp_path / "out.txt").read_text() == "hi!"


@requirement("security:6.3-4")
def test_nodes_are_chained_by_a_word_of_their_own(pflow: Pflow, tmp_path: Path) -> None:
    said = pflow("shell", "--command=echo 'a >> b'", ">>", "write-file", "--path", "out.txt")
    assert said.code == 0
    assert (tmp_path / "out.txt").read_text() == "a >> b"


def test_one_node_runs_by_its_name(pflow: Pflow) -> None:
    assert pflow("shell", "--command=echo $((6*7))").out == "42\n"
    assert pflow("shell --command='echo $((6*7))'").out == "42\n"


@requirement("security:6.3-3")
def test_stdin_is_the_input_of_the_first_node(pflow: Pflow, tmp_path: Path) -> None:
    assert pflow("shell", "--command=tr a-z A-Z", stdin="piped\n").out == "PIPED\n"
    assert pflow("write-file", "--path=x", stdin="content").code == 0
    assert (tmp_path / "x").read_text() == "content"


def test_what_one_command_prints_the_next_one_reads(pflow: Pflow) -> None:
    assert pflow("shell --command='printf abc' >> shell --command=rev >> shell --command='tr a-z A-Z'").out == "CBA\n"


def piped(tmp_path: Path, words: list[str], stdin: str) -> tuple[int, str, str]:
    """How a command line of a shell ends, which begins with where its stdin comes from."""
    line = ["sh", "-c", f'{stdin} "$0" -m pflow "$@"', sys.executable, *words]
    done = subprocess.run(line, cwd=tmp_path, capture_output=True, text=True, timeout=100)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("stdin", ["printf '' |", "< empty"])
def test_an_empty_stdin_is_an_empty_input_where_one_is_needed(tmp_path: Path, stdin: str) -> None:
    (tmp_path / "empty").touch()
    assert piped(tmp_path, ["write-file --path=e.txt"], stdin)[0] == 0
    assert (tmp_path / "e.txt").read_text() == ""
    assert piped(tmp_path, ["shell --command='echo ran; cat'"], stdin)[:2] == (0, "ran\n")


@pytest.mark.parametrize("stdin", ["< /dev/null", "<&-"])
def test_a_stdin_that_says_nothing_is_no_input(tmp_path: Path, stdin: str) -> None:
    code, _, err = piped(tmp_path, ["write-file", "--path=x"], stdin)
    assert (code, err) == (
        2,
        "error: `write-file` needs `--content` (any, What to write; anything but text as JSON)\n"
        "\n"
        "hint: write `write-file --content=…`\n",
    )
    assert piped(tmp_path, ["shell --command='echo ran; cat'"], stdin)[:2] == (0, "ran\n")


def test_empty_text_is_no_path(pflow: Pflow) -> None:
    assert pflow("read-file", stdin="").err.startswith("error: `read-file` needs `--path`")


def test_code_finds_what_came_before_under_its_name(pflow: Pflow, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("")
    assert pflow("list-files --path=. --pattern=*.txt >> code --code='result = len(files)'").out == "1\n"


def test_what_flows_by_never_becomes_a_command(pflow: Pflow) -> None:
    said = pflow("echo --command='touch made' >> shell")
    assert said.code == 2
    assert said.err.startswith("error: `shell` needs `--command`")
    assert pflow("shell", stdin="touch made").code == 2


@pytest.mark.parametrize(
    "words",
    [
        ("--json", "echo", "--x=1"),
        ("echo --x=1 >> echo --y=2", "--json"),
        ("shell", "--command=echo 1", "--json"),
        ("--no-cache", "--json", "echo", "--x=1"),
    ],
)
def test_options_of_pflow_stand_before_or_behind(pflow: Pflow, words: tuple[Any, ...]) -> None:
    assert pflow(*words).json["success"] is True


def test_a_flag_of_the_node_wins_over_an_option_of_pflow(pflow: Pflow) -> None:
    assert pflow("echo", "--json=5").out == "5\n"


def test_a_dry_run_says_how_the_nodes_are_connected(pflow: Pflow, tmp_path: Path) -> None:
    (tmp_path / "a").write_text("x")
    said = pflow("--dry-run", "read-file --path=a >> write-file --path=b")
    assert said.err == "note: `write-file` takes `content` from `${read-file.content}`\n"
    assert said.out == "read-file >> write-file\n\n●   read-file\n●   write-file\n"
    assert not (tmp_path / "b").exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ("read-file", "--pth=x"),
            "error: `read-file` has no flag `--pth`\n"
            "  it has: --path (string), --encoding (string), --max-size (integer)\n"
            "\n"
            "hint: did you mean `--path`?\n",
        ),
        (
            ("echo --x=1 >> shel",),
            "error: there is no node type `shel`\n\nhint: did you mean `shell`?\n",
        ),
        (
            ("echo --x=1 >>",),
            "error: there is no node on one side of `>>`\n\nhint: write `node --flag=value >> node`\n",
        ),
        (
            ("echo --x='1 >> echo",),
            "error: the pipeline cannot be read: a quote is not closed near `echo --x='1 >> echo`\n",
        ),
        (
            ("shell", "ls"),
            "error: `ls` after `shell` is not a flag\n\nhint: write `--command='ls'`\n",
        ),
        (
            ("shell", "-c", "--command=x"),
            "error: `-c` after `shell` is not a flag\n\n"
            "hint: flags are written `--name=value`; see `pflow registry describe shell`\n",
        ),
        (
            ("shell", "--command"),
            "error: `--command` of `shell` needs a value (string|array)\n\nhint: write `--command=…`\n",
        ),
        (("shell", "--command=a", "--command=b"), "error: `--command` of `shell` is given twice\n"),
        (
            ("read-file", "--path=a", "--max-size=soon"),
            "error: `--max-size` must be an integer, not `soon`, in `read-file`\n",
        ),
        (
            ("shell", "--command=a", "--timeout=soon"),
            "error: parameter `timeout` of node `shell` (shell) must be a duration, not `soon`\n"
            "  at: nodes[0].params.timeout\n\n"
            "hint: write seconds, or a string such as `90s`, `15m`, `2h` or `3d`\n",
        ),
        (
            ("echo --x=1 >> echo", "y=2"),
            "error: `y=2` stands behind the pipeline\n\n"
            'hint: flags of a node stand inside the quotes: `pflow "a --flag=value >> b"`\n',
        ),
    ],
)
def test_a_pipeline_that_cannot_run_says_what_to_write(pflow: Pflow, words: tuple[Any, ...], message: str) -> None:
    said = pflow(*words)
    assert (said.code, said.err) == (2, message)


def test_a_pipeline_can_be_saved_and_run_by_name(pflow: Pflow) -> None:
    said = pflow("workflow", "save", "shell --command='printf abc' >> shell --command=rev", "backwards")
    assert said.out == "saved workflow `backwards`; run it with: pflow backwards\n"
    assert pflow("backwards").out == "cba\n"
