"""A check gives a plan and warnings: what is probably a mistake is said and keeps nothing from running."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from pflow.workspace import Workspace
from tests.cli.conftest import Pflow, pflow, registry_file, write

__all__ = ["pflow", "registry_file", "write"]

MUSTACHE: dict[str, Any] = {
    "inputs": {"name": {"type": "string", "default": "Ada"}},
    "nodes": [
        {"id": "greet", "type": "echo", "params": {"text": "Hello {{ name }} and {{greet.text}} and {{nobody}}"}},
    ],
}
WARNING = "`{{ name }}` is not a template, and stays as it is"


def nodes_of(document: dict[str, Any]) -> list[dict[str, Any]]:
    return list(document["nodes"])


def test_a_warning_comes_with_a_plan() -> None:
    with Workspace.open() as workspace:
        checked = workspace.check(MUSTACHE)
        assert checked.ok and not checked.errors
        assert [(issue.code, issue.hint) for issue in checked.warnings] == [
            ("foreign-template", "write `${name}` for the value"),
            ("foreign-template", "write `${greet.text}` for the value"),
        ]
        assert workspace.run(MUSTACHE).outputs["text"] == "Hello {{ name }} and {{greet.text}} and {{nobody}}"


def test_code_and_unknown_names_are_left_alone() -> None:
    code = {"id": "make", "type": "code", "params": {"code": "result = f'{{name}}'"}}
    with Workspace.open() as workspace:
        assert workspace.check({**MUSTACHE, "nodes": [code]}).warnings == ()


def test_errors_come_before_warnings_and_are_listed_apart() -> None:
    broken = {**MUSTACHE, "nodes": [*nodes_of(MUSTACHE), {"id": "b", "type": "no-such"}]}
    with Workspace.open() as workspace:
        checked = workspace.check(broken)
    assert not checked.ok
    assert [issue.severity for issue in checked.issues] == ["error", "warning", "warning"]


def test_a_sub_workflow_keeps_its_severity() -> None:
    child = {"id": "child", "type": "workflow", "params": {"workflow": MUSTACHE}}
    with Workspace.open() as workspace:
        checked = workspace.check({"nodes": [child]})
    assert checked.ok and len(checked.warnings) == 2


@pytest.mark.parametrize("command", ["run", "validate"])
def test_the_command_line_says_warnings_on_stderr(pflow: Pflow, write: Callable[..., str], command: str) -> None:
    said = pflow(command, write("a.json", *nodes_of(MUSTACHE), inputs=MUSTACHE["inputs"]))
    assert said.code == 0
    assert f"warning: {WARNING}" in said.err and "hint: write `${name}` for the value" in said.err


def test_programs_get_warnings_beside_errors(pflow: Pflow, write: Callable[..., str]) -> None:
    said = pflow("validate", write("a.json", *nodes_of(MUSTACHE), inputs=MUSTACHE["inputs"]), "--json")
    assert [issue["message"] for issue in said.json["data"]["warnings"]][0] == WARNING
    bad = write("b.json", *nodes_of(MUSTACHE), {"id": "b", "type": "no-such"}, inputs=MUSTACHE["inputs"])
    details = pflow("validate", bad, "--json").json["error"]["details"]
    assert [issue["code"] for issue in details["issues"]] == ["unknown-type"]
    assert [issue["code"] for issue in details["warnings"]] == ["foreign-template"] * 2
