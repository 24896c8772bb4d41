"""Finds node types and saved workflows by a description of the task; the ranking can be exchanged."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import chain, zip_longest
from pathlib import Path
from typing import TYPE_CHECKING

from pflow.core.advice import Advice
from pflow.core.errors import PflowError
from pflow.core.file.home import Home
from pflow.core.frozen import Frozen
from pflow.core.printable import shorten
from pflow.core.suggest import nearest
from pflow.mcp.server.tool_name import PREFIX
from pflow.planning.catalogue import KINDS, Catalogue, Key, Kind
from pflow.planning.query_word import split_query, split_task
from pflow.planning.ranking import Match, Ranked, Ranking
from pflow.planning.rerank import MOST_CANDIDATES, reorder
from pflow.planning.semantic.installed import model_file
from pflow.planning.semantic.ranking import SemanticRanking
from pflow.planning.signature import signature
from pflow.planning.topic import topic_advice, without_schedule
from pflow.planning.word_ranking import WordRanking
from pflow.registry.registry import Registry

if TYPE_CHECKING:
    from pflow.core.project.project import Project
    from pflow.engine.model.llm import LLM

FILE = "discovery.db"
"""The index in pflow's home. It is a cache: deleting it loses nothing."""

MOST_HITS = 50
MOST_WORKFLOWS = 5
"""Workflows that are shown for a request; nobody reads more before writing one."""

_WORTH_READING = 0.2
"""A share of the best score."""

_SHOWN_QUERY_CHARACTERS = 200
_LINE_CHARACTERS = 160
_NEAR_WORDS = 8
"""Words of a query that are compared with names."""

_TITLES = {"node": "node type", "workflow": "workflow", "draft": "draft"}


class Hit(Frozen):
    """Something that fits. `about` has its interface, or its inputs and outputs."""

    kind: Kind
    name: str
    score: float
    why: Mapping[str, tuple[str, ...]]
    description: str
    about: Mapping[str, object]

    def to_json(self) -> dict[str, object]:
        """The hit for programs. Of a node type, lines that say what it takes and gives: a model reads many of them."""
        head: dict[str, object] = {"name": self.name, "kind": _TITLES[self.kind], "score": self.score}
        interface = self.about.get("interface")
        if isinstance(interface, Mapping):
            about = {"description": shorten(self.description, _LINE_CHARACTERS), **signature(interface)}
            return {**head, "reason": shorten(explain(self.why), _LINE_CHARACTERS), **about}
        matched = {field: list(words) for field, words in self.why.items()}
        return {**head, "reason": explain(self.why), "matched": matched, "description": self.description, **self.about}


class Findings(Frozen):
    """What a search gave, the best first, and what its order comes from; if nothing, what to try instead.

    `notes` say how pflow does the parts of a task that no node type is for.
    """

    query: str
    hits: tuple[Hit, ...]
    ranking: str
    unknown: tuple[str, ...] = ()
    advice: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def to_json(self) -> dict[str, object]:
        """The findings for programs."""
        found: dict[str, object] = {"matches": [hit.to_json() for hit in self.hits], "ranking": self.ranking}
        if self.unknown:
            found["unknown_words"] = list(self.unknown)
        if self.notes:
            found["notes"] = list(self.notes)
        if self.advice:
            found["suggestions"] = list(self.advice)
        return found


