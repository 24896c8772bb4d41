"""`pflow registry discover` and `pflow workflow discover` at the command line."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import Pflow

ECHO = {"id": "echo", "params": {"text": "hi"}}


def test_node_types_are_found_with_why_and_what_they_take(pflow: Pflow) -> None:
    said = pflow("registry", "discover", "copy", "a", "file", "--limit", "1")
    assert said.code == 0
    assert said.out == (
        "copy-file  100%  Copy a file. What was at the new place is replaced as a whole.\n"
        "  found  name: copy-file\n"
        "  takes  from, to\n"
        "  gives  path\n"
    )
    assert said.err == "\nranked by words (FTS5)\n"


def test_a_task_in_one_word_or_in_many_is_the_same(pflow: Pflow) -> None:
    assert pflow("registry", "discover", "git commit").out == pflow("registry", "discover", "git", "commit").out != ""


def test_workflows_are_found(pflow: Pflow, write: Callable[..., str]) -> None:
    inputs = {"place": {"type": "string"}, "unit": {"default": "C"}}
    outputs = {"degrees": {"source": "${echo.text}"}}
    file = write("w.json", ECHO, description="How warm it is", inputs=inputs, outputs=outputs)
    assert pflow("workflow", "save", file, "weather").code == 0
    said = pflow("workflow", "discover", "warm", "place", "tomorrow")
    title, *about = said.out.splitlines()
    assert title.startswith("weather  ") and title.endswith("%  How warm it is")
    assert about == ["  found  description: warm; parameters: place", "  takes  place, [unit]", "  gives  degrees"]
    assert said.err == "\nranked by words (FTS5); nothing has `tomorrow`\n"


def test_drafts_are_marked(pflow: Pflow, write: Callable[..., str]) -> None:
    assert pflow("workflow", "save", write("w.json", ECHO, description="How warm it is"), "heat", "--draft").code == 0
    assert pflow("workflow", "discover", "warm").out == ""
    assert "draft  still being worked on" in pflow("workflow", "discover", "warm", "--drafts").out


def test_nothing_found_is_no_failure_and_says_what_to_try(pflow: Pflow) -> None:
    said = pflow("workflow", "discover", "xyzzy")
    assert (said.code, said.out) == (0, "")
    assert said.err == (
        "nothing matches `xyzzy`\n\n"
        "hint: no workflow is saved yet; `pflow registry discover` finds what to build one from\n"
    )


def test_programs_get_one_object(pflow: Pflow) -> None:
    said = pflow("registry", "discover", "read file", "--limit", "2", "--json")
    assert said.err == ""
    assert said.json["success"] is True
    assert said.json["data"]["ranking"] == "words (FTS5)"
    first, *others = said.json["data"]["matches"]
    assert (first["name"], first["kind"], first["score"]) == ("read-file", "node type", 1.0)
    assert first["takes"] == "path: string, encoding?: string, max_size?: integer"
    assert len(others) < 2
    assert all(0 < other["score"] < 1 for other in others)


@pytest.mark.parametrize("query", ["\x1b[31mred", '"', "OR AND", "a" * 100_000, "\udcff"])
def test_hostile_words_are_shown_escaped_and_short(pflow: Pflow, query: str) -> None:
    said = pflow("registry", "discover", query)
    assert said.code == 0
    assert "\x1b" not in said.out + said.err
    assert len(said.err) < 1_000


def test_hostile_descriptions_are_shown_escaped_and_short(pflow: Pflow, home: Path) -> None:
    (home / "nodes").mkdir()
    (home / "nodes" / "big.py").write_text(
        'from pocketflow import Node\nclass PenguinNode(Node):\n    """Red \\x1b[31m' + "red " * 100_000 + '"""\n'
    )
    said = pflow("registry", "discover", "penguins")
    assert "Red \\x1b[31mred" in said.out
    assert len(said.out) < 1_000


def test_a_limit_is_a_number_that_makes_sense(pflow: Pflow) -> None:
    assert pflow("registry", "discover", "file", "--limit", "0").code == 2
