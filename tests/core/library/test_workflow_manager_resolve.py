"""What a reference to a workflow means."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from pflow.core.errors import NotFoundError, PflowError, SecurityError, StorageError
from pflow.core.file.home import Home
from pflow.core.library.reference import Resolved, resolve
from pflow.core.library.workflow_manager import WorkflowManager

DOCUMENT = {"nodes": [{"id": "a"}]}


@pytest.fixture
def place(home: Path) -> Home:
    return Home(home)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def library(place: Home) -> WorkflowManager:
    return WorkflowManager(place)


@pytest.fixture
def drafts(place: Home) -> WorkflowManager:
    return WorkflowManager.for_drafts(place)


def test_a_name_is_looked_for_in_the_library_first_and_then_among_the_drafts(
    place: Home, library: WorkflowManager, drafts: WorkflowManager, folder: Path
) -> None:
    drafts.save("greet", DOCUMENT)
    assert resolve("greet", place) == Resolved(kind="draft", name="greet", path=place.drafts / "greet.json")
    library.save("greet", DOCUMENT)
    assert resolve("greet", place) == Resolved(kind="library", name="greet", path=place.workflows / "greet.json")


def test_the_home_is_found_by_itself(library: WorkflowManager) -> None:
    library.save("greet", DOCUMENT)
    assert resolve("greet").kind == "library"


def test_a_bare_name_never_reads_the_current_folder(place: Home, folder: Path) -> None:
    for name in ("greet", "greet.json"):
        (folder / name).write_text("{}")
    with pytest.raises(NotFoundError):
        resolve("greet", place)


@pytest.mark.requirement("paths:format-2", "paths:format-5", "paths:path-1", "paths:path-2", "paths:path-3")
@pytest.mark.requirement("paths:scenario-a", "paths:scenario-b")
def test_a_separator_a_tilde_or_a_suffix_makes_a_path(place: Home, folder: Path, tmp_path: Path) -> None:
    for name in ("w.json", "w.yaml", "w.yml", "w.pflow.md", "plain"):
        (folder / name).write_text("{}")
    (tmp_path / "mine.json").write_text("{}")
    for reference, name in [
        ("w.json", "w"),
        ("w.yaml", "w"),
        ("w.yml", "w"),
        ("w.pflow.md", "w"),
        ("./w.json", "w"),
        ("./plain", "plain"),
        (f"{folder}/plain", "plain"),
        ("../project/w.json", "w"),
    ]:
        found = resolve(reference, place)
        assert (found.kind, found.name) == ("path", name)
        assert found.path.is_absolute() and found.path.parent == folder
    assert resolve("~/mine.json", place).path == tmp_path / "mine.json"


def test_a_name_with_json_is_the_draft_before_the_file_and_a_path_never_is(
    place: Home, drafts: WorkflowManager, folder: Path
) -> None:
    (folder / "try.json").write_text("{}")
    assert resolve("try.json", place).kind == "path"
    drafts.save("try", DOCUMENT)
    assert resolve("try.json", place) == Resolved(kind="draft", name="try", path=place.drafts / "try.json")
    assert resolve("./try.json", place).kind == "path"


def test_a_library_name_with_json_is_no_reference_to_it(place: Home, library: WorkflowManager, folder: Path) -> None:
    library.save("greet", DOCUMENT)
    with pytest.raises(NotFoundError):
        resolve("greet.json", place)


@pytest.mark.requirement("paths:format-4")
def test_nothing_found_lists_near_names_of_library_and_drafts(
    place: Home, library: WorkflowManager, drafts: WorkflowManager
) -> None:
    library.save("pr-analyzer", DOCUMENT)
    drafts.save("pr-analyser2", DOCUMENT)
    with pytest.raises(NotFoundError) as caught:
        resolve("pr-analyzr", place)
    assert caught.value.message == "there is no workflow `pr-analyzr`"
    assert caught.value.suggestions[0].startswith("did you mean `pr-analyzer`")
    assert caught.value.details == {"available": ["pr-analyzer", "pr-analyser2"]}


def test_a_missing_file_is_not_found(place: Home, folder: Path) -> None:
    with pytest.raises(NotFoundError, match=r"no file `\./x\.json`"):
        resolve("./x.json", place)
    with pytest.raises(NotFoundError, match="not a file"):
        resolve(f"{folder}/", place)


@pytest.mark.requirement("paths:security-2")
@pytest.mark.parametrize("reference", ["", "a\0", "..", "-x", "a b", "é", "a\\b", "CON", "x" * 65, "a\nb"])
def test_a_hostile_name_is_refused(place: Home, reference: str) -> None:
    with pytest.raises(SecurityError):
        resolve(reference, place)
    assert not place.root.exists()


@pytest.mark.parametrize(
    "reference", ["/a\0b", "./\0.json", "~nobody-there/x", "/" + "x" * 5000, "/\n\x1b[31m.json", "/dev/zero", "~"]
)
def test_a_hostile_path_is_a_clear_error_in_one_line(place: Home, reference: str) -> None:
    with pytest.raises(PflowError) as caught:
        resolve(reference, place)
    assert caught.value.message.isprintable()


def test_a_path_in_a_deleted_folder_is_a_clear_error(place: Home, folder: Path, tmp_path: Path) -> None:
    folder.rmdir()
    try:
        with pytest.raises(StorageError):
            resolve("x.json", place)
    finally:
        os.chdir(tmp_path)


def test_a_loop_of_links_is_a_clear_error(place: Home, folder: Path) -> None:
    (folder / "loop.json").symlink_to("loop.json")
    with pytest.raises(StorageError):
        resolve("./loop.json", place)
