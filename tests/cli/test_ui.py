"""`pflow ui` and `pflow trace --html` as a person uses them."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.conftest import Pflow

ECHO = {"name": "hi", "nodes": [{"id": "a", "type": "echo", "params": {"text": "</script><b>x"}}]}
LINK = re.compile(r"http://127\.0\.0\.1:(\d+)(/\S*)\?k=([\w-]{43})\n")


class Served:
    """`pflow ui` in a process of its own."""

    def __init__(self, *words: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "pflow", "ui", "--no-open", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        assert self.process.stdout is not None
        self.link = self.process.stdout.readline().decode()

    def end(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        self.process.communicate(timeout=60)
        return self.process.returncode


@pytest.fixture
def served(pflow: Pflow) -> Iterator[Served]:
    pflow("run", "-", stdin=_text(ECHO))
    found = Served("--port", "0")
    try:
        yield found
    finally:
        found.process.kill()
        found.process.communicate()


def _text(document: object) -> str:
    import json

    return json.dumps(document)


def test_a_link_is_printed_and_a_signal_ends_the_page(served: Served, home: Path) -> None:
    assert LINK.fullmatch(served.link)
    assert (home / "page.json").stat().st_mode & 0o777 == 0o600
    assert served.end() == 128 + signal.SIGTERM
    assert not (home / "page.json").exists()


def test_a_second_one_finds_the_first(served: Served, pflow: Pflow) -> None:
    said = pflow("ui", "latest", "--no-open")
    first, second = LINK.fullmatch(served.link), LINK.fullmatch(said.out)
    assert first is not None
    assert second is not None
    assert (second[1], second[3]) == (first[1], first[3])
    assert second[2].startswith("/runs/")
    assert "already" in said.err


def test_one_that_was_killed_is_not_found(served: Served, home: Path) -> None:
    served.process.kill()
    served.process.communicate()
    assert (home / "page.json").exists()
    again = Served("--port", "0")
    try:
        assert again.link != served.link
    finally:
        again.process.kill()
        again.process.communicate()


def test_a_port_that_is_taken_is_named(pflow: Pflow) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        said = pflow("ui", "--no-open", "--port", str(port))
    assert said.code == 1
    assert f"port `{port}` cannot be used" in said.err
    assert "pflow ui --port 0" in said.err


def test_an_unknown_run_is_refused_before_anything_is_served(pflow: Pflow, home: Path) -> None:
    said = pflow("ui", "none", "--no-open")
    assert (said.code, "there is no run `none`" in said.err) == (2, True)
    assert not (home / "page.json").exists()


def test_a_run_is_written_as_one_file(pflow: Pflow, tmp_path: Path) -> None:
    pflow("run", "-", stdin=_text(ECHO))
    path = tmp_path / "run.html"
    said = pflow("trace", "latest", "--html", str(path))
    assert (said.code, said.out) == (0, "")
    text = path.read_text()
    assert "</script><b>x" not in text
    assert re.findall(r'<(?:script|img|iframe)[^>]* src=|<link(?! rel="icon" href="data:,")', text) == []
    assert pflow("trace", "latest", "--html", "-").out.startswith("<!doctype html>")


@pytest.mark.parametrize("words", [("--step", "a"), ("--field", "inputs")])
def test_a_file_holds_the_whole_run(pflow: Pflow, words: tuple[str, ...]) -> None:
    assert pflow("trace", "latest", "--html", "-", *words).code == 2


def test_a_file_that_cannot_be_written_is_named(pflow: Pflow, tmp_path: Path) -> None:
    pflow("run", "-", stdin=_text(ECHO))
    said = pflow("trace", "latest", "--html", str(tmp_path / "no" / "x.html"))
    assert said.code == 1
    assert "was not written" in said.err


def test_running_a_workflow_imports_nothing_of_the_page(pflow: Pflow) -> None:
    code = (
        "import sys; from pflow.cli.main import run_command; run_command(['run', '-']); "
        "print([m for m in sys.modules if m.startswith(('starlette', 'uvicorn', 'pflow.web', 'pflow.workspace.viewing',"
        " 'pflow.execution.view', 'pflow.drawing'))])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], input=_text(ECHO), capture_output=True, text=True, env={**os.environ}
    )
    assert done.stdout.splitlines()[-1] == "[]"
