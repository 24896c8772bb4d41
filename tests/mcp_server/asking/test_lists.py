"""An agent sees which runs wait and for what, and the tools of the small set ask and pause as well."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from pflow import Workspace
from pflow.core.file.home import Home
from tests.mcp_server.asking.document import asks, asks_each, status_of
from tests.mcp_server.asking.host import CLAUDE, GEMINI, OPENCODE, Host, Profile, accepts, says


@pytest.fixture
def host(host_of: Callable[[Profile], Host]) -> Host:
    return host_of(OPENCODE)


def test_runs_that_wait_are_listed_with_what_they_ask(host: Host) -> None:
    run_id = host.call({"workflow": asks(show={"body": "y" * 5_000})})["structuredContent"]["data"]["run_id"]
    many = host.call({"workflow": asks_each(*"abcdefg")})["structuredContent"]["data"]["run_id"]
    result = host.call({"trace_file": "runs", "filter": "waiting"}, tool="trace_read")
    newest, oldest = result["structuredContent"]["data"]["runs"][:2]
    assert (newest["run_id"], len(newest["waiting"]), newest["more_waiting"]) == (many, 5, 2)
    assert (oldest["run_id"], oldest["status"]) == (run_id, "waiting")
    [waiting] = oldest["waiting"]
    assert (waiting["step"], waiting["prompt"], waiting["choices"]) == ("ask", "Post it?", ["post", "stop"])
    assert waiting["show"]["body"]["size"] == 5_000
    lines = result["content"][0]["text"].splitlines()
    assert lines[1:7] == [f"  `ask[{n}]` asks: Send {item}? (post, stop)" for n, item in enumerate("abcde")] + [
        "  … and 2 more"
    ]


def test_the_summary_of_a_run_says_what_it_waits_for(host: Host) -> None:
    run_id = host.call({"workflow": asks(who="agent")})["structuredContent"]["data"]["run_id"]
    result = host.call({"trace_file": run_id}, tool="trace_read")
    data = result["structuredContent"]["data"]
    assert (data["status"], [one["step"] for one in data["waiting"]]) == ("waiting", ["ask"])
    assert f"workflow_execute(resume='{run_id}', answers=" in result["content"][0]["text"]
    host.call({"resume": run_id, "answers": {"ask": "post"}})
    assert "waiting" not in host.call({"trace_file": run_id}, tool="trace_read")["structuredContent"]["data"]


def test_what_a_question_shows_is_cut_to_what_an_agent_gets_to_see(host: Host) -> None:
    found = host.call({"workflow": asks(show={"a": "x" * 100_000, "b": {"c": ["y" * 100_000]}, "d": 1})})
    [waiting] = found["structuredContent"]["data"]["waiting"]
    assert waiting["show"]["a"]["size"] == 100_000
    assert len(waiting["show"]["a"]["$preview"]) + len(waiting["show"]["b"]["$preview"]) < 20 << 10
    assert waiting["show"]["d"] == 1


@pytest.mark.parametrize("detach", [False, True])
def test_an_agent_cancels_a_run_that_waits_if_it_began_it(host: Host, detach: bool) -> None:
    run_id = host.call({"workflow": asks(), "detach": detach})["structuredContent"]["data"]["run_id"]
    assert host.call({"cancel": run_id})["structuredContent"]["data"]["status"] == "cancelled"
    assert status_of(host.home, run_id) == "cancelled"


def test_a_run_that_waits_for_a_person_elsewhere_is_not_an_agents_to_cancel(host: Host) -> None:
    with Workspace(Home(host.home)) as workspace:
        run_id = workspace.run(asks()).run_id
    assert host.call({"cancel": run_id})["structuredContent"]["error"]["type"] == "security"
    assert status_of(host.home, run_id) == "waiting"


@pytest.mark.parametrize("profile", [CLAUDE, GEMINI], ids=["claude", "gemini"])
def test_the_small_toolset_asks_and_pauses(home: Path, profile: Profile) -> None:
    with Workspace(Home(home)) as workspace:
        workspace.save(asks(who="agent"), "for-agents", "Ask an agent")
        workspace.save(asks(), "for-persons", "Ask a person")
    host = Host(home, profile, "--toolset", "core")
    try:
        person = accepts(choice="post") if profile is CLAUDE else says("cancel")
        found = host.call({"name": "for-persons"}, tool="execute", person=person)["structuredContent"]
        if profile is CLAUDE:
            assert found["outputs"]["choice"] == "post"
        else:
            assert (found["success"], found["data"]["status"]) == (True, "waiting")
            assert found["checkpoint"] is None
        result = host.call({"name": "for-agents"}, tool="execute")
        assert "pflow answer" in result["content"][0]["text"]
        assert "workflow_execute" not in result["content"][0]["text"]
    finally:
        host.raw.kill()
