"""The guide for agents and people who write documents: a page of the whole, and one for each topic."""

from __future__ import annotations

from importlib.resources import files

from pflow.core.errors import NotFoundError
from pflow.core.suggest import did_you_mean

TOPICS = (
    "documents",
    "templates",
    "branching",
    "loops",
    "batches",
    "errors",
    "asking",
    "models",
    "state",
    "mcp",
    "running",
    "saving",
)


def guide_page(topic: str = "") -> str:
    """The guide's main page, or the page of a topic; raises `NotFoundError`."""
    if topic and topic not in TOPICS:
        known = f"there are {', '.join(TOPICS)}"
        raise NotFoundError(
            f"the guide has no topic `{topic[:40]}`", suggestions=[did_you_mean(topic, TOPICS) or known]
        )
    page = files("pflow.workspace").joinpath("guide_pages", f"{topic or 'guide'}.md")
    return page.read_text(encoding="utf-8")
