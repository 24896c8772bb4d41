"""What a check says of code, commands and outputs that would run and disappoint."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from pflow.workspace import Workspace
from tests.cli.conftest import Pflow, pflow, registry_file, write
from tests.execution.code_sample import CLEAN, UNKNOWN

__all__ = ["pflow", "registry_file", "write"]


def code_node(code: str, **inputs: object) -> dict[str, Any]:
    return {"id": "work", "type": "code", "params": {"code": code, "inputs": inputs}}


def codes_of(document: dict[str, Any]) -> list[str]:
    with Workspace.open() as workspace:
        return [issue.code for issue in workspace.check(document).issues]


@pytest.mark.parametrize("code", CLEAN)
def test_code_that_has_its_names_and_a_result_is_not_blamed(code: str) -> None:
    assert codes_of({"nodes": [code_node(code, items=[1, 2])]}) == []


@pytest.mark.parametrize(("code", "name", "severity"), UNKNOWN)
def test_a_name_that_nothing_defines_is_found_before_the_run(code: str, name: str, severity: str) -> None:
    with Workspace.open() as workspace:
        [issue] = workspace.check({"nodes": [code_node(code, items=[1])]}).issues
    assert (issue.code, issue.severity) == ("code-name", severity)
    assert issue.message.endswith(f"nothing defines `{name}`")
    assert f'add it to `inputs`, as `{name}: "${{…}}"`' in issue.hint


def test_an_unknown_name_comes_with_the_nearest_one() -> None:
    with Workspace.open() as workspace:
        [issue] = workspace.check({"nodes": [code_node("result = itms", items=[1])]}).errors
    assert issue.hint.startswith("did you mean `items`?") and issue.known == ("items",)


def test_inputs_that_only_a_run_knows_may_hold_any_name() -> None:
    work = {"id": "work", "type": "code", "params": {"code": "result = anything", "inputs": "${all}"}}
    assert codes_of({"inputs": {"all": {"type": "object"}}, "nodes": [work]}) == []


def test_code_without_a_result_is_warned_of_unless_what_it_prints_is_used() -> None:
    silent = code_node("print(1)")
    assert codes_of({"nodes": [silent]}) == ["code-result"]
    assert codes_of({"nodes": [silent], "outputs": {"text": "${work.stdout}"}}) == []
    both = {"text": "${work.stdout}", "value": "${work.result}"}
    assert codes_of({"nodes": [silent], "outputs": both}) == ["code-result"]


@pytest.mark.parametrize(
    "command",
    [
        "for f in ${list}; do echo $f; done",
        'for f in a "${list}"\ndo echo $f; done',
        "set -- ${list}",
        "x=1; for f in ${list} b; do echo $f; done",
    ],
)
def test_an_array_in_a_list_of_words_is_warned_of(command: str) -> None:
    document = {
        "inputs": {"list": {"type": "array"}},
        "nodes": [{"id": "a", "type": "shell", "params": {"command": command}}],
    }
    with Workspace.open() as workspace:
        checked = workspace.check(document)
    assert checked.ok and [issue.code for issue in checked.warnings] == ["word-list"]
    assert 'batch: {items: "${list}"}' in checked.warnings[0].hint and "jq -r '.[]'" in checked.warnings[0].hint


@pytest.mark.parametrize(
    ("kind", "command"),
    [
        ("string", "for f in ${list}; do echo $f; done"),
        ("any", "for f in ${list}; do echo $f; done"),
        ("array", "echo ${list}"),
        ("array", "for f in a b; do echo $f ${list}; done"),
        ("array", "for f in a b; do echo $f; done; echo ${list} | jq length"),
        ("array", "printf %s ${list} | jq -r '.[]'"),
    ],
)
def test_other_values_and_places_are_not_warned_of(kind: str, command: str) -> None:
    node = {"id": "a", "type": "shell", "params": {"command": command}}
    assert codes_of({"inputs": {"list": {"type": kind}}, "nodes": [node]}) == []


def branching(**outputs: str) -> dict[str, Any]:
    return {
        "nodes": [
            {"id": "try", "type": "shell", "params": {"command": "test -e /no-such-file"}},
            {"id": "good", "type": "echo", "params": {"x": 1}},
            {"id": "bad", "type": "echo", "params": {"x": 2}},
            {"id": "last", "type": "echo", "params": {"x": 3}},
        ],
        "edges": [
            {"from": "try", "to": "good"},
            {"from": "try", "to": "bad", "action": "error"},
            {"from": "good", "to": "last"},
            {"from": "bad", "to": "last"},
        ],
        "outputs": outputs,
    }


def test_an_output_of_a_branch_that_did_not_run_is_null_and_the_run_completes() -> None:
    document = branching(good="${good.x}", text="it is ${good.x}", bad="${bad.x}", last="${last.x}")
    source = {"text": "it is ${good.x}", "list": ["${good.x}", "${bad.x}", "so ${good.x}"]}
    document["outputs"]["whole"] = {"source": source}
    with Workspace.open() as workspace:
        outcome = workspace.run(document)
    assert outcome.status == "completed"
    whole = {"text": None, "list": [None, 2, None]}
    assert outcome.outputs == {"good": None, "text": None, "bad": 2, "last": 3, "whole": whole}


def test_checking_says_which_outputs_may_be_null_without_a_warning() -> None:
    outputs = {
        "good": "${good.x}",
        "code": "${try.exit_code}",
        "error": "${try.error.message}",
        "last": "${last.x}",
        "covered": "${bad.x:-none}",
    }
    with Workspace.open() as workspace:
        checked = workspace.check(branching(**outputs))
    assert checked.ok and not checked.warnings
    assert [issue.path for issue in checked.notices] == ["outputs.good", "outputs.code", "outputs.error"]
    assert "in a run in which `good` does not run" in checked.notices[0].message


def test_a_loop_that_leads_back_is_not_a_way_around_an_output() -> None:
    document = branching(x="${good.x}")
    document["edges"] = [
        {"from": "try", "to": "good"},
        {"from": "try", "to": "bad", "action": "error"},
        {"from": "bad", "to": "try"},
        {"from": "good", "to": "last"},
    ]
    with Workspace.open() as workspace:
        assert workspace.check(document).notices == ()


def test_only_validate_says_notices(pflow: Pflow, write: Callable[..., str]) -> None:
    document = branching(good="${good.x}")
    nodes, rest = document.pop("nodes"), document
    path = write("a.json", *nodes, **rest)
    said = pflow("validate", path)
    assert said.code == 0 and "notice: output `good` is null in a run in which `good` does not run" in said.err
    assert [each["path"] for each in pflow("validate", path, "--json").json["data"]["notices"]] == ["outputs.good"]
    assert "notice" not in pflow("run", path).err


def test_a_recorded_run_goes_on_with_what_newer_checks_refuse() -> None:
    from pflow.core.document.issue import Issue

    assert Issue(code="code-name", message="", newer=True).for_recorded().severity == "warning"
    assert Issue(code="maybe-null", message="", severity="notice", newer=True).for_recorded().severity == "notice"
