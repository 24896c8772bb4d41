"""Completion in real shells on a terminal: what stands on the command line after a Tab."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import Pflow
from tests.cli.terminal import TAB, Terminal

SHELLS = [pytest.param(name, marks=pytest.mark.needs(name)) for name in ("bash", "zsh", "fish")]

INPUTS = {
    "folder": {"type": "string", "description": "Where: to look"},
    "loud": {"type": "boolean", "default": False},
    "state": {"type": "string"},
    "token": {"type": "string", "secret": True},
}


@pytest.fixture
def place(pflow: Pflow, write: Callable[..., str], tmp_path: Path) -> Path:
    """A folder with files, a saved workflow and a run."""
    (tmp_path / "stock.txt").touch()
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "in ner.yaml").touch()
    document = write("watch.json", {"id": "echo"}, name="watch", inputs=INPUTS)
    assert pflow("workflow", "save", document).code == 0
    assert pflow("workflow", "save", document, "draft-of-watch", "--draft").code == 0
    assert pflow("echo", "--x=1").code == 0
    assert pflow("mcp", "add", "words", "--", "python", "-V").code == 0
    return tmp_path


@pytest.mark.parametrize("shell", SHELLS)
def test_a_tab_completes_every_kind_of_word(shell: str, place: Path, pflow: Pflow) -> None:
    run = pflow("runs", "list", "--json").json["data"]["runs"][0]["run_id"]
    expected = {
        "pflow wat": "pflow watch ",
        "pflow run draft": "pflow run draft-of-watch ",
        "pflow run ./wat": "pflow run ./watch.json ",
        "pflow run watch fol": "pflow run watch folder=",
        "pflow run watch folder=": "pflow run watch folder=",
        "pflow run watch folder=sto": "pflow run watch folder=stock.txt ",
        "pflow run watch folder=sub/": "pflow run watch folder=sub/in\\ ner.yaml ",
        "pflow run watch token=sto": "pflow run watch token=sto",
        "pflow watch --fol": "pflow watch --folder=",
        "pflow watch --folder=sto": "pflow watch --folder=stock.txt ",
        "pflow watch --folder sto": "pflow watch --folder stock.txt ",
        "pflow watch --no-l": "pflow watch --no-loud ",
        "pflow watch --loud=t": "pflow watch --loud=true ",
        "pflow watch folder=x --dry": "pflow watch folder=x --dry-run ",
        "pflow watch --inputs sto": "pflow watch --inputs stock.txt ",
        "pflow runs show 2": f"pflow runs show {run} ",
        "pflow trace latest --step e": "pflow trace latest --step echo ",
        "pflow registry describe read": "pflow registry describe read-file ",
        "pflow registry run read-file path=sto": "pflow registry run read-file path=stock.txt ",
        "pflow read-file --path=sto": "pflow read-file --path=stock.txt ",
        "pflow read-file --path x '>>' write-f": "pflow read-file --path x '>>' write-file ",
        "pflow mcp remove w": "pflow mcp remove words ",
        "pflow mcp install gem": "pflow mcp install gemini ",
        "pflow settings get trace.k": "pflow settings get trace.keep_days ",
        "pflow guide bat": "pflow guide batches ",
        "true; X=1 pflow guide bat": "true; X=1 pflow guide batches ",
    }
    with Terminal(shell, place) as terminal:
        found = {line: terminal.complete(line) for line in expected}
    assert found == expected


@pytest.mark.parametrize("shell", SHELLS)
def test_what_cannot_be_completed_stays_as_it_is_without_a_message(shell: str, place: Path, home: Path) -> None:
    (place / "bad.json").write_text("{")
    (home / "settings.json").write_text("not settings")
    (home / "mcp-servers.json").write_text(json.dumps({"mcpServers": 5}))
    lines = ["pflow run bad.json x", "pflow run nothing y", "pflow settings get q", "pflow mcp remove q", "pflow -- -x"]
    with Terminal(shell, place) as terminal:
        assert [terminal.complete(line) for line in lines] == lines
        assert terminal.complete("pflow guide bat") == "pflow guide batches "
        shown = terminal.shown
    assert "rror" not in shown and "note:" not in shown and "Traceback" not in shown


@pytest.mark.parametrize("shell", [SHELLS[1], SHELLS[2]])
def test_offers_are_described_where_the_shell_shows_it(shell: str, place: Path, pflow: Pflow) -> None:
    pflow("echo", "--x=2")
    with Terminal(shell, place) as terminal:
        terminal.complete("pflow runs show 2" + TAB)
        terminal.expect("echo, completed")
        terminal.complete("pflow run watch " + TAB)
        terminal.expect("Where: to look")


@pytest.mark.needs("bash")
def test_a_command_is_offered_once(place: Path) -> None:
    with Terminal("bash", place) as terminal:
        terminal.complete("pflow w")
        terminal.expect("watch")
        terminal.press("")
        words = terminal.shown.split()
    assert words.count("workflow") == 1
