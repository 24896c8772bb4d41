"""Names the place in commands that messages show."""

from __future__ import annotations

import re

_COMMAND = re.compile(r"\bpflow (?:answer|send|trace|runs [a-z]+) \d{8}-\d{6}-[0-9a-f]{16}\b(?! --on )")
"""A command as messages show it, with the id of a run."""


def name_places(text: str, place: str) -> str:
    """A message about runs of a place: every command that names a run also names the place."""
    return _COMMAND.sub(lambda command: f"{command[0]} --on {place}", text)
