"""What to do where text stands, and something that it may hold is wanted: one hint for templates and expressions."""

from __future__ import annotations

import re

_PLAIN = r"[A-Za-z0-9_.\[\]]+"
"""A path that templates and expressions write in the same way."""


def parse_hint(template: str) -> str:
    """The hint for the text that a template gives."""
    return f"if the text holds data, read it in a `parse` step with `text: {template}` first, and use its `value`"


def parse_path_hint(path: str) -> str:
    """The hint for the text at a path of an expression; "" where a template is written differently."""
    return parse_hint(f"${{{path}}}") if re.fullmatch(_PLAIN, path) else ""
