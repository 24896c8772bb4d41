"""Drafts: kept between calls, found by name, gone after a while, moved into the library when they are done."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest

from pflow.core.file.home import Home
from pflow.core.library.workflow_manager import MAX_DRAFTS, WorkflowManager
from pflow.workspace.drafts import MOST_DRAFTS
from tests.mcp.protocol.kit import wait_until
from tests.mcp_server.client import Client


def says(text: str) -> dict[str, Any]:
    return {
        "nodes": [{"id": "say", "type": "echo", "params": {"text": text}}],
        "outputs": {"text": {"source": "${say.text}"}},
    }


@pytest.fixture(scope="module")
def client(start: Callable[..., Client]) -> Client:
    """A server whose library and drafts are these tests' own."""
    return start()


@pytest.fixture(scope="module")
def core(start: Callable[..., Client], client: Client) -> Client:
    """The five tools over the same home."""
    return start("--toolset", "core", home=client.home)


def draft_file(client: Client, name: str) -> Path:
    return client.home / "temp-workflows" / f"{name}.json"


def library_file(client: Client, name: str) -> Path:
    return client.home / "workflows" / f"{name}.json"


@pytest.mark.requirement(
    "paths:q4-3",
    "paths:q4-4",
    "paths:q4-5",
    "paths:resolve-4",
    "paths:q1-1",
    "paths:q1-2",
    "paths:recommend-1",
    "paths:manager-2",
)
def test_a_draft_is_kept_and_found_by_its_name(either: Client) -> None:
    saved = either.call("workflow_save", workflow=says("one"), name="kept", is_temp=True)
    assert saved.data == {"name": "kept", "path": str(draft_file(either, "kept")), "is_temp": True}
    assert either.call("workflow_validate", workflow="kept").data["valid"] is True
    assert either.call("workflow_execute", workflow="kept").data["outputs"] == {"text": "one"}
    either.call("workflow_save", workflow=says("two"), name="kept", is_temp=True)
    assert either.call("workflow_execute", workflow="kept").data["outputs"] == {"text": "two"}
    assert either.call("workflow_list", filter="kept").data["workflows"] == []


@pytest.mark.requirement("paths:q3-1")
def test_a_draft_file_holds_the_document_and_nothing_else(client: Client) -> None:
    client.call("workflow_save", workflow=says("x"), name="bare", description="Says x", is_temp=True)
    client.call("workflow_execute", workflow="bare")
    assert orjson.loads(draft_file(client, "bare").read_bytes()) == says("x")
    listed = client.call("workflow_list", filter="bare", include_temp=True).data["workflows"]
    assert [entry["description"] for entry in listed] == ["Says x"]


@pytest.mark.requirement("paths:resolve-1", "paths:recommend-2")
def test_the_library_comes_before_drafts_and_a_document_before_both(client: Client) -> None:
    client.call("workflow_save", workflow=says("draft"), name="both", is_temp=True)
    client.call("workflow_save", workflow=says("library"), name="both", description="Says library")
    assert client.call("workflow_execute", workflow="both").data["outputs"] == {"text": "library"}
    assert client.call("workflow_execute", workflow=says("inline")).data["outputs"] == {"text": "inline"}
    assert client.call("workflow_execute", workflow="both.json").data["outputs"] == {"text": "draft"}


