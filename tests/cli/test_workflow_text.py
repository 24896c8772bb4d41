"""`pflow workflow show|edit|diff|history|restore|rename|export`: saved workflows as texts that a person owns."""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Pflow

TEXT = """\
# What it is for
description: Says hello
inputs:
  who: {type: string, default: world}  # whom to greet
nodes:
  - id: greet
    type: shell
    params:
      command: |
        echo one
        echo "hello ${who}"
"""
OTHER = TEXT.replace("echo one", "echo two").replace("world", "you") + "  - {id: last, type: echo, params: {x: 1}}\n"


@pytest.fixture
def saved(pflow: Pflow, tmp_path: Path) -> Path:
    (tmp_path / "hi.yaml").write_text(TEXT)
    assert pflow("workflow", "save", "hi.yaml", "hi").code == 0
    return tmp_path


@pytest.fixture
def twice(pflow: Pflow, saved: Path) -> Path:
    (saved / "hi.yaml").write_text(OTHER)
    assert pflow("workflow", "save", "hi.yaml", "hi", "--overwrite").code == 0
    return saved


def editor(monkeypatch: pytest.MonkeyPatch, folder: Path, source: str) -> None:
    """Makes a program the editor that gets the path of a file in `path`."""
    script = folder / "editor.py"
    script.write_text(f"import sys; from pathlib import Path; path = Path(sys.argv[1])\n{source}\n")
    monkeypatch.setenv("VISUAL", shlex.join([sys.executable, str(script)]))


def replacing(old: str, new: str) -> str:
    return f"path.write_text(path.read_text().replace({old!r}, {new!r}))"


def edits(home: Path) -> list[str]:
    folder = home / "workflows" / ".edits"
    return [path.read_text() for path in folder.iterdir()] if folder.exists() else []


def test_what_was_saved_is_shown_and_exported_as_it_was_written(pflow: Pflow, saved: Path, home: Path) -> None:
    assert pflow("workflow", "show", "hi").out == TEXT
    assert (home / "workflows" / "hi.yaml").read_text() == TEXT
    shown = pflow("workflow", "show", "hi", "--json").json["data"]
    assert (shown["text"], shown["form"], shown["version"]) == (TEXT, "yaml", 1)
    assert pflow("workflow", "export", "hi", "copy.yaml").code == 0
    assert (saved / "copy.yaml").read_text() == TEXT
    refused = pflow("workflow", "export", "hi", "copy.yaml")
    assert (refused.code, refused.err.splitlines()[0]) == (2, "error: `copy.yaml` is there already")
    assert pflow("run", str(home / "workflows" / "hi.yaml")).out == "one\nhello world\n"


def test_a_difference_is_told_by_meaning(pflow: Pflow, twice: Path) -> None:
    assert pflow("workflow", "diff", "hi").out == (
        "inputs\n"
        '  ~ who.default: "world" → "you"\n'
        "nodes\n"
        "  ~ greet.params.command\n"
        "      -echo one\n"
        "      +echo two\n"
        '       echo "hello ${who}"\n'
        '  + last: {"type":"echo","params":{"x":1}}\n'
        "edges\n"
        "  + greet → last\n"
    )
    assert pflow("workflow", "diff", "hi", "1", "2").out == pflow("workflow", "diff", "hi").out
    assert pflow("workflow", "diff", "hi", "hi.yaml").out == "no difference\n"
    changes = pflow("workflow", "diff", "hi", "--json").json["data"]["changes"]
    assert changes[0] == {"change": "changed", "path": "inputs.who.default", "before": "world", "after": "you"}
    assert [change["change"] for change in changes] == ["changed", "changed", "added", "added"]


def test_layout_and_order_are_no_difference_in_meaning(pflow: Pflow, saved: Path) -> None:
    (saved / "same.json").write_text(
        '{"nodes": [{"params": {"command": "echo one\\necho \\"hello ${who}\\"\\n"}, "type": "shell", "id": "greet"}],'
        ' "inputs": {"who": {"default": "world", "type": "string"}}, "description": "Says hello"}'
    )
    assert pflow("workflow", "diff", "hi", "same.json").out == "they mean the same\n"
    assert "-# What it is for\n" in pflow("workflow", "diff", "hi", "same.json", "--lines").out


def test_versions_are_listed_restored_and_pruned(pflow: Pflow, twice: Path) -> None:
    assert [line.split()[0] for line in pflow("workflow", "history", "hi").out.splitlines()] == ["2", "1"]
    assert pflow("workflow", "show", "hi", "--version", "1").out == TEXT
    assert pflow("workflow", "restore", "hi", "1").out == "restored version 1 of `hi` as version 3\n"
    assert pflow("workflow", "show", "hi").out == TEXT
    missing = pflow("workflow", "restore", "hi", "9")
    assert (missing.code, missing.err) == (2, "error: `hi` has no version 9\n\nhint: versions 1 to 3 are kept\n")
    assert pflow("workflow", "history", "hi", "--prune", "1", "--json").json["data"]["deleted"] == 2
    assert pflow("workflow", "show", "hi").out == TEXT


