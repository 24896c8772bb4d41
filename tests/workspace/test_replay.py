"""Runs that are recorded as cassettes and played again."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pflow.core.cassette.cassette_file import read_cassette
from pflow.core.errors import SecurityError, UsageError
from pflow.core.file.home import Home
from pflow.workspace.workspace import Workspace

DOCUMENT: dict[str, Any] = {
    "name": "lines",
    "inputs": {"folder": {"type": "string"}},
    "nodes": [
        {"id": "list", "type": "shell", "params": {"command": "ls ${folder}"}},
        {
            "id": "names",
            "type": "code",
            "params": {"code": "result = text.split()", "inputs": {"text": "${list.stdout}"}},
        },
        {
            "id": "read",
            "type": "read-file",
            "params": {"path": "${folder}/${item}"},
            "batch": {"items": "${names.result}", "as": "item", "concurrency": 4},
        },
    ],
    "outputs": {"all": {"source": "${read.results}"}},
}


@pytest.fixture
def workspace(home: Path) -> Iterator[Workspace]:
    with Workspace(Home(home)) as found:
        yield found


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "files"
    made.mkdir()
    for name in "abc":
        (made / name).write_text(f"text of {name}")
    return made


def test_a_recorded_run_gives_the_same_when_the_files_are_gone(
    workspace: Workspace, folder: Path, tmp_path: Path
) -> None:
    outcome = workspace.run(DOCUMENT, {"folder": str(folder)})
    file = tmp_path / "x.cassette.jsonl"
    workspace.record(outcome.run_id, file)
    first = file.read_bytes()
    workspace.record(outcome.run_id, file)
    assert file.read_bytes() == first
    for one in folder.iterdir():
        one.unlink()
    played = workspace.replay(DOCUMENT, read_cassette(file))
    assert (played.status, played.outputs) == ("completed", outcome.outputs)
    assert [call.type for call in played.asked] == ["shell", "read-file", "read-file", "read-file"]
    assert not played.unused


def test_a_text_made_of_an_object_is_the_same_again(workspace: Workspace, tmp_path: Path) -> None:
    path, file = tmp_path / "said.txt", tmp_path / "x.cassette.jsonl"
    said = {"id": "said", "type": "shell", "params": {"command": "echo yes"}}
    kept = {"id": "keep", "type": "write-file", "params": {"path": str(path), "content": "it said ${said}"}}
    outcome = workspace.run({"nodes": [said, kept]})
    assert path.read_text().index("stdout") < path.read_text().index("exit_code"), "not in the order of the alphabet"
    workspace.record(outcome.run_id, file)
    assert workspace.replay({"nodes": [said, kept]}, read_cassette(file)).unrecorded == ()


def test_a_call_that_was_not_recorded_stops_the_run_and_names_the_nearest(workspace: Workspace, folder: Path) -> None:
    outcome = workspace.run(DOCUMENT, {"folder": str(folder)})
    played = workspace.replay(DOCUMENT, workspace.cassette(outcome.run_id), {"folder": "/elsewhere"})
    assert played.status == "unrecorded"
    [missed] = played.unrecorded
    assert missed.step == "list"
    assert missed.nearest is not None
    assert missed.nearest.step == "list"


def test_a_renamed_step_finds_its_recording(workspace: Workspace, folder: Path) -> None:
    outcome = workspace.run(DOCUMENT, {"folder": str(folder)})
    nodes = [{**DOCUMENT["nodes"][0], "id": "ls"}, *DOCUMENT["nodes"][1:]]
    nodes[1] = {**nodes[1], "params": {**nodes[1]["params"], "inputs": {"text": "${ls.stdout}"}}}
    played = workspace.replay({**DOCUMENT, "nodes": nodes}, workspace.cassette(outcome.run_id))
    assert (played.status, played.outputs) == ("completed", outcome.outputs)


def test_attempts_are_recorded_in_order_and_errors_take_their_edges(workspace: Workspace, tmp_path: Path) -> None:
    document = {
        "nodes": [
            {"id": "try", "type": "shell", "params": {"command": "exit 3"}, "retry": {"attempts": 2, "wait": 0}},
            {"id": "after", "type": "echo", "params": {"message": "${try.error.message}"}},
        ],
        "edges": [{"from": "try", "to": "after", "action": "error"}],
        "outputs": {"why": {"source": "${after.message}"}},
    }
    outcome = workspace.run(document)
    cassette = workspace.cassette(outcome.run_id)
    assert len(cassette.calls) == 2
    played = workspace.replay(document, cassette)
    assert (played.status, played.outputs, len(played.asked)) == ("completed", outcome.outputs, 2)


def test_a_stub_answers_in_place_of_a_step(workspace: Workspace, folder: Path) -> None:
    outcome = workspace.run(DOCUMENT, {"folder": str(folder)})
    cassette = workspace.cassette(outcome.run_id)
    played = workspace.replay(DOCUMENT, cassette, stubs={"list": {"error": {"action": "timeout", "message": "late"}}})
    assert played.status == "failed"
    assert played.error is not None
    assert played.error["message"] == "late"


def test_a_cassette_with_a_token_is_refused_and_the_old_file_stays(workspace: Workspace, tmp_path: Path) -> None:
    outcome = workspace.run(
        {"nodes": [{"id": "say", "type": "shell", "params": {"command": "printf ghp_; printf 0123456789abcdefghij"}}]}
    )
    file = tmp_path / "x.cassette.jsonl"
    file.write_text("old")
    with pytest.raises(SecurityError):
        workspace.record(outcome.run_id, file)
    assert file.read_text() == "old"


@pytest.mark.parametrize("text", ["", "no json\n", '{"cassette": 9}\n', '{"cassette": 1}\n{"key": "x"}\n'])
def test_a_damaged_cassette_is_a_usage_error(tmp_path: Path, text: str) -> None:
    file = tmp_path / "x.cassette.jsonl"
    file.write_text(text)
    with pytest.raises(UsageError):
        read_cassette(file)
