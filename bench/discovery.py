"""Discovery: how often the right thing is found among real tools, and what a search costs."""

from __future__ import annotations

import sys
import time
from pathlib import Path

from bench.measure import Figures, cpu_seconds, in_fresh_process
from bench.row import Row
from dev_needs import NEEDS, semantic_folder
from pflow.core.file.home import Home
from pflow.planning.discovery import Discovery
from pflow.registry.registry import Registry
from tests.discovery.recall import fill, ranks, recall

_QUERIES = (
    ("keywords", "keyword_queries", 1),
    ("paraphrases", "queries", 1),
    ("paraphrases", "queries", 5),
    ("more paraphrases", "paraphrases_held_out", 1),
    ("more paraphrases", "paraphrases_held_out", 5),
    ("built-in nodes", "built_in", 3),
)
_LEAST = {
    "words": {"keyword_queries 1": 0.95, "queries 5": 0.45, "paraphrases_held_out 5": 0.45, "built_in 3": 0.9},
    "meaning": {
        "keyword_queries 1": 0.95,
        "queries 1": 0.60,
        "queries 5": 0.88,
        "paraphrases_held_out 1": 0.60,
        "paraphrases_held_out 5": 0.85,
        "built_in 3": 0.9,
    },
}
_WARM_SECONDS = 0.030
_COLD_SECONDS = {"words": 0.150, "meaning": 0.400}
_TASK = "take a picture of a website"


def rows() -> list[Row]:
    found = _rows("words", in_fresh_process(by_words, repeats=3, pick=min))
    if NEEDS["semantic"].is_there():
        found += _rows("meaning", in_fresh_process(by_meaning, repeats=2, pick=min))
    else:
        print("the extra `semantic` is not installed: `python3 dev_needs.py`", file=sys.stderr)
    return found


def _rows(kind: str, figures: Figures) -> list[Row]:
    found = [
        Row(
            group="discovery",
            what=f"by {kind}: {title}, recall@{most}",
            us=figures[f"{queries} {most}"],
            unit="of the queries",
            rule="least",
            limit=_LEAST[kind].get(f"{queries} {most}"),
        )
        for title, queries, most in _QUERIES
    ]
    for what, limit in (("warm", _WARM_SECONDS), ("cold", _COLD_SECONDS[kind])):
        title = "a warm search, CPU" if what == "warm" else "`pflow registry discover`, CPU"
        found.append(
            Row(
                group="discovery",
                what=f"by {kind}: {title}",
                us=figures[what],
                unit="s",
                rule="most",
                limit=limit,
                note="388 node types",
            )
        )
    return found


def by_words(folder: Path) -> Figures:
    """Without the extra."""
    return _measure(folder, [str(Path(sys.executable).with_name("pflow"))])


def by_meaning(folder: Path) -> Figures:
    """With it, as if it were installed beside pflow."""
    sys.path.insert(0, str(semantic_folder()))
    start = f"import sys; sys.path.insert(0, {str(semantic_folder())!r}); from pflow.__main__ import main; main()"
    return _measure(folder, [sys.executable, "-c", start])


def _measure(folder: Path, command: list[str]) -> Figures:
    home, plain = Home(folder / ".pflow"), Home(folder / "plain")
    labels = fill(home)
    Registry.load(plain).save()
    discovery = Discovery(home)
    for _ in range(2):  # a search makes only some hundred vectors
        discovery.find(_TASK)
    figures: Figures = {}
    for _, queries, most in _QUERIES:
        place, known = (plain, {}) if queries == "built_in" else (home, labels)
        figures[f"{queries} {most}"] = recall(ranks(Discovery(place).find, known, queries), most)
    warm = []
    for _ in range(10):
        began = time.process_time()
        discovery.find(_TASK)
        warm.append(time.process_time() - began)
    cold = cpu_seconds({"cold": [*command, "registry", "discover", _TASK, "--json"]}, folder, repeats=5)
    return {**figures, "warm": min(warm), "cold": cold["cold"]}
