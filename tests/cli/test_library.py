"""`pflow workflow …`, `pflow describe` and the pictures they draw."""

from __future__ import annotations

import os
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import Pflow

NODE = {"id": "greet", "type": "echo", "params": {"text": "Hello, ${name}!"}}
MORE = {
    "name": "hello",
    "description": "Greet someone",
    "inputs": {"name": {"type": "string", "description": "Who"}},
    "outputs": {"text": {"type": "string", "source": "${greet.text}"}},
}


@pytest.fixture
def saved(pflow: Pflow, write: Callable[..., str]) -> None:
    assert pflow("workflow", "save", write("a.json", NODE, **MORE)).code == 0


def test_a_saved_workflow_runs_by_its_name(pflow: Pflow, saved: None) -> None:
    assert pflow("hello", "name=Ada").out == "Hello, Ada!\n"
    assert pflow("run", "hello", "name=Ada").out == "Hello, Ada!\n"


def test_saving_tells_the_command_that_runs_it(pflow: Pflow, write: Callable[..., str]) -> None:
    said = pflow("workflow", "save", write("a.json", NODE, **MORE), "other")
    assert (said.code, said.out) == (0, "saved workflow `other`; run it with: pflow other\n")
    assert pflow("workflow", "save", "a.json", "--name", "third", "--json").json["data"]["name"] == "third"


def test_a_workflow_named_like_a_command_is_run_in_full(pflow: Pflow, write: Callable[..., str]) -> None:
    for name in ("runs", "echo"):
        said = pflow("workflow", "save", write("a.json", NODE, **MORE), name)
        assert said.out == f"saved workflow `{name}`; run it with: pflow run {name}\n"
        assert pflow("run", name, "name=Ada").out == "Hello, Ada!\n"


def test_a_taken_name_is_not_overwritten_unasked(pflow: Pflow, saved: None, write: Callable[..., str]) -> None:
    said = pflow("workflow", "save", "a.json")
    assert said.code == 2
    assert said.err == (
        "error: there is already a workflow `hello`\n\nhint: choose another name, or replace it with `--overwrite`\n"
    )
    assert pflow("workflow", "save", "a.json", "--overwrite").code == 0


def test_two_names_are_refused(pflow: Pflow, write: Callable[..., str]) -> None:
    assert pflow("workflow", "save", write("a.json", NODE, **MORE), "a", "--name", "b").code == 2


def test_an_invalid_document_is_not_saved(pflow: Pflow, write: Callable[..., str]) -> None:
    said = pflow("workflow", "save", write("a.json", {"id": "a", "type": "ech"}), "x")
    assert said.code == 2
    assert "a.json:1:" in said.err
    assert pflow("workflow", "list").out == ""


def test_the_list_shows_runs_and_descriptions(pflow: Pflow, saved: None) -> None:
    assert pflow("workflow", "list").out == "hello  library  never run  Greet someone\n"
    pflow("hello", "name=Ada")
    assert pflow("workflow", "list").out.startswith("hello  library  1 run, last 20")
    assert pflow("workflow", "list", "greet").out.startswith("hello")
    assert pflow("workflow", "list", "none").err == "no saved workflow matches `none`\n"
    [entry] = pflow("workflow", "list", "--json").json["data"]["workflows"]
    assert (entry["name"], entry["execution_count"]) == ("hello", 1)


def test_an_empty_library_says_how_to_begin(pflow: Pflow) -> None:
    said = pflow("workflow", "list")
    assert (said.code, said.out) == (0, "")
    assert said.err == "no workflow is saved yet\n\nhint: pflow workflow save FILE NAME\n"


def test_a_deleted_workflow_is_gone(pflow: Pflow, saved: None) -> None:
    assert pflow("workflow", "delete", "hello").out == "deleted `hello`\n"
    assert pflow("workflow", "delete", "hello").code == 2
    assert pflow("hello", "name=Ada").code == 2


@pytest.mark.requirement("paths:q2-2")
def test_drafts_are_listed_apart_and_cleaned_by_age(pflow: Pflow, write: Callable[..., str], home: Path) -> None:
    pflow("workflow", "save", write("a.json", NODE, **MORE), "old", "--draft")
    pflow("workflow", "save", "a.json", "new", "--draft")
    [path] = (home / "temp-workflows").glob("old*.json")
    os.utime(path, (0, 0))
    assert pflow("workflow", "list").out == ""
    assert [line.split()[0] for line in pflow("workflow", "list", "--drafts").out.splitlines()] == ["new", "old"]
    assert pflow("workflow", "clean-temp", "--older-than", "7d").out == "deleted 1 draft: old\n"
    assert pflow("workflow", "clean-temp", "--json").json["data"] == {"deleted": []}
    assert pflow("workflow", "clean-temp", "--older-than", "soon").err == (
        "error: `soon` is not an age\n\nhint: write a number and a unit: 30m, 12h, 7d or 2w\n"
    )


def test_describe_shows_inputs_graph_and_outputs(pflow: Pflow, saved: None) -> None:
    text = (
        "hello: Greet someone\n"
        "\n"
        "inputs\n"
        "  name  string, required  Who\n"
        "\n"
        "●   greet  echo\n"
        "\n"
        "outputs\n"
        "  text  string  ${greet.text}\n"
    )
    assert pflow("describe", "a.json").out == text
    assert pflow("workflow", "describe", "hello").out == "Greet someone\nnever run\n\n" + text
    data = pflow("describe", "hello", "--json").json["data"]
    assert data["inputs"] == {"name": {"type": "string", "required": True, "description": "Who"}}


def test_describe_draws_mermaid_and_svg(pflow: Pflow, saved: None, tmp_path: Path) -> None:
    assert pflow("describe", "hello", "--mermaid").out.startswith("flowchart TD\n")
    said = pflow("describe", "hello", "--svg", "hello.svg")
    assert (said.code, said.out, said.err) == (0, "", "drawn to hello.svg\n")
    assert ElementTree.parse(tmp_path / "hello.svg").getroot().tag.endswith("svg")
    assert pflow("run", "hello", "--svg", "-").out == (tmp_path / "hello.svg").read_text()
    said = pflow("describe", "hello", "--svg", "none/hello.svg")
    assert said.code == 1
    assert said.err.startswith("error: the picture was not written to `none/hello.svg`: No such file or directory\n")
