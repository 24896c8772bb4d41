"""Ranks node types by the words of a query, the same way every time."""

from __future__ import annotations

import re
from collections.abc import Mapping

_SPLIT = r"[\s,*?%]+"


def search_names(nodes: Mapping[str, Mapping[str, object]], query: str) -> list[str]:
    """Names of the node types that hold every word of `query`, else of those that hold any of them.

    A hit in the name counts most, then one in a parameter's or output's name, then one in the description.
    No words at all list everything.
    """
    words = [word for word in re.split(_SPLIT, query.casefold()) if word]
    if not words:
        return sorted(nodes)
    ranked: list[tuple[int, int, str]] = []
    for name, data in nodes.items():
        texts = _texts(name, data)
        scores = [_score(word, *texts) for word in words]
        missed = scores.count(0)
        if missed < len(words):
            ranked.append((missed, -sum(scores), name))
    ranked.sort()
    complete = [name for missed, _, name in ranked if not missed]
    return complete or [name for _, _, name in ranked]


def _texts(name: str, data: Mapping[str, object]) -> tuple[str, str, str]:
    interface = data.get("interface")
    if not isinstance(interface, dict):
        return name.casefold(), "", ""
    fields = " ".join(
        str(item.get("name")) if isinstance(item, dict) else str(item)
        for kind in ("params", "reads", "inputs", "outputs")
        for item in interface.get(kind) or ()
    )
    text = f"{interface.get('description') or ''} {_whole_text(data)}"
    return name.casefold(), fields.casefold(), text.casefold()


def _whole_text(data: Mapping[str, object]) -> str:
    """All that a tool says of itself, of which its interface has only a summary."""
    config = data.get("mcp_config")
    definition = config.get("definition") if isinstance(config, dict) else None
    text = definition.get("description") if isinstance(definition, dict) else None
    return text if isinstance(text, str) else ""


def _score(word: str, name: str, fields: str, description: str) -> int:
    if word == name:
        return 1000
    if word in name:
        return 200 if f"-{word}-" in f"-{name}-" else 100
    if word in fields.split():
        return 20
    if word in fields:
        return 10
    return 1 if word in description else 0
