"""A workflow over servers that give pictures, objects and failures."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import dev_servers
from tests.real.program import Program

pytestmark = pytest.mark.needs("mcp-servers")

ENTITY = {"name": "pflow", "entityType": "program", "observations": ["runs workflows"]}

DOCUMENT = {
    "nodes": [
        {"id": "picture", "type": "mcp-everything-get-tiny-image"},
        {"id": "links", "type": "mcp-everything-get-resource-links", "params": {"count": 2}},
        {"id": "weather", "type": "mcp-everything-get-structured-content", "params": {"location": "Chicago"}},
        {
            "id": "noon",
            "type": "mcp-time-convert-time",
            "params": {"source_timezone": "UTC", "time": "12:00", "target_timezone": "Asia/Tokyo"},
        },
        {"id": "remember", "type": "mcp-memory-create-entities", "params": {"entities": [ENTITY]}},
        {"id": "recall", "type": "mcp-memory-read-graph"},
        {"id": "nowhere", "type": "mcp-time-get-current-time", "params": {"timezone": "Nowhere/Near"}},
        {"id": "instead", "type": "echo", "params": {"text": "no such place"}},
    ],
    "edges": [
        {"from": "picture", "to": "links"},
        {"from": "links", "to": "weather"},
        {"from": "weather", "to": "noon"},
        {"from": "noon", "to": "remember"},
        {"from": "remember", "to": "recall"},
        {"from": "recall", "to": "nowhere"},
        {"from": "nowhere", "to": "instead", "action": "error"},
    ],
    "outputs": {
        "file": {"source": "${picture.files[0].path}"},
        "link": {"source": "${links.files[1].uri}"},
        "wet": {"source": "${weather.humidity}"},
        "ahead": {"source": "${noon.result.time_difference}"},
        "known": {"source": "${recall.entities[0].observations[0]}"},
        "instead": {"source": "${instead.text}"},
    },
}


@pytest.fixture(scope="module")
def outputs(tmp_path_factory: pytest.TempPathFactory) -> Any:
    home = tmp_path_factory.mktemp("home")
    pflow = Program(home)
    pflow("mcp", "add", "everything", "--", *dev_servers.command("everything"))
    pflow("mcp", "add", "time", "--", *dev_servers.command("time"))
    memory = f"MEMORY_FILE_PATH={home / 'memory.jsonl'}"
    pflow("mcp", "add", "memory", "--env", memory, "--", *dev_servers.command("memory"))
    pflow("mcp", "sync", "--all")
    (home / "document.json").write_text(json.dumps(DOCUMENT))
    return pflow("run", "document.json")["data"]["outputs"]


def test_a_picture_is_a_file_of_the_run(outputs: dict[str, Any]) -> None:
    assert Path(outputs["file"]).suffix == ".png"
    assert Path(outputs["file"]).read_bytes().startswith(b"\x89PNG")


def test_a_link_stays_a_link(outputs: dict[str, Any]) -> None:
    assert outputs["link"] == "demo://resource/dynamic/text/2"


def test_objects_are_reached_into(outputs: dict[str, Any]) -> None:
    assert (outputs["wet"], outputs["ahead"], outputs["known"]) == (82, "+9.0h", "runs workflows")


def test_a_failed_tool_takes_the_error_edge(outputs: dict[str, Any]) -> None:
    assert outputs["instead"] == "no such place"