def test_a_renamed_workflow_runs_under_its_new_name_only(pflow: Pflow, saved: Path) -> None:
    assert pflow("workflow", "rename", "hi", "greeting").code == 0
    assert pflow("greeting").out == "one\nhello world\n"
    assert pflow("run", "hi").code == 2


def test_an_edit_is_saved_once_it_is_valid(
    pflow: Pflow, saved: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    editor(monkeypatch, saved, replacing("world", "all"))
    assert pflow("workflow", "edit", "hi").out == "saved `hi`, version 2\n"
    assert pflow("workflow", "show", "hi").out == TEXT.replace("world", "all")
    editor(monkeypatch, saved, "")
    assert pflow("workflow", "edit", "hi").out == "`hi` is unchanged\n"
    assert edits(home) == []


def test_a_text_that_is_not_valid_is_kept_and_can_be_finished(
    pflow: Pflow, saved: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    editor(monkeypatch, saved, replacing("shell", "shel"))
    said = pflow("workflow", "edit", "hi")
    assert said.code == 2
    assert said.err.startswith("error: there is no node type `shel`\n")
    assert edits(home) == [TEXT.replace("shell", "shel")]
    assert pflow("workflow", "show", "hi").out == TEXT
    kept = said.err.rsplit("--from ", 1)[1].split("`")[0]
    editor(monkeypatch, saved, replacing("shel", "shell") + "\n" + replacing("world", "all"))
    assert pflow("workflow", "edit", "hi", "--from", kept).out == "saved `hi`, version 2\n"
    assert pflow("workflow", "show", "hi").out == TEXT.replace("world", "all")
    assert edits(home) == []


def test_of_two_editors_the_second_sees_a_conflict_and_keeps_its_text(
    pflow: Pflow, saved: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    theirs = home / "workflows" / "hi.yaml"
    editor(
        monkeypatch,
        saved,
        replacing("world", "mine") + f"\nPath({str(theirs)!r}).write_text({TEXT.replace('world', 'theirs')!r})",
    )
    said = pflow("workflow", "edit", "hi")
    assert said.code == 2
    assert said.err.startswith("error: `hi` has changed: it is at version 2, and version 1 was to be replaced\n")
    assert "your text is kept" in said.err
    assert edits(home) == [TEXT.replace("world", "mine")]
    assert pflow("workflow", "show", "hi").out == TEXT.replace("world", "theirs")


def test_an_editor_that_cannot_be_started_or_fails_saves_nothing(
    pflow: Pflow, saved: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VISUAL", "no-such-editor --wait")
    assert pflow("workflow", "edit", "hi").err.startswith("error: the editor `no-such-editor --wait` cannot be started")
    editor(monkeypatch, saved, replacing("world", "all") + "\nsys.exit(3)")
    failed = pflow("workflow", "edit", "hi")
    assert failed.code == 2 and "exit code 3; nothing was saved" in failed.err
    assert pflow("workflow", "show", "hi").out == TEXT


def test_a_saved_text_that_no_longer_validates_is_shown_and_compared_and_refused_to_run(
    pflow: Pflow, twice: Path, home: Path
) -> None:
    broken = TEXT.replace("type: shell", "type: mcp-gone-tool")
    (home / "workflows" / "hi.yaml").write_text(broken)
    assert pflow("workflow", "show", "hi").out == broken
    assert "greet.type" in pflow("workflow", "diff", "hi").out
    refused = pflow("run", "hi")
    assert refused.code == 2 and "mcp-gone-tool" in refused.err
    (home / "workflows" / "hi.yaml").write_text("nodes: [")
    assert pflow("workflow", "show", "hi").out == "nodes: ["
    assert "+nodes: [" in pflow("workflow", "diff", "hi").out
    assert pflow("run", "hi").code == 2
    assert pflow("workflow", "restore", "hi", "1").code == 0
    assert pflow("run", "hi").code == 0


def test_two_files_of_one_name_are_reported(pflow: Pflow, saved: Path, home: Path) -> None:
    older = home / "workflows" / "hi.json"
    older.write_text('{"nodes": [{"id": "a", "type": "echo"}]}')
    os.utime(older, (1, 1))
    assert pflow("workflow", "list").err == "note: `hi.yaml` is used; there is also an older `hi.json`\n"
    assert pflow("workflow", "show", "hi").out == TEXT
