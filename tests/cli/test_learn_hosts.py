"""Sessions that five real programs wrote of one task become the same workflow."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.cli.conftest import Pflow
from tests.core.session.test_recorded_sessions import LISTED, SESSIONS, opencode_database

SCRIPT = Path(__file__).parents[1] / "mcp" / "step" / "scripted.py"
NAMES = ("claude-code-2.1.197", "claude-code-2.1.325", "codex-0.166.0", "gemini-cli-0.61.0", "opencode")


def reply(value: object) -> dict[str, Any]:
    return {"result": {"content": [{"type": "text", "text": json.dumps(value)}], "structuredContent": value}}


@pytest.fixture
def with_server(pflow: Pflow, tmp_path: Path) -> Pflow:
    """pflow with the server that the hosts talked to."""
    listed = {"type": "object", "properties": {"files": {"type": "array"}}}
    counted = {"type": "object", "properties": {"words": {"type": "integer"}}}
    text = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
    tools = [
        {"name": "list_files", "inputSchema": {"type": "object"}, "outputSchema": listed},
        {"name": "count_words", "inputSchema": text, "outputSchema": counted},
    ]
    script = tmp_path / "words.json"
    script.write_text(json.dumps({"tools": tools, "replies": {"list_files": [reply(LISTED)]}}))
    argv = [sys.executable, "-S", "-E", str(SCRIPT), str(script)]
    assert pflow("mcp", "add", "words", "--", *argv).code == 0
    assert pflow("mcp", "sync", "words", "--yes").code == 0
    return pflow


def test_the_five_recorded_sessions_become_one_workflow(
    with_server: Pflow, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found: dict[str, Any] = {}
    monkeypatch.setenv("OPENCODE_DB", str(opencode_database(tmp_path)))
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in NAMES:
        reference = "ses_e1c4e8363" if name == "opencode" else str(SESSIONS / f"{name}.jsonl")
        said = with_server("learn", reference, "--calls", "2,4-5", "-o", f"{name}.yaml", "--json")
        assert said.code == 0, said
        lesson = said.json["data"]["lesson"]
        assert lesson["replay"]["equal"] == 3
        assert lesson["replay"]["mutation"]["changed"] == ["count-words[0]"]
        document = yaml.safe_load((tmp_path / f"{name}.yaml").read_text())
        found[name] = [{key: part for key, part in node.items() if key != "description"} for node in document["nodes"]]
    assert all(nodes == found[NAMES[0]] for nodes in found.values())
    assert found[NAMES[0]][1] == {
        "id": "count-words",
        "type": "mcp-words-count-words",
        "params": {"text": "${item.name}"},
        "batch": {"items": "${list-files.files}", "as": "item"},
    }
