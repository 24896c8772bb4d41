"""`pflow serve mcp --on PLACE`: the same tools, with runs that the workers of the place drive."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable
from typing import Any

import pytest
from mcp import Client as SdkClient
from mcp import StdioServerParameters

from tests.far.conftest import Far
from tests.mcp_server.client import Client
from tests.mcp_server.conftest import start
from tests.mcp_server.http.served import Client as HttpClient
from tests.mcp_server.http.served import Served
from tests.robust.world import until

__all__ = ["start"]

pytestmark = pytest.mark.needs("postgres", "temporal")

HELLO = {
    "inputs": {"name": {"type": "string", "required": True}},
    "nodes": [{"id": "greet", "type": "echo", "params": {"text": "hello ${name}"}}],
    "outputs": {"greeting": {"source": "${greet.text}"}},
}
ASKS = {
    "nodes": [
        {"id": "ok", "type": "ask", "params": {"prompt": "Go on?", "choices": ["yes", "no"], "who": "agent"}},
        {"id": "after", "type": "echo", "params": {"text": "${ok.choice}"}},
    ],
    "outputs": {"said": {"source": "${after.text}"}},
}
HOLDS = {"nodes": [{"id": "hold", "type": "wait", "params": {"message": "never"}}]}


@pytest.fixture
def client(far: Far, start: Callable[..., Client]) -> Client:
    """A client of a server whose runs are at the place."""
    return start("--on", "dev", home=far.home, **far.cluster.environment(far.home))


def execute(client: Client, **arguments: Any) -> Any:
    return client.call("workflow_execute", **arguments)


def test_runs_of_agents_are_driven_by_workers(far: Far, client: Client) -> None:
    refused = execute(client, workflow=HELLO, parameters={"name": "Ada"})
    assert refused.error["type"] == "no_worker"
    worker = far.worker()
    done = execute(client, workflow=HELLO, parameters={"name": "Ada"}).data
    assert done["outputs"] == {"greeting": "hello Ada"}
    until(lambda: f"{done['run_id']}: completed" in worker.said, "what the worker says of the run")
    trace = client.call("trace_read", trace_file=done["run_id"]).data
    assert trace["status"] == "completed"
    detached = execute(client, workflow=HELLO, parameters={"name": "Bo"}, detach=True).data["run_id"]
    far.until_state(detached, "completed")


def test_questions_are_answered_and_runs_are_cancelled_there(far: Far, client: Client) -> None:
    far.worker()
    waiting = execute(client, workflow=ASKS).data
    assert waiting["status"] == "waiting"
    done = execute(client, resume=waiting["run_id"], answers={"ok": "yes"}).data
    assert done["outputs"] == {"said": "yes"}
    held = execute(client, workflow=HOLDS, detach=True).data["run_id"]
    far.until_asks(held)
    assert execute(client, cancel=held).data["status"] == "cancelled"
    assert far.state(held) == "cancelled"


def test_a_place_that_is_not_there_is_named_before_a_client_comes(far: Far) -> None:
    said = far.pflow("serve", "mcp", "--on", "nowhere")
    assert said.code == 2
    assert "there is no place `nowhere`" in said.err


@pytest.mark.slow
def test_agents_that_connect_over_http_have_the_same(far: Far) -> None:
    worker = far.worker()
    served = Served(far.home, "--on", "dev", bounds=None, **far.cluster.environment(far.home))
    client = HttpClient(served, "modern")
    try:
        done = over_http(client, workflow=HELLO, parameters={"name": "Ada"})
        assert done["outputs"] == {"greeting": "hello Ada"}
        trace = client.call("trace_read", trace_file=done["run_id"])["data"]
        assert trace["status"] == "completed"
        waiting = over_http(client, workflow=ASKS, detach=True)["run_id"]
        far.until_asks(waiting)
        assert over_http(client, resume=waiting, answers={"ok": "no"})["outputs"] == {"said": "no"}
        held = over_http(client, workflow=HOLDS, detach=True)["run_id"]
        far.until_asks(held)
        assert over_http(client, cancel=held)["status"] == "cancelled"
    finally:
        client.close()
        served.end()
    for run_id in (done["run_id"], waiting, held):
        assert f"{run_id}: taken up" in worker.said


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_the_official_client_has_runs_driven_answered_and_cancelled_there(far: Far, mode: Any) -> None:
    worker = far.worker()
    command = StdioServerParameters(
        command=sys.executable,
        args=["-m", "pflow", "serve", "mcp", "--on", "dev"],
        env={**os.environ, **far.cluster.environment(far.home)},
    )

    async def session() -> list[str]:
        async with asyncio.timeout(60), SdkClient(command, mode=mode) as client:

            async def call(**arguments: Any) -> Any:
                result = await client.call_tool("workflow_execute", arguments)
                assert not result.is_error, result
                return result.structured_content["data"]

            done = await call(workflow=HELLO, parameters={"name": "Ada"})
            assert done["outputs"] == {"greeting": "hello Ada"}
            asked = await call(workflow=ASKS)
            assert asked["status"] == "waiting"
            answered = await call(resume=asked["run_id"], answers={"ok": "yes"})
            assert answered["outputs"] == {"said": "yes"}
            held = await call(workflow=HOLDS, detach=True)
            await asyncio.to_thread(far.until_asks, held["run_id"])
            assert (await call(cancel=held["run_id"]))["status"] == "cancelled"
            return [done["run_id"], asked["run_id"], held["run_id"]]

    for run_id in asyncio.run(session()):
        assert f"{run_id}: taken up" in worker.said


def over_http(client: HttpClient, **arguments: Any) -> Any:
    answer = client.call("workflow_execute", **arguments)
    assert answer["success"], answer
    return answer["data"]
