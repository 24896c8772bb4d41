"""A home that an earlier version of pflow made opens, shows and goes on, whatever has changed since."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.homes.conftest import VERSIONS, Recorded


def test_there_is_a_recorded_home() -> None:
    assert "0.1.0" in VERSIONS


def test_its_runs_are_listed_and_shown_as_they_ended(recorded: Recorded) -> None:
    listed = recorded.pflow("runs", "list", "--json").json["data"]["runs"]
    statuses = {run["run_id"]: run["status"] for run in listed}
    assert {name: statuses[run] for name, run in recorded.runs.items()} == {
        "completed": "completed",
        "big": "completed",
        "routed": "completed",
        "failed": "failed",
        "batch": "failed",
        "parent": "failed",
        "tools": "failed",
        "secret": "failed",
        "edited": "failed",
        "cancelled": "cancelled",
        "stopped": "stopped",
        "killed": "interrupted",
        "killed-batch": "interrupted",
    }
    for run in recorded.runs.values():
        shown = recorded.pflow("runs", "show", run, "--json")
        assert shown.code == 0 and shown.json["data"]["run_id"] == run
        assert recorded.pflow("trace", run).code == 0


def test_a_failed_run_goes_on_at_its_failed_step(recorded: Recorded) -> None:
    assert recorded.resume("failed").code == 0
    assert recorded.effects == ["last"]


def test_half_a_batch_does_only_its_other_half(recorded: Recorded) -> None:
    resumed = recorded.resume("batch")
    assert resumed.json["data"]["outputs"]["count"] == 5
    assert recorded.effects == ["two", "three", "four", "after-batch"]


def test_half_a_batch_that_fails_again_still_repeats_nothing(recorded: Recorded) -> None:
    Path("closed").touch()
    assert recorded.resume("batch").code == 1
    Path("closed").unlink()
    assert recorded.resume("batch").code == 0
    assert recorded.effects == ["two", "three", "four", "after-batch"]


def test_a_batch_that_was_killed_repeats_no_item_it_had_completed(recorded: Recorded) -> None:
    Path("opened").touch()
    assert recorded.resume("killed-batch").code == 4
    assert recorded.resume("killed-batch", "--rerun-in-doubt").code == 0
    assert recorded.effects == ["two", "three"]


@pytest.mark.parametrize("run", ["stopped", "killed"])
def test_what_was_cut_off_is_in_doubt_and_can_be_run_again(recorded: Recorded, run: str) -> None:
    Path("opened").touch()
    assert recorded.resume(run).json["error"]["type"] == "in_doubt"
    assert recorded.resume(run, "--rerun-in-doubt").code == 0
    assert recorded.effects == ["waited", "behind"]


def test_sub_workflows_go_on_inside(recorded: Recorded) -> None:
    assert recorded.resume("parent").json["data"]["outputs"] == {"text": "Hello Bob"}
    assert recorded.effects == []


def test_an_edited_document_reuses_what_did_not_change(recorded: Recorded) -> None:
    Path("edited.json").write_text(
        json.dumps(
            {
                "nodes": [
                    {"id": "first", "type": "shell", "params": {"command": "echo first >> effects"}},
                    {"id": "gate", "type": "shell", "params": {"command": "true"}},
                    {"id": "last", "type": "shell", "params": {"command": "echo changed >> effects"}},
                ]
            }
        )
    )
    resumed = recorded.resume("edited", "--with", "edited.json")
    assert resumed.code == 0, resumed
    assert recorded.effects == ["changed"]


def test_an_edit_reuses_steps_of_tools_and_of_a_persons_own_nodes(recorded: Recorded) -> None:
    Path("tools.json").write_text(
        json.dumps(
            {
                "nodes": [
                    {"id": "twice", "type": "mcp-recorded-double", "params": {"number": 21}},
                    {"id": "noted", "type": "mcp-recorded-note", "params": {"word": "changed"}},
                ]
            }
        )
    )
    assert recorded.resume("tools", "--with", "tools.json").json["data"]["reused"] == ["twice"]
    assert recorded.effects == ["changed"]
    Path("greet.json").write_text(
        json.dumps(
            {
                "inputs": {"name": {"type": "string"}},
                "nodes": [
                    {"id": "say", "type": "echo", "params": {"text": "Hello ${name}"}},
                    {"id": "shout", "params": {"text": "${say.text}"}},
                    {"id": "end", "type": "echo", "params": {"text": "${shout.loud}"}},
                ],
            }
        )
    )
    edited = recorded.resume("completed", "--with", "greet.json", "name=Grace").json["data"]
    assert edited["reused"] == ["say", "shout"]


def test_secret_inputs_are_asked_for_again(recorded: Recorded) -> None:
    assert recorded.resume("secret").code == 2
    resumed = recorded.resume("secret", "token=recorded-input-token")
    assert resumed.code == 0 and "recorded-input-token" not in resumed.out
    assert recorded.effects == []


def test_tools_of_its_server_need_no_new_sync(recorded: Recorded) -> None:
    assert recorded.resume("tools").json["data"]["outputs"] == {"value": 42}
    assert recorded.effects == ["noted"]
    assert recorded.pflow("mcp", "list", "--json").json["data"]["servers"][0]["name"] == "recorded"
    assert recorded.pflow("call", "recorded", "double", "number=4").code == 0


def test_its_library_and_drafts_run(recorded: Recorded) -> None:
    names = [found["name"] for found in recorded.pflow("workflow", "list", "--json").json["data"]["workflows"]]
    assert sorted(names) == ["batch-yaml", "greet"]
    greeted = recorded.pflow("run", "greet", "name=Ada", "--json")
    assert greeted.json["data"]["outputs"] == {"text": "Hello Ada", "loud": "HELLO ADA"}
    described = recorded.pflow("workflow", "describe", "greet", "--json").json["data"]
    assert described["inputs"]["name"]["default"] == "Ada" and described["statistics"]["execution_count"] == 2
    assert recorded.pflow("run", "draft-batch").code == 0
    assert recorded.effects == ["zero", "one", "two", "three", "four", "after-batch"]


def test_its_settings_are_kept(recorded: Recorded) -> None:
    kept = recorded.pflow("settings", "get", "SERVICE_TOKEN", "--json").json["data"]
    assert kept["set"] is True and "recorded-service-token" not in json.dumps(kept)
    assert recorded.pflow("settings", "get", "runs.keep_days", "--json").json["data"]["value"] == 100000
