"""Input that is not text, or too much of it: named, cut and refused before anything runs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from pflow import Workspace
from pflow.core.errors import InputError
from tests.cli.conftest import Pflow

NOT_TEXT = os.fsdecode(b"\xff\xfe")
LONG = "9" * 60_000
INPUTS = {"a": {"type": "string"}, "n": {"type": "integer", "required": False}}


@pytest.fixture
def document(write: Callable[..., str]) -> str:
    return write("w.json", {"id": "e", "type": "echo", "params": {"x": "${a}"}}, inputs=INPUTS)


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (("run", "w.json", f"a={NOT_TEXT}"), "input `a` is not UTF-8 text"),
        (("run", "w.json", f"{NOT_TEXT}=1"), r"the name of the input in `\udcff\udcfe=1` is not UTF-8 text"),
        (("w.json", f"a={NOT_TEXT}"), "input `a` is not UTF-8 text"),
        (("registry", "run", "echo", f"x={NOT_TEXT}"), "input `x` is not UTF-8 text"),
        (("registry", "run", "echo", f"{NOT_TEXT}=x"), r"the name of the input in `\udcff\udcfe=x` is not UTF-8 text"),
        (("runs", "resume", "latest", f"a={NOT_TEXT}"), "input `a` is not UTF-8 text"),
        (("run", "w.json", "a=1", "-i", f"{NOT_TEXT}.json"), r"there is no file `\udcff\udcfe.json`"),
        (("echo", f"--x={NOT_TEXT}"), "a string holds half a surrogate pair, which is not Unicode text"),
        (("runs", "show", NOT_TEXT), r"there is no run `\udcff\udcfe`"),
    ],
)
def test_what_is_not_utf_8_is_named_and_refused(
    pflow: Pflow, document: str, words: tuple[str, ...], problem: str
) -> None:
    said = pflow(*words)
    assert (said.code, said.err.splitlines()[0]) == (2, f"error: {problem}")
    assert pflow("runs", "list", "--json").json["data"]["runs"] == []


@pytest.mark.parametrize(
    "words",
    [
        ("run", "w.json", "a=1", f"n={LONG}x"),
        ("run", "w.json", "a=1", f"{LONG}=1"),
        ("run", "w.json", "a=1", LONG),
        ("run", "w.json", f"n={LONG}"),
        ("registry", "run", "read-file", f"max_size={LONG}"),
    ],
)
def test_a_long_value_is_not_repeated_whole(pflow: Pflow, document: str, words: tuple[str, ...]) -> None:
    for more in ((), ("--json",)):
        said = pflow(*words, *more)
        assert said.code == 2
        assert len(said.err) + len(said.out) < 2_000


def test_inputs_of_any_caller_are_text(document: str, home: Path, tmp_path: Path) -> None:
    with Workspace.open() as workspace:
        for value in (NOT_TEXT, "\ud800"):
            with pytest.raises(InputError) as caught:
                workspace.run(str(tmp_path / document), {"a": value})
            assert caught.value.message == "input `a` holds text that is not Unicode"
        nested = {"inputs": {"o": {"type": "object"}}, "nodes": [{"id": "e", "type": "echo", "params": {"x": "${o}"}}]}
        for odd in ({"k": ["\ud800"]}, {"\ud800": 1}):
            with pytest.raises(InputError) as caught:
                workspace.run(nested, {"o": odd})
            assert caught.value.message == "input `o` holds text that is not Unicode"


def test_a_secret_from_the_environment_is_text(pflow: Pflow, write: Callable[..., str], tmp_path: Path) -> None:
    name = write("s.json", {"id": "e", "type": "echo"}, inputs={"my_token": {"type": "string", "secret": True}})
    line = [sys.executable, "-m", "pflow", "run", name]
    env = {**os.environb, b"MY_TOKEN": b"\xff\xfe-12345678"}
    done = subprocess.run(line, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=100)
    assert done.returncode == 2 and "input `my_token` holds text that is not Unicode" in done.stderr, done.stderr


def test_a_file_of_inputs_has_a_limit(pflow: Pflow, document: str, tmp_path: Path) -> None:
    said = pflow("run", document, "-i", "/dev/zero")
    assert said.code == 2
    assert said.err.startswith("error: `/dev/zero` holds more than 64 MiB, the most that inputs may take\n")
    assert pflow("run", document, "-i", str(tmp_path)).err == f"error: `{tmp_path}` cannot be read: Is a directory\n"


@pytest.mark.needs("bash")
def test_endless_pipes_end_and_others_are_read(document: str, home: Path, tmp_path: Path) -> None:
    def bash(line: str) -> subprocess.CompletedProcess[str]:
        words = ["bash", "-c", f'"$0" -m pflow {line}', sys.executable]
        return subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, timeout=100)

    endless = bash(f"run {document} -i <(yes)")
    assert endless.returncode == 2 and "holds more than 64 MiB" in endless.stderr
    small = bash(f"run {document} -i <(echo '{json.dumps({'a': 'piped'})}')")
    assert (small.returncode, small.stdout) == (0, "piped\n"), small.stderr
    setting = bash("settings set MY_KEY < <(yes)")
    assert setting.returncode == 2 and "stdin holds more than 64 MiB" in setting.stderr
