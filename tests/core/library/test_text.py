"""A saved workflow is the text that its author wrote, and every text that was saved before it."""

from __future__ import annotations

import json
import os
import random
from pathlib import Path

import pytest

from pflow.core.errors import ExistsError, NotFoundError
from pflow.core.file.home import Home
from pflow.core.library.history import KEPT_VERSIONS
from pflow.core.library.workflow_manager import WorkflowManager
from pflow.core.library.workflow_text import Form, WorkflowText
from tests.core.file.forking import together

COMMENTS = ("# what this is for", "#", "# ünïcode – “quotes”", "# key: value", "# - a list", "#\ttab", "# ${template}")


@pytest.fixture
def library(home: Path) -> WorkflowManager:
    return WorkflowManager(Home(home))


def yaml(text: str) -> WorkflowText:
    return WorkflowText(data=text.encode(), form="yaml")


def any_text(seed: int) -> WorkflowText:
    """A document in JSON or YAML as a person may lay it out: comments, blank lines, block text, line ends."""
    chance = random.Random(seed)
    form: Form = chance.choice(("json", "yaml"))
    nodes = [{"id": f"n{index}", "type": "echo", "params": {"text": f"{chance.random()}"}} for index in range(3)]
    if form == "json":
        document = {"description": f"Number {seed}", "nodes": nodes}
        text = json.dumps(document, indent=chance.choice((None, 1, 2, 4, "\t")), ensure_ascii=chance.random() < 0.5)
        return WorkflowText(data=(text + chance.choice(("", "\n", "\n\n"))).encode(), form=form)
    lines = [f"description: Number {seed}   {chance.choice(COMMENTS)}", "nodes:"]
    for node in nodes:
        if chance.random() < 0.5:
            lines += [chance.choice(("", "  ")) + chance.choice(COMMENTS)]
        if chance.random() < 0.4:
            lines += [f"  - {{id: {node['id']}, type: echo, params: {{text: 'it''s'}}}}  {chance.choice(COMMENTS)}"]
        else:
            block = chance.choice(("|", ">-", "|+", '"quoted \\n text"'))
            lines += [f"  - id: {node['id']}", "    type: echo", "    params:", f"      text: {block}"]
            lines += ["        some # text that is not a comment", "", "          indented"] * (block[0] in "|>")
        lines += [""] * chance.randrange(3)
    return yaml(chance.choice(("\n", "\r\n")).join(lines) + chance.choice(("", "\n")))


@pytest.mark.parametrize("names", [3, pytest.param(20, marks=pytest.mark.slow)])
def test_every_text_comes_back_byte_by_byte_with_its_versions(library: WorkflowManager, names: int) -> None:
    texts = [any_text(seed) for seed in range(25 * names)]
    for seed, text in enumerate(texts):
        library.save(f"w{seed % names}", text, overwrite=True)
        assert library.text(f"w{seed % names}") == text
        assert text.parse().document is not None, text.data.decode()
    for name in library.names():
        saved = [text for seed, text in enumerate(texts) if f"w{seed % names}" == name]
        kept = [library.version_text(name, version.number) for version in library.versions(name)]
        assert kept == saved[::-1]
        assert library.restore(name, 3) == 26
        assert library.text(name) == saved[2]
    descriptions = {entry["name"]: entry["description"] for entry in library.list_all()}
    assert descriptions["w2"] == f"Number {2 * names + 2}"


def test_saving_in_the_other_form_replaces_the_file_and_keeps_the_version(library: WorkflowManager) -> None:
    library.save("x", {"nodes": []})
    path = library.save("x", yaml("nodes: []  # none\n"), overwrite=True)
    assert [path.name for path in sorted(library.folder.glob("x.*"))] == ["x.yaml"]
    assert path.read_text() == "nodes: []  # none\n"
    assert [(version.number, version.form) for version in library.versions("x")] == [(2, "yaml"), (1, "json")]


def test_of_two_files_of_one_name_the_newer_is_used_and_both_are_reported(library: WorkflowManager) -> None:
    library.save("x", {"nodes": [], "description": "older"})
    by_hand = library.folder / "x.yaml"
    by_hand.write_text("nodes: []\ndescription: newer\n")
    older = (library.folder / "x.json").stat().st_mtime
    os.utime(by_hand, (older + 10, older + 10))
    listed, notices = library.scan()
    assert [entry["description"] for entry in listed] == ["newer"]
    assert notices == ["`x.yaml` is used; there is also an older `x.json`"]
    assert library.load_ir("x")["description"] == "newer"
    library.delete("x")
    assert not list(library.folder.glob("x.*"))


