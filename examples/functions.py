"""A workflow whose steps are functions of this program: what a page of Markdown holds.

Run it with `python examples/functions.py README.md`.
"""

import json
import re
import sys
from pathlib import Path
from typing import TypedDict

import pflow


class Page(TypedDict):
    """What `read-page` gives."""

    text: str
    lines: int


@pflow.node(repeatable=True)
def read_page(path: str) -> Page:
    """Read a page of Markdown."""
    text = Path(path).read_text("utf-8")
    return {"text": text, "lines": text.count("\n")}


@pflow.node(version=1, pure=True)
def find_headings(text: str, level: int = 1) -> list[str]:
    """The headings of a page, down to a level."""
    return re.findall(rf"^#{{1,{level}}} +(.*)$", text, flags=re.MULTILINE)


@pflow.node(version=1, pure=True)
async def count_links(text: str) -> int:
    """How many links a page has."""
    return len(re.findall(r"\]\(", text))


DOCUMENT = {
    "inputs": {"path": {"type": "string"}},
    "edges": "data",  # both readers of the text run side by side
    "nodes": [
        {"id": "page", "type": "read-page", "params": {"path": "${path}"}},
        {"id": "headings", "type": "find-headings", "params": {"text": "${page.text}"}},
        {"id": "links", "type": "count-links", "params": {"text": "${page.text}"}},
    ],
    "outputs": {
        "headings": {"source": "${headings.result}"},
        "links": {"source": "${links.result}"},
        "lines": {"source": "${page.lines}"},
    },
}

if __name__ == "__main__":
    with pflow.Workspace.open(nodes=[read_page, find_headings, count_links]) as workspace:
        outcome = pflow.load(DOCUMENT, workspace).run(path=sys.argv[1])
    sys.stdout.write(json.dumps(outcome.raise_for_status().outputs) + "\n")
