"""A saved workflow runs from anywhere: what it includes by a relative path is refused, or saved along."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pflow.core.errors import DocumentError, ExistsError
from pflow.workspace import Workspace
from tests.cli.conftest import Pflow, pflow, registry_file

__all__ = ["pflow", "registry_file"]

SLUG = """\
name: slugger
inputs: {t: {type: string}}
nodes:
  - {id: s, type: echo, params: {slug: "${t}"}}
  - id: inner
    type: workflow
    params: {workflow: sub/inner.yaml}   # the inner one
outputs: {slug: "${s.slug}"}
"""
PARENT = """\
nodes:
  - id: a
    type: workflow
    batch: {items: ["x"]}
    params:
      workflow: slug.yaml   # by its path
      inputs: {t: "${item}"}
  - id: b
    type: workflow
    params: {workflow: './slug.yaml', inputs: {t: hi}}
  - id: c
    type: workflow
    params:
      workflow:
        nodes: [{id: d, type: workflow, params: {workflow: "sub/inner.yaml"}}]
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    place = tmp_path / "project"
    (place / "sub").mkdir(parents=True)
    (place / "sub" / "inner.yaml").write_text("nodes:\n  - {id: x, type: echo, params: {y: 1}}\n")
    (place / "slug.yaml").write_text(SLUG)
    (place / "parent.yaml").write_text(PARENT)
    monkeypatch.chdir(place)
    return place


def in_place(path: str) -> dict[str, Any]:
    inner = {"nodes": [{"id": "d", "type": "workflow", "params": {"workflow": path}}]}
    return {"nodes": [{"id": "c", "type": "workflow", "params": {"workflow": inner}}]}


def test_a_relative_path_is_refused_with_what_to_do(folder: Path) -> None:
    with Workspace.open() as workspace:
        with pytest.raises(DocumentError, match=r"`slug\.yaml`, which is found only from here") as refused:
            workspace.save("parent.yaml", "top")
        assert "saves it along" in refused.value.suggestions[1]
        with pytest.raises(DocumentError, match="found only from here"):
            workspace.save(in_place("sub/inner.yaml"), "top")
        assert workspace.workflows() == []


def test_a_draft_may_still_have_one_and_cannot_be_promoted(folder: Path) -> None:
    with Workspace.open() as workspace:
        workspace.drafts.save("parent.yaml", "top")
        with pytest.raises(DocumentError, match="found only from here"):
            workspace.drafts.promote("top", "top", "")
        with pytest.raises(DocumentError, match="found only from here"):
            workspace.save("top", "top")


def test_included_workflows_are_saved_along_and_named(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Workspace.open() as workspace:
        workspace.save("parent.yaml", "top", with_included=True)
        monkeypatch.chdir(tmp_path)
        assert workspace.run("top").success
        assert [saved.name for saved in workspace.workflows()] == ["inner", "slugger", "top"]
        top, slugger = (workspace.library.read(name).text.data.decode() for name in ("top", "slugger"))
    named = PARENT.replace("workflow: slug.yaml", "workflow: slugger").replace("'./slug.yaml'", "'slugger'")
    assert top == named.replace('"sub/inner.yaml"', '"inner"')
    assert slugger == SLUG.replace("sub/inner.yaml", "inner")


def test_a_name_that_something_else_has_is_refused_before_anything_is_saved(folder: Path) -> None:
    with Workspace.open() as workspace:
        workspace.save({"nodes": [{"id": "x", "type": "echo"}]}, "inner")
        with pytest.raises(ExistsError, match="something else is saved as `inner`"):
            workspace.save("parent.yaml", "top", with_included=True)
        assert [saved.name for saved in workspace.workflows()] == ["inner"]
        with pytest.raises(ExistsError, match="two of the documents are called `slugger`"):
            workspace.save("parent.yaml", "slugger", with_included=True)


def test_an_included_workflow_that_is_saved_already_is_used(folder: Path) -> None:
    with Workspace.open() as workspace:
        workspace.save("parent.yaml", "top", with_included=True)
        workspace.save("parent.yaml", "again", with_included=True)
        assert len(workspace.library.versions("inner")) == 1


def test_a_document_in_python_is_rewritten_as_well(folder: Path) -> None:
    with Workspace.open() as workspace:
        workspace.save(in_place("sub/inner.yaml"), "top", with_included=True)
        assert workspace.document("top") == in_place("inner")


def test_an_absolute_path_is_kept_with_a_notice(folder: Path) -> None:
    with Workspace.open() as workspace:
        workspace.save(in_place(str(folder / "sub" / "inner.yaml")), "top")
        assert workspace.run("top").success
        assert any("runs only where that file is" in notice for notice in workspace.notices)


def test_the_command_line_offers_to_save_them_along(folder: Path, pflow: Pflow) -> None:
    refused = pflow("workflow", "save", str(folder / "parent.yaml"), "top")
    assert refused.code == 2
    assert "hint: `pflow workflow save WORKFLOW --with-included` saves it along, and writes its name" in refused.err
    assert pflow("workflow", "save", str(folder / "parent.yaml"), "top", "--with-included").code == 0
    assert pflow("run", "top").code == 0
