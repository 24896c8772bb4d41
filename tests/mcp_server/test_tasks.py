"""Detached runs as tasks, for clients that know them, and the same runs for those that do not."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.mcp_server.raw import Raw

TASKS = "io.modelcontextprotocol/tasks"
DONE = {"working": False, "completed": True, "failed": True, "cancelled": True}


class Modern:
    """A client of the stateless protocol, with or without the extension."""

    def __init__(self, raw: Raw) -> None:
        self.raw = raw
        self._number = 0

    def ask(self, method: str, params: dict[str, Any], *, tasks: bool = True) -> dict[str, Any]:
        """The whole answer."""
        meta = {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {"extensions": {TASKS: {}}} if tasks else {},
        }
        self._number += 1
        self.raw.send(self._number, method, {**params, "_meta": meta})
        found = self.raw.receive()
        assert found["id"] == self._number
        return found

    def execute(self, *, tasks: bool = True, **arguments: Any) -> dict[str, Any]:
        """The result of `workflow_execute`."""
        found = self.ask("tools/call", {"name": "workflow_execute", "arguments": arguments}, tasks=tasks)
        return dict(found["result"])

    def get(self, task_id: str) -> dict[str, Any]:
        """How a task stands."""
        return dict(self.ask("tasks/get", {"taskId": task_id})["result"])

    def wait(self, task_id: str) -> dict[str, Any]:
        """How a task ended."""
        while not DONE[(task := self.get(task_id))["status"]]:
            pass
        return task


@pytest.fixture(scope="module")
def modern(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Modern]:
    """A server, and a client that knows tasks."""
    raw = Raw(tmp_path_factory.mktemp("tasks") / ".pflow")
    yield Modern(raw)
    raw.kill()


def waiting(folder: Path) -> tuple[dict[str, Any], Path]:
    """A document that waits until something is written into a pipe."""
    fifo = folder / "fifo"
    os.mkfifo(fifo)
    node = {"id": "wait", "type": "shell", "params": {"command": f"cat {fifo}"}}
    return {"nodes": [node], "outputs": {"said": {"source": "${wait.stdout}"}}}, fifo


def test_a_detached_run_is_a_task_that_can_be_asked_for_at_once(modern: Modern, tmp_path: Path) -> None:
    document, fifo = waiting(tmp_path)
    created = modern.execute(workflow=document, detach=True)
    assert created["resultType"] == "task"
    assert created["status"] == "working"
    assert created["createdAt"].endswith("Z")
    assert isinstance(created["ttlMs"], int)
    assert "content" not in created
    working = modern.get(created["taskId"])
    assert working["resultType"] == "complete"
    assert working["status"] == "working"
    assert "result" not in working
    fifo.write_text("hello")
    ended = modern.wait(created["taskId"])
    assert ended["status"] == "completed"
    assert ended["result"]["structuredContent"]["data"]["outputs"] == {"said": "hello"}
    assert "isError" not in ended["result"]


def test_a_client_that_knows_no_tasks_gets_the_run_itself(modern: Modern) -> None:
    result = modern.execute(workflow={"nodes": [{"id": "echo"}]}, detach=True, tasks=False)
    assert result["resultType"] == "complete"
    assert result["structuredContent"]["data"]["status"] == "running"


def test_a_run_that_is_waited_for_is_no_task(modern: Modern) -> None:
    result = modern.execute(workflow={"nodes": [{"id": "echo", "params": {"text": "a"}}]})
    assert result["resultType"] == "complete"
    assert result["structuredContent"]["success"] is True


def test_a_run_that_fails_is_a_task_that_completed_with_an_error(modern: Modern) -> None:
    document = {"nodes": [{"id": "fail", "type": "shell", "params": {"command": "exit 3"}}]}
    ended = modern.wait(modern.execute(workflow=document, detach=True)["taskId"])
    assert ended["status"] == "completed"
    assert ended["result"]["isError"] is True
    assert ended["result"]["structuredContent"]["error"]["node"] == "fail"


def test_a_document_that_cannot_begin_makes_no_task(modern: Modern) -> None:
    result = modern.execute(workflow={"nodes": [{"id": "a", "type": "ecko"}]}, detach=True)
    assert result["resultType"] == "complete"
    assert result["isError"] is True


def test_cancelling_ends_the_run_and_doing_it_again_does_no_harm(modern: Modern, tmp_path: Path) -> None:
    document, _ = waiting(tmp_path)
    task_id = modern.execute(workflow=document, detach=True)["taskId"]
    answer = modern.ask("tasks/cancel", {"taskId": task_id})["result"]
    assert {key: answer[key] for key in answer if key != "_meta"} == {"resultType": "complete"}
    assert modern.wait(task_id)["status"] == "cancelled"
    assert modern.ask("tasks/cancel", {"taskId": task_id})["result"]["resultType"] == "complete"


def test_a_task_that_asks_nothing_takes_answers_all_the_same(modern: Modern) -> None:
    task_id = modern.execute(workflow={"nodes": [{"id": "echo"}]}, detach=True)["taskId"]
    answer = modern.ask("tasks/update", {"taskId": task_id, "inputResponses": {"a": {}}})
    assert answer["result"]["resultType"] == "complete"


@pytest.mark.parametrize("method", ["tasks/get", "tasks/update", "tasks/cancel"])
@pytest.mark.parametrize("task_id", ["nothing", "latest", "", "../../settings", "%"])
def test_a_task_that_does_not_exist_is_an_error(modern: Modern, method: str, task_id: str) -> None:
    assert modern.ask(method, {"taskId": task_id})["error"]["code"] == -32602


@pytest.mark.parametrize("method", ["tasks/get", "tasks/update", "tasks/cancel"])
def test_tasks_are_for_those_who_declare_them(modern: Modern, method: str) -> None:
    error = modern.ask(method, {"taskId": "x"}, tasks=False)["error"]
    assert error["code"] == -32021
    assert error["data"]["requiredCapabilities"] == {"extensions": {TASKS: {}}}


def test_the_extension_is_announced(modern: Modern) -> None:
    found = modern.ask("server/discover", {})["result"]["capabilities"]
    assert TASKS in found["extensions"]
    assert "tasks" not in found


def test_tasks_outlive_the_server(modern: Modern) -> None:
    task_id = modern.execute(workflow={"nodes": [{"id": "echo"}]}, detach=True)["taskId"]
    modern.wait(task_id)
    other = Raw(modern.raw.home)
    try:
        assert Modern(other).get(task_id)["status"] == "completed"
    finally:
        other.kill()