@pytest.mark.requirement("paths:resolve-2", "paths:scenario-c")
def test_drafts_are_the_same_wherever_the_server_was_started(
    start: Callable[..., Client], client: Client, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("elsewhere")
    (folder / "here.json").write_bytes(orjson.dumps(says("file")))
    (folder / "alone.json").write_bytes(orjson.dumps(says("file")))
    client.call("workflow_save", workflow=says("draft"), name="here", is_temp=True)
    elsewhere = start(home=client.home, cwd=str(folder))
    assert elsewhere.call("workflow_execute", workflow="here").data["outputs"] == {"text": "draft"}
    assert elsewhere.call("workflow_execute", workflow="here.json").data["outputs"] == {"text": "draft"}
    assert elsewhere.call("workflow_execute", workflow="./here.json").data["outputs"] == {"text": "file"}
    assert elsewhere.call("workflow_execute", workflow="alone.json").data["outputs"] == {"text": "file"}
    assert elsewhere.call("workflow_execute", workflow="alone").error["type"] == "not_found"


@pytest.mark.requirement("paths:q4-1")
def test_lists_leave_drafts_out_unless_asked(client: Client) -> None:
    client.call("workflow_save", workflow=says("x"), name="listed-draft", is_temp=True)
    client.call("workflow_save", workflow=says("x"), name="listed", description="Says x")
    plain = client.call("workflow_list", filter="listed").data["workflows"]
    assert [entry["name"] for entry in plain] == ["listed"]
    both = client.call("workflow_list", filter="listed", include_temp=True).data["workflows"]
    assert [(entry["name"], entry.get("is_temp", False)) for entry in both] == [
        ("listed", False),
        ("listed-draft", True),
    ]


def test_an_unfinished_draft_is_kept_with_what_is_wrong(client: Client) -> None:
    saved = client.call("workflow_save", workflow={"nodes": [{"id": "a", "type": "ecko"}]}, name="half", is_temp=True)
    assert [issue["code"] for issue in saved.data["issues"]] == ["unknown-type"]
    assert "cannot run yet" in saved.text
    assert client.call("workflow_validate", workflow="half").data["valid"] is False
    error = client.call("workflow_save", workflow="half", name="whole", description="Says x").error
    assert error["type"] == "validation"
    assert draft_file(client, "half").exists()
    assert not library_file(client, "whole").exists()


@pytest.mark.parametrize("workflow", ["nonsense: [", {"steps": []}, {}])
def test_what_is_no_document_is_not_kept(client: Client, workflow: object) -> None:
    given = workflow if isinstance(workflow, dict) else f"\n{workflow}"
    error = client.call("workflow_save", workflow=given, name="nothing", is_temp=True).error
    assert error["type"] == "validation"
    assert not draft_file(client, "nothing").exists()


@pytest.mark.requirement("paths:q2-3", "server13:workflow_save-1", "server13:success-6")
def test_saving_a_draft_to_the_library_moves_it(client: Client) -> None:
    client.call("workflow_save", workflow=says("moved"), name="moving", is_temp=True)
    saved = client.call("workflow_save", workflow_file="moving", name="moved", description="Says moved")
    assert saved.data == {"name": "moved", "path": str(library_file(client, "moved")), "is_temp": False}
    assert not draft_file(client, "moving").exists()
    assert client.call("workflow_execute", workflow="moved").data["outputs"] == {"text": "moved"}
    assert client.call("workflow_execute", workflow="moving").error["type"] == "not_found"


def test_saving_to_the_library_never_replaces(client: Client) -> None:
    client.call("workflow_save", workflow=says("first"), name="taken", description="Says first")
    client.call("workflow_save", workflow=says("second"), name="second", is_temp=True)
    for workflow in (says("other"), "second"):
        error = client.call("workflow_save", workflow=workflow, name="taken", description="Says other").error
        assert error["type"] == "exists"
        assert "`taken`" in error["message"]
    assert draft_file(client, "second").exists()
    assert client.call("workflow_execute", workflow="taken").data["outputs"] == {"text": "first"}


def test_a_library_workflow_needs_a_description(client: Client) -> None:
    error = client.call("workflow_save", workflow=says("x"), name="mute").error
    assert error["type"] == "usage"
    assert "`description`" in error["message"]
    described = {**says("x"), "description": "Says x"}
    assert client.call("workflow_save", workflow=described, name="speaking").data["name"] == "speaking"


@pytest.mark.requirement("paths:security-3")
@pytest.mark.parametrize("name", ["a_b", "a.b", "../a", "a/b", "", "-a", "a b", "ä", "con", "a" * 65, "a\x00b"])
def test_names_of_drafts_are_letters_digits_and_hyphens(client: Client, name: str) -> None:
    error = client.call("workflow_save", workflow=says("x"), name=name, is_temp=True).error
    assert error["type"] == "security"
    assert "/" not in error["message"]


@pytest.mark.parametrize(
    "name", ["../a", "a/b", "/etc/x", "..", "", "~", "-a", "a b", "con", "a.", "a" * 65, "a\u200bb"]
)
def test_a_hostile_name_reaches_no_file(client: Client, name: str) -> None:
    client.call("workflow_validate", workflow=says("x"))  # the first check of a home writes its registry
    before = sorted(client.home.rglob("*"))
    error = client.call("workflow_save", workflow=says("x"), name=name, description="Says x").error
    assert error["type"] == "security"
    assert sorted(client.home.rglob("*")) == before


@pytest.mark.requirement("paths:security-4")
def test_all_drafts_together_are_bounded(start: Callable[..., Client]) -> None:
    client = start()
    client.call("workflow_save", workflow=says("x"), name="small", is_temp=True)
    with draft_file(client, "big").open("wb") as file:
        file.truncate(MAX_DRAFTS - 100)
    error = client.call("workflow_save", workflow=says("x"), name="more", is_temp=True).error
    assert error["type"] == "storage"
    assert "100 MB" in error["message"]
    assert not draft_file(client, "more").exists()


def test_one_draft_too_many_replaces_the_oldest_and_says_so(start: Callable[..., Client]) -> None:
    client = start()
    client.call("workflow_save", workflow=says("x"), name="young", is_temp=True)
    content = draft_file(client, "young").read_bytes()
    now = draft_file(client, "young").stat().st_mtime
    for number in range(MOST_DRAFTS):
        path = draft_file(client, f"old-{number}")
        path.write_bytes(content)
        os.utime(path, (now - 1000 + number, now - 1000 + number))
    saved = client.call("workflow_save", workflow=says("y"), name="last", is_temp=True)
    assert saved.data["dropped"] == ["old-0", "old-1"]
    assert "there were too many drafts; the oldest are gone: old-0, old-1" in saved.text
    assert len(WorkflowManager.for_drafts(Home(client.home)).names()) == MOST_DRAFTS
    again = client.call("workflow_save", workflow=says("z"), name="old-2", is_temp=True)
    assert "dropped" not in again.data
    assert client.call("workflow_execute", workflow="old-2").data["outputs"] == {"text": "z"}


@pytest.mark.requirement("paths:q2-1", "paths:security-5")
def test_old_drafts_go_when_a_server_starts(
    start: Callable[..., Client], tmp_path_factory: pytest.TempPathFactory
) -> None:
    home = tmp_path_factory.mktemp("old") / ".pflow"
    drafts = WorkflowManager.for_drafts(Home(home))
    for name, days in (("old", 8), ("young", 6)):
        path = drafts.save(name, says(name))
        seconds = path.stat().st_mtime - days * 86400
        os.utime(path, (seconds, seconds))
    now = time.time()
    (home / ".clock").write_bytes(orjson.dumps([now - days * 86400 for days in (2, 1, 0)]))
    client = start(home=home)
    wait_until(lambda: not drafts.exists("old"))
    assert [entry["name"] for entry in client.call("workflow_list", include_temp=True).data["workflows"]] == ["young"]


@pytest.mark.requirement(
    "server5:effect-2", "server5:output-5", "server5:rule-15", "server5:test-15", "server5:state-2"
)
def test_save_to_library_moves_a_draft(client: Client, core: Client) -> None:
    client.call("workflow_save", workflow=says("core"), name="core-draft", is_temp=True)
    core.call("execute", name="core-draft")
    saved = core.call("save_to_library", draft_name="core-draft", final_name="core-final", description="Says core")
    assert saved.envelope["path"] == str(library_file(client, "core-final"))
    assert not draft_file(client, "core-draft").exists()
    assert core.call("describe_workflow", name="core-final").envelope["success"] is True


@pytest.mark.requirement("server5:rule-13", "server5:test-14", "server5:edge-3")
def test_save_to_library_needs_the_draft(client: Client, core: Client) -> None:
    client.call("workflow_save", workflow=says("x"), name="in-library", description="Says x")
    for name in ("absent", "in-library"):
        error = core.call("save_to_library", draft_name=name, final_name="final", description="Says x").error
        assert error["type"] == "not_found"
        assert f"draft `{name}`" in error["message"]
    assert not library_file(client, "final").exists()


@pytest.mark.requirement("server5:rule-14", "server5:test-13")
def test_of_many_that_move_one_draft_at_once_one_succeeds_and_nothing_is_lost(client: Client, core: Client) -> None:
    client.call("workflow_save", workflow=says("raced"), name="raced", is_temp=True)

    def move(number: int) -> Callable[[], Any]:
        arguments: dict[str, object] = {"draft_name": "raced", "final_name": f"race-{number}", "description": "Says it"}
        return lambda: core.ask("save_to_library", arguments)

    answers = core.both(*(move(number) for number in range(8)))
    assert sorted(answer.envelope["success"] for answer in answers) == [False] * 7 + [True]
    assert {answer.error["type"] for answer in answers if answer.is_error} == {"not_found"}
    assert sum(library_file(client, f"race-{number}").exists() for number in range(8)) == 1
    assert not draft_file(client, "raced").exists()


@pytest.mark.requirement("server5:state-1")
def test_a_draft_that_ran_well_counts_as_executed(client: Client, core: Client) -> None:
    client.call("workflow_save", workflow=says("x"), name="tried", is_temp=True)
    before = core.call("describe_workflow", name="tried").data["statistics"]
    core.call("execute", name="tried")
    after = core.call("describe_workflow", name="tried").data["statistics"]
    assert "execution_count" not in before
    assert (after["execution_count"], after["last_execution_success"]) == (1, True)


@pytest.mark.requirement(
    "paths:q4-2", "server5:edge-4", "server5:test-9", "server5:rule-9", "server5:rule-8", "server5:test-8"
)
def test_the_core_tools_find_the_library_first_and_drafts_next(client: Client, core: Client) -> None:
    client.call("workflow_save", workflow=says("draft"), name="found", is_temp=True)
    assert core.call("execute", name="found").envelope["outputs"] == {"text": "draft"}
    assert core.call("describe_workflow", name="found").envelope["outputs"] == {"text": {"source": "${say.text}"}}
    client.call("workflow_save", workflow=says("library"), name="found", description="Says library")
    assert core.call("execute", name="found").envelope["outputs"] == {"text": "library"}


@pytest.mark.requirement("paths:manager-1")
def test_a_draft_that_went_leaves_no_statistics_for_the_next_of_its_name(client: Client, core: Client) -> None:
    client.call("workflow_save", workflow=says("x"), name="reborn", is_temp=True)
    core.call("execute", name="reborn")
    core.call("save_to_library", draft_name="reborn", final_name="grown", description="Says x")
    client.call("workflow_save", workflow=says("x"), name="reborn", is_temp=True)
    assert "execution_count" not in core.call("describe_workflow", name="reborn").data["statistics"]


@pytest.mark.requirement("paths:recommend-3")
def test_the_guide_tells_of_drafts(client: Client) -> None:
    read: Any = client.wait(client.session.request("resources/read", {"uri": "pflow://guide"}))
    assert "`is_temp: true` keeps an unfinished draft" in read["contents"][0]["text"]
