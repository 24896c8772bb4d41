"""The server ends between a question and its answer, however the host asks its person; a new one goes on."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from pflow import Workspace
from pflow.core.file.home import Home
from tests.mcp_server.asking.document import asks, status_of
from tests.mcp_server.asking.host import CLAUDE, CODEX, GEMINI, OLDER_CLAUDE, OPENCODE, Host, Profile, accepts

ARGUMENTS = {"workflow": asks()}


class Hosts:
    """A host that can get a new server."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.now: Host | None = None

    def start(self, profile: Profile) -> Host:
        """A new server; the one before has ended."""
        self.end()
        self.now = Host(self.home, profile)
        return self.now

    def end(self, *, killed: bool = False) -> None:
        """Go, as a host does, or have the server killed."""
        if self.now is not None:
            if killed:
                self.now.raw.kill()
            else:
                self.now.end()
            self.now = None


@pytest.fixture
def hosts(home: Path) -> Iterator[Hosts]:
    made = Hosts(home)
    yield made
    if made.now is not None:
        made.now.raw.kill()


def the_run(home: Path) -> str:
    with Workspace(Home(home)) as workspace:
        [info] = workspace.runs()
        return info.run_id


def test_a_call_that_brings_the_answer_goes_on_with_the_run(hosts: Hosts, home: Path) -> None:
    host = hosts.start(CLAUDE)
    params = {"name": "workflow_execute", "arguments": ARGUMENTS}
    result = host.request("tools/call", params)["result"]
    assert (result["resultType"], len(result["inputRequests"])) == ("input_required", 1)
    run_id = the_run(home)
    hosts.end(killed=True)
    assert status_of(home, run_id) == "waiting"
    host = hosts.start(CLAUDE)
    brought = {**params, **host.fill(result, accepts(choice="post"))}
    ended = host.request("tools/call", brought)["result"]
    assert ended["structuredContent"]["data"]["run_id"] == run_id
    assert ended["structuredContent"]["data"]["outputs"]["choice"] == "post"


@pytest.mark.parametrize(
    ("profile", "killed"),
    [pytest.param(OLDER_CLAUDE, False, marks=pytest.mark.slow), (CODEX, True)],
    ids=["parted", "killed"],
)
def test_a_form_that_was_open_is_shown_again_when_the_run_is_resumed(
    hosts: Hosts, home: Path, profile: Profile, killed: bool
) -> None:
    host = hosts.start(profile)
    host.send("tools/call", {"name": "workflow_execute", "arguments": ARGUMENTS})
    asked = host.raw.receive()
    assert asked["method"] == "elicitation/create"
    run_id = the_run(home)
    hosts.end(killed=killed)
    assert status_of(home, run_id) == ("running" if killed else "waiting")
    host = hosts.start(profile)
    ended = host.call({"resume": run_id}, person=accepts(choice="stop"))
    assert host.asked == [asked["params"]]
    assert ended["structuredContent"]["data"]["outputs"]["choice"] == "stop"


def test_a_host_that_speaks_the_other_era_with_the_next_server_is_asked_in_that_one(hosts: Hosts, home: Path) -> None:
    """How long a server takes to start decides which one some hosts speak."""
    params = {"name": "workflow_execute", "arguments": ARGUMENTS}
    result = hosts.start(CLAUDE).request("tools/call", params)["result"]
    assert result["resultType"] == "input_required"
    run_id = the_run(home)
    host = hosts.start(CLAUDE._replace(protocol="2025-11-25"))
    ended = host.call({"resume": run_id}, person=accepts(choice="stop"))
    [asked] = result["inputRequests"].values()
    assert [one["message"] for one in host.asked] == [asked["params"]["message"]]
    assert ended["structuredContent"]["data"]["outputs"]["choice"] == "stop"


MODERN = OPENCODE._replace(protocol="2026-07-28")
"""A host of the newer era that shows no forms."""


@pytest.mark.parametrize(
    "profile",
    [pytest.param(OPENCODE, marks=pytest.mark.slow), pytest.param(GEMINI, marks=pytest.mark.slow), MODERN],
    ids=["opencode", "gemini", "modern"],
)
def test_what_was_answered_in_a_terminal_is_there_when_the_run_is_resumed(
    hosts: Hosts, home: Path, profile: Profile
) -> None:
    run_id = hosts.start(profile).call(ARGUMENTS)["structuredContent"]["data"]["run_id"]
    hosts.end()
    with Workspace(Home(home)) as workspace:
        workspace.answer(run_id, choice="post", by="ada", via="terminal")
    ended = hosts.start(profile).call({"resume": run_id})["structuredContent"]["data"]
    assert ended["outputs"] == {"choice": "post", "answer": {}, "by": "ada", "via": "terminal"}
