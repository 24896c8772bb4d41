"""An agent answers what it may answer itself, several questions with one call, and is told what it did wrong."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pflow import Workspace
from pflow.core.errors import InDoubtError
from pflow.core.file.home import Home
from tests.mcp_server.asking.document import Json, asks, asks_each, asks_twice, open_questions, status_of
from tests.mcp_server.asking.host import OPENCODE, Host, Profile
from tests.workspace.test_durability import in_child

FIELDS: Json = {"note": {"type": "string"}, "times": {"type": "integer", "default": 1}}


@pytest.fixture
def host(host_of: Callable[[Profile], Host]) -> Host:
    return host_of(OPENCODE)


def begin(host: Host, document: Json) -> str:
    """The id of a run that waits."""
    found = host.call({"workflow": document})["structuredContent"]["data"]
    assert found["status"] == "waiting"
    return str(found["run_id"])


def answer(host: Host, run_id: str, answers: Json) -> Json:
    """What comes of answers: the data, or the error."""
    envelope: Json = host.call({"resume": run_id, "answers": answers})["structuredContent"]
    found: Json = envelope["data"] if envelope["success"] else envelope["error"]
    return found


@pytest.mark.parametrize("who", ["agent", "any"])
def test_an_agent_answers_with_a_choice_or_fields(host: Host, who: str) -> None:
    run_id = begin(host, asks(who=who))
    assert answer(host, run_id, {"ask": "post"})["outputs"]["choice"] == "post"
    run_id = begin(host, asks(who=who, schema=FIELDS))
    given = {"choice": "STOP", "answer": {"note": "later"}}
    outputs = answer(host, run_id, {"ask": given})["outputs"]
    assert (outputs["choice"], outputs["answer"]) == ("stop", {"note": "later", "times": 1})


def test_an_agent_declines(host: Host) -> None:
    run_id = begin(host, asks(who="agent", default="stop"))
    assert answer(host, run_id, {"ask": {"decline": True}})["outputs"]["choice"] == "stop"


def test_a_question_for_a_person_is_refused_with_the_door_where_persons_are(host: Host) -> None:
    run_id = begin(host, asks())
    error = answer(host, run_id, {"ask": "post"})
    assert error["type"] == "security"
    assert f"`pflow answer {run_id} ask CHOICE`" in error["suggestions"][0]
    assert status_of(host.home, run_id) == "waiting"


@pytest.mark.parametrize("wrong", ["", "0" * 40, "é"])
def test_only_the_key_of_a_question_lets_an_agent_answer_for_a_person(host: Host, wrong: str) -> None:
    run_id = begin(host, asks())
    [waiting] = open_questions(host.home, run_id)
    assert answer(host, run_id, {"ask": {"choice": "post", "key": wrong}})["type"] == "security"
    assert answer(host, run_id, {"ask": {"choice": "post", "key": waiting.key}})["outputs"]["choice"] == "post"


def test_several_answers_are_given_with_one_call(host: Host) -> None:
    run_id = begin(host, asks_each("a", "b", "c", who="agent"))
    found = answer(host, run_id, {"ask[0]": "post", "ask[2]": "stop"})
    assert [one["step"] for one in found["waiting"]] == ["ask[1]"]
    assert answer(host, run_id, {"ask[1]": "post"})["outputs"] == {"chosen": ["post", "post", "stop"]}


def test_of_several_answers_none_is_taken_if_one_is_wrong(host: Host) -> None:
    run_id = begin(host, asks_each("a", "b", who="agent"))
    error = answer(host, run_id, {"ask[0]": "post", "ask[1]": "burn"})
    assert error["type"] == "template_error"
    assert error["details"] == {"step": "ask[1]", "choices": ["post", "stop"]}
    assert len(open_questions(host.home, run_id)) == 2


def test_a_question_that_is_answered_is_not_answered_again(host: Host) -> None:
    document = asks_twice()
    for node in document["nodes"]:
        node["params"]["who"] = "agent"
    run_id = begin(host, document)
    assert answer(host, run_id, {"one": "post"})["status"] == "waiting"
    error = answer(host, run_id, {"one": "stop"})
    assert (error["type"], error["details"]["by"]) == ("already_answered", OPENCODE.by)
    assert answer(host, run_id, {"two": "here"})["outputs"] == {"chosen": "post here"}


@pytest.mark.parametrize(
    ("given", "kind", "said"),
    [
        ({"ask": "burn"}, "template_error", "`ask`: `burn` is not one of the choices: `post`, `stop`"),
        (
            {"ask": {"choice": "post", "answer": {"nots": "x"}}},
            "template_error",
            "`ask`: the question has no field `nots`",
        ),
        ({"ask": {"choice": "post"}}, "template_error", "`ask`: the field `note` was not given"),
        ({"ask": {"choice": "post", "answer": {"note": 5}}}, "template_error", "`ask`: `note` must be string, not"),
        ({"ask": {"choice": "post", "answer": {"note": "x" * 70_000}}}, "template_error", "larger than 64 kB"),
        ({"ask": True}, "template_error", "must be a string or an object, not"),
        ({"ask": {"choise": "post"}}, "template_error", "has no part `choise`"),
        ({"ask": {"choice": 5}}, "template_error", "has a choice that is not a string"),
        ({"ask": {"choice": "post", "answer": []}}, "template_error", "the answer is not an object of fields"),
        ({"ask": {"decline": "yes"}}, "template_error", "true or false as `decline`"),
        ({"ask": {"choice": "post", "decline": True}}, "template_error", "declines and answers at once"),
        ({"aks": "post"}, "not_found", "asks no question `aks`"),
    ],
)
def test_what_is_no_answer_is_refused_and_the_run_waits_on(host: Host, given: Json, kind: str, said: str) -> None:
    run_id = begin(host, asks(who="agent", schema=FIELDS))
    error = answer(host, run_id, given)
    assert error["type"] == kind
    assert said in error["message"]
    assert len(open_questions(host.home, run_id)) == 1


def test_a_batch_is_answered_item_by_item(host: Host) -> None:
    run_id = begin(host, asks_each("a", "b", who="agent"))
    error = answer(host, run_id, {"ask": "post"})
    assert error["type"] == "usage"
    assert "answers={'ask[0]': CHOICE}" in error["suggestions"][0]


def test_answers_need_a_run(host: Host) -> None:
    error = host.call({"workflow": asks(), "answers": {"ask": "post"}})["structuredContent"]["error"]
    assert error["type"] == "usage"


def test_a_run_that_was_cancelled_takes_no_answer(host: Host) -> None:
    run_id = begin(host, asks(who="agent"))
    with Workspace(Home(host.home)) as workspace:
        workspace.cancel(run_id)
    assert answer(host, run_id, {"ask": "post"})["type"] == "usage"


@pytest.mark.parametrize("detach", [False, True], ids=["here", "elsewhere"])
def test_what_comes_of_a_run_that_somebody_drives_is_waited_for(host: Host, tmp_path: Path, detach: bool) -> None:
    pipes = [tmp_path / "after", tmp_path / "slow"]
    for pipe in pipes:
        os.mkfifo(pipe)
    nodes: list[Any] = [
        {"id": "start", "type": "echo", "params": {"n": 1}},
        asks(who="agent")["nodes"][0],
        {"id": "after", "type": "shell", "params": {"command": ["cat", str(pipes[0])]}},
        {"id": "slow", "type": "shell", "params": {"command": ["cat", str(pipes[1])]}},
    ]
    edges = [
        {"from": "start", "to": "ask"},
        {"from": "start", "to": "slow"},
        {"from": "ask", "to": "after", "action": "post"},
        {"from": "ask", "to": "after", "action": "stop"},
    ]
    document = {"nodes": nodes, "edges": edges, "outputs": {"said": {"source": "${after.stdout}"}}}
    begun = {"name": "workflow_execute", "arguments": {"workflow": document, "detach": detach}}
    first = host.send("tools/call", begun)
    while not (found := running(host.home)) or not open_questions(host.home, found[0]):
        pass
    given = {"resume": found[0], "answers": {"ask": "post"}}
    number = host.send("tools/call", {"name": "workflow_execute", "arguments": given})
    for pipe in pipes:
        pipe.write_text("went on")  # which waits until it is read
    ended = host.hear(number)["result"]["structuredContent"]["data"]
    assert (ended["run_id"], ended.get("outputs", ended)) == (found[0], {"said": "went on"})
    assert host.hear(first)["result"]["structuredContent"]["success"]


def running(home: Path) -> list[str]:
    """The runs that are under way."""
    with Workspace(Home(home)) as workspace:
        return [info.run_id for info in workspace.runs(state="running")]


# ---- steps in doubt


def cut_off(host: Host, tmp_path: Path) -> str:
    """The id of a run whose process was killed while the items of a batch and a step were under way."""
    kill = "if mkdir killed 2>/dev/null; then kill -9 $PPID; exit; fi; echo ran ${item} >> did"
    nodes: list[Json] = [
        {
            "id": "each",
            "type": "shell",
            "params": {"command": kill, "cwd": str(tmp_path)},
            "batch": {"items": ["a", "b"]},
        },
        {"id": "say", "type": "echo", "params": {"said": "${each.results[0].stdout}"}},
    ]
    document = {"nodes": nodes}

    run_id = f"cut-{os.urandom(4).hex()}"

    def work() -> None:
        Workspace(Home(host.home)).run(document, run_id=run_id)

    assert in_child(work) == -signal.SIGKILL
    return run_id


def test_an_agent_says_what_became_of_a_step_in_doubt(host: Host, tmp_path: Path) -> None:
    run_id = cut_off(host, tmp_path)
    error = host.call({"resume": run_id})["structuredContent"]["error"]
    assert error["type"] == "in_doubt"
    assert [said.replace(run_id, "RUN") for said in error["suggestions"][:2]] == [
        "workflow_execute(resume='RUN', answers={'each[0]': {'done': {OUTPUT: VALUE}}})   if it took effect",
        "workflow_execute(resume='RUN', answers={'each[0]': {'rerun': true}})   to run only that one again",
    ]
    outputs = answer(host, run_id, {"each[0]": {"done": {"stdout": "as I saw it"}}})["outputs"]
    assert outputs["said"] == "as I saw it"
    assert (tmp_path / "did").read_text() == "ran b\n"
    with Workspace(Home(host.home)) as workspace:
        shown: Any = workspace.show_run(run_id)
    [settled] = shown["settled"]
    assert settled["by"].startswith("opencode")


def test_an_agent_has_a_step_in_doubt_run_again(host: Host, tmp_path: Path) -> None:
    run_id = cut_off(host, tmp_path)
    assert answer(host, run_id, {"each[0]": {"rerun": True}})["outputs"]["said"] == ""
    assert (tmp_path / "did").read_text() == "ran a\nran b\n"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"each[0]": {"done": "yes"}}, "must have an object of outputs as `done`"),
        ({"each[0]": {"rerun": False}}, "true as `rerun`"),
        ({"each[0]": {"done": {}, "rerun": True}}, "says more than what became of the step"),
        ({"each[0]": {"done": {"stdot": ""}}}, "has no output `stdot`"),
        ({"each[1]": {"done": {}}}, "has no step `each[1]`"),
        ({"each[0]": {"done": {}}, "say": {"rerun": True}}, "has no step `say`"),
        ({"each[0]": "yes"}, "asks nothing"),
    ],
)
def test_what_cannot_have_become_of_a_step_is_refused_and_nothing_is_recorded(
    host: Host, tmp_path: Path, given: Json, said: str
) -> None:
    run_id = cut_off(host, tmp_path)
    assert said in answer(host, run_id, given)["message"]
    with Workspace(Home(host.home)) as workspace, pytest.raises(InDoubtError):
        workspace.resume(run_id)
