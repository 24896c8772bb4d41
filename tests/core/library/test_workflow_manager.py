"""The library and the drafts: saved once, found by name, never lost."""

from __future__ import annotations

import errno
import json
import os
import stat
from pathlib import Path
from typing import Any

import pytest

from pflow.core.errors import (
    DocumentError,
    ExistsError,
    NotFoundError,
    PflowError,
    SecurityError,
    StorageError,
    UsageError,
)
from pflow.core.file.home import Home
from pflow.core.library import workflow_manager
from pflow.core.library.workflow_manager import WorkflowManager
from tests.core.file.faults import Faulty, failing, kill
from tests.core.file.forking import in_child, together
from tests.core.file.test_atomic import plant

DOCUMENT = {"ir_version": "0.1.0", "nodes": [{"id": "a", "type": "echo", "params": {"text": "hi"}}], "edges": []}
OTHER = {"nodes": [{"id": "b", "type": "echo"}]}


@pytest.fixture
def place(home: Path) -> Home:
    return Home(home)


@pytest.fixture
def library(place: Home) -> WorkflowManager:
    return WorkflowManager(place)


@pytest.fixture
def drafts(place: Home) -> WorkflowManager:
    return WorkflowManager.for_drafts(place)


def metadata_of(library: WorkflowManager, name: str) -> Any:
    return library.load(name)["metadata"]


# Saving and loading


@pytest.mark.requirement("server5:require-4", "paths:format-1")
def test_a_saved_workflow_is_found_listed_and_deleted_by_name(library: WorkflowManager, place: Home) -> None:
    path = library.save("greet", DOCUMENT, "Says hello")
    assert path == place.workflows / "greet.json"
    assert library.exists("greet")
    assert library.load_ir("greet") == DOCUMENT
    assert library.load("greet")["workflow"] == DOCUMENT
    assert [entry["name"] for entry in library.list_all()] == ["greet"]
    library.delete("greet")
    assert not library.exists("greet")
    assert library.list_all() == []


def test_the_file_holds_the_document_and_nothing_else(library: WorkflowManager) -> None:
    path = library.save("greet", DOCUMENT, "Says hello")
    assert json.loads(path.read_bytes()) == DOCUMENT
    metadata = metadata_of(library, "greet")
    assert metadata.pop("created_at") == metadata.pop("updated_at")
    assert metadata == {"name": "greet", "description": "Says hello", "version": 1}
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_the_manager_finds_the_home_by_itself(home: Path) -> None:
    WorkflowManager().save("greet", DOCUMENT)
    assert (home / "workflows" / "greet.json").exists()
    WorkflowManager.for_drafts().save("try", DOCUMENT)
    assert (home / "temp-workflows" / "try.json").exists()


def test_without_a_description_the_documents_own_is_used(library: WorkflowManager) -> None:
    library.save("a", {**OTHER, "description": "From the document"})
    library.save("b", {**OTHER, "description": 7})
    assert metadata_of(library, "a")["description"] == "From the document"
    assert metadata_of(library, "b")["description"] == ""


@pytest.mark.requirement("server5:edge-6", "server5:error-6")
def test_a_taken_name_is_refused_unless_it_may_be_overwritten(library: WorkflowManager) -> None:
    library.save("greet", DOCUMENT)
    created = metadata_of(library, "greet")["created_at"]
    with pytest.raises(ExistsError, match="already a workflow `greet`"):
        library.save("greet", OTHER)
    assert library.load_ir("greet") == DOCUMENT
    library.save("greet", OTHER, overwrite=True)
    assert library.load_ir("greet") == OTHER
    assert metadata_of(library, "greet")["version"] == 2
    assert metadata_of(library, "greet")["created_at"] == created


def test_one_of_eight_savers_of_a_new_name_wins(library: WorkflowManager) -> None:
    def work(index: int) -> object:
        library.save("new", {"nodes": [{"id": f"n{index}"}]})
        return index

    results = together(8, work)
    winners = [result for result in results if isinstance(result, int)]
    assert len(winners) == 1
    assert results.count("error:exists") == 7
    assert library.load_ir("new") == {"nodes": [{"id": f"n{winners[0]}"}]}


