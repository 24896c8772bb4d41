"""`pflow fmt` writes documents in canonical form, or says why it does not."""

from __future__ import annotations

from pathlib import Path

import pytest

from pflow.workspace import Workspace
from tests.cli.conftest import Pflow, pflow

__all__ = ["pflow"]

MESSY = "nodes:\n- type: echo\n  # why\n  params: {x: 1}\n  id: a\n"
TIDY = "nodes:\n  - id: a\n    type: echo\n    # why\n    params: {x: 1}\n"


@pytest.fixture
def messy(pflow: Pflow) -> Path:
    path = Path("messy.yaml")
    path.write_text(MESSY)
    return path


def test_a_file_is_written_once_with_the_permissions_that_it_had(pflow: Pflow, messy: Path) -> None:
    messy.chmod(0o640)
    said = pflow("fmt", "messy.yaml")
    assert (said.code, said.out, said.err) == (0, "", "formatted messy.yaml\n")
    assert messy.read_text() == TIDY and messy.stat().st_mode & 0o777 == 0o640
    again = pflow("fmt", "messy.yaml")
    assert (again.code, again.err) == (0, "")
    assert [path.name for path in Path().glob("*messy*")] + [path.name for path in Path().glob(".*messy*")] == [
        "messy.yaml"
    ]


def test_a_link_stays_a_link(pflow: Pflow, messy: Path) -> None:
    Path("link.yaml").symlink_to(messy.absolute())
    assert pflow("fmt", "link.yaml").code == 0
    assert Path("link.yaml").is_symlink() and messy.read_text() == TIDY


def test_check_and_diff_write_nothing(pflow: Pflow, messy: Path) -> None:
    checked = pflow("fmt", "--check", "messy.yaml")
    assert (checked.code, checked.err) == (1, "not in canonical form: messy.yaml\n")
    shown = pflow("fmt", "--diff", "messy.yaml")
    assert shown.code == 0 and "+  - id: a" in shown.out
    assert messy.read_text() == MESSY
    messy.write_text(TIDY)
    assert pflow("fmt", "--check", "messy.yaml").code == 0


def test_stdin_is_printed(pflow: Pflow) -> None:
    assert pflow("fmt", "-", stdin=MESSY).out == TIDY
    assert pflow("fmt", "--check", "-", stdin=MESSY).code == 1


def test_a_saved_workflow_gets_a_new_version(pflow: Pflow, messy: Path) -> None:
    pflow("workflow", "save", "messy.yaml", "tidy-me")
    assert pflow("fmt", "tidy-me").err == "formatted tidy-me, version 2\n"
    assert pflow("workflow", "show", "tidy-me").out == TIDY
    assert pflow("workflow", "show", "tidy-me", "--version", "1").out == MESSY
    assert pflow("fmt", "tidy-me").err == ""


def test_an_invalid_document_is_left_alone_and_the_others_are_formed(pflow: Pflow, messy: Path) -> None:
    bad = Path("bad.yaml")
    bad.write_text("nodes: [")
    assert pflow("fmt", "bad.yaml").code == 2
    said = pflow("fmt", "bad.yaml", "messy.yaml")
    assert said.code == 2 and "error: `bad.yaml`" in said.err
    assert bad.read_text() == "nodes: [" and messy.read_text() == TIDY


def test_programs_learn_what_changed(pflow: Pflow, messy: Path) -> None:
    assert pflow("fmt", "--check", "--json", "messy.yaml").json["data"] == {
        "workflows": [{"workflow": "messy.yaml", "changed": True}]
    }


def test_a_run_goes_on_with_the_formatted_document_without_running_a_step_again(messy: Path) -> None:
    with Workspace.open() as workspace:
        first = workspace.run("messy.yaml")
        assert workspace.format("messy.yaml", write=True).changed
        resumed = workspace.resume(first.run_id, edited="messy.yaml")
    assert resumed.steps == 0 and resumed.reused == ("a",)


@pytest.mark.parametrize(
    "example", sorted((Path(__file__).parents[2] / "examples").glob("*.[jy]*")), ids=lambda path: path.name
)
def test_the_examples_are_in_canonical_form(example: Path) -> None:
    with Workspace.open() as workspace:
        assert workspace.format(str(example)).difference() == []
