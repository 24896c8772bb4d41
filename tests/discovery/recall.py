"""How well discovery does on real tools: `python -m tests.discovery.recall` prints the figures that tests assert.

With `--semantic` by meaning as well, from the environment that `dev_needs.py` installs.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from dev_needs import semantic_folder
from pflow.core.file.home import Home
from pflow.mcp.server.config import read_server
from pflow.mcp.server.tool_name import name_tools
from pflow.mcp.tools.entry import make_entry
from pflow.planning.discovery import Discovery, Findings
from pflow.registry.registry import Registry

DATA: dict[str, Any] = json.loads((Path(__file__).parent / "data.json").read_bytes())
EVERYDAY: dict[str, Any] = json.loads((Path(__file__).parent / "everyday.json").read_bytes())

PARAPHRASES = ("queries", "paraphrases_seen", "paraphrases_held_out")
BUILT_IN = ("built_in_seen", "built_in")
BANDS = (0.02, 0.1, 0.3, 0.6, 0.8, 1.0)


def entries(tools: list[dict[str, Any]]) -> Iterator[tuple[str, str, dict[str, object]]]:
    """Label, node type and registry entry of each tool, as syncing its server would make them."""
    servers = list(dict.fromkeys(tool["server"] for tool in tools))
    for server in servers:
        config = read_server(server, {"command": "true"})
        own = [tool for tool in tools if tool["server"] == server]
        node_types = name_tools(server, [tool["name"] for tool in own], servers).node_types
        for tool in own:
            properties = {name: {"description": text} for name, text in tool["params"].items()}
            definition = {
                "name": tool["name"],
                "description": tool["description"],
                "inputSchema": {"type": "object", "properties": properties},
            }
            yield tool["id"], node_types[tool["name"]], make_entry(config, definition, "1")


def fill(home: Home) -> dict[str, str]:
    """Put the labelled tools into a registry, beside the built-in nodes; their labels by node type."""
    registry = Registry.load(home)
    labels = {}
    for label, node_type, entry in entries(DATA["tools"]):
        registry.set_entry(node_type, entry)
        labels[node_type] = label
    registry.save()
    return labels


def queries_of(name: str) -> list[dict[str, Any]]:
    """A set of labelled queries."""
    found: list[dict[str, Any]] = {**EVERYDAY, **DATA}[name]
    return found


def ranks(find: Callable[..., Findings], labels: dict[str, str], queries: str) -> dict[str, int]:
    """The place of the first right tool for each query, from 1, or 99; nodes without a label are passed over.

    Without labels, of the first right node type.
    """
    found = {}
    for query in queries_of(queries):
        hits = find(query["query"], kinds=("node",), limit=50).hits
        seen = [labels[hit.name] for hit in hits if hit.name in labels] if labels else [hit.name for hit in hits]
        found[query["query"]] = next((place for place, label in enumerate(seen, 1) if label in query["expected"]), 99)
    return found


def recall(found: dict[str, int], most: int) -> float:
    """The share of queries with a right tool among the first `most`."""
    return sum(place <= most for place in found.values()) / len(found)


def scored(find: Callable[..., Findings], labels: dict[str, str], queries: Iterable[dict[str, Any]]) -> list[Any]:
    """The score of each hit that is not called what was asked for, and whether it is right."""
    return [
        (hit.score, labels.get(hit.name, hit.name) in query["expected"])
        for query in queries
        for hit in find(query["query"], kinds=("node",), limit=10).hits
        if hit.score < 1 and (not labels or hit.name in labels)
    ]


def bands(found: list[Any]) -> list[tuple[str, int, float, float]]:
    """For each band of scores: how many hits, what their scores say, and how many are right."""
    rows = []
    for low, high in zip(BANDS, BANDS[1:], strict=False):
        inside = [(score, right) for score, right in found if low <= score < high]
        if inside:
            said, right = (sum(each[index] for each in inside) / len(inside) for index in (0, 1))
            rows.append((f"{low:.2f} to {high:.2f}", len(inside), said, right))
    return rows


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        home, plain = Home(Path(folder) / "home"), Home(Path(folder) / "plain")
        labels = fill(home)
        Registry.load(plain).save()
        print(f"ranked by {Discovery(plain).find('read a file').ranking}")
        for place, known, names in ((home, labels, ("keyword_queries", *PARAPHRASES)), (plain, {}, BUILT_IN)):
            for name in names:
                found = ranks(Discovery(place).find, known, name)
                figures = ", ".join(f"recall@{most} {recall(found, most):.2f}" for most in (1, 3, 5))
                print(f"{name}: {len(found)} queries, {figures}")
                if "--misses" in sys.argv:
                    print("".join(f"  {place:2}  {query}\n" for query, place in found.items() if place > 3), end="")
        print("scores of queries that no weight was fitted to:")
        found_scores = scored(Discovery(home).find, labels, queries_of("paraphrases_held_out"))
        found_scores += scored(Discovery(plain).find, {}, queries_of("built_in"))
        for band, count, said, right in bands(found_scores):
            print(f"  {band}: {count} hits, mean score {said:.2f}, right {right:.2f}")


if __name__ == "__main__":
    if "--semantic" in sys.argv:
        sys.path.insert(0, str(semantic_folder()))
    main()