@pytest.mark.parametrize("method", ["exists", "load", "load_ir", "delete", "save", "promote", "record_run"])
@pytest.mark.parametrize("name", ["../etc", "/etc/passwd", "a\0", "-rf", "CON", "é", ""])
def test_no_method_takes_a_hostile_name(library: WorkflowManager, place: Home, method: str, name: str) -> None:
    arguments = {"save": (DOCUMENT,), "promote": ("x",), "record_run": (True, 1.0)}.get(method, ())
    with pytest.raises(SecurityError):
        getattr(library, method)(name, *arguments)
    assert not place.root.exists()


@pytest.mark.parametrize("name", ["x.json", "x.yaml", "x.yml", "x.pflow.md", "X.JSON"])
def test_a_name_that_would_be_taken_for_a_file_cannot_be_saved(library: WorkflowManager, name: str) -> None:
    with pytest.raises(UsageError) as caught:
        library.save(name, DOCUMENT)
    assert "save it as" in caught.value.suggestions[0]
    assert library.names() == []


@pytest.mark.parametrize("value", [float, 2**70, "\ud800", {1: 2}], ids=str)
def test_a_document_that_is_no_json_is_refused(library: WorkflowManager, value: object) -> None:
    with pytest.raises(DocumentError):
        library.save("x", {"nodes": [value]})
    assert not library.exists("x")


def test_a_document_far_over_the_limit_is_refused(library: WorkflowManager) -> None:
    with pytest.raises(DocumentError, match="bytes"):
        library.save("x", {"nodes": ["x" * (6 << 20)]})


@pytest.mark.requirement("server5:error-2")
def test_a_missing_workflow_is_reported_with_what_there_is(library: WorkflowManager, drafts: WorkflowManager) -> None:
    with pytest.raises(NotFoundError) as caught:
        library.load("greet")
    assert "nothing is saved yet" in caught.value.suggestions[0]
    library.save("greet-all", DOCUMENT)
    library.save("zebra", DOCUMENT)
    for attempt in (library.load, library.load_ir, library.delete):
        with pytest.raises(NotFoundError) as caught:
            attempt("gret-all")
        assert caught.value.message == "there is no workflow `gret-all`"
        assert caught.value.suggestions == ("did you mean `greet-all`?",)
        assert caught.value.details == {"available": ["greet-all", "zebra"]}
    with pytest.raises(NotFoundError) as caught:
        library.load("quite-else")
    assert caught.value.suggestions == ("there are: `greet-all`, `zebra`",)
    with pytest.raises(NotFoundError, match="no draft"):
        drafts.load("x")


def test_a_bare_document_put_there_by_hand_is_as_good_as_a_saved_one(library: WorkflowManager, place: Home) -> None:
    place.workflows.mkdir(parents=True)
    (place.workflows / "mine.json").write_text('{"nodes": [], "description": "By hand", "workflow": {}}')
    (place.workflows / "plain.json").write_text('{"nodes": [], "description": "By hand"}')
    assert library.load_ir("mine")["description"] == "By hand"
    assert library.load("plain")["metadata"] == {"name": "plain", "description": "By hand"}
    assert [entry["name"] for entry in library.list_all()] == ["mine", "plain"]


# Listing and searching


def test_lists_are_sorted_and_searches_look_into_names_and_descriptions(library: WorkflowManager) -> None:
    library.save("zip-files", DOCUMENT, "Packs a FOLDER")
    library.save("pr-analyzer", DOCUMENT, "Reads pull requests")
    library.save("folder-report", DOCUMENT, "Writes a report")
    assert [entry["name"] for entry in library.list_all()] == ["folder-report", "pr-analyzer", "zip-files"]

    def names(query: str) -> list[object]:
        return [entry["name"] for entry in library.search(query)]

    assert names("") == ["folder-report", "pr-analyzer", "zip-files"]
    assert names("folder") == ["folder-report", "zip-files"]
    assert names("REPORT folder") == ["folder-report"]
    assert names("pull pr") == ["pr-analyzer"]
    assert names("nothing") == []
    assert names("*[") == []


