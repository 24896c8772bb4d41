"""The text of the skill, and whether a text is one that pflow wrote."""

from __future__ import annotations

import re
from hashlib import sha256
from importlib.resources import files
from typing import Literal

from pflow.workspace.guide import guide_page

State = Literal["new", "same", "older", "edited", "other"]
"""What is there: nothing, this skill, that of another version of pflow, one that was changed by hand, another file."""

_LOOP = "<!-- the loop -->\n"
_SEAL = re.compile(rb"\n<!-- Written by pflow \(sha256 ([0-9a-f]{64})\); `pflow skill uninstall` removes it. -->\n*\Z")


def skill_text() -> str:
    """The skill as a host reads it. How work goes on is the guide's own section."""
    page = files("pflow.workspace.skill").joinpath("skill.md").read_text(encoding="utf-8")
    loop = guide_page().partition("## The loop\n")[2].partition("\n## ")[0]
    assert loop and _LOOP in page, "the guide has the section, and the skill a place for it"
    text = page.replace(_LOOP, f"## The loop\n{loop}")
    digest = sha256(text.encode()).hexdigest()
    return f"{text}\n<!-- Written by pflow (sha256 {digest}); `pflow skill uninstall` removes it. -->\n"


def judge_text(present: bytes | None) -> State:
    """What a file holds where the skill should be."""
    if present is None:
        return "new"
    plain = present.replace(b"\r\n", b"\n")  # as git may have checked it out
    if plain == skill_text().encode():
        return "same"
    seal = _SEAL.search(plain)
    if seal is None:
        return "edited" if b"<!-- Written by pflow (sha256 " in plain else "other"
    return "older" if sha256(plain[: seal.start()]).hexdigest() == seal[1].decode() else "edited"
