"""What the shell offers at each word, through the protocol that the completion scripts speak."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Pflow


@pytest.fixture
def offered(pflow: Pflow, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    def complete(*words: str) -> list[str]:
        monkeypatch.setenv("COMP_WORDS", "\n".join(["pflow", *words]))
        monkeypatch.setenv("COMP_CWORD", str(len(words)))
        monkeypatch.setenv("_PFLOW_COMPLETE", "bash_complete")
        said = pflow()
        monkeypatch.delenv("_PFLOW_COMPLETE")
        assert said.err == ""
        return [line.partition(",")[2] for line in said.out.splitlines() if line]

    return complete


def test_commands_workflows_and_nodes_at_the_first_word(offered: Callable[..., Any], pflow: Pflow) -> None:
    pflow("workflow", "save", "echo --a=1 >> echo", "ready")
    assert offered("re") == ["registry", "ready", "read-file"]
    assert offered("workf") == ["workflow"]


def test_commands_of_a_group(offered: Callable[..., Any]) -> None:
    assert offered("runs", "") == ["cancel", "diff", "follow", "fork", "list", "resume", "settle", "show"]


def test_inputs_that_are_not_given_yet(offered: Callable[..., Any], write: Callable[..., str]) -> None:
    document = write("a.json", {"id": "echo"}, inputs={"since": {}, "style": {}, "count": {}})
    assert offered("run", document, "s") == ["since=", "style="]
    assert offered(f"./{document}", "since=1", "") == ["style=", "count="]


def test_inputs_as_flags_beside_the_options(offered: Callable[..., Any], write: Callable[..., str]) -> None:
    inputs = {"since": {}, "loud": {"type": "boolean"}, "names": {"type": "array"}, "json": {}, "max_size": {}}
    document = write("a.json", {"id": "echo"}, inputs=inputs)
    assert offered("run", document, "--since=1", "--names", "a", "--")[:4] == [
        "--loud",
        "--no-loud",
        "--names=",
        "--max-size=",
    ]
    assert offered(document, "--js") == ["--json"]


def test_flags_of_the_node_that_is_being_written(offered: Callable[..., Any]) -> None:
    assert offered("read-file", "--") == ["--path=", "--encoding=", "--max-size="]
    assert offered("read-file", "--path=x", ">>", "write-file", "--path=y", "--") == [
        "--content=",
        "--append",
        "--encoding=",
    ]
    assert "http" in offered("read-file", "--path=x", ">>", "")


def test_runs_steps_settings_and_nodes(offered: Callable[..., Any], pflow: Pflow) -> None:
    pflow("echo", "--x=1")
    assert len(offered("runs", "show", "2")) == 1
    assert offered("runs", "show", "e") == ["echo"]
    assert offered("trace", "latest", "--step", "") == ["echo"]
    assert offered("settings", "get", "trace.") == ["trace.keep_days", "trace.max_mb"]
    assert offered("registry", "describe", "read") == ["read-file"]
    assert offered("registry", "run", "read-file", "p") == ["path="]


def test_a_path_is_left_to_the_shell(offered: Callable[..., Any]) -> None:
    assert offered("run", "./a") == ["./a"]


def test_what_cannot_be_found_out_offers_nothing(
    offered: Callable[..., Any], write: Callable[..., str], tmp_path: Path
) -> None:
    (tmp_path / "bad.json").write_text("{")
    assert offered("run", "bad.json", "") == []
    assert offered("run", "none", "") == []


@pytest.mark.parametrize(
    "shell", [pytest.param(name, marks=pytest.mark.needs(name)) for name in ("bash", "zsh", "fish")]
)
def test_the_script_is_one_that_its_shell_can_read(pflow: Pflow, shell: str, tmp_path: Path) -> None:
    script = pflow("completion", shell).out
    assert "_PFLOW_COMPLETE" in script
    program = shutil.which(shell)
    assert program is not None
    (tmp_path / "script").write_text(script)
    assert subprocess.run([program, "-n", "script"], cwd=tmp_path, check=False).returncode == 0


def test_a_hostile_name_of_an_input_is_not_offered(offered: Callable[..., Any], write: Callable[..., str]) -> None:
    document = write("a.json", {"id": "echo"}, inputs={"a\nplain\tb": {}, "a\x1b[31m": {}, "ab": {}})
    assert offered("run", document, "a") == ["ab="]


def test_nothing_that_goes_wrong_is_told_to_the_shell(
    pflow: Pflow, monkeypatch: pytest.MonkeyPatch, home: Path
) -> None:
    (home / "runs.db").write_bytes(b"not a database" * 100)
    for line in ("pflow runs show 2", "pflow 'unclosed", "pflow", "", "pflow run \\", "pflow run watch --svg"):
        monkeypatch.setenv("_PFLOW_COMPLETE", "zsh-line_complete")
        monkeypatch.setenv("_PFLOW_LINE", line)
        assert pflow().err == ""
    monkeypatch.setenv("_PFLOW_COMPLETE", "tcsh_complete")
    assert (pflow().out, pflow().err) == ("", "")


def test_an_unknown_shell_is_refused(pflow: Pflow) -> None:
    assert pflow("completion", "tcsh").code == 2
