"""A run asks, and the person behind each of the real hosts answers: in a form, or in a terminal."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pflow import Workspace
from pflow.core.file.home import Home
from tests.mcp_server.asking.document import asks, asks_each, asks_twice, open_questions, status_of
from tests.mcp_server.asking.host import (
    CLAUDE,
    CODEX,
    GEMINI,
    OLDER_CLAUDE,
    OPENCODE,
    Host,
    Profile,
    accepts,
    says,
)

WITH_FORMS = [CLAUDE, OLDER_CLAUDE, CODEX]
WITHOUT_FORMS = [OPENCODE, GEMINI]
ALL = [*WITH_FORMS, *WITHOUT_FORMS]

HostOf = Callable[[Profile], Host]


def name_of(profile: Profile) -> str:
    return profile.by.replace(" ", "-")


with_forms = pytest.mark.parametrize("profile", WITH_FORMS, ids=name_of)
without_forms = pytest.mark.parametrize("profile", WITHOUT_FORMS, ids=name_of)


def data_of(result: dict[str, Any]) -> dict[str, Any]:
    assert result["structuredContent"]["success"], result
    found: dict[str, Any] = result["structuredContent"]["data"]
    return found


@with_forms
def test_a_person_fills_in_a_form_and_the_run_goes_on(host_of: HostOf, profile: Profile) -> None:
    host = host_of(profile)
    fields = {"note": {"type": "string", "title": "Note"}, "times": {"type": "integer", "default": 1}}
    document = asks(show={"body": "Hello\nall"}, schema=fields)
    person = accepts(choice="post", note="soon", times=2)
    found = data_of(host.call({"workflow": document}, person=person))
    assert found["outputs"] == {
        "choice": "post",
        "answer": {"note": "soon", "times": 2},
        "by": profile.by,
        "via": "mcp-elicitation",
    }
    asked = host.asked[-1]
    assert asked["message"] == f"Post it?\n\nbody:\nHello\nall\n\nrun {found['run_id']}, step ask"
    assert asked["requestedSchema"]["required"] == ["choice", "note"]
    assert asked["requestedSchema"]["properties"]["choice"]["enum"] == ["post", "stop"]
    assert asked["requestedSchema"]["properties"]["note"] == {"type": "string", "title": "Note"}


@with_forms
def test_a_form_that_is_dismissed_decides_nothing(host_of: HostOf, profile: Profile) -> None:
    host = host_of(profile)
    result = host.call({"workflow": asks()}, person=says("cancel"))
    found = data_of(result)
    assert found["status"] == "waiting"
    [waiting] = found["waiting"]
    assert waiting.pop("since")
    assert waiting == {
        "step": "ask",
        "kind": "question",
        "prompt": "Post it?",
        "choices": ["post", "stop"],
        "who": "person",
    }
    assert f"`pflow answer {found['run_id']} ask CHOICE`" in result["content"][0]["text"]
    assert [one.place for one in open_questions(host.home, found["run_id"])] == ["ask"]


@with_forms
def test_who_declines_chooses_the_default_or_else_the_step_is_declined(host_of: HostOf, profile: Profile) -> None:
    host = host_of(profile)
    found = data_of(host.call({"workflow": asks(default="stop")}, person=says("decline")))
    assert found["outputs"]["choice"] == "stop"
    result = host.call({"workflow": asks()}, person=says("decline"))
    assert result["structuredContent"]["error"]["type"] == "declined"


@with_forms
def test_a_question_after_another_is_asked_in_the_same_call(host_of: HostOf, profile: Profile) -> None:
    host = host_of(profile)

    def person(asked: dict[str, Any]) -> dict[str, Any]:
        return {"action": "accept", "content": {"choice": asked["requestedSchema"]["properties"]["choice"]["enum"][0]}}

    found = data_of(host.call({"workflow": asks_twice()}, person=person))
    assert found["outputs"] == {"chosen": "post here"}


@with_forms
def test_items_are_asked_about_one_by_one_until_somebody_has_enough(host_of: HostOf, profile: Profile) -> None:
    host = host_of(profile)

    def person(asked: dict[str, Any]) -> dict[str, Any]:
        return says("cancel")(asked) if "Send b?" in asked["message"] else accepts(choice="post")(asked)

    before = len(host.asked)
    found = data_of(host.call({"workflow": asks_each("a", "b", "c")}, person=person))
    assert found["status"] == "waiting"
    asked = [one["message"].splitlines()[0] for one in host.asked[before:]]
    left = [one.place for one in open_questions(host.home, found["run_id"])]
    # In the older protocol forms are shown one after the other, so the third was never shown.
    assert (asked, left) in [
        (["Send a?", "Send b?", "Send c?"], ["ask[1]"]),
        (["Send a?", "Send b?"], ["ask[1]", "ask[2]"]),
    ]
    assert profile.is_modern == (len(asked) == 3)


@with_forms
def test_a_step_that_needs_approval_shows_what_it_would_do(host_of: HostOf, profile: Profile) -> None:
    host = host_of(profile)
    node = {"id": "send", "type": "echo", "params": {"to": "all"}, "approve": True}
    found = data_of(host.call({"workflow": {"nodes": [node]}}, person=accepts(choice="yes")))
    assert found["outputs"] == {"to": "all"}
    asked = host.asked[-1]
    assert asked["message"].startswith("Run `send` (echo)?\n\nparams:\n{")
    assert asked["requestedSchema"]["properties"]["choice"]["enum"] == ["yes", "no"]


@with_forms
def test_a_form_that_is_not_filled_in_as_it_should_be_leaves_the_run_waiting(host_of: HostOf, profile: Profile) -> None:
    host = host_of(profile)
    result = host.call({"workflow": asks()}, person=accepts(choice="burn"))
    [run] = [info for info in runs(host.home) if info.status == "waiting"][:1]
    assert len(open_questions(host.home, run.run_id)) == 1
    if profile.is_modern:
        error = result["structuredContent"]["error"]
        assert (error["type"], error["details"]["choices"]) == ("template_error", ["post", "stop"])
    else:
        assert data_of(result)["run_id"] == run.run_id


@with_forms
def test_an_answer_of_64_kb_is_refused_and_a_smaller_one_is_taken(host_of: HostOf, profile: Profile) -> None:
    host = host_of(profile)
    document = asks(schema={"note": {"type": "string"}})
    host.call({"workflow": document}, person=accepts(choice="post", note="x" * (64 << 10)))
    run_id = runs(host.home)[0].run_id
    assert status_of(host.home, run_id) == "waiting"
    data_of(host.call({"resume": run_id}, person=accepts(choice="post", note="x" * (63 << 10))))
    assert status_of(host.home, run_id) == "completed"


@with_forms
def test_with_require_page_no_client_answers_for_a_person(host_of: HostOf, profile: Profile) -> None:
    host = host_of(profile)
    with Workspace(Home(host.home)) as workspace:
        workspace.set_setting("ask.require_page", "true")
    try:
        result = host.call({"workflow": asks()})
        assert data_of(result)["status"] == "waiting"
        assert "pflow answer" in result["content"][0]["text"]
        found = data_of(host.call({"workflow": asks(who="any")}, person=accepts(choice="post")))
        assert found["outputs"]["choice"] == "post"
    finally:
        with Workspace(Home(host.home)) as workspace:
            workspace.unset_setting("ask.require_page")


@pytest.mark.parametrize("profile", ALL, ids=name_of)
def test_what_is_for_agents_is_asked_of_no_person(host_of: HostOf, profile: Profile) -> None:
    host = host_of(profile)
    result = host.call({"workflow": asks(who="agent")})
    run_id = data_of(result)["run_id"]
    call = f'workflow_execute(resume=\'{run_id}\', answers={{"ask":"post"}})'
    assert result["content"][0]["text"].splitlines()[-1] == f"You may answer this yourself: {call}"
    found = data_of(host.call({"resume": run_id, "answers": {"ask": "post"}}))
    assert found["outputs"] == {"choice": "post", "answer": {}, "by": profile.by, "via": "mcp-answers"}


@without_forms
def test_a_host_without_forms_is_told_what_to_tell_its_user(host_of: HostOf, profile: Profile) -> None:
    host = host_of(profile)
    result = host.call({"workflow": asks(schema={"note": {"type": "string"}}, who="any")})
    found = data_of(result)
    run_id = found["run_id"]
    assert set(found) == {"status", "run_id", "waiting", "suggestions"}
    answers = '{"ask":{"choice":"post","answer":{"note":"<string>"}}}'
    assert result["content"][0]["text"].splitlines() == [
        f"waiting, run {run_id}",
        "`ask` asks: Post it? (post, stop, note=…)",
        "Tell the user: the run waits for your answer to `ask`; give it in a terminal, "
        f"with `pflow answer {run_id} ask CHOICE`",
        f"You may answer this yourself: workflow_execute(resume='{run_id}', answers={answers})",
    ]
    # Some hosts show a model nothing but the structured content.
    assert result["content"][0]["text"].splitlines()[2:] == found["suggestions"]


def test_codex_without_a_person_is_not_asked(host_of: HostOf) -> None:
    host = host_of(CODEX)
    turn = {"x-codex-turn-metadata": {"turn_trigger": "exec"}}
    params = {"name": "workflow_execute", "arguments": {"workflow": asks()}, "_meta": turn}
    found = data_of(host.request("tools/call", params)["result"])
    assert found["status"] == "waiting"
    assert "pflow answer" in found["suggestions"][0]


@without_forms
def test_a_run_that_waits_is_resumed_in_vain_until_it_is_answered(host_of: HostOf, profile: Profile) -> None:
    host = host_of(profile)
    first = data_of(host.call({"workflow": asks()}))
    assert data_of(host.call({"resume": first["run_id"]})) == first


def runs(home: Path) -> list[Any]:
    with Workspace(Home(home)) as workspace:
        return workspace.runs()
