"""A workflow is a command: its inputs are flags, and `--help` shows them, also of one that is broken."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.cli.conftest import Pflow

INPUTS: dict[str, Any] = {
    "names": {"type": "array", "description": "Whom to greet."},
    "max_results": {"type": "integer", "default": 3},
    "loud": {"type": "boolean", "default": False},
    "style": {"type": "object", "default": {}},
    "json": {"type": "string", "default": "none"},
    "cache": {"type": "boolean", "default": True},
    "token": {"type": "string", "secret": True, "required": False, "description": "The key"},
}
GIVEN = {name: f"${{{name}}}" for name in INPUTS if name != "token"}
ALL = {"id": "all", "type": "echo", "params": GIVEN}


@pytest.fixture
def document(write: Callable[..., str]) -> str:
    return write(
        "many.json",
        ALL,
        name="many",
        description="Everything at once",
        inputs=INPUTS,
        outputs={"given": {"source": "${all}", "type": "object", "description": "What came"}},
    )


@pytest.mark.parametrize(
    ("words", "given"),
    [
        (["--names", "a", "--names=b"], {"names": ["a", "b"]}),
        (["--names", "a"], {"names": ["a"]}),
        (["--names", '["a", 1]'], {"names": ["a", 1]}),
        (['names=["a"]', "--loud"], {"names": ["a"], "loud": True}),
        (["--names=a", "--loud", "--max-results", "-5"], {"names": ["a"], "loud": True, "max_results": -5}),
        (["--names=a", "--max_results=7", "--no-loud"], {"names": ["a"], "max_results": 7, "loud": False}),
        (["--names=a", "--loud", "false", "--no-cache"], {"names": ["a"], "loud": False}),
        (["--names=a", "--loud=yes", "--style", '{"b": 1}'], {"names": ["a"], "loud": True, "style": {"b": 1}}),
        (["--names=a", "json=5", "cache=false"], {"names": ["a"], "json": "5", "cache": False}),
        (["--names=a", "--", "--json=5", "--no-cache"], {"names": ["a"], "json": "5", "cache": False}),
        (["--names=a=b", "--names", "c=d"], {"names": ["a=b", "c=d"]}),
        (["--names", "é"], {"names": ["é"]}),
    ],
)
def test_inputs_are_flags_as_well_as_assignments(
    pflow: Pflow, document: str, words: list[str], given: dict[str, object]
) -> None:
    defaults = {name: declared.get("default") for name, declared in INPUTS.items() if name in GIVEN}
    for start in (("run", document), (f"./{document}",)):
        said = pflow(*start, *words)
        assert (said.code, said.err) == (0, "")
        assert said.json == defaults | given


def test_flags_work_beside_pflows_own_options_and_a_file_of_inputs(pflow: Pflow, document: str, tmp_path: Any) -> None:
    (tmp_path / "in.yaml").write_text("names: [a]\nmax_results: 1\n")
    said = pflow(document, "--max-results", "2", "-i", "in.yaml", "--json")
    assert said.json["data"]["outputs"]["given"]["max_results"] == 2
    assert pflow("--dry-run", document, "--names", "a").out.startswith("many: Everything at once")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ["--naems=a"],
            "`many.json` has no input `--naems`, and pflow no such option\n\nhint: did you mean `--names`?",
        ),
        (
            ["--dryrun"],
            "`many.json` has no input `--dryrun`, and pflow no such option\n\nhint: did you mean `--dry-run`?",
        ),
        (
            ["-x"],
            "`many.json` has no input `-x`, and pflow no such option\n\nhint: its inputs are `--names`, ",
        ),
        (["--names"], "`--names` needs a value\n\nhint: write `--names=VALUE`"),
        (["--names", "--loud"], "`--names` needs a value\n\nhint: write `--names=VALUE`"),
        (["--no-loud=3"], "`--no-loud` takes no value\n\nhint: write `--loud=3`"),
        (["--names=a", "names=[]"], "input `names` is given twice"),
        (["--max-results=1", "--max_results=2"], "input `max_results` is given twice"),
        (["--names=a", "--max-results=x"], "input `max_results` must be an integer, not `x`"),
        (["--loud", "maybe"], "`maybe` is not an input"),
        (["--names", "a\udcff"], "input `names` is not UTF-8 text"),
    ],
)
def test_a_wrong_flag_is_explained(pflow: Pflow, document: str, words: list[str], message: str) -> None:
    said = pflow("run", document, *words)
    assert said.code == 2
    assert said.err.startswith(f"error: {message}")


def test_the_help_of_a_workflow_shows_how_it_is_called(pflow: Pflow, document: str) -> None:
    pflow("workflow", "save", document)
    said = pflow("many", "--help")
    assert (said.code, said.err) == (0, "")
    assert said.out.startswith(
        """\
