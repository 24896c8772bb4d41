"""A detached run that asks is a task that needs input: the client brings it, and whatever is not asked is ignored."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.mcp_server.asking.document import Json, asks, asks_twice, open_questions
from tests.mcp_server.asking.host import CLAUDE, FORMS, Host, Profile

TASKS: Json = {"extensions": {"io.modelcontextprotocol/tasks": {}}}
KNOWING = Profile("claude-code", "3", CLAUDE.protocol, {**FORMS, **TASKS})
FORMLESS = Profile("formless", "1", CLAUDE.protocol, TASKS)


class Tasks:
    """Tasks of one server."""

    def __init__(self, host: Host) -> None:
        self.host = host

    def start(self, document: Json) -> str:
        """A task; its id."""
        created = self.host.call({"workflow": document, "detach": True})
        assert created["resultType"] == "task"
        return str(created["taskId"])

    def wait(self, task_id: str, *statuses: str) -> Json:
        """The task, once it has one of these statuses, or says something."""
        while True:
            task: Json = self.host.request("tasks/get", {"taskId": task_id})["result"]
            if task["status"] in statuses or ("statusMessage" in task and "statusMessage" in statuses):
                return task

    def update(self, task_id: str, responses: Any) -> Json:
        """The whole answer."""
        return self.host.request("tasks/update", {"taskId": task_id, "inputResponses": responses})


@pytest.fixture(scope="module")
def tasks(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tasks]:
    host = Host(tmp_path_factory.mktemp("tasks") / ".pflow", KNOWING)
    yield Tasks(host)
    host.raw.kill()


def accept(task: Json, **content: object) -> Json:
    """A response to the one thing that a task asks."""
    [name] = task["inputRequests"]
    return {name: {"action": "accept", "content": content}}


def test_a_task_that_asks_needs_input_and_goes_on_with_it(tasks: Tasks) -> None:
    task_id = tasks.start(asks_twice())
    first = tasks.wait(task_id, "input_required")
    [request] = first["inputRequests"].values()
    assert request["method"] == "elicitation/create"
    assert request["params"]["message"].startswith("Post it?")
    given = accept(first, choice="post")
    assert tasks.update(task_id, given)["result"]["resultType"] == "complete"
    while (second := tasks.wait(task_id, "input_required"))["inputRequests"].keys() == first["inputRequests"].keys():
        pass
    tasks.update(task_id, given)  # the first answer again, which answers nothing now
    assert [one.place for one in open_questions(tasks.host.home, task_id)] == ["two"]
    tasks.update(task_id, accept(second, choice="there"))
    ended = tasks.wait(task_id, "completed")
    assert ended["result"]["structuredContent"]["data"]["outputs"] == {"chosen": "post there"}


def test_the_answer_says_which_door_it_came_through(tasks: Tasks) -> None:
    task_id = tasks.start(asks())
    tasks.update(task_id, accept(tasks.wait(task_id, "input_required"), choice="post"))
    outputs = tasks.wait(task_id, "completed")["result"]["structuredContent"]["data"]["outputs"]
    assert (outputs["by"], outputs["via"]) == (KNOWING.by, "mcp-task")


@pytest.mark.parametrize("responses", [{}, {"a": {}}, {"a": {"action": "accept"}}])
def test_what_was_not_asked_is_ignored(tasks: Tasks, responses: Json) -> None:
    task_id = tasks.start(asks())
    tasks.wait(task_id, "input_required")
    assert tasks.update(task_id, responses)["result"]["resultType"] == "complete"
    assert tasks.wait(task_id, "input_required")


def test_a_form_that_does_not_fit_is_an_error_and_is_asked_again(tasks: Tasks) -> None:
    task_id = tasks.start(asks())
    error = tasks.update(task_id, accept(tasks.wait(task_id, "input_required"), choice="burn"))["error"]
    assert error["code"] == -32602
    assert tasks.wait(task_id, "input_required")


def test_a_form_that_was_dismissed_is_not_shown_again_but_can_be_answered_elsewhere(tasks: Tasks) -> None:
    task_id = tasks.start(asks())
    [name] = tasks.wait(task_id, "input_required")["inputRequests"]
    tasks.update(task_id, {name: {"action": "cancel"}})
    task = tasks.wait(task_id, "statusMessage")
    assert task["status"] == "working"
    assert f"`pflow answer {task_id} ask CHOICE`" in task["statusMessage"]
    assert len(open_questions(tasks.host.home, task_id)) == 1


def test_a_declined_form_is_an_answer(tasks: Tasks) -> None:
    task_id = tasks.start(asks(default="stop"))
    [name] = tasks.wait(task_id, "input_required")["inputRequests"]
    tasks.update(task_id, {name: {"action": "decline"}})
    outputs = tasks.wait(task_id, "completed")["result"]["structuredContent"]["data"]["outputs"]
    assert outputs["choice"] == "stop"


def test_a_task_that_waits_is_cancelled(tasks: Tasks) -> None:
    task_id = tasks.start(asks())
    given = accept(tasks.wait(task_id, "input_required"), choice="post")
    tasks.host.request("tasks/cancel", {"taskId": task_id})
    assert tasks.wait(task_id, "cancelled")
    assert tasks.update(task_id, given)["result"]["resultType"] == "complete"
    assert tasks.wait(task_id, "cancelled")


def test_a_client_without_forms_is_told_how_its_user_answers(home: Path) -> None:
    host = Host(home, FORMLESS)
    try:
        tasks = Tasks(host)
        task = tasks.wait(tasks.start(asks()), "statusMessage")
        assert task["status"] == "working"
        assert "pflow answer" in task["statusMessage"]
    finally:
        host.raw.kill()