def test_a_home_without_a_library_has_an_empty_one(library: WorkflowManager, place: Home) -> None:
    assert library.list_all() == [] and library.scan() == ([], [])
    assert not place.root.exists()


def test_files_that_cannot_be_read_are_reported_and_never_end_a_list(
    library: WorkflowManager, place: Home, tmp_path: Path
) -> None:
    library.save("good", DOCUMENT, "Fine")
    folder = place.workflows
    (folder / "broken.json").write_bytes(b'{"nodes": [')
    (folder / "binary.json").write_bytes(b"\x80\x04\x95\xff")
    (folder / "array.json").write_bytes(b"[]")
    (folder / "foreign.json").write_bytes(b'{"name": "package"}')
    (folder / "empty.json").write_bytes(b"")
    (folder / "mark.json").write_bytes(b'\xef\xbb\xbf{"nodes": []}')
    for other in ("notes.txt", ".hidden.json", "bad name.json", "-x.json", "ü.json"):
        (folder / other).write_bytes(b'{"nodes": []}')
    outside = tmp_path / "outside.json"
    outside.write_text(json.dumps(DOCUMENT))
    for kind in ("link", "dangling link", "hard link", "pipe", "folder", "loop", "socket"):
        plant(kind, folder / f"{kind.replace(' ', '-')}.json", outside)
        if kind == "hard link":
            outside = outside.with_name("second.json")
            outside.write_text("{}")
    listed, notices = library.scan()
    assert [entry["name"] for entry in listed] == ["good"]
    assert [notice.split("`")[1] for notice in notices] == ["array", "binary", "broken", "empty", "foreign", "mark"]
    assert library.list_all() == listed
    for name in ("link", "dangling-link", "hard-link", "pipe", "folder", "loop", "socket"):
        with pytest.raises((SecurityError, NotFoundError)):
            library.load(name)
        with pytest.raises(ExistsError):
            library.save(name, DOCUMENT)
        with pytest.raises(PflowError):
            library.save(name, DOCUMENT, overwrite=True)
    with pytest.raises(StorageError):
        library.delete("folder")
    library.delete("link")
    assert (tmp_path / "outside.json").exists()


@pytest.mark.requirement("server5:edge-9")
def test_a_file_with_wrong_json_is_a_validation_error_with_its_place(library: WorkflowManager, place: Home) -> None:
    place.workflows.mkdir(parents=True)
    (place.workflows / "x.json").write_text('{"nodes": [\n  {"id": "a",}\n]}')
    with pytest.raises(DocumentError) as caught:
        library.load("x")
    assert caught.value.code == "validation"
    assert caught.value.message.startswith("`x` cannot be read: line 2, column")
    assert caught.value.issues[0].line == 2
    assert (place.workflows / "x.json").exists(), "someone's own work is not moved away"


@pytest.mark.parametrize("content", [b'{"nodes": [], "n": 36893488147419103232}', b'{"nodes": [], "nodes": [1]}'])
def test_reading_loses_no_digit_and_no_key(library: WorkflowManager, place: Home, content: bytes) -> None:
    place.workflows.mkdir(parents=True)
    (place.workflows / "x.json").write_bytes(content)
    try:
        assert library.load_ir("x")["n"] == 36893488147419103232
    except DocumentError as error:
        assert error.issues


def test_overwriting_what_cannot_be_read_keeps_it_as_a_version(library: WorkflowManager, place: Home) -> None:
    place.workflows.mkdir(parents=True)
    (place.workflows / "x.json").write_bytes(b"not json but work")
    library.save("x", DOCUMENT, overwrite=True)
    assert library.load_ir("x") == DOCUMENT
    assert library.version_text("x", 1).data == b"not json but work"
    assert library.names() == ["x"]


def test_a_library_that_others_can_change_is_refused(library: WorkflowManager, place: Home, tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o777)
    (shared / "planted.json").write_text(json.dumps(DOCUMENT))
    place.root.mkdir()
    place.workflows.symlink_to(shared)
    for attempt in (library.list_all, lambda: library.load("planted"), lambda: library.save("x", DOCUMENT)):
        with pytest.raises(SecurityError):
            attempt()
    shared.chmod(0o700)
    assert library.load_ir("planted") == DOCUMENT