class Discovery:
    """Finds everything in a home and in projects that a workflow could be made of.

    With an `llm` that is available, it puts the best matches into its order.
    """

    def __init__(
        self,
        home: Home,
        *,
        registry: Registry | None = None,
        projects: Sequence[Project] = (),
        ranking: Ranking | None = None,
        llm: LLM | None = None,
    ) -> None:
        self._catalogue = Catalogue(home, registry, projects)
        self._llm = llm if llm is not None and llm.is_available() else None
        self._ranking = _best_ranking(home.root / FILE) if ranking is None else ranking

    def find(self, query: str, *, kinds: Collection[Kind] = KINDS, limit: int = 10) -> Findings:
        """What fits the query, at most `limit`. Any string is a valid query."""
        return self._findings(query, self._rank(query, kinds, self._most(limit)), kinds, limit)

    def find_parts(self, task: str, *, kinds: Collection[Kind] = KINDS, limit: int = 10) -> Findings:
        """What fits the task or any of its parts, at most `limit`; a score then says how well it fits the part.

        To `read the log and write a file`, something is needed for each part, though nothing does both.
        """
        most = self._most(limit)
        whole = self._rank(task, kinds, most)
        parts = [self._rank(part, kinds, most).matches for part in split_task(task)]
        matches = _merge([whole.matches, *map(_fitting, parts)], most) if parts else whole.matches
        fitting = matches if parts or self._llm else _fitting(matches)
        return self._findings(task, whole._replace(matches=fitting), kinds, limit)

    def _most(self, limit: int) -> int:
        """How many to rank: a model chooses from more than are shown."""
        return max(limit, MOST_CANDIDATES) if self._llm and limit > 0 else limit

    def _rank(self, query: str, kinds: Collection[Kind], limit: int) -> Ranked:
        asked = without_schedule(query) if "node" in kinds else query
        return self._ranking.rank(asked, self._catalogue, kinds=kinds, limit=min(limit, MOST_HITS))

    def _findings(self, query: str, ranked: Ranked, kinds: Collection[Kind], limit: int) -> Findings:
        hits = tuple(hit for match in ranked.matches if (hit := self._hit(match)) is not None)
        title = ranked.title or self._ranking.title
        if self._llm and len(hits) > 1:
            hits, order = _reordered(self._llm, query, hits)
            title = f"{title}{order}"
        hits = hits[:limit]
        return Findings(
            query=shorten(query, _SHOWN_QUERY_CHARACTERS),
            hits=hits,
            ranking=title,
            unknown=ranked.unknown,
            advice=() if hits else tuple(self._advise(query, kinds)),
            notes=tuple(topic_advice(query)) if "node" in kinds else (),
        )

    def describe_node(self, name: str, focus: str = "") -> dict[str, object]:
        """A node type in full. Raises `NotFoundError`."""
        return self._catalogue.describe_node(name, focus)

    def _hit(self, match: Match) -> Hit | None:
        try:
            about = self._catalogue.describe((match.kind, match.name))
        except PflowError:
            return None  # deleted since it was ranked
        return Hit(
            kind=match.kind,
            name=match.name,
            score=match.score,
            why=match.why,
            description=str(about.pop("description")),
            about=about,
        )

    def _advise(self, query: str, kinds: Collection[Kind]) -> list[str]:
        """What to do after a search that found nothing."""
        every = self._catalogue.stamps()
        there = [key for key in every if key[0] in kinds]
        advice = []
        near = _near(query, there)
        if near:
            advice.append("did you mean " + " or ".join(f"`{name}`" for name in near) + "?")
        if there:
            advice.append("say in a few words what it should do, and with what: `create issue`, `read file`")
        if "node" in kinds:
            advice.append(Advice("`{search_nodes}` finds parts of words, `{list_nodes}` shows all"))
            if not any(name.startswith(PREFIX) for kind, name in there if kind == "node"):
                advice.append(Advice("tools of MCP servers are found after `{add_server}` and `{sync_servers}`"))
        elif there:
            advice.append(Advice("`{list_workflows}` shows all; `{discover_nodes}` finds what to build one from"))
        else:
            advice.append(Advice("no workflow is saved yet; `{discover_nodes}` finds what to build one from"))
        return advice


def _best_ranking(index: Path) -> Ranking:
    """By meaning where the extra is installed, else by words."""
    return WordRanking(index) if model_file() is None else SemanticRanking(index)


def _reordered(llm: LLM, query: str, hits: tuple[Hit, ...]) -> tuple[tuple[Hit, ...], str]:
    """Hits in a model's order, and how to say so. The scores keep their places: the first is the likeliest."""
    first = hits[:MOST_CANDIDATES]
    found = reorder(llm, query, [(hit.name, hit.description) for hit in first])
    if not found.model:
        return hits, f"; no model reordered it: {shorten(found.problem, _LINE_CHARACTERS)}"
    ordered = (first[place]._replace(score=hit.score) for place, hit in zip(found.places, first, strict=True))
    return (*ordered, *hits[MOST_CANDIDATES:]), f", reordered by {shorten(found.model, _LINE_CHARACTERS)}"


def _fitting(matches: tuple[Match, ...]) -> tuple[Match, ...]:
    """The matches without those that fit much worse than the best."""
    return tuple(match for match in matches if match.score >= matches[0].score * _WORTH_READING)


def _merge(rankings: Sequence[tuple[Match, ...]], limit: int) -> tuple[Match, ...]:
    """The best of every ranking, then their second best and so on, each with its highest score; the highest first."""
    best: dict[Key, Match] = {}
    for match in chain.from_iterable(rankings):
        key = match.kind, match.name
        if key not in best or best[key].score < match.score:
            best[key] = match
    in_turn = ((match.kind, match.name) for row in zip_longest(*rankings) for match in row if match is not None)
    taken = [best[key] for key in list(dict.fromkeys(in_turn))[:limit]]
    return tuple(sorted(taken, key=lambda match: -match.score))


def explain(why: Mapping[str, tuple[str, ...]]) -> str:
    """Which words were found where, in a line."""
    return "; ".join(f"{', '.join(words)} in its {field}" for field, words in why.items()) or "close in meaning"


def _near(query: str, keys: Collection[Key]) -> list[str]:
    """Names that mistyped words of a query may have meant, by the whole name or by a word of it."""
    names = [name for _, name in keys]
    near = nearest(query.strip(), names)
    if near:
        return near
    by_word: dict[str, str] = {}
    for name in sorted(names, key=len):
        for part in name.replace("_", "-").split("-"):
            if len(part) > 2:
                by_word.setdefault(part, name)
    for asked in split_query(query)[:_NEAR_WORDS]:
        near += [by_word[word] for word in nearest(asked.word, by_word, limit=1)]
    return list(dict.fromkeys(near))[:3]