def test_a_text_changed_by_hand_is_a_version_of_its_own(library: WorkflowManager) -> None:
    path = library.save("x", yaml("nodes: [] # one\n"))
    path.write_text("nodes: [] # two\n")
    assert library.version("x") == 2
    library.save("x", yaml("nodes: [] # three\n"), replaces=2)
    kept = [library.version_text("x", number).data for number in (1, 2, 3)]
    assert kept == [b"nodes: [] # one\n", b"nodes: [] # two\n", b"nodes: [] # three\n"]


def test_only_the_version_that_was_seen_is_replaced(library: WorkflowManager) -> None:
    library.save("x", yaml("nodes: [] # one\n"))
    seen = library.version("x")
    library.save("x", yaml("nodes: [] # theirs\n"), replaces=seen)
    with pytest.raises(ExistsError, match="it is at version 2, and version 1 was to be replaced"):
        library.save("x", yaml("nodes: [] # mine\n"), replaces=seen)
    assert library.text("x").data == b"nodes: [] # theirs\n"
    with pytest.raises(NotFoundError):
        library.save("y", yaml("nodes: []\n"), replaces=1)


def test_eight_processes_that_save_one_name_lose_nothing(library: WorkflowManager) -> None:
    library.save("x", yaml("nodes: [] # first\n"))

    def work(index: int) -> object:
        for turn in range(3):
            library.save("x", yaml(f"nodes: [] # {index} {turn}\n"), overwrite=True)
        return "done"

    assert together(8, work) == ["done"] * 8
    kept = {library.version_text("x", version.number).data.decode() for version in library.versions("x")}
    written = {f"nodes: [] # {index} {turn}\n" for index in range(8) for turn in range(3)}
    assert kept == {"nodes: [] # first\n", *written}


def test_the_oldest_versions_go_and_the_rest_can_be_pruned(library: WorkflowManager) -> None:
    for index in range(KEPT_VERSIONS + 5):
        library.save("x", yaml(f"nodes: [] # {index}\n"), overwrite=True)
    numbers = [version.number for version in library.versions("x")]
    assert numbers == list(range(KEPT_VERSIONS + 5, 5, -1))
    assert library.prune("x", 2) == KEPT_VERSIONS - 2
    with pytest.raises(NotFoundError) as caught:
        library.version_text("x", 3)
    assert caught.value.suggestions == (f"versions {KEPT_VERSIONS + 4} to {KEPT_VERSIONS + 5} are kept",)
    assert library.prune("x", 0) == 1, "what is saved now stays"


def test_a_workflow_that_an_earlier_version_saved_is_read_in_place(library: WorkflowManager) -> None:
    library.folder.mkdir(parents=True)
    envelope = {
        "workflow": {"nodes": [{"id": "a"}], "description": "inner"},
        "metadata": {"name": "old", "description": "Says hello", "version": 3, "created_at": "2026-01-01T00:00:00Z"},
    }
    path = library.folder / "old.json"
    path.write_text(json.dumps(envelope))
    assert library.load_ir("old") == envelope["workflow"]
    assert library.describe("old").description == "Says hello"
    assert json.loads(library.text("old").data) == envelope["workflow"]
    assert library.version("old") == 3
    assert json.loads(path.read_text()) == envelope, "only saving rewrites it"
    library.save("old", yaml("nodes: [{id: b}]\n"), overwrite=True)
    assert json.loads(library.version_text("old", 3).data) == envelope["workflow"]
    metadata = library.load("old")["metadata"]
    assert isinstance(metadata, dict)
    assert metadata["created_at"] == "2026-01-01T00:00:00Z" and metadata["version"] == 4


def test_a_renamed_workflow_takes_everything_along(library: WorkflowManager) -> None:
    library.save("old", yaml("nodes: []\n"), "Says hello")
    library.save("old", yaml("nodes: [] # two\n"), overwrite=True)
    library.record_run("old", True, 1)
    library.save("taken", {"nodes": []})
    with pytest.raises(ExistsError):
        library.rename("old", "taken")
    library.rename("old", "new")
    assert library.names() == ["new", "taken"]
    assert library.describe("new").runs == 1
    assert [version.number for version in library.versions("new")] == [2, 1]
    assert not library.exists("old")
    with pytest.raises(NotFoundError):
        library.rename("old", "newer")


def test_a_deleted_name_starts_again_without_a_past(library: WorkflowManager) -> None:
    library.save("x", yaml("nodes: []\n"))
    library.delete("x")
    library.save("x", yaml("nodes: [] # again\n"))
    assert [version.number for version in library.versions("x")] == [1]
