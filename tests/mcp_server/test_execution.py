"""`workflow_execute` and `workflow_validate` through a real session."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import orjson
import pytest

from tests.mcp.protocol.kit import alive, wait_until
from tests.mcp_server.client import Client

HELLO = {
    "inputs": {"name": {"type": "string", "required": True}},
    "nodes": [{"id": "greet", "type": "echo", "params": {"text": "hello ${name}"}}],
    "outputs": {"greeting": {"source": "${greet.text}"}},
}
FAILS = {
    "nodes": [
        {"id": "first", "type": "echo", "params": {"n": 1}},
        {"id": "second", "type": "shell", "params": {"command": "exit 3"}},
    ]
}


@pytest.mark.requirement(
    "server13:workflow_execute-1",
    "server13:workflow_execute-2",
    "server13:workflow_execute-5",
    "server13:response-1",
    "server13:builtin-1",
    "server13:builtin-4",
)
def test_a_document_runs_and_gives_its_outputs_and_its_trace(either: Client) -> None:
    answer = either.call("workflow_execute", workflow=HELLO, parameters={"name": "Ada"})
    assert answer.data["outputs"] == {"greeting": "hello Ada"}
    assert answer.data["steps"] == 1
    path = either.home / "debug" / f"workflow-trace-{answer.data['run_id']}.json"
    assert answer.envelope["trace_path"] == str(path)
    assert orjson.loads(path.read_bytes())["status"] == "completed"
    assert "greeting: hello Ada" in answer.text


@pytest.mark.requirement("server13:workflow_execute-1", "paths:recommend-1")
@pytest.mark.parametrize("as_text", [orjson.dumps(FAILS | HELLO).decode(), "nodes:\n- id: greet\n  type: echo\n"])
def test_a_document_may_be_text(client: Client, as_text: str) -> None:
    answer = client.call("workflow_execute", workflow=as_text, parameters={"name": "Ada"} if "name" in as_text else {})
    assert answer.data["steps"] == 1


def test_a_workflow_may_be_a_path(client: Client, tmp_path: Path) -> None:
    file = tmp_path / "hello.json"
    file.write_bytes(orjson.dumps(HELLO))
    answer = client.call("workflow_execute", workflow=str(file), parameters={"name": "Ada"})
    assert answer.data["outputs"] == {"greeting": "hello Ada"}


@pytest.mark.requirement(
    "server13:workflow_execute-7",
    "server13:workflow_execute-3",
    "server13:builtin-2",
    "server13:builtin-3",
    "server13:response-2",
    "server13:success-5",
    "server13:design-2",
    "server5:scope-2",
)
def test_a_failure_says_what_failed_where_and_how_to_go_on_and_repairs_nothing(either: Client) -> None:
    answer = either.call("workflow_execute", workflow=FAILS)
    error = answer.error
    assert error["type"] == "execution"
    assert error["node"] == "second"
    assert error["details"]["exit_code"] == 3
    assert error["suggestions"] == ["if exit code 3 is not a failure, add it to `ok_codes`"]
    run_id = answer.envelope["checkpoint"]["run_id"]
    assert answer.envelope["checkpoint"] == {"run_id": run_id, "completed_nodes": ["first"], "failed_node": "second"}
    assert f"workflow_execute(resume='{run_id}')" in answer.text
    trace = orjson.loads(Path(answer.envelope["trace_path"]).read_bytes())
    assert [(step["step"], step["attempt"]) for step in trace["steps"]] == [("first", 1), ("second", 1)]


def test_a_run_goes_on_after_its_cause_is_gone(client: Client, tmp_path: Path) -> None:
    marks, wanted = tmp_path / "marks", tmp_path / "wanted"
    document = {
        "nodes": [
            {"id": "mark", "type": "shell", "params": {"command": f"echo x >> {marks}"}},
            {"id": "need", "type": "read-file", "params": {"path": str(wanted)}},
        ]
    }
    failed = client.call("workflow_execute", workflow=document)
    run_id = failed.envelope["checkpoint"]["run_id"]
    wanted.write_text("there")
    answer = client.call("workflow_execute", resume=run_id)
    assert answer.data["run_id"] == run_id
    assert answer.data["outputs"]["content"] == "there"
    assert marks.read_text() == "x\n"


def test_a_run_goes_on_with_an_edited_document_and_keeps_what_did_not_change(client: Client, tmp_path: Path) -> None:
    marks = tmp_path / "marks"
    first = {"id": "mark", "type": "shell", "params": {"command": f"echo x >> {marks}"}}
    failed = client.call("workflow_execute", workflow={"nodes": [first, FAILS["nodes"][1]]})
    edited = {"nodes": [first, {"id": "second", "type": "echo", "params": {"n": 2}}]}
    answer = client.call("workflow_execute", workflow=edited, resume=failed.envelope["checkpoint"]["run_id"])
    assert answer.data["outputs"] == {"n": 2}
    assert answer.data["reused"] == ["mark"]
    assert marks.read_text() == "x\n"


def test_a_run_that_does_not_exist_cannot_go_on(client: Client) -> None:
    assert client.call("workflow_execute", resume="20200101").error["type"] == "not_found"


def test_nothing_to_execute_is_said_with_what_to_give(client: Client) -> None:
    error = client.call("workflow_execute", parameters={}).error
    assert error["type"] == "usage"
    assert "`workflow` is missing" in error["message"]


def test_missing_inputs_are_listed(client: Client) -> None:
    error = client.call("workflow_execute", workflow=HELLO).error
    assert error["type"] == "template_error"
    assert error["details"]["missing"] == ["name"]


def test_a_missing_workflow_is_reported_with_near_names(client: Client) -> None:
    client.call("workflow_save", workflow=HELLO, name="greeting", description="Say hello")
    error = client.call("workflow_execute", workflow="greetin").error
    assert error["type"] == "not_found"
    assert error["suggestions"] == ["did you mean `greeting`?"]


def test_broken_json_in_a_file_is_reported_with_its_place(client: Client, tmp_path: Path) -> None:
    file = tmp_path / "broken.json"
    file.write_text('{"nodes": [\n  {"id": }\n]}')
    error = client.call("workflow_execute", workflow=str(file)).error
    assert error["type"] == "validation"
    assert (error["details"]["issues"][0]["line"], error["details"]["issues"][0]["column"]) == (2, 10)


@pytest.mark.requirement("server13:workflow_validate-2", "server13:success-4")
def test_validating_tells_every_mistake_with_its_place_and_a_fix(either: Client) -> None:
    document = {"nodes": [{"id": "a", "type": "ecko"}, {"id": "b", "type": "red-file"}]}
    answer = either.call("workflow_validate", workflow=document)
    assert answer.data["valid"] is False
    assert [(issue["code"], issue["path"]) for issue in answer.data["errors"]] == [
        ("unknown-type", "nodes[0].type"),
        ("unknown-type", "nodes[1].type"),
    ]
    assert [issue["hint"] for issue in answer.data["errors"]] == [
        "did you mean `echo`?",
        "did you mean `read-file`?",
    ]


@pytest.mark.requirement("server13:workflow_validate-3")
def test_warnings_are_listed_beside_errors(client: Client) -> None:
    greet = {"id": "greet", "type": "echo", "params": {"text": "hello {{name}}"}}
    answer = client.call("workflow_validate", workflow={**HELLO, "nodes": [greet]})
    assert (answer.data["valid"], answer.data["errors"]) == (True, [])
    assert [issue["hint"] for issue in answer.data["warnings"]] == ["write `${name}` for the value"]
    assert "warnings:\n- nodes[0].params.text" in answer.text


def test_a_name_a_path_and_a_document_can_be_validated(client: Client, tmp_path: Path) -> None:
    client.call("workflow_save", workflow=HELLO, name="valid-one", description="Say hello")
    file = tmp_path / "hello.yaml"
    file.write_text("nodes:\n- id: greet\n  type: echo\n")
    for workflow in ("valid-one", str(file), HELLO):
        assert client.call("workflow_validate", workflow=workflow).data["valid"] is True


def test_validating_starts_nothing(client: Client, tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    document = {
        "nodes": [
            {"id": "a", "type": "shell", "params": {"command": f"touch {mark}"}},
            {"id": "b", "type": "code", "params": {"code": f"open({str(mark)!r}, 'w')"}},
        ]
    }
    assert client.call("workflow_validate", workflow=document).data["valid"] is True
    client.call("workflow_save", workflow=document, name="inert", description="Would leave a mark")
    assert not mark.exists()


def test_a_large_output_comes_as_a_preview_and_is_read_in_pages(client: Client) -> None:
    code = {"code": "result = [{'n': i, 'text': 'x' * 50} for i in range(20000)]"}
    document = {
        "nodes": [{"id": "many", "type": "code", "params": code}],
        "outputs": {"rows": {"source": "${many.result}"}},
    }
    answer = client.call("workflow_execute", workflow=document)
    rows = answer.data["outputs"]["rows"]
    assert rows["shape"] == [{"n": "integer", "text": "string"}, "20000 items"]
    assert len(orjson.dumps(answer.raw)) < 3000
    run_id, field = rows["handle"].split()
    page = client.call("trace_read", trace_file=run_id, field=field, limit=100)
    assert page.data["text"].startswith("[")
    assert page.data["size"] > 1_000_000
    further = client.call("trace_read", trace_file=run_id, field=field, offset=page.data["next"], limit=100)
    assert further.data["offset"] == 100


def test_many_outputs_together_do_not_flood_either(client: Client) -> None:
    parts = {f"part{number}": "x" * 2000 for number in range(100)}
    document = {
        "nodes": [{"id": "all", "type": "echo", "params": {**parts, "small": 1}}],
        "outputs": {name: {"source": f"${{all.{name}}}"} for name in (*parts, "small")},
    }
    answer = client.call("workflow_execute", workflow=document)
    outputs = answer.data["outputs"]
    assert outputs["small"] == 1
    assert {"$preview", "handle"} <= set(outputs["part0"])
    assert len(orjson.dumps(answer.raw)) < 100_000


def test_progress_is_told_step_by_step(either: Client) -> None:
    document = {"nodes": [{"id": name, "type": "echo", "params": {"x": name}} for name in ("one", "two", "three")]}
    told: list[tuple[float, float | None, str]] = []
    either.wait(either.ask("workflow_execute", {"workflow": document}, progress=lambda *each: told.append(each)))
    assert [message.split(" done")[0] for _, _, message in told] == ["`one`", "`two`", "`three`"]
    amounts = [amount for amount, _, _ in told]
    assert amounts == sorted(set(amounts))
    assert {total for _, total, _ in told} == {3.0}


def test_cancelling_stops_the_run_and_its_children_and_leaves_it_resumable(either: Client, tmp_path: Path) -> None:
    fifo, pid_file = tmp_path / "fifo", tmp_path / "pid"
    os.mkfifo(fifo)
    command = f"echo $$ > {pid_file}; cat {fifo}"
    document = {
        "nodes": [
            {"id": "before", "type": "echo", "params": {"n": 1}},
            {"id": "wait", "type": "shell", "params": {"command": command}},
        ]
    }

    async def cancel() -> None:
        calling = asyncio.create_task(either.ask("workflow_execute", {"workflow": document}))
        while not (pid_file.exists() and pid_file.read_text()):
            await asyncio.sleep(0.01)
        calling.cancel()
        await asyncio.gather(calling, return_exceptions=True)

    either.wait(cancel())
    pid = int(pid_file.read_text())
    wait_until(lambda: not alive(pid))
    wait_until(lambda: either.call("trace_read").data["status"] == "stopped")
    trace = either.call("trace_read")
    assert [step["status"] for step in trace.data["steps"]] == ["completed", "in_doubt"]
    error = either.call("workflow_execute", resume=trace.data["run_id"]).error
    assert error["type"] == "in_doubt"
    way_out = f"workflow_execute(resume='{trace.data['run_id']}', rerun_in_doubt=true)"
    assert any(way_out in suggestion for suggestion in error["suggestions"])
    fifo.unlink()
    fifo.write_text("this time")
    again = either.call("workflow_execute", resume=trace.data["run_id"], rerun_in_doubt=True)
    assert again.data["outputs"]["stdout"] == "this time"


def test_a_detached_run_goes_on_and_tells_how_it_stands(client: Client, tmp_path: Path) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    document = {"nodes": [{"id": "wait", "type": "shell", "params": {"command": f"cat {fifo}"}}]}
    answer = client.call("workflow_execute", workflow=document, detach=True)
    run_id = answer.data["run_id"]
    assert answer.data["status"] == "running"
    wait_until(lambda: client.call("trace_read", trace_file=run_id).data["steps"] != [])
    found = client.call("trace_read", trace_file=run_id).data
    assert (found["status"], [step["status"] for step in found["steps"]]) == ("running", ["running"])
    fifo.write_text("news")
    wait_until(lambda: client.call("trace_read", trace_file=run_id).data["status"] == "completed")
    assert client.call("trace_read", trace_file=run_id, field="outputs.stdout").data["value"] == "news"


@pytest.mark.requirement(
    "server5:edge-7",
    "server5:test-22",
    "server5:rule-17",
    "server5:test-18",
    "server5:constraint-4",
    "server5:nfr-6",
)
def test_one_workflow_run_fifty_times_at_once_gives_everyone_their_own(client: Client) -> None:
    client.call("workflow_save", workflow=HELLO, name="many-hellos", description="Say hello")

    async def gather() -> list[str]:
        calls = [
            client.ask("workflow_execute", {"workflow": "many-hellos", "parameters": {"name": f"n{number}"}})
            for number in range(50)
        ]
        answers = await asyncio.gather(*calls)
        assert len({answer.data["run_id"] for answer in answers}) == 50
        return [answer.data["outputs"]["greeting"] for answer in answers]

    assert client.wait(gather()) == [f"hello n{number}" for number in range(50)]


@pytest.mark.requirement("server5:rule-18", "server5:test-19", "server5:constraint-5")
def test_the_server_answers_while_steps_block(client: Client, tmp_path: Path) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    document = {"nodes": [{"id": "wait", "type": "read-file", "params": {"path": str(fifo)}}]}
    blocked = {"nodes": [{"id": "wait", "type": "shell", "params": {"command": f"cat {fifo}"}}]}

    async def work() -> None:
        slow = [asyncio.create_task(client.ask("workflow_execute", {"workflow": blocked})) for _ in range(4)]
        for _ in range(20):
            answer = await client.ask("workflow_validate", {"workflow": document})
            assert answer.data["valid"] is True
        assert not any(task.done() for task in slow)
        for task in slow:
            task.cancel()
        await asyncio.gather(*slow, return_exceptions=True)

    client.wait(work())


def test_an_agent_is_told_what_failed_in_a_section(either: Client) -> None:
    tell = {"id": "tell", "type": "fail", "params": {"message": "nobody listens"}}
    answer = either.call("workflow_execute", workflow={"nodes": [*FAILS["nodes"], tell], "on_failure": "tell"})
    assert answer.error["node"] == "second" and "step `tell` of `on_failure` failed: nobody listens" in answer.text
    [failure] = answer.envelope["failed_in_sections"]
    assert (failure["section"], failure["step"], failure["error"]["message"]) == (
        "on_failure",
        "tell",
        "nobody listens",
    )
    done = either.call("workflow_execute", workflow={"nodes": [FAILS["nodes"][0], tell], "finally": "tell"})
    assert done.data["outputs"] == {"n": 1} and "step `tell` of `finally` failed: nobody listens" in done.text
