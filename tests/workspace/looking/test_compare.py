"""Two runs beside each other."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pflow.core.errors import NotFoundError
from pflow.core.file.home import Home
from pflow.execution.compare.difference import compare_values
from pflow.workspace import Workspace

DOCUMENT = """
name: letters
inputs:
  word: {type: string, default: dear}
  names: {type: array, default: [ada, bob]}
nodes:
  - {id: greet, type: echo, batch: {items: "${names}"}, params: {text: "${word} ${item}"}}
  - {id: same, type: echo, params: {text: always}}
  - {id: extra, type: echo, when: "word == 'hello'", params: {text: "${word}"}}
  - {id: big, type: echo, params: {text: "${word}", rows: "${names}"}}
outputs: {all: "${greet.results}"}
"""


@pytest.fixture
def workspace(home: Path) -> Iterator[Workspace]:
    with Workspace(Home(home)) as opened:
        yield opened


def classes(compared: Any) -> dict[str, str]:
    return {step.step: step.outcome for step in compared.steps}


def test_a_run_equals_itself_and_one_that_went_the_same_way(workspace: Workspace) -> None:
    first, second = (workspace.run(DOCUMENT).run_id for _ in range(2))
    assert workspace.compare(first, first).equal
    compared = workspace.compare(first, second)
    assert compared.equal, "times make no difference"
    assert set(classes(compared).values()) == {"same"}
    assert compared.delta_ms is not None


def test_runs_with_other_inputs_differ_where_the_inputs_lead(workspace: Workspace) -> None:
    first, second = workspace.run(DOCUMENT), workspace.run(DOCUMENT, {"word": "hello"})
    compared = workspace.compare(first.run_id, second.run_id)
    assert not compared.equal
    assert classes(compared) == {
        "greet": "output differs",
        "same": "same",
        "extra": "output differs",
        "big": "output differs",
    }
    told: Any = compared.to_json()
    assert told["inputs"] == [{"change": "changed", "path": "inputs.word", "before": "dear", "after": "hello"}]
    assert told["outputs"][0]["path"] == "outputs.all[0].text"
    greet = told["steps"][0]
    assert [change["path"] for change in greet["changes"]] == ["outputs.results[0].text", "outputs.results[1].text"]
    assert (greet["changes"][1]["before"], greet["changes"][1]["after"]) == ("dear bob", "hello bob")


def test_an_edited_document_is_told_beside_what_it_changed(workspace: Workspace) -> None:
    first = workspace.run(DOCUMENT).run_id
    edited = DOCUMENT.replace("{id: same, type: echo, params: {text: always}}", "{id: other, type: echo}")
    second = workspace.run(edited).run_id
    compared = workspace.compare(first, second)
    assert {name: found for name, found in classes(compared).items() if found != "same"} == {
        "same": "only in A",
        "other": "only in B",
    }
    assert [step.step for step in compared.steps] == ["greet", "other", "same", "extra", "big"]
    told: Any = compared.to_json()
    assert {change["path"] for change in told["document"]} >= {"nodes.same", "nodes.other"}


def test_what_a_fork_keeps_is_reused(workspace: Workspace) -> None:
    first = workspace.run(DOCUMENT).run_id
    second = workspace.again.fork(first, "big").run_id
    compared = workspace.compare(first, second)
    assert classes(compared)["greet"] == "reused"
    assert compared.equal


def test_a_failure_differs_in_status_and_error(workspace: Workspace) -> None:
    document = "nodes: [{id: stop, type: fail, when: bad, params: {message: it broke}}]\n"
    document += "inputs: {bad: {type: boolean, default: false}}\n"
    compared = workspace.compare(workspace.run(document).run_id, workspace.run(document, {"bad": True}).run_id)
    told: Any = compared.to_json()
    assert (told["a"]["status"], told["b"]["status"], told["equal"]) == ("completed", "failed", False)
    assert told["error"][0]["path"] == "error"
    assert "status" in [change["path"] for change in told["steps"][0]["changes"]]


def test_large_values_are_opened_and_their_differences_counted(workspace: Workspace) -> None:
    document = "inputs: {n: {type: integer}}\nnodes:\n  - {id: make, type: code, params: {inputs: {n: '${n}'}, code: "
    document += '\'result = [{"row": i, "value": i * n} for i in range(5000)]\'}}\n'
    first, second = (workspace.run(document, {"n": n}).run_id for n in (1, 2))
    (step,) = workspace.compare(first, second).steps
    assert (len(step.differences.changes), step.differences.more) == (200, 4999 - 200)
    assert step.to_json()["changes"][0] == {  # type: ignore[index]
        "change": "changed",
        "path": "outputs.result[1].value",
        "before": 1,
        "after": 2,
    }


def test_a_run_that_is_not_there_is_said(workspace: Workspace) -> None:
    workspace.run(DOCUMENT)
    with pytest.raises(NotFoundError):
        workspace.compare("latest", "nothing")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@given(JSON)
def test_a_value_does_not_differ_from_itself(value: object) -> None:
    assert list(compare_values((), value, value)) == []


@given(JSON, JSON)
def test_differences_are_symmetric_and_each_path_is_told_once(one: object, other: object) -> None:
    forth, back = list(compare_values((), one, other)), list(compare_values((), other, one))
    assert {change.path for change in forth} == {change.path for change in back}
    assert len({change.path for change in forth}) == len(forth)
    turned = {"added": "removed", "removed": "added", "changed": "changed"}
    assert {change.path: change.kind for change in back} == {change.path: turned[change.kind] for change in forth}