# Statistics


def test_runs_are_counted_beside_the_workflow(library: WorkflowManager) -> None:
    path = library.save("greet", DOCUMENT)
    before = path.read_bytes()
    library.record_run("greet", True, 12.3456)
    library.record_run("greet", False, 7)
    metadata = metadata_of(library, "greet")
    assert metadata["execution_count"] == 2
    assert metadata["last_execution_success"] is False
    assert metadata["last_execution_ms"] == 7
    assert "last_execution_at" in metadata
    assert library.list_all()[0]["execution_count"] == 2
    assert path.read_bytes() == before
    assert library.names() == ["greet"]


def test_a_deleted_workflow_takes_its_statistics_with_it(library: WorkflowManager) -> None:
    library.save("greet", DOCUMENT)
    library.record_run("greet", True, 1)
    library.delete("greet")
    library.record_run("greet", True, 1)
    library.save("greet", DOCUMENT)
    assert "execution_count" not in str(metadata_of(library, "greet"))


@pytest.mark.parametrize("content", [b"{", b'{"greet": 5}', b'{"greet": {"execution_count": "many"}}'])
def test_damaged_statistics_disturb_nothing(library: WorkflowManager, place: Home, content: bytes) -> None:
    library.save("greet", DOCUMENT)
    (place.workflows / ".stats.json").write_bytes(content)
    assert library.load_ir("greet") == DOCUMENT
    assert len(library.list_all()) == 1
    library.record_run("greet", True, 1)
    assert metadata_of(library, "greet")["execution_count"] == 1


def test_eight_processes_count_every_run(library: WorkflowManager) -> None:
    library.save("greet", DOCUMENT)

    def work(index: int) -> object:
        for _ in range(5):
            library.record_run("greet", True, 1)
        return "done"

    assert together(8, work) == ["done"] * 8
    assert metadata_of(library, "greet")["execution_count"] == 40


# Drafts


def test_a_draft_holds_the_document_and_lives_apart(
    drafts: WorkflowManager, library: WorkflowManager, place: Home
) -> None:
    path = drafts.save("try-1", DOCUMENT, "Tries it")
    assert path == place.drafts / "try-1.json"
    assert json.loads(path.read_bytes()) == DOCUMENT
    assert metadata_of(drafts, "try-1")["description"] == "Tries it"
    assert drafts.load_ir("try-1") == DOCUMENT
    assert library.list_all() == []
    assert [entry["name"] for entry in drafts.list_all()] == ["try-1"]


@pytest.mark.parametrize("name", ["my_draft", "my.draft", "a/b"])
def test_a_draft_is_named_by_letters_digits_and_hyphens(drafts: WorkflowManager, name: str) -> None:
    with pytest.raises(SecurityError):
        drafts.save(name, DOCUMENT)


def test_old_drafts_are_cleaned_and_young_ones_kept(drafts: WorkflowManager, place: Home) -> None:
    for name in ("old", "young"):
        drafts.save(name, DOCUMENT)
    (place.drafts / "keep.txt").write_text("not a draft")
    written = (place.drafts / "old.json").stat().st_mtime
    os.utime(place.drafts / "young.json", (written + 100, written + 100))
    assert drafts.clean(60, now=written + 61) == ["old"]
    assert drafts.names() == ["young"]
    assert (place.drafts / "keep.txt").exists()
    assert drafts.clean(60, now=written - 10**9) == [], "a clock that jumped back deletes nothing"


def test_drafts_together_cannot_fill_the_disk(drafts: WorkflowManager, place: Home) -> None:
    drafts.save("x", OTHER)
    with open(place.drafts / "big.json", "wb") as file:
        file.truncate(workflow_manager.MAX_DRAFTS - 200)
    with pytest.raises(StorageError, match="100 MB") as caught:
        drafts.save("y", DOCUMENT)
    assert "clean-temp" in caught.value.suggestions[0]
    assert not drafts.exists("y")
    drafts.delete("big")
    drafts.save("y", DOCUMENT)


