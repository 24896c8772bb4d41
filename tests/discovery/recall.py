"""How well discovery does on real tools: `python -m tests.discovery.recall` prints the figures that a test asserts."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from pflow.core.file.home import Home
from pflow.mcp.server.config import read_server
from pflow.mcp.server.tool_name import name_tools
from pflow.mcp.tools.entry import make_entry
from pflow.planning.discovery import Discovery, Findings
from pflow.registry.registry import Registry

DATA: dict[str, Any] = json.loads((Path(__file__).parent / "data.json").read_bytes())


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


def ranks(find: Callable[..., Findings], labels: dict[str, str], queries: str) -> dict[str, int]:
    """The place of the first right tool for each query, from 1, or 99; nodes without a label are passed over."""
    found = {}
    for query in DATA[queries]:
        hits = find(query["query"], kinds=("node",), limit=50).hits
        seen = [labels[hit.name] for hit in hits if hit.name in labels]
        found[query["query"]] = next((place for place, label in enumerate(seen, 1) if label in query["expected"]), 99)
    return found


def recall(found: dict[str, int], most: int) -> float:
    """The share of queries with a right tool among the first `most`."""
    return sum(place <= most for place in found.values()) / len(found)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        home = Home(Path(folder) / "home")
        labels = fill(home)
        for queries in ("keyword_queries", "queries"):
            found = ranks(Discovery(home).find, labels, queries)
            print(f"{queries}: {len(found)}, recall@1 {recall(found, 1):.3f}, recall@5 {recall(found, 5):.3f}")
            for query, place in found.items():
                if place > 1:
                    print(f"  {place:2}  {query}")