Usage: pflow many [INPUTS] [OPTIONS]

  many: Everything at once

Inputs:
  --names VALUE          array, required. Whom to greet. Give it once per
                         item, or once as JSON
  --max-results INTEGER  integer = 3
  --loud / --no-loud     boolean = false
  --style JSON           object = {}
  json=TEXT              string = "none"
  cache=true|false       boolean = true
  --token TEXT           string, optional, secret. The key. Store it with
                         `pflow settings set TOKEN` rather than typing it here

Outputs:
  given  object. What came

Options:
"""
    )
    assert said.out.endswith("\nExample:\n  pflow many --names VALUE\n")
    assert pflow("run", "many", "-h").out == said.out.replace("pflow many", "pflow run many")


def test_the_help_of_a_workflow_is_data_for_programs(pflow: Pflow, document: str) -> None:
    found = pflow("run", document, "--help", "--json").json["data"]
    assert (found["name"], found["issues"]) == ("many", [])
    assert found["inputs"]["token"] == {
        "type": "string",
        "required": False,
        "description": "The key",
        "secret": True,
        "written": "--token TEXT",
    }
    assert found["outputs"] == {"given": {"type": "object", "description": "What came"}}


def test_the_help_of_a_broken_workflow_shows_its_inputs_and_what_is_wrong(
    pflow: Pflow, write: Callable[..., str]
) -> None:
    said = pflow("run", write("a.json", {"id": "a", "type": "ecko"}, inputs={"since": {"type": "string"}}), "--help")
    assert said.code == 0
    assert "  --since TEXT  string, required\n" in said.out
    assert said.err.startswith("\nit cannot run as it is:\n\nerror: there is no node type `ecko`\n")
    said = pflow("run", write("b.json", inputs={"since": {"type": "string"}, "until": 5}), "--help")
    assert "  --since TEXT   string, required\n  --until VALUE  any, required\n" in said.out
    assert "the document has no nodes" in said.err


def test_the_help_of_what_cannot_be_read_says_so(pflow: Pflow, tmp_path: Any) -> None:
    (tmp_path / "bad.json").write_text("{")
    said = pflow("./bad.json", "--help")
    assert (said.code, said.out.partition("\n")[0]) == (0, "Usage: pflow ./bad.json [OPTIONS]")
    assert "it cannot run as it is" in said.err
    assert pflow("nothing", "--help").err.startswith("error: `nothing` is not a command, a saved workflow or a node")
    assert pflow("run", "nothing", "--help").code == 2


def test_the_text_of_others_does_no_harm_in_help(pflow: Pflow, write: Callable[..., str]) -> None:
    inputs = {"a": {"description": "red \x1b[31m\nnext line"}}
    said = pflow("run", write("a.json", ALL | {"params": {}}, inputs=inputs, description="\x1b]0;title\x07"), "--help")
    assert "\x1b" not in said.out
    assert "any, required. red \\x1b[31m next line" in said.out


def test_the_help_of_a_node_is_its_description(pflow: Pflow) -> None:
    assert pflow("read-file", "--help").out == pflow("registry", "describe", "read-file").out


def test_a_secret_of_a_flag_is_not_repeated(pflow: Pflow, document: str) -> None:
    assert "hunter2" not in pflow("run", "--token=hunter2hunter2", document).err
    assert "hunter2" not in pflow("run", document, "--tokne=hunter2hunter2").err
    said = pflow("run", document, "--token", "hunter2hunter2")
    assert "hunter2" not in said.err
    assert "hint: pflow run many.json token=… names=…\n" in said.err


def test_run_and_validate_show_a_document_that_works(pflow: Pflow, tmp_path: Any) -> None:
    for command in ("run", "validate"):
        lines = pflow(command, "--help").out.split("A small document, hello.yaml:\n")[1].splitlines()
        (tmp_path / "hello.yaml").write_text("\n".join(lines[: lines.index("")]))
        assert pflow("run", "hello.yaml", "--name", "Ada").out == "Hello Ada\n"
        assert "pflow run hello.yaml --name Ada" in "\n".join(lines)


def test_pflow_alone_leads_to_the_guide(pflow: Pflow) -> None:
    assert pflow().out == pflow("--help").out
    assert "`pflow guide` shows how to write a workflow" in pflow().out


def test_the_help_of_a_saved_workflow_has_the_description_that_it_was_saved_with(
    pflow: Pflow, write: Callable[..., str]
) -> None:
    plain = write("plain.json", {"id": "all", "type": "echo", "params": {"x": 1}})
    pflow("workflow", "save", plain, "plain", "--description", "Says one thing")
    assert "Says one thing" in pflow("plain", "--help").out
