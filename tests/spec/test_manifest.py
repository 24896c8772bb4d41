"""The manifest and the tests agree, both ways."""

import re
from collections import Counter

import pytest

from tests.spec.manifest import DOCUMENTS, FOLDER, load_claims, load_entries, marked_ids

PARTS = {"foundation", "mcp-client", "mcp-server", "drafts", "discovery", "planner"}


def test_every_entry_that_is_not_pending_has_a_test() -> None:
    claims = load_claims()
    missing = [e for e in load_entries() if not (e.pending or e.deviation or e.id in claims)]
    assert not missing, "no test shows:\n" + "\n".join(f"  {e.id}: {e.text}" for e in missing)


def test_every_claim_names_an_entry() -> None:
    known = {entry.id for entry in load_entries()}
    unknown = {name: places for name, places in load_claims().items() if name not in known}
    assert not unknown, f"tests name entries that do not exist: {unknown}"


def test_an_entry_with_a_test_is_no_longer_pending() -> None:
    claims = load_claims()
    done = {e.id: claims[e.id] for e in load_entries() if e.pending and e.id in claims}
    assert not done, "remove `pending` from:\n" + "\n".join(f"  {name}: {places}" for name, places in done.items())


def test_entries_are_well_formed() -> None:
    entries = load_entries()
    repeated = [name for name, count in Counter(e.id for e in entries).items() if count > 1]
    assert not repeated
    for entry in entries:
        assert re.fullmatch(r"[a-z0-9]+:[a-z0-9_.]+-[0-9a-z]+", entry.id), entry.id
        assert entry.text, entry.id
        assert not (entry.pending and entry.deviation), f"{entry.id} is either pending or a deviation"
        assert entry.pending in PARTS | {""}, f"{entry.id}: `{entry.pending}` is no part; there are {PARTS}"


@pytest.mark.parametrize("document", DOCUMENTS)
def test_an_entry_stands_in_the_file_of_its_document(document: str) -> None:
    ids = re.findall(r'^id = "(.*?):', (FOLDER / f"{document}.toml").read_text(), re.M)
    assert set(ids) == {document}


# How many of each the documents number. The other entries are extracted, so their number is ours to choose.
NUMBERED = {
    "client": {"constraint": 5, "rule": 14, "edge": 8, "error": 4, "nfr": 4, "test": 15},
    "server5": {"constraint": 6, "rule": 20, "edge": 10, "error": 6, "nfr": 6, "test": 25},
}


@pytest.mark.parametrize("document", NUMBERED)
def test_every_numbered_statement_has_an_entry(document: str) -> None:
    ids = {entry.id for entry in load_entries()}
    wanted = {f"{document}:{kind}-{n}" for kind, count in NUMBERED[document].items() for n in range(1, count + 1)}
    assert wanted <= ids
    beyond = {f"{document}:{kind}-{count + 1}" for kind, count in NUMBERED[document].items()}
    assert not beyond & ids


def test_markers_are_found_in_every_form() -> None:
    source = """
import pytest
requirement = pytest.mark.requirement
pytestmark = [pytest.mark.requirement("a:b-1")]

@pytest.mark.requirement("a:b-2", "a:b-3")
@requirement("a:b-4")
def test_x(): ...

class TestY:
    @pytest.mark.parametrize("v", [pytest.param(1, marks=pytest.mark.requirement("a:b-5"))])
    async def test_z(self, v): ...
"""
    assert [name for _, name in sorted(marked_ids(source), key=lambda pair: pair[1])] == [
        "a:b-1",
        "a:b-2",
        "a:b-3",
        "a:b-4",
        "a:b-5",
    ]


def test_a_computed_id_is_refused() -> None:
    with pytest.raises(ValueError, match="line 1: a requirement is named by a literal string"):
        list(marked_ids("pytest.mark.requirement(f'a:{n}')"))