# From draft to library


def test_a_promoted_draft_is_in_the_library_and_no_draft_any_more(
    drafts: WorkflowManager, library: WorkflowManager
) -> None:
    drafts.save("try", DOCUMENT)
    path = library.promote("try", "greet", "Says hello")
    assert path.exists() and not drafts.exists("try")
    assert library.load_ir("greet") == DOCUMENT
    assert metadata_of(library, "greet")["description"] == "Says hello"


def test_a_draft_that_is_missing_cannot_be_promoted(library: WorkflowManager) -> None:
    with pytest.raises(NotFoundError, match="no draft `try`"):
        library.promote("try", "greet")
    assert not library.exists("greet")


def test_promoting_never_overwrites(drafts: WorkflowManager, library: WorkflowManager) -> None:
    library.save("greet", OTHER)
    drafts.save("try", DOCUMENT)
    with pytest.raises(ExistsError):
        library.promote("try", "greet")
    assert drafts.load_ir("try") == DOCUMENT and library.load_ir("greet") == OTHER
    library.save("same", DOCUMENT)
    library.promote("try", "same")
    assert not drafts.exists("try"), "the library holds the same text already"


def test_promoting_from_the_side_of_the_drafts_does_the_same(drafts: WorkflowManager, library: WorkflowManager) -> None:
    drafts.save("try", DOCUMENT)
    drafts.promote("try", "greet")
    assert library.load_ir("greet") == DOCUMENT


@pytest.mark.parametrize("every", [4, pytest.param(1, marks=pytest.mark.slow)])
@pytest.mark.parametrize("fault", ["killed", "failed"])
def test_a_move_cut_short_anywhere_is_finished_by_doing_it_again(tmp_path: Path, fault: str, every: int) -> None:
    cut = 0
    for nth in range(1, 60, every):
        place = Home(tmp_path / str(nth))
        WorkflowManager.for_drafts(place).save("try", DOCUMENT)
        (place.root / "workflows").mkdir()

        def work(place: Home = place, nth: int = nth) -> object:
            calls = Faulty(nth, kill if fault == "killed" else failing(errno.EIO))
            try:
                WorkflowManager(place, calls=calls).promote("try", "greet", "Says hello")
            except StorageError:
                return "failed"
            return calls.reached

        result = in_child(work)
        library, drafts = WorkflowManager(place), WorkflowManager.for_drafts(place)
        kept = [
            manager.load_ir(name) for manager, name in ((drafts, "try"), (library, "greet")) if manager.exists(name)
        ]
        assert kept and all(document == DOCUMENT for document in kept), "draft, library or both, never neither"
        if drafts.exists("try"):
            library.promote("try", "greet", "Says hello")
        assert library.load_ir("greet") == DOCUMENT and not drafts.exists("try")
        cut += result == fault
        if result is False:
            break
    assert cut >= 10 / every


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EROFS], ids=errno.errorcode.get)
def test_a_save_that_fails_anywhere_keeps_the_old_workflow_or_stores_the_new(tmp_path: Path, code: int) -> None:
    for nth in range(1, 60):
        place = Home(tmp_path / str(nth))
        WorkflowManager(place).save("x", DOCUMENT)
        calls = Faulty(nth, failing(code))
        try:
            WorkflowManager(place, calls=calls).save("x", OTHER, overwrite=True)
        except StorageError:
            assert WorkflowManager(place).load_ir("x") in (DOCUMENT, OTHER)
            assert WorkflowManager(place).version_text("x", 1).parse().places.value == DOCUMENT
        else:
            assert WorkflowManager(place).load_ir("x") == OTHER
        if not calls.reached:
            return
    pytest.fail("there are fewer calls than that")


def test_an_unwritable_home_can_be_read_and_not_changed(unwritable: Path) -> None:
    def work() -> object:
        library = WorkflowManager(Home(unwritable))
        assert library.list_all() == []
        with pytest.raises(StorageError) as caught:
            library.save("x", DOCUMENT)
        return caught.value.code

    assert in_child(work, unprivileged=True) == "storage"
