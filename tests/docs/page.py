"""A page of the documentation as its fenced blocks. How a block is tried is decided elsewhere.

The first word after a fence is the language. A word with a dot in it names the file that the block is the content
of, in the folder where the page's examples run; `~` is the home of the person who runs them.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

DOCS = Path(__file__).parent.parent.parent / "docs"
PAGES = sorted(path.name for path in DOCS.glob("*.md") if path.name != "architecture.md")

_FENCE = re.compile(r"^( *)(```+)(.*)$")


class Block(NamedTuple):
    """A fenced block: the line of its fence, the words after the fence, and its text."""

    line: int
    words: tuple[str, ...]
    text: str

    @property
    def language(self) -> str:
        """What the text is written in."""
        return self.words[0] if self.words else ""

    @property
    def file(self) -> str | None:
        """The file that holds the text."""
        return next((word for word in self.words[1:] if "." in word), None)


def read_page(name: str) -> str:
    """The text of a page."""
    return (DOCS / name).read_text("utf-8")


def blocks_of(text: str) -> list[Block]:
    """The fenced blocks of a page, in order."""
    blocks: list[Block] = []
    fence = ""
    for number, line in enumerate(text.splitlines(), 1):
        found = _FENCE.match(line)
        if not fence and found:
            indent, fence = len(found[1]), found[2]
            start, words, lines = number, tuple(found[3].split()), list[str]()
        elif fence and found and found[2] == fence and not found[3].strip():
            blocks.append(Block(start, words, "".join(f"{one}\n" for one in lines)))
            fence = ""
        elif fence:
            lines.append(line[indent:] if not line[:indent].strip() else line)
    assert not fence, "a fence does not end"
    return blocks


def headings_of(text: str) -> list[str]:
    """The headings of a page, as their anchors."""
    outside = re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
    titles = re.findall(r"^#+ +(.*?) *$", outside, flags=re.MULTILINE)
    return [re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles]
